# SPDX-License-Identifier: Apache-2.0
"""The governor where limits change in motion, and where joints stand outside of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws import draws
from support.motion_checks import (
    EASY,
    Watch,
    driven,
    limits_of,
    random_rates,
    run,
)  # fmt: skip

from ik_core.tracking import MotionLimits
from ik_core.tracking.governor import Governor

periods = st.sampled_from([0.001, 0.004, 0.01, 0.1, 1.0])
seeds = st.integers(0, 2**32 - 1)


# --- limits that change -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ('before', 'after'),
    [
        ((10.0, math.inf), (0.5, math.inf)),
        ((10.0, 200.0), (0.5, math.inf)),
        ((10.0, 200.0), (9.9, math.inf)),
        ((10.0, 200.0), (0.5, 200.0)),
        ((10.0, 200.0), (10.0, 2.0)),
        ((10.0, math.inf), (10.0, 20.0)),
        ((10.0, math.inf), (0.5, 2.0)),
        ((10.0, 20.0), (10.0, math.inf)),
    ],
)
@pytest.mark.parametrize('ticks', [3, 20, 60, 90, 105])
def test_a_slide_in_motion_stays_on_its_rail_and_gets_to_the_new_limits(before, after, ticks):
    governor = Governor(limits_of(-1.0, 1.0, 2.0, *before), 0.01, [-1.0])
    watch = Watch(governor)
    for _ in range(ticks):
        governor.follow([0.9])
        watch.see()
    governor.set_limits(limits_of(-1.0, 1.0, 2.0, *after))
    run(governor, np.array([1.0]), watch=watch)
    assert (governor.limits_in_force.acceleration, governor.limits_in_force.jerk) == after


def test_limits_that_are_raised_hold_at_once():
    governor = driven(limits_of(-9.0, 9.0, 1.0, 2.0, 8.0), 0.01, [0.5], [1.0])
    governor.set_limits(limits_of(-9.0, 9.0, 3.0, 5.0, 50.0))
    governor.follow([8.0])
    assert governor.ddq == pytest.approx(1.5)
    q = governor.q[0]
    governor.set_limits(limits_of(-9.0, 9.0, 3.0, 5.0))
    governor.follow([8.0])
    assert governor.limits_in_force.jerk == math.inf
    assert governor.q[0] - 2.0 * q == pytest.approx(5.0 * 0.01**2)


def test_limits_that_are_lowered_hold_at_once_where_the_state_fits_them():
    governor = driven(limits_of(-9.0, 9.0, 9.0, 10.0, 100.0, n=2), 0.01, [1.0, 1.0], q=[0.0, 8.9])
    governor.set_limits(limits_of(-9.0, 9.0, 9.0, 2.0, 100.0, n=2))
    governor.follow([8.0, 8.0])
    assert governor.limits_in_force.acceleration.tolist() == [2.0, 10.0]
    assert governor.ddq.tolist() == pytest.approx([1.0, -1.0])


@given(seed=seeds, has_jerk=st.booleans())
def test_a_speed_above_a_new_limit_falls_as_fast_as_it_may(seed, has_jerk):
    random, period = np.random.default_rng(seed), 0.01
    _, most, jerk = (float(r[0]) for r in random_rates(random, 1, period, has_jerk, 0.0))
    fast, slow = np.sort(random.uniform(0.0, 2.0, 2))[::-1]
    governor = driven(limits_of(-math.inf, math.inf, fast, most, jerk), period, [fast])
    governor.set_limits(limits_of(-math.inf, math.inf, slow, most, jerk))
    peak = min(most, math.sqrt(jerk * (fast - slow)))
    seconds = (fast - slow) / peak + peak / jerk
    ticks = math.ceil(seconds / period - 1e-9)
    for tick in range(1, ticks + 1):
        governor.follow([1e3])
        assert (governor.dq[0] == pytest.approx(slow, abs=1e-12)) == (tick == ticks)
    assert governor.ddq == 0.0 or not has_jerk


def test_a_jerk_limit_that_is_switched_on_holds_at_once_at_constant_speed():
    governor = driven(limits_of(-9.0, 9.0, 2.0, 10.0), 0.01, [1.0])
    governor.set_limits(limits_of(-9.0, 9.0, 2.0, 10.0, 50.0))
    governor.follow([8.0])
    assert governor.limits_in_force.jerk == 50.0
    assert governor.ddq == pytest.approx(0.5)


def test_a_joint_that_has_just_stopped_rests_when_a_jerk_limit_is_switched_on():
    governor = driven(limits_of(-9.0, 9.0, 2.0, 10.0), 0.01, [0.0], [-10.0])
    governor.set_limits(limits_of(-9.0, 9.0, 2.0, 10.0, 50.0))
    for _ in range(3):
        governor.brake()
        assert (governor.q, governor.dq, governor.ddq) == (0.0, 0.0, 0.0)
    assert governor.limits_in_force.jerk == 50.0


def test_a_joint_that_speeds_up_settles_before_a_jerk_limit_holds():
    governor = driven(limits_of(-9.0, 9.0, 2.0, 10.0), 0.01, [1.9], [10.0])
    watch = Watch(governor)
    governor.set_limits(limits_of(-9.0, 9.0, 2.0, 10.0, 50.0))
    speeds = []
    for _ in range(5):
        governor.follow([8.0])
        watch.see()
        speeds.append(governor.dq[0])
    assert speeds[0] == 1.9
    assert governor.limits_in_force.jerk == 50.0
    assert speeds[-1] > 1.9


def test_a_jerk_limit_is_switched_off_when_the_acceleration_is_inside_its_limit():
    governor = driven(limits_of(-9.0, 9.0, 9.0, 10.0, 100.0), 0.01, [1.0], [10.0])
    watch = Watch(governor)
    governor.set_limits(limits_of(-9.0, 9.0, 9.0, 0.5, 100.0))
    governor.follow([8.0])
    watch.see()
    assert governor.ddq == pytest.approx(9.0)
    governor.set_limits(limits_of(-9.0, 9.0, 9.0, 0.5))
    in_force = []
    for _ in range(12):
        governor.follow([8.0])
        watch.see()
        in_force.append(governor.limits_in_force.jerk[0])
    assert in_force[0] == 100.0
    assert in_force[-1] == math.inf


@pytest.mark.parametrize('jerk', [118.3, 1e4, np.inf])
def test_a_jerk_that_is_raised_waits_while_the_stop_needs_a_lowered_acceleration(jerk):
    """Braking harder than its new limit, a joint stops inside; sooner back at it, it would not."""

    def limits(velocity, acceleration, jerk):
        rows = [-1.8625], [1.0], [velocity], [acceleration], [jerk]
        return MotionLimits(*map(np.array, rows))

    governor = Governor(limits(2.384, 83.7, 546.4), 0.01, [1.0])
    while governor.q[0] > -0.07:
        governor.follow([-1.8625])
    governor.brake()
    governor.set_limits(limits(0.27, 0.285, 6.96))
    for _ in range(3):
        governor.brake()
    assert governor.ddq[0] > 5.0  # more than the limit in force
    assert governor.limits_in_force.acceleration[0] == 0.285
    governor.set_limits(limits(1.3, 0.876, jerk))
    q = []
    while not governor.at_rest:
        governor.follow([-1.8625])
        q.append(governor.q[0])
    assert min(q) > -1.8625 - 1e-9
    assert q[-1] == pytest.approx(-1.8625)
    assert governor.limits_in_force.jerk[0] == jerk


@pytest.mark.parametrize('jerk', [200.0, math.inf])
def test_a_jerk_limit_that_is_lowered_while_braking_does_not_turn_a_joint_round(jerk):
    governor = driven(limits_of(-99.0, 99.0, 100.0, 10.0, jerk), 0.01, [1.0], [-10.0])
    governor.set_limits(limits_of(-99.0, 99.0, 100.0, 10.0, 2.0))
    _, dq, _ = run(governor, np.array([9.0]), watch=Watch(governor))
    assert (dq >= 0.0).all()
    assert governor.limits_in_force.jerk == 2.0


@pytest.mark.parametrize('after', [(2.0, 20.0), (2.0, 100.0), (10.0, 20.0), (2.0, math.inf)])
@pytest.mark.parametrize('a', [-9.0, -3.0, 3.0])
@pytest.mark.parametrize(('side', 'period'), [(-1.0, 0.01), (1.0, 0.01), (1.0, 0.3)])
def test_limits_lowered_at_any_distance_from_a_limit_leave_it_unpassed(after, a, side, period):
    gaps, ones = np.linspace(0.0, 0.6, 61) ** 2 + 0.16, np.ones(61)
    governor = driven(
        limits_of(-1.0, 1.0, 3.0, 10.0, 100.0, n=61), period, side * ones, side * a * ones,
        side * (1.0 - gaps),
    )  # fmt: skip
    watch = Watch(governor)
    governor.set_limits(limits_of(-1.0, 1.0, 3.0, *after, n=61))
    run(governor, 2.0 * side * ones, watch=watch)
    assert (governor.q == side).all()


# --- outside ----------------------------------------------------------------------------------


@settings(max_examples=draws(100))
@given(period=periods, seed=seeds, side=st.sampled_from([-1.0, 1.0]))
def test_a_joint_found_outside_only_moves_inwards_at_limited_speed(period, seed, side):
    random = np.random.default_rng(seed)
    rates = random_rates(random, 1, period)
    limits = limits_of(-1.0, 1.0, *(float(r[0]) for r in rates))
    governor = Governor(limits, period, [side * (1.0 + 10.0 ** random.uniform(-6.0, 0.5))])
    target = np.array([side * random.uniform(-1.0, 4.0)])
    q, dq, _ = run(governor, target, watch=Watch(governor))
    assert (np.diff(side * q[:, 0]) <= 0.0).all()
    assert (np.abs(dq) <= rates[0] * EASY).all()


def test_limits_tightened_in_front_of_a_joint_are_passed_by_no_more_than_a_stop():
    governor = driven(limits_of(-9.0, 9.0, 2.0, 10.0, 100.0), 0.01, [2.0])
    governor.set_limits(limits_of(-9.0, 0.1, 2.0, 10.0, 100.0))
    q, _, _ = run(governor, np.array([5.0]), watch=None)
    stop = 0.5 * 2.0 * (2.0 / 10.0 + 10.0 / 100.0)
    assert q.max() <= stop
    assert q.max() >= stop - 0.01
    assert governor.q == 0.1


@pytest.mark.parametrize('jerk', [False, True])
@pytest.mark.parametrize('share', [0.5, 2.0])
def test_a_stop_that_wannounced_is_not_changed_by_limits_asked_for_since(share, jerk):
    rows = {'velocity': 1.0, 'acceleration': 2.0, 'jerk': 30.0 if jerk else np.inf}
    rows |= {'lower': -9.0, 'upper': 9.0}
    period, limits = 0.004, MotionLimits(**{kind: np.full(4, x) for kind, x in rows.items()})
    changed = replace(limits, acceleration=share * limits.acceleration)
    governor, other = (Governor(limits, period, np.zeros(4)) for _ in range(2))
    for _ in range(100):
        for each in (governor, other):
            each.follow(np.array([1.0, -1.0, 0.5, 0.01]))
    governor.set_limits(changed)
    governor.begin_tick()
    governor.follow(np.ones(4))
    governor.undo_tick()
    for _ in range(10):
        governor.brake(announced=True)
        other.brake(announced=True)
    np.testing.assert_array_equal(governor.q, other.q)
    np.testing.assert_array_equal(governor.dq, other.dq)
    for _ in range(500):
        governor.brake()
    np.testing.assert_array_equal(governor.limits_in_force.acceleration, changed.acceleration)
