"""Attempts side by side in lanes: where everything of them is, and one step of all at once.

Mathematics in lanes, decisions in numbers: a step is computed for all lanes together, whether they
like it or not; what each makes of it is chosen lane by lane (`maths.lanes.select`). Only which
attempts are over comes back, and `schedule` sees to those.

A step is that of `search`, with the same arithmetic in the same order, so an attempt in a lane is
the same, to the last bit, as one that is made alone. What is rare has no place here: exact
Hessians, saddles, the attempts that are followed to their ends.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._jit import inlined, matrix_in
from ...maths.boxed_step import POSE, bounded_steps, cap_step, damping_factor, predicted_decrease
from ...maths.lanes import Number, bits, most, select
from ...maths.rotations import Array, IntArray
from ...tasks.kernels import COMPONENTS, Packed, goal_jacobian, update
from .attempts import CLEAR_DROP
from .memory import (
    DAMPING,
    MAX_ITERATIONS,
    MAX_STEP,
    ORIENTATION_TOLERANCE,
    PATIENCE,
    POSITION_TOLERANCE,
)
from .model import (
    ROUNDING,
    SMALLEST_DAMPING,
    SMALLEST_MOVE,
    free_slopes,
    lengthen,
    take_step,
)

# Values of a lane.
COST, MARK, NU, GROWTH = range(4)
"""As in `memory`."""
STAGNANT = 4
STEPS = 5
"""Iterations of the attempt."""
FRESH = 6
"""1 where the attempt is to begin at x."""
RUNS = 7
"""1 where there is an attempt; else nothing of the lane changes."""
VALUES = 8

# Vectors of a lane, one number for each variable.
X, TRIAL, DX, HELD, GRADIENT, SQUARES = range(6)
VECTORS = 6


class Crew(NamedTuple):
    """Attempts in lanes, by the names of their parts; all arrays but the last two are of lanes.

    p : the problems; `geometry` and `targets` are each lane's own
    values (VALUES,), vectors (VECTORS, n), residual, trial_residual (m,), rhs (max(m, n),)
    columns, spare (n, m), normal (max(m, n), max(m, n))
    bounds (5, n), options : those of all lanes
    """

    p: Packed
    values: Array
    vectors: Array
    residual: Array
    trial_residual: Array
    rhs: Array
    columns: Array
    spare: Array
    normal: Array
    bounds: Array
    options: Array


def crew_size(bodies: int, goals: int, m: int, n: int) -> int:
    """How many lanes the memory of a crew holds."""
    size = max(m, n)
    problem = 26 * bodies + (12 + 12 + 2 * COMPONENTS + 2) * goals
    return problem + VALUES + VECTORS * n + 2 * m + size + 2 * n * m + size * size


@inlined
def crew_of(
    tree: IntArray,
    table: IntArray,
    tools: Array,
    bounds: Array,
    options: Array,
    m: int,
    memory: Array,
) -> Crew:
    """The crew that lives in a memory (crew_size,) of lanes."""
    k, g, n = tree.shape[0], table.shape[0], bounds.shape[1]
    size = max(m, n)
    vectors = VALUES
    geometry = vectors + VECTORS * n
    frames = geometry + 14 * k
    targets = frames + 12 * k
    tips = targets + 12 * g
    raw = tips + 12 * g
    scales = raw + COMPONENTS * g
    errors = scales + COMPONENTS * g
    residual = errors + 2 * g
    trial = residual + m
    rhs = trial + m
    columns = rhs + size
    spare = columns + n * m
    normal = spare + n * m
    packed = Packed(
        tree,
        matrix_in(memory, geometry, k, 14),
        table,
        tools,
        matrix_in(memory, targets, g, 12),
        matrix_in(memory, frames, k, 12),
        matrix_in(memory, tips, g, 12),
        matrix_in(memory, raw, g, COMPONENTS),
        matrix_in(memory, scales, g, COMPONENTS),
        matrix_in(memory, errors, g, 2),
    )
    return Crew(
        packed,
        memory[:vectors],
        matrix_in(memory, vectors, VECTORS, n),
        memory[residual:trial],
        memory[trial:rhs],
        memory[rhs:columns],
        matrix_in(memory, columns, n, m),
        matrix_in(memory, spare, n, m),
        matrix_in(memory, normal, size, size),
        bounds,
        options,
    )


@inlined
def step(crew: Crew) -> tuple[int, int]:
    """One step of every lane; which lanes have reached their goals, and which are over else."""
    values, vectors, bounds, options = crew.values, crew.vectors, crew.bounds, crew.options
    x, trial, dx, gradient = vectors[X], vectors[TRIAL], vectors[DX], vectors[GRADIENT]
    before, runs, fresh = values[COST], values[RUNS] > 0.0, values[FRESH] > 0.0
    stays = fresh | (values[RUNS] == 0.0)  # who waits keeps the errors of where it is
    bounded_steps(
        crew.columns,
        crew.residual,
        gradient,
        values[NU] * before,
        x,
        bounds,
        dx,
        vectors[HELD],
        crew.spare,
        crew.normal,
        crew.rhs,
        bits(runs) & ~bits(fresh),
    )
    cap_step(dx, options[MAX_STEP])
    decrease = predicted_decrease(crew.columns, gradient, dx)
    for j in range(dx.shape[0]):
        dx[j] = select(stays, 0.0, dx[j])
    largest = take_step(x, dx, bounds, trial)
    cost = update(crew.p, trial, crew.trial_residual)
    taken = ((cost < before) | fresh) & runs
    _take(crew, taken, runs, cost)
    _damp(values, taken, fresh, before - cost, decrease, options[DAMPING])
    slow = (abs(decrease) < ROUNDING * before) | (largest <= SMALLEST_MOVE)
    ended = select(taken, _stands(crew), select(slow, 1.0, 0.0))
    over = (_over(values, options, fresh, ended)) & runs
    reached = _reached(crew.p.errors, options) & taken
    return bits(reached), bits(over)


@inlined
def _take(crew: Crew, taken: Number, runs: Number, cost: Number) -> None:
    """Move the lanes that take their trial points, and differentiate there.

    As a rule all that run do. Then nobody needs the Jacobian of before.
    """
    crew.values[COST] = select(taken, cost, crew.values[COST])
    some_stay = bits(taken) != bits(runs)
    goal_jacobian(crew.p, 1, crew.spare if some_stay else crew.columns)
    if crew.residual.shape[0] == POSE:  # a constant unrolls the loops
        _differentiate(crew, taken, some_stay, POSE)
    else:
        _differentiate(crew, taken, some_stay, crew.residual.shape[0])
    lengthen(crew.vectors[SQUARES])


@inlined
def _differentiate(crew: Crew, taken: Number, some_stay: bool, m: int) -> None:
    """Take over what was computed at the trial point; `model.slopes` there."""
    x, trial, columns = crew.vectors[X], crew.vectors[TRIAL], crew.columns
    gradient, squares = crew.vectors[GRADIENT], crew.vectors[SQUARES]
    for i in range(m):
        crew.residual[i] = select(taken, crew.trial_residual[i], crew.residual[i])
    for j in range(x.shape[0]):
        x[j] = select(taken, trial[j], x[j])
        if some_stay:
            for i in range(m):
                columns[j, i] = select(taken, crew.spare[j, i], columns[j, i])
        slope = square = 0.0
        for i in range(m):
            slope += columns[j, i] * crew.residual[i]
            square += columns[j, i] * columns[j, i]
        gradient[j], squares[j] = slope, square


@inlined
def _damp(
    values: Array, taken: Number, fresh: Number, drop: Number, decrease: Number, first: float
) -> None:
    """The damping of the next step, as `search._judge` has it."""
    lower = values[NU] * damping_factor(drop, decrease)
    higher = most(values[NU], SMALLEST_DAMPING) * values[GROWTH]
    values[NU] = select(fresh, first, select(taken, lower, higher))
    values[GROWTH] = select(taken, 2.0, 2.0 * values[GROWTH])


@inlined
def _stands(crew: Crew) -> Number:
    """1 where x is a stationary point."""
    x, gradient, squares = crew.vectors[X], crew.vectors[GRADIENT], crew.vectors[SQUARES]
    count = free_slopes(x, crew.bounds, gradient, squares, crew.values[COST])
    return select(count == 0.0, 1.0, 0.0)


@inlined
def _over(values: Array, options: Array, fresh: Number, ended: Number) -> Number:
    """Which attempts stand still, or have had their iterations; counts both."""
    cost = values[COST]
    clear = (cost < CLEAR_DROP * values[MARK]) | fresh
    values[MARK] = select(clear, cost, values[MARK])
    values[STAGNANT] = select(clear, 0.0, values[STAGNANT] + 1.0)
    values[STEPS] = select(fresh, 0.0, values[STEPS] + values[RUNS])
    values[FRESH] = 0.0
    still = (values[STAGNANT] >= options[PATIENCE]) | (ended > 0.0)
    over = still | (values[STEPS] >= options[MAX_ITERATIONS])
    return over & (select(fresh, 1.0, 0.0) == 0.0)


@inlined
def _reached(errors: Array, options: Array) -> Number:
    """Whether all goals are reached where they were evaluated last."""
    missed = 0.0
    for i in range(errors.shape[0]):
        missed += select(errors[i, 0] <= options[POSITION_TOLERANCE], 0.0, 1.0)
        missed += select(errors[i, 1] <= options[ORIENTATION_TOLERANCE], 0.0, 1.0)
    return missed == 0.0
