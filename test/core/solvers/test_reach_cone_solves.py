# SPDX-License-Identifier: Apache-2.0
"""Solves with reach cones as constraints: inside, no better by scipy, reported, refused."""

import numpy as np
import pytest
from scipy.optimize import minimize

import ik_core as ik
from ik_core import UnsupportedProblem
from ik_core.collision import Sphere
from ik_core.robot import LinearConstraint, ReachCone, human_cones

DOWN, TIP = (0.0, 0.0, -1.0), 'left_fingertips'
KEEPING = ('bfgs', 'sqp')
both = pytest.mark.parametrize('solver', KEEPING)
HEXAGON = np.array([(1, 0, -1), (1, 1, -2), (0, 1, -1), (-1, 1, -2), (-1, -1, -3), (1, -1, -3)])
DENTED = np.array([(1, 0, 0.2), (1, 1, -4), (0.2, 1, -0.4), (-1, 0, -1), (0, -1, -3)])


@pytest.fixture(scope='module')
def robot():
    return ik.load_robot('human')


def shoulder(corners, inner=DOWN):
    return ReachCone('left_upper_arm', 'left_collarbone', DOWN, corners, inner=inner)


def heights(robot, cone, q):
    """The direction's part along the normal of each edge's plane (k,): not negative inside a
    convex cone."""
    place = [robot.forward_kinematics(q, link)[:3, :3] for link in (cone.relative_to, cone.link)]
    direction = place[0].T @ place[1] @ cone.axis
    normals = np.cross(cone.corners, np.roll(cone.corners, -1, axis=0))
    return (normals / np.linalg.norm(normals, axis=1, keepdims=True)) @ direction


def random_rows(robot, count, seed):
    rows = np.random.default_rng(seed).random((count, robot.n))
    return robot.lower + rows * (robot.upper - robot.lower)


def goals_of(robot, count, seed):
    return [robot.forward_kinematics(q, TIP)[:3, 3] for q in random_rows(robot, count, seed)]


def problem_for(robot, *constraints, **options):
    return ik.IkProblem(robot, [ik.PositionTask(TIP)], constraints=constraints, **options)


@both
def test_answers_are_inside_and_scipy_finds_none_lower_nearby(robot, solver):
    cone, rng = shoulder(HEXAGON), np.random.default_rng(1)
    trunk = [joint for joint in robot.joint_names if not joint.startswith('left')]
    problem = problem_for(robot, cone, frozen_joints=trunk)
    free = problem_for(robot, frozen_joints=trunk)
    held = left = 0
    for goal in goals_of(robot, 25, 2):
        for one in (problem, free):
            one.goals[0].set_target(position=goal)
        left += heights(robot, cone, ik.solve(free, solver=solver).q).min() < 0.0
        result = ik.solve(problem, solver=solver)
        assert heights(robot, cone, result.q).min() >= -1e-12
        assert result.cone_violations == (0.0,)
        if result.success:
            continue
        held += 'reach cone of left_upper_arm' in result.note
        x = result.q[problem.variables]

        def at(x, problem=problem, q=result.q):
            q = q.copy()
            q[problem.variables] = x
            return q

        found = minimize(
            lambda x: problem.evaluator.cost_at(x),
            problem.limits.project(x + 0.05 * rng.normal(size=len(x))),
            jac=lambda x: 2.0 * problem.at(x).jacobian.T @ problem.at(x).residual,
            bounds=list(zip(problem.limits.lower, problem.limits.upper, strict=True)),
            constraints={'type': 'ineq', 'fun': lambda x: heights(robot, cone, at(x))},
            method='SLSQP',
            options={'maxiter': 300, 'ftol': 1e-15},
        )
        assert heights(robot, cone, at(found.x)).min() > -1e-8
        assert found.fun >= result.cost * (1.0 - 1e-6)
    assert left >= 5  # the cone changes answers
    assert held >= 2


@both
@pytest.mark.parametrize('corners', [HEXAGON, DENTED])
def test_no_iterate_leaves_a_cone_and_a_start_outside_comes_in(robot, solver, corners):
    cone = shoulder(corners)
    problem, came, lost = problem_for(robot, cone), 0, 0
    for goal, start in zip(goals_of(robot, 30, 3), random_rows(robot, 30, 4), strict=True):
        problem.goals[0].set_target(position=goal)
        outside = [cone.violation(robot, start)]
        search = ik.make_solver(solver).begin(problem, start)
        while not search.run(ik.Budget(iterations=1)):
            outside.append(cone.violation(robot, search.q))
        assert np.diff(outside).max(initial=0.0) <= 1e-9
        result = search.result()
        if result.status is ik.IkStatus.COLLISION:
            assert outside[0] > 0.0
            assert 'outside its reach cone' in result.note
            np.testing.assert_array_equal(result.q, start)
            lost += 1
            continue
        assert result.cone_violations == (0.0,)
        came += outside[0] > 0.0
    assert came >= 15
    assert lost <= 3  # at 90 degrees, where two of the shoulder's axes are one


@both
def test_a_person_reaches_with_all_cones_kept(robot, solver):
    cones = human_cones()
    problem = problem_for(robot, *cones)
    for goal in goals_of(robot, 10, 5):
        problem.goals[0].set_target(position=goal)
        result = ik.solve(problem, solver=solver, restarts=5)
        assert len(result.cone_violations) == 4
        assert result.cone_violations[0] == 0.0


