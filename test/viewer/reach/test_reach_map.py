# SPDX-License-Identifier: Apache-2.0
"""The reach of a tip, mapped beside all else: the points, their colours, and what is shown."""

import time

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core.reachability import reachability_map
from ik_viewer.arm import Description, Moment, TipState
from ik_viewer.reach import mapping as mapping_module
from ik_viewer.reach.mapping import RESTARTS, Mapper, Reach, colours_of

COARSE = 5
TOOL = robots.transform(translation=(0.0, 0.0, 0.05))


def problem_for(name, tool=None):
    robot = robots.shipped(name)
    return ik.IkProblem(robot, [ik.PositionTask(robots.tip_of(robot), tool=tool)])


def finished(mapping):
    deadline = time.monotonic() + 300.0
    while not mapping.done:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return mapping


def test_its_points_are_those_of_the_map_and_can_be_reached():
    problem = problem_for('scara', TOOL)
    q0 = problem.robot.middle_configuration
    reach = finished(Mapper(problem, q0, COARSE)).reach
    made = reachability_map(
        problem, step=reach.step, q0=q0, restarts=RESTARTS, manipulability=True
    )
    assert len(reach.points) == np.count_nonzero(made.reached) > 10
    assert len(reach.points) * reach.step**3 == pytest.approx(made.volume)
    assert (made.fraction_at(reach.points) == 1.0).all()
    assert reach.manipulability.max() == pytest.approx(made.manipulability.max())
    (goal,) = problem.goals
    for point in reach.points[::7]:
        goal.set_target(position=point)
        assert ik.solve(problem, q0, restarts=50).success


def test_it_says_how_far_it_is_and_ends_where_nobody_wants_it(monkeypatch):
    monkeypatch.setattr(mapping_module, 'CHUNK', 8)
    problem, shares, looks = problem_for('scara'), [], []
    note = Mapper._note

    def look(mapping, progress):
        note(mapping, progress)
        shares.append(mapping.fraction)
        looks.append(progress.done)
        if len(looks) == 3:
            mapping.cancel()

    monkeypatch.setattr(Mapper, '_note', look)
    mapping = finished(Mapper(problem, problem.robot.middle_configuration, 12))
    assert mapping.reach is None
    assert mapping.error == ''
    assert len(looks) == 3
    assert 0.0 == shares[0] < shares[-1] < 1.0


def test_a_rail_without_an_end_is_refused_with_a_sentence():
    joints = [
        ik.robot.Joint('rail', 'prismatic', 'world', 'tip', axis=np.eye(3)[0], lower=-np.inf,
                 upper=np.inf),
    ]  # fmt: skip
    robot = ik.Robot.from_joints('endless', ['world', 'tip'], joints)
    problem = ik.IkProblem(robot, [ik.PositionTask('tip')])
    assert 'no limits' in finished(Mapper(problem, np.zeros(1), COARSE)).error


def test_more_is_brighter():
    values = np.linspace(0.0, 3.0, 50)
    luminance = colours_of(values) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) > 0.0).all()
    assert colours_of(np.zeros(2)).tolist() == colours_of(values[:1]).tolist() * 2
    assert colours_of(np.empty(0)).shape == (0, 3)


# On the page ------------------------------------------------------------------------------------

pytest.importorskip('viser')

from ik_viewer.page.browser import OpenTabs
from ik_viewer.page.page_context import Notices, PageContext, Requests
from ik_viewer.page.server import start_server
from ik_viewer.reach.panel import FINENESS, ReachMap, legend


@pytest.fixture(scope='module')
def server():
    server = start_server('127.0.0.1', 0)
    yield server
    server.stop()


@pytest.fixture
def shown(server, monkeypatch):
    """The panel and the moment of a SCARA; its map is coarse."""
    monkeypatch.setitem(FINENESS, 'coarse', COARSE)
    robot, tabs = robots.shipped('scara'), server.gui.add_tab_group()
    notices = Notices(server)
    context = PageContext(
        server, None, Description(robot), notices, Requests(notices), tabs, 1.0, OpenTabs(server)
    )
    moment = Moment(0.0, robot.middle_configuration, (TipState('tool', np.eye(4)),), 'idle', '')
    panel = ReachMap(context, moment)
    panel._fineness.value = 'coarse'
    yield panel, moment
    panel.remove()
    tabs.remove()


def test_what_is_mapped_is_shown_hidden_and_cut_open(shown):
    panel, moment = shown
    panel._begin()
    assert panel._progress.visible
    deadline = time.monotonic() + 300.0
    while panel._mapper is not None:
        assert time.monotonic() < deadline
        panel.show(moment)
        time.sleep(0.005)
    assert not panel._progress.visible
    points = panel._reach.points
    panel._cut.value = 0.0
    panel._show_cloud()
    assert len(panel._cloud.points) == len(panel._cloud.colors) == len(points)
    panel._cut.value = 0.5
    panel._show_cloud()
    middle = 0.5 * (points[:, 1].min() + points[:, 1].max())
    assert len(panel._cloud.points) == np.count_nonzero(points[:, 1] >= middle - 1e-9)
    panel._shown.value = False
    panel._show_cloud()
    assert not panel._cloud.visible


def test_the_legend_has_the_greatest_number_and_the_volume():
    content = legend(Reach(np.zeros((1000, 3)), np.linspace(0.0, 0.25, 1000), 0.1))
    assert '<span>0.25</span>' in content
    assert '1000 points, 100 mm apart: 1.00 m' in content
