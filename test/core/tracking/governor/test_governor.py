# SPDX-License-Identifier: Apache-2.0
"""The governor: whatever it is told, no joint ever moves as it may not."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from support.draws import draws
from support.motion_checks import (
    EASY,
    Watch,
    driven,
    limits_of,
    random_limits,
    random_rates,
    random_span,
    random_start,
    random_target,
    random_velocity,
    rest_to_rest,
    run,
    unbounded,
)  # fmt: skip

from ik_core.exceptions import InvalidConfiguration, InvalidOption
from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.motion_limits import MotionLimits

ROOT = Path(__file__).parents[3]
PERIODS = [0.001, 0.004, 0.01, 0.1, 1.0]

periods = st.sampled_from(PERIODS)
seeds = st.integers(0, 2**32 - 1)


# --- whatever happens -------------------------------------------------------------------------


@settings(max_examples=draws(60))
@given(period=periods, seed=seeds, hold=st.integers(1, 40), synchronized=st.booleans())
def test_no_target_breaks_a_limit(period, seed, hold, synchronized):
    random = np.random.default_rng(seed)
    limits = random_limits(random, 4, period)
    watch = Watch(governor := Governor(limits, period, random_start(random, limits)))
    moves = random.random() < 0.4
    for tick in range(150):
        if tick % hold == 0:
            target = random_target(random, governor.q)
            velocity = random_velocity(random, 4, period) if moves else None
        governor.follow(target, velocity, synchronized)
        watch.see()
        assert (governor.q >= limits.lower).all()
        assert (governor.q <= limits.upper).all()
        assert (np.abs(governor.dq) <= limits.velocity * EASY).all()


class Told(RuleBasedStateMachine):
    """Any inputs of a governor, tick by tick."""

    @initialize(period=periods, seed=seeds, outside=st.booleans())
    def begin(self, period, seed, outside):
        self.random, self.period, self.n = np.random.default_rng(seed), period, 3
        limits = random_limits(self.random, self.n, period)
        q = random_start(self.random, limits)
        if outside:
            q = q + self.random.normal(size=self.n)
        self.governor = Governor(limits, period, q)
        self.watch = Watch(self.governor)
        self.target, self.velocity, self.synchronized = q, None, False

    @rule(moves=st.booleans(), synchronized=st.booleans())
    def aim(self, moves, synchronized):
        self.target = random_target(self.random, self.governor.q)
        self.velocity = random_velocity(self.random, self.n, self.period) if moves else None
        self.synchronized = synchronized

    @rule(ticks=st.sampled_from([1, 2, 7, 30]))
    def follow(self, ticks):
        for _ in range(ticks):
            if self.velocity is not None:
                near = np.where(np.abs(self.velocity) < 1e3 / self.period, self.velocity, 0.0)
                self.target = self.target + self.period * near
            self.governor.follow(self.target, self.velocity, self.synchronized)
            self.watch.see()

    @rule(ticks=st.sampled_from([1, 2, 7, 30]))
    def brake(self, ticks):
        for _ in range(ticks):
            was_at_rest = self.governor.at_rest
            q = self.governor.q.copy()
            self.governor.brake()
            self.watch.see()
            assert not was_at_rest or (self.governor.q == q).all()

    @rule(row=st.sampled_from(['velocity', 'acceleration', 'jerk']), up=st.floats(-2.0, 2.0))
    def scale_one(self, row, up):
        self.change(**{row: getattr(self.governor.limits, row) * 10.0**up})

    @rule(row=st.sampled_from(['velocity', 'acceleration', 'jerk']))
    def redraw_one(self, row):
        rates = random_rates(self.random, self.n, self.period, unlimited=0.4)
        self.change(**{row: rates[('velocity', 'acceleration', 'jerk').index(row)]})

    @rule()
    def redraw_positions(self):
        lower, upper = random_span(self.random, self.n)
        self.change(lower=lower, upper=upper)

    @rule()
    def tighten_around_the_joints(self):
        q, limits = self.governor.q, self.governor.limits
        width = 10.0 ** self.random.uniform(-6.0, 0.0, (2, self.n))
        lower, upper = (
            np.maximum(limits.lower, q - width[0]),
            np.minimum(limits.upper, q + width[1]),
        )
        self.change(lower=np.minimum(lower, upper), upper=np.maximum(lower, upper))

    @rule()
    def redraw_all(self):
        self.governor.set_limits(random_limits(self.random, self.n, self.period))

    def change(self, **rows):
        names = ('lower', 'upper', 'velocity', 'acceleration', 'jerk')
        old = {name: getattr(self.governor.limits, name) for name in names}
        self.governor.set_limits(MotionLimits(**(old | rows)))

    @rule()
    def restart_where_it_may(self):
        q = self.random.uniform(-3.0, 3.0, self.n)
        if self.governor.at_rest:
            self.governor.restart(q)
            self.watch = Watch(self.governor)
        else:
            with pytest.raises(RuntimeError, match='still move'):
                self.governor.restart(q)

    @rule()
    def stop(self):
        for _ in range(100_000):
            self.governor.brake()
            self.watch.see()
            if self.governor.at_rest:
                return
        raise AssertionError('it brakes and brakes')

    @rule(synchronized=st.booleans())
    def arrive(self, synchronized):
        """Whatever it was told before, it gets where it is told to, and its limits hold."""
        near = self.random.normal(size=self.n)
        run(self.governor, self.governor.q + near, synchronized, watch=self.watch)
        limits, in_force = self.governor.limits, self.governor.limits_in_force
        assert (in_force.acceleration == limits.acceleration).all()
        assert (in_force.jerk == limits.jerk).all()


Told.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
test_nothing_that_a_governor_is_told_breaks_a_limit = Told.TestCase


# --- to a target that stands ------------------------------------------------------------------


@settings(max_examples=draws(100))
@given(period=periods, seed=seeds, synchronized=st.booleans())
def test_a_standing_target_is_reached_exactly_without_overshoot_and_kept(
    period, seed, synchronized
):
    random = np.random.default_rng(seed)
    limits = random_limits(random, 3, period)
    governor = Governor(limits, period, random_start(random, limits))
    target = governor.q + random.normal(size=3) * 10.0 ** random.uniform(-9.0, 0.5)
    q, dq, _ = run(governor, target, synchronized, watch=Watch(governor))
    goal = np.clip(target, limits.lower, limits.upper)
    direction = np.sign(goal - q[0])
    assert (direction * dq >= 0.0).all()
    assert (direction * (goal - q) >= 0.0).all()
    for _ in range(5):
        governor.follow(target, None, synchronized)
        assert (governor.q == goal).all()
        assert governor.at_rest


@given(period=periods, seed=seeds)
def test_a_move_takes_the_shortest_time_that_its_limits_allow(period, seed):
    random = np.random.default_rng(seed)
    rates = random_rates(random, 1, period, jerk=1.0, unlimited=0.0)
    way = 10.0 ** random.uniform(-2.0, 0.5)
    governor = Governor(limits_of(-9.0, 9.0, *(float(r[0]) for r in rates)), period, [0.0])
    q, _, _ = run(governor, np.array([way]))
    fastest = rest_to_rest(way, *(float(r[0]) for r in rates))
    assert fastest - 1e-6 * period <= (len(q) - 1) * period <= fastest + period * (1 + 1e-6)


def ruckigs_time(ruckig, v, a, target, rates):
    """Return the duration of ruckig's trajectory until it rests at the target."""
    given, trajectory = ruckig.InputParameter(1), ruckig.Trajectory(1)
    given.current_velocity, given.current_acceleration = [v], [a]
    given.target_position = [target]
    given.max_velocity, given.max_acceleration, given.max_jerk = ([rate] for rate in rates)
    assert int(ruckig.Ruckig(1).calculate(given, trajectory)) >= 0
    return trajectory.duration


