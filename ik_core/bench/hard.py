"""`ik bench hard`: the default solver on problems that are hard, each with a known truth.

One row for each case of `hard_cases`. 'mastered' are goals reached to 1e-6 m and 1e-6 rad, or,
where they are out of reach, the closest point to 1e-6 m of sqrt(cost): of a closed form, or of
the best that `global_best` finds from 300 random starts, which is done for one problem in
100. `worst_gap_m` is how far from the truth the worst solve ended. Times are of whole calls of
`solver.solve` with compiled kernels; where each problem pins other joints, packing it counts.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..progress import bar
from ..solvers import DEFAULT_SOLVER, make_solver
from ..solvers.base import Solver
from .hard_cases import CASES, Case, Cases, gap, global_best, is_mastered
from .rows import Row

SEARCHED_SHARE = 100
"""Of the cases that need a search for their truth one problem in this many is solved."""


class Outcome(NamedTuple):
    """What is kept of a solve."""

    seconds: float
    evaluations: int
    mastered: bool
    gap: float


def run(arguments: argparse.Namespace) -> list[Row]:
    """One row for each case."""
    return [
        _row(name, list(_outcomes(cases(np.random.default_rng(0)), arguments.count)))
        for name, cases in bar(list(CASES.items()), 'hard')
    ]


def _outcomes(cases: Cases, count: int) -> list[Outcome]:
    solver = make_solver(DEFAULT_SOLVER)
    warm = next(cases)
    solver.solve(warm.problem, warm.q0)
    share = SEARCHED_SHARE if math.isnan(warm.best) else 1
    return [_outcome(solver, case) for case in itertools.islice(cases, -(-count // share))]


def _outcome(solver: Solver, case: Case) -> Outcome:
    started = time.perf_counter()
    result = solver.solve(case.problem, case.q0)
    seconds = time.perf_counter() - started
    if math.isnan(case.best):
        rng = np.random.default_rng(1)
        case = replace(case, best=global_best(case.problem, case.q0, rng))
    return Outcome(seconds, result.evaluations, is_mastered(case, result), gap(case, result))


def _row(name: str, outcomes: list[Outcome]) -> Row:
    times = 1e6 * np.array([outcome.seconds for outcome in outcomes])
    hard, _, robot = name.rpartition(': ')
    return {
        'case': hard,
        'robot': robot,
        'problems': len(outcomes),
        'mastered_percent': 100.0 * float(np.mean([outcome.mastered for outcome in outcomes])),
        'mean_us': float(times.mean()),
        'median_us': float(np.median(times)),
        'p99_us': float(np.percentile(times, 99)),
        'mean_evaluations': float(np.mean([outcome.evaluations for outcome in outcomes])),
        'worst_gap_m': max(max(outcome.gap for outcome in outcomes), 0.0),
    }
