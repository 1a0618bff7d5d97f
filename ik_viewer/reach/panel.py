# SPDX-License-Identifier: Apache-2.0
"""The reach of a tip on the page: a tab that maps it, and points in the scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_core import IkProblem, PositionTask
from ik_core.display import length

from ..arm import Moment
from ..drawing.colours import hex_of
from ..page.page_context import PageContext
from ..page.panel import Panel
from .mapping import VIRIDIS, Mapper, Reach, colours_of

NAME = '/reach'
# Points from the middle of what may be in reach to its end
FINENESS = {'coarse': 10, 'medium': 16, 'fine': 24}
SIZE = 0.18  # Size of a point, relative to the distance of points


class ReachMap(Panel):
    """A map of what the chosen tip reaches, the more freely the brighter."""

    title = 'Reach'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self._mapper: Mapper | None = None
        self._reach: Reach | None = None
        self._cloud: Any = None
        upright = context.description.up != '+y'
        self._away = np.array([0.0, 1.0, 0.0] if upright else [0.0, 0.0, -1.0])
        context.endings.append(self._give_up)
        self._add_controls()

    def show(self, moment: Moment) -> None:
        """Display the progress of a map, and draw it once it is complete."""
        super().show(moment)
        self._follow_tab()
        mapper = self._mapper
        if mapper is None:
            return
        done = mapper.done
        self._progress.value = 100.0 * mapper.fraction
        if done:
            self._mapper = None
            self._progress.visible = False
            if mapper.error:
                self._context.notices.say(mapper.error)
            elif mapper.reach is not None:
                self._draw(mapper.reach)

    def remove(self) -> None:
        """Take the panel off the page."""
        self._give_up()
        self._context.server.scene.remove_by_name(NAME)
        super().remove()

    def _add_controls(self) -> None:
        gui, context = self._gui, self._context
        with self._tab:
            self._button(
                'Map the reach of the tip',
                self._begin,
                icon='world',
                hint='With any orientation; ignores the other tips',
            )
            self._fineness = gui.add_dropdown('Points', tuple(FINENESS), initial_value='medium')
            self._progress = gui.add_progress_bar(0.0, animated=True, visible=False)
            self._shown = gui.add_checkbox('Show', True, visible=False)
            self._cut = gui.add_slider(
                'Cut open',
                0.0,
                1.0,
                0.01,
                0.5,
                hint='Fraction left out, on the side of the camera',
                visible=False,
            )
            self._legend = gui.add_html('')
        self._shown.on_update(context.guarded(lambda _: self._show_cloud()))
        self._cut.on_update(context.guarded(lambda _: self._show_cloud()))

    def _begin(self) -> None:
        self._give_up()
        tip, robot = self._moment.tips[self._context.selection.tip], self._context.robot
        frozen = [robot.joint_names[i] for i in robot.root_joints]
        problem = IkProblem(robot, [PositionTask(tip.link, tool=tip.tool)], frozen_joints=frozen)
        q0 = np.clip(self._moment.q, robot.lower, robot.upper)
        self._mapper = Mapper(problem, q0, FINENESS[self._fineness.value])
        self._progress.value, self._progress.visible = 0.0, True

    def _give_up(self) -> None:
        mapper, self._mapper = self._mapper, None
        if mapper is not None:
            mapper.cancel()

    def _draw(self, reach: Reach) -> None:
        """Draw a new map."""
        self._reach = reach
        self._shown.visible = self._cut.visible = True
        self._legend.content = legend(reach)
        if self._cloud is not None:
            self._cloud.remove()
        self._cloud = self._context.server.scene.add_point_cloud(
            NAME,
            reach.points.astype(np.float32),
            colours_of(reach.manipulability),
            point_size=SIZE * reach.step,
            point_shape='circle',
            precision='float32',
        )
        self._show_cloud()

    def _show_cloud(self) -> None:
        """Show the points on one side of the cut."""
        if self._cloud is None or self._reach is None:
            return
        points, across = self._reach.points, self._reach.points @ self._away
        low, high = across.min(initial=0.0), across.max(initial=0.0)
        kept = across >= low + self._cut.value * (high - low) - 1e-9
        self._cloud.points = points[kept].astype(np.float32)
        self._cloud.colors = colours_of(self._reach.manipulability)[kept]
        self._cloud.visible = self._is_visible

    @property
    def _is_visible(self) -> bool:
        return bool(self._shown.value) and self._context.open_tabs.shows(self.title)

    def _follow_tab(self) -> None:
        """Hide the cloud while no browser shows the tab."""
        if self._cloud is not None and self._cloud.visible != self._is_visible:
            self._cloud.visible = self._is_visible


def legend(reach: Reach) -> str:
    """Return the meaning of the colours, as HTML."""
    bar = ', '.join(hex_of(tuple(colour)) for colour in VIRIDIS.tolist())
    most = reach.manipulability.max(initial=0.0)
    volume = len(reach.points) * reach.step**3
    return (
        '<div style="padding:0 0.6rem;font-size:0.8rem;color:#4b5563">'
        "manipulability sqrt(det(JJ'))"
        f'<div style="height:0.6rem;background:linear-gradient(to right, {bar})"></div>'
        '<div style="display:flex;justify-content:space-between">'
        f'<span>0</span><span>{most:.3g}</span></div>'
        f'{len(reach.points)} points, {length(reach.step)} apart: {volume:.2f} m&sup3;</div>'
    )
