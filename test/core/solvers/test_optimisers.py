"""The optimisers by their sources' own claims, and against scipy on the same objective."""

import functools

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, PoseTask, PositionTask, make_solver
from ik_core.maths.linalg import damped_step
from ik_core.optim.goal_constraints import GoalEqualities
from ik_core.optim.limit_terms import LimitTerms, free_point, newton_direction
from ik_core.robot.limits import JointLimits
from ik_core.solvers.bfgs import reduced_direction
from ik_core.solvers.sqp import quadratic_program

OPTIMISERS = ('bfgs', 'projected_gradient', 'penalty', 'augmented_lagrangian', 'sqp',
              'trust_region')  # fmt: skip
SEARCHERS = ('bfgs', 'projected_gradient', 'sqp')  # one feasible line search an iteration

every_optimiser = pytest.mark.parametrize('solver', OPTIMISERS)


def cross(limit=10.0):
    """Three prismatic joints along x, y, z: q is where the tip is."""
    joints = [
        ik.Joint(axis, 'prismatic', f'l{i}', f'l{i + 1}', axis=np.eye(3)[i], lower=-limit,
                 upper=limit)
        for i, axis in enumerate('xyz')
    ]  # fmt: skip
    return ik.Robot.from_joints('cross', ['l0', 'l1', 'l2', 'l3'], joints)


def near(robot, q, rng, distance=0.3):
    away = q + rng.uniform(-distance, distance, robot.n)
    return np.clip(away, robot.lower, robot.upper)


def pose_of(robot, q, link, shift=(0, 0, 0), **more):
    pose = robot.forward_kinematics(q, link)
    pose[:3, 3] += shift
    return PoseTask(link, transform=pose, **more)


def out_of_reach(name, seed=1):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.2)
    goal = pose_of(robot, q, robots.tip_of(robot), [1.3, 0.9, 0.7])
    return IkProblem(robot, [goal]), near(robot, q, rng)


def behind_limits():
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(4)
    goal = pose_of(robot, robots.random_q(robot, rng, margin=0.3), robots.tip_of(robot))
    box = {'lower': np.full(7, -0.3), 'upper': np.full(7, 0.25)}
    return IkProblem(robot, [goal], **box), np.zeros(7)


def branches(name, seed=5):
    """All tips of a branching figure, the last one out of reach."""
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.25)
    goals = [pose_of(robot, q, link, orientation_weights=0.3) for link in robot.tips()]
    if name.startswith('buss'):
        goals = [PositionTask(goal.link, goal.transform[:3, 3]) for goal in goals]
    goals[-1].set_target(position=goals[-1].transform[:3, 3] + [3.0, 6.0, 1.0])
    return IkProblem(robot, goals), near(robot, q, rng, 0.2)


def prismatic():
    robot, rng = robots.shipped('scara'), np.random.default_rng(6)
    q = robots.random_q(robot, rng, margin=0.2)
    return IkProblem(robot, [pose_of(robot, q, 'tool', [0.1, 0.1, 0.5])]), near(robot, q, rng)


def masked():
    robot, rng = robots.shipped('scara'), np.random.default_rng(7)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(q, 'tool')
    pose = pose @ robots.transform(Rotation.from_rotvec([1.0, 0.4, 0.3]), [0.1, 0.0, 0.2])
    goal = PoseTask('tool', transform=pose, orientation_weights=(0, 1, 3), position_axes='goal',
                    position_weights=(1, 0, 2))  # fmt: skip
    return IkProblem(robot, [goal]), near(robot, q, rng, 0.2)


def mimic():
    robot, rng = robots.shipped('panda'), np.random.default_rng(13)
    q = robots.random_q(robot, rng, margin=0.2)
    goal = pose_of(robot, q, 'panda_rightfinger', [0.6, 0.5, 0.3])
    return IkProblem(robot, [goal]), near(robot, q, rng, 0.2)


UNREACHABLE = {
    'ur5e': lambda: out_of_reach('ur5e'),
    'panda': lambda: out_of_reach('panda'),
    'behind limits': behind_limits,
    'Y': lambda: branches('buss_y'),
    'dual arm': lambda: branches('dual_arm'),
    'prismatic': prismatic,
    'masked': masked,
    'mimic': mimic,
}


RESTARTS = {'ur5e': 12, 'panda': 12}  # where the start leads some methods to a local minimum


