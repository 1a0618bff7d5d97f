# SPDX-License-Identifier: Apache-2.0
"""The film of an arm that follows its gizmo: dragged with the mouse, a frame at a time.

Nothing in it is put in place but the mouse: between two frames the pointer moves on, the browser
tells the page, the page gives the goal, and the arm has the time of one frame to follow.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array
from ik_viewer.arm import Description, GoalKind
from ik_viewer.page.goal_panel import Goals
from ik_viewer.page.page import Page
from ik_viewer.page.scene import Scene
from ik_viewer.page.server import PANEL, start_server

from .browser import Hand, View, drawn, look_from, open_tab, wait_for
from .stepped import SteppedArm

FRAME_RATE = 16.0
LAP = 5.0  # Period [s] of the mouse's closed path: the film loops
WIDTH, HEIGHT = 640, 400
SHADOW = 24  # [px] the panel darkens this much of the canvas beside it
QUALITY, EFFORT = 82, 6
# Target of the camera, and its offset from there [m]
LOOK_AT, VIEW = (0.33, 0.0, 0.44), (0.75, -1.25, 0.40)
CURSOR = """() => {
  const cursor = document.createElement('div');
  cursor.id = 'cursor';
  cursor.style = 'position:fixed;z-index:9999;pointer-events:none;left:0;top:0';
  cursor.innerHTML = '<svg width="20" height="28" viewBox="0 0 20 28"><path d="M2 2v20l5-4.5' +
    ' 3.2 7.5 3.6-1.6-3.2-7.2H17z" fill="#111" stroke="#fff" stroke-width="1.6"/></svg>';
  document.body.append(cursor);
  addEventListener('pointermove', event => {
    cursor.style.transform = `translate(${event.clientX - 2}px, ${event.clientY - 2}px)`;
  }, true);
}"""


def film(chromium: Any, description: Description, path: Path) -> None:
    """Write the film of a robot as a WebP that runs round."""
    arm = SteppedArm(description)
    page = Page(arm, start_server())
    try:
        frames = list(_frames(chromium, page, arm))
    finally:
        page.server.stop()
        arm.close()
    save(frames, path)


def save(frames: list[Any], path: Path) -> None:
    """Write pictures of pillow as an animation."""
    first, *others = frames
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=round(1e3 / FRAME_RATE),
        loop=0,
        quality=QUALITY,
        method=EFFORT,
    )


def _frames(chromium: Any, page: Page, arm: SteppedArm) -> Iterator[Any]:
    """The pictures of a second lap: at its beginning the arm is where it is at the end."""
    arm.advance(arm.period)
    page.frame()
    look_from(page.server, LOOK_AT, VIEW)
    page.part(Scene).with_ghost.value = False
    tab = open_tab(chromium, page.url, WIDTH + SHADOW + PANEL, HEIGHT)
    client = next(iter(wait_for(page.server.get_clients, 'a browser', tab).values()))
    drawn(tab, page.server)
    tab.evaluate(CURSOR)
    hand = Hand(tab, View(tab, client), page.part(Goals).gizmos.each[0])
    hand.grab()
    laps = np.arange(round(LAP * FRAME_RATE)) / round(LAP * FRAME_RATE)
    for lap in laps:
        arm.set_goal(0, hand.target(_way(lap)), GoalKind.POSE)
        arm.advance(1.0 / FRAME_RATE)
    for lap in laps:
        hand.move_to(_way(lap))
        page.frame()
        arm.advance(1.0 / FRAME_RATE)
        drawn(tab, page.server)
        yield picture(tab, WIDTH, HEIGHT)


def picture(tab: Any, width: int, height: int) -> Any:
    """Picture of a tab, as a pillow image."""
    from PIL import Image

    box = {'x': 0, 'y': 0, 'width': width, 'height': height}
    return Image.open(io.BytesIO(tab.screenshot(clip=box))).convert('RGB')


def _way(lap: float) -> Array:
    """Shift of the gizmo (3,) [m] from its first position: an upright figure of eight."""
    turn = 2.0 * np.pi * lap
    return np.array([0.0, 0.24 * np.sin(turn), 0.11 * np.sin(2.0 * turn)])
