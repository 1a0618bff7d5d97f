# SPDX-License-Identifier: Apache-2.0
"""The figures of [Engell2007] side by side, without the panel.

Its Fig. 1 follows a painting; the goals for hands, feet and head are read off by eye. Its Figs. 2
and 3 have the same ball; in Fig. 3 the limits of trunk and right arm are a quarter as wide. Figs.
5 and 7 are the models of its measurements, `arm5` and `chains5`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import ik_core as ik
from ik_core.maths.rotations import Array
from ik_core.robot.human_model import HIP
from ik_viewer.drawing.appearance import shapes_of
from ik_viewer.drawing.description import describe
from ik_viewer.drawing.drawn_robot import DrawnRobot
from ik_viewer.page.server import PANEL, light, start_server, url_of

from ..papers.arm_out_of_reach import cases
from .browser import drawn, look_from, open_tab
from .film import QUALITY, SHADOW, picture

BALL, VERMILION = 0.05, (213, 94, 0)
TOP = 1.75 * HIP  # [m] height of the pelvis of a person that stands
ASIDE = (0.94, 0.0, 0.0, -0.34)  # wxyz of a person that looks past the camera, which is at -y
WIDE = 1280, 440
NARROW = np.radians(12.5)  # field of view, so that figures at the edge are not distorted
Camera = tuple[Sequence[float], Sequence[float]]
"""A point to look at, and from where, seen from there [m]."""

# [m] Goals of links from the pelvis: of the painting, and the ball of Figs. 2 and 3
PAINTING = {
    'right_fingertips': (0.05, -0.35, 0.85),
    'left_fingertips': (0.35, 0.2, 0.2),
    'right_toe_tips': (0.25, -0.1, -0.85),
    'left_toe_tips': (-0.55, 0.15, -0.6),
    'head_top': (0.15, 0.05, 0.78),
}
REACHING = {
    'right_fingertips': (0.75, -0.1, 0.5),
    'left_toe_tips': (0.1, 0.12, -0.93),
    'right_toe_tips': (0.1, -0.12, -0.93),
}
CONSTRAINED = 0.25  # of the ranges, in Fig. 3


@contextmanager
def scene(chromium: Any, camera: Camera, width: int, height: int) -> Iterator[tuple[Any, Any]]:
    """A server with a lit scene, and a tab that shows it."""
    server = start_server(port=0)
    try:
        server.scene.set_up_direction('+z')
        server.initial_camera.fov = NARROW
        light(server.scene, '+z')
        look_from(server, *camera)
        tab = open_tab(chromium, url_of(server), width + SHADOW + PANEL, height)
        yield server, tab
        tab.close()
    finally:
        server.stop()


def posed(goals: Mapping[str, Sequence[float]], share: float = 1.0) -> Array:
    """Return q (n,) of `human` with links at goals, by BFGS, within a fraction of its ranges."""
    robot = describe('human').robot
    tasks: list[ik.PositionTask | ik.PostureTask] = [
        ik.PositionTask(link, position) for link, position in goals.items()
    ]
    tasks += [ik.PostureTask(np.zeros(robot.n), weights=1e-4)] if goals else []
    if not tasks:
        return np.zeros(robot.n)
    limited = [name.startswith(('lumbar', 'thoracic', 'right_')) for name in robot.joint_names]
    parts = np.where(limited, share, 1.0)
    problem = ik.IkProblem(robot, tasks, lower=parts * robot.lower, upper=parts * robot.upper)
    return ik.solve(problem, np.clip(np.zeros(robot.n), robot.lower, robot.upper), solver='bfgs').q


def state_of_the_art(chromium: Any, path: Path) -> None:
    """The figures of [Engell2007] 1 to 5 and 7."""
    with scene(chromium, ((5.0, 0.0, 0.95), (0.0, -19.5, 2.0)), *WIDE) as (server, tab):
        people: tuple[tuple[str, Mapping[str, Sequence[float]], float], ...] = (
            ('Fig. 1', PAINTING, 1.0),
            ('Fig. 2', REACHING, 1.0),
            ('Fig. 3', REACHING, CONSTRAINED),
            ('Fig. 4', {}, 1.0),
        )
        for k, (title, goals, share) in enumerate(people):
            at = 1.35 * k, 0.0, TOP
            _place(server, title, 'human', posed(goals, share), at, ASIDE, goals.values())
        problem, start = next(cases(1))
        reached = ik.solve(problem, start, solver='bfgs').q
        goal = problem.points[0]
        upright = (0.707, 0.707, 0.0, 0.0)
        _place(server, 'Fig. 5', 'arm5', reached, (5.4, 0.0, 0.4), upright, [goal])
        _place(server, 'Fig. 7', 'chains5', np.zeros(16), (7.3, 0.0, 0.7), upright)
        drawn(tab, server)
        picture(tab, *WIDE).save(path, quality=QUALITY)


def _place(
    server: Any,
    title: str,
    name: str,
    q: Array,
    at: Sequence[float],
    turned: Sequence[float],
    goals: Any = (),
) -> None:
    """Draw a robot at q (n,) and its goals, below its title."""
    node, description = title.replace(' ', '_'), describe(name)
    server.scene.add_frame(f'/{node}', show_axes=False, position=at, wxyz=turned)
    robot = DrawnRobot(
        server.scene, f'/{node}/robot', description.robot, shapes_of(description)[0]
    )
    robot.show(q)
    for k, goal in enumerate(goals):
        server.scene.add_icosphere(
            f'/{node}/goal_{k}', BALL, VERMILION, position=np.array(goal, float)
        )
    server.scene.add_label(f'/title/{node}', title, position=(at[0], 0.0, -0.25))
