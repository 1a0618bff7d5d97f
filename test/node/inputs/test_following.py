"""The following error: lag is none, and staying behind is one. Without a node."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('rclpy')

from test_measured_state import ROBOT

from ik_node.inputs.following import BLOCKS, WINDOW, CommandedRange, Following
from ik_node.inputs.measured_state import AGREEING

PERIOD = 0.004
ALLOWED = np.full(3, 0.1)
EVERY = np.arange(3)
WHEEL = ROBOT.joint_names.index('wheel')


def motion(seconds):
    """A fast motion (k, 3): 6 rad/s at most, with halts."""
    t = np.arange(0.0, seconds, PERIOD)[:, None]
    return np.sin(np.array([[3.0, 1.7, 2.2]]) * t) * np.array([2.0, 0.2, 2.5])


def watch(commanded, measured, watched=(0, 1, 2)):
    """The tick of the first joint that was found behind, with those that were; None for none."""
    following = Following(ROBOT, list(watched), PERIOD)
    for k, (command, q) in enumerate(zip(commanded, measured, strict=True)):
        now = 100.0 + k * PERIOD
        following.measure(q, EVERY, ALLOWED, now)
        if following.behind:
            return k, following
        following.command(command, now)
    return None


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.floats(-5.0, 5.0), st.floats(0.0, 0.3)), min_size=1, max_size=60),
    st.floats(0.05, 1.0),
)
def test_the_range_is_that_of_the_last_seconds(commands, seconds):
    commanded, now, past = CommandedRange(1, seconds), 50.0, []
    for position, step in commands:
        now += step
        commanded.add(np.array([position]), now)
        past.append((now, position))
        lowest, highest = commanded.at(now)
        inner = [p for t, p in past if now - t <= seconds]
        outer = [p for t, p in past if now - t <= seconds * BLOCKS / (BLOCKS - 1) * (1 + 1e-9)]
        assert min(outer) <= lowest[0] <= min(inner)
        assert max(inner) <= highest[0] <= max(outer)
    assert commanded.at(now + 2.0 * seconds) is None
    assert commanded.at(50.0 - 2.0 * seconds) is None  # the clock jumped back


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
    ticks = round(WINDOW * BLOCKS / (BLOCKS - 1) / PERIOD) + AGREEING + 4
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
    following, q = Following(ROBOT, [0, 1, 2], PERIOD), np.zeros(3)
    away = np.array([0.5, 0.0, 0.0])
    following.command(q, 1.0)
    for _ in range(10):
        for _ in range(AGREEING - 1):
            following.measure(away, np.array([0]), ALLOWED, 1.0)
            following.measure(away, np.array([1, 2]), ALLOWED, 1.0)
        following.measure(q, np.array([0]), ALLOWED, 1.0)
        assert following.behind == []
    for _ in range(AGREEING):
        assert following.behind == []
        following.measure(away, np.array([0]), ALLOWED, 1.0)
    assert following.behind == [0]
    following.forget()
    assert following.behind == []


def test_nothing_commanded_is_nothing_to_follow():
    following = Following(ROBOT, [0, 1, 2], PERIOD)
    for _ in range(5):
        following.measure(np.ones(3), EVERY, ALLOWED, 1.0)
    assert following.behind == []


def test_it_is_there_within_the_errors_allowed():
    following, q = Following(ROBOT, [0, WHEEL], PERIOD), np.zeros(3)
    measured = np.zeros(3)
    measured[WHEEL] = 2.0 * math.pi + 0.09
    assert following.is_at(q, measured, ALLOWED)
    measured[0] = -0.11
    assert not following.is_at(q, measured, ALLOWED)
