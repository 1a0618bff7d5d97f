# SPDX-License-Identifier: Apache-2.0
"""Tracking: a stream of goals in, a stream of commands within the motion limits out.

The tracker decides, and each of its parts does one thing; they may import solvers, never `batch`.
"""

from .governor.motion_limits import MotionLimits
from .status import Command, TrackStatus
from .tracker import Tracker
from .tracker_options import TrackerOptions

__all__ = ['Command', 'MotionLimits', 'TrackStatus', 'Tracker', 'TrackerOptions']