@functools.cache
def best_known(name, starts=20):
    """The least cost that scipy finds inside the limits from the start and random ones."""
    problem, q0 = UNREACHABLE[name]()
    limits, (_, x0) = problem.limits, problem.start(q0)
    rng, best = np.random.default_rng(0), np.inf
    for start in range(starts):
        x = rng.uniform(limits.sample_lower, limits.sample_upper) if start else x0
        found = least_squares(
            lambda x: problem.at(x).residual,
            np.minimum(np.maximum(x, limits.lower + 1e-9), limits.upper - 1e-9),
            lambda x: problem.at(x).jacobian,
            bounds=(limits.lower, limits.upper), xtol=1e-13, ftol=1e-13, gtol=1e-13,
            max_nfev=300,
        )  # fmt: skip
        best = min(best, problem.at(limits.project(found.x)).cost)
    return best


def assert_no_descent_left(problem, at, tolerance=2e-6):
    """The conditions of Karush, Kuhn and Tucker, with the gradient by central differences."""
    x, limits = at.x, problem.limits
    gradient = robots.central_differences(lambda x: np.array([problem.at(x).cost]), x)[0]
    scale = np.linalg.norm(at.jacobian, axis=0) * np.sqrt(at.cost) * 2.0
    inward = np.where(x <= limits.lower, np.minimum(gradient, 0.0), gradient)
    inward = np.where(x >= limits.upper, np.maximum(inward, 0.0), inward)
    inward = np.where(limits.lower == limits.upper, 0.0, inward)
    assert (np.abs(inward) <= tolerance * scale + 1e-8).all(), inward / scale


@every_optimiser
@pytest.mark.parametrize('name', UNREACHABLE)
def test_the_closest_point_is_the_best_that_scipy_finds_from_many_starts(solver, name):
    problem, q0 = UNREACHABLE[name]()
    result = make_solver(solver, restarts=RESTARTS.get(name, 0)).solve(problem, q0)
    assert result.status is IkStatus.CLOSEST, result.message
    assert result.cost == pytest.approx(best_known(name), rel=1e-6)
    assert_no_descent_left(problem, problem.evaluate(result.q))


@every_optimiser
def test_the_weights_decide_between_goals_that_exclude_each_other(solver):
    robot = cross()
    one, two = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 5.0, 4.0])
    goals = [
        PositionTask('l3', one, weights=(1.0, 3.0, 0.5)),
        PositionTask('l3', two, weights=(4.0, 1.0, 0.5)),
    ]
    expected = [(1 * 1 - 2 * 4) / 5, (2 * 3 + 5) / 4, 3.5]
    result = make_solver(solver).solve(IkProblem(robot, goals), np.zeros(3))
    assert result.status is IkStatus.CLOSEST
    np.testing.assert_allclose(result.q, expected, atol=1e-5)
    short = make_solver(solver).solve(IkProblem(cross(2.0), goals), np.zeros(3))
    assert short.status is IkStatus.CLOSEST
    np.testing.assert_allclose(short.q, [-1.4, 2.0, 2.0], atol=1e-5)
    assert short.q[1] == short.q[2] == 2.0  # on the limit, not near it


@every_optimiser
def test_several_end_effectors_are_reached_at_once(solver):
    for name in ('buss_y', 'buss_double_y', 'dual_arm'):
        robot, rng = robots.shipped(name), np.random.default_rng(3)
        q = robots.random_q(robot, rng, margin=0.25)
        goals = [pose_of(robot, q, link) for link in robot.tips()]
        if name.startswith('buss'):
            goals = [PositionTask(goal.link, goal.transform[:3, 3]) for goal in goals]
        result = make_solver(solver).solve(IkProblem(robot, goals), near(robot, q, rng, 0.2))
        assert result.success, (name, result.message)
        for goal in goals:
            tip = robot.forward_kinematics(result.q, goal.link)
            assert np.linalg.norm(tip[:3, 3] - goal.transform[:3, 3]) <= 1e-5 * (1 + 1e-9)


@every_optimiser
def test_a_solution_on_limits_is_found_and_is_on_them(solver):
    problem, q0 = behind_limits()
    result = make_solver(solver).solve(problem, q0)
    assert result.status is IkStatus.CLOSEST
    at = problem.evaluate(result.q)
    held = (at.x == problem.limits.lower) | (at.x == problem.limits.upper)
    reference = make_solver('trust_region').solve(problem, q0)
    assert held.sum() >= 3
    assert result.cost == pytest.approx(reference.cost, rel=1e-9)
    np.testing.assert_allclose(result.q, reference.q, atol=1e-4)
    assert_no_descent_left(problem, at)


