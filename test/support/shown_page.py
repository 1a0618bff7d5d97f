# SPDX-License-Identifier: Apache-2.0
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

from benchmark.pictures.browser import (
    NAMES,
    Hand,
    View,
    browser,
    drawn,
    open_tab,
    until_docked,
    wait_for,
)
from ik_viewer.page.goal_panel import Goals
from ik_viewer.page.page import PARTS, open_page
from ik_viewer.page.page_context import body_origins
from ik_viewer.page.scene import Scene

if not any(map(shutil.which, NAMES)):
    pytest.skip('Chromium is not installed', allow_module_level=True)

WIDTH, HEIGHT, SHARPNESS = 906, 420, 0.5
SEEN = 12  # How much brighter or darker a pixel is that shows something else, of 255
ADDRESS = '127.0.0.1'


class Switch:
    """A part of the page, which tests switch the robot off by."""

    def __init__(self, context, _):
        self.selection = context.selection

    def show(self, moment):
        """Nothing."""

    def remove(self):
        """Nothing."""


class Shown:
    """A page about an arm, on a port of its own, and the browser that looks at it."""

    def __init__(self, arm, chromium, parts=()):
        self.arm, self._chromium = arm, chromium
        self.page = open_page(arm, ADDRESS, None, (*PARTS, *parts, Switch))
        self.errors = []
        self.tab, self.client = self.another_tab()

    def another_tab(self):
        """Another tab, as of another browser, once it is connected, and viser's handle of it."""
        before = set(self.page.server.get_clients())
        tab = open_tab(self._chromium, self.page.url, WIDTH, HEIGHT, sharpness=SHARPNESS)
        tab.on('pageerror', lambda error: self.errors.append(str(error)))
        tab.on('console', lambda m: self.errors.append(m.text) if m.type == 'error' else None)
        return tab, self._newest_client(before, tab)

    def reload(self):
        """Load the page in the first tab once more."""
        before = set(self.page.server.get_clients())
        self.tab.reload()
        until_docked(self.tab)
        self.client = self._newest_client(before, self.tab)

    def _newest_client(self, before, tab):
        """Return the viser client of a tab that has connected since."""
        clients = self.page.server.get_clients
        self.until(lambda: set(clients()) - before, 'a browser', tab)
        return clients()[max(clients())]

    @property
    def moment(self):
        """Return the arm's state."""
        return self.arm.read()

    @property
    def selection(self):
        """Return the selection on the page, which includes whether the robot is shown."""
        return self.page.part(Switch).selection

    @property
    def gizmo(self):
        """Return the first tip's gizmo."""
        return self.page.part(Goals).gizmos.each[0]

    def until(self, condition, what, tab=None):
        """Wait until it holds; whatever the tab sends meanwhile is taken."""
        return wait_for(condition, what, tab or self.tab)

    def drag(self, offset):
        """Drag the gizmo of the first tip by `offset` (3,) [m]; where it was let go (4, 4)."""
        hand = self.hand()
        hand.grab()
        hand.move_to(np.array(offset))
        hand.let_go()
        self.tab.mouse.move(1, 1)  # what is under the mouse looks different
        return hand.target(np.array(offset))

    def until_it_says(self, text, tab=None):
        """Wait for a text on the page."""
        tab = tab or self.tab
        tab.bring_to_front()
        tab.get_by_text(text).first.wait_for()

    def drawn(self, tab=None):
        """Wait until all that was sent is drawn."""
        drawn(tab or self.tab, self.page.server)

    def pixels(self, tab=None):
        """Return the canvas (height, width, 3), once everything that was sent is drawn."""
        tab = tab or self.tab
        tab.bring_to_front()  # what is behind does not draw
        self.until(self._is_shown, 'the next frame')
        self.drawn(tab)
        data = tab.screenshot(clip=View(tab, self.client).box)
        return np.asarray(Image.open(io.BytesIO(data)).convert('RGB')).astype(int)

    def robot_pixels(self):
        """Return a mask (height, width) of the pixels that the robot changes, and their colours
        (..., 3)."""
        with_robot = self.pixels()
        self.selection.robot = False
        without = self.pixels()
        self.selection.robot = True
        return np.abs(with_robot - without).max(axis=2) > SEEN, with_robot

    def places(self):
        """The pixels (2, N), rows and columns, where the robot's joints and links should be."""
        view = View(self.tab, self.client)
        points = body_origins(self.arm.description.robot, self.moment.q)
        pixels = np.array([view.pixel(point) for point in points])
        return pixels.round().astype(int).T[::-1]

    def _is_shown(self):
        """Return whether the robot is shown, or hidden, as was chosen."""
        return self.page.part(Scene).figure.visible == self.selection.robot

    def hand(self):
        """The mouse, at the gizmo of the first tip."""
        self.tab.bring_to_front()
        return Hand(self.tab, View(self.tab, self.client), self.gizmo)

    def error(self, goal):
        """Return the distance of the first tip from a goal (4, 4), by its joints [m]."""
        robot, moment = self.arm.description.robot, self.moment
        tip = robot.forward_kinematics(moment.q, moment.tips[0].link)
        return np.linalg.norm(tip[:3, 3] - goal[:3, 3])

    def close(self):
        """End the page."""
        self.page.close()
        self.page.server.stop()


@contextmanager
def shown(arm, parts=()):
    """A `Shown`, with more parts; the arm is the caller's."""
    with browser() as chromium:
        it = Shown(arm, chromium, parts)
        try:
            yield it
        finally:
            it.close()
