# SPDX-License-Identifier: Apache-2.0
"""An iteration of the null-space descent as a kernel; `null_space` has the formulas.

Its state is in the record of a search at x, and in the descent's own record `DESCENT`.
"""

from __future__ import annotations

from ..kernels.jit import call_back, kernel
from ..kernels.records import FLOAT, INT, Layout
from ..maths.boxed_step import cap_step, is_blocked
from ..maths.linalg import cholesky_solve
from ..maths.rotations import Array
from ..maths.svd import decompose, identity, nth_largest, shortest_step
from ..maths.vectors import copy_to
from ..robot.limits import SNAP
from ..rules import FAILED
from .active_set import fraction_inside
from .evaluation import differentiate, evaluate, evaluate_here, project, within_tolerances
from .layouts import Record, search_at

MAX_STEP = 0.3  # Largest move of a joint in one iteration [rad or m]
# An iteration that lowers the secondary cost by a smaller fraction ends the descent.
SMALLEST_GAIN = 1e-9
SMALLEST_STEP = 1e-12  # A step that moves no joint by more [rad or m] is not evaluated
STEP_LENGTHS = 8  # Maximum number of step lengths that are tried
# d of a step in the null space: keeps steps short that would gain almost nothing
NULL_SPACE_DAMPING = 1e-3
GOAL_CORRECTIONS = 3  # Gauss-Newton steps back to the goals after a step
CORRECTED_FRACTION = 1e-4  # Corrections end at this fraction of the allowed cost
# Directions with singular values below this, relative to the largest, move no goal.
RANK_TOLERANCE = 1e-9
# Singular values below this, relative to the largest and to the matrix's size, are rounding.
SINGULAR_ROUNDING = 1e-15

DESCENT = Layout(
    'descent',
    ('joints', 'rows', 'task_rows', 'joint_rows'),  # the latter: rows of tasks about joints, first
    must_reach=(INT,),  # 1: steps keep the goals within their tolerances
    allowed=(FLOAT,),  # the most that goals and held tasks may cost after a step
    cost=(FLOAT,),  # of the secondary tasks, at x
    scales=(FLOAT, 'joints'),  # of the rows of tasks about joints
    rests=(FLOAT, 'joints'),
    residual=(FLOAT, 'task_rows'),  # s
    jacobian=(FLOAT, 'task_rows', 'joints'),  # Js
    projected=(FLOAT, 'task_rows', 'joints'),  # Js N, 0 for clamped joints
    free_columns=(FLOAT, 'joints', 'rows'),  # those of J; 0 for clamped joints
    step=(FLOAT, 'joints'),
    nearer=(FLOAT, 'joints'),  # the trial point after a correction
    nearer_residual=(FLOAT, 'rows'),
)
own_at = DESCENT.vector_view()


@kernel(entry='ik_begin_descent')
def begin_descent(address: int) -> None:
    """Begin at x."""
    search = search_at(address)
    own = own_at(search.own)
    _evaluate_at_x(search)
    own.allowed = search.cost * (1.0 + 1e-9) + 1e-18
    own.cost = _secondary_at(search, search.x)


@kernel(entry='ik_descend')
def descend(address: int) -> bool:
    """Take one descent step; return whether it lowered the cost too little to continue."""
    search = search_at(address)
    own, x = own_at(search.own), search.x
    step, before = own.step, own.cost
    _secondary_at(search, x)
    _descent_step(search, step)
    cap_step(step, MAX_STEP)
    fraction = fraction_inside(x, step, search.problem.bounds)
    size = fraction
    for _ in range(STEP_LENGTHS):
        largest = 0.0
        for j in range(x.shape[0]):
            largest = max(largest, abs(size * step[j]))
        if largest < SMALLEST_STEP or _accept(search, size):
            break
        size *= 0.5
    _evaluate_at_x(search)
    gained = before - own.cost
    return gained <= (0.0 if fraction < 1.0 else SMALLEST_GAIN * before)


@kernel
def _evaluate_at_x(search: Record) -> None:
    evaluate_here(search)
    differentiate(search, search.x, search.columns)


@kernel
def _secondary_at(search: Record, x: Array) -> float:
    """Fill in the secondary tasks' Jacobian and residual at x (n,); return their cost."""
    own = own_at(search.own)
    for i in range(own.joint_rows):
        for j in range(x.shape[0]):
            own.jacobian[i, j] = 0.0
        own.jacobian[i, i] = own.scales[i]
        own.residual[i] = own.scales[i] * (x[i] - own.rests[i])
    if search.method != 0:
        copy_to(x, search.problem.asked)
        if call_back(search.method) != 0:
            search.status = FAILED
    cost = 0.0
    for i in range(own.task_rows):
        cost += own.residual[i] * own.residual[i]
    return cost


@kernel
def _descent_step(search: Record, step: Array) -> None:
    """step (n,) = N z over the free joints; clamps those that it would take across a limit."""
    clamped = search.clamped
    for j in range(clamped.shape[0]):
        clamped[j] = 0.0
    for _ in range(clamped.shape[0] + 1):
        _null_space_step(search, step)
        if not _clamp_blocked(search, search.x, step):
            return
    for j in range(clamped.shape[0]):
        step[j] = 0.0


