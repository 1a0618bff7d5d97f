# SPDX-License-Identifier: Apache-2.0
"""A browser without a window that opens the page: Chromium, which renders without a GPU.

Playwright drives the Chromium that is installed, it brings none of its own.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array, matrix_from_quaternion

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
ARGUMENTS = (
    '--headless=new',
    '--no-sandbox',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
)
MISSING = 'this needs Playwright: pip install --group browser, in a clone'
NO_CHROMIUM = f'none of {", ".join(NAMES)} is on the path: install one (apt install chromium)'
PATIENCE = 600.0  # [s] Two cores that do other work take a while to draw in software
LOOK = 0.02  # [s] Between two looks at what is waited for

HIDE_NOTICES = """addEventListener('DOMContentLoaded', () => {
  const style = document.createElement('style');
  style.textContent = '.mantine-Notifications-root {display: none}';
  document.head.append(style);
})"""
DOCKED = "() => document.querySelector('canvas')?.clientWidth < innerWidth"
TWO_FRAMES = """() => new Promise(done =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""
_COUNTER = itertools.count(1_000_000)
Plane = tuple[int, int]
# Planes of a gizmo, by the axes that span them
PLANES: tuple[Plane, ...] = ((0, 1), (1, 2), (2, 0))
# Spots on the square of a plane; the arrows of a gizmo are 1 long
SQUARE = tuple((x, y) for x in (0.17, 0.24, 0.31) for y in (0.17, 0.24, 0.31))
ARC = 0.65  # The radius of the arcs that turn a gizmo
NEAR = 2e-3  # [m] The mouse is somewhere on a pixel
SETTLING = 0.3  # [s] Until the square under the mouse knows of it


@contextmanager
def browser() -> Iterator[Any]:
    """A running Chromium, of Playwright's class Browser. Raises InvalidOption without one."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise InvalidOption(MISSING) from None
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise InvalidOption(NO_CHROMIUM)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield running
        finally:
            running.close()


def open_tab(chromium: Any, url: str, width: int, height: int, *, sharpness: float = 1.0) -> Any:
    """A tab of this size that shows a page; the scene is drawn with `sharpness` pixels each."""
    tab = chromium.new_page(viewport={'width': width, 'height': height})
    tab.set_default_timeout(1e3 * PATIENCE)
    tab.add_init_script(HIDE_NOTICES)
    tab.goto(f'{url}/?fixedDpr={sharpness:g}')
    until_docked(tab)
    return tab


def until_docked(tab: Any) -> None:
    """Wait until the panel has its place beside the canvas, which is as wide as it stays then.

    The page measures itself as it draws, and what is behind does not draw: while a tab opens,
    another one may come before it once more.
    """

    def is_docked() -> bool:
        tab.bring_to_front()
        return bool(tab.evaluate(DOCKED))

    wait_for(is_docked, 'the panel beside the canvas', tab)


def wait_for(condition: Callable[[], Any], what: str, tab: Any = None) -> Any:
    """The value of the condition once it is true. Raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f'{what}: not within {PATIENCE:g} s')
        if tab is None:
            time.sleep(LOOK)
        else:
            tab.wait_for_timeout(1e3 * LOOK)
    return value


def drawn(tab: Any, server: Any) -> None:
    """Wait until a tab has drawn all that a viser server has sent so far.

    The last message is a title that the tab shows in two frames' time.
    """
    title = str(next(_COUNTER))
    server.gui.set_panel_label(title)
    server.flush()
    tab.get_by_text(title, exact=True).first.wait_for()
    tab.evaluate(TWO_FRAMES)


def look_from(server: Any, look_at: Sequence[float], view: Sequence[float]) -> None:
    """Set the view of browsers that connect from now on: at a point, from `view` beyond it [m]."""
    server.initial_camera.look_at = look_at
    server.initial_camera.position = np.add(look_at, view)


