"""The compiled loop of `levenberg_marquardt`: a whole search in a few flat arrays.

`advance` runs a search for some iterations and comes back; everything that it knows is in the
arrays that it is given, so it goes on where it was, and `conclude` makes an answer of what there
is. `solve_many` does a range of problems one after the other. `_Run` gives the arrays names; the
constants below are the places in them. The method is described in `solvers.levenberg_marquardt`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._jit import inner, njit
from ..maths.linalg import (
    SHORTEST_COLUMN,
    STATIONARY,
    bounded_step,
    free_block,
    gauss_newton_hessian,
    is_blocked,
    negative_curvature,
)
from ..maths.rotations import Array, IntArray
from ..robot.kinematics import OFFSET
from ..robot.limits import TURN, random_configuration, take_nearest_turns
from ..tasks.kernels import COMPONENTS, ROWS, Packed, add_curvature, goal_jacobian, update

# counters (10,) int
(
    PHASE,
    STATUS,
    ATTEMPT,
    ITERATIONS,
    EVALUATIONS,
    STAGNANT,
    ATTEMPT_ITERATIONS,
    FINISHING,
    LEAVING,
    ANSWER_STATUS,
) = range(10)
# phases: the solve is to begin, an attempt is to begin at x, an attempt is under way
NEW, BEGIN, STEP = 0, 1, 2
# statuses that the kernel tells apart
RUNNING, REACHED, CLOSEST, STALLED, EXHAUSTED = range(5)
# values (8 + POOL,) float: the cost at x, at the best point, at the last clear drop; nu and its
# growth; the constant part of the joint tasks' cost; the cost of the answer; the pool's costs
COST, BEST_COST, MARK, NU, GROWTH, BEST_STATUS, JOINT_COST, ANSWER_COST, POOL_COSTS = range(9)
# vectors (13 + POOL, variables) float
(
    START,
    X,
    TRIAL,
    BEST,
    DX,
    HELD,
    GRADIENT,
    SQUARES,
    DESCENT,
    ANSWER,
    WEIGHTS,
    REST,
    POOLED,
) = range(13)
# options (9,) float
(
    POSITION_TOLERANCE,
    ORIENTATION_TOLERANCE,
    RESTARTS,
    SEED,
    MAX_ITERATIONS,
    PATIENCE,
    MAX_STEP,
    DAMPING,
    WEIGHED,
) = range(9)

POOL = 64
"""How many of the best attempts are followed to their end where none reaches the goals.

