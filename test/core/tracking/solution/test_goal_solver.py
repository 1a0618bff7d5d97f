# SPDX-License-Identifier: Apache-2.0
"""The goal solver: from phase to phase, and joints that go a turn back."""

import math

import numpy as np
import pytest
from support.robots import shipped, tip_of

import ik_core as ik
from ik_core.tracking import MotionLimits
from ik_core.tracking.solution.goal_solver import GoalSolver, Phase, all_finite, turn_back

RATE = 100.0
Q0 = np.array([0.2, -1.2, 1.5, -1.8, -1.4, 0.3])
ROBOT = shipped('ur5e')
TIP = tip_of(ROBOT)


def solver_at(q0=Q0, replan_period=0.5, updates=0, **options):
    """A goal solver at rest at q0, its goal where the tip is there."""
    problem = ik.IkProblem(ROBOT, [ik.PoseTask(TIP)])
    limits = MotionLimits.of(ROBOT, acceleration=20.0)
    solver = GoalSolver(problem, limits, RATE, lambda: 0.0)
    solver.set_budget(updates, replan_period)
    solver.set_solver('levenberg_marquardt', options)
    solver.rest(np.array(q0))
    aim(solver, ROBOT.forward_kinematics(q0, TIP))
    return solver


def aim(solver, transform):
    solver.problem.goals[0].set_target(transform)
    solver.invalidate()


def near(shift=0.02):
    pose = ROBOT.forward_kinematics(Q0, TIP)
    pose[2, 3] += shift
    return pose


def tick(solver, now=0.0):
    solver.begin_tick()
    return solver.follow(Q0, now)


def in_phase(phase):
    """A goal solver that came into the phase."""
    solver = solver_at()
    if phase is Phase.CONVERGED:
        tick(solver)
    elif phase is not Phase.FOLLOWING:
        aim(solver, near(0.02 if phase is Phase.CHOOSING else 3.0))  # 3 m are out of reach
        solver.jump()
    while phase is Phase.CHOOSING and solver.phase is Phase.JUMPED:
        solver.follow(Q0, 0.0, lambda *_: False)
    if phase is Phase.WAITING:
        solver._next_search = math.inf
    while phase in (Phase.WAITING, Phase.SEARCHING) and solver.phase is Phase.JUMPED:
        tick(solver)
    assert solver.phase is phase
    return solver


def test_a_goal_within_reach_is_followed_until_it_is_converged():
    solver = solver_at()
    aim(solver, near())
    assert solver.phase is Phase.FOLLOWING
    assert tick(solver) is False
    assert solver.phase is Phase.CONVERGED
    np.testing.assert_allclose(ROBOT.forward_kinematics(solver.solution, TIP), near(), atol=1e-6)


def test_a_solve_with_few_updates_a_tick_is_followed_over_several_ticks():
    solver = solver_at(updates=1)
    aim(solver, near())
    phases = [(tick(solver), solver.phase)[1] for _ in range(12)]
    assert phases[0] is Phase.FOLLOWING
    assert phases[-1] is Phase.CONVERGED


def test_a_goal_that_jumped_and_is_reached_is_not_searched_for():
    solver = solver_at()
    aim(solver, near())
    solver.jump()
    tick(solver)
    assert solver.phase is Phase.CONVERGED


def test_a_goal_that_jumped_and_is_not_reached_is_searched_for_and_then_followed():
    solver = in_phase(Phase.SEARCHING)
    before = solver.solution
    for _ in range(1000):
        has_ended = tick(solver)
        if has_ended:
            break
        assert solver.phase is Phase.SEARCHING
        assert solver.solution is before
    assert has_ended
    assert solver.restarts > 0
    assert solver.phase is Phase.FOLLOWING
    tick(solver)
    assert solver.phase is Phase.CONVERGED


def test_the_next_search_waits_for_its_time():
    solver = in_phase(Phase.SEARCHING)
    while not tick(solver, 0.0):
        pass
    aim(solver, near(4.0))
    solver.jump()
    while solver.phase is Phase.JUMPED:
        tick(solver, 0.1)
    assert solver.phase is Phase.WAITING
    tick(solver, 0.49)
    assert solver.phase is Phase.WAITING
    tick(solver, 0.5)
    assert solver.phase is Phase.SEARCHING


def test_a_goal_that_comes_into_reach_while_it_waits_is_followed():
    solver = in_phase(Phase.WAITING)
    aim(solver, near())
    assert solver.phase is Phase.JUMPED
    tick(solver)
    assert solver.phase is Phase.CONVERGED


