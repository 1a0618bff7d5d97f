"""What every solver keeps, for all solvers and all kinds of problems.

Errors are judged by `Robot.forward_kinematics` and scipy's rotations, closest points against
scipy's bounded least squares from many starts.
"""

import functools

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from support import robots
from support.solver_cases import CASES, goal_at, near, reachable

import ik_core as ik
from ik_core import (
    AxisTask,
    Budget,
    IkProblem,
    IkStatus,
    OrientationTask,
    make_solver,
)
from ik_core.optim.search import is_stationary

SOLVERS = list(ik.SOLVERS)

# Solvers that converge too slowly to be held to the usual tolerances, and what they are held to.
SLOW = {
    # steepest descent, over Jacobians whose singular values differ by a factor of 50
    'jacobian_transpose': {'position_tolerance': 1e-3, 'orientation_tolerance': 1e-2},
}


OUT_OF_REACH = [name for name, case in CASES.items() if not case().reachable]


@functools.cache
def solved(solver, name):
    case = CASES[name]()
    return case, make_solver(solver).solve(case.problem, case.q0)


def independent_errors(problem, q):
    """Errors of all goals by poses and scipy alone; a goal's masked components left out."""
    result = []
    for task in problem.goals:
        tip = problem.robot.forward_kinematics(q, task.link) @ task.tool
        target = task.transform
        shift = tip[:3, 3] - target[:3, 3]
        if task.position_axes == ik.tasks.kernels.GOAL_AXES:
            shift = target[:3, :3].T @ shift
        if isinstance(task, AxisTask):
            turn = [Rotation.align_vectors(tip[:3, 2], target[:3, 2])[0].magnitude(), 0, 0]
        elif np.isnan(target[:3, :3]).any():
            turn = np.zeros(3)
        else:
            turn = Rotation.from_matrix(target[:3, :3].T @ tip[:3, :3]).as_rotvec()
        masks = task.position_weights > 0, task.rotation_weights > 0
        shift, turn = np.nan_to_num(shift) * masks[0], np.array(turn) * masks[1]
        result.append((shift, turn, task.position_weights, task.rotation_weights))
    return result


def independent_cost(problem, q):
    cost = 0.0
    for shift, turn, position_weights, rotation_weights in independent_errors(problem, q):
        cost += position_weights @ shift**2
        cost += rotation_weights @ (problem.orientation_length * turn) ** 2
    return cost


def best_known_cost(problem, q0, starts=24):
    """The least cost that scipy finds inside the limits, from q0 and many random starts."""
    limits, (_, x0) = problem.limits, problem.start(q0)
    wide = limits.upper - limits.lower > 1e-9
    low, high = limits.lower[wide], limits.upper[wide]

    def at(part):
        x = x0.copy()
        x[wide] = part
        return problem.at(x)

    rng = np.random.default_rng(0)
    best = problem.at(x0).cost
    for start in range(starts if wide.any() else 0):
        x = rng.uniform(limits.sample_lower, limits.sample_upper) if start else x0
        inner = np.minimum(np.maximum(x[wide], low + 1e-9), high - 1e-9)
        found = least_squares(
            lambda part: at(part).residual, inner, lambda part: at(part).jacobian[:, wide],
            bounds=(low, high), xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=300,
        )  # fmt: skip
        best = min(best, at(found.x).cost)
    return best


every_solver = pytest.mark.parametrize('solver', SOLVERS)
every_case = pytest.mark.parametrize('name', CASES)


@every_solver
@every_case
def test_moved_joints_end_inside_the_limits_and_the_others_where_they_were(solver, name):
    case, result = solved(solver, name)
    problem, moved = case.problem, case.problem.variables
    assert np.isfinite(result.q).all()
    assert (result.q[moved] >= problem.limits.lower).all()
    assert (result.q[moved] <= problem.limits.upper).all()
    others = np.setdiff1d(np.arange(problem.robot.n), moved)
    np.testing.assert_array_equal(result.q[others], case.q0[others])


@every_solver
@every_case
def test_reported_errors_and_cost_are_those_of_the_returned_configuration(solver, name):
    case, result = solved(solver, name)
    expected = independent_errors(case.problem, result.q)
    position = [np.linalg.norm(shift) for shift, *_ in expected]
    orientation = [np.linalg.norm(turn) for _, turn, *_ in expected]
    # nearly equal axes and matrices have lost half their digits in scipy's way
    np.testing.assert_allclose(result.position_errors, position, atol=1e-9)
    np.testing.assert_allclose(result.orientation_errors, orientation, atol=2e-8)
    cost = independent_cost(case.problem, result.q)
    assert result.cost == pytest.approx(cost, rel=1e-6, abs=1e-12)


