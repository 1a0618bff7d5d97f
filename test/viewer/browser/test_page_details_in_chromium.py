# SPDX-License-Identifier: Apache-2.0
"""Details of the page that only a browser has: tabs in a row, typing, a server that has ended."""

import pytest

pytest.importorskip('playwright')
pytest.importorskip('viser')

from support.shown_page import shown

from benchmark.pictures.browser import open_tab
from ik_viewer.drawing.description import describe
from ik_viewer.local.local_arm import LocalArm
from ik_viewer.page.page import PARTS
from ik_viewer.page.typed_goal import POSITION
from ik_viewer.parts import ALL_PARTS
from ik_viewer.reach.panel import ReachMap

pytestmark = pytest.mark.long
OTHERS = ALL_PARTS[len(PARTS) :]


@pytest.fixture(scope='module')
def arm():
    it = LocalArm(describe('scara'))
    yield it
    it.close()


@pytest.fixture
def scara(arm):
    with shown(arm, OTHERS) as it:
        it.until(lambda: len(it.page.parts) > len(PARTS), 'the parts')
        yield it


def opened(page):
    """The tabs that the server takes for open."""
    return {title for titles in page.page._open_tabs._of_client.values() for title in titles}


def test_all_tabs_are_in_one_row_on_a_small_laptop(scara):
    laptop = open_tab(scara._chromium, scara.page.url, 1366, 768)
    tabs = laptop.locator('[data-dock-tab]')
    scara.until(lambda: tabs.count() == len(ALL_PARTS), 'the tabs', laptop)
    boxes = [tab.bounding_box() for tab in tabs.all()]
    assert len({box['y'] for box in boxes}) == 1
    assert boxes[-1]['x'] + boxes[-1]['width'] <= 1366
    laptop.close()


def test_a_typed_number_moves_the_tip(scara, arm):
    scara.tab.bring_to_front()
    field = scara.tab.get_by_label(POSITION)
    field.fill('0.3')
    scara.until(lambda: (g := arm.read().tips[0].goal) is not None and g[0, 3] == 0.3, 'the goal')
    scara.until(lambda: arm.read().code in ('reached', 'closest'), 'its end')
    assert scara.errors == []


def test_the_cloud_of_the_reach_hides_with_its_tab(scara):
    scara.tab.bring_to_front()
    scara.until(lambda: opened(scara) == {'Goals'}, 'the open tab')
    scara.tab.get_by_role('tab', name='Reach', exact=True).click()
    scara.until(lambda: opened(scara) == {'Reach'}, 'the open tab')
    scara.page.part(ReachMap)._fineness.value = 'coarse'
    scara.tab.get_by_text('Map the reach of the tip').click()
    reach = scara.page.part(ReachMap)
    scara.until(lambda: reach._cloud is not None, 'the map')
    assert reach._cloud.visible
    scara.tab.get_by_role('tab', name='Goals', exact=True).click()
    scara.until(lambda: not reach._cloud.visible, 'the cloud to hide')
    scara.tab.get_by_role('tab', name='Reach', exact=True).click()
    scara.until(lambda: reach._cloud.visible, 'the cloud again')


def test_a_browser_whose_server_has_ended_is_grey_and_says_so(scara):
    assert scara.tab.get_by_text('no connection').first.is_hidden()
    scara.close()
    scara.tab.bring_to_front()
    scara.tab.get_by_text('no connection').first.wait_for()
    assert scara.tab.locator('.ik-state').first.is_hidden()
    picture = scara.tab.locator('canvas').first.evaluate('e => getComputedStyle(e).filter')
    assert 'grayscale(1)' in picture
