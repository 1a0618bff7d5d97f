# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics as a ROS 2 node: goal poses in, rate-limited joint states out.

Everything that solves lives in `ik_core`, which knows no ROS; this package only turns parameters
and messages into calls of it.
"""
