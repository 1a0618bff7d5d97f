# SPDX-License-Identifier: Apache-2.0
"""Convex quadratic programs with a box and linear constraints, solved exactly.

    minimise g'p + p'Bp / 2   subject to   l <= x + p <= u,   c <= A (x + p) <= d

by the dual method of [GoldfarbIdnani1983]. It begins at the minimum without constraints and adds
them one by one, the most violated one first; each intermediate p is the minimum for the active
constraints. So x need not be inside, and an infeasible program is recognised. A constraint has two
sides; if they are equal it is an equality, which is added first and never removed.

With B = L L' and N the normals of the active constraints, T (n, n) is Q'L^-1 for the orthogonal Q
that makes T N upper triangular: R, above rows of 0. For the normal v of another constraint and
d = T v, z = T_2'd_2 (from the rows below R's) is the direction of p in the space left free, and
r = R^-1 d_1 the rate of change of the multipliers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2
from .linalg import cholesky_solve
from .rotations import Array

# results: CONTRADICTION if no p fulfils the constraints
SOLVED, NOT_CONVEX, CONTRADICTION = range(3)

FULFILLED = 1e-13  # allowed violation of a constraint, relative to |bound| + 1
# a normal is dependent on the active ones if the squared sine of its angle to their space, in the
# metric of B, is smaller
DEPENDENT_SQUARED = 1e-18
INVOLVED = 1e-9  # smaller coefficients in a contradiction are rounding
ROUNDS_PER_CONSTRAINT = 10  # additions per constraint before rounding must have caused a cycle

# rows of `vectors`: v, d, z and r for the constraint to be added; multipliers and numbers of the
# active constraints
NORMAL, IMAGE, DIRECTION, RATES, MULTIPLIERS, ACTIVE = range(6)
VECTORS = 6


class ProgramArrays(NamedTuple):
    """Workspace of a program with n variables and k planes.

    rows (k, n + 2) : the planes: a normal of length 1, c and d
    inverse (n, n), triangle (n, n), vectors (VECTORS, n) : scratch: T, R and the vectors above
    sides (n + k,) : result: 1 for constraints active at their lower side, -1 at their upper side,
        else 0; the variables' limits come first. After a contradiction, the constraints involved
    multipliers (n + k,) : result: mu with g + Bp + mu_box + A'mu_planes = 0: positive at upper
        sides, negative at lower ones, 0 for inactive constraints
    metric, free (n, n) : scratch of callers
    """

    rows: Array
    inverse: Array
    triangle: Array
    vectors: Array
    sides: Array
    multipliers: Array
    metric: Array
    free: Array


def program_size(n: int, k: int) -> int:
    """The length of the `scratch` of `program_arrays`."""
    return k * (n + 2) + 4 * n * n + VECTORS * n + 2 * (n + k)


def program_arrays(scratch: Array, n: int, k: int) -> ProgramArrays:
    """Views of a program's arrays into `scratch`. For Python; kernels call `program_views`."""
    inverse = k * (n + 2)
    triangle = inverse + n * n
    vectors = triangle + n * n
    sides = vectors + VECTORS * n
    multipliers = sides + n + k
    metric = multipliers + n + k
    free = metric + n * n
    return ProgramArrays(
        scratch[:inverse].reshape(k, n + 2),
        scratch[inverse:triangle].reshape(n, n),
        scratch[triangle:vectors].reshape(n, n),
        scratch[vectors:sides].reshape(VECTORS, n),
        scratch[sides:multipliers],
        scratch[multipliers:metric],
        scratch[metric:free].reshape(n, n),
        scratch[free : free + n * n].reshape(n, n),
    )


program_views = kernel(program_arrays)


@kernel
def constrained_program(
    hessian: Array,
    gradient: Array,
    x: Array,
    bounds: Array,
    normal: Array,
    step: Array,
    program: ProgramArrays,
) -> int:
    """Minimise g'p + p'Bp / 2 with x + p inside the box and the planes; p goes to step (n,).

    hessian (n, n) is B, positive definite, of which the lower triangle is read; gradient (n,) is
    g; bounds (2+, n) are lower and upper limits. normal (n, n) is scratch. Returns SOLVED, or the
    reason for step = 0.
    """
    constraints = x.shape[0] + program.rows.shape[0]
    for c in range(constraints):
        program.sides[c] = program.multipliers[c] = 0.0
    if not _begin(hessian, gradient, normal, step, program.inverse):
        return _no_step(step, NOT_CONVEX)
    active = 0
    for c in range(constraints):
        if lower_bound(c, bounds, program) == upper_bound(c, bounds, program):
            active = _activate(c, active, active, x, bounds, step, program)
            if active < 0:
                return _no_step(step, CONTRADICTION)
    equalities = active
    for _ in range(ROUNDS_PER_CONSTRAINT * constraints):
        c = _most_violated(x, bounds, step, program)
        if c < 0:
            _finish(active, x, bounds, step, program)
            return SOLVED
        active = _activate(c, active, equalities, x, bounds, step, program)
        if active < 0:
            return _no_step(step, CONTRADICTION)
    return _no_step(step, NOT_CONVEX)