@given(period=periods, seed=seeds)
def test_a_move_without_a_jerk_limit_takes_hardly_longer_than_the_fastest(period, seed):
    random = np.random.default_rng(seed)
    velocity, acceleration, _ = random_rates(random, 1, period, jerk=0.0, unlimited=0.0)
    way = 10.0 ** random.uniform(-2.0, 0.5)
    governor = Governor(limits_of(-9.0, 9.0, velocity[0], acceleration[0]), period, [0.0])
    q, _, _ = run(governor, np.array([way]))
    peak = min(velocity[0], math.sqrt(acceleration[0] * way))
    fastest = way / peak + peak / acceleration[0]
    assert fastest <= (len(q) - 1) * period <= fastest + 3.0 * period


def test_moves_from_any_state_take_no_longer_than_ruckigs():
    ruckig = pytest.importorskip('ruckig')
    random, period, n = np.random.default_rng(3), 0.002, 300
    velocity = 10.0 ** random.uniform(-0.5, 0.5, n)
    acceleration = velocity * 10.0 ** random.uniform(-0.3, 1.5, n)
    jerk = acceleration * 10.0 ** random.uniform(-0.3, 1.5, n)
    v, a = random.uniform(-1.0, 1.0, (2, n)) * [velocity, acceleration]
    a[np.abs(v + a * np.abs(a) / (2.0 * jerk)) > velocity] = 0.0
    target = random.normal(size=n) * 10.0 ** random.uniform(-2.0, 0.5, n)
    limits = MotionLimits(
        *np.full((2, n), [[-math.inf], [math.inf]]), velocity, acceleration, jerk
    )
    governor, arrival = driven(limits, period, v, a), np.full(n, math.inf)
    for tick in range(1, 20_000):
        governor.follow(target)
        there = (governor.q == target) & (governor.dq == 0.0) & (governor.ddq == 0.0)
        arrival[there] = np.minimum(arrival[there], tick * period)
        if there.all():
            break
    rates = np.array([velocity, acceleration, jerk]).T
    for i in range(n):
        fastest = ruckigs_time(ruckig, v[i], a[i], target[i], rates[i])
        assert fastest - 1e-6 <= arrival[i] <= fastest + period * (1 + 1e-6)


