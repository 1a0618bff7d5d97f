# SPDX-License-Identifier: Apache-2.0
"""Limits as terms of the cost: the kernels that `penalty` and `augmented_lagrangian` share.

With v(x) = x - P(x), how far x is outside the limits, the cost f = |r|^2 is augmented to

    phi(x) = f(x) + mu |v(x + s)|^2,    s = lambda / (2 mu)

whose minimum is sought without limits. With lambda = 0 that is a quadratic penalty of weight mu.
Otherwise it is, up to a constant, the augmented Lagrangian ([Powell1969], [Hestenes1969]; for
inequalities [Rockafellar1973]) of l <= x <= u: of a variable's two limits at most one has a
multiplier, lambda > 0 for the upper and lambda < 0 for the lower one, and the two terms mu max(0,
x - u + lambda/(2 mu))^2 and mu max(0, l - x - lambda/(2 mu))^2 are together mu v^2.

    grad phi = 2 J'r + 2 mu v(x + s)

phi is a smooth cost with known kinks, and is modelled so: the Hessian of f by BFGS, which stays
valid when mu and lambda change, the terms as they are. The step is the minimum of

    grad f'p + p'Bp / 2 + mu |v(x + p + s)|^2

found by guessing which variables it puts outside, solving, and correcting the guess (a
semi-smooth Newton method), then Armijo back-tracking on phi.

The iterates may be outside the limits. The search's point is their projection P(x + s): inside,
and exactly on the limits that hold x back, which is where phi's minimum tends to.
"""

from __future__ import annotations

import numpy as np

from ..kernels.jit import kernel, with_kernels
from ..kernels.records import FLOAT
from ..maths.boxed_step import clamp
from ..maths.linalg import STATIONARY, cholesky_solve
from ..maths.rotations import Array
from ..maths.vectors import copy_to, differ
from .evaluation import differentiate, evaluate, project, slope, take_trial
from .layouts import Record
from .line_search import back_track
from .loop import Kernel
from .quasi_newton import QUASI_NEWTON, begin_model, bfgs_update, linear_model

LIMIT_TERMS = QUASI_NEWTON.extended(
    'limit_terms',
    weight=(FLOAT,),
    growth=(FLOAT,),
    mu=(FLOAT,),
    multipliers=(FLOAT, 'joints'),  # lambda
    violation=(FLOAT,),  # of the limits, when mu and lambda were last chosen
    iterate=(FLOAT, 'joints'),  # may be outside the limits; here and below: at this point
    iterate_cost=(FLOAT,),  # f
    iterate_gradient=(FLOAT, 'joints'),  # half that of f
    phi=(FLOAT,),
    phi_gradient=(FLOAT, 'joints'),  # half of it
    trial_cost=(FLOAT,),  # f at the trial point
    side=(FLOAT, 'joints'),  # of the limits, on which a step ends: -1, 0 or 1
)
limit_terms_at = LIMIT_TERMS.vector_view()

# phi counts as minimal if its gradient is at most this fraction of the gradient of f.
BALANCED = 0.1

SEARCHES_OUTSIDE = 100  # Line searches without moving the projected point before giving up

# Corrections of the guess, after which the first direction is taken: it descends in any case.
GUESSES = 20


@kernel
def start(search: Record) -> None:
    """Begin at x with the first weight, multipliers 0, and the Hessian of the linear model."""
    own = limit_terms_at(search.own)
    begin_model(search)
    own.mu, own.violation = own.weight, np.inf
    for j in range(search.joints):
        own.multipliers[j] = 0.0
    copy_to(search.x, own.iterate)
    copy_to(search.gradient, own.iterate_gradient)
    own.iterate_cost = search.cost
    note_terms(search)


@kernel
def outside(search: Record, x: Array, j: int) -> float:
    """Return v(x + s) of one variable."""
    own = limit_terms_at(search.own)
    shifted = x[j] + own.multipliers[j] / (2.0 * own.mu)
    return shifted - clamp(shifted, search.problem.bounds[0, j], search.problem.bounds[1, j])


@kernel
def terms(search: Record, x: Array) -> float:
    """Return mu |v(x + s)|^2."""
    total = 0.0
    for j in range(x.shape[0]):
        total += outside(search, x, j) ** 2
    return float(limit_terms_at(search.own).mu * total)


@kernel
def note_terms(search: Record) -> None:
    """Fill phi and half its gradient, J'r + mu v(x + s), at the iterate."""
    own = limit_terms_at(search.own)
    own.phi = own.iterate_cost + terms(search, own.iterate)
    for j in range(search.joints):
        part = own.mu * outside(search, own.iterate, j)
        own.phi_gradient[j] = own.iterate_gradient[j] + part