@kernel
def _clamp_blocked(search: Record, x: Array, step: Array) -> bool:
    """Clamp the variables that a step would move across the limit that they are at; return whether
    there are any."""
    blocked = 0
    for j in range(x.shape[0]):
        lower, upper = search.problem.bounds[0, j], search.problem.bounds[1, j]
        if search.clamped[j] == 0.0 and is_blocked(x[j], lower, upper, -step[j]):
            search.clamped[j] = 1.0
            blocked += 1
    return blocked > 0


@kernel
def _decompose_free(search: Record, columns: Array) -> None:
    """Decompose the Jacobian's columns of free joints: fills `basis`, `work`, `rhs`."""
    own = own_at(search.own)
    for j in range(columns.shape[0]):
        for i in range(columns.shape[1]):
            free = search.clamped[j] == 0.0
            own.free_columns[j, i] = columns[j, i] if free else 0.0
    identity(search.basis)
    decompose(own.free_columns, search.basis, search.work, search.rhs)


@kernel
def _null_space_step(search: Record, step: Array) -> None:
    """step (n,) = argmin |s + F z|^2 + d^2 |z|^2 = -(F'F + d^2 I)^-1 F's, for F = Js N."""
    n, m = search.columns.shape
    own, rows = own_at(search.own), own_at(search.own).projected
    clamped, hessian = search.clamped, search.hessian
    _decompose_free(search, search.columns)
    least = RANK_TOLERANCE * RANK_TOLERANCE * nth_largest(search.rhs, m, 0)
    for i in range(rows.shape[0]):
        for j in range(n):
            rows[i, j] = own.jacobian[i, j] if clamped[j] == 0.0 else 0.0
        for k in range(m):
            if search.rhs[k] > least:
                part = 0.0
                for j in range(n):
                    part += rows[i, j] * search.work[k, j]
                for j in range(n):
                    rows[i, j] -= part / search.rhs[k] * search.work[k, j]
    for j in range(n):
        step[j] = 0.0
        for i in range(rows.shape[0]):
            step[j] -= rows[i, j] * own.residual[i]
        for k in range(j + 1):
            total = 0.0
            for i in range(rows.shape[0]):
                total += rows[i, j] * rows[i, k]
            hessian[j, k] = total
    size = 0.0
    for j in range(n):
        size += hessian[j, j]
    for j in range(n):
        hessian[j, j] += max(NULL_SPACE_DAMPING * NULL_SPACE_DAMPING, 1e-12 * size)
    if not cholesky_solve(hessian, step, n):
        for j in range(n):
            step[j] = 0.0


@kernel
def _accept(search: Record, size: float) -> bool:
    """Move x by `size` of the step, corrected to keep the goals; return whether the cost falls.

    If it does not, or the goals do not allow it, x stays.
    """
    own, trial = own_at(search.own), search.trial
    for j in range(trial.shape[0]):
        trial[j] = search.x[j] + size * own.step[j]
        for side in range(2):
            if abs(trial[j] - search.problem.bounds[side, j]) < SNAP:
                trial[j] = search.problem.bounds[side, j]
    project(search, trial)
    cost = _correct(search)
    must_reach = own.must_reach > 0
    if must_reach and not within_tolerances(search):
        return False
    if (not must_reach or search.problem.weighed) and cost > own.allowed:
        return False
    secondary = _secondary_at(search, trial)
    if not secondary < own.cost:
        return False
    own.cost = secondary
    copy_to(trial, search.x)
    return True


@kernel
def _correct(search: Record) -> float:
    """Bring the trial point back to the goals by Gauss-Newton steps; return the cost there."""
    own, trial = own_at(search.own), search.trial
    nearer = own.nearer
    residual = search.trial_residual
    cost = evaluate(search, trial, residual)
    for _ in range(GOAL_CORRECTIONS):
        if cost <= CORRECTED_FRACTION * own.allowed:
            break
        differentiate(search, trial, search.columns)
        _shortest_step(search)
        for j in range(trial.shape[0]):
            nearer[j] = trial[j] + search.dx[j]
        project(search, nearer)
        lower = evaluate(search, nearer, own.nearer_residual)
        if lower >= cost:
            evaluate(search, trial, residual)
            break
        cost = lower
        copy_to(nearer, trial)
        copy_to(own.nearer_residual, residual)
    return cost


@kernel
def _shortest_step(search: Record) -> None:
    """dx = the shortest step of free joints that minimises |r + J dx| at the trial point."""
    n, m = search.columns.shape
    dx, clamped = search.dx, search.clamped
    for j in range(n):
        clamped[j] = 0.0
    for _ in range(n + 1):
        _decompose_free(search, search.columns)
        least = (SINGULAR_ROUNDING * max(m, n)) ** 2 * nth_largest(search.rhs, m, 0)
        residual = search.trial_residual
        shortest_step(search.basis, search.work, search.rhs, residual, least, 0.0, dx)
        for j in range(n):
            dx[j] = -dx[j]
        if not _clamp_blocked(search, search.trial, dx):
            return
    for j in range(n):
        dx[j] = 0.0
