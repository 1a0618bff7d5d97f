# SPDX-License-Identifier: Apache-2.0
"""The following error: lag is none, and staying behind is one. Without a node."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('rclpy')

from test_measured_state import ROBOT

from ik_node.inputs.following_error import (
    AGREEING,
    AGREEING_TIME,
    WINDOW,
    CommandHistory,
    FollowingErrorMonitor,
)

PERIOD = 0.004
ALLOWED = np.full(3, 0.1)
EVERY = np.arange(3)
WHEEL = ROBOT.joint_names.index('wheel')


def motion(seconds):
    """A fast motion (k, 3): 6 rad/s at most, with halts."""
    t = np.arange(0.0, seconds, PERIOD)[:, None]
    return np.sin(np.array([[3.0, 1.7, 2.2]]) * t) * np.array([2.0, 0.2, 2.5])


def watching(joints=(0, 1, 2)):
    """A FollowingErrorMonitor of these joints, which are measured."""
    following = FollowingErrorMonitor(ROBOT.continuous, joints, PERIOD)
    following.watch(EVERY)
    return following


def watch(commanded, measured, watched=(0, 1, 2)):
    """The tick of the first joint that was found behind, with those that were; None for none."""
    following = watching(watched)
    for k, (command, q) in enumerate(zip(commanded, measured, strict=True)):
        now = 100.0 + k * PERIOD
        following.measure(q, EVERY, ALLOWED, now)
        if following.behind:
            return k, following
        following.command(command, now)
    return None


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.floats(-5.0, 5.0), st.floats(0.0, 0.3)), min_size=1, max_size=60),
    st.floats(0.05, 1.0),
)
def test_the_ranges_are_those_of_the_last_seconds(commands, seconds):
    commanded, now, past = CommandHistory(1, seconds, PERIOD), 50.0, []
    block = max(PERIOD, seconds / 100.0)
    for position, step in commands:
        now += step
        commanded.add(np.array([position]), now)
        past.append((now, position))
        history = commanded.until(now)
        assert (np.diff(history.ages) > 0.0).all()
        within = [p for t, p in past if now - t <= seconds]
        assert history.lowest[-1] <= min(within)
        assert history.highest[-1] >= max(within)
        for age, low, high in zip(history.ages, history.lowest, history.highest, strict=True):
            inner = [p for t, p in past if now - t <= age - 1e-9]
            outer = [past[-1][1]]
            outer += [p for (_, p), (t, _) in pairwise(past) if now - t <= age + 1e-9]
            assert min(outer) <= low[0] <= min(inner, default=math.inf)
            assert max(inner, default=-math.inf) <= high[0] <= max(outer)
        assert history.ages[0] <= now - past[-1][0] + block + 1e-9
    assert commanded.until(now + 2.0 * seconds + 2.0 * block) is None
    assert commanded.until(50.0 - 2.0 * seconds - block) is None  # the clock jumped back


@pytest.mark.parametrize('lag', [0.0, 0.02, 0.1, 0.2, WINDOW])
def test_a_robot_that_lags_follows(lag):
    commanded, late = motion(10.0), round(lag / PERIOD)
    measured = np.vstack([np.repeat(commanded[:1], late, axis=0), commanded])[: len(commanded)]
    assert watch(commanded, measured) is None


@pytest.mark.parametrize('lag', [0.05, 0.1])
def test_a_controller_of_first_order_follows(lag):
    commanded = motion(10.0)
    measured = np.zeros_like(commanded)
    for k in range(1, len(commanded)):
        measured[k] = measured[k - 1] + PERIOD / lag * (commanded[k - 1] - measured[k - 1])
    assert watch(commanded, measured) is None


@pytest.mark.parametrize('stops', [100, 400, 1000])
def test_a_robot_that_stops_does_not_follow(stops):
    commanded = motion(10.0)
    measured = commanded.copy()
    measured[stops:] = measured[stops]
    found, following = watch(commanded, measured)
    away = np.abs(commanded - commanded[stops]) > ALLOWED
    leaves = [stops + int(np.argmax(away[stops:, i])) for i in range(3) if away[stops:, i].any()]
    ticks = round(WINDOW / PERIOD) + AGREEING + 4
    assert stops < found <= min(leaves) + ticks
    (joint, *_) = following.behind
    assert following.errors[joint] > 0.1


def test_a_joint_that_is_not_commanded_may_be_anywhere():
    commanded = motion(2.0)
    measured = commanded + np.array([0.0, 5.0, 0.0])
    assert watch(commanded, measured, watched=(0, 2)) is None
    assert watch(commanded, measured)[1].behind == [1]


def test_turns_of_an_endless_joint_are_no_error():
    commanded = np.zeros((500, 3))
    commanded[:, WHEEL] = np.linspace(0.0, 20.0, 500)
    measured = commanded.copy()
    measured[:, WHEEL] = np.remainder(measured[:, WHEEL] + math.pi, 2.0 * math.pi) - math.pi
    assert watch(commanded, measured) is None
    measured[300:, WHEEL] += 0.6
    assert watch(commanded, measured)[1].behind == [WHEEL]


def test_single_samples_are_no_proof_and_partial_messages_count_for_their_joints():
    following, q, now = watching(), np.zeros(3), 1.0
    away = np.array([0.5, 0.0, 0.0])

    def measure(q, *joints):
        nonlocal now
        now += PERIOD
        following.command(np.zeros(3), now)
        following.measure(q, np.array(joints), ALLOWED, now)

    for _ in range(10):
        for _ in range(AGREEING - 1):
            measure(away, 0)
            measure(away, 1, 2)
        measure(q, 0)
        assert following.behind == []
    for _ in range(AGREEING):
        assert following.behind == []
        measure(away, 0)
    assert following.behind == [0]
    following.forget()
    assert following.behind == []


def test_samples_that_come_in_a_bunch_are_no_proof():
    following, away = watching(), np.full(3, 0.5)
    following.command(np.zeros(3), 1.0)
    for i in range(100):
        following.measure(away, EVERY, ALLOWED, 1.0 + 0.99 * AGREEING_TIME * i / 99)
        assert following.behind == []
    following.measure(away, EVERY, ALLOWED, 1.0 + 1.01 * AGREEING_TIME)
    assert following.behind == [0, 1, 2]


@pytest.mark.parametrize('lag', [0, 4, 20])
def test_a_robot_that_stands_in_motion_is_seen_within_a_few_samples_once_its_lag_is_known(lag):
    commanded, stops = motion(4.0), 800
    measured = np.vstack([np.repeat(commanded[:1], lag, axis=0), commanded])[: len(commanded)]
    measured[stops:] = measured[stops]
    following, seen = watching(), []
    for k, (command, q) in enumerate(zip(commanded, measured, strict=True)):
        following.command(command, 100.0 + k * PERIOD)
        following.measure(q, EVERY, ALLOWED, 100.0 + k * PERIOD)
        seen += [k] * (following.stands and k > 300)  # then it is known
    assert stops < seen[0] <= stops + 5


def ticks_until_seen(following, begin, stops):
    """Return the number of ticks after `stops` until the robot is found to stand."""
    commanded = motion(4.0)
    for k, command in enumerate(commanded):
        following.command(command, begin + k * PERIOD)
        following.measure(commanded[min(k, stops)], EVERY, ALLOWED, begin + k * PERIOD)
        if following.stands:
            return k - stops
    raise AssertionError('it was never found to stand')


@pytest.mark.parametrize('late', [True, False])
def test_a_robot_that_starts_late_lags_and_one_that_was_elsewhere_meanwhile_does_not(late):
    following = watching()
    usual = ticks_until_seen(following, 100.0, 40)
    stands = motion(1.0)[40]
    following.forget()
    ways = np.concatenate([np.zeros(40), 5.0 * (PERIOD * np.arange(20)) ** 2])
    if not late:
        ways[40:] = 0.1
    for k, way in enumerate(ways):
        following.note_late_start(stands + way, 100.0 + (40 + usual + k) * PERIOD)
    ticks = ticks_until_seen(following, 110.0, 40)
    assert ticks > usual + 10 if late else ticks == usual


@pytest.mark.parametrize('held', [1, 3, 8])
def test_a_robot_whose_states_change_seldom_does_not_stand(held):
    commanded = motion(10.0)
    measured = np.repeat(commanded[::held], held, axis=0)[: len(commanded)]
    following = watching()
    for k, (command, q) in enumerate(zip(commanded, measured, strict=True)):
        following.command(command, 100.0 + k * PERIOD)
        following.measure(q, EVERY, ALLOWED, 100.0 + k * PERIOD)
        assert not following.stands


def test_nothing_commanded_is_nothing_to_follow():
    following = watching()
    for _ in range(5):
        following.measure(np.ones(3), EVERY, ALLOWED, 1.0)
    assert following.behind == []


def test_it_is_there_within_the_errors_allowed():
    following, q = watching([0, WHEEL]), np.zeros(3)
    measured = np.zeros(3)
    measured[WHEEL] = 2.0 * math.pi + 0.09
    assert following.is_at(q, measured, ALLOWED)
    measured[0] = -0.11
    assert not following.is_at(q, measured, ALLOWED)


def test_joint_counts_from_its_first_sample_on():
    following, away = FollowingErrorMonitor(ROBOT.continuous, [0, 1], PERIOD), np.full(3, 0.5)
    following.watch(np.array([0]))
    for k in range(20):
        following.command(np.zeros(3), 1.0 + k * PERIOD)
        following.measure(away, np.array([0]), ALLOWED, 1.0 + k * PERIOD)
    assert following.behind == [0]
    following.watch(EVERY)  # 2 is not commanded
    for k in range(20, 40):
        following.command(np.zeros(3), 1.0 + k * PERIOD)
        following.measure(away, EVERY, ALLOWED, 1.0 + k * PERIOD)
    assert following.behind == [0, 1]
