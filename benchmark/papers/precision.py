# SPDX-License-Identifier: Apache-2.0
"""`ik bench precision`: the final errors for a goal out of reach, as in [Engell2007] 3.3.3.

The arm and the goals are those of `arm_out_of_reach`; distances are in the source's units. A
method ends when an iteration moves no joint by more than a threshold, relative to the largest
joint. The source prints neither its threshold nor the starts of its cases: so the threshold is
swept from 0.1 to 1e-6, where nothing moves any more, and ten seeds make the starts. That is done
for two of its three methods, and as the third for the Jacobian inverse of [Dorta2014], whose
halved errors may be similar to the source's fail-safes, which it does not describe. The pure
Jacobian inverse, and all solvers with their default end, follow for one seed. None has restarts.

A row is a method with a threshold and a seed: over all cases, the distance of its last point, and
that of its nearest point, which a solver returns. A claim holds at a threshold if it holds for
every seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ik_core.figures import line_style, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.solvers import SOLVERS, Solver, SolverName, make_solver

from ..results import Claim, Row, swept
from .arm_out_of_reach import OPTIMUM, cases, in_units

CASES = 60
FINE = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
THRESHOLDS = tuple(sorted({0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01, *FINE}, reverse=True))
SEEDS = range(10)
COARSE, TIGHT = 0.03, 1e-6
MOST_ITERATIONS = 2000
FARTHER = 1.01  # distances within this factor are equal
NEAR = 0.1  # [units] 'approximately'
SAME = 0.1  # numbers within this fraction of the source's are equal

METHODS: dict[str, tuple[SolverName, Mapping[str, Any]]] = {
    'JI': ('pseudoinverse', {'preset': 'buss_pure'}),
    'JI, halved': ('pseudoinverse', {'preset': 'coursework'}),
    'CCD': ('cyclic_coordinate_descent', {}),
    'BFGS': ('bfgs', {'preset': 'state_of_the_art'}),
}
# The source's table: distance from the goal [units].
THEIRS = {'JI, halved': 5.853667, 'CCD': 3.368891, 'BFGS': 2.534875}


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each method and threshold, and for each solver."""
    count = min(arguments.count, CASES)
    for threshold in bar(THRESHOLDS, 'precision'):
        for name, (solver, options) in METHODS.items():
            limited = {'relative_change': threshold, 'max_iterations': MOST_ITERATIONS}
            method = make_solver(solver, record_history=True, **{**options, **limited})
            for seed in SEEDS if name in THEIRS else SEEDS[:1]:
                yield row_of(name, solver, threshold, method, count, seed)
    for solver in SOLVERS:
        method = make_solver(solver, record_history=True, restarts=0)
        yield row_of('default', solver, '', method, count)


def row_of(
    name: str, solver: str, threshold: float | str, method: Solver, count: int, seed: int = 0
) -> Row:
    """Return the final errors of a method over its cases."""
    ends = np.array([end(*case, method) for case in cases(count, seed)])
    last, nearest, iterations = ends.T
    return {
        'method': name,
        'solver': solver,
        'threshold': threshold,
        'seed': seed,
        'median': float(np.median(last)),
        'p10': float(np.percentile(last, 10)),
        'p90': float(np.percentile(last, 90)),
        'nearest': float(np.median(nearest)),
        'iterations': float(np.median(iterations)),
        'cases': count,
    }


def end(problem: IkProblem, q0: Array, method: Solver) -> tuple[float, float, int]:
    """Return the distances [units] of the last and the nearest point, and the iterations."""
    result = method.solve(problem, q0)
    last = result.history[-1] if result.history else result.cost
    return in_units(last), in_units(result.cost), result.iterations


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of the source's table and text."""
    tight = at(rows, TIGHT)
    ours = next(row for row in rows if row['solver'] == 'levenberg_marquardt')
    tightest = f'threshold {TIGHT:g}, seed 0'
    return [
        Claim(
            'the optimum is at approximately 2 (3.3.3)',
            'about 2',
            f'{ours["median"]:.3f} by `levenberg_marquardt` in {ours["iterations"]:g} iterations',
            'no threshold, seed 0',
            f'the median is within {NEAR:g} of {OPTIMUM:g}',
            [abs(ours['median'] - OPTIMUM) < NEAR],
        ),
        *(_claim_of(rows, name) for name in THEIRS),
        _claim_of_order(rows),
        Claim(
            'CCD would need more than 1000 iterations to be nearest (3.3.3)',
            '> 1000',
            f'{tight["CCD"]["median"]:.3f} after {tight["CCD"]["iterations"]:g} iterations, '
            f'BFGS {tight["BFGS"]["median"]:.3f} after {tight["BFGS"]["iterations"]:g}',
            tightest,
            'the median of the iterations is above 1000',
            [tight['CCD']['iterations'] > 1000],
        ),
    ]


