# SPDX-License-Identifier: Apache-2.0
"""The default solver: it reaches what can be reached, converges fast, and ends closest else."""

import itertools

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, PoseTask, PositionTask, make_solver
from ik_core.maths.boxed_step import bounded_step
from ik_core.maths.linalg import bounded_newton_step

SOLVER = 'levenberg_marquardt'


def pose_problem(robot, **options):
    goal = PoseTask(robots.tip_of(robot))
    return IkProblem(robot, [goal], **options), goal


@pytest.mark.parametrize('name', [*robots.ARMS, 'scara', 'dual_arm'])
def test_every_random_reachable_goal_is_reached(name):
    robot, rng = robots.shipped(name), np.random.default_rng(40)
    goals = [PoseTask(link) for link in robot.tips()]
    problem, solver = IkProblem(robot, goals, orientation_tolerance=1e-5), make_solver(SOLVER)
    for _ in range(300):
        q, q0 = robots.random_q(robot, rng), robots.random_q(robot, rng)
        for goal in goals:
            goal.set_target(robot.forward_kinematics(q, goal.link))
        result = solver.solve(problem, q0)
        assert result.success, result.message
        for goal in goals:
            errors = robots.pose_errors(robot, result.q, goal.link, goal.transform)
            assert errors[0] <= 1e-5
            assert errors[1] <= 1e-5 + 2e-8
        assert robots.inside(robot, result.q)


@pytest.mark.parametrize('scale', [0.01, 1.0, 100.0])
@pytest.mark.parametrize('name', ['panda', 'ur5e', 'pr2_like'])
def test_the_size_of_a_robot_does_not_matter(name, scale):
    robot, rng = robots.scaled_robot(name, scale), np.random.default_rng(41)
    problem, goal = pose_problem(
        robot, position_tolerance=1e-5 * scale, orientation_length=0.2 * scale
    )
    solver = make_solver(SOLVER)
    for _ in range(60):
        q, q0 = robots.random_q(robot, rng), robots.random_q(robot, rng)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        result = solver.solve(problem, q0)
        assert result.success, result.message
        away = robot.forward_kinematics(q, goal.link)
        away[:3, 3] += 5.0 * scale
        goal.set_target(away)
        closest = solver.solve(problem, q0)
        assert closest.status in (IkStatus.CLOSEST, IkStatus.STALLED)
        assert not closest.success


@pytest.mark.parametrize('scale', [0.01, 100.0])
def test_the_default_orientation_length_serves_small_and_large_robots_too(scale):
    robot, rng = robots.scaled_robot('panda', scale), np.random.default_rng(42)
    problem, goal = pose_problem(robot, position_tolerance=1e-5 * scale)
    solver = make_solver(SOLVER)
    for _ in range(60):
        q, q0 = robots.random_q(robot, rng), robots.random_q(robot, rng)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        assert solver.solve(problem, q0).success


@pytest.mark.parametrize('name', robots.ARMS)
def test_tolerances_of_a_nanometre_can_be_met(name):
    robot, rng = robots.shipped(name), np.random.default_rng(43)
    problem, goal = pose_problem(robot, position_tolerance=1e-9, orientation_tolerance=1e-9)
    for _ in range(40):
        goal.set_target(robot.forward_kinematics(robots.random_q(robot, rng), goal.link))
        result = make_solver(SOLVER).solve(problem, robots.random_q(robot, rng))
        assert result.success, result.message


@pytest.mark.parametrize('name', robots.ARMS)
def test_convergence_is_quadratic_near_a_regular_solution(name):
    robot, rng = robots.shipped(name), np.random.default_rng(44)
    problem, goal = pose_problem(robot, position_tolerance=1e-13, orientation_tolerance=1e-12)
    solver = make_solver(SOLVER, record_history=True, restarts=0)
    checked = 0
    for _ in range(40):
        q = robots.random_q(robot, rng, margin=0.3)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        if np.linalg.svd(problem.evaluate(q).jacobian)[1][-1] < 0.05:
            continue
        history = solver.solve(problem, q + rng.uniform(-0.1, 0.1, robot.n)).history
        errors = np.sqrt(history)
        for before, after in itertools.pairwise(errors):
            if 1e-7 < before < 1e-2:
                assert after <= 50.0 * before**2
                checked += 1
    assert checked > 10


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'pr2_like', 'dual_arm'])
@pytest.mark.parametrize('out_of_reach', [False, True])
def test_the_cost_never_rises(name, out_of_reach):
    robot, rng = robots.shipped(name), np.random.default_rng(45)
    problem, goal = pose_problem(robot)
    solver = make_solver(SOLVER, record_history=True, restarts=0)
    for _ in range(20):
        target = robot.forward_kinematics(robots.random_q(robot, rng), goal.link)
        target[:3, 3] *= 3.0 if out_of_reach else 1.0
        goal.set_target(target)
        q0 = robots.random_q(robot, rng)
        result = solver.solve(problem, q0)
        history = [problem.evaluate(q0).cost, *result.history]
        assert all(after <= before for before, after in itertools.pairwise(history))
        assert result.cost <= history[-1] * (1 + 1e-9) + 1e-20