@every_optimiser
def test_from_outside_the_limits_it_begins_at_the_nearest_point_inside(solver):
    # The goal is met outside: an optimiser measured from there could not get better at all.
    robot = cross(1.0)
    problem = IkProblem(robot, [PositionTask('l3', [3.0, 0.2, -2.0])])
    result = make_solver(solver, record_history=True).solve(problem, [3.0, 0.2, -2.0])
    assert result.status is IkStatus.CLOSEST
    assert result.q.tolist() == [1.0, 0.2, -1.0]
    away = [3.0, -7.0, 5.0]
    inside = make_solver(solver).solve(problem, np.clip(away, -1, 1))
    outside = make_solver(solver).solve(problem, away)
    np.testing.assert_array_equal(inside.q, outside.q)
    np.testing.assert_allclose(outside.q, [1.0, 0.2, -1.0], atol=1e-5)


@every_optimiser
def test_tasks_that_are_no_goals_take_part(solver):
    robot = cross()
    tasks = [PositionTask('l3', [1.0, 2.0, 3.0]), ik.PostureTask(np.zeros(3), weights=0.25)]
    result = make_solver(solver).solve(IkProblem(robot, tasks), [0.5, -0.5, 0.1])
    np.testing.assert_allclose(result.q, np.array([1.0, 2.0, 3.0]) / 1.25, atol=1e-5)
    assert not result.success


# What a feasible line search promises


def paths(name):
    if name in UNREACHABLE:
        return UNREACHABLE[name]()
    robot, rng = robots.shipped(name), np.random.default_rng(21)
    q = robots.random_q(robot, rng, margin=0.1)
    return IkProblem(robot, [pose_of(robot, q, robots.tip_of(robot))]), near(robot, q, rng, 1.0)


@pytest.mark.parametrize(
    ('solver', 'options'),
    [(solver, {'alpha': alpha}) for solver in SEARCHERS for alpha in (1e-4, 0.1)]
    + [('projected_gradient', {'alpha': 0.1, 'first_step': 'one', 'beta': 0.9})],
)
@pytest.mark.parametrize('name', ['pr2_like', 'behind limits', 'Y', 'mimic'])
def test_every_accepted_step_fulfils_equation_39_inside_the_limits(solver, options, name):
    problem, q0 = paths(name)
    search = make_solver(solver, **options).begin(problem, q0)
    steps = 0
    while not search.done and steps < 60:
        before = search.state.at
        search.run(Budget(iterations=1))
        after = search.state.at
        assert (after.x >= problem.limits.lower).all()
        assert (after.x <= problem.limits.upper).all()
        if after is before:
            continue
        slope = robots.central_differences(lambda x: np.array([problem.at(x).cost]), before.x)[0]
        bound = before.cost + options['alpha'] * slope @ (after.x - before.x)
        assert after.cost < bound + 1e-8 * before.cost
        assert after.cost < before.cost
        steps += 1
    assert steps >= 3


@pytest.mark.parametrize('solver', SEARCHERS)
@pytest.mark.parametrize('name', ['ur5e', 'dual arm', 'masked', 'panda'])
def test_the_cost_falls_in_every_iteration(solver, name):
    problem, q0 = UNREACHABLE[name]()
    result = make_solver(solver, record_history=True, max_iterations=500).solve(problem, q0)
    assert len(result.history) > 3
    assert (np.diff(result.history) < 0.0).sum() >= len(result.history) - 2
    assert (np.diff(result.history) <= 0.0).all()


# Projected gradient


def test_the_papers_step_is_tried_from_one_downwards():
    problem, q0 = paths('pr2_like')
    _, x = problem.start(q0)
    search = make_solver('projected_gradient', first_step='one', beta=0.6).begin(problem, q0)
    for _ in range(5):
        at = problem.at(x)
        gradient = 2.0 * at.jacobian.T @ at.residual  # Eq. 26
        trials = (problem.limits.project(x - 0.6**k * gradient) for k in range(99))
        x = next(
            trial for trial in trials
            if problem.at(trial).cost < at.cost + 1e-4 * gradient @ (trial - x)
        )  # fmt: skip
        search.run(Budget(iterations=1))
        np.testing.assert_allclose(search.state.at.x, x, rtol=1e-12, atol=1e-14)


def test_the_step_of_barzilai_and_borwein_needs_far_fewer_iterations():
    problem, q0 = paths('pr2_like')
    few, many = (
        make_solver('projected_gradient', first_step=step).solve(problem, q0)
        for step in ('barzilai_borwein', 'one')
    )
    assert few.success
    assert few.iterations < 0.5 * many.iterations


