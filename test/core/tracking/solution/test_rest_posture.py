# SPDX-License-Identifier: Apache-2.0
"""The rest posture: motion that the goals do not see."""

import math

import numpy as np
import pytest
from support.robots import random_q, shipped, tip_of
from support.tracked_arms import PERIOD, moved, new_tracker, pose, shipped_of, ticks

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.solution.rest_posture import RestPosture


def loops(rest_rate, count=10):
    """The largest joint drift over closed loops of the goal, and the largest error at the end."""
    tracker = new_tracker('iiwa14', rest_rate=rest_rate)
    start = pose(tracker)
    tracker.set_goal(0, start, 0.0)
    ticks(tracker, 0, 200)
    q = tracker.q
    for k in range(count * 200):
        angle = math.tau * k / 200
        shift = 0.1 * np.array([math.cos(angle) - 1.0, math.sin(angle), math.sin(angle)])
        tracker.set_goal(0, moved(start, shift), 0.0)
        tracker.tick(0.0)
    tracker.set_goal(0, start, 0.0)
    command = ticks(tracker, 0, 2000)[-1]
    return np.abs(command.q - q).max(), command


def test_closed_loops_of_the_goal_close_in_the_joints_too_with_a_rest_posture():
    drift, command = loops(rest_rate=5.0)
    assert command.status is TrackStatus.REACHED
    assert drift < 1e-4
    assert loops(rest_rate=0.0)[0] > 0.05


def test_the_way_to_the_rest_posture_leaves_the_goal_reached_and_ends():
    tracker = new_tracker('iiwa14', rest_rate=5.0)
    robot, q = shipped_of(tracker), tracker.q
    tracker.set_goal(0, pose(tracker), 0.0)
    tracker.set_rest(robot.middle_configuration)
    commands = ticks(tracker, 0, 6000)
    assert all(command.status is TrackStatus.REACHED for command in commands)
    assert np.abs(commands[-1].q - q).max() > 0.05
    distance = [
        np.linalg.norm(c.q - robot.middle_configuration) for c in (commands[0], commands[-1])
    ]
    assert distance[1] < distance[0]
    speeds = np.array([command.dq for command in commands[-200:]])
    assert np.sqrt(np.mean(speeds**2)) < 1e-5
    # What is left is seen by the goal: the null space of the Jacobian has nothing of it.
    left = robot.middle_configuration - tracker.q
    jacobian = robot.jacobian(tracker.q, tip_of(robot))
    assert np.linalg.norm(left - np.linalg.pinv(jacobian) @ jacobian @ left) < 1e-3


@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'dual_arm'])
def test_the_step_to_the_rest_posture_is_the_null_part_of_the_way_over_the_free_joints(name):
    robot, rng = shipped(name), np.random.default_rng(5)
    problem = ik.IkProblem(robot, [ik.PoseTask(tip) for tip in robot.tips()[:2]])
    limits = MotionLimits.of(robot, velocity=np.inf)
    v, held_somewhere = problem.variables, False
    for _ in range(20):
        q, rest = random_q(robot, rng), random_q(robot, rng)
        at_limit = rng.random(robot.n) < 0.3
        q[at_limit] = limits.lower[at_limit]
        for task in problem.goals:
            task.set_target(robot.forward_kinematics(random_q(robot, rng), task.link))
        posture = RestPosture(problem.packed, limits, PERIOD, rest)
        wanted = 0.01 * (rest - q)[v]  # slow enough for every joint
        jacobian, free = problem.evaluate(q).jacobian, np.ones(len(v), bool)
        for _ in range(len(v) + 1):
            seen = np.linalg.pinv(jacobian[:, free]) @ jacobian[:, free]
            expected = np.zeros(len(v))
            expected[free] = wanted[free] - seen @ wanted[free]
            out = (q[v] <= limits.lower[v]) & (expected < 0.0)
            free &= ~out
        held_somewhere |= not free.all()
        after = q.copy()
        posture.step(after, 0.01)
        np.testing.assert_allclose((after - q)[v] / PERIOD, expected, atol=1e-7)
    assert held_somewhere


def test_a_rest_posture_is_approached_again_after_it_or_the_limits_changed():
    robot = shipped('iiwa14')
    q0 = robot.middle_configuration + 0.3
    goal = robot.forward_kinematics(q0, tip_of(robot))
    problem = ik.IkProblem(robot, [ik.PoseTask(tip_of(robot), transform=goal)])
    tracker = Tracker(
        problem,
        100.0,
        limits=MotionLimits.of(robot, acceleration=20.0),
        options=TrackerOptions(rest_rate=5.0),
        q0=q0,
        clock=lambda: 0.0,
    )

    def rests(now):
        tracker.set_goal(0, goal, now)
        commands = [tracker.tick(now + 0.01 * k) for k in range(1500)]
        assert not commands[-1].dq.any()
        return commands[-1].q

    drawn = rests(0.0)
    tracker.set_rest(drawn + 0.4 * (np.arange(robot.n) == 0))
    assert np.abs(rests(20.0) - drawn).max() > 0.05
    tracker.set_rest(drawn)
    tracker.set_limits(MotionLimits.of(robot, acceleration=10.0))
    np.testing.assert_allclose(rests(40.0), drawn, rtol=0, atol=1e-3)
