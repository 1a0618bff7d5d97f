# SPDX-License-Identifier: Apache-2.0
"""A motion made in a real browser: a tip is dragged, poses are kept, the motion is saved."""

import numpy as np
import pytest

pytest.importorskip('playwright')
pytest.importorskip('viser')

from support.shown_page import shown

from ik_core.motion import load_motion
from ik_core.retargeting.example import link_paths
from ik_viewer.drawing.description import describe
from ik_viewer.key_frames.panel import KeyFramesPanel
from ik_viewer.local.local_arm import LocalArm

pytestmark = pytest.mark.long
TIPS = ['panda_hand_tcp']


@pytest.fixture(scope='module')
def page():
    arm = LocalArm(describe('panda'), TIPS)
    with shown(arm, [KeyFramesPanel]) as it:
        it.until(lambda: len(it.page.parts) > 0, 'the parts')
        yield it
    arm.close()


def click(page, name, role='button'):
    """Click as a person does."""
    page.tab.get_by_role(role, name=name, exact=True).first.click()


def test_a_pose_that_is_dragged_is_kept_and_the_motion_is_saved(page, tmp_path):
    click(page, 'Key frames', 'tab')
    panel, robot = page.page.part(KeyFramesPanel), page.page.part(KeyFramesPanel)._context.robot
    click(page, 'Keep this pose')
    page.until(lambda: len(panel.poses) == 1, 'the first pose')
    place = page.moment.q.copy()
    for count, offset in ((2, [0.0, 0.08, 0.05]), (3, [0.0, -0.1, 0.02])):
        wanted = page.drag(offset)
        page.until(
            lambda wanted=wanted: (
                page.moment.tips[0].goal is not None
                and np.abs(page.moment.tips[0].goal - wanted).max() < 5e-3
            ),
            'the goal',
        )
        page.until(lambda: page.moment.tips[0].position_error < 1e-3, 'the tip to arrive')
        click(page, 'Keep this pose')
        page.until(lambda count=count: len(panel.poses) == count, 'a pose')
    click(page, 'Play')
    page.until(lambda: panel._player is not None, 'the motion')
    with page.tab.expect_download() as download:
        click(page, 'Save the motion')
    download.value.save_as(tmp_path / 'motion.csv')
    motion = load_motion(tmp_path / 'motion.csv')
    np.testing.assert_allclose(motion[0], place, atol=1e-3)
    frames = panel.key_frames()
    at = np.arange(len(motion)) * motion.period
    off = link_paths(robot, motion.positions, TIPS) - frames.goal_paths(at)
    assert np.linalg.norm(off, axis=2).max() < 0.01
    moved = link_paths(robot, panel.poses, TIPS[:1])[:, 0]
    assert np.linalg.norm(np.diff(moved, axis=0), axis=1).min() > 0.04
    speeds = np.diff(motion.positions, axis=0) / motion.period
    assert np.abs(np.diff(speeds, axis=0)).max() < 2.0  # continuous
    assert page.errors == []
