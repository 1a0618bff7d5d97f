# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics as a ROS 2 node: goal poses in, rate-limited joint states out.

`ik_core` solves, without ROS. This package turns parameters and messages into calls of `ik_core`.
"""
