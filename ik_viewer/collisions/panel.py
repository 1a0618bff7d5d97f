# SPDX-License-Identifier: Apache-2.0
"""The tab to check collisions, to add obstacles, and to move to a free solution."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import count

import numpy as np

from ik_core import Collisions, IkProblem, World, solve, transform
from ik_core.collision import Box, Cylinder, PairDistance, Plane, Sphere
from ik_core.collision.shapes import Shape
from ik_core.display import length
from ik_core.maths.rotations import Array

from ..arm import Moment
from ..compare.start import goals_of
from ..drawing.appearance import shapes_of
from ..page.page_context import PageContext
from ..page.panel import Panel
from .drawn import NAME, Colliding, Lines, Obstacle
from .loading import Loading

REACH = 0.15  # [of the robot's size] Pairs that are nearer are drawn
LISTED = 5  # Pairs that the tab lists
STILL = 1e-6  # [rad or m] A robot that moved less is not checked again
KINDS = 'box', 'ball', 'cylinder', 'floor'


class CollisionsPanel(Panel):
    """Obstacles, and the nearest of all pairs of links and obstacles.

    world : obstacles to begin with, which the panel moves; collisions are checked if it has any
    """

    title = 'Collisions'

    def __init__(self, context: PageContext, moment: Moment, world: World | None = None) -> None:
        super().__init__(context, moment)
        self.world = World() if world is None else world
        self.collisions: Collisions | None = None
        self._loading: Loading | None = None
        self._obstacles: dict[str, Obstacle] = {}
        self._numbers = count(1)
        self._checked: tuple[Array, int] | None = None
        shapes, _ = shapes_of(context.description)
        self._lines = Lines(context.server.scene)
        self._colliding = Colliding(context.server.scene, context.robot, shapes)
        self._add_controls()
        for obstacle in self.world:
            self._draw_obstacle(obstacle.name)

    def show(self, moment: Moment) -> None:
        """Draw the nearest pairs, if anything has moved."""
        super().show(moment)
        for obstacle in self._obstacles.values():
            obstacle.show(self._context.robot, moment.q)
        self._take_loaded()
        if self.collisions is None or not self._check.value or self._is_as_checked(moment.q):
            return
        self._checked = moment.q.copy(), self.world.version
        reach = REACH * self._context.size
        pairs = self.collisions.distances(moment.q, reach)
        self._draw(moment.q, pairs, reach)

    def remove(self) -> None:
        """Take the panel off the page."""
        self._context.server.scene.remove_by_name(NAME)
        super().remove()

    def _add_controls(self) -> None:
        gui = self._gui
        with self._tab:
            self._check = gui.add_checkbox(
                'Check collisions',
                False,
                hint='Links with one another and with obstacles; shown only, the arm is not held',
            )
            self._kind = gui.add_dropdown('Obstacle', KINDS)
            self._button('Add', lambda: self.add(self._kind.value), icon='plus')
            self._button('Remove the last', self.remove_last, icon='minus')
            self._free = self._button(
                'Move to a free solution',
                self.move_to_free,
                hint='To joint positions that reach the goals without a collision; the way there '
                'is not checked',
            )
            self._report = gui.add_html('')
        self._on_change(self._check, self._set_checking)

    def add(self, kind: str, pose: Array | None = None) -> None:
        """Add an obstacle and check collisions from now on.

        pose (4, 4) : by default in front of the robot
        """
        size = self._context.size
        name = next(name for i in self._numbers if (name := f'{kind} {i}') not in self.world)
        solids: dict[str, Shape] = {
            'box': Box((0.15 * size, 0.25 * size, 0.15 * size)),
            'ball': Sphere(0.08 * size),
            'cylinder': Cylinder(0.06 * size, 0.3 * size),
            'floor': Plane(),
        }
        front = (0.4 * size, 0.0, 0.2 * size) if kind != 'floor' else (0.0, 0.0, -0.02 * size)
        upright = None
        if self._context.description.up == '+y':
            front, upright = (front[0], front[2], 0.0), (-0.5 * np.pi, 0.0, 0.0)
        default = transform(position=front, rpy=upright)
        self.world.add(name, solids[kind], default if pose is None else pose)
        self._draw_obstacle(name)

    def _draw_obstacle(self, name: str) -> None:
        """Draw an obstacle of the world, and check collisions from now on."""
        self._obstacles[name] = Obstacle(self._context, self.world, name)
        if not self._check.value:
            self._check.value = True
            self._set_checking()

    def remove_last(self) -> None:
        """Remove the obstacle that was added last."""
        if self._obstacles:
            name, obstacle = self._obstacles.popitem()
            obstacle.remove()
            self.world.remove(name)

    def move_to_free(self) -> None:
        """Move the joints to a solution for the goals that is free of collisions."""
        if self.collisions is None:
            self._context.notices.say(
                'collisions are not checked yet: switch "Check collisions" on'
            )
            return
        goals, robot = goals_of(self._moment.tips), self._context.robot
        if not goals:
            self._context.notices.say('there is no goal: drag a tip first')
            return
        tasks = [goal.task() for goal in goals]
        result = solve(IkProblem(robot, tasks, avoid=self.collisions), self._moment.q)
        if result.success:
            values = zip(robot.joint_names, result.q.tolist(), strict=True)
            self._context.arm.set_joint_goal(dict(values))
        else:
            self._context.notices.say(result.message)

    def _set_checking(self) -> None:
        self._checked = None
        if not self._check.value:
            self._draw(self._moment.q, [], 0.0)
            self._report.content = ''
        elif self.collisions is None and self._loading is None:
            self._loading = Loading(self._context.description, self.world)
            self._report.content = _line('The links and their pairs are being prepared ...')

    def _take_loaded(self) -> None:
        loading = self._loading
        if loading is None or not loading.done:
            return
        self._loading, self.collisions = None, loading.collisions
        for text in filter(None, (loading.error, loading.note)):
            self._context.notices.say(text)
        if loading.error:
            self._check.value, self._report.content = False, _line(loading.error)

    def _is_as_checked(self, q: Array) -> bool:
        if self._checked is None:
            return False
        before, version = self._checked
        return version == self.world.version and np.abs(q - before).max(initial=0.0) <= STILL

    def _draw(self, q: Array, pairs: Sequence[PairDistance], reach: float) -> None:
        self._lines.show(pairs, reach)
        colliding = [pair for pair in pairs if pair.distance <= pair.margin]
        names = {name for pair in colliding for name in (pair.first, pair.second)}
        self._colliding.show(q, names & self._context.robot.places.keys())
        self._report.content = _report(pairs, len(colliding), reach)


def _report(pairs: Sequence[PairDistance], colliding: int, reach: float) -> str:
    """Return the nearest pairs as HTML."""
    head = f'{colliding} of the pairs collide' if colliding else 'free of collisions'
    rows = [f'{pair.first} and {pair.second}: {_how_far(pair)}' for pair in pairs[:LISTED]]
    return ''.join(map(_line, [head, *(rows or [f'nothing is nearer than {length(reach)}'])]))


def _how_far(pair: PairDistance) -> str:
    if pair.distance > 0.0:
        return length(pair.distance)
    return f'{length(-pair.distance)} deep'


def _line(text: str) -> str:
    return f'<div style="font-size:0.8rem;padding:0.1rem 0.6rem">{html.escape(text)}</div>'
