# SPDX-License-Identifier: Apache-2.0
"""Promises of every solver besides its answers: budgets, seeds, history, reuse, refusals.

The answers themselves are in test_solver_contract.py.
"""

import numpy as np
import pytest
from support import robots
from support.oracles import independent_cost
from support.solver_cases import CASES, SLOW, goal_at, near, solved

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, OrientationTask, make_solver

ROUNDING = 1e-24  # [m^2] Of a cost that is none
every_solver = pytest.mark.parametrize('solver', list(ik.SOLVERS))


@every_solver
@pytest.mark.parametrize('name', ['start outside the limits', 'behind a limit', 'panda'])
def test_a_search_stands_inside_the_limits_at_its_start_and_after_every_iteration(solver, name):
    case = CASES[name]()
    problem, moved = case.problem, case.problem.variables
    start, x = problem.start(case.q0)
    start[moved] = x
    search = make_solver(solver).begin(problem, case.q0)
    unmoved = make_solver(solver).solve(problem, case.q0, Budget(iterations=0))
    assert unmoved.status is IkStatus.ITERATION_LIMIT
    for result in (search.result(), unmoved):
        np.testing.assert_array_equal(result.q, start)
        assert result.iterations == 0
        assert result.cost == pytest.approx(independent_cost(problem, start))
    np.testing.assert_array_equal(search.q, start)
    for _ in range(20):
        search.run(Budget(iterations=1))
        assert (search.q[moved] >= problem.limits.lower).all()
        assert (search.q[moved] <= problem.limits.upper).all()
        cost = independent_cost(problem, search.q)
        assert search.cost == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert search.result().cost <= cost * (1.0 + 1e-9) + ROUNDING
    assert (search.q != start).any()


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
    assert not search.run(Budget(seconds=4.5))
    result = search.result()
    assert result.status is IkStatus.TIME_LIMIT
    assert clock.looks <= 7  # when it began, every second of the budget, too late, at the end
    assert result.solve_time == pytest.approx(clock.looks - 1)
    assert 0 < result.iterations <= 5 * 64
    before = result.iterations
    search.run(Budget(seconds=2.5))
    assert search.result().iterations > before
    assert search.result().cost <= result.cost


@every_solver
def test_time_that_is_up_gives_at_most_one_look_of_work(solver):
    case = CASES['panda out of reach']()
    search = make_solver(solver, clock=FakeClock(1.0), restarts=10**6).begin(case.problem, case.q0)
    search.run(Budget(iterations=3))
    assert not search.run(Budget(seconds=0.0))
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
    search.run()
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
            search.run(Budget(iterations=1))
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
    for solver in ('damped_least_squares', make_solver('damped_least_squares')):
        result = ik.solve(case.problem, case.q0, solver=solver)
        np.testing.assert_array_equal(result.q, expected.q)
    with pytest.raises(ik.InvalidOption, match='need the name of a solver'):
        ik.solve(case.problem, case.q0, solver=solver, damping=1.0)
    limited = ik.solve(case.problem, case.q0, budget=Budget(iterations=1), restarts=0)
    assert limited.iterations == 1
    with pytest.raises(ik.InvalidOption, match='damping'):
        ik.solve(case.problem, case.q0, damping=-1.0)
