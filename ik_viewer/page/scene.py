# SPDX-License-Identifier: Apache-2.0
"""The robot in the scene, and what is drawn around it: ghost, traces, goals, limits, frames."""

from __future__ import annotations

import time

import numpy as np

from ik_core.maths.rotations import Array

from ..arm import Moment, TipState
from ..drawing.appearance import shapes_of
from ..drawing.colours import SKY
from ..drawing.drawn_robot import INSIDE, DrawnRobot
from ..drawing.limits import Limits
from ..drawing.marks import Ellipsoid, GoalMark, Trace
from .page_context import PageContext, tip_poses
from .panel import Panel
from .server import light

GHOST_OPACITY = 0.3
# [rad or m] The ghost appears where the solution is farther from the joints than the first, and
# goes where it has been nearer than the second for the third [s]: so it does not flicker
APART, NEAR, LINGERING = 0.03, 0.01, 0.3
BALL, TRACE_STEP, AXES = 0.018, 0.002, 0.09  # Sizes, relative to the robot's size
# Codes of an arm that rests although a tip has not reached its goal
NOT_REACHED = 'closest', 'too_few_joints', 'stopped_short', 'other_configuration'


class Scene(Panel):
    """The robot, with a tab to choose what is drawn beside it."""

    title = 'View'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        scene, robot, size = context.server.scene, context.robot, context.size
        shapes, notices = shapes_of(context.description)
        self.figure = DrawnRobot(scene, '/robot', robot, shapes)
        self.ghost = DrawnRobot(
            scene, '/ghost', robot, shapes, colour=SKY, opacity=GHOST_OPACITY, scale=INSIDE
        )
        self.ghost.visible = False
        links = enumerate(moment.tips)
        self.traces = [Trace(scene, f'/trace/tip_{i}', TRACE_STEP * size) for i, _ in links]
        self.marks = [
            GoalMark(scene, f'/mark/tip_{i}', BALL * size) for i in range(len(moment.tips))
        ]
        self.ellipsoids = [
            Ellipsoid(scene, f'/ellipsoid/tip_{i}') for i in range(len(moment.tips))
        ]
        self.limits = Limits(scene, '/limits', robot, context.description.cones, size)
        self._frames, self._apart = 0, -np.inf
        self._add_toggles()
        for notice in notices:
            context.notices.say(notice)

    def show(self, moment: Moment) -> None:
        """Draw all of it at a moment."""
        self.figure.show(moment.q)
        if self.figure.visible != self._context.selection.robot:
            self.figure.visible = self._context.selection.robot
        self._show_ghost(moment)
        poses = tip_poses(self._context.robot, moment)
        for tip, pose, trace, mark in zip(
            moment.tips, poses, self.traces, self.marks, strict=True
        ):
            mark.show(None if tip.goal is None else tip.goal[:3, 3], self._code(tip, moment.code))
            trace.add(pose[:3, 3])
        self._frames += 1
        if self._frames % 3 == 0:  # what changes slowly, or is much to send
            self._show_traces()
            self._show_ellipsoids(moment, poses)
            self._show_limits(moment)

    def remove(self) -> None:
        """Take the panel off the page."""
        scene = self._context.server.scene
        for name in ('/robot', '/ghost', '/trace', '/mark', '/ellipsoid', '/limits'):
            scene.remove_by_name(name)
        super().remove()

    def _code(self, tip: TipState, code: str) -> str:
        """The status code of a tip: the arm's, or 'reached' if it alone is at its goal."""
        settings = self._context.arm.settings
        known = {'position_tolerance', 'orientation_tolerance'} <= {*settings}
        if code not in NOT_REACHED or len(self.marks) == 1 or not known:
            return code
        near = tip.position_error <= settings['position_tolerance'].value
        turned = tip.orientation_error <= settings['orientation_tolerance'].value
        return 'reached' if near and turned else code

    def _add_toggles(self) -> None:
        gui, context = self._gui, self._context
        with self._tab:
            self.with_ghost = gui.add_checkbox(
                'Ghost', True, hint='Joint positions found by the solver, before motion limits'
            )
            self._with_trace = gui.add_checkbox('Trace', True, hint='Recent paths of the tips')
            self._with_ellipsoid = gui.add_checkbox(
                'Manipulability',
                False,
                hint='Tip velocity in each direction at unit joint speed',
            )
            self.with_limits = gui.add_checkbox(
                'Limits', False, hint='The range of each revolute joint, and cones of ball joints'
            )
            self._with_axes = gui.add_checkbox(
                'Joint frames', False, hint='The axis of a joint is blue'
            )
            shadows = gui.add_checkbox('Shadows', False, hint='Slow without a graphics card')
            self._button('Clear traces', self._clear_traces)
        self._with_axes.on_update(context.guarded(lambda _: self._show_axes()))
        shadows.on_update(
            context.guarded(
                lambda _: light(context.server.scene, context.description.up, shadows.value)
            )
        )

    def _show_ghost(self, moment: Moment) -> None:
        solution, now = moment.solution, time.monotonic()
        apart = 0.0 if solution is None else float(np.abs(solution - moment.q).max())
        if apart > (NEAR if self.ghost.visible else APART):
            self._apart = now
        visible = now - self._apart < LINGERING and bool(self.with_ghost.value)
        if visible and solution is not None:
            self.ghost.show(solution)
        if visible != self.ghost.visible:
            self.ghost.visible = visible

    def _show_traces(self) -> None:
        for trace in self.traces:
            if trace.visible != self._with_trace.value:
                trace.visible = self._with_trace.value
            if trace.visible:
                trace.draw()

    def _show_ellipsoids(self, moment: Moment, poses: list[Array]) -> None:
        robot = self._context.robot
        for tip, pose, ellipsoid in zip(moment.tips, poses, self.ellipsoids, strict=True):
            if ellipsoid.visible != self._with_ellipsoid.value:
                ellipsoid.visible = self._with_ellipsoid.value
            if ellipsoid.visible:
                ellipsoid.show(robot, moment.q, tip.link, pose)

    def _show_limits(self, moment: Moment) -> None:
        if self.with_limits.value:
            self.limits.show(moment.q)
        else:
            self.limits.hide()

    def _clear_traces(self) -> None:
        for trace in self.traces:
            trace.clear()

    def _show_axes(self) -> None:
        self.figure.show_axes(self._with_axes.value, AXES * self._context.size)
