# SPDX-License-Identifier: Apache-2.0
"""A path in a real browser: drawn with the gizmo, a motion found, played and saved."""

import numpy as np
import pytest

pytest.importorskip('playwright')
pytest.importorskip('viser')

from support.shown_page import shown

from ik_core.motion import load_motion
from ik_viewer.drawing.description import describe
from ik_viewer.local.local_arm import LocalArm
from ik_viewer.path.panel import PathPanel

pytestmark = pytest.mark.long
TIPS = ['tool0']


@pytest.fixture(scope='module')
def page():
    arm = LocalArm(describe('ur5e'), TIPS)
    with shown(arm, [PathPanel]) as it:
        it.until(lambda: len(it.page.parts) > 0, 'the parts')
        yield it
    arm.close()


def test_a_path_is_drawn_with_the_gizmo_planned_played_and_saved(page, tmp_path):
    page.tab.get_by_role('tab', name='Path', exact=True).first.click()
    panel, robot = page.page.part(PathPanel), page.page.part(PathPanel)._context.robot
    page.tab.get_by_label('Draw', exact=True).first.click()
    page.until(lambda: panel.poses, 'the first pose')
    first = panel.poses[0]
    for offset in ([0.0, 0.1, 0.05], [0.0, -0.05, 0.05]):
        wanted = page.drag(offset)
        page.until(lambda wanted=wanted: page.error(wanted) < 5e-3, 'the tip to arrive')
    page.until(lambda: len(panel.poses) > 10, 'the path')
    page.tab.get_by_role('button', name='Find a motion').first.click()
    page.until(lambda: panel.result is not None, 'the motion')
    assert panel.result.success
    assert not panel._draws.value
    page.until_it_says('poses in')
    page.until_it_says('dark: used')
    with page.tab.expect_download() as download:
        page.tab.get_by_role('button', name='Save the motion').first.click()
    download.value.save_as(tmp_path / 'motion.csv')
    motion = load_motion(tmp_path / 'motion.csv')
    tips = robot.forward_kinematics(motion.positions[[0, -1]], TIPS[0])
    np.testing.assert_allclose(tips, [first, panel.poses[-1]], atol=1e-4)
    page.until(lambda: panel._player[1].time > 0.3, 'the motion to play')
    page.tab.get_by_role('button', name='Pause', exact=True).last.click()
    page.until(lambda: not panel._player[1].playing, 'the pause')
    assert page.errors == []