@kernel
def is_balanced(search: Record) -> bool:
    """Return whether phi is about least: the terms balance the gradient of f, or there is none."""
    own = limit_terms_at(search.own)
    left = whole = squares = 0.0
    for j in range(search.joints):
        left += own.phi_gradient[j] ** 2
        whole += own.iterate_gradient[j] ** 2
        squares += search.squares[j]
    nothing = STATIONARY * STATIONARY * squares * own.iterate_cost
    return left <= max(BALANCED * BALANCED * whole, nothing)


@kernel
def same_terms(search: Record) -> None:
    """Leave the terms unchanged."""


# Chooses the next mu and lambda once phi is about minimal; each method's copy of `step` has its
# own.
next_terms: Kernel = same_terms


def step(search: Record) -> bool:
    """Line-search on phi until x, the projected iterate, moves; return whether it did."""
    stuck = False
    for _ in range(SEARCHES_OUTSIDE):
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
    """Move the search to P(x + s) of the iterate x; False if it is there already.

    evaluated : f was evaluated last at the iterate
    """
    own, trial = limit_terms_at(search.own), search.trial
    for j in range(trial.shape[0]):
        trial[j] = own.iterate[j] + own.multipliers[j] / (2.0 * own.mu)
    project(search, trial)
    if not differ(trial, search.x):
        return False
    if evaluated and not differ(trial, own.iterate):
        cost = own.iterate_cost
    else:
        cost = evaluate(search, trial, search.trial_residual)
    take_trial(search, cost)
    return True


@kernel
def stay(search: Record, x: Array) -> None:
    """Leave a trial unchanged: phi has no limits."""


@kernel
def phi_at(search: Record, x: Array) -> float:
    """Return phi at x (n,); keep f."""
    own = limit_terms_at(search.own)
    own.trial_cost = evaluate(search, x, search.trial_residual)
    return float(own.trial_cost + terms(search, x))


back_track_phi = with_kernels(back_track, 'back_track_phi', bring_inside=stay, cost_at=phi_at)


@kernel
def descend_on_phi(search: Record) -> bool:
    """Line-search on phi; without a lower point, repeat with the linear model's Hessian.

    Returns False, with the iterate unmoved, if that finds no lower point either.
    """
    if _search_along_step(search):
        _accept_iterate(search)
        return True
    own = limit_terms_at(search.own)
    evaluate(search, own.iterate, search.trial_residual)
    differentiate(search, own.iterate, search.trial_columns)
    linear_model(search.trial_columns, own.epsilon, own.model)
    if _search_along_step(search):
        _accept_iterate(search)
        return True
    return False


@kernel
def _search_along_step(search: Record) -> bool:
    """Set the trial to the first good point along the model's step; False if there is none."""
    own = limit_terms_at(search.own)
    newton_step(search)
    return back_track_phi(search, own.iterate, own.phi, own.phi_gradient, search.dx, 1.0) < np.inf


@kernel
def _accept_iterate(search: Record) -> None:
    """Move the iterate to the trial point, and update the model of f."""
    own = limit_terms_at(search.own)
    gradient, change = own.iterate_gradient, own.change
    differentiate(search, search.trial, search.trial_columns)
    slope(search.trial_columns, search.trial_residual, change)
    for j in range(search.joints):
        own.move[j] = search.trial[j] - own.iterate[j]
        gradient[j], change[j] = change[j], change[j] - gradient[j]
    copy_to(search.trial, own.iterate)
    bfgs_update(own.model, own.move, change, search.rhs)
    own.iterate_cost = own.trial_cost
    note_terms(search)


@kernel
def newton_step(search: Record) -> None:
    """dx = the step to the minimum of the model; 0 if that is not positive definite."""
    dx, first = search.dx, limit_terms_at(search.own).move
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
    """Set the side of the limits on which x + s + dx is; return whether any has changed."""
    own, changed = limit_terms_at(search.own), False
    for j in range(search.joints):
        shifted = own.iterate[j] + search.dx[j]
        shifted += own.multipliers[j] / (2.0 * own.mu)
        side = 0.0
        if shifted > search.problem.bounds[1, j]:
            side = 1.0
        elif shifted < search.problem.bounds[0, j]:
            side = -1.0
        changed = changed or side != own.side[j]
        own.side[j] = side
    return changed


@kernel
def _solve_guess(search: Record) -> bool:
    """Set dx to the minimum of the model for the guessed active limits; False if it fails."""
    own, normal, rhs = limit_terms_at(search.own), search.normal, search.rhs
    n = search.joints
    for j in range(n):
        for k in range(j + 1):
            normal[j, k] = own.model[j, k]
        rhs[j] = -own.iterate_gradient[j]
        side = own.side[j]
        if side != 0.0:
            wall = search.problem.bounds[1 if side > 0.0 else 0, j]
            shift = own.multipliers[j] / (2.0 * own.mu)
            rhs[j] -= own.mu * (own.iterate[j] + shift - wall)
            normal[j, j] += own.mu
    if not cholesky_solve(normal, rhs, n):
        return False
    for j in range(n):
        search.dx[j] = rhs[j]
    return True
