# SPDX-License-Identifier: Apache-2.0
"""Methods that follow moving targets: their updates, their curves, and their tab."""

import math
import time

import numpy as np
import pytest
from support import robots

from benchmark.papers.buss import OneUpdate, problem_of, target_shift
from ik_viewer.arm import Description, GoalKind, Moment, TipState
from ik_viewer.compare.methods import Method
from ik_viewer.compare.moving_targets import STEP, Experiment, Follower
from ik_viewer.compare.start import Goal, Start
from ik_viewer.compare.stepped_solve import Phase
from ik_viewer.compare.table import SMALLEST
from ik_viewer.compare.targets_panel import METHODS, MovingTargets, curves, table

UPDATES = 60
DLS = Method('damped_least_squares', 'buss_pure')


@pytest.fixture
def start():
    """The double Y in the rest posture of the benchmark, a goal at each tip."""
    problem, q0 = problem_of('double Y')
    robot = problem.robot
    goals = [
        Goal(tip, robot.forward_kinematics(q0, tip), GoalKind.POSITION, np.eye(4))
        for tip in robot.tips()
    ]
    return Start(robot, q0, tuple(goals))


def advanced(follower, updates):
    follower.advance(updates, math.inf)
    assert follower.state.phase is Phase.RUNNING, follower.state.text
    return follower


@pytest.mark.parametrize('method', METHODS, ids=lambda method: method.name)
def test_a_method_follows_as_in_the_experiment_of_the_benchmark(method, start):
    damping = {'damping': 0.7} if method.solver == 'damped_least_squares' else {}
    problem, q = problem_of('double Y')
    update = OneUpdate(problem, method.solver, preset=method.preset, **damping)
    first, errors = [goal.target[9:].copy() for goal in problem.goals], []
    for step in range(1, UPDATES + 1):
        for i, goal in enumerate(problem.goals):
            goal.set_target(position=first[i] + target_shift(step, i, 1.0))
        q = update(q)
        errors.append(problem.evaluate(q).position_errors)
    follower = advanced(Follower(method, start, Experiment(1.0, 0.7)), UPDATES)
    np.testing.assert_allclose(follower.state.q, q, atol=1e-9)
    np.testing.assert_allclose(follower.errors, errors, atol=1e-9)
    assert follower.mean == pytest.approx(np.mean(errors))
    np.testing.assert_allclose(follower.targets, [goal.target[9:] for goal in problem.goals])


def test_amplitude_and_damping_count_from_the_next_update_on(start):
    experiment = Experiment(0.5, 0.4)
    follower = advanced(Follower(DLS, start, experiment), 3)
    experiment.size, experiment.damping, before = 1.0, 2.0, follower.state.q
    advanced(follower, 1)
    robot, tips = start.robot, start.robot.tips()
    t = 4 * STEP
    shifts = [
        [
            np.sin(t + k) - np.sin(k),
            np.cos(1.3 * t + k) - np.cos(k),
            np.sin(0.7 * t),
        ]
        for k in range(len(tips))
    ]
    rest = np.array([robot.forward_kinematics(start.q0, tip)[:3, 3] for tip in tips])
    here = np.array([robot.forward_kinematics(before, tip)[:3, 3] for tip in tips])
    error = (rest + shifts - here).ravel()
    jacobian = np.concatenate([robot.jacobian(before, tip)[:3] for tip in tips])
    square = jacobian @ jacobian.T + 2.0**2 * np.eye(len(error))  # [Buss2009] Eq. 11
    step = jacobian.T @ np.linalg.solve(square, error)
    np.testing.assert_allclose(follower.state.q - before, step, atol=1e-9)


def test_a_method_that_fails_stays_and_the_others_are_drawn_on(start):
    runs = [Follower(DLS, start, Experiment(0.5, 0.4)) for _ in range(2)]
    advanced(runs[0], 2)
    advanced(runs[1], 5)
    runs[0].method = Method('no <such> solver')
    runs[0]._experiment = Experiment(0.5, 0.4)
    runs[0]._solver = None
    runs[0].advance(1, math.inf)
    assert runs[0].over
    found = curves(runs, split=True)
    assert found.shape == (4, 2, 5)
    np.testing.assert_allclose(found[:, 1], 1e3 * np.array(runs[1].errors).T)
    np.testing.assert_allclose(found[:, 0, 1:], 1e3 * np.array([runs[0].errors[-1]] * 4).T)
    mean = curves(runs, split=False)
    np.testing.assert_allclose(mean[0, 1], 1e3 * np.mean(runs[1].errors, axis=1))
    assert '&lt;such&gt;' in table(runs)
    assert '<such>' not in table(runs)


def test_a_method_that_has_not_begun_has_no_curve_yet(start):
    runs = [Follower(DLS, start, Experiment(0.5, 0.4)) for _ in range(2)]
    advanced(runs[1], 5)
    assert curves(runs, split=True).shape == (4, 2, 0)
    runs[0].method = Method('unknown')
    runs[0].advance(1, math.inf)
    assert (curves(runs, split=True)[:, 0] == SMALLEST).all()


@pytest.fixture
def context():
    pytest.importorskip('viser')
    from ik_viewer.page.browser import OpenTabs
    from ik_viewer.page.page_context import Notices, PageContext, Requests
    from ik_viewer.page.server import start_server

    server = start_server('127.0.0.1', 0)
    description, notices = Description(robots.shipped('buss_y')), Notices(server)
    tabs = server.gui.add_tab_group()
    yield PageContext(
        server, None, description, notices, Requests(notices), tabs, 3.0, OpenTabs(server)
    )
    server.stop()


def moment_of(context):
    robot = context.robot
    tips = tuple(TipState(tip, np.eye(4)) for tip in robot.tips())
    return Moment(time.monotonic(), robot.middle_configuration, tips, 'idle', '')


def shown_until(panel, moment, done):
    deadline = time.monotonic() + 300.0
    while not done():
        assert time.monotonic() < deadline, panel._table.content
        panel._shown = -math.inf
        panel.show(moment)
        time.sleep(0.005)


def test_the_tab_shows_all_methods_with_a_curve_for_each_tip(context):
    panel = MovingTargets(context, moment_of(context))
    try:
        panel.show(moment_of(context))
        assert context.selection.robot
        panel._start()
        assert [run.method for run in panel.followers] == list(METHODS)
        shown_until(
            panel, moment_of(context), lambda: panel._plots and len(panel._plots[0].data[0]) >= 5
        )
        assert (context.selection.robot, context.selection.gizmos) == (False, False)
        for method in METHODS:
            assert method.name in panel._table.content
        assert len(panel._plots) == 2
        updates, *lines = panel._plots[1].data
        assert len(lines) == len(METHODS)
        transpose = np.array(panel.followers[0].errors)[:, 1]
        first = int(updates[0]) - 1
        np.testing.assert_allclose(lines[0], 1e3 * transpose[first : first + len(updates)])
        panel._size.value = 0.5
        panel._set_experiment()
        assert panel._experiment.size == 0.5
        panel._end()
        assert (context.selection.robot, context.selection.gizmos) == (True, True)
        assert panel.followers == panel._plots == []
        assert panel._table.content == ''
    finally:
        panel.remove()
