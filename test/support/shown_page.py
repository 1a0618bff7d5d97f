"""A page in a real browser: Chromium without a window, small and coarse, for it draws in software.

A test file that imports it is skipped where Playwright or Chromium is missing.
"""

import io
import shutil
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('viser')
pytest.importorskip('playwright')
Image = pytest.importorskip('PIL.Image')

from ik_viewer.page.goals import Goals
from ik_viewer.page.page import PARTS, open_page
from ik_viewer.page.scene import Scene
from ik_viewer.tools.browser import NAMES, Hand, View, browser, drawn, open_tab, wait_for

if not any(map(shutil.which, NAMES)):
    pytest.skip('Chromium is not installed', allow_module_level=True)

WIDTH, HEIGHT, SHARPNESS = 800, 420, 0.5
ADDRESS = '127.0.0.1'


class Switch:
    """A part of the page, which tests switch the robot off by."""

    def __init__(self, stage, _):
        self.choice = stage.choice

    def show(self, moment):
        """Nothing."""

    def remove(self):
        """Nothing."""


class Shown:
    """A page about an arm, on a port of its own, and the browser that looks at it."""

    def __init__(self, arm, chromium):
        self.arm, self._chromium = arm, chromium
        self.page = open_page(arm, ADDRESS, None, (*PARTS, Switch))
        self.errors = []
        self.tab = self.another_tab()
        self.client = next(iter(self.page.server.get_clients().values()))

    def another_tab(self):
        """Another tab, as of another browser, once it is connected."""
        before = set(self.page.server.get_clients())
        tab = open_tab(self._chromium, self.page.url, WIDTH, HEIGHT, sharpness=SHARPNESS)
        tab.on('pageerror', lambda error: self.errors.append(str(error)))
        tab.on('console', lambda m: self.errors.append(m.text) if m.type == 'error' else None)
        self.until(lambda: set(self.page.server.get_clients()) - before, 'a browser', tab)
        return tab

    @property
    def moment(self):
        """How the arm is."""
        return self.arm.look()

    @property
    def choice(self):
        """What is chosen on the page: among it whether the robot is shown."""
        return self.page.part(Switch).choice

    @property
    def gizmo(self):
        """That of the first tip."""
        return self.page.part(Goals).gizmos.each[0]

    def until(self, condition, what, tab=None):
        """Wait until it holds; whatever the tab sends meanwhile is taken."""
        return wait_for(condition, what, tab or self.tab)

    def until_it_says(self, text, tab=None):
        """Wait for a text on the page."""
        tab = tab or self.tab
        tab.bring_to_front()
        tab.get_by_text(text).first.wait_for()

    def drawn(self, tab=None):
        """Wait until all that was sent is drawn."""
        drawn(tab or self.tab, self.page.server)

    def pixels(self, tab=None):
        """What the canvas shows (height, width, 3), once all that was sent is drawn."""
        tab = tab or self.tab
        tab.bring_to_front()  # what is behind does not draw
        self.until(self._is_shown, 'the next frame')
        self.drawn(tab)
        box = View(tab, self.client).box
        data = tab.screenshot(clip=box)
        return np.asarray(Image.open(io.BytesIO(data)).convert('RGB')).astype(int)

    def _is_shown(self):
        """Whether the robot is shown, or hidden, as was chosen."""
        return self.page.part(Scene).figure.visible == self.choice.robot

    def hand(self):
        """The mouse, at the gizmo of the first tip."""
        self.tab.bring_to_front()
        return Hand(self.tab, View(self.tab, self.client), self.gizmo)

    def error(self, goal):
        """How far the first tip is from a goal (4, 4), by its joints [m]."""
        robot, moment = self.arm.description.robot, self.moment
        tip = robot.forward_kinematics(moment.q, moment.tips[0].link)
        return np.linalg.norm(tip[:3, 3] - goal[:3, 3])

    def close(self):
        """End the page."""
        self.page.close()
        self.page.server.stop()


@contextmanager
def shown(arm):
    """A `Shown`; the arm is the caller's."""
    with browser() as chromium:
        it = Shown(arm, chromium)
        try:
            yield it
        finally:
            it.close()
