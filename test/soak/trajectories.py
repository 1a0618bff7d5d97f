# SPDX-License-Identifier: Apache-2.0
"""Judges trajectories: each message, what it says beside the one before, and what comes of them.

What comes of them is what a controller samples, once a period and out of step with the node: the
cubic splines through the points of the message that came last. That motion goes to a `Listener`,
which judges it like any other. Nothing of the package is used.

    each message       a controller takes it; its splines keep the limits, the stop at its end too
    when it takes over its spline goes on where, and as fast as, the one before is at that moment

A message that was on its way for longer than half of `trajectory_delay` may come too late for
that: it is counted, and not judged for how it takes over. How long it was is its time of
publication against its points, by the message that was the quickest.

A controller that is off holds the position of its robot, and once it is on again until the next
message. That one has to begin where the robot is. A message that begins later than it comes is led
to from where the robot is, as a JointTrajectoryController does it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from .expected_limits import ACCELERATION, JERK, LOWER, UPPER, VELOCITY, Array
from .listener import Listener, Sample

# Messages before the first that is judged for how it takes over: one of them was quick
SETTLED = 20
# [ns] By so much more the quickest may have taken with each message: clocks are adjusted
CREEP = 50
ROUNDING = 1e-9  # [rad or m], and per period: what splines of two messages may differ by
# [rad or m] The same where the one before has begun to stop: its cubics are long ones then
IN_A_STOP = 1e-5
# [ns] More than a clock that is being adjusted moves the points from one message to the next
CLOCK = 20_000
# [ns] After such a pause the process was stopped, maybe between a tick and its publication
HELD_UP = 500_000_000
# [ns] So long after its time a cycle of the controller is worked out: messages come late
HINDSIGHT = 300_000_000
# [of what the jerk adds in a period] Accelerations of cubics differ so much from the motion's
BEND = 0.15
CREEPS = 0.05  # [rad/s or m/s] A robot that is not faster rests
# [s] After which the node knows that its robot stands: the lag of that, and some states. Until
# then messages go on,
NOTICED = 0.07
SWITCHED_ON = 0.02  # [rad or m] and so far from its robot may the next message be besides
BEFORE = 2  # Points at the beginning that rest, for a controller whose clock is behind


@dataclass(frozen=True)
class Spline:
    """Cubics through points: times (m,) [ns], positions and velocities (m, n) in the order of
    `names`.
    """

    names: tuple[str, ...]
    times: NDArray[np.int64]
    positions: Array
    velocities: Array

    @classmethod
    def of(cls, message: JointTrajectory) -> Spline:
        """Return the spline of a message."""
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        points = message.points
        times = [p.time_from_start.sec * 10**9 + p.time_from_start.nanosec for p in points]
        return cls(
            tuple(message.joint_names),
            stamp + np.array(times),
            np.array([p.positions for p in points]),
            np.array([p.velocities for p in points]),
        )

    def at(self, now: int) -> tuple[Array, Array]:
        """Positions and velocities (n,) at a time; after the last point those of that one."""
        k = int(np.clip(np.searchsorted(self.times, now, 'right') - 1, 0, len(self.times) - 2))
        h = 1e-9 * float(self.times[k + 1] - self.times[k])
        u = min(max(1e-9 * float(now - self.times[k]) / h, 0.0), 1.0)
        v, w = h * self.velocities[k], h * self.velocities[k + 1]
        way = self.positions[k + 1] - self.positions[k]
        b, c = 3.0 * way - 2.0 * v - w, v + w - 2.0 * way
        return self.positions[k] + u * (v + u * (b + u * c)), (v + u * (2 * b + u * 3 * c)) / h

    def after(self, now: int) -> Spline:
        """The cubics that are not over at a time."""
        k = int(np.clip(np.searchsorted(self.times, now, 'right') - 1, 0, len(self.times) - 2))
        return Spline(self.names, self.times[k:], self.positions[k:], self.velocities[k:])

    def led_to(self, positions: Sequence[float], now: int) -> Spline:
        """The same after a cubic from rest at these positions (n,), from a time before on."""
        rest = np.zeros((1, len(self.names)))
        return Spline(
            self.names,
            np.concatenate([[now], self.times]),
            np.concatenate([[positions], self.positions]),
            np.concatenate([rest, self.velocities]),
        )

    def accelerations(self) -> tuple[Array, Array]:
        """At the beginning and at the end of each cubic, (m - 1, n) each."""
        h = 1e-9 * np.diff(self.times)[:, None]
        mean, v, w = np.diff(self.positions, axis=0) / h, self.velocities[:-1], self.velocities[1:]
        return (6.0 * mean - 4.0 * v - 2.0 * w) / h, (2.0 * v + 4.0 * w - 6.0 * mean) / h

    def fastest(self) -> Array:
        """The highest speed (n,), between points too."""
        a, b = self.accelerations()
        h = 1e-9 * np.diff(self.times)[:, None]
        with np.errstate(invalid='ignore', divide='ignore'):
            more = np.where(a * b < 0.0, 0.5 * h * a * a / (a - b), 0.0)
        speeds = np.abs(np.concatenate([self.velocities[:-1] + more, self.velocities]))
        return np.asarray(speeds.max(axis=0))

    def objection(self) -> str:
        """Why a controller would refuse it, or could not play it; '' where it takes it."""
        if not (np.isfinite(self.positions).all() and np.isfinite(self.velocities).all()):
            return 'it is not finite'
        if self.velocities[-1].any():
            return 'the last point is not at rest'
        if (np.diff(self.times) <= 0).any():
            return 'its times do not ascend'
        return ''


def beyond_limits(spline: Spline, rows: Array, period: float) -> str:
    """Return the limits (5, n) that a message violates, also between its points; '' for none.

    Cubics stand for the motion of a joint with a jerk limit not better than BEND says.
    """
    bend = BEND * np.where(np.isfinite(rows[JERK]), rows[JERK], 0.0) * period
    noise = 1e-10 / period**2
    first, last = (np.abs(a).max(axis=0) for a in spline.accelerations())
    limits = rows[ACCELERATION] * (1.0 + 1e-6) + bend + noise
    found = _excess('acceleration', spline, np.maximum(first, last), limits)
    limits = rows[VELOCITY] * (1.0 + 1e-6) + bend * period + noise * period
    found += _excess('velocity', spline, spline.fastest(), limits)
    begin, later = spline.positions[0], spline.positions[1:]
    out = np.maximum(rows[LOWER] - later, later - rows[UPPER]).max(axis=0)
    was_in = (begin >= rows[LOWER]) & (begin <= rows[UPPER])
    return found + _excess('position', spline, out, np.where(was_in, ROUNDING, np.inf))


def _excess(kind: str, spline: Spline, values: Array, limits: Array) -> str:
    joint = int(np.argmax(values - limits))
    if values[joint] <= limits[joint]:
        return ''
    return f'{kind} of {spline.names[joint]} {values[joint]:.9g}, allowed {limits[joint]:.9g}; '


class Controller:
    """Plays the trajectories that it hears, and hands what it does to a listener.

    `rate` [Hz] of the node, `delay` [s]: its trajectory_delay; `robot`: where its joints are.
    """

    def __init__(
        self,
        listener: Listener,
        rate: float,
        delay: float,
        robot: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self._robot = robot
        self._listener, self._period = listener, round(1e9 / rate)
        self._delay = round(1e9 * delay)
        self._lag = self._delay + 3 * self._period // 2
        self._lock = threading.Lock()
        self._spline: Spline | None = None
        self._quickest: int | None = None  # from its points to its publication
        self._cycle = 0  # the next one to be played,
        self._clock = 0  # so many ns after its time, as the node's clock was adjusted
        self._published = 0
        self._breaks = 0  # of the chain of differences
        self._certain_until = 0
        self.is_on, self._switched = True, 0
        self._held: dict[str, float] = {}
        self._unnoticed: dict[str, float] = {}
        self.late = self.messages = self.switched_on = 0

    def aim(self) -> Mapping[str, float]:
        """Return the positions that the controller aims at now, by joint; {} while it holds a
        position."""
        with self._lock:
            spline = self._spline
        if spline is None:
            return {}
        return dict(zip(spline.names, spline.at(time.time_ns())[0].tolist(), strict=True))

    def switch(self, on: bool, positions: Mapping[str, float]) -> None:
        """On or off, where its robot is at these positions."""
        with self._lock:
            self._switched, spline = time.time_ns(), self._spline
            if spline is not None:  # and on until now
                speeds = np.abs(spline.at(self._switched)[1]).tolist()
                self._unnoticed = {
                    n: NOTICED * v for n, v in zip(spline.names, speeds, strict=True)
                }
            self.is_on, self._spline, self._held = on, None, dict(positions)

    def hear(self, message: JointTrajectory, info: Mapping[str, Any]) -> None:
        """Judge a message, and play it from the moment of its publication on."""
        with self._lock:
            published, spline = int(info['source_timestamp']), Spline.of(message)
            if not self.is_on or published < self._switched:
                return
            self.messages += 1
            was_held_up = published - self._published > HELD_UP
            self._published = published
            objection = spline.objection()
            if not objection and spline.times[-1] < published:
                if was_held_up:
                    self.late += 1
                    return
                objection = 'it ends in the past'
            if objection:
                self._listener.object('a trajectory that controllers refuse', objection)
                return
            self._play_until(published)
            if spline.times[0] > published:
                positions = self._robot()
                spline = spline.led_to([positions[name] for name in spline.names], published)
                self._take_over_alone(spline, published)
            else:
                self._take_over(spline, published)

    def play(self) -> None:
        """Play what is due, with hindsight."""
        with self._lock:
            self._play_until(time.time_ns() - HINDSIGHT)

    def _take_over(self, spline: Spline, published: int) -> None:
        """Let a message take the place of the one before."""
        before, now = self._spline, max(published, self._time_of(self._cycle - 1))
        if self._held:
            self._judge_beginning(spline, now)
        points = int(spline.times[BEFORE])
        quickest = published - points
        if self._quickest is not None:
            quickest = min(quickest, self._quickest + CREEP)
        self._quickest, transit = quickest, now - points - quickest
        if self.messages < SETTLED or before is None or transit > self._delay // 2:
            self.late += 1
            self._breaks += 1
        elif before.names == spline.names:
            self._judge_takeover(before, spline, now, transit)
        self._spline = spline
        self._certain_until = points + quickest + self._lag - self._period // 2
        self._judge_limits(spline.after(now))

    def _take_over_alone(self, spline: Spline, now: int) -> None:
        """Let a message take the place of the one before that no other one will follow soon."""
        self._held, before = {}, self._spline
        if before is not None and np.abs(before.at(now)[1]).max() > CREEPS:
            speed = f'{np.abs(before.at(now)[1]).max():.2g} rad/s'
            self._listener.object('a robot in motion is stopped at once', speed)
        self._breaks += 1
        self._spline, self._certain_until = spline, int(spline.times[-1])
        self._judge_limits(spline)

    def _judge_beginning(self, spline: Spline, now: int) -> None:
        """Compare the first message to a controller that is on again with where its robot is."""
        held, self._held = self._held, {}
        self.switched_on += 1
        for name, q in zip(spline.names, spline.at(now)[0].tolist(), strict=True):
            if abs(q - held[name]) > SWITCHED_ON + self._unnoticed.get(name, 0.0):
                detail = f'{name} from {held[name]:.4g} to {q:.4g}'
                self._listener.object('a jump where the controller is switched on', detail)
                return

    def _goes_on(self, before: Spline, spline: Spline, now: int) -> bool:
        """Return whether two messages say the same of a moment, but for the adjustment of the
        clock."""
        apart = int(spline.times[BEFORE] - before.times[BEFORE])
        adjusted = (apart + self._period // 2) % self._period - self._period // 2
        if abs(adjusted) > CLOCK:  # another sequence of ticks
            adjusted = 0
        self._clock += adjusted
        (q, dq), (led, speed) = spline.at(now + adjusted), before.at(now)
        slack = ROUNDING if now <= self._certain_until else IN_A_STOP
        if (np.abs(q - led) <= slack).all():
            return bool((np.abs(dq - speed) <= slack / (1e-9 * self._period)).all())
        rests = max(np.abs(speed).max(), np.abs(dq).max()) < ROUNDING
        return rests and self._listener.rests_at(spline.names, q, now) is not None

    def _judge_limits(self, spline: Spline) -> None:
        rows = self._listener.limits
        if rows is not None and self._listener.names == spline.names:
            if not self._listener.limits_are_settled:  # it may still have a jerk limit
                rows = rows.copy()
                rows[ACCELERATION] = np.inf
            found = beyond_limits(spline, rows, 1e-9 * self._period)
            if found:
                self._listener.object('a trajectory beyond a limit', found)

    def _judge_takeover(self, before: Spline, spline: Spline, now: int, transit: int) -> None:
        if self._goes_on(before, spline, now):
            return
        (q, dq), (led, speed) = spline.at(now), before.at(now)
        joint = int(np.argmax(np.abs(q - led)))
        detail = f'{spline.names[joint]}: {led[joint]:.9g} at {speed[joint]:.9g}, then '
        detail += f'{q[joint]:.9g} at {dq[joint]:.9g}'
        gap = 1e-9 * float(spline.times[BEFORE] - before.times[BEFORE])
        said = self._listener.rests_at(spline.names, q, now) is not None
        detail += f', {gap:.4f} s later, {1e-9 * transit:.4f} s on its way, rests there: {said}'
        self._listener.object('a trajectory that does not go on from the one before', detail)

    def _time_of(self, cycle: int) -> int:
        return cycle * self._period + self._clock

    def _play_until(self, now: int) -> None:
        spline = self._spline
        if spline is None:
            self._cycle = (now - self._clock) // self._period
            return
        while self._time_of(self._cycle) < now:
            moment = self._time_of(self._cycle)
            q, _ = spline.at(moment)
            if moment <= self._certain_until:
                stamp = moment - self._lag
                number = self._cycle + self._breaks
                self._listener.take(Sample(spline.names, q, None, stamp, number))
            self._cycle += 1
