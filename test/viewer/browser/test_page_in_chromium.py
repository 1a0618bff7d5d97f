# SPDX-License-Identifier: Apache-2.0
"""The page over an arm in this process, in a real browser: drawn, dragged, looked at twice."""

import numpy as np
import pytest

pytest.importorskip('playwright')
pytest.importorskip('viser')

from support.shown_page import SEEN, shown

from ik_viewer.arm import GoalKind
from ik_viewer.drawing.description import describe
from ik_viewer.local.local_arm import LocalArm
from ik_viewer.page.page import PARTS

pytestmark = pytest.mark.long
ARRIVED = 1e-4  # [m]
UNDER_THE_MOUSE = 5e-3  # [m] A few pixels
ALIKE = 0.002  # The share of the pixels in which pictures of the same may differ


@pytest.fixture(scope='module')
def arm():
    it = LocalArm(describe('panda'))
    yield it
    it.close()


@pytest.fixture(scope='module')
def panda(arm):
    with shown(arm) as it:
        it.until(lambda: len(it.page.parts) > 0, 'the parts')
        yield it


def until_there(page):
    """Wait until the arm has a goal and is there."""
    goal = page.moment.tips[0].goal
    page.until(lambda: page.error(goal) < ARRIVED, 'the tip to arrive')
    page.until_it_says('reached')


def give_goal(page, offset):
    """Give the arm a goal, `offset` (3,) [m] from the gizmo, and wait until it is there."""
    goal = page.gizmo.pose
    goal[:3, 3] += offset
    page.arm.set_goal(0, goal, GoalKind.POSE)
    page.until(lambda: np.array_equal(page.moment.tips[0].goal, goal), 'the goal')
    page.until(lambda: np.allclose(page.gizmo.pose, goal), 'the gizmo at the goal')
    until_there(page)
    return goal


def apart(first, second):
    """The share of the pixels in which two pictures differ, in the middle that both show.

    On a busy machine a tab may dock its panel before the theme has made that wide: its canvas
    shows as much more on the left as on the right.
    """
    width = min(first.shape[1], second.shape[1])
    difference = middle(first, width) - middle(second, width)
    return (np.abs(difference).max(axis=2) > 3 * SEEN).mean()


def middle(picture, width):
    """Return this many columns from the middle of a picture."""
    left = (picture.shape[1] - width) // 2
    return picture[:, left : left + width]


def test_it_loads_without_an_error(panda):
    assert 'panda' in panda.tab.get_by_text('panda').all_inner_texts()
    tabs = panda.tab.locator('[role=tab]').all_inner_texts()
    assert tabs[0] == 'Goals'
    assert len(tabs) == len(PARTS)
    assert panda.errors == []


def test_the_robot_is_drawn_where_it_is_and_in_its_colours(panda):
    differs, picture = panda.robot_pixels()
    assert differs.mean() > 0.02
    colours = picture[differs]
    grey = colours.max(axis=1) - colours.min(axis=1) < 30
    assert grey.mean() > 0.8
    row, column = panda.places()
    assert differs[row, column].mean() > 0.7
    assert not differs[:, :40].any(), 'beside it nothing changed'


def test_a_drag_with_the_mouse_moves_the_tip_there(panda):
    for offset in ([0.0, 0.08, 0.05], [0.0, -0.1, 0.02]):
        before = panda.gizmo.pose
        wanted = panda.drag(offset)
        assert np.linalg.norm(wanted[:3, 3] - before[:3, 3]) > 0.04
        panda.until(lambda wanted=wanted: is_goal(panda, wanted), 'the goal')
        until_there(panda)
    assert panda.errors == []


def is_goal(page, pose):
    """Return whether the goal is where the mouse let go."""
    goal = page.moment.tips[0].goal
    return goal is not None and np.abs(goal - pose).max() < UNDER_THE_MOUSE


def test_two_browsers_show_the_same(panda):
    other, _ = panda.another_tab()
    try:
        give_goal(panda, [0.0, 0.07, 0.0])
        panda.until_it_says('reached', other)
        same = lambda: apart(panda.pixels(), panda.pixels(other)) < ALIKE  # noqa: E731
        panda.until(same, 'the same picture')
    finally:
        other.context.close()


def test_a_reload_shows_the_same_again(panda):
    goal = give_goal(panda, [0.0, 0.0, 0.06])
    before = panda.pixels()
    panda.reload()
    panda.until_it_says('reached')
    panda.until(lambda: apart(before, panda.pixels()) < ALIKE, 'the same picture')
    np.testing.assert_array_equal(panda.moment.tips[0].goal, goal)
    np.testing.assert_allclose(panda.gizmo.pose, goal, atol=1e-6)
