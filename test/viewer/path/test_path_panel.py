# SPDX-License-Identifier: Apache-2.0
"""The tab of paths: poses drawn and loaded, a motion found, played, saved; branches; refusals."""

import time

import numpy as np
import pytest
from support import robots

pytest.importorskip('viser')

from ik_core.motion import load_motion
from ik_viewer.arm import Description, Moment, TipState
from ik_viewer.drawing.colours import BLUE, hex_of
from ik_viewer.page.browser import OpenTabs
from ik_viewer.page.page_context import Notices, PageContext, Requests
from ik_viewer.path import panel as panel_module
from ik_viewer.path.panel import PathPanel
from ik_viewer.path.planning import branches_at, strips

ROBOT = robots.shipped('ur5e')
TIP = robots.tip_of(ROBOT)
Q = np.array([0.3, -1.2, 1.4, -1.8, -1.5, 0.2])
FIRST, LAST = np.eye(6)[[0, -1]]  # joints
HEADING = 'x,y,z,roll,pitch,yaw\n'


@pytest.fixture
def panel(viser_server):
    server = viser_server
    tabs, notices = server.gui.add_tab_group(), Notices(server)
    context = PageContext(
        server, None, Description(ROBOT), notices, Requests(notices), tabs, 1.0, OpenTabs(server)
    )
    it = PathPanel(context, moment(Q))
    yield it
    it.remove()
    tabs.remove()


def moment(q):
    return Moment(0.0, q, (TipState(TIP, np.eye(4)),), 'idle', '')


def square(side):
    """Lines of a file: around a square, from the tip of Q on."""
    x, y, z = ROBOT.forward_kinematics(Q, TIP)[:3, 3]
    corners = ((0, 0), (side, 0), (side, side), (0, side))
    return ''.join(f'{x + dx},{y + dy},{z},3.14159,0,0\n' for dx, dy in corners)


def plan(panel):
    """Find a motion, as if the button were pressed, and wait for it."""
    panel._plan()
    deadline = time.monotonic() + 60.0
    while panel._planning is not None:
        assert time.monotonic() < deadline
        panel.show(panel._moment)


class Client:
    """A browser that takes downloads."""

    def send_file_download(self, name, content, save_immediately):
        assert save_immediately
        self.content = content


def test_poses_are_drawn_where_the_tip_goes(panel):
    panel.show(moment(Q))
    assert panel.poses == []
    panel._draws.value = True
    panel.show(moment(Q))
    for step in np.linspace(0.0, 0.4, 81):  # of 5 mrad: several make 10 mm
        panel.show(moment(Q + step * FIRST))
    places = np.array([pose[:3, 3] for pose in panel.poses])
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert len(places) > 10
    assert steps.min() > panel_module.SPACING
    assert steps.max() < 1.5 * panel_module.SPACING
    turned = Q + 0.4 * FIRST + 2.0 * panel_module.TURNED * LAST
    panel.show(moment(turned))
    np.testing.assert_allclose(panel.poses[-1], ROBOT.forward_kinematics(turned, TIP))


def test_a_loaded_path_is_planned_played_and_saved(panel, tmp_path, monkeypatch):
    panel._load(f'{HEADING}{square(0.1)}'.encode())
    assert '4 poses, 300 mm' in panel._text.content
    plan(panel)
    assert panel.result.success
    assert '4 poses in' in panel._report.content
    client = Client()
    motion = panel._player[0]
    panel._send_file(client, 'motion.csv', lambda path: panel_module.save_motion(motion, path))
    file = tmp_path / 'motion.csv'
    file.write_bytes(client.content)
    saved = load_motion(file)
    ends = ROBOT.forward_kinematics(saved.positions[[0, -1]], TIP)
    for tip, pose in zip(ends, (panel.poses[0], panel.poses[-1]), strict=True):
        np.testing.assert_allclose(tip, pose, atol=1e-4)
    speed = np.diff(ROBOT.forward_kinematics(saved.positions, TIP)[:, :3, 3], axis=0) * 60.0
    assert np.linalg.norm(speed, axis=1).max() < 0.25 * (1 + 1e-3)
    shown, now = [], [time.monotonic()]
    monkeypatch.setattr(time, 'monotonic', lambda: now[0])
    panel.show(moment(Q))
    monkeypatch.setattr(panel_module.DrawnRobot, 'show', lambda self, q: shown.append(q))
    panel._player[1].go_to(0)
    now[0] += 0.5
    panel.show(moment(Q))
    np.testing.assert_array_equal(shown[-1], motion[30])
    assert panel._time.value == pytest.approx(0.5)
    panel._time.value = 0.25
    panel._scrub()
    now[0] += 0.5
    panel.show(moment(Q))  # it stands
    np.testing.assert_array_equal(shown[-1], motion[15])
    panel._toggle()
    now[0] += 0.1
    panel.show(moment(Q))
    np.testing.assert_array_equal(shown[-1], motion[21])


