# SPDX-License-Identifier: Apache-2.0
"""The joints on their way to the solution: waiting for each other, lag, and speed scaling."""

import math

import numpy as np
import pytest

from ik_core.tracking import MotionLimits
from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.joint_motion import MAX_LAG, NEARLY_THERE, JointMotion
from ik_core.tracking.governor.speed_scale import BENDING, BRAKING, CREEP, SpeedScale, scale_bounds

PERIOD = 0.01


def limits(acceleration=2.0, jerk=np.inf):
    return MotionLimits(
        np.full(2, -5.0), np.full(2, 5.0), np.array([1.0, 2.0]), np.full(2, acceleration), jerk
    )


def motion(**changes):
    return JointMotion(Governor(limits(**changes), PERIOD, np.zeros(2)), [[0], [0, 1]])


def arrivals(joints, target):
    """The ticks after which each joint stands at its target."""
    ticks = [0, 0]
    for k in range(1000):
        joints.follow(target, None, {})
        for i in range(2):
            if not ticks[i] and joints.q[i] == target[i]:
                ticks[i] = k
    return ticks


def test_joints_that_wait_for_each_other_arrive_together():
    target = np.array([1.0, 0.1])
    alone = motion()
    first = arrivals(alone, target)
    assert first[1] < first[0] - 50
    together = motion()
    together.jump()
    last = arrivals(together, target)
    assert abs(last[0] - last[1]) <= 1
    assert not together.synchronized


def test_joints_wait_until_they_are_near_where_goals_move_on():
    joints = motion()
    joints.jump()
    joints.drag()
    target = np.array([1.0, 0.1])
    while joints.synchronized:
        joints.follow(target, None, {})
    assert NEARLY_THERE - 0.02 < np.abs(target - joints.q).max() <= NEARLY_THERE


def test_a_rest_and_a_line_end_the_waiting():
    joints = motion()
    for end, near in ((joints.come_to_rest, 0.0), (joints.follow_steps, NEARLY_THERE)):
        joints.synchronize()
        end()
        assert not joints.synchronized
        assert joints.near == near


def test_tips_slow_down_where_joints_lag_and_creep_on_afterwards():
    joints = motion()
    target, velocity = np.zeros(2), np.array([0.5, 0.0])
    joints.follow(target + 0.5 * MAX_LAG, velocity, {0: 1.0})
    lag = np.abs(target + 0.5 * MAX_LAG - joints.q).max()
    assert joints.scale_of(0).slack == pytest.approx(1.0 - lag / MAX_LAG)
    joints.follow(np.ones(2), velocity, {0: 1.0})
    assert joints.scale_of(0).slack == 0.0
    joints.follow(np.ones(2), None, {})
    assert joints.scale_of(0) is CREEP


def test_where_tips_can_but_crawl_joints_get_slower_too():
    fast, slow = motion(), motion()
    velocity = np.array([0.5, 0.0])
    for joints, share in ((fast, 1.0), (slow, 0.001)):
        for _ in range(2):  # the second is no bend
            joints.follow(np.full(2, 1e-3), velocity, {0: share})
    assert slow.scale_of(0).growth < fast.scale_of(0).growth


def test_a_tip_does_not_wait_for_joints_that_do_not_move_it():
    joints, both = motion(), {0: 1.0, 1: 1.0}
    for _ in range(2):  # the second is no bend
        joints.follow(np.array([0.0, 0.5 * MAX_LAG]), np.array([0.0, 0.5]), both)
    assert joints.scale_of(0) == SpeedScale(1.0, math.inf, 0.0)
    assert joints.scale_of(1).slack < 1.0
    assert joints.scale_of(1).growth < math.inf


def test_a_joint_at_full_speed_lets_its_tip_get_no_faster():
    rows, velocity, step = limits().rows, np.array([0.9, 0.1]), 2.0 * PERIOD
    growth, least = scale_bounds(np.zeros(2), velocity, velocity, rows, PERIOD, 0.9)
    assert growth == pytest.approx(1.0)
    assert least == pytest.approx(1.0 - BRAKING * step / 0.9)


def test_a_path_that_bends_is_gone_along_so_slowly_that_joints_can_follow():
    rows, step = limits().rows, 2.0 * PERIOD
    before, bent = np.array([0.3, 0.0]), np.array([0.0, 0.3])
    growth, _ = scale_bounds(np.zeros(2), bent, before, rows, PERIOD, 1.0)
    assert growth == pytest.approx(math.sqrt(BENDING * step / 0.3))


def test_a_share_may_grow_by_its_factor_but_not_beyond_the_slack():
    scale = SpeedScale(slack=0.8, growth=1.5, least=0.4)
    assert scale.most(0.2) == pytest.approx(0.3)
    assert scale.most(0.7) == 0.8
    assert scale.most(0.0) == 0.8


def test_joints_that_brake_let_their_tips_go_and_stay_where_they_come_to_rest():
    joints = motion()
    for _ in range(20):
        joints.follow(np.ones(2), np.array([0.5, 0.5]), {0: 1.0})
    stop = joints.governor.stop_point()
    while joints.dq.any():
        joints.brake()
        assert joints.scale_of(0) is CREEP
    np.testing.assert_allclose(joints.q, stop, atol=1e-9)


def test_limits_that_change_leave_position_and_velocity():
    joints = motion()
    for _ in range(20):
        joints.follow(np.ones(2), None, {})
    q, dq = joints.q.copy(), joints.dq.copy()
    for jerk in (50.0, np.inf):
        joints.governor.set_limits(limits(jerk=jerk))
        np.testing.assert_array_equal(joints.q, q)
        np.testing.assert_array_equal(joints.dq, dq)
        joints.follow(np.ones(2), None, {})
        assert (joints.q > q).all()  # the arrays that are read are those that move
        q, dq = joints.q.copy(), joints.dq.copy()