@every_solver
@every_case
def test_success_means_within_tolerance_and_nothing_else_does(solver, name):
    case, result = solved(solver, name)
    problem = case.problem
    within = (result.position_errors <= problem.position_tolerance).all() and (
        result.orientation_errors <= problem.orientation_tolerance
    ).all()
    assert result.success == within == (result.status is IkStatus.REACHED)
    if not case.reachable:
        assert not result.success


@every_case
def test_the_default_solver_reaches_all_that_can_be_reached(name):
    case, result = solved('levenberg_marquardt', name)
    assert result.success == case.reachable, result.message


@every_case
def test_damped_least_squares_with_restarts_reaches_them_too(name):
    case = CASES[name]()
    result = make_solver('damped_least_squares', restarts=20).solve(case.problem, case.q0)
    assert result.success == case.reachable, result.message


@every_solver
@every_case
def test_never_worse_than_the_start_in_the_limits(solver, name):
    case, result = solved(solver, name)
    _, x0 = case.problem.start(case.q0)
    assert result.success or result.cost <= case.problem.at(x0).cost


@every_solver
@pytest.mark.parametrize('name', OUT_OF_REACH)
def test_a_closest_point_has_no_descent_left(solver, name):
    case, result = solved(solver, name)
    if result.status is IkStatus.CLOSEST:
        at = case.problem.evaluate(result.q)
        assert is_stationary(case.problem, at)
        rng = np.random.default_rng(1)
        for size in (1e-4, 1e-3, 1e-2):  # nothing near is better, inside the limits
            for _ in range(60):
                x = case.problem.limits.project(at.x + size * rng.normal(size=len(at.x)))
                assert case.problem.at(x).cost >= at.cost * (1 - 1e-9)


@pytest.mark.parametrize('name', OUT_OF_REACH)
def test_the_default_solvers_closest_point_is_the_best_that_scipy_finds(name):
    case, result = solved('levenberg_marquardt', name)
    assert result.status is IkStatus.CLOSEST, result.message
    assert result.cost <= best_known_cost(case.problem, case.q0) * (1 + 1e-6)


@every_solver
@every_case
def test_the_same_again_bit_by_bit(solver, name):
    case, first = solved(solver, name)
    again = make_solver(solver)
    again.solve(reachable('iiwa14').problem)  # whatever it did before has no say
    second = again.solve(case.problem, case.q0)
    third = again.solve(case.problem, case.q0)
    for other in (second, third):
        np.testing.assert_array_equal(other.q, first.q)
        assert (other.iterations, other.evaluations, other.restarts) == (
            first.iterations, first.evaluations, first.restarts,
        )  # fmt: skip
        assert other.status is first.status


@every_solver
@every_case
def test_the_start_is_left_alone(solver, name):
    case = CASES[name]()
    q0 = case.q0.copy()
    q0.flags.writeable = False
    result = make_solver(solver, max_iterations=5).solve(case.problem, q0)
    np.testing.assert_array_equal(q0, case.q0)
    assert result.q is not q0


@every_solver
@pytest.mark.parametrize('name', ['panda', 'ur5e out of reach', 'two arms', 'behind a limit'])
@pytest.mark.parametrize('piece', [1, 3, 7])
def test_in_pieces_it_comes_to_exactly_the_same(solver, name, piece):
    case = CASES[name]()
    options = {'restarts': 5, 'random_seed': 3, 'max_iterations': 100}
    whole = make_solver(solver, **options).solve(case.problem, case.q0)
    search = make_solver(solver, **options).begin(case.problem, case.q0)
    pieces = 0
    while not search.advance(Budget(iterations=piece)):
        pieces += 1
        assert search.result().iterations == pieces * piece
    parts = search.result()
    np.testing.assert_array_equal(parts.q, whole.q)
    assert parts.status is whole.status
    assert (parts.iterations, parts.evaluations, parts.restarts) == (
        whole.iterations, whole.evaluations, whole.restarts,
    )  # fmt: skip
    assert parts.cost == whole.cost


@every_solver
@pytest.mark.parametrize('name', ['panda', 'panda out of reach', 'Y, one out of reach'])
def test_a_budget_of_iterations_is_kept_and_the_best_so_far_never_gets_worse(solver, name):
    case = CASES[name]()
    _, x0 = case.problem.start(case.q0)
    last = case.problem.at(x0).cost
    for iterations in [0, 1, 2, 3, 5, 8, 30, 100]:
        budget = Budget(iterations=iterations)
        result = make_solver(solver, restarts=20).solve(case.problem, case.q0, budget)
        assert result.iterations <= iterations
        if result.iterations == iterations and not result.success and iterations < 100:
            assert result.status in (IkStatus.ITERATION_LIMIT, IkStatus.CLOSEST)
        assert result.cost <= last * (1 + 1e-12)
        cost = independent_cost(case.problem, result.q)
        assert result.cost == pytest.approx(cost, rel=1e-6, abs=1e-12)
        last = result.cost


