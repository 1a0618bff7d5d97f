# SPDX-License-Identifier: Apache-2.0
"""The limits that a motion keeps, judged by finite differences of what was commanded.

Nothing here uses the package: positions q [rad or m] and velocities dq are arrays whose last
axis counts the joints; `limits` is anything with `lower`, `upper`, `velocity` and `acceleration`,
each one number or one per joint.
"""

from typing import NamedTuple

import numpy as np

RELATIVE = 1e-9  # rounding allowed on top of a limit


class Limits(NamedTuple):
    """Limits to judge by, where there are no others at hand."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


def limits_of(robot, velocity=np.inf, acceleration=np.inf):
    """A robot's limits; `velocity` holds where its description has none, for each joint."""
    fastest = np.where(np.isfinite(robot.velocity), robot.velocity, velocity)
    return Limits(robot.lower, robot.upper, fastest, acceleration)


def assert_inside(q, dq, limits, margin=0.0):
    """Finite, and inside the limits of position and velocity."""
    _assert_finite(q, dq)
    _assert_at_most(limits.lower - q, margin, 'below its lower limit')
    _assert_at_most(q - limits.upper, margin, 'above its upper limit')
    _assert_at_most(np.abs(dq), limits.velocity * (1 + RELATIVE) + 1e-12, 'speed')


def assert_speeds(dq0, dq1, limits, period, *, relative=RELATIVE):
    """From one velocity to that of a tick later, as the limits of both orders allow."""
    fastest = np.maximum(limits.velocity, np.abs(dq0))
    _assert_at_most(np.abs(dq1), fastest * (1 + relative) + 1e-12, 'speed')
    change = np.abs(dq1 - dq0) / period
    _assert_at_most(change, limits.acceleration * (1 + relative), 'acceleration')


def is_one_step(before, after, period, tolerance=1e-9):
    """Return whether states are one tick apart, by q + dq * period; of pairs, for each."""
    (q0, _), (q1, dq1) = before, after
    return (np.abs(q1 - q0 - dq1 * period) < tolerance).all(axis=-1)


def by_differences(q, period):
    """(q, dq) from positions (ticks, n) alone: of all but the first."""
    q = np.asarray(q, float)
    return q[1:], np.diff(q, axis=0) / period


def _assert_finite(*arrays):
    for array in arrays:
        assert np.isfinite(array).all(), f'not finite: {array}'


def _assert_at_most(values, bound, what):
    values, bound = np.broadcast_arrays(np.atleast_1d(values), bound)
    over = np.argwhere(~(values <= bound))
    if len(over):
        first = tuple(over[0])
        where = f'joint {first[-1]}' + (f' at tick {first[0]}' if len(first) > 1 else '')
        raise AssertionError(f'{where}: {what} {values[first]:.9g}, allowed {bound[first]:.9g}')
