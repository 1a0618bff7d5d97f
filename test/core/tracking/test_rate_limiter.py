"""The rate limiter: every step inside all limits, no overshoot, exact arrival."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import URDF

import ik_core as ik
from ik_core.robot.limits import take_nearest_turns
from ik_core.tracking import MotionLimits
from ik_core.tracking import rate_limiter as motion
from ik_core.tracking.braking import approach_speed, stopping_distance
from ik_core.tracking.goal_solver import all_finite, turn_back

RELATIVE = 1e-9  # rounding allowed on top of a limit

FIXED = settings(deadline=None, derandomize=True)

periods = st.sampled_from([0.001, 0.002, 0.01, 0.033, 0.1])
positions = st.floats(-6.0, 6.0)
# Limits come as the number of ticks to travel 1, and to speed up over 1: all periods take as long.
velocity_ticks = st.one_of(st.floats(0.1, 200.0), st.just(0.0))
acceleration_ticks = st.one_of(st.floats(0.5, 100.0), st.just(0.0))


def limit(distance, ticks, period, order):
    """Return the velocity (order 1) or acceleration (order 2) for that; inf for 0 ticks."""
    return distance / (ticks * period) ** order if ticks else math.inf


@st.composite
def limit_rows(draw, period, acceleration_ticks=acceleration_ticks):
    """Return limits (4, n), n of 1 to 4."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        lower, upper = sorted((draw(positions), draw(positions)))
        if draw(st.integers(0, 3)) == 0:
            lower, upper = -math.inf, math.inf
        velocity = limit(1.0, draw(velocity_ticks), period, 1)
        rows.append([lower, upper, velocity, limit(1.0, draw(acceleration_ticks), period, 2)])
    return np.array(rows).T.copy()


limited = periods.flatmap(lambda period: st.tuples(st.just(period), limit_rows(period)))
accelerated = periods.flatmap(
    lambda period: st.tuples(st.just(period), limit_rows(period, st.floats(0.5, 100.0)))
)


def start_inside(limits, fraction=0.5):
    low, high = np.maximum(limits[0], -6.0), np.minimum(limits[1], 6.0)
    return low + fraction * (high - low)


def check_step(q_before, dq_before, q, dq, limits, period):
    """The contract of one step from a state inside all limits."""
    assert np.isfinite(q).all()
    assert np.isfinite(dq).all()
    assert (q >= limits[0]).all()
    assert (q <= limits[1]).all()
    assert (np.abs(dq) <= limits[2] * (1 + RELATIVE)).all()
    assert (np.abs(dq - dq_before) <= limits[3] * period * (1 + RELATIVE)).all()
    np.testing.assert_allclose(q, q_before + dq * period, rtol=1e-13, atol=1e-12)


def run(q, dq, target, limits, period, together=False, ticks=100_000):
    """Step to the target until at rest there; returns the lists of q and dq."""
    q, dq = np.array(q, float), np.array(dq, float)
    path, speeds = [q.copy()], [dq.copy()]
    for _ in range(ticks):
        motion.step_towards(q, dq, target, limits, period, together, np.zeros_like(q))
        path.append(q.copy())
        speeds.append(dq.copy())
        if not dq.any() and (q == np.clip(target, limits[0], limits[1])).all():
            return np.array(path), np.array(speeds)
    raise AssertionError(f'not at rest at {target} but at {q}, speed {dq}')


@FIXED
@given(speed=st.floats(0.0, 50.0), ticks=st.floats(0.02, 3000.0), period=periods)
def test_stopping_distance_is_the_sum_over_the_braking_ticks(speed, ticks, period):
    step = max(speed, 1.0) / ticks
    way, left = 0.0, speed
    while left > 0.0:
        way += left * period
        left -= step
    assert stopping_distance(speed, step, period) == pytest.approx(way, rel=1e-9)


@FIXED
@given(distance=st.floats(1e-9, 100.0), acceleration=st.floats(0.01, 500.0), period=periods)
def test_approach_speed_is_the_inverse_of_the_stopping_distance(distance, acceleration, period):
    step = acceleration * period
    speed = approach_speed(distance, step, period)
    assert stopping_distance(speed, step, period) == pytest.approx(distance, rel=1e-9)


