# SPDX-License-Identifier: Apache-2.0
"""Chains of seven joints: the redundancy parameter, a joint's value, swept over its limits.

Solutions between two samples are estimated from the branches at both (`hidden_values`): most
intervals and gaps that are narrower than the distance of the samples are found, but not all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..exceptions import InvalidOption, UnsupportedProblem
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array
from ..options import check_function, measured, whole_number
from .closed_form import ClosedForm
from .kernel import EXACT
from .records import NONE
from .redundancy_scan import EVERY, LAST

# Samples for the interval scan and golden-section refinement, and for a first try; doubled while
# no solution is found.
SAMPLES, FIRST_SAMPLES = 180, 40
END_BISECTIONS = 40
# First step beyond the end of exact solutions, and accuracy of that end [rad].
FIRST_STEP, FINEST = 1e-7, 1e-7
NARROWED = 1e-6  # Accuracy of the minimum of a cost, as a fraction of the distance of samples
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)

Cost = Callable[[Array], float]


def redundancy_intervals(
    form: ClosedForm, q0: VectorLike | None = None, *, samples: int = SAMPLES
) -> list[tuple[float, float]]:
    """Find the intervals of the redundancy parameter [rad, m] that have solutions inside the
    limits.

    Scans `samples` values, and between two of them where a branch may begin or end; the ends of
    the intervals are bisected. Raises UnsupportedProblem for a chain without a redundant joint,
    InvalidOption for fewer than two samples and for a `form` that is no ClosedForm.
    """
    start = _checked_form(form).start(q0)
    swept = _values(form, samples)
    swept = np.sort(np.concatenate([swept, form.hidden_values(start, swept)]))
    values, there = swept.tolist(), _are_there(form, start, swept)
    ends: list[float] = []
    for i, now in enumerate(there):
        before = there[i - 1] if i else False
        if now and not before:
            ends.append(_end(form, start, values[i], values[i - 1]) if i else values[0])
        elif before and not now:
            ends.append(_end(form, start, values[i - 1], values[i]))
    if there[-1]:
        ends.append(values[-1])
    return list(zip(ends[::2], ends[1::2], strict=True))


def _checked_form(form: object) -> ClosedForm:
    if not isinstance(form, ClosedForm):
        raise InvalidOption(
            f'form is a {type(form).__name__}: a ClosedForm is needed, as '
            'ik_core.closed_form.form(problem) returns'
        )
    return form


def _are_there(form: ClosedForm, start: Array, values: Array) -> list[bool]:
    """Return whether there are solutions at each value."""
    swept = form.sweep(start, values, EVERY)
    if swept is None:
        return [len(form.solve(start, value)) > 0 for value in values.tolist()]
    return [cost < NONE for cost in swept[1].tolist()]


def best_solution(
    form: ClosedForm,
    q0: VectorLike | None = None,
    cost: Cost | None = None,
    *,
    samples: int | None = None,
) -> Array | None:
    """Find the solution q (n,) of least cost over all redundancy parameters, or None.

    cost : function of a configuration (n,); by default its distance to q0
    samples : number of values scanned first; by default 40, and 180 where these find nothing or
        for a golden section

    If the chain has formulas, the distance is then minimised along each branch that may come
    nearer. For a chain that nearly has them (a calibrated arm, a wrist with a small offset), the
    solutions of the ideal chain are refined to its own in milliseconds: nearly always to the
    nearest, but without proof. Otherwise (nothing found so, `samples` or `cost` given, other
    chains) a golden section search between the neighbours of the best sample finds a local
    minimum, in seconds where solutions are eigenvalues. Raises the errors of
    `redundancy_intervals`.
    """
    start = _checked_form(form).start(q0)
    check_function(cost, 'cost', 'q (n,)')
    if cost is None:
        best = _nearest_of_all(form, start, samples)
        if best is not None:
            return _nearest(form, start, best[0]) if best[1] else best[0]
        if samples is None and form.strategy.by_elimination:
            nearby = form.best_nearby(start)
            if nearby is not None:
                return _nearer(form.followed(start), nearby, start)
    values = _values(form, SAMPLES if samples is None else samples)
    measure = measured(cost or (lambda q: np.linalg.norm(q - start)), 'cost')

    def best_at(value: float) -> tuple[float, Array | None]:
        found = [(measure(q), q) for q in form.solve(start, value)]
        return min(found, key=lambda one: one[0], default=(np.inf, None))

    sampled = [best_at(value) for value in values.tolist()]
    i = int(np.argmin([one[0] for one in sampled]))
    low, high = float(values[max(i - 1, 0)]), float(values[min(i + 1, len(values) - 1)])
    candidates = [sampled[i], *_golden(best_at, low, high, NARROWED * (high - low))]
    candidates += [(measure(q), q) for q in form.solve_loaded(start)]
    if cost is None:
        candidates += [(measure(q), q) for q in [form.followed(start)] if q is not None]
    return min(candidates, key=lambda one: one[0])[1]


def _nearest_of_all(
    form: ClosedForm, start: Array, samples: int | None
) -> tuple[Array | None, bool] | None:
    """Return `ClosedForm.nearest` for FIRST_SAMPLES values, or else for SAMPLES."""
    best = form.nearest(start, _values(form, FIRST_SAMPLES if samples is None else samples))
    if samples is None and best is not None and best[0] is None:
        return form.nearest(start, _values(form, SAMPLES))
    return best


def _nearest(form: ClosedForm, start: Array, best: Array | None) -> Array | None:
    """Return the nearest of `best`, a solution next to the start, and one with the start's own
    value: samples may miss these two."""
    best = _nearer(form.followed(start), best, start)
    own = form.solve_loaded(start)[:1]
    is_good = len(own) and (best is None or form.appraised(own)[0].max() <= EXACT)
    return _nearer(own[0], best, start) if is_good else best


def _nearer(one: Array | None, other: Array | None, start: Array) -> Array | None:
    """Return the one nearer to the start, or the second if they are equally near."""
    if one is None or other is None:
        return other if one is None else one
    one_gap, gap = one - start, other - start
    return one if one_gap.dot(one_gap) < gap.dot(gap) else other


def _golden(
    best_at: Callable[[float], tuple[float, Array | None]], low: float, high: float, width: float
) -> list[tuple[float, Array | None]]:
    """Return the last two points of a golden section search."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    one, two = best_at(a), best_at(b)
    while high - low > width:
        if one[0] <= two[0]:
            high, b, two = b, a, one
            a = high - GOLDEN * (high - low)
            one = best_at(a)
        else:
            low, a, one = a, b, two
            b = low + GOLDEN * (high - low)
            two = best_at(b)
    return [one, two]