def test_a_closed_path_from_these_joints_returns_to_them(panel):
    panel._load(f'{HEADING}{square(0.05)}'.encode())
    first = panel.poses[0]
    panel.keep([ROBOT.forward_kinematics(Q, TIP) @ np.linalg.inv(first) @ p for p in panel.poses])
    panel._closed.value = panel._from_here.value = True
    plan(panel)
    motion = panel._player[0]
    np.testing.assert_allclose(motion.positions[[0, -1]], [Q, Q], atol=1e-6)


def test_strips_show_where_each_branch_has_a_solution(panel):
    panel._load(f'{HEADING}{square(0.1)}'.encode())
    panel._plan()
    planning = panel._planning
    planning._thread.join()
    branches, result = planning.branches, planning.result
    assert len(branches) == 8
    for i, name in enumerate(result.branches):
        assert branches[name][i]
    text = strips(planning)
    assert all(name in text for name in branches)
    used = hex_of(BLUE)
    assert text.count(used) == 1  # one branch all along
    assert 'poses 0 to 3' in text


def test_arms_with_seven_joints_have_no_strips():
    panda = robots.shipped('panda')
    tip = robots.tip_of(panda)
    problem = panel_module.IkProblem(panda, [panel_module.GOALS[panel_module.GoalKind.POSE](tip)])
    pose = panda.forward_kinematics(panda.middle_configuration, tip)
    assert branches_at(problem, np.array([pose, pose])) == {}


def test_a_path_out_of_reach_says_where_and_shows_it(panel):
    panel._load(f'{HEADING}{square(2.0)}'.encode())
    plan(panel)
    assert not panel.result.success
    assert 'out of reach' in panel._report.content
    assert 'can be done from its beginning' in panel._report.content
    assert panel._player is None
    scene = panel._context.server.scene
    trouble = scene._handle_from_node_name['/path/trouble']
    first, last = panel.result.interval
    points = np.array([pose[:3, 3] for pose in panel.poses])
    along = np.column_stack([np.interp([first, last], range(4), p) for p in points.T])
    np.testing.assert_allclose(trouble.points[0, 0], along[0], atol=1e-6)
    np.testing.assert_allclose(trouble.points[-1, 1], along[1], atol=1e-6)
    panel.keep([])
    assert '/path/trouble' not in scene._handle_from_node_name
    assert panel._report.content == ''


def test_positions_alone_leave_the_orientation_free(panel):
    lines = [line.rsplit(',', 3)[0] for line in square(0.1).splitlines()]
    panel._load('\n'.join(['x,y,z', *lines]).encode())
    plan(panel)
    assert panel.result.success
    assert panel._planning is None
    assert panel.result.problem.goals[0].fixed_freedoms == 3
    panel._add()  # the tip has an orientation
    assert not panel._is_positions


def test_a_file_without_poses_is_refused_and_the_path_stays(panel):
    panel._load(f'{HEADING}{square(0.1)}'.encode())
    with pytest.raises(Exception, match='line 2: x is'):
        panel._load(f'{HEADING}a,0,0,0,0,0\n'.encode())
    assert len(panel.poses) == 4


def test_one_pose_is_no_path(panel):
    assert panel._plan_button.disabled
    panel._add()
    assert panel._plan_button.disabled
    panel._add()
    assert not panel._plan_button.disabled
    plan(panel)  # twice the same
    assert 'all 2 are equal' in panel._report.content
    panel._drop()
    assert panel._plan_button.disabled