Far from a goal the costs at which attempts were left say little of where they would end.
"""

SETTLED = 5
HOPE = 10.0
"""After so many iterations an attempt that is followed is left where so many more decreases
like its last would not take it below the best, as decreases become less and less."""

ROUNDING = 1e-13
"""Changes of the cost below this share of it are noise."""

SAME_COST = 1e-10
"""Costs that differ by less than this share are those of the same closest point."""

SADDLE_STEP = 0.3
"""First step off a saddle [rad or m]."""
SADDLE_TRIALS = 16

CLEAR_DROP = 0.8
"""The cost must fall to this share within `patience` iterations, or the attempt is left."""

FOREVER = 2**62


class _Run(NamedTuple):
    """A solve under way: views of the arrays that it lives in."""

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
    hessian: Array
    normal: Array


@njit
def advance(
    tree: IntArray,
    geometry: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    options: Array,
    counters: IntArray,
    values: Array,
    vectors: Array,
    work: Array,
    iterations: int,
) -> int:
    """Run at most so many iterations of the solve that lives in the arrays; return its status.

    When the status is not RUNNING, the answer is concluded.
    """
    run = _carve(
        tree, geometry, goals, tools, targets, bounds, options, counters, values, vectors, work
    )
    if counters[PHASE] == NEW:
        _begin(run)
    while counters[STATUS] == RUNNING:
        if counters[PHASE] == BEGIN:
            _begin_attempt(run)
        elif iterations > 0:
            iterations -= 1
            _iterate(run)
        else:
            return RUNNING
    _conclude(run)
    return counters[ANSWER_STATUS]


@njit
def conclude(
    tree: IntArray,
    geometry: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    options: Array,
    counters: IntArray,
    values: Array,
    vectors: Array,
    work: Array,
) -> None:
    """Make an answer of the best so far; the solve can go on afterwards."""
    run = _carve(
        tree, geometry, goals, tools, targets, bounds, options, counters, values, vectors, work
    )
    if counters[PHASE] == NEW:
        _begin(run)
    _conclude(run)


@inner
def _carve(
    tree: IntArray,
    geometry: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    options: Array,
    counters: IntArray,
    values: Array,
    vectors: Array,
    work: Array,
) -> _Run:
    """The arrays by name, the scratch ones cut from one: few arguments make a call cheap."""
    bodies, count, n = tree.shape[0], goals.shape[0], vectors.shape[1]
    m = 0
    for i in range(count):
        for c in range(COMPONENTS):
            m = max(m, goals[i, ROWS + c] + 1)
    size = max(m, n)
    a = 2 * count
    b = a + 12 * count
    c = b + COMPONENTS * count
    s = c + COMPONENTS * count
    d = s + 12 * bodies
    e = d + 2 * m + size
    f = e + n * m
    g = f + n * n
    packed = Packed(
        tree,
        geometry,
        goals,
        tools,
        targets,
        work[s:d].reshape(bodies, 12),
        work[a:b].reshape(count, 12),
        work[b:c].reshape(count, COMPONENTS),
        work[c:s].reshape(count, COMPONENTS),
        work[:a].reshape(count, 2),
    )
    return _Run(
        packed,
        bounds,
        options,
        counters,
        values,
        vectors,
        work[d : d + m],
        work[d + m : d + 2 * m],
        work[d + 2 * m : e],
        work[e:f].reshape(n, m),
        work[f:g].reshape(n, n),
        work[g : g + size * size].reshape(size, size),
    )


@inner
def _begin(run: _Run) -> None:
    """Begin the first attempt at the start, put inside the limits."""
    for j in range(run.vectors.shape[1]):
        inside = min(max(run.vectors[START, j], run.bounds[0, j]), run.bounds[1, j])
        run.vectors[START, j] = run.vectors[BEST, j] = run.vectors[X, j] = inside
    run.counters[PHASE] = BEGIN
    run.counters[FINISHING] = 1 if run.options[RESTARTS] == 0.0 else 0
    run.values[BEST_COST] = np.inf
    run.values[BEST_STATUS] = STALLED
    for i in range(POOL):
        run.values[POOL_COSTS + i] = np.inf


@inner
def _begin_attempt(run: _Run) -> None:
    counters, values = run.counters, run.values
    values[COST] = _cost_at(run, run.vectors[X], run.residual)
    counters[PHASE] = STEP
    counters[STAGNANT] = counters[ATTEMPT_ITERATIONS] = counters[LEAVING] = 0
    values[MARK] = values[COST]
    values[NU] = run.options[DAMPING]
    if counters[FINISHING] > 0:  # far away the Hessian grows with the distance, not its square
        values[NU] /= max(1.0, math.sqrt(values[COST]))
    values[GROWTH] = 2.0
    counters[EVALUATIONS] += 1
    if _is_solved(run):
        counters[STATUS] = REACHED
    else:
        _differentiate(run)


@inner
def _iterate(run: _Run) -> None:
    """Try a step, judge it, and see whether the attempt is over."""
    counters, values = run.counters, run.values
    gradient, dx = run.vectors[GRADIENT], run.vectors[DX]
    counters[ITERATIONS] += 1
    counters[ATTEMPT_ITERATIONS] += 1
    leaving = counters[LEAVING] > 0
    # A residual that stays large makes Gauss-Newton slow; then the exact Hessian is worth it.
    exact = counters[FINISHING] > 0 and counters[STAGNANT] >= 2
    given = exact or run.options[WEIGHED] > 0.0
    if leaving:
        _leave_saddle(run)
    else:
        if given:
            _model_hessian(run, exact)
        bounded_step(
            run.columns, run.residual, gradient, run.hessian, given, values[NU] * values[COST],
            run.vectors[X], run.bounds, dx, run.vectors[HELD], run.normal, run.rhs,
        )  # fmt: skip
        cap_step(dx, run.options[MAX_STEP])
    decrease = predicted_decrease(run.columns, run.hessian, given, gradient, dx)
    largest = _move(run)
    cost = _cost_at(run, run.vectors[TRIAL], run.trial_residual)
    counters[EVALUATIONS] += 1
    ended = _judge(run, cost, decrease, largest)
    if counters[STATUS] == RUNNING and _is_over(run, ended) and not _turned_round(run):
        _next_attempt(run, ended)


@inner
def _judge(run: _Run, cost: float, decrease: float, largest: float) -> int:
    """Take the trial point or leave it; how the attempt ends here, or RUNNING."""
    counters, values = run.counters, run.values
    if cost < values[COST]:
        drop = values[COST] - cost
        values[NU] *= damping_factor(drop, decrease)
        values[GROWTH] = 2.0
        values[COST] = cost
        _copy(run.vectors[TRIAL], run.vectors[X])
        _copy(run.trial_residual, run.residual)
        counters[LEAVING] = 0
        if _is_solved(run):
            counters[STATUS] = REACHED
            return REACHED
        _differentiate(run)
        if _is_hopeless(run, drop):
            return STALLED
        ended = CLOSEST if _is_stationary(run) else RUNNING
    elif counters[LEAVING] > 0:
        counters[LEAVING] += 1
        return RUNNING if counters[LEAVING] <= SADDLE_TRIALS else CLOSEST
    elif abs(decrease) < ROUNDING * values[COST]:
        ended = CLOSEST  # what is left to gain is below the rounding of the cost
    elif largest > 1e-13:
        values[NU] = max(values[NU], 1e-9) * values[GROWTH]
        values[GROWTH] *= 2.0
        return RUNNING
    else:
        ended = CLOSEST if _is_stationary(run) else STALLED
    if ended == CLOSEST and counters[FINISHING] > 0:
        _model_hessian(run, counters[FINISHING] > 0)
        if _find_descent(run):
            counters[LEAVING] = 1
            return RUNNING
    return ended


@inner
def _is_hopeless(run: _Run, drop: float) -> bool:
    """Whether an attempt that is followed will not end below the best one followed so far."""
    counters, values = run.counters, run.values
    if counters[FINISHING] <= 1 or counters[ATTEMPT_ITERATIONS] < SETTLED:
        return False
    return bool(values[COST] - HOPE * drop > values[BEST_COST] * (1.0 - SAME_COST))


@inner
def _cost_at(run: _Run, x: Array, residual: Array) -> float:
    """Evaluate everything at x; return the cost."""
    cost = update(run.p, x, residual)
    if run.options[WEIGHED] > 0.0:
        for j in range(x.shape[0]):
            away = x[j] - run.vectors[REST, j]
            cost += run.vectors[WEIGHTS, j] * away * away
        cost += run.values[JOINT_COST]
    return cost


@inner
def _differentiate(run: _Run) -> None:
    """The Jacobian's columns, their squares (of vanishing ones more), and half the cost's
    gradient, at x as evaluated."""
    goal_jacobian(run.p, 1, run.columns)
    n, m = run.columns.shape
    longest = 0.0
    for j in range(n):
        weight = run.vectors[WEIGHTS, j]
        gradient, square = weight * (run.vectors[X, j] - run.vectors[REST, j]), weight
        for i in range(m):
            gradient += run.columns[j, i] * run.residual[i]
            square += run.columns[j, i] * run.columns[j, i]
        run.vectors[GRADIENT, j], run.vectors[SQUARES, j] = gradient, square
        longest = max(longest, square)
    shortest = SHORTEST_COLUMN * SHORTEST_COLUMN * longest
    for j in range(n):
        run.vectors[SQUARES, j] = max(run.vectors[SQUARES, j], shortest)


@inner
def _model_hessian(run: _Run, exact: bool) -> None:
    """hessian = half the cost's at x: of the Gauss-Newton model, or the exact one."""
    gauss_newton_hessian(run.columns, run.hessian)
    if exact:
        update(run.p, run.vectors[X], run.residual)
        add_curvature(run.p, run.hessian)
    for j in range(run.vectors.shape[1]):
        run.hessian[j, j] += run.vectors[WEIGHTS, j]


