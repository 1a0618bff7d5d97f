# SPDX-License-Identifier: Apache-2.0
"""`ik bench scaling_papers`: the cost of more joints, as in [Engell2007] Figs. 8 to 10.

On the arm of its Fig. 7, five chains of 2 to 6 joints (`chains5.urdf`), and on chains of up to 100
joints in 1 m, the tip of one chain has a position goal. The methods are the source's three and our
default, without restarts. The Jacobian inverse has our clamps, which prevent divergence like the
source's fail-safes, which it does not describe.

- Time per iteration (Fig. 8): of compiled steps, with goals out of reach: the difference of solves
  of up to 12 iterations and of one, over the iterations between; the median over random starts.
  The last iteration of a search that ends does not count, since its end takes time, too.
- Iterations (Fig. 9) and time (Fig. 10) until the goal is reached to 0.1 mm, from random starts to
  the positions of random configurations, over the goals that all four methods reach; the number of
  goals that a method reaches is given, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.figures import line_style, name_values, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import Solver, SolverName, make_solver
from ik_core.tasks import PositionTask

from ..problems import aim, any_q, per_iteration, timed, unit_vector
from ..results import Claim, Row, exponent, swept
from ..robots import chain

SOLVES = 200
TOLERANCE = 1e-4  # [m] of reached goals
FIVE = (2, 3, 4, 5, 6)
LONGER = (5, 10, 20, 40, 60, 80, 100)
LARGE = 10  # exponents are fitted from this number of joints on
LIKE = 0.25  # exponents that differ by less are equal
FEW_JOINTS = "the source's 2 to 6 joints"
LIMITED = {'max_iterations': 5000, 'restarts': 0}

METHODS: dict[str, tuple[SolverName, Mapping[str, Any]]] = {
    'JI': ('pseudoinverse', {}),
    'CCD': ('cyclic_coordinate_descent', {}),
    'BFGS': ('bfgs', {'preset': 'state_of_the_art', 'relative_change': 0.0}),
    'ours': ('levenberg_marquardt', {'closed_form': False}),
}


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each chain and method."""
    solves = min(arguments.count, SOLVES)
    cases = [('chains5', n) for n in FIVE] + [('chain', n) for n in LONGER]
    for figure, joints in bar(cases, 'scaling_papers'):
        yield from rows_of(figure, joints, solves)


def problem_of(figure: str, joints: int) -> IkProblem:
    """Return a goal for the tip of the chain with this number of joints."""
    robot, tip = load_robot('chains5'), f'chain_{joints}_tip'
    if figure == 'chain':
        robot, tip = chain(joints), 'tip'
    return IkProblem(robot, [PositionTask(tip)], position_tolerance=TOLERANCE)


def rows_of(figure: str, joints: int, solves: int) -> list[Row]:
    """Return the rows of all methods on one chain."""
    problem = problem_of(figure, joints)
    methods = {name: make_solver(s, **{**o, **LIMITED}) for name, (s, o) in METHODS.items()}
    found = {name: solves_of(method, problem, solves) for name, method in methods.items()}
    by_all = np.all([part[:, 0] > 0.0 for part in found.values()], axis=0)
    return [
        {
            'figure': figure,
            'joints': joints,
            'method': name,
            'us_per_iteration': 1e6 * time_per_iteration(methods[name], problem, solves),
            **means(part[by_all]),
            'reached_percent': 100.0 * float(part[:, 0].mean()),
            'reached_by_all': int(by_all.sum()),
        }
        for name, part in found.items()
    ]


def means(solves: Array) -> dict[str, float | str]:
    """Return the means of solves (S, 3) of `solves_of`; empty cells if there are none."""
    if not len(solves):
        return dict.fromkeys(('iterations', 'median_iterations', 'ms'), '')
    return {
        'iterations': float(solves[:, 1].mean()),
        'median_iterations': float(np.median(solves[:, 1])),
        'ms': 1e3 * float(solves[:, 2].mean()),
    }


def solves_of(method: Solver, problem: IkProblem, solves: int) -> Array:
    """Return (solves, 3): 1 if the goal was reached, else 0; iterations; time [s]."""
    rng, found = np.random.default_rng(0), []
    for _ in range(solves):
        aim(problem, any_q(problem, rng))
        q0 = any_q(problem, rng)
        found.append(timed(method, problem, q0))
    return np.array([(float(result.success), result.iterations, s) for result, s in found])


def time_per_iteration(method: Solver, problem: IkProblem, solves: int) -> float:
    """Return the time [s] per iteration, for goals three times as far away as the tip reaches."""
    rng, goal, times = np.random.default_rng(1), problem.goals[0], []
    for _ in range(solves):
        q0 = any_q(problem, rng)
        reach = np.linalg.norm(stretched(problem))
        goal.set_target(position=3.0 * reach * unit_vector(rng))
        times.append(per_iteration(method, problem, q0))
    return float(np.nanmedian(times))


def stretched(problem: IkProblem) -> Array:
    """Return the position (3,) [m] of the tip at q = 0, where these chains are stretched out."""
    robot = problem.robot
    tip = robot.forward_kinematics(np.zeros(robot.n), problem.goals[0].link)
    return np.asarray(tip[:3, 3])


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of the source's Figs. 8 to 10."""
    of_time = [_growth(rows, 'JI', 2.0), _growth(rows, 'BFGS', 2.0), _growth(rows, 'CCD', 1.0)]
    if not all(row['reached_by_all'] for row in rows if row['figure'] == 'chains5'):
        few = 'no goal that all methods reach: take a larger --count'
        claim = 'iterations and time to converge (Figs. 9, 10)'
        return [*of_time, Claim(claim, '-', few, FEW_JOINTS, 'a goal that all reach', ())]
    return [*of_time, *_convergence_claims(rows)]


