# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent: ball joints turn about a free axis."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.coordinate_descent import ORDERS, ORIGIN, both_orders, own_cost, plan_of, sweep_once

import ik_core as ik
from ik_core import IkProblem, PoseTask, PositionTask, Robot
from ik_core.robot import Joint
from ik_core.solvers.coordinate_sweep import (
    _step_inside,
)


def ball_and_bone(order='ZYZ', **limits):
    joints = [
        Joint('ball', 'ball', 'base', 'bone', ORIGIN, rotation_order=order, **limits),
        Joint('tip', 'fixed', 'bone', 'tip', robots.transform(translation=[0.4, 0.2, -0.1])),
    ]
    return Robot.from_joints('ball', ['base', 'bone', 'tip'], joints)


@both_orders
@pytest.mark.parametrize('rotation', ['ZYZ', 'XYX', 'XYZ', 'ZXY', 'YXZ', 'ZYX', 'YZY'])
def test_a_ball_joint_turns_about_the_axis_across_both_directions(rotation, order):
    """Eq. 2-5: one step, by the angle between the directions, no twist about the bone."""
    robot, rng = ball_and_bone(rotation), np.random.default_rng(8)
    starts = [np.zeros(3), np.array([0.2, 0.5 * np.pi, 0.1]), *rng.uniform(-3, 3, (6, 3))]
    for q in starts:
        p = ORIGIN[:3, 3]
        goal = p + 2.0 * rng.normal(size=3)
        problem = IkProblem(robot, [PositionTask('tip', goal)])
        after = sweep_once(problem, q, order=order)
        u = robot.forward_kinematics(q, 'tip')[:3, 3] - p
        v = goal - p
        reached = robot.forward_kinematics(after, 'tip')[:3, 3] - p
        np.testing.assert_allclose(reached / np.linalg.norm(u), v / np.linalg.norm(v), atol=1e-9)
        axis = np.cross(u, v) / np.linalg.norm(np.cross(u, v))
        angle = math.atan2(np.linalg.norm(np.cross(u, v)), u @ v)
        turn = (
            robot.forward_kinematics(after, 'bone')[:3, :3]
            @ robot.forward_kinematics(q, 'bone')[:3, :3].T
        )
        np.testing.assert_allclose(turn, Rotation.from_rotvec(angle * axis).as_matrix(), atol=1e-9)


def test_about_its_own_axes_a_ball_joint_takes_other_steps():
    robot, q = ball_and_bone('XYZ'), np.array([0.3, -0.4, 0.8])
    goal = robot.forward_kinematics(q + np.array([0.5, 0.7, -0.6]), 'tip')[:3, 3]
    problem = IkProblem(robot, [PositionTask('tip', goal)])
    free = ik.make_solver('cyclic_coordinate_descent').solve(problem, q)
    assert free.success
    assert free.iterations == 1
    own = ik.make_solver('cyclic_coordinate_descent', free_axis=False).solve(problem, q)
    assert own.success
    assert own.iterations > 1


@both_orders
def test_the_turn_of_a_ball_stays_inside_its_limits_and_never_harms(order):
    rng = np.random.default_rng(9)
    exact = 0
    for rotation in ('ZYZ', 'XYZ', 'ZXY'):
        for _ in range(40):
            low, high = np.sort(rng.uniform(-3.5, 3.5, (2, 3)), axis=0)
            robot = ball_and_bone(rotation, lower=low, upper=high)
            goal = ORIGIN[:3, 3] + rng.normal(size=3)
            problem = IkProblem(robot, [PositionTask('tip', goal)])
            x = rng.uniform(low, high)
            after = sweep_once(problem, x, order=order)
            alone = sweep_once(problem, x, order=order, free_axis=False)
            assert robots.inside(robot, after)
            assert own_cost(problem, after) <= own_cost(problem, x) * (1 + 1e-12)
            exact += own_cost(problem, after) < own_cost(problem, alone) * (1 - 1e-9)
    assert exact > 20  # of 120, with limits that cut most of the turns off


@pytest.mark.parametrize('factor', [1.0, 3.0, 0.0])
def test_a_ball_that_points_at_its_goal_stays(factor):
    """Eq. 2 then names no axis, nor does it for a goal in the centre."""
    robot, q = ball_and_bone(), np.array([0.3, 0.9, -0.4])
    centre = ORIGIN[:3, 3]
    goal = centre + factor * (robot.forward_kinematics(q, 'tip')[:3, 3] - centre)
    problem = IkProblem(robot, [PositionTask('tip', goal)])
    np.testing.assert_allclose(sweep_once(problem, q), q, atol=1e-12)


def test_of_two_ways_to_write_a_turn_the_shorter_one_is_taken():
    """Both reach the goal: (da, db, dc) and the way over the other middle angle."""
    robot, rng = ball_and_bone(), np.random.default_rng(10)
    for _ in range(20):
        q = rng.uniform(0.4, 1.2, 3)
        goal = robot.forward_kinematics(q + rng.uniform(-0.1, 0.1, 3), 'tip')[:3, 3]
        problem = IkProblem(robot, [PositionTask('tip', goal)])
        assert np.abs(sweep_once(problem, q) - q).max() < 1.0


