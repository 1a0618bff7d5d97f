# SPDX-License-Identifier: Apache-2.0
"""A trust region with corners ([VoglisLagaris2004]): steps inside a box, of limits and region.

The linear model |r + J dx|^2 over the variables that no limit holds is trusted where no variable
moves by more than a radius. With the limits that is a box, and the step in it is the last point
inside of the path from x over the Cauchy point

    c = -t g,    t = g'g / |J g|^2,    g = J'r

the model's minimum along the steepest descent, to the shortest Gauss-Newton step -J+ r. (A path of
which already the first part leaves the box ends there.) The radius shrinks where the cost falls
by less than a quarter of what the model predicts, and grows where it falls by more than three
quarters of it at the region's edge.
"""

from __future__ import annotations

from ..kernels.jit import kernel
from ..maths.rotations import Array
from ..maths.svd import decompose, identity, nth_largest, shortest_step
from .active_set import share_within
from .evaluation import evaluate, is_held, take_trial
from .layouts import Record
from .line_search import project_onto
from .loop import method_loop

RADIUS = 0
"""Index into `own_values`: the radius, the largest move of a variable for which the model is
trusted."""

NEWTON, CAUCHY, LOWEST, HIGHEST = range(4)
"""Indices into `own_vectors`: Gauss-Newton step, Cauchy point, bounds of a step."""

FIRST_RADIUS = 1.0
"""[rad or m] Radius at the beginning."""

SMALLEST_RADIUS = 1e-15
"""Least radius, relative to |x| + 1."""

POOR, GOOD = 0.25, 0.75
"""Shares of the predicted decrease below which the radius shrinks and above which it grows."""

RANK = 1e-10
"""Singular values below this share of the largest count as 0."""


@kernel
def start(search: Record) -> None:
    """Begin with the first radius."""
    search.own_values[RADIUS] = FIRST_RADIUS


@kernel
def step(search: Record) -> bool:
    """The first step that lowers the cost, in ever smaller regions; False where there is none."""
    dx = search.dx
    hold(search)
    gauss_newton_step(search)
    cauchy_point(search)
    largest = 0.0
    for j in range(dx.shape[0]):
        largest = max(largest, abs(search.x[j]))
    while search.own_values[RADIUS] > SMALLEST_RADIUS * (1.0 + largest):
        dogleg(search)
        moved = 0.0
        for j in range(dx.shape[0]):
            search.trial[j] = search.x[j] + dx[j]
            moved = max(moved, abs(dx[j]))
        project_onto(search, search.trial)
        cost = evaluate(search, search.trial, search.trial_residual)
        share = (search.cost - cost) / max(predicted_decrease(search), 1e-300)
        if not share > POOR:
            search.own_values[RADIUS] = POOR * moved
        elif share > GOOD and moved >= 0.999 * search.own_values[RADIUS]:
            search.own_values[RADIUS] *= 2.0
        if cost < search.cost:
            take_trial(search, cost)
            return True
    return False


@kernel
def hold(search: Record) -> None:
    """HELD, and the columns of the others in `own_columns`; those of the held are 0."""
    for j in range(search.columns.shape[0]):
        pinned = search.problem.bounds[0, j] == search.problem.bounds[1, j]
        search.held[j] = 1.0 if pinned or is_held(search, j) else 0.0
        for i in range(search.columns.shape[1]):
            free = search.held[j] == 0.0
            search.own_columns[j, i] = search.columns[j, i] if free else 0.0


@kernel
def gauss_newton_step(search: Record) -> None:
    """NEWTON = -J+ r = -sum of v u'r / s over the singular values that are not 0."""
    step, squares, residual = search.own_vectors[NEWTON], search.rhs, search.residual
    identity(search.basis)
    decompose(search.own_columns, search.basis, search.work, squares)
    least = RANK * RANK * nth_largest(squares, search.work.shape[0], 0)
    shortest_step(search.basis, search.work, squares, residual, least, 0.0, step)
    for j in range(step.shape[0]):
        step[j] = -step[j]


@kernel
def cauchy_point(search: Record) -> None:
    """CAUCHY = -t g over the free variables."""
    cauchy, squares, image = search.own_vectors[CAUCHY], 0.0, search.rhs
    for i in range(search.columns.shape[1]):
        image[i] = 0.0
    for j in range(cauchy.shape[0]):
        cauchy[j] = -search.gradient[j] if search.held[j] == 0.0 else 0.0
        squares += cauchy[j] * cauchy[j]
        for i in range(search.columns.shape[1]):
            image[i] += search.columns[j, i] * cauchy[j]
    curvature = 0.0
    for i in range(search.columns.shape[1]):
        curvature += image[i] * image[i]
    for j in range(cauchy.shape[0]):
        cauchy[j] *= squares / curvature if curvature > 0.0 else 0.0


@kernel
def dogleg(search: Record) -> None:
    """DX = the last point of the path that is inside the box."""
    radius = search.own_values[RADIUS]
    dx, lowest, highest = search.dx, search.own_vectors[LOWEST], search.own_vectors[HIGHEST]
    inside = True
    for j in range(dx.shape[0]):
        lowest[j] = max(search.problem.bounds[0, j] - search.x[j], -radius)
        highest[j] = min(search.problem.bounds[1, j] - search.x[j], radius)
        inside = inside and lowest[j] <= search.own_vectors[NEWTON, j] <= highest[j]
        dx[j] = 0.0
    if inside:
        _go(dx, search.own_vectors[NEWTON], lowest, highest)
        return
    if _go(dx, search.own_vectors[CAUCHY], lowest, highest) >= 1.0:
        for j in range(dx.shape[0]):
            search.trial[j] = search.own_vectors[NEWTON, j] - dx[j]
        _go(dx, search.trial, lowest, highest)


@kernel
def _go(dx: Array, way: Array, lowest: Array, highest: Array) -> float:
    """Add as large a share of a way (n,) to dx (n,) as stays in the box; that share."""
    share = share_within(dx, way, lowest, highest)
    for j in range(dx.shape[0]):
        dx[j] = min(max(dx[j] + share * way[j], lowest[j]), highest[j])
    return share


@kernel
def predicted_decrease(search: Record) -> float:
    """|r|^2 - |r + J dx|^2."""
    decrease = 0.0
    for i in range(search.columns.shape[1]):
        image = 0.0
        for j in range(search.columns.shape[0]):
            image += search.columns[j, i] * search.dx[j]
        decrease -= (2.0 * search.residual[i] + image) * image
    return decrease


run_trust_region = method_loop('trust_region', start, step)
