# SPDX-License-Identifier: Apache-2.0
"""The tab of methods that follow moving targets: the experiment of [Buss2009] section 8."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ik_core.display import steady_length
from ik_core.maths.rotations import Array

from ..arm import GoalKind, Moment
from ..drawing.colours import DARK
from ..drawing.drawn_robot import DrawnRobot
from ..drawing.shapes import Colour
from ..drawing.skeleton import skeleton
from ..page.page_context import PageContext
from ..page.panel import Panel
from ..page.server import DISTANCE, VIEW, direction, look_at
from .animation import PACES, Animation
from .method_menus import MethodMenus
from .methods import COLOURS, Method
from .moving_targets import Experiment, Follower
from .plot import PERIOD, add_plot
from .start import Goal, Start
from .stepped_solve import Phase
from .table import SMALLEST, dot_of, framed

# The methods compared in [Buss2009].
METHODS: Sequence[Method] = (
    Method('jacobian_transpose', 'buss_pure'),
    Method('pseudoinverse', 'buss_pure'),
    Method('damped_least_squares', 'buss_pure'),
    Method('damped_least_squares', 'buss_clamped'),
    Method('selectively_damped_least_squares', 'buss_pure'),
)
DAMPING = 0.4  # [m/rad] for the double Y: smooth with clamped errors, oscillating without
# Initial amplitude, distance between methods, and radius of balls, by the robot's size.
AMPLITUDE, SPACING, BALL = 0.25, 0.75, 0.02
WIDER = 0.42  # additional distance of the camera for each method, relative to the usual one
RIGHT = np.cross([0.0, 0.0, 1.0], VIEW)  # the direction to the right in the first view; z is up
MOST_PLOTS = 4  # up to this many tips have plots of their own; for more, the mean is plotted


class Drawn:
    """A method in the scene: its robot and its targets, at `place` (3,) [m]."""

    def __init__(self, context: PageContext, index: int, solve: Follower, place: Array) -> None:
        scene, robot, name = context.server.scene, context.robot, f'/targets/{index}'
        scene.add_frame(name, show_axes=False, position=place)
        self._run = solve
        self._robot = DrawnRobot(
            scene, f'{name}/robot', robot, skeleton(robot), colour=COLOURS[index]
        )
        self._balls = [
            scene.add_icosphere(
                f'{name}/target_{k}', radius=BALL * context.size, color=DARK, cast_shadow=False
            )
            for k in range(len(solve.targets))
        ]

    def show(self) -> None:
        """Draw the last update."""
        self._robot.show(self._run.state.q)
        for ball, target in zip(self._balls, self._run.targets, strict=True):
            ball.position = target


class MovingTargets(Panel):
    """The tab *Targets*."""

    title = 'Targets'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self._animation = Animation()
        context.endings.append(self._animation.close)
        self._animation.updates = 1
        self._experiment = Experiment(AMPLITUDE * context.size, DAMPING)
        self._drawn: list[Drawn] = []
        self._plots: list[Any] = []
        self._shown = -np.inf
        self._add_controls()

    @property
    def followers(self) -> list[Follower]:
        """The methods on the page."""
        comparison = self._animation.comparison
        return (
            []
            if comparison is None
            else [solve for solve in comparison.solves if isinstance(solve, Follower)]
        )

    def show(self, moment: Moment) -> None:
        """Draw the methods, and every PERIOD their numbers."""
        super().show(moment)
        if not self._drawn:
            return
        self._context.selection.robot = self._context.selection.gizmos = False
        for drawn in self._drawn:
            drawn.show()
        now = time.monotonic()
        if now - self._shown >= PERIOD:
            self._shown = now
            self._show_numbers()

    def remove(self) -> None:
        """Remove the tab from the page."""
        self._end()
        self._animation.close()
        super().remove()

    def _add_controls(self) -> None:
        gui, context = self._gui, self._context
        with self._tab:
            self._button(
                'Move the targets',
                self._start,
                icon='player-play',
                hint='From the current joints; each method makes one update of the joints a step',
            )
            self._size = gui.add_slider(
                'Amplitude [m]', 0.0, round(context.size, 2), 0.01, round(self._experiment.size, 2)
            )
            self._damping = gui.add_slider(
                'Damping [m/rad]', 0.05, 2.0, 0.05, DAMPING, hint='Of damped least squares'
            )
            self._pace = gui.add_dropdown('Pace', tuple(PACES)[:-1])
            with gui.add_folder('Methods', expand_by_default=False):
                self._apart = gui.add_checkbox('Side by side', True)
                self._menus = MethodMenus(gui, METHODS)
            self._table = gui.add_html('')
            self._clear = self._button('Clear', self._end, icon='trash', color='gray')
        for widget in (self._size, self._damping, self._pace):
            widget.on_update(context.guarded(lambda _: self._set_experiment()))

    def _set_experiment(self) -> None:
        self._experiment.size = float(self._size.value)
        self._experiment.damping = float(self._damping.value)
        self._animation.updates = PACES[self._pace.value]

    def _start(self) -> None:
        methods = self._menus.methods()
        robot, q = self._context.robot, self._moment.q.copy()
        goals = tuple(
            Goal(t.link, robot.forward_kinematics(q, t.link) @ t.tool, GoalKind.POSITION, t.tool)
            for t in self._moment.tips
        )
        self._end()
        self._set_experiment()
        start = Start(robot, q, goals)
        self._animation.begin(methods, start, partial(Follower, experiment=self._experiment))
        apart = SPACING * self._context.size * direction(RIGHT, self._context.description.up)
        middle = 0.5 * (len(methods) - 1) if self._apart.value else 0.0
        self._drawn = [
            Drawn(self._context, i, solve, (i - middle) * apart if middle else np.zeros(3))
            for i, solve in enumerate(self.followers)
        ]
        self._look(1.0 + 2.0 * WIDER * middle)
        self._add_plots(methods)

    def _add_plots(self, methods: Sequence[Method]) -> None:
        names = [method.name for method in methods]
        empty = tuple(np.full((len(names) + 1, 2), SMALLEST))
        with self._tab:
            self._plots = [
                add_plot(
                    self._gui,
                    f'{title}: error [mm] by update',
                    names,
                    empty,
                    _scales(0.0, 1.0),
                    order=self._clear.order - 0.5,
                    height=110,
                )
                for title in self._titles()
            ]

    def _titles(self) -> list[str]:
        links = [tip.link for tip in self._moment.tips]
        return links if len(links) <= MOST_PLOTS else [f'mean of {len(links)} tips']

    def _show_numbers(self) -> None:
        followers = self.followers
        self._table.content = table(followers)
        errors = curves(followers, split=len(self._moment.tips) <= MOST_PLOTS)
        count = errors.shape[2]
        if count < 2:
            return
        last = last_of(followers)
        updates = np.arange(last - count + 1.0, last + 1.0)
        for plot, lines in zip(self._plots, errors, strict=True):
            plot.data = (updates, *lines)
            plot.scales = _scales(updates[0], updates[-1])

    def _look(self, distance: float) -> None:
        """Move the camera to a distance from the middle, relative to the usual one."""
        server, up = self._context.server, self._context.description.up
        view = distance * DISTANCE * self._context.size * direction(VIEW, up)
        look_at(server, np.array(server.initial_camera.look_at), view)

    def _end(self) -> None:
        self._animation.end()
        self._context.server.scene.remove_by_name('/targets')
        if self._drawn:
            self._look(1.0)
        self._drawn, self._table.content = [], ''
        self._context.selection.robot = self._context.selection.gizmos = True
        for plot in self._plots:
            plot.remove()
        self._plots = []


def last_of(followers: Sequence[Follower]) -> int:
    """Return the last update made by all methods that have not failed."""
    states = [solve.state for solve in followers]
    return min((s.iterations for s in states if s.phase is not Phase.FAILED), default=0)


def curves(followers: Sequence[Follower], split: bool) -> Array:
    """Return errors (plots, methods, updates) [mm] of the last updates that all methods have made.

    split : whether each tip has a plot; else one plot has their mean

    A method that failed stays at its last error.
    """
    known, end = [], last_of(followers)
    for solve in followers:
        errors = np.array(list(solve.errors)).reshape(-1, len(solve.targets))
        ahead = solve.state.iterations - end
        known.append(errors[: len(errors) - ahead] if ahead > 0 else errors)
    running = [
        len(errors)
        for solve, errors in zip(followers, known, strict=True)
        if solve.state.phase is not Phase.FAILED
    ]
    count = min(running, default=0)
    plots = len(followers[0].targets) if split else 1
    found = np.full((plots, len(followers), count), SMALLEST)
    for i, errors in enumerate(known):
        rows = errors if split else errors.mean(axis=1, keepdims=True)
        if len(rows) and count:
            behind = max(end - followers[i].state.iterations, count - len(rows), 0)
            kept = np.concatenate([rows, np.repeat(rows[-1:], min(behind, count), axis=0)])
            found[:, i] = np.maximum(1e3 * kept[-count:].T, SMALLEST)
    return found


def table(followers: Sequence[Follower]) -> str:
    """Return a table with the present and mean error of each method, over all tips."""
    rows = ''.join(_row(solve, COLOURS[i]) for i, solve in enumerate(followers))
    return framed(('', 'now', 'mean'), rows)


def _row(solve: Follower, colour: Colour) -> str:
    now = steady_length(float(solve.errors[-1].mean())) if solve.errors else ''
    if solve.state.phase is Phase.FAILED:
        now = f'failed: {html.escape(solve.state.text)}'
    cells = ''.join(
        f'<td style="text-align:right">{cell}</td>' for cell in (now, steady_length(solve.mean))
    )
    return f'<tr><td>{dot_of(colour)} {html.escape(solve.method.name)}</td>{cells}</tr>'


def _scales(first: float, last: float) -> dict[str, Any]:
    """Return the scales of a plot: updates from first to last, errors logarithmic."""
    from viser import uplot

    return {
        'x': uplot.Scale(time=False, auto=False, range=(first, last)),
        'y': uplot.Scale(distr=3, log=10, auto=True),
    }