@pytest.mark.parametrize(
    ('goals', 'turns'),
    [
        (lambda: [PositionTask('tip', np.ones(3))], True),
        (lambda: [PositionTask('tip', np.ones(3), weights=(1, 1, 2))], False),
        (lambda: [PoseTask('tip', transform=np.eye(4))], False),
        (lambda: [PositionTask('tip', np.ones(3)), PositionTask('bone', np.ones(3))], False),
    ],
)
def test_balls_turn_freely_where_one_position_is_all_they_carry(goals, turns):
    problem = IkProblem(ball_and_bone(), goals())
    for order in ORDERS:
        plan = plan_of(problem, order=order)
        assert (plan['ball'][0].tolist() == [0, 1, 2]) == turns
        assert (plan['ball'][1:] == -1).all()
    assert (plan_of(problem, free_axis=False)['ball'] == -1).all()


def test_a_ball_with_a_frozen_axis_is_no_ball():
    problem = IkProblem(
        ball_and_bone(), [PositionTask('tip', np.ones(3))], frozen_joints=['ball/y']
    )
    assert (plan_of(problem)['ball'] == -1).all()
    body = [f'root/{name}' for name in ('x', 'y', 'z', 'yaw', 'pitch', 'roll')]
    problem = IkProblem(
        human_arm(), [PositionTask('forearm', np.ones(3))], frozen_joints=[*body, 'shoulder/y']
    )  # the shoulder's last axis: the elbow must not stand in for it
    assert (plan_of(problem)['ball'] == -1).all()


@pytest.mark.parametrize(
    ('x', 'step', 'lower', 'upper', 'expected'),
    [
        (0.2, 0.5, -1.0, 1.0, 0.7),
        (0.2, 0.5 + 2 * np.pi, -1.0, 1.0, 0.7),
        (0.2, 0.5 - 4 * np.pi, -9.0, 9.0, 0.7),
        (3.0, 1.0, -3.1, 3.1, 4.0 - 2 * np.pi),
        (-3.0, -1.0, -3.1, 3.1, 2 * np.pi - 4.0),
        (0.0, 1.5, -1.0, 1.0, 1.0),
        (0.0, -1.5, -1.0, 1.0, -1.0),
        (0.4, 3.0, -2.8, 0.5, -2.8),  # 2.9 above the one limit, 0.08 below the other
        (-0.4, -3.0, -0.5, 2.8, 2.8),
        (0.0, 9.0, -math.inf, math.inf, 9.0 - 2 * np.pi),
    ],
)
def test_steps_of_a_ball_end_inside_the_limits_or_at_the_next_one(x, step, lower, upper, expected):
    assert _step_inside(x, step, lower, upper) == pytest.approx(expected)


def human_arm():
    """Shoulder, elbow and wrist, the shoulder on a floating body."""
    down = robots.transform(translation=[0.0, 0.0, -0.3])
    joints = [
        Joint('root', 'floating', 'world', 'chest'),
        Joint('shoulder', 'ball', 'chest', 'arm', ORIGIN, rotation_order='ZXY', lower=-2, upper=2),
        Joint('elbow', 'revolute', 'arm', 'forearm', down, np.eye(3)[1], lower=-2.5, upper=0.0),
        Joint('wrist', 'ball', 'forearm', 'hand', down, lower=-0.8, upper=0.8),
        Joint('palm', 'fixed', 'hand', 'palm', robots.transform(translation=[0.0, 0.0, -0.1])),
    ]
    links = ['world', 'chest', 'arm', 'forearm', 'hand', 'palm']
    return Robot.from_joints('arm', links, joints, free_joints=['root'])


@both_orders
@pytest.mark.parametrize('free_axis', [True, False])
@pytest.mark.parametrize('fixed_body', [True, False])
def test_arms_of_ball_joints_reach_their_goals(order, free_axis, fixed_body):
    robot, rng = human_arm(), np.random.default_rng(11)
    body = [name for name in robot.joint_names if name.startswith('root')]
    options = {'order': order, 'free_axis': free_axis}
    for _ in range(10):
        q = robots.random_q(robot, rng, margin=0.25)
        if fixed_body:
            q[:6] = 0.0
        goal = PositionTask('palm', robot.forward_kinematics(q, 'palm')[:3, 3])
        problem = IkProblem(robot, [goal], frozen_joints=body if fixed_body else ())
        start = np.zeros(robot.n)
        result = ik.make_solver('cyclic_coordinate_descent', restarts=5, **options).solve(
            problem, start
        )
        assert result.success, result.message
        assert robots.inside(robot, result.q)
        if fixed_body:
            np.testing.assert_array_equal(result.q[:6], 0.0)