class View:
    """Screen positions: a tab, and viser's handle of its camera."""

    def __init__(self, tab: Any, client: Any) -> None:
        self._client = client
        self._box = tab.locator('canvas').first.bounding_box()

    @property
    def box(self) -> dict[str, float]:
        """The canvas: x, y, width and height [pixels]."""
        return dict(self._box)

    def pixel(self, point: Array) -> tuple[float, float]:
        """Position of a point (3,) of the scene in pixels of the tab."""
        camera = self._client.camera
        turned = matrix_from_quaternion(np.roll(camera.wxyz, -1))
        x, y, z = turned.T @ (point - camera.position)  # z looks forward, y down
        height, width = self._box['height'], self._box['width']
        scale = 0.5 * height / np.tan(0.5 * camera.fov)
        left, top = self._box['x'] + 0.5 * width, self._box['y'] + 0.5 * height
        return left + scale * x / z, top + scale * y / z


class Hand:
    """The mouse at the square of a gizmo that moves it in a plane: at the one least hidden."""

    def __init__(self, tab: Any, view: View, gizmo: Any) -> None:
        self._tab, self._mouse = tab, tab.mouse
        self._view, self._gizmo = view, gizmo
        self._from = gizmo.pose
        self._plane, spot = max(
            ((plane, spot) for plane in PLANES for spot in SQUARE), key=self._clearance
        )
        self._grip = self._place(_in_plane(self._plane, *spot))

    def _place(self, point: Array) -> Array:
        """Position in the scene of a point (3,) of the gizmo, whose arrows are 1 long."""
        placed: Array = self._from[:3, 3] + self._gizmo.size * (self._from[:3, :3] @ point)
        return placed

    def _clearance(self, grip: tuple[Plane, tuple[float, float]]) -> float:
        """Distance in pixels of a spot of a square from all other handles."""
        plane, spot = grip
        here = np.array(self._view.pixel(self._place(_in_plane(plane, *spot))))
        others = [self._view.pixel(self._place(point)) for point in _handles(without=plane)]
        return float(np.linalg.norm(np.array(others) - here, axis=1).min())

    def grab(self) -> None:
        """Point at the square, and press the button."""
        self._mouse.move(*self._view.pixel(self._grip))
        self._tab.wait_for_timeout(1e3 * SETTLING)
        self._mouse.down()

    def target(self, offset: Array) -> Array:
        """The gizmo's pose (4, 4) after a drag by `offset` (3,) [m] from where it was at first.

        What of it is not in the plane of the square is left out.
        """
        axes = self._from[:3, list(self._plane)]
        pose = self._from.copy()
        pose[:3, 3] += axes @ (axes.T @ offset)
        return pose

    def move_to(self, offset: Array) -> None:
        """Drag it by `offset` (3,) [m] from where it was at first; returns when it is there."""
        target = self.target(offset)[:3, 3]
        self._mouse.move(*self._view.pixel(self._grip + target - self._from[:3, 3]))
        wait_for(
            lambda: np.linalg.norm(self._gizmo.pose[:3, 3] - target) < NEAR,
            'the gizmo under the mouse',
            self._tab,
        )

    def let_go(self) -> None:
        """Release the button."""
        self._mouse.up()


def _in_plane(plane: Plane, x: float, y: float) -> Array:
    point = np.zeros(3)
    point[list(plane)] = x, y
    return point


def _handles(without: Plane) -> list[Array]:
    """Points (3,) on all arrows and arcs, and on all squares but one."""
    angles = np.linspace(0.0, 0.5 * np.pi, 20)
    arcs = [_in_plane(p, ARC * np.cos(a), ARC * np.sin(a)) for p in PLANES for a in angles]
    arrows = [length * np.eye(3)[i] for i in range(3) for length in np.linspace(0.0, 1.0, 15)]
    squares = [_in_plane(p, *spot) for p in PLANES if p != without for spot in SQUARE]
    return arcs + arrows + squares
