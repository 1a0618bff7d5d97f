# SPDX-License-Identifier: Apache-2.0
"""Trajectories for ros2_control's JointTrajectoryController: a window of the commanded motion.

The controller follows splines through the points of a message, at times on its own clock, until
the next message arrives and replaces it. A message of a single point would begin a new spline each
time, at a moment that neither loop controls, and at the state that the controller measures: joints
would jerk, and with late states they would oscillate with growing amplitude. So each message has,
with their times,

- the points of the last ticks, beginning before the present. All messages agree about the same
  moment, so it does not matter which of them the controller has;
- then the stop, in which all joints come to rest within their limits. The controller executes it
  only if the next message is late or never comes. It ends at rest, as the controller requires by
  default;
- before all of them, the first of these positions, at rest since the clock began, which is the
  stamp. So the controller never interpolates from its measured state, whatever its clock.

The points are the knots of `ik_core.tracking.governor.stop_spline`: the limits hold between them,
too, at any sampling rate of the controller. They are ahead of their ticks by the lag of the
joints,

    lag = 1.5 periods + delay

one period until the next message, half a period since a knot lies between two ticks, and `delay`:
the stop begins only if a message takes longer than that, including a period of the controller.

A sent message can't be revoked: if ticks are missed, the controller continues it, finally into the
stop. `simulate_missed` lets the commanded joints do the same, so that the next message continues
from there. It is called last in a tick, since the tick itself may have been delayed. A message
that was delayed before it was sent (beyond `latest`) is dropped, since the controller executes the
stop of the previous message. Then joints and window are restored to the time of that message, and
all ticks since are simulated again.
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

# [ns] Length of the past in a message: the controller's clock may be behind by this much.
CLOCKS = 20_000_000
# [ns] The last point is repeated this much later: controllers refuse messages that end in the
# past.
PATIENCE = 10**9
FIRST_TIME = -(2**62)  # [ns] a time before all others
# [rad or m] A knot farther from the extrapolation of the previous one begins another motion.
CONTINUOUS = 1e-9


class Window:
    """The points of a message: the knots of the last ticks, and those of the stop after them.

    rows : the published joints
    most_knots : largest number of knots of a stop
    period, lag : [ns]

    The first `count` rows of `times` [ns] on the clock of the ticks, `positions` and `velocities`
    (capacity, joints) are valid: two points at rest, `certain` knots of past ticks, the knots of
    the stop, and its last point again.
    """

    def __init__(self, rows: JointRows, most_knots: int, period: int, lag: int) -> None:
        self._rows, self._period, self._ahead = rows, period, lag - period // 2
        self.certain = math.ceil((lag + CLOCKS) / period) + 1
        self._newest = self.certain + 1
        self.capacity = self._newest + most_knots + 1
        self.count = 0
        self.times = np.full(self.capacity, FIRST_TIME)
        self.positions, self.velocities = np.zeros((2, self.capacity, rows.size))
        self.save()

    def save(self) -> None:
        """Save the present points for `restore`."""
        rows = self.times, self.positions, self.velocities
        self._saved = self.count, tuple(row.copy() for row in rows)

    def restore(self) -> None:
        """Undo all calls of `add` since the last `save`."""
        self.count, rows = self._saved
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
        """Connect the past to the newest knot; if they do not meet, let the past be at rest."""
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
    """An output of windows of the motion of the joints `names`.

    rate : [Hz] of the ticks
    delay : [s] longest transport time of a message, including a period of the controller
    """

    kind: ClassVar[Any] = JointTrajectory
    topic: ClassVar[str] = 'joint_trajectory'

    def __init__(self, robot: Robot, names: Sequence[str], rate: float, delay: float) -> None:
        self._period, self._delay = round(1e9 / rate), round(1e9 * delay)
        lag = self._delay + 3 * self._period // 2
        self.lag = 1e-9 * lag
        self._rows = JointRows(robot, names)
        # Mimic joints have knots of their own during an alignment.
        most_knots = 1 + MAX_KNOTS * (robot.n + len(robot.mimic_joints))
        # The controller begins the stop after this many missed ticks; half of the delay is a
        # margin.
        self._ticks_in_time = self._delay // (2 * self._period) + 1
        self._window = Window(self._rows, most_knots, self._period, lag)
        self._bytes = TrajectoryBytes(names, self._window.capacity)
        self._last_due: int | None = None
        self._sent_due: int | None = None

    def simulate_missed(
        self, steps: CommittedSteps, due: int, now: int, *, has_stepped: bool = True
    ) -> int:
        """Take the steps of missed ticks, as the controller continues the last message meanwhile.

        If it may have begun the stop, after half of the delay, these steps brake, in place of the
        step of this tick; else the motion continues.

        Returns the deadline [ns] of the next message.
        """
        due += self._period * max((now - due) // self._period, 0)
        missed, tick = self._missed(due), 0
        # Ticks in which the controller may have been braking.
        braking = max(missed - self._ticks_in_time + 1, 0)
        if braking and has_stepped:
            steps.undo_tick()
            has_stepped = False
        while tick <= missed:
            if tick < braking and steps.at_rest:  # skip ticks that are too old for the window
                tick = max(tick, min(braking, missed - self._window.certain))
            if tick or not has_stepped:
                steps.skip_tick(braking=tick < braking)
            if tick < missed:
                self._add(steps.governor, due - self._period * (missed - tick))
            tick += 1
        return due

    def drop(self, steps: CommittedSteps) -> None:
        """Undo all messages written since `sent`, and the steps of the joints for them."""
        self._window.restore()
        self._last_due = self._sent_due
        steps.undo_tick()

    def sent(self) -> None:
        """Keep the last message written as the one that the controller executes."""
        self._window.save()
        self._sent_due = self._last_due

    def _add(self, governor: Governor, due: int) -> None:
        self._window.add(governor, due)
        self._last_due = due

    def _missed(self, due: int) -> int:
        """Return the number of ticks missed since the last message."""
        if self._last_due is None:
            return 0
        return max(round((due - self._last_due) / self._period) - 1, 0)

    def write(self, governor: Governor, moment: Moment) -> bytes:
        """Return the serialized message for the governor's state at a moment."""
        self._add(governor, moment.due)
        if self._sent_due is not None:  # the controller begins the stop of the last message then
            self.latest = moment.due + self._period * self._ticks_in_time
        window, end = self._window, self._window.count
        times = window.times[:end] + (moment.stamp - moment.due)
        begin = int(np.searchsorted(times, 1)) - 1  # above 0 only if simulated time has just begun
        times[begin] = 0
        return self._bytes.fill(
            times[begin:], window.positions[begin:end], window.velocities[begin:end]
        )

    def write_return(self, q: Array, seconds: float, moment: Moment) -> bytes:
        """Return a message that sends the joints to rest at q (n,) or (n + m,) in `seconds`.

        The controller begins where it measures the joints.
        """
        end = moment.stamp + round(1e9 * seconds)
        positions = np.zeros((2, self._rows.size))
        self._rows.positions(np.array([q, q]), positions)
        times = np.array([end, end + PATIENCE])
        return self._bytes.fill(times, positions, np.zeros_like(positions))
