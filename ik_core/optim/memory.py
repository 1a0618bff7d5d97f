"""Where everything is in the arrays that a search of the shared loop lives in.

A search has the arrays of a problem (see `tasks.kernels.Packed`), the limits (see
`robot.limits.JointLimits.packed`), `counters` (COUNTERS + k,) int, and one float array, its
memory, of which `search_arrays` makes the rest. Few arrays in a call make it cheap.

The residual r (m,) has the goals' rows first; then, where a problem has tasks about joints, one
row for each variable, which stands for all of them; then those of all other tasks.
"""

from __future__ import annotations

from typing import NamedTuple

from .._jit import inner
from ..maths.dual_active_set import program_size
from ..maths.rotations import Array, IntArray
from ..tasks.kernels import COMPONENTS, Packed

FOREVER = 2**62
"""Iterations that no search does."""

# Counters.
PHASE = 0
"""NEW, BEGIN, STEP, MOVED or ENDED."""
STATUS = 1
ATTEMPT = 2
"""Restarts so far."""
ITERATIONS = 3
EVALUATIONS = 4
ATTEMPT_ITERATIONS = 5
ANSWER_STATUS = 6
GOAL_ROWS = 7
JOINT_ROWS = 8
"""n where there are tasks about joints, else 0."""
OTHER_ROWS = 9
TASKS = 10
"""The address of the callback that evaluates the tasks that no kernel knows; 0 without any."""
WANTED = 11
"""What of them is wanted: RESIDUAL_ROWS or JACOBIAN_ROWS."""
METHOD = 12
"""The address of the method's own callback: of its part that is written in Python; else 0."""
METHOD_WANTED = 13
"""What the method written in Python is to do."""
RESUMED = 14
"""1 where `goals` is what the last search for nearly the same left there."""
DISTURBED = 15
"""1 where `p` is not at x, since an answer was made on the way."""
ENDED_BY = 16
"""How the attempt ended, which `settle` has to see to."""
CONSTRAINTS = 17
"""Rows of constraints beside the limits: linear ones, and those of what is to be avoided."""
AVOIDANCE = 18
"""The address of the record `avoiding.AVOIDED`; 0 where there is nothing to avoid."""
COUNTERS = 19

RESIDUAL_ROWS, JACOBIAN_ROWS = range(2)

# Phases: the solve is to begin, an attempt is to begin at x, an attempt is under way, x was moved
# and the method is to begin there, the attempt is over.
NEW, BEGIN, STEP, MOVED, ENDED = range(5)

# Options that all methods have; from OWN_OPTIONS on those of the method.
POSITION_TOLERANCE = 0
ORIENTATION_TOLERANCE = 1
RESTARTS = 2
SEED = 3
MAX_ITERATIONS = 4
WEIGHED = 5
"""1 where tasks are weighed against the goals: then a goal that is met is not the end."""
RELATIVE_CHANGE = 6
OWN_OPTIONS = 7
OPTIONS = OWN_OPTIONS + 16

# Values; from OWN_VALUES on those of the method.
COST = 0
"""At x."""
BEST_COST = 1
BEST_STATUS = 2
"""How an attempt ended at the best point; RUNNING where it was only passed."""
JOINT_COST = 3
"""The part of the joint tasks' cost that their rows leave out; constant."""
ANSWER_COST = 4
OWN_VALUES = 5
VALUES = OWN_VALUES + 8

# Vectors, one number for each variable; from OWN_VECTORS on those of the method.
START, X, BEFORE, TRIAL, BEST, ANSWER = range(6)
GRADIENT, SQUARES = 6, 7
"""J'r, half the cost's gradient, and the squares of the columns' lengths, at x."""
DX, HELD, DESCENT = 8, 9, 10
JOINT_SCALES, JOINT_RESTS = 11, 12
"""The joint tasks' row of a variable is scale (x - rest)."""
ASKED = 13
"""Where the tasks that no kernel knows are to be evaluated."""
OWN_VECTORS = 14
VECTORS = OWN_VECTORS + 10

