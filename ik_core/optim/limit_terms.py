# SPDX-License-Identifier: Apache-2.0
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

import numpy as np

from ..kernels.jit import kernel, with_kernels
from ..maths.boxed_step import clamp
from ..maths.linalg import STATIONARY, cholesky_solve
from ..maths.rotations import Array
from ..maths.vectors import copy_to, differ
from .evaluation import differentiate, evaluate, project, slope, take_trial
from .layouts import Record
from .line_search import back_track
from .loop import Kernel
from .quasi_newton import (
    CHANGE,
    EPSILON,
    MOVE,
    QUASI_NEWTON_OPTIONS,
    begin_model,
    bfgs_update,
    linear_model,
)

FIRST_WEIGHT, GROWTH = QUASI_NEWTON_OPTIONS, QUASI_NEWTON_OPTIONS + 1

WEIGHT, VIOLATION, PHI, FREE_COST, TRIAL_COST = range(1, 6)
"""Indices into `own_values`, after MOVED: mu; the violation of the limits when the terms were last
chosen; phi and f at the iterate; f at the trial point."""

FREE, FREE_GRADIENT, PHI_GRADIENT, MULTIPLIERS, SIDE = range(4, 9)
"""Indices into `own_vectors`, after those of `quasi_newton`: the iterate, which may be outside;
half the gradients of f and phi there; lambda; the side of the limits where a step ends (-1, 0,
1)."""

BALANCED = 0.1
"""Share of the gradient of f that the terms leave where phi counts as least."""

LONGEST_WAY_OUTSIDE = 100
"""Line searches that may leave what a point stands for unmoved before it is the end."""

GUESSES = 20
"""Corrections of the guess before the first direction, which descends anyway, is taken."""


@kernel
def start(search: Record) -> None:
    """Begin at x with the first weight, multipliers 0, and the Hessian of the linear model."""
    begin_model(search)
    search.own_values[WEIGHT] = search.own_options[FIRST_WEIGHT]
    search.own_values[VIOLATION] = np.inf
    for j in range(search.joints):
        search.own_vectors[MULTIPLIERS, j] = 0.0
    copy_to(search.x, search.own_vectors[FREE])
    copy_to(search.gradient, search.own_vectors[FREE_GRADIENT])
    search.own_values[FREE_COST] = search.cost
    note_terms(search)


@kernel
def outside(search: Record, x: Array, j: int) -> float:
    """v(x + s) of one variable."""
    shifted = x[j] + search.own_vectors[MULTIPLIERS, j] / (2.0 * search.own_values[WEIGHT])
    return shifted - clamp(shifted, search.problem.bounds[0, j], search.problem.bounds[1, j])


@kernel
def terms(search: Record, x: Array) -> float:
    """mu |v(x + s)|^2."""
    total = 0.0
    for j in range(x.shape[0]):
        total += outside(search, x, j) ** 2
    return search.own_values[WEIGHT] * total


@kernel
def note_terms(search: Record) -> None:
    """phi and half its gradient J'r + mu v(x + s) at the iterate."""
    free = search.own_vectors[FREE]
    search.own_values[PHI] = search.own_values[FREE_COST] + terms(search, free)
    for j in range(free.shape[0]):
        part = search.own_values[WEIGHT] * outside(search, free, j)
        search.own_vectors[PHI_GRADIENT, j] = search.own_vectors[FREE_GRADIENT, j] + part


@kernel
def is_balanced(search: Record) -> bool:
    """Whether phi is about least: the terms balance the gradient of f, or there is none."""
    left = whole = squares = 0.0
    for j in range(search.joints):
        left += search.own_vectors[PHI_GRADIENT, j] ** 2
        whole += search.own_vectors[FREE_GRADIENT, j] ** 2
        squares += search.squares[j]
    nothing = STATIONARY * STATIONARY * squares * search.own_values[FREE_COST]
    return left <= max(BALANCED * BALANCED * whole, nothing)


@kernel
def same_terms(search: Record) -> None:
    """The terms stay as they are."""


next_terms: Kernel = same_terms
"""The next weight and multipliers, where phi is about least; in copies of `step` the method's."""


def step(search: Record) -> bool:
    """Line-search on phi until x moves, the projection of the iterate."""
    stuck = False
    for _ in range(LONGEST_WAY_OUTSIDE):
        if stuck or is_balanced(search):
            next_terms(search)
            note_terms(search)
        descended = descend_on_phi(search)
        if move_to_projected(search, descended):
            return True
        if stuck and not descended:
            break
        stuck = not descended  # where phi is at its least, whatever is left of the gradient of f
    return False


