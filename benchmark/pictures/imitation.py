# SPDX-License-Identifier: Apache-2.0
"""The page of `ik play`: a person that throws, and a robot with two arms that imitates its hands.

Both stand at the same place; the page shows the person beside the robot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ik_core.retargeting import human_motion
from ik_viewer.drawing.description import describe
from ik_viewer.page.server import PANEL, start_server, url_of
from ik_viewer.play.clip import Clip, imitator_of
from ik_viewer.play.live import LiveRetargeting
from ik_viewer.play.play_page import PlayPage

from .browser import drawn, look_from, open_tab, wait_for
from .film import FRAME_RATE, SHADOW, picture, save
from .stills import EFFORT, HEIGHT, QUALITY, WIDTH, Camera

LINKS = {f'{side}_hand': f'{side}_palm' for side in ('left', 'right')}
LOW, NARROW = 400, 640  # [px] height and width of the film
CAMERA: Camera = ((0.0, 0.5, 0.9), (3.6, 0.5, 0.5))
LETS_GO = 0.55  # of the throw: the arm is in front


@contextmanager
def throwing(chromium: Any, width: int, height: int) -> Iterator[tuple[PlayPage, Any]]:
    """The page, once the robot's motion is solved, and a tab that shows it."""
    throw, person = human_motion('throw'), describe('human', floating_base=True)
    motion, robot = throw.motion(FRAME_RATE), describe('dual_arm')
    clip = Clip.of(person.robot, motion)
    live = LiveRetargeting(
        imitator_of(clip, motion, robot.robot, LINKS, joints={}, scale='length')
    )
    page = PlayPage(start_server(port=0), 'throw', clip, robot, live)
    try:
        wait_for(lambda: live.final, "the robot's motion")
        look_from(page.server, *CAMERA)
        tab = open_tab(chromium, url_of(page.server), width, height)
        yield page, tab
        tab.close()
    finally:
        page.close()
        page.server.stop()


def playing(chromium: Any, path: Path) -> None:
    """The page with its panel, when the person lets go."""
    with throwing(chromium, WIDTH, HEIGHT) as (page, tab):
        page.playhead.go_to(round(LETS_GO * len(page.clip)))
        page.frame()
        drawn(tab, page.server)
        page.server.gui.set_panel_label('throw')
        page.server.flush()
        tab.get_by_text('throw', exact=True).first.wait_for()
        picture(tab, WIDTH, HEIGHT).save(path, quality=QUALITY, method=EFFORT)


def throw(chromium: Any, path: Path) -> None:
    """The film of the whole throw, without the panel."""
    with throwing(chromium, NARROW + SHADOW + PANEL, LOW) as (page, tab):
        pictures = []
        for frame in range(len(page.clip)):
            page.playhead.go_to(frame)
            page.frame()
            drawn(tab, page.server)
            pictures.append(picture(tab, NARROW, LOW))
    save(pictures, path)
