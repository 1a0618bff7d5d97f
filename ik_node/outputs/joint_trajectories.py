# SPDX-License-Identifier: Apache-2.0
"""Trajectories for ros2_control's JointTrajectoryController: a window of what is commanded.

The controller follows splines through the points of a message, at times on its own clock, until
another message takes the place of this one, whenever that comes. A message of one point would
begin another spline each time, at a moment that neither loop has in its hand, and from the state
that the controller measures: joints jerk, and where states come late, swing ever farther out. So
each message has, with their times,

- the points of the last ticks, from before now on. About the same moment all messages say the
  same: it does not matter which one the controller has.
- then the stop: how all joints come to rest within their limits. It is gone into only as long as
  the next message is late, or where none comes any more. At its end the joints rest, which the
  controller insists on by default.
- before all of them, the first of these positions, at rest since the clock began, which is the
  stamp. So there is no time, by no clock, for which the controller asks what it measures.

The points are the knots of `ik_core.tracking.governor.stop_spline`: between them, too, the limits
are kept, however often the controller samples. They lie ahead of their ticks by the lag of the
joints,

    lag = 1.5 periods + delay

a period until the next message, half a one because a knot lies between two ticks, and `delay`: as
long as a message is not longer on its way, the controller's own period included, no stop begins.

What is sent can't be taken back: where ticks did not come, the controller went on, into the stop
in the end. `make_up` lets the commanded joints do the same, so that the next message goes on from
there, and not from where the joints were long ago. That is why it comes last in a tick, which may
have been held up itself. A message that was held up before it was sent (`latest`) is dropped: the
controller is in the stop of the message before, not in this one's. Joints and window go back to
where they were when that was sent, and all ticks since then are made up anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from ik_core import Robot
from ik_core.maths.rotations import Array
from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.stop_spline import MAX_KNOTS

from ..clocks import Moment
from ..committed_steps import CommittedSteps
from .joint_rows import JointRows
from .output import Output
from .trajectory_bytes import TrajectoryBytes

CLOCKS = 20_000_000
"""[ns] The past in a message: as far may the controller's clock be behind without any harm."""
PATIENCE = 10**9
"""[ns] The last point is repeated so much later: a message that ends in the past is refused."""
BEGINNING = -(2**62)
"""[ns] A time before all others."""
CONTINUOUS = 1e-9
"""[rad or m] A knot farther from where the one before leads begins another motion."""


class Window:
    """The points of a message: the knots of the last ticks, and those of the stop after them.

    `count` points with `times` [ns], on the clock of the ticks, `positions` and `velocities` of
    the joints of `rows`. Two at rest are the first, then as many knots as are `certain`, then
    those of the stop, of which there are `most_knots`. `period`, `lag` [ns].
    """

    def __init__(self, rows: JointRows, most_knots: int, period: int, lag: int) -> None:
        self._rows, self._period, self._ahead = rows, period, lag - period // 2
        self.certain = math.ceil((lag + CLOCKS) / period) + 1
        self._newest = self.certain + 1
        self.capacity = self._newest + most_knots + 1
        self.count = 0
        self.times = np.full(self.capacity, BEGINNING)
        self.positions, self.velocities = np.zeros((2, self.capacity, rows.size))
        self.keep()

    def keep(self) -> None:
        """Keep the points as they are now, for `take_back`."""
        rows = self.times, self.positions, self.velocities
        self._kept = self.count, tuple(row.copy() for row in rows)

    def take_back(self) -> None:
        """Undo each `add` since the last `keep`."""
        self.count, rows = self._kept
        for row, kept in zip((self.times, self.positions, self.velocities), rows, strict=True):
            row[:] = kept

    def add(self, governor: Governor, due: int) -> None:
        """Add the command of the tick at `due`."""
        ticks, q, dq = governor.stop_knots()
        is_first, self.count = self.count == 0, self._newest + len(ticks) + 1
        for rows in (self.times, self.positions, self.velocities):
            rows[2 : self._newest] = rows[3 : self._newest + 1]
        stop = slice(self._newest, self.count - 1)
        self._rows.positions(q, self.positions[stop])
        self._rows.velocities(dq, self.velocities[stop])
        self.times[stop] = due + self._ahead + self._period * ticks
        self._join(is_first)
        self._rest_before_and_after()

    def _join(self, is_first: bool) -> None:
        """Connect the past to the newest knot; if they do not meet, as if joints had rested."""
        newest, times, half = self._newest, self.times, 0.5e-9 * self._period
        position, velocity = self.positions[newest], self.velocities[newest]
        led = self.positions[newest - 1] + half * (self.velocities[newest - 1] + velocity)
        if is_first or (np.abs(position - led) > CONTINUOUS).any():
            self.positions[2:newest] = position - half * velocity
            self.velocities[2:newest] = 0.0
        if is_first or times[newest] <= times[newest - 1]:  # or the clock was set back
            times[2:newest] = times[newest] - self._period * np.arange(newest - 2, 0, -1)

    def _rest_before_and_after(self) -> None:
        half, last = 0.5e-9 * self._period, self.count - 1
        self.positions[:2] = self.positions[2] - half * self.velocities[2]
        self.times[1] = self.times[2] - self._period
        self.positions[last], self.velocities[last] = self.positions[last - 1], 0.0
        self.times[last] = self.times[last - 1] + PATIENCE


