# SPDX-License-Identifier: Apache-2.0
"""Each rule has one place, so a fault in it fails here for every way to solve."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import Budget, IkStatus
from ik_core.robot import linkage

OTHERS = ('bfgs', 'projected_gradient', 'sqp', 'penalty', 'trust_region')


def step_by_step(problem, q0, **options):
    search = ik.make_solver(closed_form=False, **options).begin(problem, q0)
    while not search.run(Budget(iterations=1)):
        pass
    return search.result()


def in_a_batch(problem, q0, **options):
    targets = [goal.transform for goal in problem.goals]
    return ik.solve_batch(problem, [targets], q0, closed_form=False, **options)[0]


def whole(problem, q0, **options):
    return ik.make_solver(closed_form=False, **options).solve(problem, q0)


def by(name):
    return lambda problem, q0, **options: ik.make_solver(name, **options).solve(problem, q0)


WAYS = {'whole': whole, 'step by step': step_by_step, 'batch': in_a_batch}
way_of_the_default_solver = pytest.mark.parametrize('solve', WAYS.values(), ids=WAYS.keys())
WAYS = WAYS | {name: by(name) for name in OTHERS}
every_way = pytest.mark.parametrize('solve', WAYS.values(), ids=WAYS.keys())


def pose_problem(name, q):
    robot = robots.shipped(name)
    tip = robot.default_tip()
    return ik.IkProblem(robot, [ik.PoseTask(tip, transform=robot.forward_kinematics(q, tip))])


def out_of_reach(seed):
    """A position beyond the reach of a Panda, and a start."""
    robot, rng = robots.shipped('panda'), np.random.default_rng(seed)
    goal = ik.PositionTask(robot.default_tip(), [1.5, -0.4, 0.9])
    return ik.IkProblem(robot, [goal]), robots.random_q(robot, rng, margin=0.2)


def between_two_limits():
    """A hinge, a goal behind both of its limits, and a start next to the farther one."""
    robot, angle = linkage(1, limits=(-2.0, 2.0)), np.pi - 0.05
    goal = ik.PositionTask('tip', [0.4 * np.cos(angle), 0.4 * np.sin(angle), 0.0])
    return ik.IkProblem(robot, [goal]), np.array([-1.9])


@every_way
def test_a_goal_is_reached_within_both_tolerances(solve):
    q0 = np.array([0.3, -1.4, 1.6, -1.0, -1.3, 0.4])
    problem = pose_problem('ur5e', q0 + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.5]))
    result = solve(problem, q0)
    assert result.success
    assert (result.position_errors <= problem.position_tolerance).all()
    assert (result.orientation_errors <= problem.orientation_tolerance).all()


@every_way
def test_a_start_outside_the_limits_is_put_inside(solve):
    robot = robots.shipped('panda')
    problem = pose_problem('panda', robot.middle_configuration)
    q = solve(problem, robot.upper + 1.0, restarts=0, max_iterations=1).q[problem.variables]
    assert (q <= problem.limits.upper).all()
    assert (q >= problem.limits.lower).all()


@every_way
@pytest.mark.parametrize('seed', range(3))
def test_the_cost_falls_nowhere_inside_the_limits_at_a_closest_point(solve, seed):
    problem, q0 = out_of_reach(seed)
    result = solve(problem, q0, restarts=0, max_iterations=5000)
    at, limits = problem.evaluate(result.q), problem.limits
    assert result.status is IkStatus.CLOSEST
    slope = at.jacobian.T @ at.residual
    slope[(at.x <= limits.lower) & (slope > 0.0)] = 0.0
    slope[(at.x >= limits.upper) & (slope < 0.0)] = 0.0
    steepest = np.linalg.norm(at.jacobian, axis=0).max() * np.linalg.norm(at.residual)
    assert np.abs(slope).max() <= 1e-4 * steepest


@every_way
def test_the_best_of_all_attempts_is_the_answer(solve):
    for seed in range(4):
        problem, q0 = out_of_reach(seed)
        problem.goals[0].set_target(position=[0.9, 0.5, -0.6])
        first, best = (solve(problem, q0, restarts=count, max_iterations=12) for count in (0, 6))
        assert best.cost <= first.cost * (1.0 + 1e-9)


@every_way
def test_joints_are_on_the_turn_nearest_to_the_start(solve):
    q0 = np.array([-0.3, -1.4, -1.6, -1.0, -1.3, -0.4])
    result = solve(pose_problem('ur5e', q0 + 0.05), q0, restarts=0)
    assert result.success
    assert (np.abs(result.q - q0) <= np.pi).all()


@every_way
def test_an_answer_far_from_the_start_is_on_the_turn_nearest_to_it(solve):
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(3)
    for seed in range(4):
        q, q0 = (rng.uniform(robot.lower, robot.upper) for _ in range(2))
        problem = pose_problem('ur5e', q)
        result = solve(problem, q0, restarts=20, random_seed=seed, max_iterations=30)
        for other in (-2.0 * np.pi, 2.0 * np.pi):
            turned = result.q + other
            inside = (turned >= robot.lower) & (turned <= robot.upper) & robot.full_turns
            farther = np.abs(turned - q0) >= np.abs(result.q - q0) - 1e-9
            assert farther[inside].all()


@every_way
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_saddle_is_not_the_closest_point(solve, side):
    robot = linkage(3)
    goal = ik.PositionTask('tip', [0.3 * side, 0.0, 0.0])
    problem = ik.IkProblem(robot, [goal])
    result = solve(problem, np.zeros(robot.n), restarts=0, max_iterations=500)
    assert result.success


@every_way
def test_a_restart_that_ends_lower_is_the_answer(solve):
    problem, q0 = between_two_limits()
    for restarts, end in ((0, -2.0), (8, 2.0)):
        result = solve(problem, q0, restarts=restarts)
        assert result.status is IkStatus.CLOSEST
        np.testing.assert_allclose(result.q, [end])


@way_of_the_default_solver
@pytest.mark.parametrize('seed', [8, 39])
def test_an_attempt_that_is_followed_later_and_ends_lower_is_the_answer(solve, seed):
    """The attempts are left after an iteration, the one next to the farther limit lowest."""
    problem, q0 = between_two_limits()
    result = solve(problem, q0, restarts=3, random_seed=seed, patience=1, max_step=0.02)
    np.testing.assert_allclose(result.q, [2.0])
