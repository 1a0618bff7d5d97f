# SPDX-License-Identifier: Apache-2.0
"""The comparison on the page: a tab that selects the methods, with ghosts, traces, numbers and
curves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array

from ..arm import Moment
from ..drawing.colours import DARK
from ..drawing.drawn_robot import DrawnRobot
from ..drawing.marks import Trace
from ..drawing.skeleton import skeleton
from ..page.page_context import PageContext
from ..page.panel import Panel
from .animation import PACES, Animation
from .comparison import Comparison
from .method_menus import MethodMenus
from .methods import COLOURS, LINE_SEARCH
from .plot import PERIOD, add_plot
from .start import Goal, Start, goals_of, stretched_arm
from .stepped_solve import SteppedSolve
from .table import plotted, table

AGAIN = 0.3  # [s] Between two starts while a goal is dragged
OPACITY = 0.75
BALL, TRACE_STEP = 0.014, 0.001  # Sizes, relative to the robot's size


class Ghost:
    """A method in the scene: its robot, and the path of its tip."""

    def __init__(self, context: PageContext, index: int, solve: SteppedSolve, goal: Goal) -> None:
        scene, robot = context.server.scene, context.robot
        name, colour = f'/compare/ghost_{index}', COLOURS[index]
        self.solve, self._goal, self._robot = solve, goal, robot
        self._figure = DrawnRobot(
            scene, name, robot, skeleton(robot), colour=colour, opacity=OPACITY
        )
        self._trace = Trace(scene, f'{name}_trace', TRACE_STEP * context.size, colour)

    def show(self) -> None:
        """Draw the robot and the path in their present state."""
        q = self.solve.state.q
        self._figure.show(q)
        tip = self._robot.forward_kinematics(q, self._goal.link) @ self._goal.tool
        self._trace.add(tip[:3, 3])
        self._trace.draw()


class Compare(Panel):
    """Solvers side by side, on the goals of the page or on the stretched arm."""

    title = 'Compare'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self._animation = Animation()
        context.endings.append(self._animation.close)
        self._ghosts: list[Ghost] = []
        self._q0: Array | None = None
        self._goals: tuple[Goal, ...] = ()
        self._began = self._drawn = -np.inf
        self._complete = False
        self._add_controls()

    @property
    def comparison(self) -> Comparison | None:
        """The comparison on the page."""
        return self._animation.comparison

    def show(self, moment: Moment) -> None:
        """Draw the comparison; begin another one if the goal has moved."""
        super().show(moment)
        self._begin_again_if_the_goal_moved()
        self._context.selection.robot = not self._ghosts or self._with_robot.value
        for ghost in self._ghosts:
            ghost.show()
        comparison, now = self._animation.comparison, time.monotonic()
        if comparison is None or self._complete or now - self._drawn < PERIOD:
            return
        self._drawn, self._complete = now, comparison.over
        self._show_numbers(comparison)

    def remove(self) -> None:
        """Take the panel off the page."""
        self._animation.close()
        self._clear_scene()
        self._context.selection.robot = True
        super().remove()

    def _add_controls(self) -> None:
        gui = self._gui
        with self._tab:
            self._button(
                'Stretched arm',
                self._stretch,
                icon='stretching',
                hint='An arm stretched out, its goal along the arm towards the base: no joint '
                'moves the tip in that direction, and simple methods are slow',
            )
            self._button(
                'From here to the goal',
                self._from_here,
                icon='player-play',
                color='gray',
                hint='All begin at the current joints of the robot',
            )
            self._pace = gui.add_dropdown('Pace', tuple(PACES), initial_value='4 updates a frame')
            self._add_menus(gui)
            self._table = gui.add_html('')
            self._plots: list[Any] = []
            self._clear = self._button('Clear', self._end, icon='trash', color='gray')
        self._pace.on_update(self._context.guarded(lambda _: self._set_pace()))

    def _add_menus(self, gui: Any) -> None:
        with gui.add_folder('Methods and options', expand_by_default=False):
            self._again = gui.add_checkbox(
                'Restart when the goal moves', True, hint='From the same joints'
            )
            self._with_robot = gui.add_checkbox('Show the robot', False)
            self._menus = MethodMenus(gui, LINE_SEARCH)

    def _set_pace(self) -> None:
        self._animation.updates = PACES[self._pace.value]

    def _stretch(self) -> None:
        tip = self._moment.tips[self._context.selection.tip]
        start = stretched_arm(self._context.robot, tip.link, tip.tool)
        self._goals = goals_of(self._moment.tips)
        self._begin(start)

    def _from_here(self) -> None:
        self._goals = goals_of(self._moment.tips)
        if not self._goals:
            raise InvalidOption(
                'there is no goal yet: drag the gizmo, or choose the stretched arm'
            )
        self._begin(Start(self._context.robot, self._moment.q.copy(), self._goals))

    def _begin_again_if_the_goal_moved(self) -> None:
        """Begin a comparison from the same joints if asked for and the goal has moved, at most
        every AGAIN seconds."""
        goals = goals_of(self._moment.tips)
        if self._q0 is None or not self._again.value or same_goals(goals, self._goals):
            return
        if goals and time.monotonic() - self._began >= AGAIN:
            self._goals = goals
            self._begin(Start(self._context.robot, self._q0, goals))

    def _begin(self, start: Start) -> None:
        methods = self._menus.methods()
        self._clear_scene()
        comparison = self._animation.begin(methods, start)
        self._q0, self._began, self._complete = start.q0, time.monotonic(), False
        self._ghosts = [
            Ghost(self._context, i, solve, start.goals[0])
            for i, solve in enumerate(comparison.solves)
        ]
        for i, goal in enumerate(start.goals):
            self._context.server.scene.add_icosphere(
                f'/compare/goal_{i}',
                radius=BALL * self._context.size,
                color=DARK,
                position=goal.target[:3, 3],
                cast_shadow=False,
            )
        self._make_plots(comparison)
        self._show_numbers(comparison)

    def _show_numbers(self, comparison: Comparison) -> None:
        self._table.content = table(comparison.solves, COLOURS[: len(comparison.solves)])
        curves = [solve.curve for solve in comparison.solves]
        for turned, plot in enumerate(self._plots):
            data = plotted(curves, bool(turned))
            plot.data, scales = data, _scales(data[0][-1])
            if scales != plot.scales:
                plot.scales = scales

    def _make_plots(self, comparison: Comparison) -> None:
        """Make plots of position errors, and of orientation errors if a goal has an orientation,
        with a line for each method."""
        for plot in self._plots:
            plot.remove()
        turned = any(goal.kind.value != 'position' for goal in comparison.start.goals)
        titles = ['position error [mm] by update', 'orientation error [deg] by update']
        data = plotted([solve.curve for solve in comparison.solves])
        with self._tab:
            self._plots = [
                add_plot(
                    self._gui,
                    title,
                    [solve.method.name for solve in comparison.solves],
                    data,
                    _scales(data[0][-1]),
                    order=self._clear.order - 0.5,
                )
                for title in titles[: 1 + turned]
            ]

    def _end(self) -> None:
        self._animation.end()
        self._q0 = None
        self._clear_scene()
        self._table.content = ''
        for plot in self._plots:
            plot.remove()
        self._plots = []

    def _clear_scene(self) -> None:
        self._ghosts = []
        self._context.server.scene.remove_by_name('/compare')


def same_goals(goals: Sequence[Goal], others: Sequence[Goal]) -> bool:
    """Return whether two lists of goals have the same targets for the same links."""
    return len(goals) == len(others) and all(
        a.link == b.link and a.kind is b.kind and np.abs(a.target - b.target).max() < 1e-9
        for a, b in zip(goals, others, strict=True)
    )


def _scales(longest: float) -> dict[str, Any]:
    """Return the scales of a plot: logarithmic, with updates up to the next power of ten."""
    from viser import uplot

    end = 10.0 ** np.ceil(np.log10(longest))
    return {
        'x': uplot.Scale(time=False, distr=3, log=10, auto=False, range=(1.0, end)),
        'y': uplot.Scale(distr=3, log=10, auto=True),
    }
