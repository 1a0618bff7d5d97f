"""The Python that penalty, augmented_lagrangian and sqp still use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..maths.rotations import Array
from ..problem import IkProblem
from .line_search import P, armijo, cost_gradient, onto_near_limits
from .quasi_newton import QuasiNewtonOptions
from .workspace import State

ROUNDING = 1e-13


@dataclass(eq=False, kw_only=True)
class QuasiNewtonState(State):
    """With the approximate Hessian (n, n) of the cost."""

    hessian: Array


def linear_hessian(jacobian: Array, epsilon: float) -> Array:
    """The Hessian 2 (J'J + eps I) (n, n) of the cost of the linear model r + J dx, J (m, n).

    eps makes it positive definite where J'J is singular, as it is for a redundant arm.
    """
    hessian: Array = 2.0 * (jacobian.T @ jacobian + epsilon * np.eye(jacobian.shape[1]))
    return hessian


def bfgs_update(hessian: Array, step: Array, change: Array) -> Array:
    """The BFGS approximation of a Hessian after a step s (n,) that changed the gradient by y (n,).

        B+ = B - B s s' B / s'B s + y y' / s'y

    ([Engell2007] Eq. 15). It stays positive definite only where the curvature
    condition s'y > 0 holds. Where s'y < 0.2 s'B s, y is damped [Powell1978]: replaced by
    theta y + (1 - theta) B s with the largest theta in [0, 1] for which s'y = 0.2 s'B s.
    """
    image = hessian @ step
    expected = float(step @ image)
    if not expected > 0.0:
        return hessian
    curvature = float(step @ change)
    if curvature < 0.2 * expected:
        theta = 0.8 * expected / (expected - curvature)
        change = theta * change + (1.0 - theta) * image
        curvature = float(step @ change)
    updated: Array = (
        hessian - np.outer(image, image / expected) + np.outer(change, change / curvature)
    )
    return updated


def search_by_models(
    at: P,
    gradient: Array,
    models: Sequence[Array],
    step: Callable[[Array], Array],
    evaluate: Callable[[Array], P],
    options: QuasiNewtonOptions,
    project: Callable[[Array], Array] = lambda x: x,
) -> tuple[P | None, Array, int]:
    """A line search along the step (n,) of the first model, a Hessian (n, n); where nothing on the
    way is better, along that of the next.

    Returns the point (None where no model gains anything), the last model, and how often
    `evaluate` was called; see `armijo` for the rest.
    """
    total = 0
    for model in models:
        new, evaluations = armijo(at, gradient, step(model), evaluate, options, project)
        total += evaluations
        if new is not None:
            break
    return new, model, total


def descend(
    problem: IkProblem,
    state: QuasiNewtonState,
    options: QuasiNewtonOptions,
    step: Callable[[Array, Array], Array],
) -> QuasiNewtonState:
    """One line search on the cost, along step(gradient, hessian), (n,).

    The step ends inside the limits. Where nothing on the way is better, the search is begun
    again with the Hessian of the linear model. The same point where that gains nothing either.
    """
    at, gradient = state.at, cost_gradient(state.at)
    new, model, evaluations = search_by_models(
        at,
        gradient,
        (state.hessian, linear_hessian(at.jacobian, options.epsilon)),
        lambda model: step(gradient, model),
        problem.at,
        options,
        lambda x: onto_near_limits(problem.limits, x, ROUNDING),
    )
    if new is None:
        return QuasiNewtonState(at, evaluations, hessian=state.hessian)
    hessian = bfgs_update(model, new.x - at.x, cost_gradient(new) - gradient)
    return QuasiNewtonState(new, evaluations, hessian=hessian)