F, C, J, W, S, CHOOSING = Phase
TRANSITIONS = {
    'invalidate': (lambda solver: solver.invalidate(), {F: F, C: F, J: J, W: J, S: S}),
    'settle': (lambda solver: solver.settle(), {F: C, C: C, J: W, W: W, S: S}),
    'jump': (lambda solver: solver.jump(), {F: J, C: J, J: J, W: J, S: J}),
    'stay': (lambda solver: solver.stay_on_branch(), {F: F, C: F, J: F, W: F, S: F}),
    'rest': (lambda solver: solver.rest(Q0), {F: F, C: F, J: F, W: F, S: F}),
    'move': (lambda solver: solver.move_solution(Q0), {F: F, C: F, J: J, W: J, S: S}),
    'limits': (lambda solver: solver.set_limits(solver.limits), {F: F, C: F, J: J, W: J, S: J}),
    'problem': (
        lambda solver: solver.set_problem(ik.IkProblem(ROBOT, [ik.PoseTask(TIP)]), solver.limits),
        {F: F, C: F, J: J, W: J, S: J},
    ),
}


@pytest.mark.parametrize('before', Phase)
@pytest.mark.parametrize('name', TRANSITIONS)
def test_a_transition_leads_from_each_phase_to_the_one_that_it_should(name, before):
    solver = in_phase(before)
    act, after = TRANSITIONS[name]
    act(solver)
    after = {**after, CHOOSING: CHOOSING if after[S] is S else after[S]}  # as the other search
    assert solver.phase is after[before]
    assert solver.is_searching is (solver.phase in (S, CHOOSING))
    assert solver.is_settled is (solver.phase in (C, W, S, CHOOSING))
    assert solver.stays_on_branch is (solver.phase in (F, C))


def test_following_closely_never_searches_and_leaves_what_it_cannot_reach():
    solver = solver_at()
    aim(solver, near(3.0))
    solver.jump()
    before = solver.solution
    assert not solver.follow_step(Q0, in_time=True)
    assert solver.phase is Phase.CONVERGED
    assert solver.solution is before
    aim(solver, near(1e-3))
    assert solver.follow_step(Q0, in_time=True)
    assert np.abs(solver.solution - before).max() > 0.0


def test_following_closely_does_not_adopt_a_solution_that_is_not_near():
    solver = solver_at()
    aim(solver, near(0.25))  # within reach, but far for two ticks
    before = solver.solution
    assert not solver.follow_step(Q0, in_time=True)
    assert solver.solution is before


def test_what_is_moved_goes_on_from_there():
    solver = in_phase(Phase.CONVERGED)
    q = Q0 + 0.05
    solver.move_solution(q)
    assert solver.solution is q
    tick(solver)
    goal = ROBOT.forward_kinematics(Q0, TIP)
    np.testing.assert_allclose(ROBOT.forward_kinematics(solver.solution, TIP), goal, atol=1e-6)


def test_a_solver_that_cannot_do_the_problem_keeps_the_one_before():
    solver = in_phase(Phase.CONVERGED)
    solver.set_solver('cyclic_coordinate_descent', {})
    before = solver.problem
    crowded = ik.IkProblem(ROBOT, [ik.PoseTask(TIP), ik.PostureTask(Q0)])
    with pytest.raises(ik.UnsupportedProblem):
        solver.set_problem(crowded, solver.limits)
    assert solver.problem is before


# Turns


@pytest.mark.parametrize(
    ('q', 'lower', 'upper', 'after'),
    [
        (6.5, -6.5, 6.5, 6.5 - math.tau),
        (-6.5, -6.5, 6.5, -6.5 + math.tau),
        (6.4, -6.5, 6.5, 6.4),  # not at its limit
        (6.5, 0.5, 6.5, 6.5),  # no room for a turn
        (0.5, 0.5, 6.5, 0.5),
    ],
)
def test_only_joints_at_a_limit_with_room_for_a_turn_are_turned_back(q, lower, upper, after):
    rows = np.array([q]), np.array([lower]), np.array([upper])
    assert turn_back(*rows, np.array([True])) == (q != after)
    assert rows[0][0] == after
    assert not turn_back(np.array([6.5]), -rows[2], rows[2], np.array([False]))


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_all_finite_sees_one_bad_value(bad):
    assert all_finite(np.zeros(3))
    assert not all_finite(np.array([0.0, 0.0, bad]))
