"""`ik bench precision`: how near to a goal out of reach methods end, as in [Engell2007] 3.3.3.

The arm and the goals are those of `arm_out_of_reach`, distances are in the source's units. A
method ends where an iteration moves no joint by more than a threshold, relative to the largest.
The source does not print its threshold, so it is swept here, for its three methods and for the
Jacobian inverse of [Dorta2014], whose halved errors may be like the fail-safes that the source has
but does not describe. Then all solvers, which end as they do by default. Without restarts.

A row is a method with a threshold: over all cases the distance of its last point, and that of the
nearest one on its way, which is what a solver returns.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.figures import look, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.solvers import SOLVERS, Solver, make_solver

from ..results import Claim, Row
from .arm_out_of_reach import OPTIMUM, cases, in_units

CASES = 60
THRESHOLDS = (*(m * 10.0**-k for k in range(2, 7) for m in (10, 3)), 1e-6)
COARSE, TIGHT = 0.03, 1e-6
MOST_ITERATIONS = 2000

METHODS: dict[str, tuple[str, Mapping[str, Any]]] = {
    'JI': ('pseudoinverse', {'preset': 'buss_pure'}),
    'JI, halved': ('pseudoinverse', {'preset': 'coursework'}),
    'CCD': ('cyclic_coordinate_descent', {}),
    'BFGS': ('bfgs', {'preset': 'state_of_the_art'}),
}
THEIRS = {'JI, halved': 5.853667, 'CCD': 3.368891, 'BFGS': 2.534875}
"""The source's table: distance from the goal [units]."""


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """A row for each method and threshold, and for each solver."""
    count = min(arguments.count, CASES)
    for threshold in bar(THRESHOLDS, 'precision'):
        for name, (solver, options) in METHODS.items():
            limited = {'relative_change': threshold, 'max_iterations': MOST_ITERATIONS}
            method = make_solver(solver, record_history=True, **{**options, **limited})
            yield row_of(name, solver, threshold, method, count)
    for solver in SOLVERS:
        method = make_solver(solver, record_history=True, restarts=0)
        yield row_of('default', solver, '', method, count)


def row_of(name: str, solver: str, threshold: float | str, method: Solver, count: int) -> Row:
    """Final errors of a method over its cases."""
    ends = np.array([end(*case, method) for case in cases(count)])
    last, nearest, iterations = ends.T
    return {
        'method': name,
        'solver': solver,
        'threshold': threshold,
        'median': float(np.median(last)),
        'p10': float(np.percentile(last, 10)),
        'p90': float(np.percentile(last, 90)),
        'nearest': float(np.median(nearest)),
        'iterations': float(np.median(iterations)),
        'cases': count,
    }


def end(problem: IkProblem, q0: Array, method: Solver) -> tuple[float, float, int]:
    """The distances [units] of the last and of the nearest point, and the iterations."""
    result = method.solve(problem, q0)
    last = result.history[-1] if result.history else result.cost
    return in_units(last), in_units(result.cost), result.iterations


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The source's table, and what it says of it."""
    coarse, tight = at(rows, COARSE), at(rows, TIGHT)
    order = [coarse[name]['median'] for name in ('BFGS', 'CCD', 'JI, halved')]
    ours = next(row for row in rows if row['solver'] == 'levenberg_marquardt')
    return [
        Claim(
            'the optimum is at approximately 2 (3.3.3)',
            'about 2',
            f'{ours["median"]:.6f} by `levenberg_marquardt` in {ours["iterations"]:g} iterations',
            abs(ours['median'] - OPTIMUM) < 0.1,
        ),
        *(_claim_of(rows, name) for name in THEIRS),
        Claim(
            'BFGS ends nearest, then CCD, then the Jacobian inverse (3.3.3)',
            '2.53 < 3.37 < 5.85',
            f'{" < ".join(f"{d:.2f}" for d in order)} at a threshold of {COARSE:g}',
            order == sorted(order),
        ),
        Claim(
            'CCD would need more than 1000 iterations to be nearest (3.3.3)',
            '> 1000',
            f'{tight["CCD"]["median"]:.6f} after {tight["CCD"]["iterations"]:g} iterations, '
            f'BFGS {tight["BFGS"]["median"]:.6f} after {tight["BFGS"]["iterations"]:g}',
            tight['CCD']['iterations'] > 1000,
        ),
    ]


def _claim_of(rows: Sequence[Row], name: str) -> Claim:
    """A line of the table: whether the median at a coarse threshold is within 10 % of theirs."""
    coarse, tight = at(rows, COARSE)[name], at(rows, TIGHT)[name]
    return Claim(
        f'{name.partition(",")[0]}: distance to the goal (table in 3.3.3)',
        f'{THEIRS[name]}',
        f'{coarse["median"]:.3f} at a threshold of {COARSE:g}, {tight["median"]:.3f} at {TIGHT:g}',
        abs(coarse['median'] - THEIRS[name]) < 0.1 * THEIRS[name],
    )


def at(rows: Sequence[Row], threshold: float) -> dict[str, Row]:
    """The rows of a threshold, by method."""
    return {row['method']: row for row in rows if row['threshold'] == threshold}


def draw(rows: Sequence[Row]) -> Any:
    """The distance against the threshold; the source's numbers are the lines across."""
    figure = new_figure(7.0, 4.4)
    axes = figure.subplots()
    for name, (solver, _) in METHODS.items():
        own = [row for row in rows if row['method'] == name]
        x, colour = [row['threshold'] for row in own], look(solver)['color']
        line = '--' if name == 'JI' else '-'
        axes.plot(x, [r['median'] for r in own], line, marker='.', color=colour, label=name)
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
    axes.set_title(f'Where the methods end: the median of {rows[0]["cases"]} cases')
    figure.legend(loc='outside right upper')
    return figure
