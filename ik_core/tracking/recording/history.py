# SPDX-License-Identifier: Apache-2.0
"""History of a recorded run: errors, times, and joints relative to their limits.

A recording keeps instructions and commands. The errors come from running it again, and so
do the solve times, by the readings of the clock that were recorded: they are those of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...maths.rotations import Array
from ...robot.robot import Robot
from ..governor.motion_limits import MotionLimits
from ..status import Command, TrackStatus
from .reading import Recording
from .replays import ReplayedClock, run_segment
from .values import Decoder


@dataclass(frozen=True, eq=False)
class History:
    """A segment of a recording, a row for each of its T ticks, and the `tips` with goals.

    `seconds` (T,) from the beginning of the recording; `q`, `dq` (T, n) [rad or m, and /s];
    `position_errors` [m], `orientation_errors` [rad] (T, tips), NaN while there is no goal;
    `solve_times` (T,) [s]; `statuses`; and the limits in force, `lower`, `upper`, `velocity`
    (T, n).
    """

    tips: tuple[str, ...]
    seconds: Array
    q: Array
    dq: Array
    position_errors: Array
    orientation_errors: Array
    solve_times: Array
    statuses: tuple[TrackStatus, ...]
    lower: Array
    upper: Array
    velocity: Array

    @property
    def place_in_range(self) -> Array:
        """q (T, n) with the lower limits at -1 and the upper ones at 1; NaN without limits."""
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        return _over(self.q - np.where(np.isfinite(middle), middle, 0.0), half)

    @property
    def fraction_of_speed(self) -> Array:
        """dq (T, n) over the velocity limits; NaN without one."""
        return _over(self.dq, self.velocity)


def _over(values: Array, most: Array) -> Array:
    usable = np.isfinite(most) & (most > 0.0)
    return np.where(usable, values / np.where(usable, most, 1.0), np.nan)


def histories(recording: Recording) -> list[History]:
    """Return the histories of the segments. Raises the exceptions of their replay."""
    begun = recording.segments[0][1]['now'][0] if recording.segments else 0.0
    return [_history(recording.robot, *segment, begun) for segment in recording.segments]


def _history(
    robot: Robot, segment: dict[str, Any], columns: dict[str, Array], begun: float
) -> History:
    commands: list[Command] = []
    limits: list[MotionLimits] = []
    for tracker, command in run_segment(robot, segment, columns, ReplayedClock(columns['clock'])):
        commands.append(command)
        limits.append(tracker.governor.limits_in_force)
    aimless = np.array([command.status is TrackStatus.IDLE for command in commands], bool)

    def errors(kind: Sequence[Array]) -> Array:
        return np.where(aimless[:, np.newaxis], np.nan, np.array(kind))

    problem = Decoder(robot, columns['numbers']).decode(segment['problem'])
    return History(
        tips=tuple(problem.goal_links),
        seconds=columns['now'] - begun,
        q=np.array([command.q for command in commands]),
        dq=np.array([command.dq for command in commands]),
        position_errors=errors([command.position_errors for command in commands]),
        orientation_errors=errors([command.orientation_errors for command in commands]),
        solve_times=np.array([command.solve_time for command in commands]),
        statuses=tuple(command.status for command in commands),
        lower=np.array([limit.lower for limit in limits]),
        upper=np.array([limit.upper for limit in limits]),
        velocity=np.array([limit.velocity for limit in limits]),
    )