# Rows, one number for each row of the residual; from OWN_ROWS on those of the method.
RESIDUAL, TRIAL_RESIDUAL = range(2)
OWN_ROWS = 2
ROWS = OWN_ROWS + 3


class SearchArrays(NamedTuple):
    """A search under way, by the names of its parts, for n variables, m rows and G goals.

    p : the problem, with frames, components and errors of the search's own
    bounds (5, n), options (OPTIONS,), counters (COUNTERS,), values (VALUES,), vectors (VECTORS, n)
    rows (ROWS, m), goals (G, 9) : the latter for the method
    integers (k,) int : for the method, as many as its workspace asks for
    columns, own_columns (n, m) : the Jacobian's columns at x; others, for the method
    hessian (n, n) : half the cost's Hessian at a stationary point
    model (n, n) : the method's
    basis (m, m), work (m, n) : for singular values
    normal (max(m, n), max(m, n)), rhs (max(m, n),) : scratch of solves
    program : for `dual_active_set.carve_program`; empty without linear constraints
    """

    p: Packed
    bounds: Array
    options: Array
    counters: IntArray
    values: Array
    vectors: Array
    rows: Array
    goals: Array
    integers: IntArray
    columns: Array
    own_columns: Array
    hessian: Array
    model: Array
    basis: Array
    work: Array
    normal: Array
    rhs: Array
    program: Array


def memory_size(bodies: int, goals: int, m: int, n: int, constraints: int) -> int:
    """How many numbers a search's memory holds."""
    size = max(m, n)
    problem = 12 * bodies + (12 + 3 * COMPONENTS + 2) * goals
    vectors = OPTIONS + VALUES + VECTORS * n + ROWS * m
    matrices = 2 * n * m + 2 * n * n + m * m + m * n + size * size + size
    return problem + vectors + matrices + program_size(n, constraints)


def search_arrays(
    tree: IntArray,
    geometry: Array,
    table: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    counters: IntArray,
    memory: Array,
) -> SearchArrays:
    """The search that lives in these arrays. Python calls this, kernels `carve`."""
    k, g, n = tree.shape[0], table.shape[0], bounds.shape[1]
    m = counters[GOAL_ROWS] + counters[JOINT_ROWS] + counters[OTHER_ROWS]
    size = max(m, n)
    values = OPTIONS
    vectors = values + VALUES
    rows = vectors + VECTORS * n
    frames = rows + ROWS * m
    tips = frames + 12 * k
    raw = tips + 12 * g
    scales = raw + COMPONENTS * g
    errors = scales + COMPONENTS * g
    goals = errors + 2 * g
    columns = goals + COMPONENTS * g
    own_columns = columns + n * m
    hessian = own_columns + n * m
    model = hessian + n * n
    basis = model + n * n
    work = basis + m * m
    normal = work + m * n
    rhs = normal + size * size
    packed = Packed(
        tree,
        geometry,
        table,
        tools,
        targets,
        memory[frames:tips].reshape(k, 12),
        memory[tips:raw].reshape(g, 12),
        memory[raw:scales].reshape(g, COMPONENTS),
        memory[scales:errors].reshape(g, COMPONENTS),
        memory[errors:goals].reshape(g, 2),
    )
    return SearchArrays(
        packed,
        bounds,
        memory[:values],
        counters,
        memory[values:vectors],
        memory[vectors:rows].reshape(VECTORS, n),
        memory[rows:frames].reshape(ROWS, m),
        memory[goals:columns].reshape(g, COMPONENTS),
        counters[COUNTERS:],
        memory[columns:own_columns].reshape(n, m),
        memory[own_columns:hessian].reshape(n, m),
        memory[hessian:model].reshape(n, n),
        memory[model:basis].reshape(n, n),
        memory[basis:work].reshape(m, m),
        memory[work:normal].reshape(m, n),
        memory[normal:rhs].reshape(size, size),
        memory[rhs : rhs + size],
        memory[rhs + size :],
    )


carve = inner(search_arrays)