def test_on_a_straight_valley_the_first_spectral_step_is_the_inverse_curvature():
    # f = (x - 1)^2 along one joint: after any step s, s's / s'y = 1/2, Newton's step.
    problem = IkProblem(cross(), [PositionTask('l3', [1.0, 0, 0], weights=(0.01, 0, 0))])
    search = make_solver('projected_gradient').begin(problem, np.zeros(3))
    search.run(Budget(iterations=1))
    assert search.state.at.x[0] == pytest.approx(0.02)  # tau = 1 along -grad f
    assert search.state.first_step == pytest.approx(50.0)
    search.run(Budget(iterations=1))
    assert search.done
    assert search.result().success


# Quasi-Newton


@pytest.mark.parametrize('solver', ['bfgs', 'sqp', 'augmented_lagrangian', 'penalty'])
@pytest.mark.parametrize('name', ['behind limits', 'Y', 'prismatic', 'masked', 'mimic'])
def test_scipys_bounded_optimisers_agree_on_the_same_objective(solver, name):
    problem, q0 = UNREACHABLE[name]()
    result = make_solver(solver).solve(problem, q0)
    assert result.status is IkStatus.CLOSEST
    bounds = list(zip(problem.limits.lower, problem.limits.upper, strict=True))
    for method in ('L-BFGS-B', 'SLSQP'):
        found = minimize(
            lambda x: problem.at(x).cost,
            problem.evaluate(result.q).x + 1e-2,
            jac=lambda x: 2.0 * problem.at(x).jacobian.T @ problem.at(x).residual,
            bounds=bounds, method=method,
            options={'maxiter': 2000, 'ftol': 1e-15},
        )  # fmt: skip
        assert result.cost == pytest.approx(found.fun, rel=1e-7)


@pytest.mark.parametrize('start', ['gauss_newton', 'identity'])
@pytest.mark.parametrize('name', ['ur5e', 'behind limits', 'Y', 'pr2_like'])
def test_the_curvature_condition_holds_and_the_hessian_stays_positive_definite(start, name):
    problem, q0 = paths(name)
    search = make_solver('bfgs', initial_hessian=start).begin(problem, q0)
    undamped = 0
    while not search.done:
        assert np.linalg.eigvalsh(search.state.hessian).min() > 0.0
        at, hessian = search.state.at, search.state.hessian
        search.run(Budget(iterations=1))
        new = search.state.at
        if new is at:
            continue
        s = new.x - at.x
        y = 2.0 * (new.jacobian.T @ new.residual - at.jacobian.T @ at.residual)
        curvature = s @ search.state.hessian @ s
        assert curvature > 0.0
        if s @ y >= 0.2 * s @ hessian @ s:  # Eq. 15 as it is: the secant equation holds
            undamped += 1
            np.testing.assert_allclose(search.state.hessian @ s, y, atol=1e-7 * np.abs(y).max())
    assert undamped >= 1