def independent_residual(problem, x, q0):
    """Position and scaled rotation vector of all goals, by poses and scipy's rotations."""
    q = q0.copy()
    q[problem.variables] = x
    rows = []
    for task in problem.goals:
        pose, target = problem.robot.forward_kinematics(q, task.link), task.transform
        rows.append(pose[:3, 3] - target[:3, 3])
        if task.rotation_weights.any():
            turn = Rotation.from_matrix(target[:3, :3].T @ pose[:3, :3]).as_rotvec()
            rows.append(problem.orientation_length * turn)
    return np.concatenate(rows)


def scipy_minimum(problem, q0, x):
    low, high = problem.limits.lower, problem.limits.upper
    inner = np.minimum(np.maximum(x, low + 1e-9), high - 1e-9)
    found = least_squares(
        lambda x: independent_residual(problem, x, q0), inner, bounds=(low, high),
        xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=200,
    )  # fmt: skip
    return 2.0 * found.cost, found.x


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'scara', 'pr2_like'])
def test_scipy_finds_nothing_closer_near_a_closest_point(name):
    robot, rng = robots.shipped(name), np.random.default_rng(46)
    problem, goal = pose_problem(robot)
    for _ in range(4):
        target = robot.forward_kinematics(robots.random_q(robot, rng), goal.link)
        target[:3, 3] *= 3.0 / np.linalg.norm(target[:3, 3])
        goal.set_target(target)
        q0 = robots.random_q(robot, rng)
        result = ik.solve(problem, q0, restarts=20)
        assert result.status is IkStatus.CLOSEST
        cost, x = scipy_minimum(problem, q0, result.q[problem.variables])
        assert result.cost <= cost * (1 + 1e-7)
        if name in ('ur5e', 'scara'):  # the others have families of closest points
            np.testing.assert_allclose(result.q[problem.variables], x, atol=2e-3)


@pytest.mark.parametrize(
    'name', ['ur5e', *(pytest.param(it, marks=pytest.mark.thorough) for it in ('panda', 'iiwa14'))]
)
def test_with_restarts_the_closest_point_is_a_global_searchs(name):
    robot, rng = robots.shipped(name), np.random.default_rng(47)
    problem, goal = pose_problem(robot)
    for _ in range(3):
        target = robot.forward_kinematics(robots.random_q(robot, rng), goal.link)
        target[:3, 3] += 1.5 * rng.normal(size=3)
        goal.set_target(target)
        q0 = robots.random_q(robot, rng)
        result = ik.solve(problem, q0)
        limits, best = problem.limits, np.inf
        for _ in range(40):
            x = rng.uniform(limits.sample_lower, limits.sample_upper)
            found = least_squares(
                lambda x: problem.at(x).residual, x, lambda x: problem.at(x).jacobian,
                bounds=(limits.lower, limits.upper), max_nfev=200,
            )  # fmt: skip
            best = min(best, 2.0 * found.cost)
        assert result.cost <= best * (1 + 1e-6) + 1e-12


def test_restarts_are_what_gets_it_out_of_a_local_minimum():
    robot, rng = robots.shipped('panda'), np.random.default_rng(48)
    problem, goal = pose_problem(robot)
    seeded, searching = make_solver(SOLVER, restarts=0), make_solver(SOLVER)
    rescued = 0
    for _ in range(80):
        goal.set_target(robot.forward_kinematics(robots.random_q(robot, rng), goal.link))
        q0 = robots.random_q(robot, rng)
        result = seeded.solve(problem, q0)
        assert result.restarts == 0
        rescued += searching.solve(problem, q0).success and not result.success
    assert rescued > 5


# Joints 1 to 3, 6 and 7 of the Panda at a singularity, and starts of searches for its pose
VALLEYS = {
    (-1.43, 1.19, -0.16, 1.36, 0.47): (2.0, -1.5, -2.39, -2.57, 1.85, 3.3, -1.86, 0.02),
    (-1.78, -1.39, 0.21, 1.51, -1.43): (-1.42, -0.3, 1.72, -1.61, 0.34, 1.95, -0.93, 0.02),
    (0.08, -1.46, -0.94, 2.05, 1.52): (-0.91, 1.09, 1.42, -2.46, 2.54, 0.09, 2.68, 0.02),
    (-1.86, -0.92, 0.11, 1.65, 2.05): (2.83, -1.27, 0.92, -1.45, 2.48, 1.02, 1.85, 0.02),
}


