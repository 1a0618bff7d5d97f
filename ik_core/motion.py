# SPDX-License-Identifier: Apache-2.0
"""Motions: joint angles over time, read from files, written to files, and captured from people."""

from .exceptions import InvalidMotion, MocapError
from .robot.mocap.mocap_files import load_mocap, load_skeleton
from .robot.motion import Motion
from .robot.motion_files import load_motion, save_motion

__all__ = [
    'InvalidMotion',
    'MocapError',
    'Motion',
    'load_mocap',
    'load_motion',
    'load_skeleton',
    'save_motion',
]
