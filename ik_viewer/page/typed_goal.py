# SPDX-License-Identifier: Apache-2.0
"""Number fields for the goal of the selected tip: position, and roll, pitch and yaw."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ik_core import transform
from ik_core.maths.rotations import Array
from ik_core.maths.transforms import rpy_from_matrix

from ..arm import GoalKind, Moment
from .fields import TYPING
from .page_context import PageContext, tip_poses

PERIOD = 0.2  # [s] Between two looks at the goal
POSITION, ANGLES = 'x, y, z [m]', 'roll, pitch, yaw [deg]'
DIGITS = 4, 2  # Decimals of a metre and of a degree
LARGEST = 1e4  # [m, deg] Largest number that can be typed


class TypedGoal:
    """The goal of the selected tip as six numbers, or the tip's pose if it has no goal.

    The typed numbers become the goal of the tip whose numbers were displayed, once no key has
    been pressed for TYPING. Numbers that were not changed keep all their digits.
    """

    def __init__(self, context: PageContext, moment: Moment) -> None:
        self._context, self._moment = context, moment
        self._due, self._looked = np.inf, -np.inf
        self._tip = context.selection.tip
        self._exact, _ = self._numbers()
        hint = "Of the gizmo, in the root link's frame; type to move it"
        self._fields = [
            context.server.gui.add_vector3(
                label,
                tuple(np.round(numbers, digits).tolist()),
                min=(-LARGEST,) * 3,
                max=(LARGEST,) * 3,
                step=10.0**-digits,
                hint=hint,
            )
            for label, digits, numbers in zip(
                (POSITION, ANGLES), DIGITS, self._exact.reshape(2, 3), strict=True
            )
        ]
        for field in self._fields:
            field.on_update(context.by_user(lambda _: self._note()))

    def show(self, moment: Moment) -> None:
        """Send typed numbers to the arm, or display the goal."""
        self._moment, now = moment, time.monotonic()
        if now >= self._due:
            self._due = np.inf
            self._give()
        elif self._due == np.inf and now - self._looked >= PERIOD:
            self._looked, self._tip = now, self._context.selection.tip
            self._exact, _ = self._numbers()
            for field, numbers in zip(self._fields, self._rounded(), strict=True):
                if tuple(field.value) != numbers:
                    field.value = numbers

    def _note(self) -> None:
        self._due = time.monotonic() + TYPING

    def _give(self) -> None:
        exact, kind = self._numbers()
        typed = np.ravel([field.value for field in self._fields])
        numbers = np.where(typed != np.ravel(self._rounded()), typed, exact)
        goal = transform(position=numbers[:3], rpy=np.radians(numbers[3:]))
        self._context.arm.set_goal(self._tip, goal, kind)

    def _rounded(self) -> list[tuple[float, ...]]:
        """Return the numbers as they are displayed."""
        halves = zip(self._exact.reshape(2, 3), DIGITS, strict=True)
        return [tuple((np.round(half, digits) + 0.0).tolist()) for half, digits in halves]

    def _numbers(self) -> tuple[Array, GoalKind]:
        """Return the goal (6,) [m, deg], and its kind."""
        tip = self._moment.tips[self._tip]
        goal: Any = tip.goal
        pose = tip_poses(self._context.robot, self._moment)[self._tip] if goal is None else goal
        return np.concatenate([pose[:3, 3], np.degrees(rpy_from_matrix(pose[:3, :3]))]), tip.kind
