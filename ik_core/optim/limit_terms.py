"""The limits as terms of the cost: what `penalty` and `augmented_lagrangian` have in common.

With v(x) = x - P(x), how far x is outside the limits, the cost f = |r|^2 is augmented to

    phi(x) = f(x) + mu |v(x + s)|^2,    s = lambda / (2 mu)

whose minimum is sought without limits. With lambda = 0 that is a quadratic penalty of weight mu.
Otherwise it is, up to a constant, the augmented Lagrangian ([Powell1969], [Hestenes1969]; for
inequalities [Rockafellar1973]) of l <= x <= u: of a variable's two limits at most one has a
multiplier, lambda > 0 for the upper and lambda < 0 for the lower one, and the two terms mu max(0,
x - u + lambda/(2 mu))^2 and mu max(0, l - x - lambda/(2 mu))^2 are together mu v^2.

    grad phi = 2 J'r + 2 mu v(x + s)

phi is a smooth cost and known kinks, and is modelled so: the Hessian of f by BFGS (which so goes
on being valid when mu and lambda change), the terms as they are. The step is the minimum of

    grad f'p + p'Bp / 2 + mu |v(x + p + s)|^2

found by guessing which variables it puts outside, solving, and correcting the guess (a
semi-smooth Newton method), then Armijo back-tracking on phi.

The iterates may be outside the limits. What they stand for is P(x + s): inside, and exactly on
the limits that hold x back, which is where phi's minimum tends to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..maths import safe
from ..maths.rotations import Array
from ..problem import Evaluation
from ..robot.limits import JointLimits
from .line_search import cost_gradient
from .python_quasi_newton import QuasiNewtonOptions, bfgs_update, linear_hessian, search_by_models

BALANCED = 0.1
"""Share of the gradient of f that the terms leave where phi counts as least."""

LONGEST_WAY_OUTSIDE = 100
"""Line searches that may leave what a point stands for unmoved before it is the end."""

GUESSES = 20
"""Corrections of the guess before the first direction, which descends anyway, is taken."""


class Limited(Protocol):
    """A cost |r|^2 inside limits: a problem, or one made of it."""

    @property
    def limits(self) -> JointLimits: ...

    def at(self, x: Array) -> Evaluation: ...


@dataclass(frozen=True, eq=False)
class LimitTerms:
    """The weight mu and the multipliers lambda (n,).

    `violation` is how far outside [rad or m] x was when they were last chosen.
    """

    weight: float
    multipliers: Array
    violation: float = np.inf

    @property
    def shift(self) -> Array:
        """s, (n,)."""
        return self.multipliers / (2.0 * self.weight)


@dataclass(frozen=True, eq=False)
class FreePoint:
    """A point that may be outside the limits: `cost` is phi there, `gradient` that of phi.

    `hessian` (n, n) approximates that of f.
    """

    at: Evaluation
    terms: LimitTerms
    cost: float
    gradient: Array
    hessian: Array

    @property
    def x(self) -> Array:
        """Where it is."""
        return self.at.x

    @property
    def slope(self) -> Array:
        """The gradient of f."""
        return cost_gradient(self.at)

    @property
    def shifted(self) -> Array:
        """x + s."""
        return self.x + self.terms.shift

    @property
    def is_balanced(self) -> bool:
        """Whether the terms balance the gradient of f: phi is about least."""
        return bool(np.linalg.norm(self.gradient) <= BALANCED * np.linalg.norm(self.slope))


def free_point(problem: Limited, at: Evaluation, terms: LimitTerms, hessian: Array) -> FreePoint:
    """The point `at` with phi of these terms."""
    outside = problem.limits.violation(at.x + terms.shift)
    cost = at.cost + terms.weight * float(outside @ outside)
    gradient = 2.0 * (at.jacobian.T @ at.residual + terms.weight * outside)
    return FreePoint(at, terms, cost, gradient, hessian)


def step(
    problem: Limited,
    at: Evaluation,
    point: FreePoint,
    options: QuasiNewtonOptions,
    next_terms: Callable[[Limited, FreePoint], FreePoint],
) -> tuple[Evaluation, FreePoint, int]:
    """One line search on phi, or as many as it takes to move what the point stands for, `at`.

    `next_terms` gives the point with other weights and multipliers where phi is about least.
    Returns the new `at`, inside the limits, the new point and the evaluations; the same `at`
    where nothing more can be gained.
    """
    evaluations = 0
    for _ in range(LONGEST_WAY_OUTSIDE):
        if point.is_balanced:
            point = next_terms(problem, point)
        new, tried = _descend(problem, point, options)
        evaluations += tried
        inside = problem.limits.project(new.shifted)
        if (inside == new.x).all() and new is not point:
            return new.at, new, evaluations
        if (inside != at.x).any():
            return problem.at(inside), new, evaluations + 1
        if new is point:
            break
        point = new
    return at, point, evaluations


def _descend(
    problem: Limited, point: FreePoint, options: QuasiNewtonOptions
) -> tuple[FreePoint, int]:
    """One line search on phi; the new point (the same where it fails) and its evaluations."""

    def evaluate(x: Array) -> FreePoint:
        return free_point(problem, problem.at(x), point.terms, point.hessian)

    new, model, evaluations = search_by_models(
        point,
        point.gradient,
        (point.hessian, linear_hessian(point.at.jacobian, options.epsilon)),
        lambda model: newton_direction(problem.limits, point, model),
        evaluate,
        options,
    )
    if new is None:
        return point, evaluations
    hessian = bfgs_update(model, new.x - point.x, new.slope - point.slope)
    return replace(new, hessian=hessian), evaluations


def newton_direction(limits: JointLimits, point: FreePoint, curvature: Array) -> Array:
    """The step (n,) to the minimum of the model with this Hessian (n, n) of f."""
    weight = point.terms.weight
    shifted, slope, first = point.shifted, point.slope, None
    side = np.sign(limits.violation(shifted))
    for _ in range(GUESSES):
        wall = np.where(side > 0.0, limits.upper, limits.lower)
        gradient = slope + np.where(side != 0.0, 2.0 * weight * (shifted - wall), 0.0)
        hessian = curvature + np.diag(np.where(side != 0.0, 2.0 * weight, 0.0))
        direction = -safe.solve(hessian, gradient)
        first = direction if first is None else first
        corrected = np.sign(limits.violation(shifted + direction))
        if (corrected == side).all():
            return direction
        side = corrected
    assert first is not None
    return first
