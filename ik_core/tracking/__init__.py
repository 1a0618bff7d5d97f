"""From a stream of goals to a stream of commands within the limits of the motion.

The tracker decides, its parts each do one thing; they may import solvers, never `batch`.
"""

from .limits import MotionLimits
from .options import TrackerOptions
from .status import Command, TrackStatus
from .tracker import Tracker

__all__ = ['Command', 'MotionLimits', 'TrackStatus', 'Tracker', 'TrackerOptions']