@inner
def _is_solved(run: _Run) -> bool:
    """Whether all goals are reached. Weighed against other tasks, that alone is not the end."""
    if run.options[WEIGHED] > 0.0:
        return False
    return _within_tolerances(run)


@inner
def _within_tolerances(run: _Run) -> bool:
    errors = run.p.errors
    for i in range(errors.shape[0]):
        if errors[i, 0] > run.options[POSITION_TOLERANCE]:
            return False
        if errors[i, 1] > run.options[ORIENTATION_TOLERANCE]:
            return False
    return errors.shape[0] > 0


@inner
def _conclude(run: _Run) -> None:
    """The answer: the best point, the nearest such turns, judged anew; as `Search.finish`."""
    counters, values, vectors = run.counters, run.values, run.vectors
    ended = counters[STATUS] != RUNNING
    best = X if ended or values[COST] <= values[BEST_COST] else BEST
    answer = vectors[ANSWER]
    _copy(vectors[START if counters[EVALUATIONS] == 0 else best], answer)
    take_nearest_turns(answer, vectors[START], run.bounds[0], run.bounds[1], run.bounds[4])
    status = counters[STATUS]
    counters[ANSWER_STATUS], values[ANSWER_COST] = status, values[COST]
    if status == REACHED and not _differ(answer, vectors[X]):
        return  # as judged just now
    values[ANSWER_COST] = _cost_at(run, answer, run.trial_residual)
    if _within_tolerances(run):
        status = REACHED
    elif status == REACHED:  # lost to rounding in the last digit of a tolerance
        status = STALLED
    elif status == CLOSEST and _differ(answer, run.vectors[X]):
        # a limit that held the closest point may hold it no more a whole turn away
        _copy(answer, run.vectors[X])
        _copy(run.trial_residual, run.residual)
        values[COST] = values[ANSWER_COST]
        _differentiate(run)
        status = CLOSEST if _is_stationary(run) else STALLED
    counters[ANSWER_STATUS] = status