def _values(form: ClosedForm, samples: int) -> Array:
    """Return values of the redundant joint from limit to limit."""
    if form.redundant_joint is None:
        raise UnsupportedProblem(
            f'this chain has no redundant joint ({form.family}), so there is nothing to sweep: '
            'solve() has all solutions'
        )
    return _spread(*form.redundancy_range, whole_number(samples, 'samples', 2))


@lru_cache(maxsize=32)
def _spread(low: float, high: float, samples: int) -> Array:
    """Return values from one to the other; cached, so read only."""
    return np.linspace(low, high, samples)  # which ends at the limit itself, not an ulp beyond it


def _end(form: ClosedForm, start: Array, there: float, beyond: float) -> float:
    """Find the last value with solutions, between one with and one without.

    The sweep finds the end of exact solutions; those within the tolerances continue a little
    further.
    """
    swept = form.sweep(start, np.array([there, beyond]), LAST)
    if swept is not None and len(form.solve(start, swept[0])):
        there, step = swept[0], FIRST_STEP
        while step < abs(beyond - there):
            value = there + float(np.copysign(step, beyond - there))
            if not len(form.solve(start, value)):
                beyond = value
                break
            there, step = value, 4.0 * step
    for _ in range(END_BISECTIONS):
        middle = 0.5 * (there + beyond)
        if abs(beyond - there) <= FINEST:
            break
        if len(form.solve(start, middle)):
            there = middle
        else:
            beyond = middle
    return there
