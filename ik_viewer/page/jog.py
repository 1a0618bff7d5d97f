# SPDX-License-Identifier: Apache-2.0
"""The jog pad: it moves the selected tip by steps, or while a button is pressed.

Keys make steps, too. They differ from viser's keys for the camera, the arrows and W A S D Q E.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array

from ..arm import Moment
from .page_context import PageContext, tip_poses
from .panel import Panel

HOLD_RATE = 20.0  # [Hz] Twists while a button is held; they end by themselves after 0.1 s
AXES = {'x': 0, 'y': 1, 'z': 2, 'roll (x)': 3, 'pitch (y)': 4, 'yaw (z)': 5}
# Keys that step along the axes
KEYS = {'\u2212x': 'J', '+x': 'L', '\u2212y': 'K', '+y': 'I', '\u2212z': 'U', '+z': 'O'}
BASE, TIP = 'of the robot', 'of the tip'


class Jog(Panel):
    """The tab with the pad."""

    title = 'Jog'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        gui = self._gui
        with self._tab:
            self._axes = gui.add_dropdown('Axes', (BASE, TIP))
            self._add_hold(gui)
            self._add_steps(gui)

    def remove(self) -> None:
        """Take the panel off the page."""
        for key in self._keys:
            key.remove()
        super().remove()

    def _add_hold(self, gui: Any) -> None:
        with gui.add_folder('Hold to move'):
            self._direction = gui.add_dropdown('Direction', tuple(AXES))
            self._linear = gui.add_slider('Speed [mm/s]', 5, 500, 5, 100)
            self._angular = gui.add_slider('Rotation [deg/s]', 1, 90, 1, 30)
            for sign, icon in ((1.0, 'plus'), (-1.0, 'minus')):
                button = gui.add_button('Hold', icon=icon)
                move = self._context.guarded(partial(self._move, sign))
                button.on_hold(move, callback_hz=HOLD_RATE)

    def _add_steps(self, gui: Any) -> None:
        with gui.add_folder('Steps'):
            self._distance = gui.add_slider('Step [mm]', 1, 100, 1, 10)
            self._angle = gui.add_slider('Turn [deg]', 1, 45, 1, 5)
            for first in (0, 3):
                names = [f'{sign}{axis}' for axis in 'xyz' for sign in ('\u2212', '+')]
                pad = gui.add_button_group(
                    'Turn about' if first else 'Step along',
                    names,
                    hint='' if first else 'Keys: J L for x, K I for y, U O for z',
                )
                pad.on_click(self._context.guarded(partial(self._step_pad, first)))
        self._keys = [self._add_key(gui, name, key) for name, key in KEYS.items()]

    def _add_key(self, gui: Any, name: str, key: Any) -> Any:
        command = gui.add_command(f'Step {name}', hotkey=key)
        command.on_trigger(self._context.guarded(lambda _: self._step(0, name)))
        return command

    def _move(self, sign: float, _: Any) -> None:
        twist = np.zeros(6)
        axis = AXES[self._direction.value]
        speed = 1e-3 * self._linear.value if axis < 3 else math.radians(self._angular.value)
        twist[axis] = sign * speed
        turn = self._turn()
        self._context.arm.set_twist(
            self._context.selection.tip, turn @ twist[:3], turn @ twist[3:]
        )

    def _step_pad(self, first: int, event: Any) -> None:
        self._step(first, event.target.value)

    def _step(self, first: int, name: str) -> None:
        """Set the tip's goal a step further than its last goal, or than its pose without one."""
        vector = np.zeros(3)
        vector['xyz'.index(name[1])] = 1.0 if name[0] == '+' else -1.0
        vector = self._turn() @ vector
        goal = self._goal()
        if first == 0:
            goal[:3, 3] += 1e-3 * self._distance.value * vector
        else:
            goal[:3, :3] = turn_about(vector, math.radians(self._angle.value)) @ goal[:3, :3]
        tip = self._context.selection.tip
        self._context.arm.set_goal(tip, goal, self._moment.tips[tip].kind)

    def _goal(self) -> Array:
        tip = self._context.selection.tip
        goal = self._moment.tips[tip].goal
        return tip_poses(self._context.robot, self._moment)[tip] if goal is None else goal.copy()

    def _turn(self) -> Array:
        """Return the axes (3, 3) of the directions, in the root link's frame."""
        return np.eye(3) if self._axes.value == BASE else self._goal()[:3, :3]


def turn_about(axis: Array, angle: float) -> Array:
    """Return the rotation (3, 3) by an angle [rad] about a unit vector (3,) (Rodrigues)."""
    x, y, z = axis.tolist()
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)
