# SPDX-License-Identifier: Apache-2.0
"""Solves between linear constraints: feasible, minima to second order, scipy."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from support import robots
from support.jacobian_problems import planar
from support.optimiser_problems import cross

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, PoseTask, PositionTask, PostureTask, make_solver
from ik_core.robot import LinearConstraint
from ik_core.tasks.base import Task

KEEPING = ('bfgs', 'sqp')  # The solvers that keep constraints


def assert_inside(problem, q):
    """The robot's limits and the constraints hold at q, by the joints' names."""
    robot = problem.robot
    assert (q >= robot.lower - 1e-12).all()
    assert (q <= robot.upper + 1e-12).all()
    for constraint in problem.constraints.constraints:
        value = sum(a * q[robot.joint_index(j)] for j, a in constraint.coefficients.items())
        assert constraint.lower - 1e-9 <= value <= constraint.upper + 1e-9


def coupled(name, seed, *, reachable):
    """An arm whose first, second and third joints are coupled, and a goal for it."""
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    joints, tip = robot.joint_names, robots.tip_of(robot)
    q = robots.random_q(robot, rng, margin=0.3)
    q = np.clip(q, -2.0, 2.0)
    bound = q[0] + q[1] + (0.05 if reachable else -0.4)
    constraints = [
        LinearConstraint({joints[0]: 1.0, joints[1]: 1.0}, upper=bound),
        LinearConstraint({joints[2]: 1.0, joints[3]: -0.5}, *[q[2] - 0.5 * q[3]] * 2),
    ]
    goal = PoseTask(tip, transform=robot.forward_kinematics(q, tip))
    if not reachable:
        goal.set_target(transform=goal.transform + 0.6 * (np.arange(16) == 3).reshape(4, 4))
    start = np.clip(q + rng.uniform(-0.3, 0.3, robot.n), robot.lower, robot.upper)
    return IkProblem(robot, [goal], constraints=constraints), start


INF = math.inf
both = pytest.mark.parametrize('solver', KEEPING)
ARMS = ('panda', 'ur5e', 'iiwa14')


# --- what is found -----------------------------------------------------------------------------


@both
@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('seed', range(4))
def test_a_goal_inside_the_constraints_is_reached_inside_them(solver, name, seed):
    problem, start = coupled(name, seed, reachable=True)
    result = ik.solve(problem, start, solver=solver, restarts=20)
    assert result.status is IkStatus.REACHED
    assert_inside(problem, result.q)


@both
@pytest.mark.parametrize('name', ARMS)
def test_a_closest_point_is_a_constrained_minimum(solver, name):
    held = 0
    for seed in range(4):
        problem, start = coupled(name, seed, reachable=False)
        result = ik.solve(problem, start, solver=solver)
        assert result.status is IkStatus.CLOSEST
        assert_inside(problem, result.q)
        held += checked_multipliers(problem, result.q)
        assert_no_lower_point_beside(problem, result.q)
        assert slsqp(problem, result.q) >= result.cost * (1.0 - 1e-6)
    assert held >= 2


def checked_multipliers(problem, q):
    """Minus the gradient is a sum of the active constraints' normals, by least squares; whether
    it is more than nothing."""
    at, rows = problem.evaluate(q), problem.constraints.at(q)
    n, x = len(problem.variables), q[problem.variables]
    normals = np.vstack([np.eye(n), rows[:, :n]])
    values = normals @ x
    lower = np.concatenate([problem.limits.lower, rows[:, n]])
    upper = np.concatenate([problem.limits.upper, rows[:, n + 1]])
    at_upper, at_lower = values >= upper - 1e-9, values <= lower + 1e-9
    pulls = np.vstack([normals[at_upper], -normals[at_lower]])
    assert len(pulls) > 0
    gradient = at.jacobian.T @ at.residual
    _, left = nnls(pulls.T, -gradient)
    nothing = 1e-5 * np.linalg.norm(at.jacobian) * math.sqrt(at.cost)
    assert left <= nothing
    return np.linalg.norm(gradient) > 10.0 * nothing


def assert_no_lower_point_beside(problem, q):
    rng, rows = np.random.default_rng(3), problem.constraints.at(q)
    x, cost, tried = q[problem.variables], problem.evaluate(q).cost, 0
    for size in np.repeat([1e-4, 1e-3, 1e-2, 0.1], 50):
        near = brought_inside(problem, rows, x + size * rng.normal(size=len(x)))
        if near is not None:
            tried += 1
            assert problem.at(near).cost >= cost * (1.0 - 1e-9)
    assert tried > 100


def brought_inside(problem, rows, x):
    """A point inside beside x, by projections onto one constraint after the other."""
    n = len(x)
    for _ in range(300):
        x = problem.limits.project(x)
        off = 0.0
        for row in rows:
            value = row[:n] @ x
            away = value - np.clip(value, row[n], row[n + 1])
            x, off = x - away * row[:n], max(off, abs(away))
        if off <= 1e-14:
            return x
    return None


def slsqp(problem, q, starts=()):
    """The least cost that scipy finds from q, and from other starts."""
    rows, n = problem.constraints.at(q), len(problem.variables)
    box = np.clip([problem.limits.lower, problem.limits.upper], -1e3, 1e3)
    is_equal = rows[:, n] == rows[:, n + 1]
    inside = np.vstack([rows[~is_equal], -rows[~is_equal]])
    bound = np.concatenate([rows[~is_equal, n], -rows[~is_equal, n + 1]])
    inside, bound = inside[np.isfinite(bound), :n], bound[np.isfinite(bound)]
    constraints = [
        {'type': 'ineq', 'fun': lambda x: inside @ x - bound, 'jac': lambda x: inside},
        {'type': 'eq', 'fun': lambda x: rows[is_equal, :n] @ x - rows[is_equal, n],
         'jac': lambda x: rows[is_equal, :n]},
    ]  # fmt: skip
    kept = [constraints[0]] * bool(len(bound)) + [constraints[1]] * bool(is_equal.any())
    least = INF
    for start in (q, *starts):
        found = minimize(
            lambda x: problem.at(np.clip(x, *box)).cost, start[problem.variables],
            jac=lambda x: 2.0 * problem.at(x).jacobian.T @ problem.at(x).residual,
            method='SLSQP', bounds=box.T, constraints=kept,
            options={'ftol': 1e-14, 'maxiter': 300},
        )  # fmt: skip
        least = min(least, found.fun if found.success else INF)
    return least


@both
@pytest.mark.parametrize('seed', range(3))
def test_the_best_of_some_starts_is_that_of_scipys_slsqp_from_as_many(solver, seed):
    problem, start = coupled('ur5e', seed, reachable=False)
    rng = np.random.default_rng(seed)
    starts = [start, *(robots.random_q(problem.robot, rng) for _ in range(8))]
    method = make_solver(solver)
    results = [method.solve(problem, q) for q in starts]
    for result in results:
        assert_inside(problem, result.q)
    assert min(result.cost for result in results) <= slsqp(problem, start, starts[1:]) + 1e-9


@both
def test_the_closest_points_of_slides_are_elementary(solver):
    """Three slides: q is where the tip is, so the closest point is the foot of a perpendicular."""
    goal = PositionTask('l3', [1.0, 2.0, 3.0])

    def closest(*constraints, q0=(9.0, -9.0, 9.0)):
        problem = IkProblem(cross(), [goal], constraints=constraints)
        result = ik.solve(problem, q0, solver=solver)
        assert result.status is IkStatus.CLOSEST
        return result.q

    plane = LinearConstraint({'x': 1.0, 'y': 1.0, 'z': 1.0}, upper=3.0)
    np.testing.assert_allclose(closest(plane), [0.0, 1.0, 2.0], atol=1e-5)
    corner = LinearConstraint({'x': 1.0, 'y': -1.0}, lower=0.5)
    np.testing.assert_allclose(closest(plane, corner), [0.75, 0.25, 2.0], atol=1e-5)
    level = LinearConstraint({'z': 2.0}, -1.0, -1.0)
    np.testing.assert_allclose(closest(level), [1.0, 2.0, -0.5], atol=1e-5)
    np.testing.assert_allclose(closest(level, plane, corner), [1.75, 1.25, -0.5], atol=1e-5)


@both
def test_a_constraint_that_the_limits_never_reach_changes_nothing_that_matters(solver):
    robot = robots.shipped('panda')
    q = robots.random_q(robot, np.random.default_rng(2), margin=0.2)
    goal = PoseTask('panda_hand', transform=robot.forward_kinematics(q, 'panda_hand'))
    wide = LinearConstraint({'panda_joint1': 1.0, 'panda_joint2': 1.0}, -50.0, 50.0)
    result = ik.solve(IkProblem(robot, [goal], constraints=[wide]), solver=solver, restarts=10)
    assert result.status is IkStatus.REACHED


@both
def test_a_constraint_on_one_joint_is_a_limit(solver):
    robot = robots.shipped('iiwa14')
    tip, rng = robots.tip_of(robot), np.random.default_rng(6)
    goal = PoseTask(tip, transform=robot.forward_kinematics(robots.random_q(robot, rng), tip))
    box = {'lower': np.full(7, -0.3), 'upper': np.full(7, 0.25)}
    rows = [LinearConstraint({joint: 2.0}, -0.6, 0.5) for joint in robot.joint_names]
    by_limits = ik.solve(IkProblem(robot, [goal], **box), np.zeros(7), solver=solver)
    by_rows = ik.solve(IkProblem(robot, [goal], constraints=rows), np.zeros(7), solver=solver)
    assert by_limits.status is by_rows.status is IkStatus.CLOSEST
    np.testing.assert_allclose(by_rows.q, by_limits.q, atol=1e-6)


# --- saddles -----------------------------------------------------------------------------------


def stretched(target, *constraints):
    """A planar arm of three links of 1, stretched out along x, and a goal on that line."""
    robot = planar(1.0, 1.0, 1.0)
    return IkProblem(robot, [PositionTask('tip', [target, 0.0, 0.0])], constraints=constraints)


JOINTS = planar(1.0, 1.0, 1.0).joint_names


@both
@pytest.mark.parametrize(
    'constraint',
    [
        LinearConstraint({JOINTS[1]: 1.0, JOINTS[2]: 1.0}, 0.0, 0.0),
        LinearConstraint({JOINTS[1]: 1.0, JOINTS[2]: -1.0}, 0.0, 0.0),
        LinearConstraint({JOINTS[1]: 1.0, JOINTS[2]: 1.0}, upper=0.0),
        LinearConstraint({JOINTS[0]: 1.0, JOINTS[1]: 1.0}, lower=0.0),
    ],
    ids=str,
)
def test_a_saddle_between_constraints_is_left(solver, constraint):
    problem = stretched(1.5, constraint)
    result = ik.solve(problem, np.zeros(3), solver=solver)
    assert result.status is IkStatus.REACHED
    assert_inside(problem, result.q)


@both
def test_a_saddle_that_constraints_make_a_minimum_is_the_closest_point(solver):
    """Bending is what would lower the cost; no bend is allowed."""
    stiff = [LinearConstraint({joint: 3.0}, 0.0, 0.0) for joint in JOINTS[1:]]
    result = ik.solve(stretched(1.5, *stiff), [0.7, 0.0, 0.0], solver=solver)
    assert result.status is IkStatus.CLOSEST
    np.testing.assert_allclose(result.q, 0.0, atol=1e-6)


@both
def test_a_saddle_beside_a_loose_constraint_is_left_to_the_side_that_is_open(solver):
    """Stretched, the slope is 0 and no constraint is pressed; half of the bends are closed."""
    closed = [
        LinearConstraint({JOINTS[1]: 1.0, JOINTS[2]: 0.2}, upper=0.0),
        LinearConstraint({JOINTS[2]: 1.0, JOINTS[1]: 0.2}, upper=0.0),
    ]
    problem = stretched(1.0, *closed)
    result = ik.solve(problem, np.zeros(3), solver=solver)
    assert result.status is IkStatus.REACHED
    assert_inside(problem, result.q)


class Slope(Task):
    """r^2 = 5 + x - 3 x^2 + 3 x^4 + y z + y^4 + z^4: up with x at first, a saddle in y and z."""

    moves_all_joints = True

    def residual(self, robot, q):
        x, y, z = q
        return np.sqrt([5.0 + x - 3.0 * x**2 + 3.0 * x**4 + y * z + y**4 + z**4])

    def jacobian(self, robot, q):
        x, y, z = q
        slope = np.array([[1.0 - 6.0 * x + 12.0 * x**3, z + 4.0 * y**3, y + 4.0 * z**3]])
        return slope / (2.0 * self.residual(robot, q)[0])


@both
def test_only_constraints_that_are_pressed_are_held(solver):
    """x >= 0 is pressed, y >= 0 is loose, and the way down is between y and z."""
    rows = [LinearConstraint({'x': 1.0}, lower=0.0), LinearConstraint({'y': 1.0}, lower=0.0)]
    result = ik.solve(IkProblem(cross(), [Slope()], constraints=rows), np.zeros(3), solver=solver)
    np.testing.assert_allclose(result.q, [0.0, 0.5, -0.5], atol=1e-5)


class Valley(Slope):
    """r^2 = 5 + x^2 + y^2 + 3 x y + z^2: curved downwards only where x and y differ in sign."""

    def residual(self, robot, q):
        x, y, z = q
        return np.sqrt([5.0 + x**2 + y**2 + 3.0 * x * y + z**2])

    def jacobian(self, robot, q):
        x, y, z = q
        slope = np.array([[2.0 * x + 3.0 * y, 2.0 * y + 3.0 * x, 2.0 * z]])
        return slope / (2.0 * self.residual(robot, q)[0])


@both
def test_what_is_not_told_at_several_loose_constraints_is_stalled(solver):
    """x, y >= 0 make the saddle a minimum, but loose constraints do not tell."""
    rows = [LinearConstraint({joint: 1.0}, lower=0.0) for joint in 'xy']
    result = ik.solve(IkProblem(cross(), [Valley()], constraints=rows), np.zeros(3), solver=solver)
    assert result.status is IkStatus.STALLED
    np.testing.assert_allclose(result.q, 0.0, atol=1e-12)


@both
def test_no_closest_point_of_many_random_constraints_is_a_false_one(solver):
    robot, tip = robots.shipped('arm5'), robots.tip_of(robots.shipped('arm5'))
    method, ends = make_solver(solver), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        q = robots.random_q(robot, rng)
        q[rng.random(robot.n) < 0.4] = 0.0  # stretched in part: saddles
        rows = [
            LinearConstraint(
                {joint: rng.integers(-1, 2) + 0.5 for joint in robot.joint_names}, upper=u
            )
            for u in rng.uniform(-0.2, 0.5, 2)
        ]
        target = robot.forward_kinematics(robots.random_q(robot, rng), tip)[:3, 3]
        goal = PositionTask(tip, rng.choice([1.0, 2.0]) * target)
        problem = IkProblem(robot, [goal], constraints=rows)
        result = method.solve(problem, q)
        ends.append(result.status)
        assert_inside(problem, result.q)
        if result.status is IkStatus.CLOSEST:
            assert_no_lower_point_beside(problem, result.q)
    assert ends.count(IkStatus.CLOSEST) >= 3
    assert ends.count(IkStatus.STALLED) <= 1


# --- starts, turns, tasks, budgets -------------------------------------------------------------


@both
def test_a_start_outside_is_put_inside(solver):
    problem, start = coupled('panda', 1, reachable=False)
    outside = np.clip(start + 1.5, problem.robot.lower, problem.robot.upper)
    search = make_solver(solver).begin(problem, outside)
    begun = search.workspace.search['start'].copy()
    search.run(Budget(iterations=0))
    assert_inside(problem, search.result().q)
    rows = problem.constraints.at(outside)
    away = minimize(
        lambda x: np.sum((x - outside[problem.variables]) ** 2), begun, method='SLSQP',
        bounds=np.array([problem.limits.lower, problem.limits.upper]).T,
        constraints=[
            {'type': 'eq', 'fun': lambda x: rows[1, :7] @ x - rows[1, 7]},
            {'type': 'ineq', 'fun': lambda x: rows[0, 8] - rows[0, :7] @ x},
        ],
    )  # fmt: skip
    np.testing.assert_allclose(begun, away.x, atol=1e-6)
    while not search.run(Budget(iterations=1)):
        assert_inside(problem, search.result().q)
    assert search.result().status is IkStatus.CLOSEST


@both
def test_every_restart_begins_inside(solver):
    problem, start = coupled('iiwa14', 2, reachable=False)
    method = make_solver(solver, restarts=6, max_iterations=3)
    search, seen = method.begin(problem, start), set()
    while not search.run(Budget(iterations=1)):
        result = search.result()
        seen.add(result.restarts)
        assert_inside(problem, result.q)
        q = start.copy()
        q[problem.variables] = search.workspace.search['x']  # where it stands
        assert_inside(problem, q)
    assert len(seen) >= 5


@both
def test_a_turn_that_a_constraint_asks_for_is_kept(solver):
    robot = robots.shipped('pr2_like')
    tip = robots.tip_of(robot)
    [turning] = [joint for joint in robot.joint_names if 'forearm_roll' in joint]
    rng = np.random.default_rng(5)
    goal = PositionTask(
        tip, robot.forward_kinematics(robots.random_q(robot, rng, 0.3), tip)[:3, 3]
    )
    turned = LinearConstraint({turning: 1.0}, 6.0, 7.0)
    problem = IkProblem(robot, [goal], constraints=[turned])
    result = ik.solve(problem, np.zeros(robot.n), solver=solver, restarts=20)
    assert result.status is IkStatus.REACHED
    assert_inside(problem, result.q)


@both
def test_tasks_without_goals_have_their_least_cost_inside(solver):
    robot = robots.shipped('panda')
    rest = np.full(robot.n, 0.02)
    half = LinearConstraint({'panda_joint1': 1.0, 'panda_joint2': 1.0}, upper=-1.0)
    problem = IkProblem(robot, [PostureTask(rest)], constraints=[half])
    result = ik.solve(problem, solver=solver)
    assert result.status is IkStatus.LEAST
    np.testing.assert_allclose(result.q[:2], -0.5, atol=1e-7)


@both
def test_weighed_tasks_are_a_constrained_compromise(solver):
    problem, start = coupled('panda', 3, reachable=False)
    tasks = [*problem.goals, PostureTask(np.zeros(8), weights=0.01)]
    constraints = problem.constraints.constraints
    frozen = [name for name in problem.robot.joint_names if 'finger' in name]
    both = IkProblem(problem.robot, tasks, constraints=constraints, frozen_joints=frozen)
    result = ik.solve(both, start, solver=solver)
    assert result.status is IkStatus.CLOSEST
    assert_inside(both, result.q)
    assert checked_multipliers(both, result.q)


@both
def test_a_solve_in_parts_is_that_in_one(solver):
    problem, start = coupled('ur5e', 1, reachable=False)
    whole = make_solver(solver, restarts=2).solve(problem, start)
    search = make_solver(solver, restarts=2).begin(problem, start)
    while not search.run(Budget(iterations=2)):
        pass
    parts = search.result()
    assert parts.q.tolist() == whole.q.tolist()
    assert (parts.status, parts.iterations) == (whole.status, whole.iterations)


def test_the_preset_of_the_report_keeps_constraints():
    problem, start = coupled('panda', 2, reachable=True)
    result = ik.solve(problem, start, solver='bfgs', preset='state_of_the_art')
    assert_inside(problem, result.q)


def test_batches_and_choices_are_those_of_single_solves():
    problem, start = coupled('ur5e', 3, reachable=True)
    target = problem.goals[0].transform
    single = make_solver('bfgs', restarts=3).solve(problem, start)
    batch = ik.solve_batch(problem, [target] * 2, start, solver='bfgs', restarts=3)
    assert batch.q.tolist() == [single.q.tolist()] * 2
    for name in ('ur5e', 'panda'):
        problem, start = coupled(name, 3, reachable=True)
        best = ik.batch.solve_best(problem, start, solver='bfgs', restarts=3, attempts=3)
        assert best.status is IkStatus.REACHED
        assert_inside(problem, best.q)


def test_a_clone_has_the_same_constraints():
    problem, start = coupled('ur5e', 3, reachable=False)
    results = [ik.solve(one, start, solver='sqp').q for one in (problem, problem.clone())]
    assert results[0].tolist() == results[1].tolist()


# --- who does not keep them refuses them ---------------------------------------------------------

NAMES_BOTH = 'bfgs and sqp'


@pytest.mark.parametrize('solver', [name for name in ik.SOLVERS if name not in KEEPING])
def test_every_other_solver_refuses_and_names_those_that_do_not(solver):
    problem, start = coupled('ur5e', 1, reachable=True)
    method = make_solver(solver)
    for attempt in (
        lambda: method.solve(problem, start),
        lambda: method.solve(problem, start, Budget(iterations=1)),
        lambda: method.begin(problem, start),
        lambda: ik.solve_batch(problem, [problem.goals[0].transform], solver=solver),
        lambda: ik.batch.solve_best(problem, solver=solver),
    ):
        with pytest.raises(ik.UnsupportedProblem, match=NAMES_BOTH):
            attempt()


def test_the_solvers_that_are_named_are_those_that_keep_constraints():
    keeping = [
        name for name, kind in ik.SOLVERS.items() if getattr(kind, 'constrained_step', None)
    ]
    assert sorted(keeping) == sorted(KEEPING)


@pytest.mark.parametrize('method', ['scipy_dogbox', 'scipy_trf'])
def test_scipys_trust_regions_refuse_too(method):
    problem, start = coupled('ur5e', 1, reachable=True)
    with pytest.raises(ik.UnsupportedProblem, match=NAMES_BOTH):
        make_solver('trust_region', method=method).solve(problem, start)


@pytest.mark.parametrize('solver', list(ik.SOLVERS))
def test_secondary_tasks_are_refused(solver):
    problem, start = coupled('panda', 1, reachable=True)
    problem.levels = ((PostureTask(np.zeros(8)),),)
    with pytest.raises(ik.UnsupportedProblem, match='secondary'):
        make_solver(solver).solve(problem, start)


def test_all_solutions_and_trackers_are_refused():
    problem, _ = coupled('ur5e', 1, reachable=True)
    with pytest.raises(ik.UnsupportedProblem, match='solve_all'):
        ik.solve_all(problem)
    robot = problem.robot
    limits = ik.MotionLimits(robot.lower, robot.upper, *np.full((2, robot.n), 1.0))
    free = IkProblem(robot, problem.goals)
    for solver in ('bfgs', 'levenberg_marquardt', make_solver('sqp')):
        with pytest.raises(ik.UnsupportedProblem, match='Tracker'):
            ik.Tracker(problem, 100.0, limits=limits, solver=solver)
        tracker = ik.Tracker(free, 100.0, limits=limits, solver=solver)
        with pytest.raises(ik.UnsupportedProblem, match='Tracker'):
            tracker.set_problem(problem)