@pytest.mark.parametrize(('free', 'q0'), VALLEYS.items())
def test_a_singular_goal_is_reached_although_the_lowest_attempts_end_at_a_limit_beside_it(
    free, q0
):
    robot = robots.shipped('panda')
    q = np.array([*free[:3], -0.467002423653012, 0.0, *free[3:], 0.02])
    problem, goal = pose_problem(robot, position_tolerance=1e-6, orientation_tolerance=1e-6)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    jacobian = robot.jacobian(q, goal.link)
    assert np.linalg.svd(jacobian, compute_uv=False)[-1] < 1e-14
    result = make_solver(SOLVER).solve(problem, q0)
    gap, turn = robots.pose_errors(robot, result.q, goal.link, goal.transform)
    assert gap <= 1e-6
    assert turn <= 1e-6 + 2e-8


def test_a_seeded_solve_stays_near_its_start():
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(49)
    problem, goal = pose_problem(robot)
    solver = make_solver(SOLVER, restarts=0)
    for _ in range(50):
        q = robots.random_q(robot, rng, margin=0.2)
        here = robot.forward_kinematics(q, goal.link)
        goal.set_target(here @ robots.transform(Rotation.from_rotvec([0, 0, 1e-3]), [1e-3, 0, 0]))
        if np.linalg.svd(problem.evaluate(q).jacobian)[1][-1] > 0.02:
            result = solver.solve(problem, q)
            assert result.success
            assert np.abs(result.q - q).max() < 0.1


def test_a_step_moves_no_joint_further_than_max_step():
    robot, rng = robots.shipped('pr2_like'), np.random.default_rng(50)
    problem, goal = pose_problem(robot)
    goal.set_target(robot.forward_kinematics(robots.random_q(robot, rng), goal.link))
    search = make_solver(SOLVER, restarts=0, max_step=0.05).begin(problem)
    q, moves = search.result().q, []
    for _ in range(20):
        search.run(Budget(iterations=1))
        moves.append(np.abs(search.result().q - q).max())
        q = search.result().q
    assert max(moves) == pytest.approx(0.05)


def test_patience_bounds_how_long_an_attempt_stagnates():
    robot = robots.shipped('panda')
    problem, goal = pose_problem(robot)
    goal.set_target(position=[3.0, 1.0, -1.0], quaternion=[1, 0, 0, 0])
    for patience in (2, 10):
        search = make_solver(SOLVER, patience=patience, restarts=10**6).begin(problem)
        search.run(Budget(iterations=400))
        result = search.result()
        # each attempt takes the patience, and at most as many drops to 0.9 as its cost allows
        assert 400 / (patience + 60) <= result.restarts <= 400 / patience


def test_max_iterations_bound_an_attempt():
    robot = robots.shipped('panda')
    problem, goal = pose_problem(robot)
    goal.set_target(position=[3.0, 1.0, -1.0], quaternion=[1, 0, 0, 0])
    result = make_solver(SOLVER, restarts=0, max_iterations=3).solve(problem)
    assert (result.iterations, result.status) == (3, IkStatus.ITERATION_LIMIT)
    search = make_solver(SOLVER, restarts=10**6, max_iterations=2).begin(problem)
    search.run(Budget(iterations=100))
    assert search.result().restarts >= 49


def two_links():
    z, shift = np.array([0.0, 0.0, 1.0]), robots.transform(translation=[1.0, 0.0, 0.0])
    joints = [
        ik.robot.Joint('j1', 'revolute', 'a', 'b', axis=z, lower=-3, upper=3),
        ik.robot.Joint('j2', 'revolute', 'b', 'c', shift, z, lower=-3, upper=3),
        ik.robot.Joint('end', 'fixed', 'c', 'tip', shift),
    ]
    return ik.Robot.from_joints('two links', ['a', 'b', 'c', 'tip'], joints)


def test_the_closest_point_of_two_links_is_the_stretched_arm():
    problem = IkProblem(two_links(), [PositionTask('tip', [3.0, 4.0, 0.0])])
    result = ik.solve(problem, [0.3, 0.4])
    assert result.status is IkStatus.CLOSEST
    np.testing.assert_allclose(result.q, [np.arctan2(4, 3), 0.0], atol=1e-4)
    assert result.position_errors == pytest.approx([3.0], abs=1e-6)


def test_a_stretched_arm_is_no_closest_point_of_a_goal_behind_its_tip():
    """The start is a saddle: no column leans on the residual, but bending would help."""
    problem = IkProblem(two_links(), [PositionTask('tip', [1.5, 0.0, 0.0])])
    assert ik.solve(problem, [0.0, 0.0]).success