def test_clipping_a_quasi_newton_direction_may_ascend_and_reducing_it_does_not():
    # Engell-Norregard & Erleben, section 4: "the projected direction can no longer be
    # guaranteed to give a reduction".
    limits = JointLimits(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    hessian = np.array([[1.0, 0.9], [0.9, 1.0]])
    x, gradient = np.array([1.0, 0.0]), np.array([-1.0, -0.2])
    newton = -np.linalg.solve(hessian, gradient)
    clipped = limits.project(x + newton) - x
    assert gradient @ newton < 0.0
    assert gradient @ clipped > 0.0
    reduced = reduced_direction(limits, x, gradient, hessian)
    assert reduced.tolist() == [0.0, 0.2]


@pytest.mark.parametrize('seed', range(40))
def test_the_reduced_direction_descends_and_crosses_no_limit(seed):
    rng = np.random.default_rng(seed)
    n = 5
    limits = JointLimits(-np.ones(n), np.ones(n))
    x = rng.choice([-1.0, 0.0, 1.0], n)
    root = rng.normal(size=(n, n))
    hessian, gradient = root @ root.T + 0.05 * np.eye(n), rng.normal(size=n)
    p = reduced_direction(limits, x, gradient, hessian)
    assert not limits.active(x, p).any()
    assert (p[limits.active(x, -gradient)] == 0.0).all()
    free = p != 0.0
    assert free.any() == (~limits.active(x, -gradient)).any()
    if free.any():
        assert gradient @ p < 0.0
        np.testing.assert_allclose(hessian[np.ix_(free, free)] @ p[free], -gradient[free])
        far = 1e3 * p
        share = limits.reach(x, far)
        assert 0.0 < share < 1.0
        np.testing.assert_allclose(np.max(np.abs(x + share * far)[free]), 1.0)


def test_the_reach_of_a_step_ends_at_the_first_limit_on_its_way():
    limits = JointLimits(np.array([-np.inf, -1.0]), np.array([np.inf, 1.0]))
    assert limits.reach(np.zeros(2), np.array([1.0, 0.0])) == 1.0
    assert limits.reach(np.zeros(2), np.zeros(2)) == 1.0
    assert limits.reach(np.zeros(2), np.array([9.0, -0.5])) == 1.0
    assert limits.reach(np.zeros(2), np.array([9.0, -4.0])) == 0.25
    assert limits.reach(np.array([0.0, 0.5]), np.array([-9.0, 2.0])) == 0.25


def test_the_first_step_is_the_damped_one_or_the_gradients():
    robot, q0 = robots.shipped('ur5e'), np.full(6, 0.4)
    problem = IkProblem(robot, [pose_of(robot, q0 + 0.2, 'tool0')])
    _, x = problem.start(q0)
    at = problem.at(x)
    gradient = 2.0 * at.jacobian.T @ at.residual
    directions = {
        'gauss_newton': damped_step(at.jacobian, -at.residual, np.sqrt(1e-2)),
        'identity': -0.5 * gradient,
    }
    for start, direction in directions.items():
        search = make_solver('bfgs', initial_hessian=start, epsilon=1e-2).begin(problem, q0)
        search.run(Budget(iterations=1))
        moved = search.state.at.x - x
        size = moved @ direction / (direction @ direction)
        np.testing.assert_allclose(moved, size * direction, atol=1e-9)
        assert 0.0 < size <= 1.0 + 1e-9


# Sequential quadratic programming


@pytest.mark.parametrize('n', [6, 20])
@pytest.mark.parametrize('seed', range(30))
def test_the_quadratic_program_is_solved_to_its_optimum(seed, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian, gradient = root @ root.T + 0.02 * np.eye(n), 3.0 * rng.normal(size=n)
    lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    lower[0] = upper[0] = 0.4  # pinned
    lower[1], upper[2] = -np.inf, np.inf
    limits = JointLimits(lower, upper)
    x = limits.project(rng.normal(size=n))
    p = quadratic_program(hessian, gradient, limits, x)
    end, slope = x + p, gradient + hessian @ p
    assert p[0] == 0.0
    assert (end >= lower - 1e-12).all()
    assert (end <= upper + 1e-12).all()
    for j in range(1, n):
        if abs(end[j] - lower[j]) < 1e-9:
            assert slope[j] > -1e-8
        elif abs(end[j] - upper[j]) < 1e-9:
            assert slope[j] < 1e-8
        else:
            assert abs(slope[j]) < 1e-8


def test_the_quadratic_program_is_solved_where_it_is_ill_conditioned():
    n = 8
    for seed in range(100):
        rng = np.random.default_rng(seed)
        turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
        hessian = turn @ np.diag(np.geomspace(1e-3, 1e3, n)) @ turn.T
        gradient = 3.0 * rng.normal(size=n)
        limits = JointLimits(-rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n))
        x = limits.project(rng.normal(size=n))
        p = quadratic_program(hessian, gradient, limits, x)
        end, slope = x + p, gradient + hessian @ p
        slope = np.where(end <= limits.lower + 1e-10, np.minimum(slope, 0.0), slope)
        slope = np.where(end >= limits.upper - 1e-10, np.maximum(slope, 0.0), slope)
        assert np.abs(slope).max() < 1e-4


def test_where_everything_is_pinned_there_is_no_program():
    here = np.array([0.3, -0.2])
    step = quadratic_program(np.eye(2), np.ones(2), JointLimits(here, here), here)
    assert step.tolist() == [0.0, 0.0]


# Limits as terms of the cost


def final_point(solver, problem, q0, **options):
    search = make_solver(solver, **options).begin(problem, q0)
    search.run()
    return search.state.point, search.result()


def test_with_a_fixed_penalty_the_minimum_is_outside_by_the_gradient_over_the_weight():
    problem, q0 = behind_limits()
    outside = []
    for weight in (1e1, 1e2, 1e3, 1e4):
        point, result = final_point('penalty', problem, q0, weight=weight, growth=1.0,
                                    max_iterations=400)  # fmt: skip
        at = problem.at(point.x)
        violation = problem.limits.violation(point.x)
        slope = 2.0 * at.jacobian.T @ at.residual
        np.testing.assert_allclose(violation, -slope / (2.0 * weight), atol=1e-6 / weight)
        assert at.cost < best_known('behind limits')  # it pays to break them
        assert (result.q >= -0.3).all()
        assert (result.q <= 0.25).all()
        outside.append(np.max(np.abs(violation)))
    ratios = np.array(outside[1:]) / outside[:-1]
    np.testing.assert_allclose(ratios, 0.1, rtol=0.2)  # feasible as the weight grows


def test_as_the_penalty_grows_its_minimum_becomes_the_closest_point():
    problem, q0 = behind_limits()
    point, result = final_point('penalty', problem, q0, growth=10.0)
    assert result.status is IkStatus.CLOSEST
    assert np.max(np.abs(problem.limits.violation(point.x))) < 1e-5
    fixed = make_solver('penalty', growth=1.0, weight=1.0).solve(problem, q0)
    assert result.cost < fixed.cost
    assert fixed.status is not IkStatus.CLOSEST


@pytest.mark.parametrize('solver', ['penalty', 'augmented_lagrangian'])
def test_terms_of_limits_that_are_not_met_change_nothing(solver):
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(8)
    q = rng.uniform(-1.0, 1.0, 6)
    problem = IkProblem(robot, [pose_of(robot, q, 'tool0')])
    light, heavy = (
        make_solver(solver, weight=weight, record_history=True).solve(problem, q + 0.1)
        for weight in (1e-3, 1e5)
    )
    assert light.success
    assert light.history == heavy.history


def test_the_multipliers_become_the_negative_gradient_at_a_finite_weight():
    problem, q0 = behind_limits()
    point, result = final_point('augmented_lagrangian', problem, q0)
    assert result.status is IkStatus.CLOSEST
    at = problem.evaluate(result.q)
    slope = 2.0 * at.jacobian.T @ at.residual
    held = (at.x == problem.limits.lower) | (at.x == problem.limits.upper)
    assert held.sum() >= 3
    assert (point.terms.multipliers[~held] == 0.0).all()
    np.testing.assert_allclose(
        point.terms.multipliers[held], -slope[held], atol=1e-3 * np.abs(slope).max()
    )
    assert ((at.x == problem.limits.upper) == (point.terms.multipliers > 0.0))[held].all()
    assert point.terms.weight <= 1e3
    assert np.max(np.abs(problem.limits.violation(point.x))) < 1e-4


@pytest.mark.parametrize('weight', [1e-2, 1.0, 30.0])
def test_the_gradient_of_the_augmented_cost_is_that_of_central_differences(weight):
    problem, q0 = behind_limits()
    problem.start(q0)
    rng = np.random.default_rng(3)
    terms = LimitTerms(weight, rng.normal(size=7) * weight)

    def phi(x):
        return free_point(problem, problem.at(x), terms, np.eye(7))

    for _ in range(5):
        x = rng.uniform(-1.0, 1.0, 7)
        numeric = robots.central_differences(lambda x: np.array([phi(x).cost]), x)[0]
        np.testing.assert_allclose(phi(x).gradient, numeric, rtol=1e-6, atol=1e-7)
        shift = terms.multipliers / (2 * weight)
        above = np.maximum(0.0, x - problem.limits.upper + shift)
        below = np.maximum(0.0, problem.limits.lower - x - shift)
        expected = problem.at(x).cost + weight * (above @ above + below @ below)
        assert phi(x).cost == pytest.approx(expected)


@pytest.mark.parametrize('seed', range(20))
def test_the_newton_step_is_the_minimum_of_the_model_with_its_kinks(seed):
    problem, q0 = behind_limits()
    problem.start(q0)
    rng = np.random.default_rng(seed)
    terms, weight = LimitTerms(0.5, 0.1 * rng.normal(size=7)), 0.5
    root = rng.normal(size=(7, 7))
    hessian = root @ root.T + np.eye(7)
    point = free_point(problem, problem.at(rng.uniform(-0.6, 0.6, 7)), terms, hessian)
    p = newton_direction(problem.limits, point, hessian)
    outside = problem.limits.violation(point.x + terms.multipliers / (2 * weight) + p)
    slope = 2.0 * point.at.jacobian.T @ point.at.residual
    np.testing.assert_allclose(slope + hessian @ p + 2 * weight * outside, 0.0, atol=1e-9)


# The reference


@pytest.mark.parametrize('method', ['dogbox', 'trf'])
@pytest.mark.parametrize('name', ['ur5e', 'panda', 'pr2_like'])
def test_the_reference_goes_where_scipy_itself_goes(name, method):
    problem, q0 = UNREACHABLE[name]() if name in UNREACHABLE else paths(name)
    _, x0 = problem.start(q0)
    found = least_squares(
        lambda x: problem.at(x).residual, x0, lambda x: problem.at(x).jacobian,
        bounds=(problem.limits.lower, problem.limits.upper), xtol=1e-15, ftol=1e-15, gtol=1e-15,
        max_nfev=1000,
        method=method,
    )  # fmt: skip
    result = make_solver('trust_region', method=method, evaluations_per_step=1000).solve(
        problem, q0
    )
    if result.success:
        assert problem.at(found.x).cost < 1e-9
    else:
        assert result.cost <= 2.0 * found.cost * (1.0 + 1e-9)  # it may go on for longer
        assert result.cost == pytest.approx(2.0 * found.cost, rel=1e-4)


def test_a_step_of_the_reference_is_about_as_many_evaluations_as_asked_for():
    problem, q0 = UNREACHABLE['panda']()
    search = make_solver('trust_region', evaluations_per_step=5).begin(problem, q0)
    for step in range(1, 6):
        search.run(Budget(iterations=1))
        assert search.result().evaluations <= 1 + 7 * step


@pytest.mark.parametrize('name', ['behind limits', 'prismatic', 'mimic'])
def test_both_of_scipys_methods_end_on_the_limits(name):
    problem, q0 = UNREACHABLE[name]()
    results = [
        make_solver('trust_region', method=method).solve(problem, q0)
        for method in ('dogbox', 'trf')
    ]
    for result in results:
        assert result.status is IkStatus.CLOSEST
        assert_no_descent_left(problem, problem.evaluate(result.q))
    assert results[0].cost == pytest.approx(results[1].cost, rel=1e-9)


def test_the_reference_follows_a_redundant_arms_goal_in_a_few_evaluations():
    robot, rng = robots.shipped('panda'), np.random.default_rng(0)
    q = robots.random_q(robot, rng, margin=0.25)
    link = robots.tip_of(robot)
    problem = IkProblem(robot, [pose_of(robot, q, link, [0.002, 0.001, -0.001])])
    result = make_solver('trust_region').solve(problem, q)
    assert result.success
    assert result.evaluations <= 5
    assert np.max(np.abs(result.q - q)) < 0.02  # the shortest way, no motion in the null space


@pytest.mark.parametrize('method', ['dogbox', 'trf'])
@pytest.mark.parametrize('corner', [-1.0, 1.0])
def test_the_reference_starts_on_limits_and_passes_pinned_joints_by(corner, method):
    lower, upper = np.full(3, -1.0), np.full(3, 1.0)
    lower[1] = upper[1] = 0.25
    goal = PositionTask('l3', [0.5, 0.7, 0.0])
    problem = IkProblem(cross(), [goal], lower=lower, upper=upper)
    result = make_solver('trust_region', method=method).solve(problem, np.full(3, corner))
    assert result.status is IkStatus.CLOSEST
    np.testing.assert_allclose(result.q, [0.5, 0.25, 0.0], atol=1e-6)
    assert result.q[1] == 0.25


# Goals as constraints on secondary tasks


def with_a_rest_posture(name, seed):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.2)
    rest = ik.PostureTask(robot.middle_configuration + 0.3 * rng.normal(size=robot.n))
    goal = pose_of(robot, q, robots.tip_of(robot))
    return IkProblem(robot, [goal], secondary=[rest]), near(robot, q, rng, 0.1)


