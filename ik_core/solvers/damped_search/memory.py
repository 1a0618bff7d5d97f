"""Where everything is in the arrays that a search lives in. Nobody else knows.

A search has the arrays of a problem (see `tasks.kernels.Packed`), the limits (see
`robot.limits.JointLimits.packed`), `counters` (COUNTERS,) int, and one float array, its memory, of
which `search_arrays` makes the rest. Few arrays in a call make it cheap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._jit import in_python, inlined, inner, matrix_in, small
from ...maths.rotations import Array, IntArray
from ...optim.memory import (
    ANSWER_STATUS,
    ATTEMPT,
    ATTEMPT_ITERATIONS,
    BEGIN,
    CLOSEST,
    EVALUATIONS,
    EXHAUSTED,
    ITERATIONS,
    NEW,
    PHASE,
    REACHED,
    RUNNING,
    STALLED,
    STATUS,
    STEP,
)
from ...tasks.kernels import COMPONENTS, ROWS, Packed

__all__ = [
    'ANSWER_STATUS',
    'ATTEMPT',
    'ATTEMPT_ITERATIONS',
    'BEGIN',
    'CLOSEST',
    'EVALUATIONS',
    'EXHAUSTED',
    'ITERATIONS',
    'NEW',
    'PHASE',
    'REACHED',
    'RUNNING',
    'STALLED',
    'STATUS',
    'STEP',
]

POOL = 64
"""How many of the best attempts are followed to their end where none reaches the goals.

Far from a goal the costs at which attempts were left say little of where they would end.
"""

# Counters; the first seven are those of every search.
STAGNANT = ANSWER_STATUS + 1
"""Iterations since the last clear drop of the cost."""
FOLLOWING = STAGNANT + 1
"""1 where the attempts are no longer left early, but followed to their ends."""
FOLLOWED = STAGNANT + 2
"""How many attempts are, or were, followed; of the pool, the place of the next one."""
LEAVING = STAGNANT + 3
"""Steps tried off a saddle, from 1 on; 0 at none."""
COUNTERS = STAGNANT + 4

# Options.
POSITION_TOLERANCE = 0
ORIENTATION_TOLERANCE = 1
RESTARTS = 2
SEED = 3
MAX_ITERATIONS = 4
PATIENCE = 5
MAX_STEP = 6
DAMPING = 7
WEIGHED = 8
"""1 where tasks about joints are weighed against the goals."""
OPTIONS = 9

# Values.
COST = 0
"""At x."""
BEST_COST = 1
MARK = 2
"""The cost at the last clear drop."""
NU = 3
"""The damping relative to the cost."""
GROWTH = 4
"""What nu is multiplied by next, where a step is refused."""
BEST_STATUS = 5
JOINT_COST = 6
"""The constant part of the joint tasks' cost."""
ANSWER_COST = 7
POOL_COSTS = 8
VALUES = POOL_COSTS + POOL

# Vectors, one number for each variable.
START, X, TRIAL, BEST, DX, HELD, GRADIENT, SQUARES, DESCENT, ANSWER, WEIGHTS, REST = range(12)
FIRST = 12
"""Where the first attempt begins; the nearest turns are those next to START."""
POOLED = 13
VECTORS = POOLED + POOL


class SearchArrays(NamedTuple):
    """A search under way, by the names of its parts.

    p : the problem, with frames, components and errors of the search's own
    bounds (5, n), options (OPTIONS,), counters (COUNTERS,), values (VALUES,), vectors (VECTORS, n)
    residual, trial_residual (m,) : at x, and at the trial point
    rhs (max(m, n),), normal (max(m, n), max(m, n)) : scratch of the solves
    columns (n, m), hessian (n, n) : the Jacobian's columns, and half the cost's Hessian, at x
    loose (n, m) : scratch of the step
    """

    p: Packed
    bounds: Array
    options: Array
    counters: IntArray
    values: Array
    vectors: Array
    residual: Array
    trial_residual: Array
    rhs: Array
    columns: Array
    loose: Array
    hessian: Array
    normal: Array


@small
def part_ends(bodies: int, goals: int, m: int, n: int) -> tuple[int, ...]:
    """Where the parts of the memory end, in the order of `search_arrays`; the last is its size."""
    size = max(m, n)
    options = OPTIONS
    values = options + VALUES
    vectors = values + VECTORS * n
    frames = vectors + 12 * bodies
    tips = frames + 12 * goals
    raw = tips + COMPONENTS * goals
    scales = raw + COMPONENTS * goals
    errors = scales + 2 * goals
    residual = errors + m
    trial_residual = residual + m
    rhs = trial_residual + size
    columns = rhs + n * m
    loose = columns + n * m
    hessian = loose + n * n
    normal = hessian + size * size
    return (
        options, values, vectors, frames, tips, raw, scales, errors,
        residual, trial_residual, rhs, columns, loose, hessian, normal,
    )  # fmt: skip


@inner
def carve(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
) -> SearchArrays:
    """The search that lives in these arrays."""
    m = row_count(table)
    return carve_rows(tree, geometry, table, tools, targets, bounds, counters, memory, m)


@inlined
def row_count(table: IntArray) -> int:
    """How many rows the residual has."""
    m = 0
    for i in range(table.shape[0]):
        for c in range(COMPONENTS):
            m = max(m, table[i, ROWS + c] + 1)
    return m


@inlined
def carve_rows(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
    m: int,
) -> SearchArrays:
    """The same where the residual is known to have m rows: nothing is looked at."""
    bodies, goals, n = tree.shape[0], table.shape[0], bounds.shape[1]
    size = max(m, n)
    o, v, w, f, t, r, s, e, a, b, h, j, i, k, _ = part_ends(bodies, goals, m, n)
    packed = Packed(
        tree,
        geometry,
        table,
        tools,
        targets,
        matrix_in(memory, w, bodies, 12),
        matrix_in(memory, f, goals, 12),
        matrix_in(memory, t, goals, COMPONENTS),
        matrix_in(memory, r, goals, COMPONENTS),
        matrix_in(memory, s, goals, 2),
    )
    return SearchArrays(
        packed,
        bounds,
        memory[:o],
        counters,
        memory[o:v],
        matrix_in(memory, v, VECTORS, n),
        memory[e:a],
        memory[a:b],
        memory[b:h],
        matrix_in(memory, h, n, m),
        matrix_in(memory, j, n, m),
        matrix_in(memory, i, n, n),
        matrix_in(memory, k, size, size),
    )


_rows_in_python, _carve_in_python = in_python(row_count), in_python(carve_rows)


def search_arrays(*arguments: Any) -> SearchArrays:
    """`carve` for Python."""
    arrays: SearchArrays = _carve_in_python(*arguments, _rows_in_python(arguments[2]))
    return arrays