@both
def test_cones_of_links_that_do_not_move_are_reported_only(robot, solver):
    cones = human_cones()
    problem = problem_for(robot, *cones)
    q = np.zeros(robot.n)
    q[robot.joint_index('right_hip/y')], q[robot.joint_index('right_hip/x')] = -2.0, -0.7
    expected = cones[3].violation(robot, q)
    assert expected > 0.1
    problem.goals[0].set_target(robot.forward_kinematics(np.zeros(robot.n), TIP))
    result = ik.solve(problem, q, solver=solver)
    assert result.success
    assert result.cone_violations == (0.0, 0.0, 0.0, expected)


@both
def test_a_cone_that_the_limits_exclude_is_a_collision_with_the_reason(robot, solver):
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for axis in 'yx':
        lower[robot.joint_index(f'left_shoulder/{axis}')] = -0.1
        upper[robot.joint_index(f'left_shoulder/{axis}')] = 0.1
    up = ReachCone.sinus('left_upper_arm', 'left_collarbone', DOWN, (0, 0, 1), (1, 0, 0), 0.5)
    problem = problem_for(robot, up, lower=lower, upper=upper)
    problem.goals[0].set_target(robot.forward_kinematics(np.zeros(robot.n), TIP))
    result = ik.solve(problem, np.zeros(robot.n), solver=solver, restarts=3)
    assert result.status is ik.IkStatus.COLLISION
    assert result.cone_violations[0] > 2.0
    assert 'left_upper_arm is' in result.note
    assert 'outside its reach cone' in result.note


@both
def test_cones_linear_constraints_and_obstacles_are_kept_together(robot, solver):
    panda = ik.load_robot('panda')
    cone = ReachCone('panda_link5', 'panda_link0', (0, 1, 0), 0.3 * HEXAGON * (1, 1, -1))
    row = LinearConstraint({'panda_joint1': 1.0, 'panda_joint3': 1.0}, -0.5, 0.5)
    world, seen = ik.World(), 0
    world.add('ball', Sphere(0.1), ik.transform(position=(0.4, 0.1, 0.3)))
    collisions, tip = ik.Collisions(panda, world), 'panda_hand_tcp'
    goal = ik.PositionTask(tip)
    problem = ik.IkProblem(panda, [goal], constraints=[cone, row], avoid=collisions)
    for q in random_rows(panda, 30, 6):
        goal.set_target(panda.forward_kinematics(q, tip))
        result = ik.solve(problem, solver=solver, restarts=5)
        if result.status is ik.IkStatus.COLLISION:
            continue
        seen += result.success
        assert -0.5 - 1e-9 <= result.q[0] + result.q[2] <= 0.5 + 1e-9
        assert heights(panda, cone, result.q).min() >= -1e-12
        assert collisions.free(result.q)
    assert seen >= 5


@both
def test_a_batch_has_the_answers_of_single_solves(robot, solver):
    problem = problem_for(robot, shoulder(DENTED))
    goals = np.tile(np.eye(4), (6, 1, 1))
    goals[:, :3, 3] = goals_of(robot, 6, 7)
    batch = ik.solve_batch(problem, goals, solver=solver)
    for goal, q in zip(goals, batch.q, strict=True):
        problem.goals[0].set_target(goal)
        np.testing.assert_array_equal(ik.solve(problem, solver=solver).q, q)


@pytest.mark.parametrize('solver', [name for name in ik.SOLVERS if name not in KEEPING])
def test_other_solvers_refuse_cones(robot, solver):
    problem = problem_for(robot, shoulder(HEXAGON))
    problem.goals[0].set_target(position=(0.3, 0.3, 0.3))
    for attempt in (
        lambda: ik.solve(problem, solver=solver),
        lambda: ik.solve_batch(problem, [np.eye(4)], solver=solver),
        lambda: ik.batch.solve_best(problem, solver=solver),
    ):
        with pytest.raises(UnsupportedProblem, match=r'reach cones are kept by .* bfgs and sqp'):
            attempt()


def test_secondary_tasks_all_solutions_and_trackers_refuse_cones(robot):
    free = problem_for(robot)
    problem = problem_for(robot, shoulder(HEXAGON), secondary=[ik.PostureTask(np.zeros(robot.n))])
    problem.goals[0].set_target(position=(0.3, 0.3, 0.3))
    limits = ik.MotionLimits(robot.lower, robot.upper, *np.full((2, robot.n), 1.0))
    tracker = ik.Tracker(free, 100.0, limits=limits)
    for attempt in (
        lambda: ik.solve(problem, solver='bfgs'),
        lambda: ik.solve_all(problem),
        lambda: ik.Tracker(problem, 100.0, limits=limits, solver='bfgs'),
        lambda: tracker.set_problem(problem),
    ):
        with pytest.raises(UnsupportedProblem, match='reach cones are kept'):
            attempt()


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs'])
def test_a_task_for_a_cone_pulls_towards_it_by_its_weight(robot, solver):
    cone, outside = shoulder(HEXAGON), []
    trunk = [joint for joint in robot.joint_names if not joint.startswith('left_shoulder')]
    start = np.zeros(robot.n)
    start[robot.joint_index('left_shoulder/y')] = -2.0
    goal = ik.PositionTask(TIP, robot.forward_kinematics(start, TIP)[:3, 3])
    for weight in (0.0, 1e-3, 1e-1, 1e1):
        task = ik.tasks.ReachConeTask(cone, weight=weight)
        problem = ik.IkProblem(robot, [goal, task], frozen_joints=trunk)
        result = ik.solve(problem, start, solver=solver)
        outside.append(cone.violation(robot, result.q))
    assert outside[0] > 0.5
    assert (np.diff(outside) < 0.0).all()
    assert outside[-1] < 0.1
