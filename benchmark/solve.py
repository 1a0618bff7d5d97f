# SPDX-License-Identifier: Apache-2.0
"""`ik bench solve`: every solver on random reachable goals, from random starts.

Goals are the poses of uniformly random configurations of the shipped arms, to 1e-5 m and 1e-5 rad;
the starts are other such configurations. Each solver runs once without restarts, as in the papers,
and once with the restarts that `levenberg_marquardt` makes by default, for at most a second. Times
are of whole calls of `solver.solve` from Python, with warm kernels. All solvers take turns on each
goal, so that a busy machine slows them alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ik_core.figures import BLUE, SKY, new_figure
from ik_core.optim.search import Budget
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.result import IkResult
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import DEFAULT_SOLVER, SOLVERS, make_solver
from ik_core.tasks import PoseTask

from .problems import any_q
from .results import Row

ROBOTS = ('panda', 'ur5e', 'iiwa14', 'pr2_like')
TOLERANCE = 1e-5
RESTARTS = (0, 100)
LIMIT = Budget(seconds=1.0)
# The papers' methods, up to a hundred times slower than the default, get one goal in this many.
EVERY = 4

Setting = tuple[str, int]  # a solver and its restarts


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each robot and solver."""
    for name in ROBOTS:
        yield from _robot_rows(name, arguments.count)


def _robot_rows(name: str, count: int) -> list[Row]:
    robot = load_robot(name)
    tip = robot.default_tip()
    goal = PoseTask(tip)
    problem = IkProblem(
        robot, [goal], position_tolerance=TOLERANCE, orientation_tolerance=TOLERANCE
    )
    rng = np.random.default_rng(0)
    solvers = {(s, n): make_solver(s, restarts=n) for s in SOLVERS for n in RESTARTS}
    results: dict[Setting, list[tuple[IkResult, float]]] = {key: [] for key in solvers}
    goal.set_target(robot.forward_kinematics(problem.default_configuration, tip))
    for solver in solvers.values():  # compile, and fill the buffers
        solver.solve(problem, any_q(problem, rng), Budget(iterations=50))
    for i in bar(range(count), f'solve, {name}'):
        goal.set_target(robot.forward_kinematics(any_q(problem, rng), tip))
        q0 = any_q(problem, rng)
        for key, solver in solvers.items():
            if key[0] == DEFAULT_SOLVER or i % EVERY == 0:
                started = time.perf_counter()
                result = solver.solve(problem, q0, LIMIT)
                results[key].append((result, time.perf_counter() - started))
    return [_row(name, *key, outcomes) for key, outcomes in results.items()]


def _row(robot: str, solver: str, restarts: int, outcomes: list[tuple[IkResult, float]]) -> Row:
    times = 1e6 * np.array([seconds for _, seconds in outcomes])
    return {
        'robot': robot,
        'solver': solver,
        'restarts': restarts,
        'goals': len(outcomes),
        'success_percent': 100.0 * float(np.mean([r.success for r, _ in outcomes])),
        'mean_us': float(times.mean()),
        'median_us': float(np.median(times)),
        'p99_us': float(np.percentile(times, 99)),
        'max_us': float(times.max()),
        'mean_evaluations': float(np.mean([r.evaluations for r, _ in outcomes])),
        'mean_restarts': float(np.mean([r.restarts for r, _ in outcomes])),
    }


def draw(rows: Sequence[Row]) -> Any:
    """Draw success and time of every solver, without and with restarts."""
    figure = new_figure(9.0, 4.8)
    left, right = figure.subplots(1, 2, sharey=True)
    names = list(dict.fromkeys(row['solver'] for row in rows))[::-1]
    bars = ((0, 0.2, SKY, 'no restarts'), (RESTARTS[1], -0.2, BLUE, f'{RESTARTS[1]} restarts'))
    for restarts, offset, colour, label in bars:
        places = [i + offset for i in range(len(names))]
        own = [[r for r in rows if (r['solver'], r['restarts']) == (n, restarts)] for n in names]
        success = [np.mean([row['success_percent'] for row in part]) for part in own]
        mean_ms = [1e-3 * np.exp(np.mean([np.log(row['mean_us']) for row in p])) for p in own]
        left.barh(places, success, 0.38, color=colour, label=label)
        right.barh(places, mean_ms, 0.38, color=colour)
    left.set(xlabel='goals reached [%]', xlim=(0, 100), yticks=range(len(names)))
    left.set_yticklabels([name.replace('_', ' ') for name in names])
    right.set(xlabel='mean time of a solve [ms]', xscale='log')
    right.xaxis.set_major_formatter('{x:g}')
    for axes in (left, right):
        axes.grid(False, axis='y')
    robots = ', '.join(dict.fromkeys(row['robot'] for row in rows))
    figure.suptitle(f'Random reachable goals from random starts: {robots}')
    figure.legend(*left.get_legend_handles_labels(), loc='outside lower center', ncols=2)
    return figure
