# SPDX-License-Identifier: Apache-2.0
"""`ik bench convergence`: the objective after every iteration, as in [Engell2007] Fig. 6.

The arm and the goal are those of `arm_out_of_reach`; the objective is the distance from the goal,
in the source's units. The first methods are those of the source: the Jacobian inverse, CCD and
BFGS. The source does not describe the fail-safes of its Jacobian inverse, so ours is the pure
method. The others are all solvers with their defaults. None has restarts.

A row is an iteration of a method: the distance in the first case; the median and the tenth and
ninetieth percentiles over all cases; the number of cases whose objective has risen so far, and of
those within 1 % of the least distance.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.figures import count_axis, line_style, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.solvers import SOLVERS, PresetName, SolverName, make_solver

from ..results import Claim, Row
from .arm_out_of_reach import OPTIMUM, cases, in_units

CASES = 50
ITERATIONS = 1000
# The iterations with a row.
STEPS = sorted({*range(21), *np.geomspace(20, ITERATIONS, 30).round().astype(int).tolist()})
CLOSE = 1.01 * OPTIMUM
FLOOR = 1e-6  # [units] smaller distances are drawn as this
ROUNDING = 1e-9  # relative: a smaller rise is rounding
FEW = 50  # iterations: a twentieth of those that the source's CCD needs

# The source's methods: solver and preset.
PAPER: dict[str, tuple[SolverName, PresetName | None]] = {
    'JI': ('pseudoinverse', 'buss_pure'),
    'CCD': ('cyclic_coordinate_descent', None),
    'BFGS': ('bfgs', 'state_of_the_art'),
}


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each method and iteration."""
    count = min(arguments.count, CASES)
    methods = [(name, *PAPER[name]) for name in PAPER] + [('ours', s, None) for s in SOLVERS]
    for name, solver, preset in bar(methods, 'convergence'):
        curves = np.array([curve(*case, solver, preset) for case in cases(count)])
        yield from (row_of(name, solver, curves, step) for step in STEPS)


def curve(problem: IkProblem, q0: Array, solver: SolverName, preset: PresetName | None) -> Array:
    """Return the distances [units] after 0, 1, ... ITERATIONS iterations; the last repeats."""
    options: Mapping[str, Any] = {'max_iterations': ITERATIONS, 'restarts': 0}
    method = make_solver(solver, preset=preset, record_history=True, **options)
    first = problem.evaluator.cost_at(problem.start(q0)[1])
    costs = [first, *method.solve(problem, q0).history][: ITERATIONS + 1]
    distances = np.full(ITERATIONS + 1, in_units(costs[-1]))
    distances[: len(costs)] = [in_units(cost) for cost in costs]
    return distances


def row_of(name: str, solver: str, curves: Array, step: int) -> Row:
    """Return the summary of the curves (cases, ITERATIONS + 1) up to a step."""
    here, way = curves[:, step], curves[:, : step + 1]
    rose = np.diff(way, axis=1) > ROUNDING * way[:, :-1]
    return {
        'set': name,
        'solver': solver,
        'iteration': step,
        'distance': float(here[0]),
        'median': float(np.median(here)),
        'p10': float(np.percentile(here, 10)),
        'p90': float(np.percentile(here, 90)),
        'risen': int(rose.any(axis=1).sum()),
        'close': int((way <= CLOSE).any(axis=1).sum()),
        'cases': len(curves),
    }


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the source's claims about its Fig. 6."""
    last = {r['set'] if r['set'] != 'ours' else r['solver']: r for r in _last(rows)}
    ccd, ji, bfgs = last['CCD'], last['JI'], last['BFGS']
    sweeps, steps = (iterations_until_close(rows, name) for name in ('CCD', 'BFGS'))
    newton = iterations_until_close(rows, 'ours', 'levenberg_marquardt')
    starts = f'{ccd["cases"]} starts, {ITERATIONS} iterations'
    never = 'the distance rises in no case'
    return [
        Claim(
            'CCD is erratic in its first many iterations (Fig. 6, section 4)',
            'rises and falls',
            f'rises in {_of(ccd, "risen")}',
            starts,
            'the distance rises in half of the cases',
            [2 * ccd['risen'] >= ccd['cases']],
        ),
        Claim(
            'the Jacobian inverse decreases monotonically (Fig. 6)',
            'monotone, with fail-safes',
            f'without them it rises in {_of(ji, "risen")}',
            starts,
            never,
            [ji['risen'] == 0],
        ),
        Claim(
            'BFGS decreases monotonically (Fig. 6)',
            'monotone',
            f'rises in {_of(bfgs, "risen")}',
            starts,
            never,
            [bfgs['risen'] == 0],
        ),
        Claim(
            'CCD needs more than 1000 iterations to the optimum (3.3.3)',
            '> 1000',
            f'within 1 % after {_number(sweeps)}, median',
            starts,
            f'the median is not within 1 % of the optimum after {ITERATIONS} iterations',
            [sweeps > ITERATIONS],
        ),
        Claim(
            'a method is near the optimum after few iterations (Fig. 6: BFGS)',
            'BFGS',
            f'BFGS: within 1 % after {_number(steps)}, median, in the end in '
            f'{_of(bfgs, "close")}; `levenberg_marquardt`: after {_number(newton)}',
            starts,
            f'the median is within 1 % of the optimum after {FEW} iterations',
            [steps <= FEW],
        ),
    ]


def _last(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row['iteration'] == ITERATIONS]


def _of(row: Row, key: str) -> str:
    return f'{row[key]} of {row["cases"]} cases'


def iterations_until_close(rows: Sequence[Row], name: str, solver: str = '') -> float:
    """Return the iterations after which half of the cases have been close; inf if never."""
    own = (r for r in rows if r['set'] == name and solver in ('', r['solver']))
    return min((r['iteration'] for r in own if 2 * r['close'] >= r['cases']), default=np.inf)


def _number(iterations: float) -> str:
    return f'{iterations} iterations' if iterations < np.inf else f'more than {ITERATIONS}'


def draw(rows: Sequence[Row]) -> Any:
    """Draw the figure of the source, and the distances of all solvers from the optimum."""
    figure = new_figure(9.5, 4.4)
    left, right = figure.subplots(1, 2)
    for name, (solver, _) in PAPER.items():
        own = [row for row in rows if row['set'] == name]
        steps = [row['iteration'] for row in own]
        left.plot(steps, [r['distance'] for r in own], label=name, **line_style(solver))
        colour = line_style(solver)['color']
        left.plot(steps, [r['median'] for r in own], color=colour, linestyle='--', linewidth=0.8)
    for solver in SOLVERS:
        own = [row for row in rows if (row['set'], row['solver']) == ('ours', solver)]
        beyond = [max(row['median'] - OPTIMUM, FLOOR) for row in own]
        right.plot([r['iteration'] for r in own], beyond, label=solver, **line_style(solver))
    left.axhline(OPTIMUM, color='k', linewidth=0.8, linestyle=':', label='optimum')
    left.set(xlabel='iteration', ylabel='distance to the goal [units of 0.1 m]')
    left.set_ylim(0, None)
    count_axis(left.xaxis, ITERATIONS)
    left.set_title(f'As Fig. 6: one case; dashed: median of {rows[0]["cases"]}')
    left.legend(loc='center right')
    right.set(xlabel='iteration', ylabel='median distance beyond the optimum [units]')
    right.set_yscale('log')
    count_axis(right.xaxis, ITERATIONS)
    right.set_title('All solvers with their defaults')
    figure.legend(*right.get_legend_handles_labels(), loc='outside right upper')
    return figure
