# SPDX-License-Identifier: Apache-2.0
"""Check of a task's Jacobian against central differences of its residual, for authors of tasks."""

from __future__ import annotations

import numpy as np

from ..display import numbers
from ..exceptions import UnsupportedProblem
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..robot.robot import Robot
from .base import Task

DIFFERENCE_STEP = 1e-6  # [rad or m] step of the central differences, in either direction
# largest error of an entry, relative to the largest entry, or to 1 if it is less
ENTRY_TOLERANCE = 1e-5
TRIALS = 3
UNLIMITED_RANGE = 3.0  # [rad or m] range of joints without limits, in either direction


def residual_of_task(task: Task, robot: Robot, q: Array) -> Array:
    """Return a task's residual (rows,) at q (n,). Raises UnsupportedProblem for other shapes."""
    residual = _numbers(task, 'residual', task.residual(robot, q))
    if residual.ndim != 1:
        raise UnsupportedProblem(
            f'{task!r}: its residual has shape {residual.shape}, where (rows,) is needed'
        )
    return residual


def jacobian_of_task(task: Task, robot: Robot, q: Array) -> Array:
    """Return a task's Jacobian (rows, n) at q (n,). Raises UnsupportedProblem for non-numbers."""
    return _numbers(task, 'Jacobian', task.jacobian(robot, q))


def rows_of_task(task: Task, robot: Robot, q: Array) -> tuple[Array, Array]:
    """Return a task's residual (rows,) and Jacobian (rows, n) at q (n,).

    Raises UnsupportedProblem if they are not made of numbers, or their shapes do not match.
    """
    residual, jacobian = residual_of_task(task, robot, q), jacobian_of_task(task, robot, q)
    if jacobian.shape != (len(residual), robot.n):
        raise UnsupportedProblem(
            f'{task!r}: its residual has {len(residual)} rows and the robot {robot.n} joints, so '
            f'its Jacobian should be {(len(residual), robot.n)}; it is {jacobian.shape}'
        )
    return residual, jacobian


def check_finite(task: Task, robot: Robot, q: Array, residual: Array, jacobian: Array) -> None:
    """Raise UnsupportedProblem if a task's rows are not finite at q (n,), the start of a search.

    Every other point would look worse than such a start, which would be returned as the closest.
    """
    wrong = np.argwhere(~np.isfinite(residual))
    if len(wrong):
        [i] = wrong[0]
        _refuse_start(task, q, f'residual is {residual[i]} in row {i}')
    wrong = np.argwhere(~np.isfinite(jacobian))
    if len(wrong):
        i, j = wrong[0]
        where = f'row {i}, column {j} ({robot.joint_names[j]})'
        _refuse_start(task, q, f'Jacobian is {jacobian[i, j]} in {where}')


def _refuse_start(task: Task, q: Array, said: str) -> None:
    """Raise UnsupportedProblem for a start at which a task is not finite."""
    raise UnsupportedProblem(
        f'{task!r}: its {said}, at q = {numbers(q)}, where the search begins; finite numbers are '
        'needed there'
    )


def _numbers(task: Task, what: str, given: object) -> Array:
    """The result of a task as an array. Raises UnsupportedProblem if it is not made of numbers."""
    try:
        if given is not None:
            return np.asarray(given, float)
    except (TypeError, ValueError):
        pass
    raise UnsupportedProblem(f'{task!r}: its {what} is not made of numbers: {given!r}')


def check_task(
    task: Task, robot: Robot, q: VectorLike | None = None, *, tolerance: float = ENTRY_TOLERANCE
) -> None:
    """Compare a task's Jacobian with central differences of its residual.

    q (n,) : configuration of the comparison; by default three inside the limits
    tolerance : largest error of an entry, relative to the Jacobian's largest entry or to 1

    Raises UnsupportedProblem, which names the worst entry and both values. At a kink of the
    residual, such as the wall of a box, there is no derivative: choose another q.
    """
    for point in _inside(robot) if q is None else [robot.checked(q)]:
        residual, jacobian = rows_of_task(task, robot, point)
        differences = np.empty_like(jacobian)
        for j in range(robot.n):
            differences[:, j] = _difference(task, robot, point, j, len(residual))
        _compare(task, robot, jacobian, differences, tolerance)


def _inside(robot: Robot) -> list[Array]:
    """Random configurations inside the limits, always the same ones."""
    rng = np.random.default_rng(0)
    lower, upper = (
        np.maximum(robot.lower, -UNLIMITED_RANGE),
        np.minimum(robot.upper, UNLIMITED_RANGE),
    )
    return [rng.uniform(np.minimum(lower, upper), upper) for _ in range(TRIALS)]


def _difference(task: Task, robot: Robot, q: Array, j: int, rows: int) -> Array:
    """Column j (rows,) of the Jacobian by central differences."""
    ends = []
    for sign in (1.0, -1.0):
        moved = q.copy()
        moved[j] += sign * DIFFERENCE_STEP
        ends.append(residual_of_task(task, robot, moved))
        if ends[-1].shape != (rows,):
            raise UnsupportedProblem(
                f'{task!r}: its residual has {rows} rows at one q and {ends[-1].shape} at another'
            )
    column: Array = (ends[0] - ends[1]) / (2.0 * DIFFERENCE_STEP)
    return column


def _compare(
    task: Task, robot: Robot, jacobian: Array, differences: Array, tolerance: float
) -> None:
    """Raise UnsupportedProblem for the entry with the largest error beyond the tolerance."""
    if not jacobian.size:
        return
    off = np.abs(jacobian - differences)
    off[~np.isfinite(off)] = np.inf
    i, j = np.unravel_index(int(np.argmax(off)), off.shape)
    size = max(1.0, np.abs(differences[np.isfinite(differences)]).max(initial=0.0))
    if off[i, j] > tolerance * size:
        raise UnsupportedProblem(
            f'{task!r}: its Jacobian is not the derivative of its residual: row {i}, column {j} '
            f'({robot.joint_names[j]}) is {jacobian[i, j]:.6g}, and differences of the residual '
            f'give {differences[i, j]:.6g}'
        )
