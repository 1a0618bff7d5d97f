# SPDX-License-Identifier: Apache-2.0
"""Promises of a governor, checked by its output: own formulas, own differences."""

import math

import numpy as np

from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.joint_table import DDQ, DQ, MEAN
from ik_core.tracking.governor.motion_limits import MotionLimits

EASY = 1 + 1e-9  # what rounding may add to a limit


def turning_times(v, a, jerk):
    """When a velocity is 0: none, one or two times."""
    if jerk == 0.0:
        return [-v / a] if a != 0.0 else []
    square = a * a - 2.0 * jerk * v
    return [(-a + side * math.sqrt(square)) / jerk for side in (-1.0, 1.0)] if square > 0.0 else []


def stop_extent(v, a, mean, most, jerk, period):
    """From where to where the fastest stop leads, (low, high).

    Without a jerk limit by whole steps from dq = v, the first of which also follows the mean
    velocity of the step before; with one by three phases of constant jerk, whose turning points
    are the roots of the velocity.
    """
    if math.isinf(jerk):
        step = most * period
        v = min(max(0.0, max(v, mean) - step), min(v, mean) + step)
        ticks = math.floor(abs(v) / step)
        x = period * (v + (ticks * v - math.copysign(0.5 * step * ticks * (ticks + 1), v)
                           if ticks else 0.0))  # fmt: skip
        return min(x, 0.0), max(x, 0.0)
    side, phases = braking_phases(v, a, most, jerk)
    v, a = side * v, side * a
    x, places = 0.0, [0.0]
    for seconds, rate in phases:
        for turn in turning_times(v, a, rate):
            if 0.0 < turn < seconds:
                places.append(x + turn * (v + turn * (0.5 * a + turn * rate / 6.0)))
        x += seconds * (v + seconds * (0.5 * a + seconds * rate / 6.0))
        v, a = v + seconds * (a + 0.5 * seconds * rate), a + seconds * rate
        places.append(x)
    low, high = min(places), max(places)
    return (low, high) if side > 0.0 else (-high, -low)


def braking_phases(v, a, most, jerk):
    """The side to which the fastest stop leads, and its three phases there: (seconds, jerk)."""
    side = 1.0 if v + a * abs(a) / (2.0 * jerk) >= 0.0 else -1.0
    v, a = side * v, side * a
    peak = min(most, math.sqrt(max(jerk * v + 0.5 * a * a, 0.0)))
    first = (a + peak) / jerk
    first_rate = -math.copysign(jerk, first)
    left = v + a * abs(first) + 0.5 * first_rate * first**2 - 0.5 * peak**2 / jerk
    hold = max(left / peak, 0.0) if peak > 0.0 else 0.0
    return side, ((abs(first), first_rate), (hold, 0.0), (peak / jerk, jerk))


def stop_of(v, a, most, jerk, period):
    """Return the end of the fastest stop from v, a [rad or m] and its duration [s]."""
    if math.isinf(jerk):
        low, high = stop_extent(v, a, v, most, jerk, period)
        return low + high, period * math.ceil(abs(v) / (most * period) - 1e-9)
    side, phases = braking_phases(v, a, most, jerk)
    v, a, x = side * v, side * a, 0.0
    for seconds, rate in phases:
        x += seconds * (v + seconds * (0.5 * a + seconds * rate / 6.0))
        v, a = v + seconds * (a + 0.5 * seconds * rate), a + seconds * rate
    return side * x, sum(seconds for seconds, _ in phases)