@kernel(entry='ik_boxed_program')
def boxed_program(
    hessian: Array2,
    gradient: Array1,
    x: Array1,
    bounds: Array2,
    normal: Array2,
    step: Array1,
    scratch: Array1,
) -> int:
    """Solve the program without planes, see `constrained_program`.

    scratch : scratch of program_size(n, 0) numbers
    """
    program = program_views(scratch, x.shape[0], 0)
    return constrained_program(hessian, gradient, x, bounds, normal, step, program)


@kernel
def _no_step(step: Array, why: int) -> int:
    """Write zeros to step and return the reason."""
    for j in range(step.shape[0]):
        step[j] = 0.0
    return why


@kernel
def lower_bound(c: int, bounds: Array, program: ProgramArrays) -> float:
    """The lower bound of constraint c."""
    n = bounds.shape[1]
    return bounds[0, c] if c < n else program.rows[c - n, n]


@kernel
def upper_bound(c: int, bounds: Array, program: ProgramArrays) -> float:
    """The upper bound of constraint c."""
    n = bounds.shape[1]
    return bounds[1, c] if c < n else program.rows[c - n, n + 1]


@kernel
def value_of(c: int, x: Array, step: Array, program: ProgramArrays) -> float:
    """The bounded quantity of constraint c, at x + step."""
    n = x.shape[0]
    if c < n:
        return x[c] + step[c]
    total = 0.0
    for j in range(n):
        total += program.rows[c - n, j] * (x[j] + step[j])
    return total


@kernel
def _begin(hessian: Array, gradient: Array, normal: Array, step: Array, inverse: Array) -> bool:
    """Write the minimum without constraints, and T; return False if B is not positive definite."""
    n = step.shape[0]
    for j in range(n):
        step[j] = -gradient[j]
        for k in range(j + 1):
            normal[j, k] = hessian[j, k]
    if not cholesky_solve(normal, step, n):
        return False
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 0.0
        inverse[i, i] = normal[i, i]  # where cholesky_solve leaves the inverse of L's diagonal
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total += normal[i, k] * inverse[k, j]
            inverse[i, j] = -total * normal[i, i]
    return True


@kernel
def _most_violated(x: Array, bounds: Array, step: Array, program: ProgramArrays) -> int:
    """The constraint that x + p violates most; -1 if there is none."""
    most, found = 0.0, -1
    for c in range(program.sides.shape[0]):
        if program.sides[c] != 0.0:
            continue
        value = value_of(c, x, step, program)
        lower, upper = lower_bound(c, bounds, program), upper_bound(c, bounds, program)
        below, above = lower - value, value - upper
        violation, bound = (below, lower) if below > above else (above, upper)
        if violation > max(most, FULFILLED * (1.0 + abs(bound))):
            most, found = violation, c
    return found


@kernel
def _activate(
    c: int,
    active: int,
    equalities: int,
    x: Array,
    bounds: Array,
    step: Array,
    program: ProgramArrays,
) -> int:
    """Move to the minimum with constraint c active, too; return the number of active constraints.

    Constraints that block the motion are removed, except for the first ones, `equalities`. Returns
    -1 if constraint c contradicts these.
    """
    vectors, sides = program.vectors, program.sides
    value = value_of(c, x, step, program)
    lower, upper = lower_bound(c, bounds, program), upper_bound(c, bounds, program)
    side, bound = (1.0, lower) if lower - value > value - upper else (-1.0, upper)
    own_multiplier = 0.0
    while True:
        free = _directions_for(c, side, active, program)
        missing = side * (bound - value_of(c, x, step, program))
        whole = missing / free if free > 0.0 else math.inf
        if free <= 0.0 and lower == upper and missing <= FULFILLED * (1.0 + abs(bound)):
            return active  # the other equalities imply this one
        length, first = whole, -1
        for i in range(equalities, active):
            if vectors[RATES, i] > 0.0 and vectors[MULTIPLIERS, i] < length * vectors[RATES, i]:
                length, first = vectors[MULTIPLIERS, i] / vectors[RATES, i], i
        if not length < math.inf:
            _keep_contradiction(c, side, active, program)
            return -1
        if whole < math.inf:
            for j in range(step.shape[0]):
                step[j] += length * vectors[DIRECTION, j]
        for i in range(active):
            vectors[MULTIPLIERS, i] -= length * vectors[RATES, i]
        own_multiplier += length
        if first < 0:
            _add(active, program)
            vectors[ACTIVE, active], vectors[MULTIPLIERS, active] = c, own_multiplier
            sides[c] = side
            return active + 1
        sides[int(vectors[ACTIVE, first])] = 0.0
        _remove(first, active, program)
        active -= 1