def secondary_cost(problem, q):
    residual, _ = problem.secondary_at(q[problem.variables])
    return residual @ residual


def unbalanced(problem, q):
    """The share of the secondary gradient that neither goals nor limits can balance."""
    at = problem.evaluate(q)
    slope = robots.central_differences(
        lambda x: np.array([np.sum(problem.secondary_at(x)[0] ** 2)]), at.x
    )[0]
    low, high = at.x <= problem.limits.lower + 1e-9, at.x >= problem.limits.upper - 1e-9
    free = ~(low | high)
    multipliers = np.linalg.lstsq(at.jacobian[:, free].T, -slope[free], rcond=1e-9)[0]
    left = slope + at.jacobian.T @ multipliers
    left[low] = np.minimum(left[low], 0.0)
    left[high] = np.maximum(left[high], 0.0)
    return np.linalg.norm(left) / np.linalg.norm(slope)


SECONDARY = [(name, seed) for name in ('panda', 'iiwa14', 'pr2_like') for seed in range(4)]


@pytest.mark.parametrize('solver', ['augmented_lagrangian', 'sqp'])
@pytest.mark.parametrize(('name', 'seed'), SECONDARY)
def test_secondary_tasks_are_least_among_all_that_reach_the_goals(solver, name, seed):
    problem, q0 = with_a_rest_posture(name, seed)
    plain = IkProblem(problem.robot, problem.goals)
    result = make_solver(solver).solve(problem, q0)
    assert result.success
    assert secondary_cost(problem, result.q) < secondary_cost(
        problem, make_solver(solver).solve(plain, q0).q
    )
    assert unbalanced(problem, result.q) < 2e-3
    assert result.cost < 1e-12  # the goals themselves, not the edge of their tolerances


