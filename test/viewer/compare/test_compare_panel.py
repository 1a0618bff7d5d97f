# SPDX-License-Identifier: Apache-2.0
"""The comparison on a page without a browser: what begins it, what it shows, what it leaves."""

import time

import numpy as np
import pytest
from support import robots

from ik_viewer.arm import Description, GoalKind, Moment, TipState
from ik_viewer.compare.comparison import Comparison
from ik_viewer.compare.methods import LINE_SEARCH
from ik_viewer.compare.start import stretched_arm
from ik_viewer.compare.stepped_solve import Curve, MethodState, Phase
from ik_viewer.compare.table import SMALLEST, cells_of, plotted, remark, table

pytest.importorskip('viser')

from ik_viewer.compare import panel as panel_module
from ik_viewer.compare.animation import due_frames
from ik_viewer.compare.method_menus import NO_METHOD
from ik_viewer.compare.panel import Compare
from ik_viewer.page.browser import OpenTabs
from ik_viewer.page.page_context import Notices, PageContext, Requests
from ik_viewer.page.server import start_server

LINK = 'panda_hand_tcp'


@pytest.fixture(scope='module')
def server():
    server = start_server('127.0.0.1', 0)
    yield server
    server.stop()


@pytest.fixture
def context(server):
    tabs = server.gui.add_tab_group()
    description = Description(robots.shipped('panda'))
    notices = Notices(server)
    yield PageContext(
        server, None, description, notices, Requests(notices), tabs, 1.0, OpenTabs(server)
    )
    tabs.remove()


def moment_of(context, goal=None, kind=GoalKind.POSE):
    q = context.robot.middle_configuration
    return Moment(time.monotonic(), q, (TipState(LINK, np.eye(4), kind, goal),), 'idle', '')


def goal_at(robot, seed):
    q = robots.random_q(robot, np.random.default_rng(seed), margin=0.3)
    return robot.forward_kinematics(q, LINK)


@pytest.fixture
def panel(context):
    panel = Compare(context, moment_of(context))
    panel._pace.value = 'as many as possible'
    panel._set_pace()
    yield panel
    panel.remove()


def shown_until(panel, moment, done):
    deadline = time.monotonic() + 300.0
    while not done():
        assert time.monotonic() < deadline, panel._table.content
        panel.show(moment)
        time.sleep(0.005)


def is_over(panel):
    return lambda: panel._complete


def test_the_stretched_arm_is_shown_to_its_end(panel, context):
    moment = moment_of(context)
    panel._stretch()
    shown_until(panel, moment, is_over(panel))
    for method in LINE_SEARCH:
        assert method.name in panel._table.content
    assert panel._table.content.count('&#10003;') == 3
    start = stretched_arm(context.robot, LINK)
    np.testing.assert_array_equal(panel._animation.comparison.start.q0, start.q0)
    (plot,) = panel._plots
    updates, *errors = plot.data
    assert updates[0] == 1.0
    assert len(errors) == len(LINE_SEARCH)
    assert errors[3][-1] < 0.01 < errors[1][-1]


def test_all_begin_where_the_robot_is_and_again_from_there_when_the_goal_moves(
    panel, context, monkeypatch
):
    monkeypatch.setattr(panel_module, 'AGAIN', 0.0)
    first, second = goal_at(context.robot, 1), goal_at(context.robot, 2)
    panel.show(moment_of(context, first))
    panel._from_here()
    shown_until(panel, moment_of(context, first), is_over(panel))
    comparison = panel._animation.comparison
    np.testing.assert_array_equal(comparison.start.q0, context.robot.middle_configuration)
    assert len(panel._plots) == 2  # of orientations as well
    shown_until(
        panel, moment_of(context, second), lambda: panel._animation.comparison is not comparison
    )
    again = panel._animation.comparison.start
    np.testing.assert_array_equal(again.q0, comparison.start.q0)
    np.testing.assert_array_equal(again.goals[0].target, second)
    panel._again.value = False
    comparison = panel._animation.comparison
    panel.show(moment_of(context, first))
    assert panel._animation.comparison is comparison


def test_without_a_goal_or_without_anybody_it_says_what_is_missing(panel, context):
    panel.show(moment_of(context))
    with pytest.raises(ValueError, match='no goal yet'):
        panel._from_here()
    for menu in panel._menus.menus:
        menu.value = NO_METHOD
    with pytest.raises(ValueError, match='no method is chosen'):
        panel._stretch()


def test_the_robot_makes_room_for_the_ghosts_and_comes_back(panel, context):
    panel._stretch()
    panel.show(moment_of(context))
    assert not context.selection.robot
    panel._end()
    panel.show(moment_of(context))
    assert context.selection.robot
    assert panel._table.content == ''
    assert panel._plots == []


def test_frames_that_were_late_are_made_up_for_but_not_a_pause():
    assert [due_frames(frames) for frames in (0.0, 1.2, 3.4, 500.0)] == [1, 1, 3, 10]


def test_numbers_are_in_millimetres_degrees_microseconds_and_milliseconds():
    q = np.zeros(2)
    state = MethodState(Phase.DONE, q, 12, 1.5e-3, np.pi / 180.0, 'all goals', 2.5e-3, 3.25e-6)
    assert cells_of(state)[1:] == ['1.500 mm 1.000&deg;', '12', '3.2 &micro;s', '2.500 ms']
    running = MethodState(Phase.RUNNING, q, 3, 0.25, 0.0)
    assert cells_of(running)[:3] == ['', '250 mm', '3']
    assert remark(MethodState(Phase.FAILED, q, text='no <b>')) == 'failed: no <b>'
    assert remark(MethodState(Phase.WAITING, q)) == Phase.WAITING.value


def test_what_a_solver_says_is_text_and_no_html():
    comparison = Comparison(LINE_SEARCH[:1], stretched_arm(robots.shipped('panda'), LINK))
    comparison.solves[0].state = MethodState(Phase.FAILED, np.zeros(8), text='<script>')
    content = table(comparison.solves, [(1, 2, 3)])
    comparison.close()
    assert '<script>' not in content
    assert '&lt;script&gt;' in content


def test_curves_have_every_end_and_stay_there():
    short, long = Curve(), Curve()
    for k in range(5001):
        long.add(k, 1.0 / (k + 1.0), 0.1)
    for k in range(4):
        short.add(k, 10.0**-k, 0.2)
    updates, first, second, none = plotted([short, long, Curve()])
    assert len(updates) < 200
    assert {1.0, 3.0, 5000.0} <= set(updates)
    np.testing.assert_allclose(second, 1e3 / (updates + 1.0))
    np.testing.assert_allclose(first[updates <= 3], 1e3 * 10.0 ** -updates[updates <= 3])
    assert (first[updates >= 3] == 1.0).all()
    assert (none == SMALLEST).all()
    np.testing.assert_allclose(plotted([short], turned=True)[1], np.degrees(0.2))
