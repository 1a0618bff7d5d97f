"""From a URDF or motion capture to a `Robot`: joints, limits, kinematics; and motions.

These modules know nothing of goals; they may import `maths`, `options` and what is below.
"""