def test_iterates_off_the_goals_or_worse_than_the_start_do_not_count():
    problem = IkProblem(
        cross(), [PositionTask('l3', [1.0, 2.0, 0.0], weights=(1, 1, 0))],
        secondary=[ik.PostureTask([0.0, 0.0, 5.0])],
    )  # fmt: skip
    path = [[0.5, 0.0, 5.0], [1.0, 2.0, -3.0], [1.0, 2.0, 4.0], [1.0, 2.0, 3.0], [0, 0, 5.0]]

    class Scripted(GoalEqualities):
        def next_iterate(self):
            return problem.at(np.array(path[self.iterations - 1]))

    x = np.array([1.0, 2.0, 0.0])
    problem.start(x)
    descent = Scripted(problem, x)
    seen = []
    for _ in path:
        descent.iterate()
        seen.append(descent.at.x.tolist())
    assert seen == [x.tolist(), x.tolist(), path[2], path[3], path[3]]


def test_the_two_routes_give_almost_equivalent_results_in_most_cases():
    # Tak & Ko, 4.3: "in most cases the two solvers produce almost equivalent results".
    same = 0
    for name, seed in SECONDARY:
        problem, q0 = with_a_rest_posture(name, seed)
        one, two = (
            secondary_cost(problem, make_solver(solver).solve(problem, q0).q)
            for solver in ('augmented_lagrangian', 'sqp')
        )
        same += one == pytest.approx(two, rel=1e-5)
    assert same >= 9