@inner
def _differ(a: Array, b: Array) -> bool:
    apart = 0.0
    for j in range(a.shape[0]):
        apart = max(apart, abs(a[j] - b[j]))
    return apart > 0.0


@njit
def cap_step(dx: Array, max_step: float) -> None:
    """ClampMaxAbs: scale the step so that no joint moves by more than max_step."""
    largest = 0.0
    for j in range(dx.shape[0]):
        largest = max(largest, abs(dx[j]))
    if largest > max_step:
        for j in range(dx.shape[0]):
            dx[j] *= max_step / largest


@njit
def predicted_decrease(
    columns: Array, hessian: Array, given: bool, gradient: Array, dx: Array
) -> float:
    """How much the model's cost falls over dx: -(2 g'dx + dx'H dx)."""
    n, m = columns.shape
    linear, quadratic = 0.0, 0.0
    for j in range(n):
        linear += gradient[j] * dx[j]
    if given:
        for j in range(n):
            quadratic += hessian[j, j] * dx[j] * dx[j]
            for k in range(j):
                quadratic += 2.0 * hessian[j, k] * dx[j] * dx[k]
    else:
        for i in range(m):
            s = 0.0
            for j in range(n):
                s += columns[j, i] * dx[j]
            quadratic += s * s
    return -(2.0 * linear + quadratic)


@inner
def _move(run: _Run) -> float:
    """trial = x + dx, inside the bounds to the last bit; returns the largest move."""
    largest = 0.0
    for j in range(run.vectors.shape[1]):
        x = run.vectors[X, j]
        moved = min(max(x + run.vectors[DX, j], run.bounds[0, j]), run.bounds[1, j])
        run.vectors[TRIAL, j] = moved
        largest = max(largest, abs(moved - x))
    return largest


@njit
def damping_factor(actual: float, predicted: float) -> float:
    """Nielsen's rule: the damping follows how well the model foretold the decrease."""
    gain = actual / predicted if predicted > 0.0 else 0.0
    return max(1.0 / 3.0, 1.0 - (2.0 * min(gain, 2.0) - 1.0) ** 3)


