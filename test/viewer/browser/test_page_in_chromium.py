"""The page over an arm in this process, in a real browser: drawn, dragged, looked at twice."""

import numpy as np
import pytest

pytest.importorskip('playwright')
pytest.importorskip('viser')

from support.shown_page import shown

from ik_viewer.drawing.description import describe
from ik_viewer.local.arm import LocalArm
from ik_viewer.page.page import PARTS
from ik_viewer.page.stage import body_origins
from ik_viewer.tools.browser import View

ARRIVED = 1e-4
"""[m]"""
UNDER_THE_MOUSE = 5e-3
"""[m] A few pixels."""
SEEN = 12
"""How much brighter or darker a pixel is that shows something else, of 255."""


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


def drag(page, offset):
    """Drag the gizmo, and wait for the arm; its goal."""
    hand = page.hand()
    wanted = hand.target(np.array(offset))
    hand.grab()
    hand.move_to(np.array(offset))
    hand.let_go()

    def given():
        goal = page.moment.tips[0].goal
        return goal is not None and np.abs(goal - wanted).max() < UNDER_THE_MOUSE

    page.until(given, 'the goal')
    goal = page.moment.tips[0].goal
    page.until(lambda: page.error(goal) < ARRIVED, 'the tip to arrive')
    page.until_it_says('reached')
    return goal


def apart(first, second):
    """The share of the pixels in which two pictures differ."""
    return (np.abs(first - second).max(axis=2) > 3 * SEEN).mean()


def test_it_loads_without_an_error(panda):
    assert 'panda' in panda.tab.get_by_text('panda').all_inner_texts()
    tabs = panda.tab.locator('[role=tab]').all_inner_texts()
    assert tabs[0] == 'Goals'
    assert len(tabs) == len(PARTS)
    assert panda.errors == []


def test_the_robot_is_drawn_where_it_is_and_in_its_colours(panda):
    with_robot = panda.pixels()
    panda.choice.robot = False
    without = panda.pixels()
    panda.choice.robot = True
    differs = np.abs(with_robot - without).max(axis=2) > SEEN
    assert differs.mean() > 0.02
    colours = with_robot[differs]
    grey = colours.max(axis=1) - colours.min(axis=1) < 30
    assert grey.mean() > 0.8
    view = View(panda.tab, panda.client)
    points = body_origins(panda.arm.description.robot, panda.moment.q)
    pixels = np.array([view.pixel(point) for point in points])
    column, row = pixels.round().astype(int).T
    assert differs[row, column].mean() > 0.7
    assert not differs[:, :40].any(), 'beside it nothing changed'


def test_a_drag_with_the_mouse_moves_the_tip_there(panda):
    before = panda.gizmo.pose
    goal = drag(panda, [0.0, 0.08, 0.05])
    assert np.linalg.norm(goal[:3, 3] - before[:3, 3]) > 0.04
    drag(panda, [0.0, -0.1, 0.02])
    assert panda.errors == []


def test_two_browsers_show_the_same(panda):
    other = panda.another_tab()
    try:
        drag(panda, [0.0, 0.07, 0.0])
        panda.until_it_says('reached', other)
        first = panda.pixels()
        panda.until(lambda: apart(first, panda.pixels(other)) < 0.01, 'the same picture')
    finally:
        other.context.close()
