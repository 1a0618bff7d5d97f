# SPDX-License-Identifier: Apache-2.0
"""Tasks that depend on earlier frames: example motions, and smoothness."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...exceptions import InvalidGoal
from ...maths.argument_types import VectorLike
from ...maths.rotations import Array
from ...problem import IkProblem
from ...tasks import SmoothnessTask
from ...tasks.reference_motion import ReferenceMotionTask


def advance_frame(
    problem: IkProblem, examples: Sequence[VectorLike], achieved: Array, *, restart: bool
) -> None:
    """Advance every example motion to the next frame, in order; the last one ended at `achieved`.

    examples : a value per example motion
    achieved (n,) : q at the end of the last frame
    restart : the history begins again

    Raises InvalidGoal, and changes nothing, if the examples do not match the problem's tasks.
    """
    patterns = _patterns(problem)
    if not isinstance(examples, (Sequence, np.ndarray)):
        raise InvalidGoal(f'examples are {examples!r}: a list with one of each is needed')
    if len(examples) != len(patterns):
        raise InvalidGoal(
            f'{len(examples)} examples for the {len(patterns)} example motions of the problem'
        )
    before = [pattern.history for pattern in patterns]
    try:
        for pattern, example in zip(patterns, examples, strict=True):
            begins = restart or not pattern.has_example
            pattern.next_frame(example, problem.robot, None if begins else achieved)
    except Exception:
        for pattern, history in zip(patterns, before, strict=True):
            pattern.set_history(*history)
        raise
    for task in _smoothness(problem):
        task.set_previous(achieved)


def take_over(problem: IkProblem, other: IkProblem, *, unless_begun: bool = False) -> None:
    """Copy the history of another problem's tasks to those of this one, in order.

    unless_begun : copy only to example motions of the same kind that have no history yet
    """
    for own, others in zip(_patterns(problem), _patterns(other), strict=False):
        if not unless_begun or (type(own) is type(others) and not own.has_example):
            own.set_history(*others.history)
    if not unless_begun:
        for task, model in zip(_smoothness(problem), _smoothness(other), strict=True):
            task.set_previous(model.previous)


def _patterns(problem: IkProblem) -> list[ReferenceMotionTask]:
    tasks = (*problem.other_tasks, *problem.secondary)
    return [task for task in tasks if isinstance(task, ReferenceMotionTask)]


def _smoothness(problem: IkProblem) -> list[SmoothnessTask]:
    tasks = (*problem.other_tasks, *problem.secondary)
    return [task for task in tasks if isinstance(task, SmoothnessTask)]