def test_far_targets_are_gone_for_and_nan_stops_a_joint_alone():
    limits = limits_of(-1.0, 1.0, 1.0, 4.0, 40.0, n=3)
    governor = Governor(limits, 0.01, np.zeros(3))
    governor.follow([1e308, -math.inf, 0.5])
    assert (np.sign(governor.ddq) == [1.0, -1.0, 1.0]).all()
    speed = governor.dq.copy()
    for _ in range(300):
        governor.follow([math.nan, -math.inf, 0.5])
    assert governor.q[1:].tolist() == [-1.0, 0.5]
    assert 0.0 < governor.q[0] < 0.01
    assert speed[0] > 0.0
    assert governor.at_rest


@pytest.mark.parametrize('jerk', [40.0, math.inf])
def test_a_joint_without_position_limits_brakes_where_the_target_is_infinite(jerk):
    governor = Governor(limits_of(-math.inf, math.inf, 1.0, 4.0, jerk), 0.01, [0.0])
    for _ in range(100):
        governor.follow([1e30])
    assert governor.dq == pytest.approx(1.0)
    for _ in range(100):
        governor.follow([math.inf])
    assert governor.at_rest


# --- to a target that moves -------------------------------------------------------------------


@settings(max_examples=draws(60))
@given(period=periods, seed=seeds, jerk=st.sampled_from([0.0, 1.0]))
def test_a_target_that_moves_on_is_met_and_kept_up_with(period, seed, jerk):
    random = np.random.default_rng(seed)
    velocity, acceleration, jerks = random_rates(random, 1, period, jerk=jerk, unlimited=0.0)
    limits = unbounded(velocity, acceleration, jerks)
    watch = Watch(governor := Governor(limits, period, [0.0]))
    speed = velocity * random.uniform(-0.8, 0.8)
    target, met = random.normal(size=1), 0
    for _ in range(20_000):
        target = target + period * speed
        governor.follow(target, speed)
        watch.see()
        met += np.abs(governor.q - target)[0] <= 1e-9
        if met == 20:
            break
    assert met == 20
    assert governor.dq == pytest.approx(speed, rel=1e-6)
    assert governor.ddq == pytest.approx(0.0, abs=1e-6 * acceleration[0])


