# SPDX-License-Identifier: Apache-2.0
"""The tab about collisions, on a server without a browser."""

import io
import time
from types import SimpleNamespace

import numpy as np
import pytest
from support import robots

pytest.importorskip('viser')

import ik_core as ik
from ik_viewer.arm import Description, GoalKind, Moment, TipState
from ik_viewer.collisions.loading import Loading
from ik_viewer.collisions.panel import CollisionsPanel
from ik_viewer.drawing.description import describe
from ik_viewer.page.browser import OpenTabs
from ik_viewer.page.page_context import Notices, PageContext, Requests
from ik_viewer.page.server import start_server

URDF = """<robot name="two_links"><link name="base"/>
<link name="upper"><collision><origin xyz="0.2 0 0"/>
  <geometry><box size="0.3 0.1 0.1"/></geometry></collision></link>
<link name="lower"><collision><origin xyz="0.2 0 0"/>
  <geometry><box size="0.3 0.1 0.1"/></geometry></collision></link>
<link name="tool"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
  <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
  <origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="wrist" type="fixed"><parent link="lower"/><child link="tool"/>
  <origin xyz="0.4 0 0"/></joint></robot>"""


class Arm:
    """Remembers where its joints are to go."""

    def __init__(self):
        self.asked = []
        self.settings = {}

    def set_joint_goal(self, positions):
        self.asked.append(positions)


@pytest.fixture(scope='module')
def server():
    server = start_server('127.0.0.1', 0)
    yield server
    server.stop()


@pytest.fixture
def panel(server, tmp_path):
    path = tmp_path / 'two_links.urdf'
    path.write_text(URDF)
    yield from made(server, ik.load_robot(path), URDF)


def made(server, robot, urdf):
    tabs, notices = server.gui.add_tab_group(), Notices(server)
    description = Description(robot, urdf)
    context = PageContext(
        server, Arm(), description, notices, Requests(notices), tabs, 1.0, OpenTabs(server)
    )
    panel = CollisionsPanel(context, moment_at(robot, np.zeros(robot.n)))
    yield panel
    panel.remove()
    tabs.remove()


def moment_at(robot, q, goal=None):
    tip = TipState('tool', np.eye(4), kind=GoalKind.POSITION, goal=goal)
    return Moment(0.0, np.asarray(q, float), (tip,), 'idle', '')


def check(panel, moment):
    """Switch the check on and wait until it is prepared."""
    panel._check.value = True
    panel._set_checking()
    deadline = time.monotonic() + 300.0
    while panel.collisions is None:
        assert time.monotonic() < deadline
        assert panel._loading is not None, panel._context.notices.last
        panel.show(moment)
        time.sleep(0.005)
    panel.show(moment)


def test_nearest_pairs_are_drawn_and_colliding_links_are_red(panel):
    robot = panel._context.robot
    free = moment_at(robot, [0.0, 0.0])
    check(panel, free)
    assert 'free of collisions' in panel._report.content
    assert not any(drawn.visible for drawn in panel._colliding._drawn.values())
    panel.add('ball')
    (name,) = panel._obstacles
    panel.world.move(name, ik.transform(position=(0.4, 0.0, 0.0)))
    panel.show(free)
    assert 'collide' in panel._report.content
    assert any(drawn.visible for drawn in panel._colliding._drawn.values())
    assert len(panel._lines._node.points) >= 1
    panel.world.move(name, ik.transform(position=(0.4, 0.2, 0.0)))
    panel.show(free)
    pairs = panel.collisions.distances(free.q, 0.15)
    np.testing.assert_allclose(
        panel._lines._node.points, [pair.points for pair in pairs], atol=1e-6
    )
    assert not any(drawn.visible for drawn in panel._colliding._drawn.values())
    panel.remove_last()
    assert len(panel.world) == 0
    panel.show(free)
    assert len(panel._lines._node.points) == 1  # of both links


def test_a_gizmo_moves_its_obstacle(panel):
    panel.add('box')
    ((name, obstacle),) = panel._obstacles.items()
    obstacle._node.position = (0.1, 0.2, 0.3)
    obstacle._node.wxyz = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
    obstacle._move()
    expected = ik.transform(position=(0.1, 0.2, 0.3), rpy=(0.0, 0.0, 0.5 * np.pi))
    np.testing.assert_allclose(panel.world[name].pose, expected, atol=1e-9)


def test_the_arm_is_sent_to_a_solution_that_is_free(panel):
    robot, arm = panel._context.robot, panel._context.arm
    q = np.array([0.6, -1.2])
    goal = robot.forward_kinematics(q, 'tool')
    at_goal = moment_at(robot, q, goal)
    check(panel, at_goal)
    panel.add('ball')
    (name,) = panel._obstacles
    elbow = robot.forward_kinematics(q, 'lower')[:3, 3]
    panel.world.move(name, ik.transform(position=elbow))
    panel.show(at_goal)
    assert 'collide' in panel._report.content
    panel.move_to_free()
    (positions,) = arm.asked
    other = np.array([positions['shoulder'], positions['elbow']])
    np.testing.assert_allclose(other, [-0.6, 1.2], atol=1e-3)  # the other elbow
    panel.world.move(name, ik.transform(position=goal[:3, 3]))
    panel.move_to_free()
    assert len(arm.asked) == 1
    assert 'every solution found collides' in panel._context.notices.last[0][1]


def test_what_is_missing_is_said(panel):
    panel.move_to_free()
    assert 'switch "Check collisions" on' in panel._context.notices.last[0][1]
    check(panel, moment_at(panel._context.robot, [0.0, 0.0]))
    panel.move_to_free()
    assert 'there is no goal' in panel._context.notices.last[0][1]


@pytest.mark.parametrize('name', ['scara', 'pr2_like'])
def test_a_robot_without_usable_geometry_is_told_once(server, name):
    robot = robots.shipped(name)
    for panel in made(server, robot, ''):
        moment = moment_at(robot, robot.middle_configuration)
        panel._check.value = True
        panel._set_checking()
        deadline = time.monotonic() + 300.0
        while panel._loading is not None:
            assert time.monotonic() < deadline
            panel.show(moment)
            time.sleep(0.005)
        assert panel.collisions is not None or panel._context.notices.last


def test_the_terminal_shows_nothing_of_what_the_page_prepares(monkeypatch):
    from ik_core import progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(progress, 'sys', SimpleNamespace(stderr=terminal))
    loading = Loading(describe('panda'), ik.World())
    loading._thread.join(300.0)
    assert loading.collisions is not None
    assert terminal.getvalue() == ''
