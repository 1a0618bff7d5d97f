# SPDX-License-Identifier: Apache-2.0
"""Teleoperation: the samples of a hand in, joint commands within the motion limits out.

`hand_stream` plays the samples of a hand with a constant delay, `clutch` moves the goal of a tip
as that hand moves, `hand` decides when, and `Teleop` connects hands to a `Tracker`. `lerobot` has
kinematics for lerobot's own teleoperation.
"""

from .clutch import OPENXR, HandOptions
from .hand import HandState
from .lerobot import LerobotKinematics
from .teleop import Teleop

__all__ = ['OPENXR', 'HandOptions', 'HandState', 'LerobotKinematics', 'Teleop']