@settings(FIXED, max_examples=150)
@given(
    limited=limited,
    together=st.booleans(),
    hold=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_target_breaks_a_limit(limited, together, hold, seed):
    period, limits = limited
    random = np.random.default_rng(seed)
    q, dq = start_inside(limits, random.uniform()), np.zeros(limits.shape[1])
    for tick in range(300):
        if tick % hold == 0:
            target = q + random.normal(size=q.size) * 10.0 ** random.uniform(-7, 3)
        q_before, dq_before = q.copy(), dq.copy()
        motion.step_towards(q, dq, target, limits, period, together, np.zeros_like(q))
        check_step(q_before, dq_before, q, dq, limits, period)


@settings(FIXED, max_examples=100)
@given(
    limited=limited,
    together=st.booleans(),
    start=st.floats(0.0, 1.0),
    target=st.lists(positions, min_size=4, max_size=4).map(np.array),
)
def test_static_target_is_reached_exactly_without_overshoot(limited, together, start, target):
    period, limits = limited
    q, target = start_inside(limits, start), target[: limits.shape[1]]
    path, speeds = run(q, np.zeros_like(q), target, limits, period, together)
    goal = np.clip(target, limits[0], limits[1])
    direction = np.sign(goal - q)
    assert (direction * speeds >= 0.0).all()
    assert (direction * (goal - path) >= 0.0).all()


@FIXED
@given(
    distance=st.floats(1e-3, 5.0),
    ticks=st.floats(0.1, 200.0),
    speed_up=st.floats(0.5, 100.0),
    period=periods,
)
def test_arrival_takes_hardly_longer_than_the_fastest_possible_move(
    distance, ticks, speed_up, period
):
    velocity, acceleration = limit(1.0, ticks, period, 1), limit(1.0, speed_up, period, 2)
    limits = np.array([[-np.inf], [np.inf], [velocity], [acceleration]])
    path, _ = run([0.0], [0.0], np.array([distance]), limits, period)
    peak = min(velocity, math.sqrt(acceleration * distance))
    fastest = distance / peak + peak / acceleration
    assert (len(path) - 1) * period <= fastest + 3.0 * period


@settings(FIXED, max_examples=100)
@given(
    accelerated=accelerated,
    ways=st.lists(st.floats(0.01, 5.0), min_size=4, max_size=4),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4),
)
def test_joints_that_move_together_go_straight_and_arrive_together(accelerated, ways, signs):
    period, limits = accelerated
    limits[:2] = [[-math.inf], [math.inf]]
    n = limits.shape[1]
    target = (np.array(ways) * signs)[:n]
    path, speeds = run(np.zeros(n), np.zeros(n), target, limits, period, together=True)
    assert np.ptp(path / target, axis=1).max() < 1e-9
    assert (speeds[1:-1] != 0.0).all()


def test_moving_together_starts_when_a_joint_has_turned_round():
    limits = np.array([[-9.0] * 2, [9.0] * 2, [2.0] * 2, [4.0] * 2])
    path, speeds = run([0.0, 0.0], [-1.0, 0.0], np.array([1.0, 1.0]), limits, 0.01, together=True)
    arrival = [int(np.argmax(path[:, i] == 1.0)) for i in range(2)]
    assert abs(arrival[0] - arrival[1]) <= 1
    assert (np.abs(np.diff(speeds, axis=0)) <= 0.04 * (1 + RELATIVE)).all()
    assert path.max() <= 1.0


def test_each_joint_is_as_fast_as_it_can_be_when_not_moving_together():
    limits = np.array([[-9.0] * 2, [9.0] * 2, [1.0, 2.0], [np.inf] * 2])
    path, _ = run([0.0, 0.0], [0.0, 0.0], np.array([1.0, 1.0]), limits, 0.1)
    assert [int(np.argmax(path[:, i] == 1.0)) for i in range(2)] == [10, 5]


@FIXED
@given(period=periods, start=positions, target=positions)
def test_without_rate_limits_one_tick_is_enough(period, start, target):
    limits = np.array([[-np.inf], [np.inf], [np.inf], [np.inf]])
    path, _ = run([start], [0.0], np.array([target]), limits, period)
    assert (path[1:] == target).all()


