# SPDX-License-Identifier: Apache-2.0
"""The paths of links in the scene: those of the example and of the robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.retargeting.example import link_paths

from ..drawing.colours import BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from ..drawing.shapes import Colour
from .clip import Imitator

COLOURS: Sequence[Colour] = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY)
PALE = 0.6  # fraction of white in the colour of the example's path
THIN, THICK = 1.5, 3.0  # [pixels] widths of lines


def colour_of_link(index: int) -> Colour:
    """Return the colour of a link; colours repeat after the end of the palette."""
    return COLOURS[index % len(COLOURS)]


class Paths:
    """The paths of an imitator's links in a scene, and balls at their goals.

    radius : [m] of the balls
    """

    def __init__(self, scene: Any, imitator: Imitator, radius: float) -> None:
        self._imitator = imitator
        paths = imitator.example.paths.swapaxes(0, 1)
        colours = [colour_of_link(i) for i in range(len(paths))]
        self._root = scene.add_frame('/paths', show_axes=False)
        self._balls = [
            scene.add_icosphere(f'/paths/goal_{i}', radius=radius, color=colour, cast_shadow=False)
            for i, colour in enumerate(colours)
        ]
        for i, (path, colour) in enumerate(zip(paths, colours, strict=True)):
            _add_line(scene, f'/paths/example_{i}', segments(path), paler(colour), THIN)
        self._lines = [
            _add_line(scene, f'/paths/robot_{i}', segments(path)[:1], colour, THICK)
            for i, (path, colour) in enumerate(zip(paths, colours, strict=True))
        ]

    def show(self, frame: int) -> None:
        """Move the balls to the links' goals at a frame."""
        for ball, position in zip(self._balls, self._imitator.example.paths[frame], strict=True):
            ball.position = position

    def draw(self, positions: Array) -> None:
        """Draw the robot's paths for positions (frames, n), without frames that are nan."""
        known = np.isfinite(positions).all(axis=1)
        example = self._imitator.example
        if np.count_nonzero(known) < 2:
            return
        here = link_paths(self._imitator.robot, positions[known], example.links).swapaxes(0, 1)
        joined = np.diff(np.flatnonzero(known)) == 1
        for line, path in zip(self._lines, here, strict=True):
            line.points = segments(path)[joined]

    @property
    def visible(self) -> bool:
        """True if they are shown."""
        return bool(self._root.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._root.visible = visible


def segments(path: Array) -> Array:
    """Return the segments (k - 1, 2, 3) of a path (k, 3); one of length 0 for a single point."""
    points = path if len(path) > 1 else np.repeat(path, 2, axis=0)
    return np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)


def paler(colour: Colour) -> Colour:
    """Return a colour mixed with white."""
    red, green, blue = (round(c + PALE * (255 - c)) for c in colour)
    return red, green, blue


def _add_line(scene: Any, name: str, points: Array, colour: Colour, width: float) -> Any:
    return scene.add_line_segments(name, points, colour, thickness=width, thickness_units='screen')
