# SPDX-License-Identifier: Apache-2.0
"""The shared loop between linear constraints: c <= A x <= d beside the limits l <= x <= u.

If a problem has some ([Engell2007] Eq. 11-12), `substitute` replaces kernels of the loop, so that
searches without constraints cost nothing more:

    step            the minimum of the model over all x + p that fulfil the constraints. They are
                    convex, so a shorter step along p fulfils them too, and iterates stay inside
    inside          A start, a restart and a step off a saddle move to the nearest point inside
    stationary      p = argmin J'r.p + |D p|^2 / 2 is 0, with D the lengths of the Jacobian's
                    columns; in a box that is the loop's own test
    free            the space at right angles to the normals of all constraints whose multipliers
                    are not 0, for the second-order test ([NocedalWright2006] section 12.5)

All are quadratic programs of `maths.dual_active_set`.
"""

from __future__ import annotations

import math
from functools import cache

from ..kernels.jit import kernel, substitute, with_kernels
from ..maths.dual_active_set import (
    SOLVED,
    ProgramArrays,
    constrained_program,
    lower_bound,
    program_views,
    upper_bound,
    value_of,
)
from ..maths.rotations import Array
from ..maths.vectors import copy_to
from ..rules import is_pressing, is_steep
from . import loop, quasi_newton, second_order
from .evaluation import at_stationary_point, project, put_inside
from .layouts import Record, search_at
from .loop import Kernel, loop_of
from .quasi_newton import quasi_newton_at

# A constraint is active if its value is nearer to a bound than this, relative to |bound| + 1.
ACTIVE_WITHIN = 1e-10

# Constraint normals with a smaller component outside the others' span are dependent.
DEPENDENT_NORMAL = 1e-9

# Least squared length of a column [m^2 or m^2/rad^2] in the test for stationary points.
LEAST_METRIC = 1e-30


@kernel
def program_of(search: Record) -> ProgramArrays:
    """Return the arrays of a search's programs."""
    return program_views(search.program, search.joints, search.constraints)


@kernel
def minimum_inside(search: Record) -> None:
    """dx = the minimum of the model inside the constraints; 0 if it is not convex."""
    constrained_program(
        quasi_newton_at(search.own).model,
        search.gradient,
        search.x,
        search.problem.bounds,
        search.normal,
        search.dx,
        program_of(search),
    )


# The step of a method with an approximate Hessian, inside linear constraints.
constrained_step: Kernel = with_kernels(
    quasi_newton.descend, 'step_constrained', model_step=minimum_inside
)


@kernel
def nearest_inside(search: Record, x: Array, gradient: Array, step: Array) -> bool:
    """Move x (n,) to the nearest point inside the constraints; False if there is none.

    gradient and step (n,) are scratch.
    """
    program = program_of(search)
    for j in range(x.shape[0]):
        for k in range(j):
            program.metric[j, k] = 0.0
        program.metric[j, j], gradient[j] = 1.0, 0.0
    answer = constrained_program(
        program.metric, gradient, x, search.problem.bounds, search.normal, step, program
    )
    for j in range(x.shape[0]):
        x[j] += step[j]
    project(search, x)  # the last digit
    return answer == SOLVED


@kernel
def put_inside_constraints(search: Record, x: Array) -> None:
    """Move x to the nearest point inside the limits and the linear constraints."""
    project(search, x)
    if not nearest_inside(search, x, search.rhs, search.dx):
        copy_to(search.best, x)


@kernel
def steepest_step(search: Record, program: ProgramArrays) -> bool:
    """Set dx = argmin J'r.p + |D p|^2 / 2 inside the constraints; return whether that is solved.

    Fills the multipliers of the constraints, too.
    """
    n = search.joints
    for j in range(n):
        for k in range(j):
            program.metric[j, k] = 0.0
        program.metric[j, j] = max(search.squares[j], LEAST_METRIC)
    answer = constrained_program(
        program.metric,
        search.gradient,
        search.x,
        search.problem.bounds,
        search.normal,
        search.dx,
        program,
    )
    return answer == SOLVED


@kernel
def is_stationary_inside(search: Record) -> bool:
    """Return whether x is stationary under the limits and the linear constraints."""
    if not steepest_step(search, program_of(search)):
        return False
    for j in range(search.joints):
        square = search.squares[j]
        if is_steep(search.dx[j] * square, square, search.cost):
            return False
    return True


@kernel
def mark_clamping(search: Record, all_at_limits: bool) -> int:
    """Set `sides` to 1 for clamping constraints, else 0; return how many others are active."""
    program, free = program_of(search), 0
    steepest_step(search, program)
    for c in range(program.sides.shape[0]):
        lower = lower_bound(c, search.problem.bounds, program)
        upper = upper_bound(c, search.problem.bounds, program)
        value = value_of(c, search.x, search.dx, program)
        met = value - lower < ACTIVE_WITHIN * (1.0 + abs(lower))  # not so at no bound
        met = met or upper - value < ACTIVE_WITHIN * (1.0 + abs(upper))
        clamped = lower == upper or (met and all_at_limits) or _presses(search, program, c)
        program.sides[c] = 1.0 if clamped else 0.0
        free += 1 if met and not clamped else 0
    return free


