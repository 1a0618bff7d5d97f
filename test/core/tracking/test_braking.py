"""Motions without a jerk limit: braking distances, and turns that a joint may take."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import URDF

import ik_core as ik
from ik_core.robot.limits import take_nearest_turns
from ik_core.tracking import MotionLimits
from ik_core.tracking.braking import approach_speed, stopping_distance
from ik_core.tracking.goal_solver import all_finite, turn_back

FIXED = settings(deadline=None, derandomize=True)

periods = st.sampled_from([0.001, 0.002, 0.01, 0.033, 0.1])


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
