# SPDX-License-Identifier: Apache-2.0
"""Promises of every task: exact derivatives, the links it declares, its place in a problem."""

import copy
import inspect

import numpy as np
import pytest
from support import robots
from support.task_examples import EXAMPLES, GOALS, OTHERS

import ik_core as ik
from ik_core import tasks

ROBOTS = ('panda', 'scara', 'pr2_like', 'dual_arm')
named = {'ids': lambda kind: kind.__name__}
every_task = pytest.mark.parametrize('kind', EXAMPLES, **named)
every_goal = pytest.mark.parametrize('kind', GOALS, **named)
every_other_task = pytest.mark.parametrize('kind', OTHERS, **named)
every_robot = pytest.mark.parametrize('name', ROBOTS)


def example(kind, robot, seed=1):
    """A task of a kind, its goal not far from the middle of the robot's range; and a q (n,)."""
    rng = np.random.default_rng(seed)
    link = robots.tip_of(robot)
    task = EXAMPLES[kind](robot, link, rng)
    q = robots.random_q(robot, rng, margin=0.3)
    if kind in GOALS:
        turned = robots.random_q(robot, rng, margin=0.3)
        task.set_target(robot.forward_kinematics(turned, link) @ task.tool)
    return task, q


def test_every_task_has_an_example():
    kinds = {kind for name in tasks.__all__ if inspect.isclass(kind := getattr(tasks, name))}
    concrete = {kind for kind in kinds if not inspect.isabstract(kind)}
    assert concrete == set(EXAMPLES)


@every_task
@every_robot
def test_the_jacobian_is_the_derivative_of_the_residual(kind, name):
    robot = robots.weighed(name)
    task, q = example(kind, robot)
    central = robots.central_differences(lambda p: task.residual(robot, p), q, 1e-6)
    assert np.abs(central).max() > 1e-3
    robots.assert_same_jacobian(task.jacobian(robot, q), central)


@every_task
def test_a_task_looks_at_q_and_leaves_it_alone(kind):
    robot = robots.weighed('panda')
    task, q = example(kind, robot)
    q.flags.writeable = False
    before = task.residual(robot, q)
    task.residual(robot, robot.middle_configuration)
    np.testing.assert_array_equal(task.residual(robot, q), before)
    with pytest.raises(ik.InvalidConfiguration):
        task.residual(robot, np.full(robot.n, np.nan))


@every_task
def test_only_joints_that_move_its_links_count(kind):
    robot = robots.weighed('dual_arm')
    task, q = example(kind, robot)
    moved = {joint for link, base in task.chains for joint in robot.chain(link, base)}
    if task.moves_all_joints or not moved:
        moved = set(range(robot.n))
    others = sorted(set(range(robot.n)) - moved)
    assert not task.jacobian(robot, q)[:, others].any()
    problem = ik.IkProblem(robot, [task])
    assert set(problem.variables) == moved


@every_task
def test_a_problem_stacks_the_residual_and_its_clone_has_its_own_tasks(kind):
    robot = robots.weighed('panda')
    task, q = example(kind, robot)
    problem = ik.IkProblem(robot, [task], orientation_length=1.0)
    expected = task.residual(robot, q)
    np.testing.assert_allclose(problem.evaluate(q).residual, expected, atol=1e-12)
    assert problem.evaluate(q).cost == pytest.approx(expected @ expected)
    [mine] = problem.goals + problem.other_tasks
    [other] = problem.clone().goals + problem.clone().other_tasks
    assert mine is task
    assert other is not task
    copied = copy.deepcopy(task)
    np.testing.assert_array_equal(copied.residual(robot, q), expected)


@every_goal
@pytest.mark.parametrize('name', ['panda', 'ur5e', 'scara'])
def test_a_goal_that_is_in_reach_is_reached(kind, name):
    robot = robots.weighed(name)
    task, q = example(kind, robot)
    result = ik.solve(ik.IkProblem(robot, [task]), q)
    assert result.success, result.message
    assert np.linalg.norm(task.residual(robot, result.q)) < 1e-3
    assert np.linalg.norm(task.residual(robot, q)) > 1e-2


@every_goal
def test_a_goal_without_a_target_is_refused(kind):
    robot = robots.weighed('panda')
    link = robots.tip_of(robot)
    goal = EXAMPLES[kind](robot, link, np.random.default_rng(1))
    with pytest.raises(ik.InvalidGoal, match=link):
        ik.solve(ik.IkProblem(robot, [goal]))


@every_other_task
def test_a_secondary_task_is_honoured_where_the_goal_leaves_freedom(kind):
    robot = robots.weighed('panda')
    task, q = example(kind, robot)
    turns = kind in (ik.tasks.OrientationPatternTask, ik.tasks.ReachConeTask)
    goal = (ik.PositionTask if turns else ik.OrientationTask)(robots.tip_of(robot))
    aim = robots.random_q(robot, np.random.default_rng(6), margin=0.3)
    goal.set_target(robot.forward_kinematics(aim, goal.link))
    plain = ik.solve(ik.IkProblem(robot, [goal]), q)
    result = ik.solve(ik.IkProblem(robot, [goal], secondary=[task]), q)
    before, after = (np.linalg.norm(task.residual(robot, p)) for p in (plain.q, result.q))
    assert plain.success
    assert result.success
    assert after < 0.99 * before


@every_other_task
def test_a_task_beside_a_goal_is_weighed_against_it(kind):
    robot = robots.weighed('panda')
    task, q = example(kind, robot)
    link = robots.tip_of(robot)
    goal = ik.PositionTask(link, robot.forward_kinematics(q, link)[:3, 3])
    problem = ik.IkProblem(robot, [goal, task])
    result = ik.solve(problem, q, solver='bfgs')
    assert result.cost < problem.evaluate(q).cost
    assert result.cost == pytest.approx(problem.evaluate(result.q).cost)
