"""What a tick answers: the command, and what the tracker is doing."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..maths.rotations import Array


class TrackStatus(Enum):
    """What the tracker is doing; `text` is the sentence for people."""

    IDLE = 'idle'
    TRACKING = 'tracking'
    REACHED = 'reached'
    CLOSEST = 'closest'
    SEARCHING = 'searching'
    BLOCKED = 'blocked'
    STALE = 'stale'
    PAUSED = 'paused'

    @property
    def text(self) -> str:
        """One sentence for status messages."""
        return _STATUS_TEXT[self]


_STATUS_TEXT = {
    TrackStatus.IDLE: 'no goal: holding the joints still',
    TrackStatus.TRACKING: 'moving to the goal',
    TrackStatus.REACHED: 'the goal is reached',
    TrackStatus.CLOSEST: 'the goal is out of reach: holding the closest pose found',
    TrackStatus.SEARCHING: 'searching for a way to reach the new goal',
    TrackStatus.BLOCKED: 'stopped: a limit or a singularity blocks the way of the tip',
    TrackStatus.STALE: 'the goals stopped coming (goal_timeout): stopped',
    TrackStatus.PAUSED: 'paused: stopped, the goals are kept',
}


class Command(NamedTuple):
    """What one tick commands and reports; the arrays are the caller's to keep.

    `q`, `dq` (n,): commanded positions and velocities of all joints of the robot.
    `position_errors` [m], `orientation_errors` [rad] (G,): of this q, per tip; 0 when idle.
    `solution` (n,): where the solver wants the joints, and q moves to at limited speed.
    `iterations`, `solve_time` [s]: what solving took in this tick; `restarts`: those of the
    search under way.
    """

    q: Array
    dq: Array
    status: TrackStatus
    position_errors: Array
    orientation_errors: Array
    iterations: int
    solve_time: float
    solution: Array
    restarts: int