def _claim_of(rows: Sequence[Row], name: str) -> Claim:
    """Return a line of the table: thresholds at which all seeds' medians are within 10 %."""
    near = {
        t: [abs(row[name]['median'] - THEIRS[name]) < SAME * THEIRS[name] for row in by_seed]
        for t, by_seed in by_threshold(rows).items()
    }
    medians = [
        f'{np.median([row[name]["median"] for row in by_threshold(rows)[t]]):.3f} at {t:g}'
        for t in (max(near), COARSE, TIGHT)
    ]
    return _over_thresholds(
        f'{name}: distance to the goal (table in 3.3.3)',
        f'{THEIRS[name]}',
        ', '.join(medians),
        f'the median is within {100 * SAME:g} %, with all seeds',
        near,
    )


def _claim_of_order(rows: Sequence[Row]) -> Claim:
    """Return the claim on the order of the three methods, each at least 1 % farther away."""
    names = ('BFGS', 'CCD', 'JI, halved')
    ordered = {
        t: [
            all(row[b]['median'] > FARTHER * row[a]['median'] for a, b in pairwise(names))
            for row in by_seed
        ]
        for t, by_seed in by_threshold(rows).items()
    }
    first = at(rows, COARSE)
    order = ' < '.join(f'{first[name]["median"]:.2f}' for name in names)
    if not ordered[COARSE][0]:
        order = ', '.join(f'{name} {first[name]["median"]:.2f}' for name in names)
    return _over_thresholds(
        'BFGS ends nearest, then CCD, then the Jacobian inverse: JI, halved (3.3.3)',
        '2.53 < 3.37 < 5.85',
        f'{order} at {COARSE:g}, seed 0',
        f'each median is {100 * (FARTHER - 1):.0f} % above the one before, with all seeds',
        ordered,
    )


def _over_thresholds(
    claim: str, theirs: str, ours: str, criterion: str, held: Mapping[float, Sequence[bool]]
) -> Claim:
    """Return a claim over all thresholds and seeds; thresholds of some seeds are named."""
    values = sorted(held)
    some = [
        f'{sum(held[t])} of {len(held[t])} seeds at {t:g}'
        for t in values
        if any(held[t]) and not all(held[t])
    ]
    of = f'threshold {values[0]:g} to {values[-1]:g}, seeds {SEEDS[0]} to {SEEDS[-1]}'
    found = swept(claim, theirs, ours, of, criterion, {t: all(held[t]) for t in values})
    if not some:
        return found
    every = [one for t in values for one in held[t]]
    return found._replace(ours=f'{found.ours}; in {", ".join(some)}', held=every)


def by_threshold(rows: Sequence[Row]) -> dict[float, list[dict[str, Row]]]:
    """Return the rows of each threshold, for every seed by method."""
    thresholds = sorted({row['threshold'] for row in rows if row['threshold'] != ''})
    seeds = sorted({row['seed'] for row in rows})
    return {t: [at(rows, t, seed) for seed in seeds] for t in thresholds}


def at(rows: Sequence[Row], threshold: float, seed: int = 0) -> dict[str, Row]:
    """Return the rows of a threshold and a seed, by method."""
    return {
        row['method']: row for row in rows if (row['threshold'], row['seed']) == (threshold, seed)
    }


def draw(rows: Sequence[Row]) -> Any:
    """Draw distance against threshold, from the least to the largest of all seeds.

    Horizontal lines are the source's numbers.
    """
    figure = new_figure(7.0, 4.4)
    axes = figure.subplots()
    for name, (solver, _) in METHODS.items():
        colour = line_style(solver)['color']
        of = {t: [row[name]['median'] for row in by_seed if name in row]
              for t, by_seed in by_threshold(rows).items()}  # fmt: skip
        x, line = list(of), '--' if name == 'JI' else '-'
        middle = [float(np.median(medians)) for medians in of.values()]
        axes.plot(x, middle, line, marker='.', color=colour, label=name)
        axes.fill_between(
            x, [min(m) for m in of.values()], [max(m) for m in of.values()],
            color=colour, alpha=0.25, linewidth=0,
        )  # fmt: skip
        if name in THEIRS:
            axes.axhline(THEIRS[name], color=colour, linewidth=0.9, linestyle=':')
            text = f'their {name.partition(",")[0]}: {THEIRS[name]:.2f}'
            axes.text(TIGHT, THEIRS[name], text, va='bottom', ha='right')
    axes.axhline(OPTIMUM, color='k', linewidth=0.9, linestyle=':', label='optimum')
    axes.set(xscale='log', yscale='log', xlim=(0.12, 0.8 * TIGHT), yticks=(2, 3, 5, 10, 20, 40))
    axes.yaxis.set_major_formatter('{x:g}')
    axes.yaxis.set_minor_formatter('')
    axes.set(xlabel='threshold of the stop rule (relative change of the joints)')
    axes.set(ylabel='distance to the goal [units of 0.1 m]')
    axes.set_title(
        f'Where the methods end: medians of {rows[0]["cases"]} cases, {len(SEEDS)} seeds'
    )
    figure.legend(loc='outside right upper')
    return figure
