"""Attempts: their beginning and end, restarts, and the pool of the best that are followed up."""

from __future__ import annotations

import math

import numpy as np

from ..._jit import inlined
from ...maths.vectors import copy_to
from ...robot.limits import TURN, random_configuration
from .memory import (
    ATTEMPT,
    ATTEMPT_ITERATIONS,
    BEGIN,
    BEST,
    BEST_COST,
    BEST_STATUS,
    CLOSEST,
    COST,
    DAMPING,
    EVALUATIONS,
    EXHAUSTED,
    FIRST,
    FOLLOWED,
    FOLLOWING,
    GRADIENT,
    GROWTH,
    LEAVING,
    MARK,
    MAX_ITERATIONS,
    NU,
    PATIENCE,
    PHASE,
    POOL,
    POOL_COSTS,
    POOLED,
    REACHED,
    RESTARTS,
    RUNNING,
    SEED,
    STAGNANT,
    STALLED,
    START,
    STATUS,
    STEP,
    SearchArrays,
    X,
)
from .model import cost_at, differentiate, is_held, is_solved, leans

CLEAR_DROP = 0.8
"""The cost must fall to this share within `patience` iterations, or the attempt is left."""

SAME_COST = 1e-10
"""Costs that differ by less than this share are those of the same closest point."""

SETTLED = 5
HOPE = 10.0
"""After so many iterations an attempt that is followed is left where so many more decreases
like its last would not take it below the best, as decreases become less and less."""


@inlined
def begin(search: SearchArrays) -> None:
    """Begin the first attempt at FIRST; put that and the start inside the limits."""
    vectors, bounds = search.vectors, search.bounds
    for j in range(vectors.shape[1]):
        vectors[START, j] = min(max(vectors[START, j], bounds[0, j]), bounds[1, j])
        inside = min(max(vectors[FIRST, j], bounds[0, j]), bounds[1, j])
        vectors[BEST, j] = vectors[X, j] = inside
    search.counters[PHASE] = BEGIN
    # The only attempt there is counts as one that is followed.
    alone = 1 if search.options[RESTARTS] == 0.0 else 0
    search.counters[FOLLOWING] = search.counters[FOLLOWED] = alone
    search.values[BEST_COST] = np.inf
    search.values[BEST_STATUS] = STALLED
    for i in range(POOL):
        search.values[POOL_COSTS + i] = np.inf


@inlined
def begin_attempt(search: SearchArrays) -> None:
    """Begin an attempt at x."""
    counters, values = search.counters, search.values
    values[COST] = cost_at(search, search.vectors[X], search.residual)
    counters[PHASE] = STEP
    counters[STAGNANT] = counters[ATTEMPT_ITERATIONS] = counters[LEAVING] = 0
    values[MARK] = values[COST]
    values[NU] = search.options[DAMPING]
    if counters[FOLLOWING] > 0:  # far away the Hessian grows with the distance, not its square
        values[NU] /= max(1.0, math.sqrt(values[COST]))
    values[GROWTH] = 2.0
    counters[EVALUATIONS] += 1
    if is_solved(search):
        counters[STATUS] = REACHED
    else:
        differentiate(search)


@inlined
def is_over(search: SearchArrays, ended: int) -> bool:
    """Whether the attempt stands still, or has had its iterations; counts stagnant ones."""
    counters, values, options = search.counters, search.values, search.options
    if values[COST] < CLEAR_DROP * values[MARK]:
        values[MARK] = values[COST]
        counters[STAGNANT] = 0
    else:
        counters[STAGNANT] += 1
    if ended != RUNNING or counters[ATTEMPT_ITERATIONS] >= options[MAX_ITERATIONS]:
        return True
    return counters[FOLLOWING] == 0 and counters[STAGNANT] >= options[PATIENCE]


@inlined
def turned_round(search: SearchArrays) -> bool:
    """Turn joints that a limit blocks by a whole turn, where there is room; the attempt goes on.

    The posture stays the same, but the joint is free to move on. Only where restarts are
    allowed: who solves from a start wants the joints near it.
    """
    counters, x, bounds = search.counters, search.vectors[X], search.bounds
    if search.options[RESTARTS] == 0.0:
        return False
    if counters[ATTEMPT_ITERATIONS] >= search.options[MAX_ITERATIONS]:
        return False
    turned = False
    for j in range(x.shape[0]):
        if bounds[4, j] > 0.0 and is_held(search, j) and leans(search, j):
            x[j] += TURN if search.vectors[GRADIENT, j] > 0.0 else -TURN
            x[j] = min(max(x[j], bounds[0, j]), bounds[1, j])
            turned = True
    if turned:
        counters[STAGNANT] = 0
        search.values[NU] = search.options[DAMPING]
        search.values[GROWTH] = 2.0
    return turned


@inlined
def is_hopeless(search: SearchArrays, drop: float) -> bool:
    """Whether an attempt that is followed will not end below the best one followed so far."""
    counters, values = search.counters, search.values
    if counters[FOLLOWED] <= 1 or counters[ATTEMPT_ITERATIONS] < SETTLED:
        return False
    return bool(values[COST] - HOPE * drop > values[BEST_COST] * (1.0 - SAME_COST))


@inlined
def next_attempt(search: SearchArrays, ended: int) -> None:
    """After an attempt: restart, or follow the next of the pool, or end with the best.

    One function, since the compiler needs half a second for each that takes the arrays.
    """
    counters, values, vectors = search.counters, search.values, search.vectors
    if ended == RUNNING:
        ended = EXHAUSTED
    # Of two that end in the same point, one that is known to be stationary is the better one.
    equal = SAME_COST * (_is_known(float(ended)) - _is_known(values[BEST_STATUS]))
    if values[COST] < values[BEST_COST] * (1.0 + equal):
        values[BEST_COST] = values[COST]
        values[BEST_STATUS] = ended
        copy_to(vectors[X], vectors[BEST])
    counters[PHASE] = BEGIN
    if counters[FOLLOWING] == 0:
        _pool(search)
        if counters[ATTEMPT] < search.options[RESTARTS]:
            counters[ATTEMPT] += 1
            lower, upper, seed = search.bounds[2], search.bounds[3], int(search.options[SEED])
            random_configuration(seed, counters[ATTEMPT], lower, upper, vectors[X])
            return
        values[BEST_COST] = np.inf
    place = counters[FOLLOWED]
    if place < POOL and values[POOL_COSTS + place] < np.inf:
        copy_to(vectors[POOLED + place], vectors[X])
        counters[FOLLOWING] = 1
        counters[FOLLOWED] += 1
    else:
        copy_to(vectors[BEST], vectors[X])
        values[COST] = values[BEST_COST]
        counters[STATUS] = int(values[BEST_STATUS])


@inlined
def _is_known(status: float) -> float:
    """1 where an attempt is known to have ended at a stationary point."""
    return 1.0 if status == CLOSEST else 0.0


@inlined
def _pool(search: SearchArrays) -> None:
    """Keep x among the best attempts, sorted by cost."""
    vectors, values, cost = search.vectors, search.values, search.values[COST]
    pooled = min(search.counters[ATTEMPT], POOL)  # at most
    place = pooled if cost < np.inf else POOL
    while place > 0 and cost < values[POOL_COSTS + place - 1]:
        place -= 1
    for i in range(min(pooled, POOL - 1), place, -1):
        values[POOL_COSTS + i] = values[POOL_COSTS + i - 1]
        copy_to(vectors[POOLED + i - 1], vectors[POOLED + i])
    if place < POOL:
        values[POOL_COSTS + place] = cost
        copy_to(search.vectors[X], vectors[POOLED + place])
