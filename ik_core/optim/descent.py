# SPDX-License-Identifier: Apache-2.0
"""An iteration of the null-space descent as a kernel; `null_space` has the formulas.

It lives in the record of a search that stands at x, and in `second` (s, 2n + 1): each row of a
secondary task's Jacobian, that row without what moves the goals or joints that are held, and its
residual.
"""

from __future__ import annotations

from ..kernels.jit import call_back, kernel
from ..kernels.signatures import Array2
from ..maths.boxed_step import cap_step, is_blocked
from ..maths.linalg import cholesky_solve
from ..maths.rotations import Array
from ..maths.svd import decompose, identity, nth_largest, shortest_step
from ..maths.vectors import copy_to
from ..robot.limits import SNAP
from ..rules import FAILED
from .active_set import share_inside
from .evaluation import differentiate, evaluate, evaluate_here, project, within_tolerances
from .layouts import Record, search_at

MAX_STEP = 0.3
"""Largest move of a joint in one iteration [rad or m]."""
LEAST_GAIN = 1e-9
"""Iterations that lower the secondary cost by less than this share of it end the descent."""
SMALLEST_STEP = 1e-12
"""A step by which no joint moves by more [rad or m] is not worth an evaluation."""
HALVINGS = 8
"""Lengths of a step that are tried."""
DAMPING = 1e-3
"""d of a step in the null space: keeps it short where it would gain next to nothing."""
CORRECTIONS = 3
"""Gauss-Newton steps back to the goals after a step."""
CLOSE = 1e-4
"""Share of the cost that is allowed at which corrections end."""
RANK_TOLERANCE = 1e-9
"""Singular values below this share of the largest move no goal."""
ROUNDING = 1e-15
"""Singular values below this share of the largest, for each row or column, are rounding."""

# Indices into `own_values`, `own_vectors` and `own_rows`.
ALLOWED, SECONDARY_COST, MUST_REACH = 0, 1, 2
SCALES, RESTS, NEARER, STEP = range(4)
NEARER_RESIDUAL = 0


@kernel(entry='ik_begin_descent')
def begin_descent(address: int, second: Array2) -> None:
    """Begin where x stands."""
    search = search_at(address)
    _evaluate_at_x(search)
    search.own_values[ALLOWED] = search.cost * (1.0 + 1e-9) + 1e-18
    search.own_values[SECONDARY_COST] = _secondary_at(search, second, search.x)


@kernel(entry='ik_descend')
def descend(address: int, second: Array2) -> bool:
    """Move x once; whether there is nothing left to gain."""
    search = search_at(address)
    x, step = search.x, search.own_vectors[STEP]
    before = search.own_values[SECONDARY_COST]
    _secondary_at(search, second, x)
    _descent_step(search, second, step)
    cap_step(step, MAX_STEP)
    share = share_inside(x, step, search.problem.bounds)
    size = share
    for _ in range(HALVINGS):
        largest = 0.0
        for j in range(x.shape[0]):
            largest = max(largest, abs(size * step[j]))
        if largest < SMALLEST_STEP or _accept(search, second, size):
            break
        size *= 0.5
    _evaluate_at_x(search)
    gained = before - search.own_values[SECONDARY_COST]
    return gained <= (0.0 if share < 1.0 else LEAST_GAIN * before)


@kernel
def _evaluate_at_x(search: Record) -> None:
    evaluate_here(search)
    differentiate(search, search.x, search.columns)


@kernel
def _secondary_at(search: Record, second: Array, x: Array) -> float:
    """Fill in the secondary tasks' Jacobian and residual at x (n,); return their cost."""
    n = x.shape[0]
    for i in range(search.own_integers[0]):  # the rows of tasks about joints
        for j in range(n):
            second[i, j] = 0.0
        second[i, i] = search.own_vectors[SCALES, i]
        second[i, 2 * n] = search.own_vectors[SCALES, i] * (x[i] - search.own_vectors[RESTS, i])
    if search.method != 0:
        copy_to(x, search.problem.asked)
        if call_back(search.method) != 0:
            search.status = FAILED
    cost = 0.0
    for i in range(second.shape[0]):
        cost += second[i, 2 * n] * second[i, 2 * n]
    return cost


@kernel
def _descent_step(search: Record, second: Array, step: Array) -> None:
    """step (n,) = N z over the joints that no limit holds; one that it would press is held."""
    held = search.held
    for j in range(held.shape[0]):
        held[j] = 0.0
    for _ in range(held.shape[0] + 1):
        _null_space_step(search, second, step)
        if not _hold_blocked(search, search.x, step):
            return
    for j in range(held.shape[0]):
        step[j] = 0.0