def _convergence_claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims on goals that are reached."""
    of = {n: _figure_7(rows, n) for n in FIVE}
    by_count, by_time = ({n: _order(of[n], key) for n in FIVE} for key in ('iterations', 'ms'))
    counts = ', '.join(f'{name} {of[6][name]["iterations"]:.0f}' for name in METHODS)
    times = ', '.join(f'{name} {of[6][name]["ms"]:.2g} ms' for name in METHODS)
    return [
        swept(
            'CCD needs the most iterations (Fig. 9)',
            'CCD the most',
            f'at 6 joints {counts}',
            FEW_JOINTS,
            'CCD has the largest mean of the three',
            {n: order[-1] == 'CCD' for n, order in by_count.items()},
        ),
        _trend(rows, 'CCD', 'iterations', 'rises'),
        _trend(rows, 'BFGS', 'iterations', 'rises'),
        _trend(rows, 'JI', 'iterations', 'falls'),
        swept(
            'the iterations dominate the time to converge (Fig. 10)',
            'same order',
            f'at 6 joints {times}',
            FEW_JOINTS,
            'the three methods have the same order by time as by iterations',
            {n: by_count[n] == by_time[n] for n in FIVE},
        )._replace(timed=True),
    ]


def _figure_7(rows: Sequence[Row], joints: int) -> dict[str, Row]:
    """Return the rows of a chain of Fig. 7, by method."""
    return {r['method']: r for r in rows if (r['figure'], r['joints']) == ('chains5', joints)}


def _order(of: Mapping[str, Row], key: str) -> list[str]:
    """Return the source's three methods in ascending order of a number."""
    return sorted((name for name in METHODS if name != 'ours'), key=lambda name: of[name][key])


def _growth(rows: Sequence[Row], name: str, theirs: float) -> Claim:
    """Return the claim on the growth of the time per iteration with the joints."""
    own = [row for row in rows if row['method'] == name]
    large = [r for r in own if r['figure'] == 'chain' and r['joints'] >= LARGE]
    few = [r for r in own if r['figure'] == 'chains5']
    fits = [
        exponent([r['joints'] for r in part], [r['us_per_iteration'] for r in part])
        for part in (few, large)
    ]
    kind = 'linear' if theirs == 1.0 else 'quadratic'
    return Claim(
        f'{name}: the time of an iteration is {kind} in the joints (Fig. 8)',
        f'exponent {theirs:g}, 2 to 6 joints',
        f'{fits[0]:.2f} from 2 to 6 joints, {fits[1]:.2f} from {LARGE} to {LONGER[-1]}',
        f'{FEW_JOINTS}; {LARGE} to {LONGER[-1]}',
        f'the exponent is within {LIKE:g} of {theirs:g}',
        [abs(fit - theirs) < LIKE for fit in fits],
        timed=True,
    )


def _trend(rows: Sequence[Row], name: str, key: str, theirs: str) -> Claim:
    """Return the claim that iterations rise or fall from 2 to 6 joints."""
    own = [_figure_7(rows, n)[name][key] for n in FIVE]
    fit = exponent(FIVE, own)
    return Claim(
        f'{name}: the number of iterations {theirs} with the joints (Fig. 9)',
        theirs,
        f'{", ".join(f"{mean:.3g}" for mean in own)} at 2 to 6 joints: exponent {fit:.2f}',
        FEW_JOINTS,
        f'the mean {theirs} from 2 to 6 joints, by the fitted exponent',
        [(fit > 0.0) is (theirs == 'rises')],
    )


def draw(rows: Sequence[Row]) -> Any:
    """Draw Figs. 8, 9 and 10 side by side; below, for chains of up to 100 joints."""
    figure = new_figure(10.0, 5.6)
    columns = (
        ('us_per_iteration', 'time per iteration [µs]', 'Fig. 8'),
        ('iterations', 'iterations', 'Fig. 9'),
        ('ms', 'time to converge [ms]', 'Fig. 10'),
    )
    for row, (kind, axes) in enumerate(
        zip(('chains5', 'chain'), figure.subplots(2, 3), strict=True)
    ):
        for panel, (key, label, title) in zip(axes, columns, strict=True):
            for name, (solver, _) in METHODS.items():
                own = [r for r in rows if (r['figure'], r['method']) == (kind, name) and r[key]]
                x, y = ([r[k] for r in own] for k in ('joints', key))
                panel.plot(x, y, marker='.', label=name, **line_style(solver))
            panel.set(xlabel='joints', ylabel=label, yscale='log')
            panel.set_title(f'as {title}' if row == 0 else 'long chains')
            if row:
                panel.set(xscale='log', xticks=(5, 10, 20, 50, 100))
                panel.xaxis.set_major_formatter('{x:g}')
                panel.xaxis.set_minor_formatter('')
            else:
                panel.set_xticks(FIVE)
            name_values(panel.yaxis)
    figure.legend(*axes[0].get_legend_handles_labels(), loc='outside right upper')
    return figure
