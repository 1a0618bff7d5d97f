# SPDX-License-Identifier: Apache-2.0
"""The loop that iterative solvers share, driven by solvers whose steps are written down here."""

import dataclasses

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, PositionTask
from ik_core.optim.search import SearchOptions, is_stationary
from ik_core.optim.workspace import State
from ik_core.robot.limits import random_configuration
from ik_core.solvers.base import IterativeSolver


def cross(limit=10.0):
    """Two prismatic joints along x and y: the residual is simply q minus the target."""
    joints = [
        ik.robot.Joint('x', 'prismatic', 'a', 'b', axis=np.eye(3)[0], lower=-limit, upper=limit),
        ik.robot.Joint('y', 'prismatic', 'b', 'c', axis=np.eye(3)[1], lower=-limit, upper=limit),
        ik.robot.Joint('z', 'prismatic', 'c', 'd', axis=np.eye(3)[2], lower=-1.0, upper=1.0),
    ]
    return ik.Robot.from_joints('cross', list('abcd'), joints)


def problem_for(*target, **options):
    return IkProblem(cross(), [PositionTask('c', [*target, 0.0], weights=(1, 1, 0))], **options)


class Scripted(IterativeSolver):
    """Visits the given points one after the other, then stays at the last one."""

    name = 'scripted'
    path = ()
    clock_steps = ()

    def __init__(self, *path, **options):
        super().__init__(**options)
        self.path = [np.array(point, float) for point in path]
        self.started = []

    def start(self, problem, at):
        self.started.append(at.x.copy())
        self.left = list(self.path)
        return State(at)

    def step(self, problem, state):
        point = self.left.pop(0) if self.left else state.at.x
        return State(problem.at(problem.limits.project(point)))


class FakeClock:
    """Advances by `step` seconds every time somebody looks."""

    def __init__(self, step):
        self.now, self.step, self.looks = 100.0, step, 0

    def __call__(self):
        self.now += self.step
        self.looks += 1
        return self.now


def test_it_ends_as_soon_as_the_goal_is_reached():
    result = Scripted((1, 1), (2, 3), (9, 9)).solve(problem_for(2, 3), [0, 0, 0.5])
    assert result.status is IkStatus.REACHED
    assert result.success
    assert result.iterations == 2
    assert result.evaluations == 3
    assert result.restarts == 0
    assert result.q.tolist() == [2, 3, 0.5]
    assert result.position_errors.tolist() == [0]
    assert result.cost == 0


def test_a_start_at_the_goal_needs_no_iteration():
    result = Scripted((9, 9)).solve(problem_for(2, 3), [2, 3, 0])
    assert (result.status, result.iterations) == (IkStatus.REACHED, 0)
    assert result.q.tolist() == [2, 3, 0]


def test_the_best_of_all_points_is_returned_and_judged():
    path = [(5, 5), (2, 3.5), (7, 7), (8, 8)]
    result = Scripted(*path, max_iterations=4).solve(problem_for(2, 3), [0, 0, 0])
    assert result.q.tolist() == [2, 3.5, 0]
    assert result.position_errors == pytest.approx([0.5])
    assert result.cost == pytest.approx(0.25)
    assert result.status is IkStatus.ITERATION_LIMIT
    assert not result.success


def test_the_start_may_be_the_best():
    result = Scripted((5, 5), (6, 6), max_iterations=2).solve(problem_for(2, 3), [2, 2.5, 0])
    assert result.q.tolist() == [2, 2.5, 0]


def test_standing_still_with_descent_left_is_stalled():
    result = Scripted((1, 1)).solve(problem_for(2, 3), [0, 0, 0])
    assert result.status is IkStatus.STALLED
    assert result.iterations == 2


def test_standing_where_no_descent_is_left_is_closest():
    result = Scripted((10, 3)).solve(problem_for(12, 3), [0, 0, 0])
    assert result.status is IkStatus.CLOSEST
    assert result.q.tolist() == [10, 3, 0]
    assert result.iterations == 1


def test_a_best_point_seen_on_the_way_is_not_called_closest_for_where_it_ended():
    goal = PositionTask('tip', [3.0, 0.0, 0.0])  # out of reach: the arm is 2 long
    problem = IkProblem(bent_arm(), [goal], lower=[0.1, -4.0], upper=[5.0, 4.0])
    # Where j1 can't go on round to the goal, the forearm points to it: the least cost around.
    elbow = np.array([np.cos(5.0), np.sin(5.0)])
    turned = np.arctan2(*([3.0, 0.0] - elbow)[::-1]) - 5.0 + 2.0 * np.pi
    result = Scripted((0.1, 0.1), (5.0, turned)).solve(problem, [1.0, 1.0])
    np.testing.assert_array_equal(result.q, [0.1, 0.1])
    assert result.status is IkStatus.STALLED