@every_solver
def test_without_iterations_the_start_comes_back_in_its_limits(solver):
    case = CASES['start outside the limits']()
    result = make_solver(solver).solve(case.problem, case.q0, Budget(iterations=0))
    q, x = case.problem.start(case.q0)
    q[case.problem.variables] = x
    np.testing.assert_array_equal(result.q, q)
    assert result.status is IkStatus.ITERATION_LIMIT
    assert result.iterations == 0


@every_solver
def test_a_result_before_the_first_advance_is_the_start(solver):
    case = CASES['start outside the limits']()
    result = make_solver(solver).begin(case.problem, case.q0).result()
    q, x = case.problem.start(case.q0)
    q[case.problem.variables] = x
    np.testing.assert_array_equal(result.q, q)
    assert result.cost == pytest.approx(independent_cost(case.problem, q))


class FakeClock:
    """Advances by `step` seconds every time somebody looks."""

    def __init__(self, step):
        self.now, self.step, self.looks = 0.0, step, 0

    def __call__(self):
        self.now += self.step
        self.looks += 1
        return self.now


@every_solver
def test_a_budget_of_seconds_is_kept(solver):
    case = CASES['panda out of reach']()
    clock = FakeClock(1.0)
    endless = make_solver(solver, clock=clock, restarts=10**6)
    search = endless.begin(case.problem, case.q0)
    assert not search.advance(Budget(seconds=4.5))
    result = search.result()
    assert result.status is IkStatus.TIME_LIMIT
    assert clock.looks <= 7  # when it began, every second of the budget, too late, at the end
    assert result.solve_time == pytest.approx(clock.looks - 1)
    assert 0 < result.iterations <= 5 * 64
    before = result.iterations
    search.advance(Budget(seconds=2.5))
    assert search.result().iterations > before
    assert search.result().cost <= result.cost


@every_solver
def test_time_that_is_up_gives_at_most_one_look_of_work(solver):
    case = CASES['panda out of reach']()
    search = make_solver(solver, clock=FakeClock(1.0), restarts=10**6).begin(case.problem, case.q0)
    search.advance(Budget(iterations=3))
    assert not search.advance(Budget(seconds=0.0))
    assert search.result().iterations == 3
    assert search.result().status is IkStatus.TIME_LIMIT


@every_solver
def test_random_seeds_choose_the_random_starts(solver):
    case = CASES['two arms, one out of reach']()
    few = {'restarts': 3, 'max_iterations': 8, 'record_history': True}
    one, two, other = (
        make_solver(solver, random_seed=seed, **few).solve(case.problem, case.q0)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.q, two.q)
    assert one.restarts == other.restarts == 3
    assert one.history == two.history
    assert one.history != other.history