@kernel
def move_to_projected(search: Record, evaluated: bool) -> bool:
    """Move x to P(x + s) of the iterate, where f was `evaluated` last; False where it is there."""
    free, trial = search.own_vectors[FREE], search.trial
    for j in range(trial.shape[0]):
        trial[j] = free[j] + search.own_vectors[MULTIPLIERS, j] / (2.0 * search.own_values[WEIGHT])
    project(search, trial)
    if not differ(trial, search.x):
        return False
    if evaluated and not differ(trial, free):
        cost = search.own_values[FREE_COST]
    else:
        cost = evaluate(search, trial, search.trial_residual)
    take_trial(search, cost)
    return True


@kernel
def stay(search: Record, x: Array) -> None:
    """Without limits, every trial is where it is."""


@kernel
def phi_at(search: Record, x: Array) -> float:
    """phi at x (n,), of which it keeps f."""
    search.own_values[TRIAL_COST] = evaluate(search, x, search.trial_residual)
    return search.own_values[TRIAL_COST] + terms(search, x)


back_track_phi = with_kernels(back_track, 'back_track_phi', bring_inside=stay, cost_at=phi_at)


@kernel
def descend_on_phi(search: Record) -> bool:
    """Line-search on phi; without a lower point, repeat with the linear model's Hessian.

    False, with the iterate unmoved, where that gains nothing either.
    """
    if _search_along_step(search):
        _accept_iterate(search)
        return True
    evaluate(search, search.own_vectors[FREE], search.trial_residual)
    differentiate(search, search.own_vectors[FREE], search.own_columns)
    linear_model(search.own_columns, search.own_options[EPSILON], search.model)
    if _search_along_step(search):
        _accept_iterate(search)
        return True
    return False


@kernel
def _search_along_step(search: Record) -> bool:
    """TRIAL = the first good point along the step of the model; whether there is one."""
    newton_step(search)
    free, gradient = search.own_vectors[FREE], search.own_vectors[PHI_GRADIENT]
    found = back_track_phi(search, free, search.own_values[PHI], gradient, search.dx, 1.0)
    return found < np.inf


@kernel
def _accept_iterate(search: Record) -> None:
    """Move the iterate to the trial point, and update the model of f."""
    gradient, change = search.own_vectors[FREE_GRADIENT], search.own_vectors[CHANGE]
    differentiate(search, search.trial, search.own_columns)
    slope(search.own_columns, search.trial_residual, change)
    for j in range(gradient.shape[0]):
        search.own_vectors[MOVE, j] = search.trial[j] - search.own_vectors[FREE, j]
        gradient[j], change[j] = change[j], change[j] - gradient[j]
    copy_to(search.trial, search.own_vectors[FREE])
    bfgs_update(search.model, search.own_vectors[MOVE], change, search.rhs)
    search.own_values[FREE_COST] = search.own_values[TRIAL_COST]
    note_terms(search)


@kernel
def newton_step(search: Record) -> None:
    """DX = the step to the minimum of the model; 0 where that is not positive definite."""
    dx, first = search.dx, search.own_vectors[MOVE]
    for j in range(dx.shape[0]):
        dx[j] = 0.0
    guess_sides(search)
    for guess in range(GUESSES):
        if not _solve_guess(search):
            break
        if guess == 0:
            copy_to(dx, first)
        if not guess_sides(search):
            return
    copy_to(first, dx)


@kernel
def guess_sides(search: Record) -> bool:
    """SIDE of the limits that x + s + dx is on; whether that is a change."""
    changed = False
    for j in range(search.joints):
        shifted = search.own_vectors[FREE, j] + search.dx[j]
        shifted += search.own_vectors[MULTIPLIERS, j] / (2.0 * search.own_values[WEIGHT])
        side = 0.0
        if shifted > search.problem.bounds[1, j]:
            side = 1.0
        elif shifted < search.problem.bounds[0, j]:
            side = -1.0
        changed = changed or side != search.own_vectors[SIDE, j]
        search.own_vectors[SIDE, j] = side
    return changed


@kernel
def _solve_guess(search: Record) -> bool:
    """DX = the minimum, if the variables end on the sides that are guessed."""
    normal, rhs, weight = search.normal, search.rhs, search.own_values[WEIGHT]
    n = search.joints
    for j in range(n):
        for k in range(j + 1):
            normal[j, k] = search.model[j, k]
        rhs[j] = -search.own_vectors[FREE_GRADIENT, j]
        side = search.own_vectors[SIDE, j]
        if side != 0.0:
            wall = search.problem.bounds[1 if side > 0.0 else 0, j]
            shift = search.own_vectors[MULTIPLIERS, j] / (2.0 * weight)
            rhs[j] -= weight * (search.own_vectors[FREE, j] + shift - wall)
            normal[j, j] += weight
    if not cholesky_solve(normal, rhs, n):
        return False
    for j in range(n):
        search.dx[j] = rhs[j]
    return True