@pytest.mark.parametrize('seed', range(3))
def test_scipys_slsqp_with_the_goals_as_equalities_is_no_better(seed):
    problem, q0 = with_a_rest_posture('panda', seed)
    result = make_solver('sqp').solve(problem, q0)

    def gradient(x):
        residual, jacobian = problem.secondary_at(x)
        return 2.0 * jacobian.T @ residual

    found = minimize(
        lambda x: np.sum(problem.secondary_at(x)[0] ** 2),
        result.q[problem.variables] + 1e-3,
        jac=gradient,
        method='SLSQP',
        bounds=list(zip(problem.limits.lower, problem.limits.upper, strict=True)),
        constraints={
            'type': 'eq',
            'fun': lambda x: problem.at(x).residual,
            'jac': lambda x: problem.at(x).jacobian,
        },
        options={'ftol': 1e-12},
    )
    assert found.success
    assert secondary_cost(problem, result.q) == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize('solver', ['augmented_lagrangian', 'sqp'])
def test_secondary_tasks_do_not_move_a_goal_out_of_reach_further_away(solver):
    plain, q0 = UNREACHABLE['mimic']()
    rest = ik.PostureTask(plain.robot.middle_configuration)
    problem = IkProblem(plain.robot, plain.goals, secondary=[rest])
    alone, result = (make_solver(solver).solve(p, q0) for p in (plain, problem))
    assert result.status is IkStatus.CLOSEST
    assert result.cost <= alone.cost * (1 + 1e-6)


@pytest.mark.parametrize('solver', ['augmented_lagrangian', 'sqp'])
def test_secondary_tasks_in_pieces_come_to_exactly_the_same(solver):
    problem, q0 = with_a_rest_posture('iiwa14', 1)
    whole = make_solver(solver).solve(problem, q0)
    search = make_solver(solver).begin(problem, q0)
    costs = []
    while not search.run(Budget(iterations=1)):
        costs.append(search.result().iterations)
    assert costs == list(range(1, len(costs) + 1))
    np.testing.assert_array_equal(search.result().q, whole.q)
