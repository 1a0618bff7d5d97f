# SPDX-License-Identifier: Apache-2.0
"""A method in steps makes the same solve as its solver in one go; and it fails alone."""

import threading

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import IkStatus
from ik_core.optim.workspace import State
from ik_core.solvers.base import IterativeSolver
from ik_viewer.arm import GoalKind, TipState
from ik_viewer.compare.comparison import Comparison
from ik_viewer.compare.methods import Method, all_methods
from ik_viewer.compare.start import Start, goals_of, stretched_arm
from ik_viewer.compare.stepped_solve import Phase, SteppedSolve

LONG = 1e9  # [s] No frame ends for want of time


def start_of(name='arm5', kind=GoalKind.POSITION, seed=3):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    link = robots.tip_of(robot)
    target = robot.forward_kinematics(robots.random_q(robot, rng, margin=0.3), link)
    goals = goals_of([TipState(link, np.eye(4), kind, target)])
    return Start(robot, robots.random_q(robot, rng, margin=0.3), goals)


def finished(run, updates=50):
    for _ in range(10_000):
        if run.over:
            return run.state
        run.advance(updates, LONG)
    raise AssertionError(f'{run.method.name} does not end')


@pytest.mark.parametrize('method', all_methods(), ids=lambda c: f'{c.solver}-{c.preset}')
def test_a_run_in_steps_goes_the_way_of_the_solver_alone(method):
    start = start_of()
    alone = ik.make_solver(method.solver, preset=method.preset, record_history=True).solve(
        start.problem(), start.q0
    )
    run = SteppedSolve(method, start)
    state = finished(run, updates=7)
    assert state.phase is Phase.DONE
    assert state.text == alone.status.value
    assert state.iterations == alone.iterations
    np.testing.assert_allclose(state.q, alone.q, atol=1e-12)
    costs = np.square(run.curve.position)[1:]
    assert run.curve.iterations == [*range(len(costs) + 1)]
    np.testing.assert_allclose(costs[: len(alone.history) - 1], alone.history[:-1], rtol=1e-6)


def test_a_frame_has_as_many_updates_as_it_is_given_and_one_where_time_is_up():
    run = SteppedSolve(Method('jacobian_transpose', 'engell_erleben'), start_of())
    run.advance(7, LONG)
    assert run.state.iterations == 7
    run.advance(10**9, 0.0)
    assert run.state.iterations == 8
    assert run.state.phase is Phase.RUNNING


def test_it_is_shown_where_it_stands_and_not_at_its_best():
    start = stretched_arm(robots.shipped('panda'), 'panda_hand_tcp')
    run = SteppedSolve(Method('jacobian_transpose', 'coursework'), start)
    search = run.method.make().begin(start.problem(), start.q0)
    costs = []
    for _ in range(500):
        run.advance(1, LONG)
        search.run(ik.Budget(iterations=1))
        costs.append(start.problem().errors(run.state.q)[0].max())
        assert run.state.position_error == costs[-1]
    assert min(costs) == pytest.approx(search.result().position_errors.max())
    assert np.diff(costs).max() > 0.0


def test_the_goal_of_the_page_is_asked_for_as_the_page_has_it():
    tool = np.eye(4)
    tool[:3, 3] = 0.02, 0.01, 0.1
    robot = robots.shipped('panda')
    link, q = 'panda_hand', np.clip(np.full(robot.n, 0.4), robot.lower, robot.upper)
    target = robot.forward_kinematics(q, link) @ tool
    turned = target.copy()
    turned[:3, :2] = target[:3, 1::-1] * [1.0, -1.0]  # a quarter turn about its z axis
    expected = {GoalKind.POSE: np.pi / 2.0, GoalKind.AXIS: 0.0, GoalKind.POSITION: 0.0}
    for kind, angle in expected.items():
        start = Start(robot, q, goals_of([TipState(link, tool, kind, turned)]))
        position, orientation = start.problem().errors(q)
        assert position.max() == pytest.approx(0.0, abs=1e-12)
        assert orientation.max() == pytest.approx(angle, abs=1e-7)
    up = turned.copy()
    up[:3, :3] = turned[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    start = Start(robot, q, goals_of([TipState(link, tool, GoalKind.AXIS, up)]))
    assert start.problem().errors(q)[1].max() == pytest.approx(np.pi)
    assert goals_of([TipState(link, tool)]) == ()


class Strange(IterativeSolver):
    """Does in its step what the test says."""

    name = 'strange'
    act = staticmethod(lambda problem, state: state)

    def start(self, problem, at):
        return State(at)

    def step(self, problem, state):
        return type(self).act(problem, state)


@pytest.fixture
def strange(monkeypatch):
    """Return a function that makes a method with a given step."""

    def make(act):
        kind = type('Strange', (Strange,), {'act': staticmethod(act)})
        monkeypatch.setitem(ik.SOLVERS, 'strange', kind)
        return Method('strange')

    return make


def fail(problem, state):
    raise ZeroDivisionError('no such number')


def test_a_method_that_raises_fails_alone_with_the_error(strange):
    comparison = Comparison([strange(fail), Method('levenberg_marquardt')], start_of())
    while not comparison.over:
        comparison.advance(5, 0.05)
    comparison.close()
    failed, sound = comparison.states
    assert failed.phase is Phase.FAILED
    assert failed.text == 'ZeroDivisionError: no such number'
    assert sound.text == IkStatus.REACHED.value


def test_an_unknown_solver_or_no_goal_fails_with_a_sentence():
    run = SteppedSolve(Method('levenberg_markwart'), start_of())
    run.advance(1, LONG)
    assert run.state.phase is Phase.FAILED
    assert "did you mean 'levenberg_marquardt'" in run.state.text
    start = start_of()
    run = SteppedSolve(Method('levenberg_marquardt'), Start(start.robot, start.q0, ()))
    run.advance(1, LONG)
    assert 'at least one goal' in run.state.text


def run_away(problem, state):
    at = problem.at(state.at.x)
    at.x = np.full_like(at.x, np.nan)
    return State(at)


def test_a_method_that_diverges_fails_and_keeps_a_finite_q(strange):
    run = SteppedSolve(strange(run_away), start_of())
    while not run.over:
        run.advance(5, LONG)
    assert run.state.phase is Phase.FAILED
    assert np.isfinite(run.state.q).all()


def test_a_method_stuck_in_an_update_delays_neither_page_nor_others(strange):
    let_go, entered = threading.Event(), threading.Event()

    def hang(problem, state):
        entered.set()
        assert let_go.wait(300.0)
        return state

    others = [Method('levenberg_marquardt'), Method('projected_gradient')]
    comparison = Comparison([others[0], strange(hang), others[1]], start_of())
    try:
        for _ in range(10_000):
            first, stuck, last = comparison.advance(3, 0.05)  # would not come back if it waited
            if Phase.DONE is first.phase is last.phase:
                break
        assert entered.is_set()
        assert stuck.phase is not Phase.DONE
        assert first.text == last.text == IkStatus.REACHED.value
    finally:
        let_go.set()
    while not comparison.over:
        comparison.advance(3, 0.05)
    assert comparison.states[1].phase is Phase.DONE
    comparison.close()


def test_a_closed_comparison_starts_no_thread():
    comparison = Comparison([Method('levenberg_marquardt')], start_of())
    worker = comparison._worker
    comparison.close()
    comparison.advance(1, 0.0)  # as from a thread that is in `advance` meanwhile
    assert comparison._worker is worker
