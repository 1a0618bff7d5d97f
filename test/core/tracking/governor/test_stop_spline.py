# SPDX-License-Identifier: Apache-2.0
"""The knots of the commanded curve: they are what braking from tick to tick would make of it."""

import numpy as np
import pytest

from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.motion_limits import MotionLimits
from ik_core.tracking.governor.stop_spline import MAX_KNOTS

N = 4
PERIOD = 0.004
VELOCITY, ACCELERATION = 2.0, 5.0
JERKS = pytest.mark.parametrize('jerk', [np.inf, 400.0, 30.0])


def limits_of(jerk, acceleration=ACCELERATION):
    rows = np.full((5, N), [[-2.0], [2.0], [VELOCITY], [acceleration], [1.0]])
    rows[4] = jerk
    return MotionLimits(*rows)


def moving_governors(jerk, seed, count):
    """A governor on its way, again and again: to random goals, some outside the limits."""
    random = np.random.default_rng(seed)
    governor = Governor(limits_of(jerk), PERIOD, np.zeros(N))
    for _ in range(count):
        goal = random.uniform(-2.5, 2.5, N)
        for _ in range(random.integers(1, 400)):
            governor.follow(goal)
        yield governor


def brake_to_rest(governor):
    """The positions at the last tick (0) and at those in which it brakes."""
    positions = [governor.q.copy()]
    while not governor.at_rest:
        governor.brake(announced=True)
        positions.append(governor.q.copy())
    return np.array([*positions, *positions[-1:] * 3])


def copied(knots):
    return tuple(rows.copy() for rows in knots)


@JERKS
def test_knots_lie_halfway_between_the_ticks_of_braking(jerk):
    for governor in moving_governors(jerk, 1, 60):
        ticks, positions, velocities = copied(governor.stop_knots())
        path = brake_to_rest(governor)
        for tick, position, velocity in zip(ticks[1:], positions[1:], velocities[1:], strict=True):
            before, after = path[min(tick - 1, len(path) - 1)], path[min(tick, len(path) - 1)]
            np.testing.assert_allclose(position, 0.5 * (before + after), atol=1e-13)
            np.testing.assert_allclose(velocity, (after - before) / PERIOD, atol=1e-10)


@JERKS
def test_the_first_knot_lies_halfway_to_the_tick_before(jerk):
    governor = Governor(limits_of(jerk), PERIOD, np.zeros(N))
    for _ in range(300):
        before = governor.q.copy()
        governor.follow(np.linspace(-1.0, 2.0, N))
        ticks, positions, velocities = governor.stop_knots()
        assert ticks[0] == 0
        np.testing.assert_allclose(positions[0], 0.5 * (before + governor.q), atol=1e-13)
        np.testing.assert_allclose(velocities[0], (governor.q - before) / PERIOD, atol=1e-10)


@JERKS
def test_the_last_knot_rests_where_the_governor_would_stop(jerk):
    for governor in moving_governors(jerk, 2, 60):
        ticks, positions, velocities = governor.stop_knots()
        assert (np.diff(ticks) > 0).all()
        assert not velocities[-1].any()
        np.testing.assert_allclose(positions[-1], governor.stop_point(announced=True), atol=1e-12)


@JERKS
def test_splines_through_the_knots_keep_the_limits(jerk):
    u = np.linspace(0.0, 1.0, 33)[:, None]
    # With a jerk limit, the jerk may change between two knots.
    outside, above = (1e-9, 1e-9) if np.isinf(jerk) else (1e-6, 0.05 * ACCELERATION)
    for governor in moving_governors(jerk, 3, 60):
        ticks, positions, velocities = governor.stop_knots()
        for k, seconds in enumerate(PERIOD * np.diff(ticks)):
            way, v, w = positions[k + 1] - positions[k], velocities[k], velocities[k + 1]
            v, w = v * seconds, w * seconds
            x = positions[k] + u * (v + u * (3 * way - 2 * v - w + u * (v + w - 2 * way)))
            dx = v + u * (2 * (3 * way - 2 * v - w) + 3 * u * (v + w - 2 * way))
            ddx = 2 * (3 * way - 2 * v - w) + 6 * u * (v + w - 2 * way)
            assert np.abs(x).max() <= 2.0 + outside
            assert np.abs(dx).max() / seconds <= VELOCITY + 1e-9
            assert np.abs(ddx).max() / seconds**2 <= ACCELERATION + above


