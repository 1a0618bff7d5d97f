"""Projected Armijo back-tracking ([EngellErleben2011] section 5.3).

Along x(tau) = P(x + tau d), with P the projection onto the limits, the first tau of
tau_1, beta tau_1, beta^2 tau_1, ... is taken for which

    f(x(tau)) < f(x) + alpha g'(x(tau) - x)                              (39)

g is the gradient of f at x. Without projection that is the Armijo condition (35); with it, the
decrease asked for is measured along the move that the limits leave, (37) and (38), not along
tau d. Eq. 39 is measured from x, so x has to be inside the limits for it to promise a decrease:
from an infeasible start, where f may well be lower outside, it is measured from P(start), where
every solve here begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ..maths.rotations import Array
from ..options import option
from ..problem import Evaluation
from ..robot.limits import JointLimits
from .search import SearchOptions

SMALLEST_MOVE = 1e-15
"""A step is given up where no variable moves by more than this, relative to the largest."""


class Point(Protocol):
    """A point and the value there of what a line search is to decrease."""

    @property
    def x(self) -> Array: ...

    @property
    def cost(self) -> float: ...


P = TypeVar('P', bound=Point)


@dataclass(frozen=True)
class LineSearchOptions(SearchOptions):
    """Options of every solver that searches along a line."""

    alpha: float = option(
        1e-4,
        'share of the decrease that the slope predicts which a step has to bring (Armijo)',
        bounds=(0.0, 0.1),
    )
    beta: float = option(0.5, 'what a step that brings less is multiplied by', bounds=(0.1, 0.95))


def armijo(
    at: P,
    gradient: Array,
    direction: Array,
    evaluate: Callable[[Array], P],
    options: LineSearchOptions,
    project: Callable[[Array], Array] = lambda x: x,
    step: float = 1.0,
) -> tuple[P | None, int]:
    """The first point along the projected direction that decreases enough, Eq. 39.

    at : where the search begins, inside what `project` projects onto
    gradient, direction (n,) : of the cost at `at`; where to, at full length
    evaluate, project : the point at some x; the nearest allowed x
    step : the first tau

    Returns the point, None where the direction does not descend or no step of a size that
    matters is good enough, and how often `evaluate` was called.
    """
    evaluations = 0
    smallest = SMALLEST_MOVE * (1.0 + np.max(np.abs(at.x)))
    while True:
        x = project(at.x + step * direction)
        move = x - at.x
        if not (np.max(np.abs(move)) > smallest and gradient @ move < 0.0):
            return None, evaluations
        trial = evaluate(x)
        evaluations += 1
        if trial.cost < at.cost + options.alpha * (gradient @ move):
            return trial, evaluations
        step *= options.beta


def cost_gradient(at: Evaluation) -> Array:
    """The gradient 2 J'r (n,) of the cost |r|^2 (Eq. 26)."""
    gradient: Array = 2.0 * (at.jacobian.T @ at.residual)
    return gradient


def onto_near_limits(limits: JointLimits, x: Array, distance: float) -> Array:
    """x (n,) in the limits, with variables nearer to one than distance (|x| + 1) put on it."""
    nearest = np.where(x - limits.lower < limits.upper - x, limits.lower, limits.upper)
    near = np.abs(x - nearest) <= distance * (1.0 + np.abs(x))
    return limits.project(np.where(near, nearest, x))
