# SPDX-License-Identifier: Apache-2.0
"""Kernels of paths: the dynamic programme of `graph`, and the largest speeds of `timing`."""

from __future__ import annotations

import math

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2, IntArray1, IntArray2
from ..robot.limits import FULL_TURN

NEVER = 10**9  # more reconfigurations than any sequence has
BISECTIONS = 60
STILL = 1e-14  # smallest slope that a constraint has


@kernel(entry='ik_path_join')
def join(
    first: IntArray1,
    x: Array2,
    band: Array1,
    most: Array2,
    rates: Array2,
    turning: IntArray1,
    ranges: Array2,
    apart: IntArray2,
    start: Array1,
    reach: float,
    fastest: float,
    travels: bool,
    counts: IntArray1,
    costs: Array1,
    boxes: Array2,
    parents: IntArray1,
) -> None:
    """Label all candidates: reconfigurations, cost, interval of whole turns, candidate before.

    The cost is the largest speed; or the travel, if `travels`, of steps not above `fastest`.
    start (c,) : costs of the candidates of the first sample, inf for those not to begin at
    The other arguments are those of `best_sequence`.
    """
    n = x.shape[1]
    for node in range(first[1]):
        counts[node], costs[node], parents[node] = 0, start[node], -1
        if start[node] == math.inf:
            counts[node] = NEVER
        for j in range(2 * n):
            boxes[node, j] = ranges[node, j]
    for i in range(1, first.shape[0] - 1):
        before, here, after = first[i - 1], first[i], first[i + 1]
        best = before
        for a in range(before, here):
            if counts[a] < counts[best] or (counts[a] == counts[best] and costs[a] < costs[best]):
                best = a
        left = before
        for b in range(here, after):
            counts[b], costs[b], parents[b] = counts[best] + 1, costs[best], best
            for j in range(2 * n):
                boxes[b, j] = ranges[b, j]
            while left < here and band[left] < band[b] - reach:
                left += 1
            for a in range(left, here):
                if band[a] > band[b] + reach:
                    break
                if counts[a] > counts[b]:
                    continue
                speed, square, is_near = 0.0, 0.0, True
                for j in range(n):
                    gap = x[b, j] - x[a, j]
                    if turning[j] != 0:
                        gap -= FULL_TURN * math.floor(gap / FULL_TURN + 0.5)
                    if abs(gap) > most[i - 1, j]:
                        is_near = False
                        break
                    speed = max(speed, abs(gap) * rates[i - 1, j])
                    square += gap * gap
                if not is_near or speed > fastest:
                    continue
                cost = costs[a] + math.sqrt(square) if travels else max(costs[a], speed)
                if counts[a] == counts[b] and not cost < costs[b]:
                    continue
                fits = True
                for j in range(n):
                    if turning[j] != 0:
                        shift = math.floor((x[a, j] - x[b, j]) / FULL_TURN + 0.5)
                        low = max(boxes[a, j] + shift, ranges[b, j])
                        high = min(boxes[a, n + j] + shift, ranges[b, n + j])
                        fits = fits and low <= high
                for k in range(apart.shape[0]):
                    fits = fits and not (apart[k, 0] == a and apart[k, 1] == b)
                if not fits:
                    continue
                counts[b], costs[b], parents[b] = counts[a], cost, a
                for j in range(n):
                    if turning[j] != 0:
                        shift = math.floor((x[a, j] - x[b, j]) / FULL_TURN + 0.5)
                        boxes[b, j] = max(boxes[a, j] + shift, ranges[b, j])
                        boxes[b, n + j] = min(boxes[a, n + j] + shift, ranges[b, n + j])


@kernel(entry='ik_path_fastest_squares')
def fastest_squares(grid: Array1, one: Array2, two: Array2, most: Array1, square: Array1) -> None:
    """Write the largest squared speeds (K,) at places (K,), linear between them.

    one, two (K, v) : first and second derivatives of the variables, over their accelerations
    most (K,) : largest squares
    """
    count = grid.shape[0]
    square[count - 1] = 0.0
    for i in range(count - 2, -1, -1):  # the largest from which rest can be reached
        step = 2.0 * (grid[i + 1] - grid[i])
        low, high = 0.0, most[i]
        if _window(one, two, i, high, step, square[i + 1])[0]:
            low = high
        else:
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                if _window(one, two, i, middle, step, square[i + 1])[0]:
                    low = middle
                else:
                    high = middle
        square[i] = low
    square[0] = 0.0
    for i in range(count - 1):
        step = 2.0 * (grid[i + 1] - grid[i])
        is_there, rise = _window(one, two, i, square[i], step, square[i + 1])
        after = square[i] + step * rise if is_there else square[i + 1]
        square[i + 1] = min(max(after, 0.0), square[i + 1])


@kernel
def _window(
    one: Array2, two: Array2, i: int, square: float, step: float, most: float
) -> tuple[bool, float]:
    """Return whether there is a slope that leads from a square to at most `most`, and the largest.

    The slope is half the derivative of the square: the second derivative of the parameter.
    """
    low, high = -square / step, (most - square) / step
    for j in range(one.shape[1]):
        for k in range(2):  # at both ends of the step, with the same slope
            a, b = one[i + k, j] + k * step * two[i + k, j], two[i + k, j] * square
            if abs(a) > STILL:
                x, y = (1.0 - b) / a, (-1.0 - b) / a
                low, high = max(low, min(x, y)), min(high, max(x, y))
            elif abs(b) > 1.0:
                return False, 0.0
    return low <= high, high
