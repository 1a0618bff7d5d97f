# SPDX-License-Identifier: Apache-2.0
"""The governor where joints wait for each other."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws import draws
from support.motion_checks import (
    Watch,
    driven,
    random_limits,
    random_rates,
    random_start,
    rest_to_rest,
    run,
    unbounded,
)

from ik_core.tracking.governor import Governor

periods = st.sampled_from([0.001, 0.004, 0.01, 0.1, 1.0])
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=draws(60))
@given(period=periods, seed=seeds, jerk=st.sampled_from([0.0, 0.5, 1.0]))
def test_joints_that_move_together_go_straight_and_arrive_together(period, seed, jerk):
    random = np.random.default_rng(seed)
    rates = random_rates(random, 4, period, jerk=jerk, unlimited=0.0)
    limits = unbounded(*rates)
    target = random.choice([-1.0, 1.0], 4) * random.uniform(0.01, 3.0, 4)
    q, dq, _ = run(Governor(limits, period, np.zeros(4)), target, synchronized=True)
    assert np.ptp(q / target, axis=1).max() < 1e-9
    moving = dq != 0.0
    assert (moving.all(axis=1) == moving.any(axis=1)).all()


@settings(max_examples=draws(40))
@given(period=periods, seed=seeds)
def test_joints_that_move_together_take_no_longer_than_the_slowest(period, seed):
    random = np.random.default_rng(seed)
    rates = random_rates(random, 3, period, jerk=1.0, unlimited=0.0)
    limits = unbounded(*rates)
    target = random.normal(size=3)
    q, _, _ = run(Governor(limits, period, np.zeros(3)), target, synchronized=True)
    bound = [np.min(row / np.abs(target)) for row in rates]  # of the line, its length being 1
    assert (len(q) - 1) * period <= rest_to_rest(1.0, *bound) + period * (1 + 1e-6)


def test_joints_with_speeds_of_their_own_arrive_together_as_soon_as_the_last_could():
    random, period = np.random.default_rng(8), 0.004
    for _ in range(draws(40)):
        velocity = 10.0 ** random.uniform(-0.5, 0.5, 5)
        acceleration = velocity * 10.0 ** random.uniform(-0.3, 1.5, 5)
        jerk = acceleration * 10.0 ** random.uniform(-0.3, 1.5, 5)
        limits = unbounded(velocity, acceleration, jerk)
        watch = Watch(governor := Governor(limits, period, np.zeros(5)))
        first, target = random.normal(size=(2, 5))
        for _ in range(random.integers(1, 200)):
            governor.follow(first)
            watch.see()
        alone = driven(limits, period, governor.dq, governor.ddq, governor.q)
        fastest = len(run(alone, target)[0])
        q, _, _ = run(governor, target, synchronized=True, watch=watch)
        assert len(q) <= fastest + 1
        away = [np.flatnonzero(q[:, i] != target[i])[-1] for i in range(5)]
        assert max(away) - min(away) <= 1


def test_a_target_that_is_dragged_about_is_followed_together_within_limits():
    random, period = np.random.default_rng(9), 0.01
    for _ in range(10):
        limits = random_limits(random, 5, period)
        watch = Watch(governor := Governor(limits, period, random_start(random, limits)))
        target = governor.q.copy()
        for _ in range(100):
            target = target + 0.05 * random.normal(size=5)
            governor.follow(target, None, True)
            watch.see()
        run(governor, target, True, watch=watch)