def test_a_seeded_solve_leaves_a_saddle():
    problem = IkProblem(two_links(), [PositionTask('tip', [1.5, 0.0, 0.0])])
    assert ik.solve(problem, [0.0, 0.0], restarts=0).status is not IkStatus.CLOSEST


def test_a_joint_at_the_end_of_its_turns_goes_round_the_other_way():
    robot = robots.shipped('ur5e')
    problem, goal = pose_problem(robot)
    q = np.array([0.3, -1.2, 1.1, -0.5, 1.0, 0.4])
    q[5] = robot.upper[5] - 0.01
    beyond = q.copy()
    beyond[5] += 0.3  # past the limit: the same as 0.29 above the lower one
    goal.set_target(robot.forward_kinematics(beyond, goal.link))
    result = ik.solve(problem, q)
    assert result.success
    assert robots.inside(robot, result.q)


# --- the step --------------------------------------------------------------------------------


def step_of(jacobian, residual, mu, x, lower, upper, hessian=None):
    m, n = jacobian.shape
    size = max(m, n)
    dx, held = np.full(n, np.nan), np.full(n, np.nan)
    gradient, bounds = jacobian.T @ residual, np.array([lower, upper])
    square, row = np.full((size, size), np.nan), np.full(size, np.nan)
    if hessian is not None:
        bounded_newton_step(np.tril(hessian), gradient, mu, x, bounds, dx, held, square, row)
    else:
        columns, loose = np.ascontiguousarray(jacobian.T), np.full((n, m), np.nan)
        bounded_step(columns, residual, gradient, mu, x, bounds, dx, held, loose, square, row)
    return dx, held


@pytest.mark.parametrize(('m', 'n'), [(6, 7), (6, 6), (3, 7), (6, 4), (12, 15), (6, 1)])
@pytest.mark.parametrize('mu', [1e-6, 0.01, 1.0])
def test_inside_the_limits_the_step_is_the_damped_one(m, n, mu):
    rng = np.random.default_rng(52)
    jacobian, residual = rng.normal(size=(m, n)), rng.normal(size=m)
    far = np.full(n, 1e9)
    dx, held = step_of(jacobian, residual, mu, np.zeros(n), -far, far)
    expected = -np.linalg.solve(jacobian.T @ jacobian + mu * np.eye(n), jacobian.T @ residual)
    np.testing.assert_allclose(dx, expected, atol=1e-7 * (1.0 + np.abs(expected).max()))
    assert not held.any()


@pytest.mark.parametrize(('m', 'n'), [(6, 7), (3, 7), (6, 4), (12, 15), (2, 6)])
@pytest.mark.parametrize('exact', [False, True])
def test_the_step_keeps_the_box_and_is_optimal_over_what_is_free(m, n, exact):
    rng, mu, on_limits = np.random.default_rng(53), 0.01, 0
    for _ in range(60):
        jacobian, residual = rng.normal(size=(m, n)), rng.normal(size=m)
        lower, upper = -rng.uniform(0.0, 0.5, n), rng.uniform(0.0, 0.5, n)
        lower[rng.random(n) < 0.2] = 0.0  # starts at a limit
        x = np.zeros(n)
        root = rng.normal(size=(n, n))
        hessian = jacobian.T @ jacobian + 0.1 * root @ root.T
        dx, held = step_of(jacobian, residual, mu, x, lower, upper, hessian if exact else None)
        assert (dx >= lower).all()
        assert (dx <= upper).all()
        model = hessian if exact else jacobian.T @ jacobian
        slope = jacobian.T @ residual + model @ dx + mu * dx
        np.testing.assert_allclose(slope[held == 0.0], 0.0, atol=1e-9)
        on_limits += int(((dx == lower) | (dx == upper)).sum())
        for j in np.flatnonzero(held):
            assert dx[j] in (lower[j], upper[j], 0.0)
    assert on_limits > 60


def test_an_indefinite_hessian_still_gives_a_descent_step():
    rng = np.random.default_rng(54)
    for _ in range(40):
        jacobian, residual = rng.normal(size=(3, 5)), rng.normal(size=3)
        root = rng.normal(size=(5, 5))
        far = np.full(5, 1e9)
        dx, _ = step_of(jacobian, residual, 1e-6, np.zeros(5), -far, far, root + root.T)
        assert np.isfinite(dx).all()
        assert dx @ jacobian.T @ residual < 0.0


def test_a_variable_pressed_against_its_limit_is_held_and_one_pulled_off_is_not():
    jacobian, residual = np.eye(2), np.array([1.0, 1.0])  # descent goes down in both
    dx, held = step_of(jacobian, residual, 0.0, np.array([0.0, 1.0]), np.zeros(2), np.ones(2))
    assert held[0] == 1.0
    np.testing.assert_allclose(dx, [0.0, -1.0], atol=1e-12)
