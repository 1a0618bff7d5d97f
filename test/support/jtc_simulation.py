# SPDX-License-Identifier: Apache-2.0
"""ros2_control's JointTrajectoryController on mock hardware, as a simulation without ROS.

What it does with a stream of joint trajectories, by the rules of its `update` and of the callback
of its topic in ros2_controllers 4.42 (Jazzy), where it says nothing else:

- A message is refused when it does not end at rest, when its times do not ascend, or when it has
  a stamp and ends before now. Else it takes the place of the last one in the next cycle. With the
  stamp 0 it begins then.
- In its first cycle the measured state is noted. Until the time of the first point the way is a
  spline from that state to that point; then splines from point to point; then the last point.
- Splines are lines, cubic where both ends have velocities, quintic with accelerations too.
- In each cycle the position is commanded that the trajectory has one period later; in 2.x
  (Humble) the one of now.
- With speed scaling (4.x and later) the time of a trajectory advances by that fraction of a cycle.
- In 6.8 and 6.9 a message with a stamp in the future waits until then, or until the next comes.
- After 6.9, unless `allow_trajectory_replacement` is false, a message that comes while another
  one of several points runs is blended into it: it begins where that one was a cycle ago, at
  once if its stamp is in the past, whatever its times are.

Given the messages and the cycles of the real one, 4.42.1 or a later one than 6.9, it commands the
same positions to 1e-8 rad.

The hardware is where it was commanded to be when the next cycle begins, and says so at once or
some cycles late; its velocity is the difference of two positions (`calculate_dynamics`).
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

SECOND = 10**9
FLOAT_EPSILON = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class State:
    """State of the joints, (n,) each; None if unknown."""

    position: np.ndarray
    velocity: np.ndarray | None = None
    acceleration: np.ndarray | None = None


@dataclass(frozen=True)
class Trajectory:
    """A JointTrajectory: `stamp` [ns], 0 for now; points, each some time [ns] after the stamp."""

    stamp: int
    points: tuple[tuple[int, State], ...]

    @classmethod
    def of(cls, message):
        """From a trajectory_msgs/JointTrajectory."""
        points = tuple(
            (nanoseconds(p.time_from_start), State(*map(_row, _fields(p)))) for p in message.points
        )
        return cls(nanoseconds(message.header.stamp), points)

    @classmethod
    def read(cls, data):
        """The same from its bytes (CDR, little-endian), in a fifth of the time."""
        reader = _Reader(bytes(data))
        stamp = reader.nanoseconds()
        reader.skip_text()  # the frame
        for _ in range(reader.number()):
            reader.skip_text()  # a joint's name
        points = [_read_point(reader) for _ in range(reader.number())]
        return cls(stamp, tuple(points))

    @property
    def end(self):
        """When the last point is to be reached [ns]."""
        return self.stamp + self.points[-1][0]


class _Reader:
    """Goes through CDR: numbers are aligned to their size, counted from behind the first four
    bytes."""

    def __init__(self, data):
        self._data, self._at = data, 4

    def number(self):
        """An unsigned number of 32 bits."""
        at = self._at + -self._at % 4
        self._at = at + 4
        return int.from_bytes(self._data[at : at + 4], 'little')

    def nanoseconds(self):
        """A time or a duration."""
        seconds = self.number()
        return (seconds - (seconds >> 31 << 32)) * SECOND + self.number()

    def skip_text(self):
        """A length, and as many bytes."""
        length = self.number()
        self._at += length

    def row(self):
        """Numbers of 64 bits, None where there are none."""
        count = self.number()
        if count == 0:
            return None
        at = self._at + (4 - self._at) % 8
        self._at = at + 8 * count
        return np.frombuffer(self._data, float, count, at)


def _read_point(reader):
    state = State(reader.row(), reader.row(), reader.row())
    reader.row()  # efforts
    return reader.nanoseconds(), state


def nanoseconds(time):
    """Return the nanoseconds of a time or a duration in a message."""
    return time.sec * SECOND + time.nanosec


def _fields(point):
    return point.positions, point.velocities, point.accelerations


def _row(values):
    return np.array(values) if len(values) else None


def spline(begin, start, end, goal, now):
    """The state at a time on the spline from start to goal; times in ns."""
    seconds = (end - begin) / SECOND
    curve = [start.position, *_powers(goal.position - start.position, start, goal, seconds)]
    u, states = (now - begin) / (end - begin), []
    for order in range(3):
        states.append(_horner(curve, u) / seconds**order)
        curve = [power * row for power, row in enumerate(curve)][1:]
    return State(*states)


def _horner(coefficients, u):
    value = 0.0
    for row in reversed(coefficients):
        value = value * u + row
    return value


def _powers(way, start, goal, seconds):
    """The coefficients of u, u^2, ... for u from 0 to 1."""
    if start.velocity is None or goal.velocity is None:
        return [way]
    v, w = start.velocity * seconds, goal.velocity * seconds
    if start.acceleration is None or goal.acceleration is None:
        return [v, 3.0 * way - 2.0 * v - w, v + w - 2.0 * way]
    a, b = 0.5 * start.acceleration * seconds**2, 0.5 * goal.acceleration * seconds**2
    return [
        v,
        a,
        10.0 * way - 6.0 * v - 4.0 * w - 3.0 * a + b,
        8.0 * v + 7.0 * w + 3.0 * a - 2.0 * b - 15.0 * way,
        6.0 * way - 3.0 * v - 3.0 * w - a + b,
    ]


@dataclass
class Controller:
    """A simulated controller, see above. `period` [ns]; `refused`: why messages were refused.

    looks_ahead : 4.x and later; defers : 6.8 and 6.9; blends : after 6.9; scaling : the fraction
        of its speed at which it runs trajectories
    """

    period: int
    looks_ahead: bool = True
    defers: bool = False
    blends: bool = False
    scaling: float = 1.0
    refused: list[str] = field(default_factory=list)
    _next: Trajectory | None = None
    _active: Trajectory | None = None
    _before: State | None = None
    _installed: int = 0
    _time: int = 0

    def take(self, message: Trajectory, now: int) -> None:
        """The callback of the topic."""
        objection = self._objection(message, now)
        if objection:
            self.refused.append(objection)
        else:
            self._next = message

    def _objection(self, message, now):
        last = message.points[-1][1].velocity
        if last is not None and (np.abs(last) > FLOAT_EPSILON).any():
            return 'the last point is not at rest'
        if message.stamp and message.end < now:
            return 'it ends in the past'
        if any(later <= time for (time, _), (later, _) in pairwise(message.points)):
            return 'its times do not ascend'
        return ''

    def update(self, now: int, elapsed: int, measured: State) -> np.ndarray | None:
        """One cycle: the positions to command; None before the first message."""
        if self._next is not None and not (self.defers and self._next.stamp > now):
            self._install(self._next, now, measured)
            self._next = None
        elif self._active is not None:
            self._time += round(self.scaling * elapsed)
        if self._active is None:
            return None
        return self._at(self._time + (self.period if self.looks_ahead else 0)).position

    def _install(self, message, now, measured):
        if self.blends and self._active is not None and len(self._active.points) > 1:
            message = self._blended(message, now)
        self._active = message if message.stamp else replace(message, stamp=now)
        self._before, self._installed, self._time = measured, now, now

    def _blended(self, message, now):
        cursor, active = self._time, self._active
        start = cursor + max(message.stamp - now, 0)
        points = [(start + time - cursor, state) for time, state in message.points]
        bridge = start - cursor, self._at(start)
        if bridge[0] < points[0][0]:
            points = [bridge, *points]
        kept = [(active.stamp + time - cursor, state) for time, state in active.points]
        return Trajectory(0, (*(row for row in kept if 0 < row[0] < start - cursor), *points))

    def _at(self, now):
        start, points = self._active.stamp, self._active.points
        first, goal = points[0]
        if now < start + first:
            before = self._before
            if before.velocity is None and goal.velocity is not None:
                before = replace(before, velocity=np.zeros_like(before.position))
            return spline(self._installed, before, start + first, goal, now)
        for (begin, one), (end, other) in pairwise(points):
            if start + begin <= now < start + end:
                return spline(start + begin, one, start + end, other, now)
        return points[-1][1]


@dataclass(frozen=True)
class Motion:
    """Commanded positions (m, n) at `times` (m,) [s] after `start` [ns]."""

    start: int
    times: np.ndarray
    positions: np.ndarray

    @property
    def velocities(self):
        """(m - 1, n), as differences."""
        return np.diff(self.positions, axis=0) / np.diff(self.times)[:, None]

    @property
    def accelerations(self):
        """(m - 2, n), as differences."""
        between = 0.5 * (self.times[2:] - self.times[:-2])
        return np.diff(self.velocities, axis=0) / between[:, None]


def simulate(
    controller: Controller,
    cycles: Sequence[int],
    arrivals: Iterable[tuple[int, Trajectory]],
    start: np.ndarray,
    late: int = 0,
) -> Motion:
    """Let the controller run at these times [ns], with messages that come at theirs.

    start (n,): where the joints are; late: how many cycles old their measured state is.
    """
    arrivals = sorted(arrivals, key=lambda arrival: arrival[0])
    moments, taken = [moment for moment, _ in arrivals], 0
    positions = [np.asarray(start, float)] * (late + 2)
    for before, now in pairwise([cycles[0] - controller.period, *cycles]):
        come = bisect.bisect_right(moments, now)
        for moment, message in arrivals[taken:come]:
            controller.take(message, moment)
        taken = come
        last, one_before = positions[-1 - late], positions[-2 - late]
        measured = State(last, (last - one_before) * (SECOND / controller.period))
        command = controller.update(now, now - before, measured)
        positions.append(positions[-1] if command is None else command)
    ahead = controller.period if controller.looks_ahead else 0
    times = (np.array(cycles) - cycles[0]) / SECOND
    return Motion(cycles[0] + ahead, times, np.array(positions[late + 2 :]))
