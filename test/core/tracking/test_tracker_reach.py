# SPDX-License-Identifier: Apache-2.0
"""The nearest turn of a joint; goals out of reach; what is reported."""

import math

import numpy as np
import pytest
from support.streams import (
    FOLLOWERS,
    ROBOTS,
    StrangeSolver,
    Stream,
    moved,
    moving,
    out_of_reach,
    turned,
)

import ik_core as ik
from ik_core.tracking import MotionLimits, TrackerOptions, TrackStatus

# 3. The nearest turn


@pytest.mark.parametrize('angle', [3.0, -3.0, 6.0, -6.0, 9.0])
def test_a_continuous_joint_takes_the_shortest_way_round(angle):
    stream = Stream('pr2_like')
    robot = stream.robot
    last = robot.chain(stream.tips[0])[-1]
    assert robot.continuous[last]
    q = stream.configuration(np.random.default_rng(0))
    stream.tracker.reset(q)
    target = q.copy()
    target[last] += angle
    stream.goal(stream.pose(target))
    end = stream.settle(200.0)
    assert end.status is TrackStatus.REACHED
    assert abs(end.q[last] - q[last]) <= math.pi + 0.5


def test_a_joint_with_more_than_one_turn_takes_the_nearest_turn_inside_its_limits():
    stream = Stream('ur5e')
    last = stream.robot.n - 1
    q = np.array([0.3, -1.2, 1.3, -1.0, 1.2, 6.0])
    stream.tracker.reset(q)
    for angle in (0.2, 0.4, 0.6, 0.8):  # over the limit at 2 pi
        target = q.copy()
        target[last] += angle
        stream.goal(stream.pose(target))
        end = stream.settle()
        assert end.status is TrackStatus.REACHED
    assert end.q[last] == pytest.approx(6.8 - math.tau, abs=1e-3)


def test_a_goal_that_spins_faster_than_the_joint_leaves_no_winding_behind():
    stream = Stream('pr2_like', velocity=0.5)
    last = stream.robot.chain(stream.tips[0])[-1]
    stream.tracker.reset(stream.configuration(np.random.default_rng(0)))
    start = stream.tip_pose()
    for k in range(500):
        stream.goal(turned(start, 0.05 * k))
        stream.tick()
    before = stream.tracker.q[last]
    assert abs(stream.settle(100.0).q[last] - before) <= math.pi + 0.3


# 4. Goals that are not reached


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('solver', FOLLOWERS)
def test_out_of_reach_gives_the_closest_pose_held_still(name, solver):
    stream = Stream(name, velocity=5.0, acceleration=50.0, solver=solver)
    robot = stream.robot
    # A rate of seconds on slow joints would only make this test slow.
    stream.limits = MotionLimits(
        robot.lower, robot.upper, np.full(robot.n, 5.0), np.full(robot.n, 50.0)
    )
    stream.tracker.set_limits(stream.limits)
    goal = out_of_reach(stream.tip_pose(), 3.0)
    stream.goal(goal)
    stream.run(3.0)
    commands = stream.run(1.0)
    speeds = np.array([command.dq for command in commands])
    assert np.sqrt((speeds**2).mean()) < 1e-6
    end = commands[-1]
    short = {TrackStatus.STOPPED_SHORT} if solver == 'damped_least_squares' else set()
    assert end.status in {TrackStatus.CLOSEST} | short
    problem = stream.problem
    for tip, task in enumerate(problem.goals):
        task.set_target(goal if tip == 0 else stream.pose(robot.middle_configuration, tip))
    best = ik.solve(problem, robot.middle_configuration)
    np.testing.assert_allclose(problem.evaluate(end.q).cost, best.cost, rtol=0.02)


def test_a_goal_that_is_sent_again_and_again_is_held_still():
    stream = Stream('iiwa14')
    goal = out_of_reach(stream.tip_pose(), 1.0)
    stream.goal(goal)
    q = stream.settle().q
    for _ in range(100):
        stream.goal(goal.copy())
        command = stream.tick()
        np.testing.assert_array_equal(command.q, q)
        assert command.status is TrackStatus.CLOSEST


def test_a_redundant_arm_stands_still_at_its_goal():
    stream = Stream('panda')
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(9))))
    q = stream.settle().q
    for command in stream.run(1.0):
        np.testing.assert_array_equal(command.q, q)


def test_a_goal_beyond_reach_is_left_for_one_within():
    stream = Stream('ur5e')
    goal = stream.pose(stream.configuration(np.random.default_rng(4)))
    stream.goal(out_of_reach(goal))
    assert stream.settle().status is TrackStatus.CLOSEST
    stream.goal(goal)
    assert stream.settle().status is TrackStatus.REACHED


@pytest.mark.parametrize('jump', [0.01, 1.0])
def test_a_solver_that_creeps_for_ever_is_stopped(jump):
    stream = Stream('ur5e', solver=StrangeSolver(), options=TrackerOptions(updates_per_tick=1))
    stream.goal(moved(stream.tip_pose(), jump))
    moving = stream.run(1.0)
    assert moving[-1].dq.any()
    stream.run(4.0)
    assert not any(command.dq.any() for command in stream.run(1.0))


def test_a_solution_that_is_not_a_number_is_not_gone_to():
    solver = StrangeSolver()
    solver.creep = math.nan
    stream = Stream('ur5e', solver=solver)
    stream.goal(moved(stream.tip_pose(), 0.01))
    assert not any(command.dq.any() for command in stream.run(3.0))


# What is reported


@pytest.mark.parametrize('name', ROBOTS)
def test_reached_is_said_of_the_commanded_joints(name):
    stream = Stream(name, velocity=5.0)
    goal = stream.pose(stream.configuration(np.random.default_rng(11)))
    stream.goal(goal)
    for _ in range(20000):
        command = stream.tick()
        error = np.linalg.norm(stream.pose(command.q)[:3, 3] - goal[:3, 3])
        assert command.position_errors[0] == pytest.approx(error, abs=1e-9)
        if command.status is TrackStatus.REACHED:
            break
        assert error > 1e-5 or command.orientation_errors[0] > 1e-4
    assert error <= 1e-5
    assert command.orientation_errors[0] <= 1e-4


def test_idle_holds_still_and_solves_nothing():
    stream = Stream('panda')
    for command in stream.run(0.1):
        assert command.status is TrackStatus.IDLE
        assert command.iterations == 0
        assert not command.dq.any()
        np.testing.assert_array_equal(command.q, stream.robot.middle_configuration)


def test_every_status_has_a_text():
    assert len({status.text for status in TrackStatus}) == len(TrackStatus)


def test_commands_belong_to_the_caller():
    stream = moving()
    first = stream.tick()
    kept = first.q.copy()
    first.q[:], first.dq[:], first.solution[:] = np.nan, np.nan, np.nan
    second = stream.tick()
    assert np.isfinite(second.q).all()
    assert np.abs(second.q - kept).max() < 0.1