@settings(FIXED, max_examples=60)
@given(ticks=st.floats(2.0, 200.0), speed_up=st.floats(1.0, 60.0), period=periods)
def test_a_steadily_moving_target_is_followed_smoothly_and_closely(ticks, speed_up, period):
    speed, acceleration = limit(1.0, ticks, period, 1), limit(1.0, speed_up, period, 2)
    limits = np.array([[-np.inf], [np.inf], [2.0 * speed], [acceleration]])
    q, dq, target = np.zeros(1), np.zeros(1), np.zeros(1)
    speeds = []
    for _ in range(3000):
        target += speed * period
        motion.step_towards(q, dq, target, limits, period, False, np.zeros_like(q))
        speeds.append(dq[0])
    # The lag is the way that braking takes: no more, and no overshoot when the target stops.
    braking = stopping_distance(speed, acceleration * period, period)
    assert -1e-12 <= target[0] - q[0] <= braking * 1.01 + 1e-12
    rises = np.diff(speeds) > 1e-9 * speed
    assert np.count_nonzero(np.diff(rises.astype(int)) == 1) == 0  # speeds up once: no oscillation
    path, later = run(q, dq, target, limits, period)
    assert (later >= 0.0).all()
    assert path.max() <= target[0]


@settings(FIXED, max_examples=150)
@given(
    excess=st.floats(1e-6, 3.0),
    speed=st.floats(0.0, 1.0),
    ticks=velocity_ticks,
    speed_up=acceleration_ticks,
    period=periods,
    side=st.sampled_from([-1.0, 1.0]),
    together=st.booleans(),
)
def test_a_joint_found_outside_never_moves_further_out_and_returns_at_limited_speed(
    excess, speed, ticks, speed_up, period, side, together
):
    velocity, acceleration = limit(1.0, ticks, period, 1), limit(1.0, speed_up, period, 2)
    limits = np.array([[-1.0], [1.0], [velocity], [acceleration]])
    q = np.array([side * (1.0 + excess)])
    stoppable = approach_speed(excess + 1.0, acceleration * period, period)
    inwards = np.array([-side * speed * min(velocity, stoppable)])
    path, speeds = run(q, inwards, q.copy(), limits, period, together)  # the target is outside too
    out = side * path[:, 0] > 1.0
    assert (np.diff(side * path[:, 0])[out[:-1]] <= 0.0).all()
    assert (np.diff(out.astype(int)) <= 0).all()
    assert (np.abs(speeds) <= velocity * (1 + RELATIVE)).all()
    assert (np.abs(np.diff(speeds, axis=0)) <= acceleration * period * (1 + RELATIVE)).all()


@settings(FIXED, max_examples=100)
@given(
    excess=st.floats(0.0, 1.0),
    ticks=st.floats(1.0, 50.0),
    speed_up=st.floats(1.0, 50.0),
    period=periods,
    target=st.floats(-3.0, 3.0),
)
def test_an_outward_velocity_is_braked_as_hard_as_allowed(excess, ticks, speed_up, period, target):
    speed, acceleration = limit(1.0, ticks, period, 1), limit(1.0, speed_up, period, 2)
    limits = np.array([[-1.0], [1.0], [2.0 * speed], [acceleration]])
    step = acceleration * period
    path, speeds = run([1.0 + excess], [speed], np.array([target]), limits, period)
    outward = speeds[:-1, 0] >= step
    np.testing.assert_allclose(-np.diff(speeds[:, 0])[outward], step, rtol=1e-9)
    furthest = 1.0 + excess + stopping_distance(max(speed - step, 0.0), step, period)
    assert path.max() <= furthest + 1e-9


def test_a_speed_above_a_new_limit_falls_at_the_acceleration_limit():
    limits = np.array([[-100.0], [100.0], [0.5], [2.0]])
    q, dq = np.zeros(1), np.array([2.0])
    speeds = []
    for _ in range(12):
        motion.step_towards(q, dq, np.array([50.0]), limits, 0.1, False, np.zeros_like(q))
        speeds.append(dq[0])
    np.testing.assert_allclose(speeds[:8], [1.8, 1.6, 1.4, 1.2, 1.0, 0.8, 0.6, 0.5], atol=1e-12)
    assert speeds[8:] == [0.5] * 4


@settings(FIXED, max_examples=100)
@given(
    gap=st.floats(0.0, 1.0),
    fast=st.floats(1.0, 20.0),
    slower=st.floats(1.1, 10.0),
    period=periods,
    side=st.sampled_from([-1.0, 1.0]),
)
def test_a_lowered_acceleration_never_carries_a_joint_over_its_position_limit(
    gap, fast, slower, period, side
):
    fast, slow = limit(1.0, fast, period, 2), limit(1.0, fast * slower, period, 2)
    limits = np.array([[-1.0], [1.0], [np.inf], [fast]])
    speed = approach_speed(gap, fast * period, period)
    q, dq = np.array([side * (1.0 - gap)]), np.array([side * speed])
    done = False
    for _ in range(1000):
        target = np.array([side * 5.0])
        if not done:
            done = motion.adopt_accelerations(limits, np.array([slow]), q, dq, target, period)
        before = dq.copy()
        motion.step_towards(q, dq, target, limits, period, False, np.zeros_like(q))
        assert np.abs(q[0]) <= 1.0
        assert abs(dq[0] - before[0]) <= (slow if done else fast) * period * (1 + RELATIVE)
    assert done
    assert limits[3, 0] == slow


