"""From a URDF to a `Robot`: joints, limits, forward kinematics and Jacobians.

These modules know nothing of goals; they may import `maths`, `options` and what is below.
"""