@kernel
def _presses(search: Record, program: ProgramArrays, c: int) -> bool:
    """Return whether a constraint's multiplier presses on it, as a slope on a variable."""
    n = search.joints
    square = 0.0
    if c < n:
        square = search.squares[c]
    else:
        for j in range(n):
            square += program.rows[c - n, j] ** 2 * search.squares[j]
    return is_pressing(program.multipliers[c], square, search.cost)


@kernel
def free_hessian_inside(search: Record) -> int:
    """Fill `normal` with Z'HZ, the Hessian in the free space; return its size.

    The last rows of `free` are Z'.
    """
    program = program_of(search)
    n, image = search.joints, search.dx
    clamped = _free_space(program, n)
    for i in range(n - clamped):
        for j in range(n):
            image[j] = 0.0
            for k in range(n):
                image[j] += search.hessian[max(j, k), min(j, k)] * program.free[clamped + i, k]
        for row in range(i, n - clamped):
            search.normal[row, i] = _product(program.free, clamped + row, image)
    return n - clamped


@kernel
def _free_space(program: ProgramArrays, n: int) -> int:
    """Fill `free` with n orthonormal rows; the first ones span the normals of clamping
    constraints.

    Returns how many these are.
    """
    count = 0
    for c in range(program.sides.shape[0]):
        if program.sides[c] != 0.0 and count < n:
            for j in range(n):
                program.free[count, j] = program.rows[c - n, j] if c >= n else 0.0
            if c < n:
                program.free[count, c] = 1.0
            count += 1 if _straighten(program.free, count) else 0
    for i in range(count, n):
        farthest, least = 0, 2.0
        for j in range(n):  # the axis that is most at right angles to all before
            square = 0.0
            for row in range(i):
                square += program.free[row, j] * program.free[row, j]
            if square < least:
                farthest, least = j, square
        for j in range(n):
            program.free[i, j] = 1.0 if j == farthest else 0.0
        _straighten(program.free, i)
    return count


@kernel
def _straighten(rows: Array, i: int) -> bool:
    """Make row i orthonormal to the rows before it; False if it depends on them."""
    for _ in range(2):  # once is not enough to the last digit
        for before in range(i):
            part = _product(rows, before, rows[i])
            for j in range(rows.shape[1]):
                rows[i, j] -= part * rows[before, j]
    length = math.sqrt(_product(rows, i, rows[i]))
    if length <= DEPENDENT_NORMAL:
        return False
    for j in range(rows.shape[1]):
        rows[i, j] /= length
    return True


@kernel
def _product(rows: Array, i: int, vector: Array) -> float:
    total = 0.0
    for j in range(vector.shape[0]):
        total += rows[i, j] * vector[j]
    return total


@kernel
def free_slope_inside(search: Record, size: int) -> None:
    """`rhs` = -Z'J'r, minus half the gradient in the free space."""
    program, n = program_of(search), search.joints
    for i in range(size):
        search.rhs[i] = -_product(program.free, n - size + i, search.gradient)


@kernel
def expand_inside(search: Record, size: int, direction: Array) -> None:
    """direction (n,) = Z `rhs`: a step in the free space, for all variables."""
    program, n = program_of(search), direction.shape[0]
    for j in range(n):
        direction[j] = 0.0
        for i in range(size):
            direction[j] += search.rhs[i] * program.free[n - size + i, j]


@kernel
def undecided_inside(search: Record) -> bool:
    """Replace `second_order.find_descent_inside`, which handles limits only: find no direction.

    Whether the cost falls off several constraints that are active but not pressed stays unknown.
    With `descent` = 0 no trial is lower, so the point does not count as the closest.
    """
    for j in range(search.joints):
        search.descent[j] = 0.0
    return True


# --- the loop ----------------------------------------------------------------------------------

# Kernels for limits alone, and the kernels for linear constraints that replace them.
INSTEAD = {
    at_stationary_point: is_stationary_inside,
    put_inside: put_inside_constraints,
    second_order.mark_clamped: mark_clamping,
    second_order.free_hessian: free_hessian_inside,
    second_order.free_slope: free_slope_inside,
    second_order.expand: expand_inside,
    second_order.find_descent_inside: undecided_inside,
}

settle = substitute(loop.settle, 'constrained', INSTEAD, 'ik_loop_settle_constrained')
conclude = substitute(loop.conclude, 'constrained', INSTEAD, 'ik_loop_conclude_constrained')


@cache
def constrained_loop(name: str, start: Kernel, step: Kernel) -> Kernel:
    """Return the loop around a method's kernels, whose step keeps the constraints."""
    instead, entry = {**INSTEAD, start: start, step: step}, f'ik_run_{name}_constrained'
    made: Kernel = substitute(loop_of(name, start, step), 'constrained', instead, entry)
    return made


@kernel(entry='ik_start_inside')
def start_inside(address: int) -> bool:
    """Move the start to the nearest point inside; False if there is none."""
    search = search_at(address)
    project(search, search.start)
    return nearest_inside(search, search.start, search.dx, search.trial)