class Watch:
    """Checks each step of a governor by its published q, dq, ddq and the limits in force."""

    def __init__(self, governor):
        self.governor = governor
        self.q, self.dq, self.ddq = (
            [row.copy()] for row in (governor.q, governor.dq, governor.ddq)
        )
        self.way = [governor.dq.copy()]  # the mean velocity of each step
        self.in_force = [governor.limits_in_force]

    def see(self):
        """Check the step that was just made."""
        g = self.governor
        for row, now in ((self.q, g.q), (self.dq, g.dq), (self.ddq, g.ddq)):
            row.append(now.copy())
            assert np.isfinite(now).all()
        self.way.append((self.q[-1] - self.q[-2]) / g.period)
        slack = self._rounding / g.period + 1e-9 * np.abs(self.way[-1])
        assert (np.abs(g._joints[MEAN] - self.way[-1]) <= slack).all()
        self.in_force.append(g.limits_in_force)
        for row in (self.q, self.dq, self.ddq, self.way, self.in_force):
            del row[:-4]
        self._check_positions()
        self._check_velocities()
        self._check_accelerations()
        self._check_jerks()

    @property
    def _rounding(self):
        """[rad or m] What landing exactly on a limit or a target may move a joint."""
        return 2e-11 * np.maximum(1.0, np.abs(self.q[-1]))

    def _stops(self, k):
        """From where to where stops lead from the state k, with the limits of now: (2, n)."""
        now, period = self.in_force[-1], self.governor.period
        rows = self.dq[k], self.ddq[k], self.way[k], now.acceleration, now.jerk
        ways = [stop_extent(*joint, period) for joint in zip(*rows, strict=True)]
        return self.q[k] + np.array(ways).T

    def _check_positions(self):
        """Inside, and able to stop inside; or on the way that a stop takes, and no further."""
        now, slack = self.in_force[-1], self._rounding
        before, after = self._stops(-2), self._stops(-1)
        lowest, highest = np.minimum(now.lower, before[0]), np.maximum(now.upper, before[1])
        slack = slack + 1e-12 * (before[1] - before[0])
        assert (after[0] >= lowest - slack).all()
        assert (after[1] <= highest + slack).all()
        out = np.maximum(self.q[-1] - now.upper, now.lower - self.q[-1])
        was_out = np.maximum(self.q[-2] - now.upper, now.lower - self.q[-2])
        leaves = (out > was_out + slack) & (out > slack) & (was_out > slack)
        assert (leaves <= self._brakes_fully()).all()

    def _brakes_fully(self):
        """Return whether the acceleration is, or goes as fast as it may to, full deceleration."""
        now, period = self.in_force[-1], self.governor.period
        side = np.sign(self.q[-1] - self.q[-2])
        reached = np.maximum(now.jerk * period - side * self.ddq[-2], -now.acceleration)
        reached = np.minimum(now.acceleration, reached)
        # Where a jerk limit has just been switched off, from the faster of two velocities.
        faster = np.maximum(side * self.dq[-2], side * self.way[-2]) - side * self.dq[-1]
        slowing = np.where(np.isinf(now.jerk), faster / period, -side * self.ddq[-1])
        full = slowing >= reached - 1e-9 * np.maximum(1.0, np.abs(slowing))
        # On the last part of a stop the deceleration falls off again, to end with the velocity.
        dq, ddq = side * self.dq[-1], side * self.ddq[-1]
        with np.errstate(invalid='ignore'):
            ends = (ddq <= 0.0) & (ddq**2 >= 2.0 * now.jerk * dq / EASY - 1e-6)
        return full | ends | (dq <= 1e-9)

    def _check_velocities(self):
        """At most the limit; what was faster, or runs out an acceleration, at most that."""
        now = self.in_force[-1]
        left = self.dq[-2] + self.ddq[-2] * np.abs(self.ddq[-2]) / (2.0 * now.jerk)
        fastest = np.max([now.velocity, *np.abs([self.dq[-2], self.way[-2], left])], axis=0)
        slack = self._rounding / self.governor.period
        assert (np.abs(self.dq[-1]) <= fastest * EASY + 1e-12).all()
        assert (np.abs(self.way[-1]) <= fastest * EASY + slack).all()

    def _check_accelerations(self):
        """At most the limit; what is above a lowered one falls at the limit of the jerk."""
        now, period = self.in_force[-1], self.governor.period
        falls = np.maximum(np.abs(self.ddq[-2]) - now.jerk * period, 0.0)
        most = np.maximum(now.acceleration, falls)
        assert (np.abs(self.ddq[-1]) <= most * EASY + 1e-12).all()
        late = np.max([most, *(limits.acceleration for limits in self.in_force[-3:])], axis=0)
        high = np.max(np.abs(self.ddq[-3:-1]), axis=0)
        late = np.maximum(late, np.where(np.isfinite(now.jerk), high, 0.0))
        slack = 1e-13 * np.maximum(1.0, np.abs(self.dq[-1]))
        assert (np.abs(self.dq[-1] - self.dq[-2]) <= late * period * EASY + slack).all()
        slack = slack + self._rounding * 2.0 / period
        assert (np.abs(self.way[-1] - self.way[-2]) <= late * period * EASY + slack).all()

    def _check_jerks(self):
        period = self.governor.period
        now = self.in_force[-1].jerk
        slack = 1e-12 * np.maximum(1.0, np.abs(self.ddq[-1]))
        assert (np.abs(self.ddq[-1] - self.ddq[-2]) <= now * period * EASY + slack).all()
        if len(self.q) < 4:
            return
        late = np.max([limits.jerk for limits in self.in_force[-3:]], axis=0) * period**2 * EASY
        slack = 1e-13 * np.maximum(1.0, np.abs(self.dq[-1]))
        assert (np.abs(np.diff(self.dq[-3:], 2, axis=0)[0]) <= late + slack).all()
        slack = slack + self._rounding * 4.0 / period
        assert (np.abs(np.diff(self.way[-3:], 2, axis=0)[0]) <= late + slack).all()