def test_a_lowered_acceleration_holds_at_once_where_the_joint_can_still_stop():
    limits = np.array([[-1.0] * 2, [1.0] * 2, [9.0] * 2, [10.0] * 2])
    q, dq = np.array([0.0, 0.9]), np.array([1.0, 1.0])
    target = np.array([0.5, 0.5])
    assert not motion.adopt_accelerations(limits, np.array([2.0, 2.0]), q, dq, target, 0.01)
    assert limits[3].tolist() == [2.0, 10.0]
    assert target.tolist() == [0.5, 0.9]
    assert motion.adopt_accelerations(limits, np.array([20.0, 20.0]), q, dq, target, 0.01)
    assert limits[3].tolist() == [20.0, 20.0]


@settings(FIXED, max_examples=40)
@given(period=periods, seed=st.integers(0, 2**32 - 1))
def test_velocity_and_acceleration_limits_may_change_at_any_time(period, seed):
    random = np.random.default_rng(seed)

    def limits():
        velocity = 1.0 / (period * 10.0 ** random.uniform(0, 2, 3))
        acceleration = 1.0 / (period**2 * 10.0 ** random.uniform(0, 4, 3))
        return MotionLimits(np.full(3, -1.0), np.full(3, 1.0), velocity, acceleration)

    limiter = motion.RateLimiter(limits(), period, np.zeros(3))
    strongest = limiter.limits.acceleration
    for tick in range(400):
        if tick % 20 == 0:
            limiter.set_limits(limits())
            strongest = np.maximum(strongest, limiter.limits.acceleration)
            target = random.uniform(-2.0, 2.0, 3)
        dq = limiter.dq.copy()
        limiter.follow(target, synchronized=tick % 3 == 0)
        braking = np.abs(limiter.dq) < np.abs(dq)
        allowed = np.where(braking, strongest, limiter.limits.acceleration)
        assert (np.abs(limiter.q) <= 1.0).all()
        assert (np.abs(limiter.dq - dq) <= allowed * period * (1 + RELATIVE)).all()
        slower = np.maximum(limiter.limits.velocity, np.abs(dq)) * (1 + RELATIVE)
        assert (np.abs(limiter.dq) <= slower).all()


def test_a_lowered_acceleration_is_in_force_at_once_where_it_can_be():
    def limits(acceleration):
        return MotionLimits([-9.0], [9.0], [9.0], [acceleration])

    limiter = motion.RateLimiter(limits(10.0), 0.1, np.zeros(1))
    limiter.follow(np.array([5.0]))
    assert limiter.dq == pytest.approx(1.0)
    limiter.set_limits(limits(2.0))
    limiter.follow(np.array([5.0]))
    assert limiter.dq == pytest.approx(1.2)
    assert limiter.q == pytest.approx(0.22)


def test_the_limits_of_a_robot_are_its_own_and_those_given():
    robot = ik.load_urdf(URDF / 'ur5e.urdf')
    limits = MotionLimits.of(robot, velocity=1.5, acceleration=np.arange(1.0, 7.0))
    np.testing.assert_array_equal(limits.lower, robot.lower)
    np.testing.assert_array_equal(limits.upper, robot.upper)
    np.testing.assert_array_equal(limits.velocity, np.minimum(robot.velocity, 1.5))
    np.testing.assert_array_equal(limits.acceleration, np.arange(1.0, 7.0))
    assert np.isposinf(MotionLimits.of(robot).acceleration).all()
    with pytest.raises(ValueError, match='read-only'):
        limits.lower[0] = 0.0