@pytest.mark.parametrize('jerk', [20.0, 200.0, math.inf])
def test_a_target_that_runs_through_a_limit_is_let_go_smoothly_and_late(jerk):
    watch = Watch(governor := driven(limits_of(-1.0, 1.0, 2.0, 4.0, jerk), 0.01, [1.0]))
    target, speed, speeds = np.zeros(1), np.ones(1), [1.0]
    while governor.q < 1.0:
        target = target + 0.01 * speed
        governor.follow(target, speed)
        watch.see()
        speeds.append(governor.dq[0])
    stop = 2.0 / math.sqrt(jerk) if jerk < 16.0 else 1.0 / 4.0 + 4.0 / jerk
    assert np.diff(speeds).max() <= 1e-12
    assert (len(speeds) - 1) * 0.01 <= 1.0 - 0.5 * stop + stop + 0.03
    governor.follow(target, speed)
    assert governor.at_rest


@pytest.mark.parametrize('amplitude', [0.99, 1.0, 1.01])
def test_a_target_that_swings_as_far_as_the_limits_makes_no_joint_chatter(amplitude):
    period, swing = 0.01, 2.0 * math.pi * 0.35
    governor, q = Governor(limits_of(-1.0, 1.0, 3.0, 6.0, 20.0), period, [0.0]), []
    for tick in range(1, 2001):
        phase = swing * tick * period
        target, velocity = amplitude * math.sin(phase), amplitude * swing * math.cos(phase)
        governor.follow([target], [velocity])
        q.append(governor.q[0])
    turns = np.sign(np.round(np.diff(q[500:], 3) / period**3, 4))
    assert np.count_nonzero(np.diff(turns)) <= 70  # in ten swings


@pytest.mark.parametrize('jerk', [20.0, 200.0, math.inf])
def test_a_target_that_comes_in_from_outside_is_waited_for_at_the_limit(jerk):
    watch = Watch(governor := Governor(limits_of(-1.0, 1.0, 2.0, 4.0, jerk), 0.01, [0.0]))
    target, speed = np.array([4.0]), np.array([-1.0])
    for _ in range(290):
        target = target + 0.01 * speed
        governor.follow(target, speed)
        watch.see()
    if jerk < math.inf:
        assert governor.q == 1.0
        assert governor.at_rest
    for _ in range(150):
        target = target + 0.01 * speed
        governor.follow(target, speed)
        watch.see()
    assert governor.q == pytest.approx(target)


@pytest.mark.parametrize('jerk', [20.0, 200.0, math.inf])
@pytest.mark.parametrize('speed', [-1.0, 1.0])
def test_a_joint_outside_comes_back_before_it_follows_a_target_that_moves(jerk, speed):
    limits = limits_of(-1.0, 1.0, 2.0, 4.0, jerk)
    one, other = (Governor(limits, 0.01, [1.5]) for _ in range(2))
    target = np.array([1.0])
    while other.q[0] > 1.05:
        one.follow(target, [speed])
        other.follow(target)
        assert one.q == other.q


# --- one of a kind ----------------------------------------------------------------------------


@pytest.mark.parametrize('synchronized', [False, True])
def test_a_step_that_is_taken_back_has_not_been(synchronized):
    random, period = np.random.default_rng(8), 0.004
    limits = random_limits(random, 4, period)
    lower = replace(limits, acceleration=0.5 * limits.acceleration)
    governor, other = (Governor(limits, period, np.zeros(4)) for _ in range(2))
    for tick in range(400):
        if tick % 40 == 0:
            target = random_target(random, governor.q)
        if tick % 90 == 50:  # a lowered limit, in force before or after the step that is undone
            governor.set_limits(lower)
            other.set_limits(lower)
        state = other.state
        governor.begin_tick()
        if tick % 2:
            governor.follow(-target, target, not synchronized)
        else:
            governor.brake()
        governor.undo_tick()
        np.testing.assert_array_equal(governor.state, state)
        for each in (governor, other):
            each.follow(target, None, synchronized)
        np.testing.assert_array_equal(governor.state, other.state)


