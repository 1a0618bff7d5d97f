# SPDX-License-Identifier: Apache-2.0
"""Errors of wrong arguments of an IkProblem, and of assignments to what is fixed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..collision.collisions import Collisions
from ..exceptions import InvalidConfiguration, InvalidOption
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array, IntArray
from ..options import exact_number
from ..robot.linear_constraints import ConstraintRows, LinearConstraint
from ..robot.robot import Robot
from ..tasks import Task
from .avoidance import Valid


class _Fixed:
    """An attribute that can be set only once, since searches cache its consequences.

    It defines no `__get__`, so that reading is as fast as for any other attribute.
    """

    def __init__(self, instead: str) -> None:
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, problem: object, value: object) -> None:
        own = vars(problem)
        if self.name in own:
            raise InvalidOption(
                f'{self.name} of a problem is fixed: make another IkProblem, with {self.instead}'
            )
        own[self.name] = value


class _Tolerance:
    """A tolerance, which may change to another positive number."""

    def __init__(self, unit: str) -> None:
        self.unit = unit

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, problem: object, value: float) -> None:
        own = vars(problem)
        own[self.name] = positive(value, self.name, self.unit)
        own['tolerances'] = own.get('position_tolerance'), own.get('orientation_tolerance')


def fixed(instead: str) -> Any:
    """Return an attribute that is set once; `instead` names the argument of another problem."""
    return _Fixed(instead)


def tolerance(unit: str) -> Any:
    """Return an attribute that is a positive number in this unit."""
    return _Tolerance(unit)


def levels(secondary: object) -> tuple[tuple[Task, ...], ...]:
    """Secondary tasks by levels: a list of tasks is one level, a list of lists one each."""
    check_list(secondary, 'secondary', 'tasks')
    given: list[Any] = list(secondary)  # type: ignore[call-overload]
    nested = [not isinstance(one, (Task, str)) and isinstance(one, Iterable) for one in given]
    if any(nested) and not all(nested):
        raise InvalidOption(
            'secondary: tasks beside lists of tasks; put all of them in lists, as [[a], [b]]'
        )
    levels = [tuple(level) for level in given] if any(nested) else [tuple(given)]
    return tuple(level for level in levels if level)


def constraints(
    constraints: Sequence[LinearConstraint], robot: Robot, variables: IntArray
) -> ConstraintRows:
    given = tuple(constraints)
    for one in given:
        if not isinstance(one, LinearConstraint):
            raise InvalidOption(f'constraints: {one!r} is not a LinearConstraint or a ReachCone')
    return ConstraintRows(given, robot, variables)


def collisions(avoid: Collisions | None, robot: Robot, box: Array) -> Collisions | None:
    if avoid is None:
        return None
    if not isinstance(avoid, Collisions):
        raise InvalidOption(f'avoid = {avoid!r}: a Collisions is needed, as Collisions(robot) is')
    if avoid.robot is not robot:
        raise InvalidOption(
            f'avoid: these are collisions of another robot, {avoid.robot.name!r}: '
            "Collisions(robot) of the problem's own robot is needed"
        )
    if (box[0] < robot.lower).any() or (box[1] > robot.upper).any():
        raise InvalidOption(
            "avoid: lower and upper are beyond the robot's own limits, inside which some pairs of "
            'links are known never to meet: leave them out, or make them narrower'
        )
    return avoid


def valid(valid: Valid | None) -> Valid | None:
    if valid is not None and not callable(valid):
        raise InvalidOption(f'valid = {valid!r}: a function of q (n,) is needed')
    return valid


def box(robot: Robot, lower: VectorLike | None, upper: VectorLike | None) -> Array:
    """Return the limits (2, n): given ones in place of the robot's."""
    limits = np.array([robot.lower, robot.upper])
    for row, (given, name) in enumerate([(lower, 'lower'), (upper, 'upper')]):
        if given is not None:
            limits[row] = _row(robot, given, name)
    for joint, low, high in zip(robot.joint_names, *limits, strict=True):
        if low > high:
            raise InvalidConfiguration(f'joint {joint!r}: lower {low:g} > upper {high:g}')
        if low == np.inf or high == -np.inf:
            raise InvalidConfiguration(f'joint {joint!r}: its limits allow no position')
    return limits


def _row(robot: Robot, given: VectorLike, name: str) -> Array:
    try:
        row = np.asarray(given, float)
    except (TypeError, ValueError):
        row = np.empty(0)
    if row.shape != (robot.n,) or np.isnan(row).any():
        raise InvalidConfiguration(f'{name} must be {robot.n} numbers, one for each joint')
    return row


def check_list(given: object, name: str, of: str) -> None:
    """Raise InvalidOption for a value that is not a list, such as a single task."""
    if isinstance(given, str):
        raise InvalidOption(f'{name} = {given!r}: a list of {of} is needed')
    if not isinstance(given, Iterable):
        raise InvalidOption(f'{name} is a {type(given).__name__}: a list of {of} is needed')


def positive(value: float, name: str, unit: str) -> float:
    number = exact_number(value, float)
    if number is None or not 0.0 < number < np.inf:
        raise InvalidOption(f'{name} {value!r} must be a positive number [{unit}]')
    return float(number)
