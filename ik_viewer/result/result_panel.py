# SPDX-License-Identifier: Apache-2.0
"""The tab of a result: play its path, and show ghosts and the paths of the tips."""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_core.retargeting.example import link_paths

from ..arm import Moment
from ..drawing.appearance import shapes_of
from ..drawing.colours import GREEN, SKY
from ..drawing.drawn_robot import INSIDE, DrawnRobot
from ..page.page_context import PageContext
from ..page.panel import Panel
from ..play.paths import segments
from ..play.playhead import SPEEDS
from .result_arm import Result, ResultArm

NAME = '/result'
OPACITY = 0.3
MOST_GHOSTS = 32  # Ghosts that are drawn: more would hide each other, and slow the browser down
MOST_POINTS = 2000  # Points of the drawn path of a tip
NONE = 'none'
PLAY, PAUSE = ('Play the path', 'player-play'), ('Pause the path', 'player-pause')


class ResultPanel(Panel):
    """Controls of the path, ghosts, and lines where the tips go."""

    title = 'Result'

    def __init__(self, context: PageContext, moment: Moment, arm: ResultArm) -> None:
        super().__init__(context, moment)
        self._arm = arm
        self._links = [tip.link for tip in moment.tips]
        self._shown: Result | None = None
        self._ghosts: list[DrawnRobot] = []
        self._lines: list[Any] = []
        self._folder: Any = None
        self.show(moment)

    def show(self, moment: Moment) -> None:
        """Draw another result, or display the number of the frame."""
        if self._arm.result is not self._shown:
            self._shown = self._arm.result
            self._draw(self._shown)
        frame = self._arm.playhead.frame + 1
        if self._frame.value != frame:
            self._frame.value = frame
        playing = self._arm.on_path and self._arm.playhead.playing
        label, icon = PAUSE if playing else PLAY
        if self._play.label != label:
            self._play.label, self._play.icon = label, icon

    def remove(self) -> None:
        """Take the panel off the page."""
        self._context.server.scene.remove_by_name(NAME)
        super().remove()

    def _draw(self, result: Result) -> None:
        """Draw the ghosts and paths of a result, and make its controls again."""
        scene, robot = self._context.server.scene, self._context.robot
        scene.remove_by_name(NAME)
        scene.add_frame(NAME, show_axes=False)
        shapes, _ = shapes_of(self._context.description)
        drawn = result.ghosts[:MOST_GHOSTS]
        if len(drawn) < len(result.ghosts):
            text = f'{len(result.ghosts)} ghosts: the first {MOST_GHOSTS} are drawn'
            self._context.notices.say(text)
        self._ghosts = [
            DrawnRobot(
                scene, f'{NAME}/ghost_{i}', robot, shapes, colour=SKY, opacity=OPACITY,
                scale=INSIDE,
            )
            for i in range(len(drawn))
        ]  # fmt: skip
        for ghost, q in zip(self._ghosts, drawn, strict=True):
            ghost.show(q)
        self._lines = []
        if len(result.path) > 1:
            points = np.linspace(0, len(result.path) - 1, MOST_POINTS).round().astype(int)
            paths = link_paths(robot, result.path[np.unique(points)], self._links)
            self._lines = [
                scene.add_line_segments(
                    f'{NAME}/path_{i}', segments(path), GREEN, thickness=2.5,
                    thickness_units='screen',
                )
                for i, path in enumerate(paths.swapaxes(0, 1))
            ]  # fmt: skip
        self._add_controls(len(result.path), len(drawn))

    def _add_controls(self, frames: int, ghosts: int) -> None:
        gui, is_path = self._gui, frames > 1
        title = f'{frames} frames' if is_path else 'Joint values'
        self._folder = self._folder_in_place_of(self._folder, title)
        with self._folder:
            self._play = self._button(PLAY[0], self._toggle, icon=PLAY[1], visible=is_path)
            self._frame = gui.add_slider('Frame', 1, max(frames, 2), 1, 1, visible=is_path)
            self._speed = gui.add_dropdown(
                'Speed', tuple(SPEEDS), initial_value='real time', visible=is_path
            )
            self._button(
                'Show the result again', lambda: self._arm.go_to(self._arm.playhead.frame),
                icon='arrow-back-up', color='gray',
                hint='Leave the goal, and return to the given joint values',
            )  # fmt: skip
            lines = gui.add_checkbox('Paths of the tips', True, visible=is_path)
            shown = gui.add_checkbox('Ghosts', True, visible=ghosts > 0)
            numbers = (NONE, *map(str, range(1, ghosts + 1)))
            move = gui.add_dropdown(
                'Stand at ghost', numbers, visible=ghosts > 0, hint='By its number, from 1 on'
            )
        self._on_change(self._frame, lambda: self._arm.go_to(int(self._frame.value) - 1))
        self._on_change(self._speed, self._set_speed)
        self._on_change(lines, lambda: _set_visible(self._lines, lines.value))
        self._on_change(shown, lambda: _set_visible(self._ghosts, shown.value))
        self._on_change(move, lambda: self._stand_at(move.value))

    def _toggle(self) -> None:
        self._arm.play(not (self._arm.on_path and self._arm.playhead.playing))

    def _set_speed(self) -> None:
        self._arm.playhead.speed = SPEEDS[self._speed.value]

    def _stand_at(self, number: str) -> None:
        if number != NONE:
            self._arm.stand_at(self._arm.result.ghosts[int(number) - 1])


def _set_visible(things: list[Any], visible: bool) -> None:
    for thing in things:
        thing.visible = visible