class JointTrajectoryWriter(Output):
    """Windows of the motion of the joints `names`, at `rate` [Hz]; `delay` [s]: see above."""

    kind: ClassVar[Any] = JointTrajectory
    topic: ClassVar[str] = 'joint_trajectory'

    def __init__(self, robot: Robot, names: Sequence[str], rate: float, delay: float) -> None:
        self._period, self._delay = round(1e9 / rate), round(1e9 * delay)
        lag = self._delay + 3 * self._period // 2
        self.lag = 1e-9 * lag
        self._rows = JointRows(robot, names)
        most_knots = 1 + MAX_KNOTS * (
            robot.n + len(robot.mimic_joints)
        )  # of which some may be alone
        self._ticks_in_time = self._delay // (2 * self._period) + 1  # one missed more is too late
        self._window = Window(self._rows, most_knots, self._period, lag)
        self._bytes = TrajectoryBytes(names, self._window.capacity)
        self._last_due: int | None = None
        self._sent_due: int | None = None

    def make_up(
        self, steps: CommittedSteps, due: int, now: int, *, has_stepped: bool = True
    ) -> int:
        """Repeat, for ticks that did not come, the motion that the controller makes meanwhile.

        Where it may have gone into the stop, after half of the delay, they brake, instead of the
        step of this tick; else there is still time to go on.
        """
        due += self._period * max((now - due) // self._period, 0)
        missed, tick = self._missed(due), 0
        braking = self._braking(missed)
        if braking and has_stepped:
            steps.undo_tick()
            has_stepped = False
        while tick <= missed:
            if tick < braking and steps.at_rest:  # only what a message still tells of
                tick = max(tick, min(braking, missed - self._window.certain))
            if tick or not has_stepped:
                steps.skip_tick(braking=tick < braking)
            if tick < missed:
                self._add(steps.governor, due - self._period * (missed - tick))
            tick += 1
        return due

    def _braking(self, missed: int) -> int:
        """The number of missed ticks in which the controller may have been braking."""
        return max(missed - self._ticks_in_time + 1, 0)

    def drop(self, steps: CommittedSteps) -> None:
        """See Output."""
        self._window.take_back()
        self._last_due = self._sent_due
        steps.undo_tick()

    def sent(self) -> None:
        """See Output."""
        self._window.keep()
        self._sent_due = self._last_due

    def _add(self, governor: Governor, due: int) -> None:
        self._window.add(governor, due)
        self._last_due = due

    def _missed(self, due: int) -> int:
        """How many ticks did not come since the last message."""
        if self._last_due is None:
            return 0
        return max(round((due - self._last_due) / self._period) - 1, 0)

    def write(self, governor: Governor, moment: Moment) -> bytes:
        """See Output."""
        self._add(governor, moment.due)
        if self._sent_due is not None:  # then the controller goes into a stop
            self.latest = moment.due + self._period * self._ticks_in_time
        window, end = self._window, self._window.count
        times = window.times[:end] + (moment.stamp - moment.due)
        begin = int(np.searchsorted(times, 1)) - 1  # after 0 only where simulated time just began
        times[begin] = 0
        return self._bytes.fill(
            times[begin:], window.positions[begin:end], window.velocities[begin:end]
        )

    def write_return(self, q: Array, seconds: float, moment: Moment) -> bytes:
        """See Output. The controller begins where it measures the joints then."""
        end = moment.stamp + round(1e9 * seconds)
        positions = np.zeros((2, self._rows.size))
        self._rows.positions(np.array([q, q]), positions)
        times = np.array([end, end + PATIENCE])
        return self._bytes.fill(times, positions, np.zeros_like(positions))