# --- motions to check --------------------------------------------------------------------------


def limits_of(lower, upper, velocity, acceleration, jerk=math.inf, n=1):
    return MotionLimits(*(np.full(n, x) for x in (lower, upper, velocity, acceleration, jerk)))


def unbounded(*rates):
    return MotionLimits(*np.full((2, rates[0].size), [[-math.inf], [math.inf]]), *rates)


def random_rates(random, n, period, jerk=0.7, unlimited=0.1):
    """Rates with which moves take a few to some hundred ticks at any period; some are inf."""
    velocity = 1.0 / (period * 10.0 ** random.uniform(0.0, 2.0, n))
    acceleration = velocity / (period * 10.0 ** random.uniform(-0.3, 1.5, n))
    jerks = acceleration / (period * 10.0 ** random.uniform(-1.0, 1.3, n))
    velocity[random.random(n) < unlimited] = math.inf
    acceleration[random.random(n) < unlimited] = math.inf
    jerks[random.random(n) >= jerk] = math.inf
    return velocity, acceleration, jerks


def random_span(random, n):
    lower, upper = np.sort(random.uniform(-3.0, 3.0, (2, n)), axis=0)
    lower[random.random(n) < 0.15], upper[random.random(n) < 0.15] = -math.inf, math.inf
    return lower, upper


def random_limits(random, n, period, **options):
    return MotionLimits(*random_span(random, n), *random_rates(random, n, period, **options))


def random_start(random, limits):
    lower, upper = np.maximum(limits.lower, -3.0), np.minimum(limits.upper, 3.0)
    return lower + random.random(lower.size) * (upper - lower)


def random_target(random, q):
    """Near or far from q (n,); a few of them huge, infinite or NaN."""
    target = random.integers(2) * q + random.normal(size=q.size) * 10.0 ** random.uniform(-7, 1)
    odd = random.random(q.size) < 0.04
    target[odd] = random.choice([math.nan, math.inf, -math.inf, 1e300, -1e308], odd.sum())
    return target


def random_velocity(random, n, period):
    velocity = random.normal(size=n) / period * 10.0 ** random.uniform(-4.0, 0.0)
    velocity[random.random(n) < 0.3] = 0.0
    odd = random.random(n) < 0.03
    velocity[odd] = random.choice([math.nan, math.inf, -math.inf, 1e300, -1e308], odd.sum())
    return velocity


def run(governor, target, synchronized=False, ticks=100_000, watch=None):
    """Follow until at rest on the target; returns the lists of q, dq and ddq."""
    rows = [(governor.q.copy(), governor.dq.copy(), governor.ddq.copy())]
    goal = np.clip(target, governor.limits.lower, governor.limits.upper)
    for _ in range(ticks):
        governor.follow(target, None, synchronized)
        if watch is not None:
            watch.see()
        rows.append((governor.q.copy(), governor.dq.copy(), governor.ddq.copy()))
        if (governor.q == goal).all() and governor.at_rest:
            return np.array(rows).transpose(1, 0, 2)
    raise AssertionError(f'not at rest at {target} but at {governor.q}, speed {governor.dq}')


def driven(limits, period, v, a=None, q=None):
    """A governor set to a state that it could have come to, to test what it makes of it."""
    n = limits.lower.size
    governor = Governor(limits, period, np.zeros(n) if q is None else q)
    governor._joints[DQ] = governor._joints[MEAN] = v
    governor._joints[DDQ] = 0.0 if a is None else a
    return governor


def rest_to_rest(way, velocity, acceleration, jerk):
    """Return the duration of the fastest move: seven phases, some of which may be empty."""

    def ramp(speed):
        if speed * jerk < acceleration**2:
            return 2.0 * math.sqrt(speed / jerk)
        return speed / acceleration + acceleration / jerk

    low, high = 0.0, velocity
    for _ in range(200):
        speed = 0.5 * (low + high)
        low, high = (speed, high) if speed * ramp(speed) <= way else (low, speed)
    return 2.0 * ramp(low) + (way - low * ramp(low)) / low