@inner
def _find_descent(run: _Run) -> bool:
    """At a stationary point: vectors[DESCENT] = a way down along negative curvature.

    False at a minimum. Saddles are where arms are stretched out towards or away from a goal.
    Joints on a limit stay there.
    """
    x, held, normal = run.vectors[X], run.vectors[HELD], run.normal
    for j in range(x.shape[0]):
        held[j] = 0.0 if run.bounds[0, j] < x[j] < run.bounds[1, j] else 1.0
    size = free_block(run.hessian, held, normal)
    trace = 0.0
    for i in range(size):
        trace += abs(normal[i, i])
    for i in range(size):
        normal[i, i] += 1e-7 * trace  # motions that change nothing have no curvature to speak of
    if not negative_curvature(normal, run.rhs, size):
        return False
    largest = 0.0
    for i in range(size):
        largest = max(largest, abs(run.rhs[i]))
    row = 0
    for j in range(x.shape[0]):
        run.vectors[DESCENT, j] = 0.0
        if held[j] == 0.0:
            run.vectors[DESCENT, j] = run.rhs[row] / largest
            row += 1
    return True


@inner
def _leave_saddle(run: _Run) -> None:
    """dx = a step along the way down, to one side and the other, ever shorter."""
    trial = run.counters[LEAVING] - 1
    length = SADDLE_STEP * 0.5 ** (trial // 2)
    if trial % 2 == 1:
        length = -length
    for j in range(run.vectors.shape[1]):
        run.vectors[DX, j] = length * run.vectors[DESCENT, j]


@inner
def _is_stationary(run: _Run) -> bool:
    """As driver.is_stationary: no column of a free variable leans on the residual."""
    leaning = 0
    for j in range(run.vectors.shape[1]):
        if _leans(run, j) and not _is_blocked(run, j):
            leaning += 1
    return leaning == 0


@inner
def _leans(run: _Run, j: int) -> bool:
    """Whether the cost's slope along a variable is more than nothing."""
    gradient, square = run.vectors[GRADIENT, j], run.vectors[SQUARES, j]
    return gradient * gradient > STATIONARY * STATIONARY * square * run.values[COST]


@inner
def _is_blocked(run: _Run, j: int) -> bool:
    x, gradient = run.vectors[X, j], run.vectors[GRADIENT, j]
    return is_blocked(x, run.bounds[0, j], run.bounds[1, j], gradient)


@inner
def _is_over(run: _Run, ended: int) -> bool:
    """Whether the attempt stands still, or has had its iterations; counts stagnant ones."""
    counters, values, options = run.counters, run.values, run.options
    if values[COST] < CLEAR_DROP * values[MARK]:
        values[MARK] = values[COST]
        counters[STAGNANT] = 0
    else:
        counters[STAGNANT] += 1
    if ended != RUNNING or counters[ATTEMPT_ITERATIONS] >= options[MAX_ITERATIONS]:
        return True
    return counters[FINISHING] == 0 and counters[STAGNANT] >= options[PATIENCE]


@inner
def _turned_round(run: _Run) -> bool:
    """Turn joints that a limit blocks by a whole turn, where there is room; the attempt goes on.

    The posture stays the same, but the joint is free to move on. Only where restarts are
    allowed: who solves from a start wants the joints near it.
    """
    counters, x, bounds = run.counters, run.vectors[X], run.bounds
    if run.options[RESTARTS] == 0.0:
        return False
    if counters[ATTEMPT_ITERATIONS] >= run.options[MAX_ITERATIONS]:
        return False
    turned = False
    for j in range(x.shape[0]):
        if bounds[4, j] > 0.0 and _is_blocked(run, j) and _leans(run, j):
            x[j] += TURN if run.vectors[GRADIENT, j] > 0.0 else -TURN
            x[j] = min(max(x[j], bounds[0, j]), bounds[1, j])
            turned = True
    if turned:
        counters[STAGNANT] = 0
        run.values[NU] = run.options[DAMPING]
        run.values[GROWTH] = 2.0
    return turned


@inner
def _is_known(status: float) -> float:
    return 1.0 if status == CLOSEST else 0.0


@inner
def _next_attempt(run: _Run, ended: int) -> None:
    """After an attempt: search on, or finish the best attempts, or end."""
    counters, values, vectors, bounds = run.counters, run.values, run.vectors, run.bounds
    searching = counters[FINISHING] == 0
    if ended == RUNNING:
        ended = EXHAUSTED
    # Of two that end in the same point, one that is known to be stationary is the better one.
    equal = SAME_COST * (_is_known(float(ended)) - _is_known(values[BEST_STATUS]))
    if values[COST] < values[BEST_COST] * (1.0 + equal):
        values[BEST_COST] = values[COST]
        values[BEST_STATUS] = ended
        _copy(run.vectors[X], vectors[BEST])
    counters[PHASE] = BEGIN
    if searching:
        _pool(run)
        if counters[ATTEMPT] < run.options[RESTARTS]:
            counters[ATTEMPT] += 1
            random_configuration(
                int(run.options[SEED]), counters[ATTEMPT], bounds[2], bounds[3], run.vectors[X]
            )
            return
        values[BEST_COST] = np.inf
    following = counters[FINISHING]
    if following < POOL and values[POOL_COSTS + following] < np.inf:
        _copy(vectors[POOLED + following], run.vectors[X])
        counters[FINISHING] += 1
    else:
        _copy(vectors[BEST], run.vectors[X])
        values[COST] = values[BEST_COST]
        counters[STATUS] = int(values[BEST_STATUS])


@inner
def _pool(run: _Run) -> None:
    """Keep x among the best attempts, sorted by cost."""
    vectors, values, cost = run.vectors, run.values, run.values[COST]
    place = POOL
    while place > 0 and cost < values[POOL_COSTS + place - 1]:
        place -= 1
    for i in range(POOL - 1, place, -1):
        values[POOL_COSTS + i] = values[POOL_COSTS + i - 1]
        _copy(vectors[POOLED + i - 1], vectors[POOLED + i])
    if place < POOL:
        values[POOL_COSTS + place] = cost
        _copy(run.vectors[X], vectors[POOLED + place])


@inner
def _copy(source: Array, target: Array) -> None:
    """target[:] = source; the loop compiles in a tenth of the time of the slice."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@njit
def solve_many(
    tree: IntArray,
    geometry: Array,
    goals: IntArray,
    tools: Array,
    target: Array,
    bounds: Array,
    options: Array,
    counters: IntArray,
    values: Array,
    vectors: Array,
    work: Array,
    frozen: IntArray,
    angles: Array,
    targets: Array,
    starts: Array,
    near: Array,
    seeds: IntArray,
    first: int,
    last: int,
    answers: Array,
    costs: Array,
    errors: Array,
    codes: IntArray,
) -> None:
    """Solve the problems first..last-1 of N with one workspace, each as a single solve does.

    angles (N, F): where the frozen bodies (F,) stand; targets (N, G, 12); starts (N, variables);
    near (N, variables): next to which turn an answer shall be, as a rule the starts; seeds (N,).
    Filled: answers (N, variables), costs (N,), errors (N, G, 2), codes (N, 4): status,
    iterations, evaluations, restarts.
    """
    run = _carve(
        tree, geometry, goals, tools, target, bounds, options, counters, values, vectors, work
    )
    for i in range(first, last):
        for k in range(frozen.shape[0]):
            geometry[frozen[k], OFFSET] = angles[i, k]
        for g in range(goals.shape[0]):
            _copy(targets[i, g], target[g])
        for k in range(counters.shape[0]):
            counters[k] = 0
        options[SEED] = seeds[i]
        _copy(starts[i], vectors[START])
        _begin(run)
        _copy(near[i], vectors[START])  # read again only where the answer's turns are chosen
        advance(
            tree, geometry, goals, tools, target, bounds, options, counters, values, vectors,
            work, FOREVER,
        )  # fmt: skip
        _copy(vectors[ANSWER], answers[i])
        costs[i] = values[ANSWER_COST]
        for g in range(goals.shape[0]):
            errors[i, g, 0], errors[i, g, 1] = run.p.errors[g, 0], run.p.errors[g, 1]
        codes[i, 0], codes[i, 1] = counters[ANSWER_STATUS], counters[ITERATIONS]
        codes[i, 2], codes[i, 3] = counters[EVALUATIONS], counters[ATTEMPT]