@kernel
def _hold_blocked(search: Record, x: Array, step: Array) -> bool:
    """Hold the variables at a limit that a step would have them cross; whether there are any."""
    blocked = 0
    for j in range(x.shape[0]):
        lower, upper = search.problem.bounds[0, j], search.problem.bounds[1, j]
        if search.held[j] == 0.0 and is_blocked(x[j], lower, upper, -step[j]):
            search.held[j] = 1.0
            blocked += 1
    return blocked > 0


@kernel
def _decompose_free(search: Record, columns: Array) -> None:
    """The singular values of the Jacobian's columns that are not held: `basis`, `work`, `rhs`."""
    for j in range(columns.shape[0]):
        for i in range(columns.shape[1]):
            free = search.held[j] == 0.0
            search.own_columns[j, i] = columns[j, i] if free else 0.0
    identity(search.basis)
    decompose(search.own_columns, search.basis, search.work, search.rhs)


@kernel
def _null_space_step(search: Record, second: Array, step: Array) -> None:
    """argmin |s + Js N z|^2 + d^2 |z|^2: the rows Js N, then (F'F + d^2 I)^-1 F's."""
    n, m = search.columns.shape
    held, hessian = search.held, search.hessian
    _decompose_free(search, search.columns)
    least = RANK_TOLERANCE * RANK_TOLERANCE * nth_largest(search.rhs, m, 0)
    for i in range(second.shape[0]):
        for j in range(n):
            second[i, n + j] = second[i, j] if held[j] == 0.0 else 0.0
        for k in range(m):
            if search.rhs[k] > least:
                part = 0.0
                for j in range(n):
                    part += second[i, n + j] * search.work[k, j]
                for j in range(n):
                    second[i, n + j] -= part / search.rhs[k] * search.work[k, j]
    for j in range(n):
        step[j] = 0.0
        for i in range(second.shape[0]):
            step[j] -= second[i, n + j] * second[i, 2 * n]
        for k in range(j + 1):
            total = 0.0
            for i in range(second.shape[0]):
                total += second[i, n + j] * second[i, n + k]
            hessian[j, k] = total
    size = 0.0
    for j in range(n):
        size += hessian[j, j]
    for j in range(n):
        hessian[j, j] += max(DAMPING * DAMPING, 1e-12 * size)
    if not cholesky_solve(hessian, step, n):
        for j in range(n):
            step[j] = 0.0


@kernel
def _accept(search: Record, second: Array, size: float) -> bool:
    """Accept x + size step, brought back to the goals, if they allow it and the cost falls."""
    trial, values = search.trial, search.own_values
    for j in range(trial.shape[0]):
        trial[j] = search.x[j] + size * search.own_vectors[STEP, j]
        for side in range(2):
            if abs(trial[j] - search.problem.bounds[side, j]) < SNAP:
                trial[j] = search.problem.bounds[side, j]
    project(search, trial)
    cost = _correct(search)
    must_reach = values[MUST_REACH] > 0.0
    if must_reach and not within_tolerances(search):
        return False
    if (not must_reach or search.problem.weighed) and cost > values[ALLOWED]:
        return False
    secondary = _secondary_at(search, second, trial)
    if not secondary < values[SECONDARY_COST]:
        return False
    values[SECONDARY_COST] = secondary
    copy_to(trial, search.x)
    return True


@kernel
def _correct(search: Record) -> float:
    """Bring the trial point back to the goals by Gauss-Newton steps; return the cost there."""
    trial, nearer = search.trial, search.own_vectors[NEARER]
    residual = search.trial_residual
    cost = evaluate(search, trial, residual)
    for _ in range(CORRECTIONS):
        if cost <= CLOSE * search.own_values[ALLOWED]:
            break
        differentiate(search, trial, search.columns)
        _shortest_step(search)
        for j in range(trial.shape[0]):
            nearer[j] = trial[j] + search.dx[j]
        project(search, nearer)
        lower = evaluate(search, nearer, search.own_rows[NEARER_RESIDUAL])
        if lower >= cost:
            evaluate(search, trial, residual)
            break
        cost = lower
        copy_to(nearer, trial)
        copy_to(search.own_rows[NEARER_RESIDUAL], residual)
    return cost


@kernel
def _shortest_step(search: Record) -> None:
    """dx = the shortest step of the free joints for which |r + J dx| is least, at the trial."""
    n, m = search.columns.shape
    dx, held = search.dx, search.held
    for j in range(n):
        held[j] = 0.0
    for _ in range(n + 1):
        _decompose_free(search, search.columns)
        least = (ROUNDING * max(m, n)) ** 2 * nth_largest(search.rhs, m, 0)
        residual = search.trial_residual
        shortest_step(search.basis, search.work, search.rhs, residual, least, 0.0, dx)
        for j in range(n):
            dx[j] = -dx[j]
        if not _hold_blocked(search, search.trial, dx):
            return
    for j in range(n):
        dx[j] = 0.0