def test_a_stationary_point_that_is_no_minimum_is_left():
    problem = IkProblem(bent_arm(), [PositionTask('tip', [3.0, 0.0, 0.0])])
    inward = [np.pi, 0.0]  # stretched out away from the goal: the farthest point
    result = Scripted(inward, max_iterations=1).solve(problem, inward)
    assert result.cost < 25.0 - 0.5
    assert result.status is IkStatus.ITERATION_LIMIT


def bent_arm():
    z = np.array([0.0, 0.0, 1.0])
    shift = robots.transform(translation=[1.0, 0.0, 0.0])
    joints = [
        ik.robot.Joint('j1', 'continuous', 'a', 'b', axis=z),
        ik.robot.Joint('j2', 'continuous', 'b', 'c', shift, z),
        ik.robot.Joint('end', 'fixed', 'c', 'tip', shift),
    ]
    return ik.Robot.from_joints('bent', ['a', 'b', 'c', 'tip'], joints)


def test_every_attempt_has_max_iterations_and_begins_at_its_random_point():
    solver = Scripted(*[(i, 9) for i in range(8)], max_iterations=3, restarts=2, random_seed=5)
    result = solver.solve(problem_for(2, 3), [0, 0, 0])
    assert (result.iterations, result.restarts) == (9, 2)
    assert result.evaluations == 3 + 9
    assert len(solver.started) == 3
    for attempt in (1, 2):
        expected = np.empty(2)
        random_configuration(5, attempt, np.full(2, -10.0), np.full(2, 10.0), expected)
        np.testing.assert_array_equal(solver.started[attempt], expected)


def test_a_random_start_can_be_the_solution_or_the_best():
    first = np.empty(2)
    random_configuration(0, 1, np.full(2, -10.0), np.full(2, 10.0), first)
    solver = Scripted((9, 9), max_iterations=1, restarts=3)
    reached = solver.solve(problem_for(*first), [0, 0, 0])
    assert reached.status is IkStatus.REACHED
    assert (reached.iterations, reached.restarts) == (1, 1)
    near = Scripted((9, -9), max_iterations=1, restarts=1).solve(
        problem_for(*(first + 1e-3)), [0, 0, 0]
    )
    np.testing.assert_array_equal(near.q[:2], first)
    assert near.cost == pytest.approx(2e-6)


def test_the_best_of_all_attempts_is_returned():
    path = [(2, 3.1), (9, 9)]
    solver = Scripted(*path, max_iterations=2, restarts=4)
    result = solver.solve(problem_for(2, 3), [0, 0, 0])
    assert result.q.tolist() == [2, 3.1, 0]
    assert result.restarts == 4
    assert result.status is IkStatus.ITERATION_LIMIT


def test_a_closest_point_of_an_earlier_attempt_is_still_one():
    class Falls(Scripted):
        def step(self, problem, state):  # first to the closest point, later to other places
            point = (10, 3) if len(self.started) == 1 else (0, -len(self.started))
            return State(problem.at(np.array(point, float)))

    result = Falls(restarts=2).solve(problem_for(12, 3), [0, 0, 0])
    assert result.q.tolist() == [10, 3, 0]
    assert result.status is IkStatus.CLOSEST
    assert result.restarts == 2


def test_history_is_the_cost_after_every_iteration():
    path = [(2, 5), (2, 4), (2, 6)]
    solver = Scripted(*path, max_iterations=3, record_history=True)
    assert solver.solve(problem_for(2, 3), [0, 0, 0]).history == (4.0, 1.0, 9.0)
    assert Scripted(*path, max_iterations=3).solve(problem_for(2, 3)).history == ()


# --- budgets ---------------------------------------------------------------------------------


def test_a_budget_of_iterations_is_kept_exactly_and_can_be_continued():
    path = [(i, i) for i in range(1, 8)]
    search = Scripted(*path).begin(problem_for(5, 5), [0, 0, 0])
    assert not search.run(Budget(iterations=0))
    assert search.result().iterations == 0
    assert not search.run(Budget(iterations=3))
    middle = search.result()
    assert (middle.iterations, middle.status) == (3, IkStatus.ITERATION_LIMIT)
    assert middle.q.tolist() == [3, 3, 0]
    assert search.run(Budget(iterations=3))
    end = search.result()
    assert (end.iterations, end.status, end.q.tolist()) == (5, IkStatus.REACHED, [5, 5, 0])
    assert search.run(Budget(iterations=3))
    assert search.result().iterations == 5