@kernel
def _directions_for(c: int, side: float, active: int, program: ProgramArrays) -> float:
    """Compute v, d, z and r for constraint c; return z'v, 0 if v depends on active normals."""
    vectors, inverse, triangle = program.vectors, program.inverse, program.triangle
    n = vectors.shape[1]
    for j in range(n):
        vectors[DIRECTION, j] = 0.0
        vectors[NORMAL, j] = side * program.rows[c - n, j] if c >= n else 0.0
    if c < n:
        vectors[NORMAL, c] = side
    free = total = 0.0
    for i in range(n):
        image = 0.0
        for j in range(n):
            image += inverse[i, j] * vectors[NORMAL, j]
        vectors[IMAGE, i] = image
        total += image * image
        if i >= active:
            free += image * image
            for j in range(n):
                vectors[DIRECTION, j] += image * inverse[i, j]
    for i in range(active - 1, -1, -1):
        rate = vectors[IMAGE, i]
        for k in range(i + 1, active):
            rate -= triangle[i, k] * vectors[RATES, k]
        vectors[RATES, i] = rate / triangle[i, i]
    return free if free > DEPENDENT_SQUARED * total else 0.0


@kernel
def _add(active: int, program: ProgramArrays) -> None:
    """Rotate T so that d is zero below row `active`, and append d to R as a column."""
    image, n = program.vectors[IMAGE], program.vectors.shape[1]
    for i in range(n - 1, active, -1):
        if image[i] != 0.0:
            length = math.sqrt(image[i - 1] * image[i - 1] + image[i] * image[i])
            cosine, sine = image[i - 1] / length, image[i] / length
            image[i - 1], image[i] = length, 0.0
            _turn(program.inverse, i - 1, cosine, sine, 0, n)
    for i in range(active + 1):
        program.triangle[i, active] = image[i]


@kernel
def _remove(first: int, active: int, program: ProgramArrays) -> None:
    """Remove an active constraint from R, and rotate T so that R is triangular again."""
    vectors, triangle = program.vectors, program.triangle
    for i in range(first, active - 1):
        vectors[ACTIVE, i], vectors[MULTIPLIERS, i] = (
            vectors[ACTIVE, i + 1],
            vectors[MULTIPLIERS, i + 1],
        )
        for k in range(i + 2):
            triangle[k, i] = triangle[k, i + 1]
    for i in range(first, active - 1):
        if triangle[i + 1, i] != 0.0:
            length = math.sqrt(
                triangle[i, i] * triangle[i, i] + triangle[i + 1, i] * triangle[i + 1, i]
            )
            cosine, sine = triangle[i, i] / length, triangle[i + 1, i] / length
            _turn(triangle, i, cosine, sine, i, active - 1)
            _turn(program.inverse, i, cosine, sine, 0, vectors.shape[1])
            triangle[i + 1, i] = 0.0


@kernel
def _turn(matrix: Array, i: int, cosine: float, sine: float, first: int, last: int) -> None:
    """Apply a Givens rotation to rows i and i + 1, columns `first` to `last` - 1."""
    for j in range(first, last):
        above, below = matrix[i, j], matrix[i + 1, j]
        matrix[i, j] = cosine * above + sine * below
        matrix[i + 1, j] = cosine * below - sine * above


@kernel
def _keep_contradiction(c: int, side: float, active: int, program: ProgramArrays) -> None:
    """Keep only the sides of constraints in the contradiction v = N r."""
    for i in range(active):
        if abs(program.vectors[RATES, i]) <= INVOLVED:
            program.sides[int(program.vectors[ACTIVE, i])] = 0.0
    program.sides[c] = side


@kernel
def _finish(active: int, x: Array, bounds: Array, step: Array, program: ProgramArrays) -> None:
    """Put x + p on the active constraints to the last digit, and write the multipliers."""
    vectors, triangle, n = program.vectors, program.triangle, x.shape[0]
    for i in range(active):
        c = int(vectors[ACTIVE, i])
        side = program.sides[c]
        program.multipliers[c] = -side * vectors[MULTIPLIERS, i]
        bound = lower_bound(c, bounds, program) if side > 0.0 else upper_bound(c, bounds, program)
        off = side * (bound - value_of(c, x, step, program))
        for k in range(i):
            off -= triangle[k, i] * vectors[RATES, k]
        vectors[RATES, i] = off / triangle[i, i]
    for i in range(active):
        for j in range(n):
            step[j] += vectors[RATES, i] * program.inverse[i, j]
    for j in range(n):
        if program.sides[j] != 0.0:
            step[j] = bounds[0 if program.sides[j] > 0.0 else 1, j] - x[j]