def governor_at_speeds(speeds, q):
    """A governor whose joints move at these speeds (n,), since a second."""
    rows = limits_of(np.inf).rows.copy()
    rows[2] = speeds
    governor = Governor(MotionLimits(*rows), PERIOD, q - np.array(speeds))
    while not np.allclose(governor.dq, speeds):
        governor.follow(np.full(N, 2.0))
    return governor


def test_joints_slow_down_together_in_the_time_that_the_slowest_takes_alone():
    speeds = np.array([1.0, 0.5, 0.3, 0.1])
    governor = governor_at_speeds(speeds, np.zeros(N))
    q = governor.q.copy()
    ticks, positions, velocities = copied(governor.stop_knots())
    alone = speeds.max() / ACCELERATION
    assert alone <= PERIOD * ticks[-1] <= alone + 3 * PERIOD
    way = positions[-1] - q
    np.testing.assert_allclose(way, way[0] * speeds, rtol=1e-9)
    np.testing.assert_allclose(velocities, np.outer(velocities[:, 0], speeds), atol=1e-9)
    positions = brake_to_rest(governor)
    np.testing.assert_allclose(positions - q, np.outer((positions - q)[:, 0], speeds), atol=1e-9)
    assert way[1] > 0.5**2 / (2.0 * ACCELERATION) + 0.01, 'farther than it would go alone'


def test_a_joint_that_would_leave_its_limits_brakes_as_hard_as_it_may_to_the_end():
    governor = governor_at_speeds(np.array([1.0, 0.5, 0.3, 0.1]), np.zeros(N))
    near = limits_of(np.inf).rows.copy()
    near[1, 1] = governor.stop_point()[1] + 1e-3
    governor.set_limits(MotionLimits(*near))
    governor.follow(governor.q + PERIOD * governor.dq, governor.dq.copy())
    alone, end = governor.stop_point(), governor.stop_point(announced=True)
    assert end[1] == alone[1]
    assert (end[2:] > alone[2:] + 1e-3).all()
    np.testing.assert_allclose(brake_to_rest(governor)[-1], end, atol=1e-12)


def test_limits_that_are_still_in_force_are_those_of_the_stop():
    for before, after in ((np.inf, 30.0), (30.0, np.inf)):
        governor = Governor(limits_of(before), PERIOD, np.zeros(N))
        for _ in range(120):
            governor.follow(np.full(N, 1.5))
        governor.set_limits(limits_of(after, 0.5))
        governor.follow(np.full(N, 1.5))
        knots = copied(governor.stop_knots())
        path = brake_to_rest(governor)
        np.testing.assert_allclose(knots[1][1], 0.5 * (path[0] + path[1]), atol=1e-13)


def test_there_are_few_knots_and_at_rest_hardly_any():
    governor = Governor(limits_of(np.inf), PERIOD, np.zeros(N))
    assert list(governor.stop_knots()[0]) == [0, 1, 2]
    for governor in moving_governors(np.inf, 4, 30):
        assert len(governor.stop_knots()[0]) <= 2 + 2 * N
    for governor in moving_governors(30.0, 5, 30):
        assert len(governor.stop_knots()[0]) <= 1 + MAX_KNOTS * N


def test_to_ask_for_the_knots_changes_nothing():
    one, other = (Governor(limits_of(30.0), PERIOD, np.zeros(N)) for _ in range(2))
    for _ in range(200):
        one.follow(np.full(N, 1.0))
        other.follow(np.full(N, 1.0))
        one.stop_knots()
    np.testing.assert_array_equal(one.q, other.q)