def test_all_that_happened_since_a_governor_was_saved_is_taken_back():
    random, period = np.random.default_rng(9), 0.004
    limits = random_limits(random, 4, period)
    lower = replace(limits, velocity=0.5 * limits.velocity, acceleration=0.5 * limits.acceleration)
    governor, other = (Governor(limits, period, np.zeros(4)) for _ in range(2))
    for tick in range(200):
        if tick % 40 == 0:
            target = random_target(random, governor.q)
        saved = governor.save()
        governor.set_limits(lower)
        governor.begin_tick()
        governor.follow(-target, target)
        governor.brake(announced=True)
        governor.load(saved)
        assert governor.limits is other.limits
        for each in (governor, other):
            each.follow(target)
        np.testing.assert_array_equal(governor.state, other.state)


@pytest.mark.parametrize('synchronized', [False, True])
def test_a_governor_resumed_from_a_state_goes_on_as_the_other(synchronized):
    random, period = np.random.default_rng(7), 0.01
    limits = random_limits(random, 4, period)
    governor = Governor(limits, period, random_start(random, limits))
    for _ in range(20):
        governor.follow(random.normal(size=4), None, synchronized)
    target = random.normal(size=4)
    for tick in range(40):
        if tick % 5 == 0:
            other = Governor.resume(limits, period, governor.state)
        for each in (governor, other):
            each.follow(target, None, synchronized)
        assert (governor.state == other.state).all()


def test_the_stop_point_is_where_braking_ends():
    random = np.random.default_rng(4)
    for period in PERIODS:
        limits = random_limits(random, 8, period, unlimited=0.0)
        governor = Governor(limits, period, random_start(random, limits))
        for _ in range(40):
            governor.follow(random.uniform(-3.0, 3.0, 8))
        point = governor.stop_point()
        while not governor.at_rest:
            governor.brake()
        np.testing.assert_allclose(governor.q, point, rtol=0, atol=1e-10)


def test_only_its_own_steps_change_a_governor():
    q = np.zeros(2)
    governor = Governor(limits_of(-1.0, 1.0, 1.0, 2.0, 8.0, n=2), 0.01, q)
    q[0] = 0.5
    assert governor.q.tolist() == [0.0, 0.0]
    for view in (governor.q, governor.dq, governor.ddq):
        with pytest.raises(ValueError, match='read-only'):
            view[0] = 1.0


def test_what_it_can_not_use_is_refused():
    limits = limits_of(-1.0, 1.0, 1.0, 2.0, 8.0, n=2)
    with pytest.raises(InvalidOption, match='period = 0'):
        Governor(limits, 0.0, np.zeros(2))
    for q in ([0.0, math.nan], [0.0], [0.0, math.inf]):
        with pytest.raises(InvalidConfiguration, match='2 finite numbers'):
            Governor(limits, 0.01, q)
    governor = Governor(limits, 0.01, np.zeros(2))
    with pytest.raises(InvalidOption, match='3 joints, for a motion of 2'):
        governor.set_limits(limits_of(-1.0, 1.0, 1.0, 2.0, n=3))
    with pytest.raises(ValueError, match='broadcast'):
        governor.follow(np.zeros(3))
    governor.follow([1.0, 1.0])
    with pytest.raises(RuntimeError, match='still move'):
        governor.restart(np.zeros(2))


def test_a_restart_begins_at_rest_where_the_joints_were_measured():
    governor = Governor(limits_of(-1.0, 1.0, 1.0, 2.0, 8.0), 0.01, [0.0])
    run(governor, np.array([0.3]))
    governor.restart([2.5])
    assert (governor.q, governor.dq, governor.ddq) == (2.5, 0.0, 0.0)
    run(governor, np.array([2.0]), watch=Watch(governor))
    assert governor.q == 1.0