def test_a_result_before_the_first_advance_is_the_start():
    search = Scripted((1, 1)).begin(problem_for(2, 3), [30, 4, 0])
    result = search.result()
    assert result.q.tolist() == [10, 4, 0]
    assert not result.success
    assert result.iterations == 0
    assert not search.done


def test_a_budget_of_seconds_ends_at_the_deadline():
    clock = FakeClock(1.0)
    solver = Scripted(*[(i / 10, 0) for i in range(1, 90)], clock=clock)
    search = solver.begin(problem_for(9, 9), [0, 0, 0])
    assert not search.run(Budget(seconds=3.5))
    result = search.result()
    assert result.status is IkStatus.TIME_LIMIT
    assert result.iterations == 3
    assert result.solve_time == pytest.approx(5.0)  # three looks in time, one too late, the end
    assert not search.run(Budget(seconds=2.5))
    assert search.result().iterations == 5
    assert search.result().solve_time == pytest.approx(9.0)


def test_the_tighter_of_two_budgets_counts():
    def run(**budget):
        solver = Scripted(*[(i / 10, 0) for i in range(1, 90)], clock=FakeClock(1.0))
        return solver.solve(problem_for(9, 9), [0, 0, 0], Budget(**budget))

    few = run(seconds=3.5, iterations=2)
    assert (few.iterations, few.status) == (2, IkStatus.ITERATION_LIMIT)
    late = run(seconds=3.5, iterations=20)
    assert (late.iterations, late.status) == (3, IkStatus.TIME_LIMIT)


def test_no_time_at_all_gives_the_start():
    solver = Scripted((2, 3), clock=FakeClock(1.0))
    result = solver.solve(problem_for(2, 3), [0, 0, 0], Budget(seconds=0.0))
    assert (result.iterations, result.status) == (0, IkStatus.TIME_LIMIT)
    assert result.q.tolist() == [0, 0, 0]


def test_solved_counts_more_than_an_exhausted_budget():
    solver = Scripted((2, 3), clock=FakeClock(1.0))
    result = solver.solve(problem_for(2, 3), [2, 3, 0], Budget(seconds=0.0))
    assert result.status is IkStatus.REACHED


# --- the end ---------------------------------------------------------------------------------


def test_the_answer_is_turned_near_to_the_start():
    problem = IkProblem(bent_arm(), [PositionTask('tip', [0.0, 2.0, 0.0])])
    start = [-20.0, 30.0]
    result = Scripted((np.pi / 2, 0.0)).solve(problem, start)
    assert result.success
    assert np.abs(result.q - start).max() <= np.pi + 1e-12
    turns = (result.q - [np.pi / 2, 0.0]) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)


def test_the_message_says_status_and_largest_errors():
    robot = robots.shipped('dual_arm')
    goals = [PositionTask('left_palm', [0.5, 0, 0]), PositionTask('right_palm', [9.0, 0, 0])]
    solver = Scripted(max_iterations=1)
    result = solver.solve(IkProblem(robot, goals))
    assert f'{result.position_errors.max():.4g} m' in result.message
    assert result.status.value in result.message
    turned = dataclasses.replace(result, orientation_errors=np.array([0.1, np.pi]))
    assert '180 deg' in turned.message


def test_stationary_means_no_free_column_leans_on_the_residual():
    def stationary(target, q):
        problem = problem_for(*target)
        return is_stationary(problem, problem.evaluate([*q, 0.0]))

    assert stationary((2, 3), (2, 3))
    assert not stationary((2, 3), (2, 3 + 1e-9))
    assert stationary((12, 3), (10, 3))
    assert stationary((-12, 3), (-10, 3))
    assert not stationary((12, 3), (-10, 3))
    assert not stationary((-12, 3), (10, 3))
    assert not stationary((12, 3), (9.999, 3))
    assert not stationary((12, 3), (10, 3.1))
    assert not stationary((12, 3), (10, 3 + 1e-5))  # a cosine of 5e-6, of 5e-7
    assert stationary((12, 3), (10, 3 + 1e-6))
    assert stationary((12, -13), (10, -10))


def test_driver_options_are_shared_by_all_solvers():
    shared = {field.name for field in dataclasses.fields(SearchOptions)}
    for solver in ik.SOLVERS.values():
        assert shared <= {field.name for field in dataclasses.fields(solver.Options)}
