# SPDX-License-Identifier: Apache-2.0
"""A trust region with corners ([VoglisLagaris2004]): steps inside a box, of limits and region.

The linear model |r + J dx|^2 over the free variables is trusted for moves of each variable up to a
radius. With the limits this region is a box. The step is the last point inside it of the path from
x over the Cauchy point

    c = -t g,    t = g'g / |J g|^2,    g = J'r

the model's minimum along the steepest descent, to the shortest Gauss-Newton step -J+ r. (A path of
which already the first part leaves the box ends there.) The radius shrinks where the cost falls
by less than a quarter of what the model predicts, and grows where it falls by more than three
quarters of it at the region's edge.
"""

from __future__ import annotations

from ..kernels.jit import kernel
from ..kernels.records import FLOAT
from ..maths.rotations import Array
from ..maths.svd import decompose, identity, nth_largest, shortest_step
from .active_set import fraction_within
from .evaluation import evaluate, is_clamped, take_trial
from .layouts import METHOD, Record
from .line_search import project_onto
from .loop import method_loop

DOGBOX = METHOD.extended(
    'dogbox',
    radius=(FLOAT,),  # largest move of a variable for which the model is trusted
    newton=(FLOAT, 'joints'),  # the Gauss-Newton step
    cauchy=(FLOAT, 'joints'),  # the Cauchy point
    lowest=(FLOAT, 'joints'),  # bounds of a step: the box
    highest=(FLOAT, 'joints'),
    free_columns=(FLOAT, 'joints', 'rows'),  # the Jacobian's, 0 for clamped variables
)
own_at = DOGBOX.vector_view()

FIRST_RADIUS = 1.0  # [rad or m] Radius at the beginning

SMALLEST_RADIUS = 1e-15  # Least radius, relative to |x| + 1

# Fractions of the predicted decrease below which the radius shrinks, above which it grows.
POOR, GOOD = 0.25, 0.75

ZERO_SINGULAR_VALUE = 1e-10  # Singular values below this, relative to the largest, count as 0


@kernel
def start(search: Record) -> None:
    """Begin with the first radius."""
    own_at(search.own).radius = FIRST_RADIUS


@kernel
def step(search: Record) -> bool:
    """Take the first step that lowers the cost, in ever smaller regions; False without any."""
    own, dx = own_at(search.own), search.dx
    mark_clamped(search)
    gauss_newton_step(search)
    cauchy_point(search)
    largest = 0.0
    for j in range(dx.shape[0]):
        largest = max(largest, abs(search.x[j]))
    while own.radius > SMALLEST_RADIUS * (1.0 + largest):
        dogleg(search)
        moved = 0.0
        for j in range(dx.shape[0]):
            search.trial[j] = search.x[j] + dx[j]
            moved = max(moved, abs(dx[j]))
        project_onto(search, search.trial)
        cost = evaluate(search, search.trial, search.trial_residual)
        fraction = (search.cost - cost) / max(predicted_decrease(search), 1e-300)
        if not fraction > POOR:
            own.radius = POOR * moved
        elif fraction > GOOD and moved >= 0.999 * own.radius:
            own.radius *= 2.0
        if cost < search.cost:
            take_trial(search, cost)
            return True
    return False


@kernel
def mark_clamped(search: Record) -> None:
    """Mark clamped variables; `free_columns` = the columns of the others, else 0."""
    own = own_at(search.own)
    for j in range(search.columns.shape[0]):
        pinned = search.problem.bounds[0, j] == search.problem.bounds[1, j]
        search.clamped[j] = 1.0 if pinned or is_clamped(search, j) else 0.0
        for i in range(search.columns.shape[1]):
            free = search.clamped[j] == 0.0
            own.free_columns[j, i] = search.columns[j, i] if free else 0.0


@kernel
def gauss_newton_step(search: Record) -> None:
    """newton = -J+ r = -sum of v u'r / s over the singular values that are not 0."""
    own, squares, residual = own_at(search.own), search.rhs, search.residual
    step = own.newton
    identity(search.basis)
    decompose(own.free_columns, search.basis, search.work, squares)
    least = (
        ZERO_SINGULAR_VALUE * ZERO_SINGULAR_VALUE * nth_largest(squares, search.work.shape[0], 0)
    )
    shortest_step(search.basis, search.work, squares, residual, least, 0.0, step)
    for j in range(step.shape[0]):
        step[j] = -step[j]


@kernel
def cauchy_point(search: Record) -> None:
    """cauchy = -t g over the free variables."""
    cauchy, squares, image = own_at(search.own).cauchy, 0.0, search.rhs
    for i in range(search.columns.shape[1]):
        image[i] = 0.0
    for j in range(cauchy.shape[0]):
        cauchy[j] = -search.gradient[j] if search.clamped[j] == 0.0 else 0.0
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
    """dx = the last point of the path that is inside the box."""
    own, dx = own_at(search.own), search.dx
    lowest, highest = own.lowest, own.highest
    inside = True
    for j in range(dx.shape[0]):
        lowest[j] = max(search.problem.bounds[0, j] - search.x[j], -own.radius)
        highest[j] = min(search.problem.bounds[1, j] - search.x[j], own.radius)
        inside = inside and lowest[j] <= own.newton[j] <= highest[j]
        dx[j] = 0.0
    if inside:
        _go(dx, own.newton, lowest, highest)
        return
    if _go(dx, own.cauchy, lowest, highest) >= 1.0:
        for j in range(dx.shape[0]):
            search.trial[j] = own.newton[j] - dx[j]
        _go(dx, search.trial, lowest, highest)


@kernel
def _go(dx: Array, path: Array, lowest: Array, highest: Array) -> float:
    """Add as large a fraction of a path (n,) to dx (n,) as stays in the box; return it."""
    fraction = fraction_within(dx, path, lowest, highest)
    for j in range(dx.shape[0]):
        dx[j] = min(max(dx[j] + fraction * path[j], lowest[j]), highest[j])
    return fraction


@kernel
def predicted_decrease(search: Record) -> float:
    """Return |r|^2 - |r + J dx|^2."""
    decrease = 0.0
    for i in range(search.columns.shape[1]):
        image = 0.0
        for j in range(search.columns.shape[0]):
            image += search.columns[j, i] * search.dx[j]
        decrease -= (2.0 * search.residual[i] + image) * image
    return decrease


run_trust_region = method_loop('trust_region', start, step)