@settings(FIXED, max_examples=100)
@given(
    speeds=st.lists(st.floats(-5.0, 5.0), min_size=3, max_size=3),
    ticks=st.floats(0.5, 500.0),
    period=periods,
)
def test_the_stop_point_is_where_full_braking_ends(speeds, ticks, period):
    acceleration = 5.0 / (ticks * period)
    limits = np.array([[-np.inf] * 3, [np.inf] * 3, [1.0] * 3, [acceleration] * 3])
    q, point = np.array([0.3, -0.2, 1.0]), np.empty(3)
    motion.stop_point(q, np.array(speeds), limits, period, point)
    path, velocities = run(q, speeds, point, limits, period)
    magnitude = np.abs(velocities)
    braked = np.maximum(magnitude[:-1] - acceleration * period, 0.0)
    np.testing.assert_allclose(magnitude[1:], braked, rtol=0, atol=1e-7)
    np.testing.assert_allclose(path[-1], point, rtol=0, atol=0)


def test_the_stop_point_is_inside_the_position_limits():
    limits = np.array([[-1.0] * 2, [1.0] * 2, [9.0] * 2, [1.0] * 2])
    point = np.empty(2)
    motion.stop_point(np.array([0.9, 3.0]), np.array([3.0, 0.0]), limits, 0.01, point)
    assert point.tolist() == [1.0, 1.0]


@FIXED
@given(
    q=st.floats(-30.0, 30.0),
    reference=st.floats(-30.0, 30.0),
    width=st.one_of(st.floats(math.tau, 30.0), st.just(math.inf)),
)
def test_nearest_turn_is_the_nearest_one_inside_the_limits(q, reference, width):
    lower, upper = -width / 2, width / 2
    q = float(np.clip(q, lower, upper))
    reference = float(np.clip(reference, lower, upper))
    turned = np.array([q])
    take_nearest_turns(
        turned, np.array([reference]), np.array([lower]), np.array([upper]), np.array([True])
    )
    candidates = q + math.tau * np.arange(-12, 13)
    candidates = candidates[(candidates >= lower) & (candidates <= upper)]
    nearest = np.abs(candidates - reference).min()
    assert lower <= turned[0] <= upper
    assert abs(turned[0] - reference) <= nearest + 1e-9
    turns = (turned[0] - q) / math.tau
    assert turns == pytest.approx(round(turns), abs=1e-9)


def test_joints_outside_come_back_first_and_hold_up_no_others():
    limits = np.array([[-1.0] * 2, [1.0] * 2, [0.5, 2.0], [4.0] * 2])
    alone = limits[:, :1].copy(), limits[:, 1:].copy()
    path, _ = run([1.5, -0.9], [0.0, 0.0], np.array([1.0, 0.9]), limits, 0.01, together=True)
    outside, _ = run([1.5], [0.0], np.array([1.0]), alone[0], 0.01)
    inside, _ = run([-0.9], [0.0], np.array([0.9]), alone[1], 0.01)
    np.testing.assert_allclose(path[: len(outside), 0], outside[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(path[: len(inside), 1], inside[:, 0], rtol=0, atol=1e-12)


def test_a_raised_acceleration_is_in_force_at_once():
    limits = np.array([[-1.0], [1.0], [9.0], [2.0]])
    q, dq = np.array([1.1]), np.array([3.0])  # outwards, beyond the limit
    assert motion.adopt_accelerations(limits, np.array([4.0]), q, dq, q.copy(), 0.01)
    assert limits[3, 0] == 4.0


@pytest.mark.parametrize(
    ('q', 'lower', 'upper', 'after'),
    [
        (6.5, -6.5, 6.5, 6.5 - math.tau),
        (-6.5, -6.5, 6.5, -6.5 + math.tau),
        (6.4, -6.5, 6.5, 6.4),  # not at its limit
        (6.5, 0.5, 6.5, 6.5),  # no room for a turn
        (0.5, 0.5, 6.5, 0.5),
    ],
)
def test_only_joints_at_a_limit_with_room_for_a_turn_are_turned_back(q, lower, upper, after):
    rows = np.array([q]), np.array([lower]), np.array([upper])
    assert turn_back(*rows, np.array([True])) == (q != after)
    assert rows[0][0] == after
    assert not turn_back(np.array([6.5]), -rows[2], rows[2], np.array([False]))


def test_joints_that_do_not_turn_are_left_alone():
    q = np.array([5.0, 5.0])
    take_nearest_turns(q, np.zeros(2), np.full(2, -9.0), np.full(2, 9.0), np.array([False, True]))
    assert q.tolist() == [5.0, 5.0 - math.tau]


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_all_finite_sees_one_bad_value(bad):
    assert all_finite(np.zeros(3))
    assert not all_finite(np.array([0.0, 0.0, bad]))
