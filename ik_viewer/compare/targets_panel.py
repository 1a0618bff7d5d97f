# SPDX-License-Identifier: Apache-2.0
"""Methods side by side on targets that move: the experiment of [Buss2009] section 8, live."""

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
from ..page.server import DISTANCE, VIEW, direction, look_at
from ..page.stage import Stage
from .contestants import COLOURS, Contestant
from .director import PACES, Director
from .method_menus import MethodMenus
from .moving_targets import Experiment, Follower
from .plot import PERIOD, add_plot
from .start import Goal, Start
from .stepped_solve import RunState
from .table import SMALLEST, dot_of, framed

METHODS: Sequence[Contestant] = (
    Contestant('jacobian_transpose', 'buss_pure'),
    Contestant('pseudoinverse', 'buss_pure'),
    Contestant('damped_least_squares', 'buss_pure'),
    Contestant('damped_least_squares', 'buss_clamped'),
    Contestant('selectively_damped_least_squares', 'buss_pure'),
)
"""The methods that the source compares."""
DAMPING = 0.4
"""[m/rad] For the double Y: clamped errors allow it, without the clamp it shakes."""
AMPLITUDE, SPACING, BALL = 0.25, 0.75, 0.02
"""First amplitude, distance between two methods, and ball, relative to the robot's size."""
WIDER = 0.28
"""Extra distance of the camera for each method, relative to the usual one."""
RIGHT = np.cross([0.0, 0.0, 1.0], VIEW)
"""Direction to the right, as one looks at first; z is up."""
MOST_PLOTS = 4
"""Tips with a plot of their own; of more tips the mean is shown."""


class Drawn:
    """A method in the scene: its robot, and its targets."""

    def __init__(self, stage: Stage, index: int, run: Follower, place: Array) -> None:
        scene, robot, name = stage.server.scene, stage.robot, f'/targets/{index}'
        scene.add_frame(name, show_axes=False, position=place)
        self._run = run
        self._robot = DrawnRobot(
            scene, f'{name}/robot', robot, skeleton(robot), colour=COLOURS[index]
        )
        self._balls = [
            scene.add_icosphere(
                f'{name}/target_{k}', radius=BALL * stage.size, color=DARK, cast_shadow=False
            )
            for k in range(len(run.targets))
        ]

    def show(self) -> None:
        """Draw the last update."""
        self._robot.show(self._run.standing.q)
        for ball, target in zip(self._balls, self._run.targets, strict=True):
            ball.position = target


