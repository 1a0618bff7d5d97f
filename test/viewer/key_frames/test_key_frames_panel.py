# SPDX-License-Identifier: Apache-2.0
"""The tab of key frames: poses kept, dropped, played, saved and loaded."""

import time

import numpy as np
import pytest
from support import robots

pytest.importorskip('viser')

from ik_core.motion import InvalidMotion, load_motion
from ik_viewer.arm import Description, Moment, TipState
from ik_viewer.key_frames import panel as panel_module
from ik_viewer.key_frames.panel import KeyFramesPanel
from ik_viewer.page.browser import OpenTabs
from ik_viewer.page.page_context import Notices, PageContext, Requests

ROBOT = robots.shipped('panda')
TIP = robots.tip_of(ROBOT)


@pytest.fixture
def panel(viser_server):
    server = viser_server
    tabs, notices = server.gui.add_tab_group(), Notices(server)
    context = PageContext(
        server, None, Description(ROBOT), notices, Requests(notices), tabs, 1.0, OpenTabs(server)
    )
    it = KeyFramesPanel(context, moment(0))
    yield it
    it.remove()
    tabs.remove()


def moment(seed):
    q = robots.random_q(ROBOT, np.random.default_rng(seed), margin=0.2)
    return Moment(0.0, q, (TipState(TIP, np.eye(4)),), 'idle', '')


def keep(panel, count):
    """Keep so many poses."""
    for seed in range(count):
        panel.show(moment(seed))
        panel._seconds.value = 0.5 + 0.1 * seed
        panel._keep()


class Client:
    """A browser that takes downloads."""

    def send_file_download(self, name, content, save_immediately):
        assert save_immediately
        self.name, self.content = name, content


def test_kept_poses_are_a_motion_through_them(panel, tmp_path):
    keep(panel, 3)
    assert '3 poses, 1.30 s' in panel._text.content
    client = Client()
    panel._send_motion(client)
    file = tmp_path / client.name
    file.write_bytes(client.content)
    motion = load_motion(file)
    assert len(motion) == 79
    np.testing.assert_allclose(motion[0], moment(0).q, atol=1e-3)
    np.testing.assert_allclose(motion[36], moment(1).q, atol=1e-3)
    np.testing.assert_allclose(motion[78], moment(2).q, atol=1e-3)


def test_a_cycle_returns_to_the_first_pose(panel):
    keep(panel, 3)
    panel._closed.value = True
    frames = panel.key_frames()
    np.testing.assert_array_equal(frames.poses[-1], frames.poses[0])
    assert frames.closed
    assert frames.times[-1] == pytest.approx(1.3 + 0.7)


def test_joints_keep_their_limits_of_velocity_where_wanted(panel):
    keep(panel, 3)
    for wanted in (False, True):
        panel._slower.value = wanted
        frames = panel.key_frames()
        speeds = np.abs(np.diff(frames.motion(500).positions, axis=0)) * 500
        assert (speeds <= ROBOT.velocity * (1 + 1e-3)).all() == wanted


def test_the_tips_move_on_their_own_curves_where_wanted(panel):
    keep(panel, 2)
    assert panel.key_frames().tips == (TIP,)
    panel._tips.value = False
    assert panel.key_frames().tips == ()


def test_saved_poses_are_loaded_again(panel):
    keep(panel, 3)
    client, kept = Client(), [q.copy() for q in panel.poses]
    panel._send_poses(client)
    for _ in range(3):
        panel._drop()
    panel._drop()  # there is none left
    assert '0 poses. Drag' in panel._text.content
    panel._load(client.content)
    np.testing.assert_array_equal(panel.poses, kept)
    with pytest.raises(InvalidMotion, match='line 1'):
        panel._load(b'time,x\n0,1\n1,2\n')
    np.testing.assert_array_equal(panel.poses, kept)


def test_fewer_than_two_poses_are_no_motion(panel):
    with pytest.raises(InvalidMotion, match='two at least'):
        panel._play()
    keep(panel, 1)
    with pytest.raises(InvalidMotion, match='two at least'):
        panel._play()


def test_one_pose_can_not_be_played_unless_it_is_a_cycle(panel):
    buttons = panel._play_button, panel._save_button
    seen = []
    for count in (0, 1, 2):
        keep(panel, count)
        seen.append([button.disabled for button in buttons])
    assert seen == [[True, True], [True, True], [False, False]]
    panel._drop()
    panel._closed.value = True
    panel._describe()
    assert [button.disabled for button in buttons] == [False, False]


def test_a_pale_robot_plays_the_motion(panel, monkeypatch):
    keep(panel, 2)
    shown, now = [], [100.0]
    monkeypatch.setattr(time, 'monotonic', lambda: now[0])
    panel.show(moment(0))
    panel._play()
    monkeypatch.setattr(panel_module.DrawnRobot, 'show', lambda self, q: shown.append(q))
    motion = panel.key_frames().motion(panel_module.RATE)
    for _ in range(4):
        now[0] += 0.25
        panel.show(moment(0))
    # 0.6 s and the period of the last frame, then again
    for q, frame in zip(shown, (15, 30, 8, 23), strict=True):
        np.testing.assert_array_equal(q, motion[frame])
    panel._stop()
    panel.show(moment(0))
    assert len(shown) == 4