@every_solver
def test_numpys_global_random_state_has_no_say_and_is_left_alone(solver):
    case = CASES['ur5e out of reach']()
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = make_solver(solver, restarts=3).solve(case.problem, case.q0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    second = make_solver(solver, restarts=3).solve(case.problem, case.q0)
    np.testing.assert_array_equal(first.q, second.q)


@every_solver
def test_history_is_as_long_as_the_iterations_and_ends_at_the_cost(solver):
    case = CASES['panda']()
    recording = make_solver(solver, record_history=True)
    result = recording.solve(case.problem, case.q0)
    assert len(result.history) == result.iterations
    assert result.history[-1] == pytest.approx(result.cost, rel=1e-3, abs=1e-18)
    assert make_solver(solver).solve(case.problem, case.q0).history == ()


@every_solver
def test_without_iterations_there_is_no_history(solver):
    case = CASES['panda']()
    recording = make_solver(solver, record_history=True)
    assert recording.solve(case.problem, case.q0, Budget(iterations=0)).history == ()
    start = CASES['start is goal']()
    assert recording.solve(start.problem, start.q0).history == ()


@every_solver
def test_the_answer_takes_the_turn_nearest_to_the_start(solver):
    robot, rng = robots.shipped('pr2_like'), np.random.default_rng(21)
    q = robots.random_q(robot, rng, margin=0.2)
    problem = IkProblem(robot, [goal_at(robot, q)])
    start = q + 0.1
    turning = np.flatnonzero(robot.continuous)
    plain = make_solver(solver).solve(problem, start)
    turned = start.copy()
    turned[turning] += 2 * np.pi * np.array([3, -2])
    result = make_solver(solver).solve(problem, turned)
    assert plain.success
    assert result.success
    assert np.abs(result.q - turned)[turning].max() <= np.pi
    np.testing.assert_allclose(result.q - turned, plain.q - start, atol=1e-3)


@every_solver
def test_targets_move_between_solves_and_stay_during_one(solver):
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(22)
    goal = goal_at(robot, robots.random_q(robot, rng, margin=0.3))
    problem = IkProblem(robot, [goal], **SLOW.get(solver, {}))
    reusable = make_solver(solver, restarts=20)
    for _ in range(5):
        q = robots.random_q(robot, rng, margin=0.3)
        target = robot.forward_kinematics(q, goal.link)
        goal.set_target(target)
        result = reusable.solve(problem, near(robot, q, rng, 0.1))
        assert result.success
        position, orientation = robots.pose_errors(robot, result.q, goal.link, target)
        assert position <= problem.position_tolerance
        assert orientation <= problem.orientation_tolerance + 1e-8
    q = robots.random_q(robot, rng, margin=0.3)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    search = reusable.begin(problem, near(robot, q, rng, 0.1))
    goal.set_target(np.eye(4))
    search.advance()
    assert search.result().success


@every_solver
def test_clones_can_be_solved_in_turns(solver):
    case = CASES['panda']()
    alone = make_solver(solver).solve(case.problem, case.q0)
    clone = case.problem.clone()
    clone.goals[0].set_target(position=[9.0, 0, 0])
    searches = [make_solver(solver).begin(problem, case.q0) for problem in (case.problem, clone)]
    while not all(search.done for search in searches):
        for search in searches:
            search.advance(Budget(iterations=1))
    np.testing.assert_array_equal(searches[0].result().q, alone.q)
    assert not searches[1].result().success


@every_solver
def test_one_solver_takes_problems_of_different_sizes(solver):
    reusable = make_solver(solver)
    for name in ('panda', 'two arms', 'scara', 'chained mimics', 'Y', 'panda'):
        case = CASES[name]()
        _, expected = solved(solver, name)
        result = reusable.solve(case.problem, case.q0)
        np.testing.assert_array_equal(result.q, expected.q)


@every_solver
def test_secondary_tasks_move_only_in_the_null_space(solver):
    case = CASES['panda']()
    robot, goals = case.problem.robot, case.problem.goals
    task = OrientationTask('panda_link4', [0, 0, 0, 1])
    result, honoured = (
        make_solver(solver).solve(
            IkProblem(robot, goals, secondary=secondary, **SLOW.get(solver, {})), case.q0
        )
        for secondary in ([], [task])
    )
    assert honoured.success == result.success
    before, after = (np.linalg.norm(task.residual(robot, q)) for q in (result.q, honoured.q))
    assert after < before - 1e-3
    assert honoured.cost <= max(1.0001 * result.cost, 1e-9)


@every_solver
def test_other_tasks_are_weighed_against_goals_or_refused(solver):
    case = CASES['panda']()
    robot = case.problem.robot
    rest = ik.PostureTask(case.q0, weights=1e-2)
    problem = IkProblem(robot, [*case.problem.goals, rest])
    try:
        result = make_solver(solver).solve(problem, case.q0)
    except ik.UnsupportedProblem as refusal:
        assert solver in str(refusal)
        return
    start = problem.evaluate(case.q0)
    assert result.cost < start.cost
    assert result.cost == pytest.approx(problem.evaluate(result.q).cost)
    assert not result.success  # the posture pulls the arm off its goal


@every_solver
def test_bad_starts_are_refused_and_the_solver_goes_on(solver):
    (case, expected), reusable = solved(solver, 'panda'), make_solver(solver)
    for bad in ([0.0] * 7, [np.nan] * 8, [np.inf] * 8, 'home'):
        with pytest.raises(ik.InvalidConfiguration, match='q0'):
            reusable.solve(case.problem, bad)
    np.testing.assert_array_equal(reusable.solve(case.problem, case.q0).q, expected.q)


def test_solve_is_make_solver_and_solve():
    case, expected = solved('damped_least_squares', 'panda')
    result = ik.solve(case.problem, case.q0, solver='damped_least_squares')
    np.testing.assert_array_equal(result.q, expected.q)
    limited = ik.solve(case.problem, case.q0, budget=Budget(iterations=1), restarts=0)
    assert limited.iterations == 1
    with pytest.raises(ik.InvalidOption, match='damping'):
        ik.solve(case.problem, case.q0, damping=-1.0)
