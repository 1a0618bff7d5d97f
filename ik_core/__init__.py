"""Inverse kinematics for robots described by a URDF; no ROS needed."""