class MovingTargets:
    """A `Part`: the tab *Targets*."""

    def __init__(self, stage: Stage, moment: Moment) -> None:
        self._stage, self._moment = stage, moment
        self._director = Director()
        self._director.updates = 1
        self._experiment = Experiment(AMPLITUDE * stage.size, DAMPING)
        self._drawn: list[Drawn] = []
        self._plots: list[Any] = []
        self._shown = -np.inf
        self._add_controls()

    @property
    def followers(self) -> list[Follower]:
        """The methods that are on the page."""
        race = self._director.race
        return [] if race is None else [run for run in race.runs if isinstance(run, Follower)]

    def show(self, moment: Moment) -> None:
        """Draw the methods; a few times a second their numbers."""
        self._moment = moment
        if not self._drawn:
            return
        self._stage.choice.robot = self._stage.choice.gizmos = False
        for drawn in self._drawn:
            drawn.show()
        now = time.monotonic()
        if now - self._shown >= PERIOD:
            self._shown = now
            self._show_numbers()

    def remove(self) -> None:
        """Take it off the page."""
        self._end()
        self._director.close()
        self._folder.remove()

    def _add_controls(self) -> None:
        gui, stage = self._stage.server.gui, self._stage
        with stage.add_tab('Targets') as self._folder:
            start = gui.add_button(
                'Move the targets',
                icon='player-play',
                hint='From the current joints; each method makes one update of the joints a step',
            )
            self._size = gui.add_slider(
                'Amplitude [m]', 0.0, round(stage.size, 2), 0.01, round(self._experiment.size, 2)
            )
            self._damping = gui.add_slider(
                'Damping [m/rad]', 0.05, 2.0, 0.05, DAMPING, hint='Of damped least squares'
            )
            self._pace = gui.add_dropdown('Pace', tuple(PACES)[:-1])
            with gui.add_folder('Methods', expand_by_default=False):
                self._apart = gui.add_checkbox('Side by side', True)
                self._menus = MethodMenus(gui, METHODS)
            self._table = gui.add_html('')
            self._clear = gui.add_button('Clear', icon='trash', color='gray')
        start.on_click(stage.guarded(lambda _: self._start()))
        for widget in (self._size, self._damping, self._pace):
            widget.on_update(stage.guarded(lambda _: self._set_experiment()))
        self._clear.on_click(stage.guarded(lambda _: self._end()))

    def _set_experiment(self) -> None:
        self._experiment.size = float(self._size.value)
        self._experiment.damping = float(self._damping.value)
        self._director.updates = PACES[self._pace.value]

    def _start(self) -> None:
        contestants = self._menus.contestants()
        robot, q = self._stage.robot, self._moment.q.copy()
        goals = tuple(
            Goal(t.link, robot.forward_kinematics(q, t.link) @ t.tool, GoalKind.POSITION, t.tool)
            for t in self._moment.tips
        )
        self._end()
        self._set_experiment()
        start = Start(robot, q, goals)
        self._director.begin(contestants, start, partial(Follower, experiment=self._experiment))
        apart = SPACING * self._stage.size * direction(RIGHT, self._stage.description.up)
        middle = 0.5 * (len(contestants) - 1) if self._apart.value else 0.0
        self._drawn = [
            Drawn(self._stage, i, run, (i - middle) * apart if middle else np.zeros(3))
            for i, run in enumerate(self.followers)
        ]
        self._look(1.0 + 2.0 * WIDER * middle)
        self._add_plots(contestants)

    def _add_plots(self, contestants: Sequence[Contestant]) -> None:
        names = [contestant.name for contestant in contestants]
        empty = tuple(np.full((len(names) + 1, 2), SMALLEST))
        with self._folder:
            self._plots = [
                add_plot(
                    self._stage.server.gui,
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
        """Look at the middle from a distance, relative to the usual one."""
        server, up = self._stage.server, self._stage.description.up
        view = distance * DISTANCE * self._stage.size * direction(VIEW, up)
        look_at(server, np.array(server.initial_camera.look_at), view)

    def _end(self) -> None:
        self._director.end()
        self._stage.server.scene.remove_by_name('/targets')
        if self._drawn:
            self._look(1.0)
        self._drawn, self._table.content = [], ''
        self._stage.choice.robot = self._stage.choice.gizmos = True
        for plot in self._plots:
            plot.remove()
        self._plots = []


def last_of(followers: Sequence[Follower]) -> int:
    """The last update that all methods that did not fail have made."""
    states = [run.standing for run in followers]
    return min((s.iterations for s in states if s.state is not RunState.FAILED), default=0)


def curves(followers: Sequence[Follower], split: bool) -> Array:
    """Errors (plots, methods, updates) [mm] of the last updates, up to `last_of`, that all have.

    split : a plot for each tip, else one of their mean. A method that failed stays at its last
    error.
    """
    known, end = [], last_of(followers)
    for run in followers:
        errors = np.array(list(run.errors)).reshape(-1, len(run.targets))
        ahead = run.standing.iterations - end
        known.append(errors[: len(errors) - ahead] if ahead > 0 else errors)
    running = [
        len(errors)
        for run, errors in zip(followers, known, strict=True)
        if run.standing.state is not RunState.FAILED
    ]
    count = min(running, default=0)
    plots = len(followers[0].targets) if split else 1
    found = np.full((plots, len(followers), count), SMALLEST)
    for i, errors in enumerate(known):
        rows = errors if split else errors.mean(axis=1, keepdims=True)
        if len(rows) and count:
            behind = max(end - followers[i].standing.iterations, count - len(rows), 0)
            kept = np.concatenate([rows, np.repeat(rows[-1:], min(behind, count), axis=0)])
            found[:, i] = np.maximum(1e3 * kept[-count:].T, SMALLEST)
    return found


def table(followers: Sequence[Follower]) -> str:
    """A row for each method: its error now and on the mean, over all tips."""
    rows = ''.join(_row(run, COLOURS[i]) for i, run in enumerate(followers))
    return framed(('', 'now', 'mean'), rows)


def _row(run: Follower, colour: Colour) -> str:
    now = steady_length(float(run.errors[-1].mean())) if run.errors else ''
    if run.standing.state is RunState.FAILED:
        now = f'failed: {html.escape(run.standing.text)}'
    cells = ''.join(
        f'<td style="text-align:right">{cell}</td>' for cell in (now, steady_length(run.mean))
    )
    return f'<tr><td>{dot_of(colour)} {html.escape(run.contestant.name)}</td>{cells}</tr>'


def _scales(first: float, last: float) -> dict[str, Any]:
    """Updates from the first to the last; errors on a logarithmic scale."""
    from viser import uplot

    return {
        'x': uplot.Scale(time=False, auto=False, range=(first, last)),
        'y': uplot.Scale(distr=3, log=10, auto=True),
    }
