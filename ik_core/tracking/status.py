# SPDX-License-Identifier: Apache-2.0
"""The result of a tick: the command, and the status of the tracker."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from ..exceptions import IkError
from ..maths.rotations import Array


class TrackStatus(Enum):
    """Status of a tracker; `text` is a sentence for users."""

    IDLE = 'idle'
    TRACKING = 'tracking'
    REACHED = 'reached'
    CLOSEST = 'closest'
    TOO_FEW_JOINTS = 'too_few_joints'
    SEARCHING = 'searching'
    BLOCKED = 'blocked'
    STALE = 'stale'
    PAUSED = 'paused'
    STOPPED_SHORT = 'stopped_short'
    OTHER_CONFIGURATION = 'other_configuration'
    OBSTACLE = 'obstacle'  # at the end: recordings have a status by its place

    @property
    def text(self) -> str:
        """One sentence for status messages."""
        return _STATUS_TEXT[self]


_STATUS_TEXT = {
    TrackStatus.IDLE: 'no goal: holding the joints still',
    TrackStatus.TRACKING: 'moving to the goal',
    TrackStatus.REACHED: 'the goal is reached',
    TrackStatus.CLOSEST: 'not reached: holding the pose that is closest from here',
    TrackStatus.TOO_FEW_JOINTS: 'the arm has fewer joints than the goal asks for: holding the '
    'pose that is closest from here',
    TrackStatus.SEARCHING: 'searching for a way to reach the new goal',
    TrackStatus.BLOCKED: 'stopped: a limit or a singularity blocks the way of the tip',
    TrackStatus.OBSTACLE: 'stopped: the robot would hit itself or an obstacle; a way round is not '
    'searched',
    TrackStatus.STALE: 'the goals stopped coming (goal_timeout): stopped',
    TrackStatus.PAUSED: 'paused: stopped, the goals are kept',
    TrackStatus.STOPPED_SHORT: 'not reached: the solver stopped before it found a closest pose',
    TrackStatus.OTHER_CONFIGURATION: 'not reached from here: another configuration comes closer; '
    'the parameter reconfigure goes there',
}


# Statuses of joints that rest and have not reached a goal of the tips.
MISSED = (TrackStatus.CLOSEST, TrackStatus.STOPPED_SHORT, TrackStatus.TOO_FEW_JOINTS)


class Command(NamedTuple):
    """Command and report of one tick; the arrays belong to the caller.

    `q`, `dq` (n,): commanded positions and velocities of all joints of the robot.
    `position_errors` [m], `orientation_errors` [rad] (G,): errors of this q, per tip; 0 when idle.
    `solution` (n,): the solver's latest solution, which q approaches within the limits.
    `iterations`, `solve_time` [s]: effort of this tick. `restarts`: restarts of the current
    search. `refused`: instructions of this tick that do not fit the tracker, with their errors.
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
    refused: tuple[tuple[Any, IkError], ...] = ()
