"""From a stream of goals to a stream of commands within the limits of the motion.

The tracker decides, its parts each do one thing; they may import solvers, never `batch`.
"""

from .motion_limits import MotionLimits
from .status import Command, TrackStatus
from .tracker import Tracker
from .tracker_options import TrackerOptions

__all__ = ['Command', 'MotionLimits', 'TrackStatus', 'Tracker', 'TrackerOptions']
