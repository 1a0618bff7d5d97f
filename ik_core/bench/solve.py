"""`ik bench solve`: every solver over random reachable goals, from random starts.

Goals are the poses of uniformly random configurations of the shipped arms, to be reached to
1e-5 m and 1e-5 rad; the starts are other such configurations. Times are of whole calls of
`solver.solve`, what a Python user pays, compiled kernels warm. The solvers take turns on each
goal, so a busy machine slows them alike.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..cli import load_robot
from ..problem import IkProblem
from ..result import IkResult
from ..solvers import SOLVERS, make_solver
from ..tasks import PoseTask
from . import Row

ROBOTS = ('panda', 'ur5e', 'iiwa14', 'pr2_like')
TOLERANCE = 1e-5
SLOW_SHARE = 10
"""Solvers without a compiled loop get one goal in so many."""


def run(arguments: argparse.Namespace) -> list[Row]:
    """One row for each robot and solver."""
    rows = []
    for name in ROBOTS:
        rows += _robot_rows(name, arguments.count)
    return rows


def _robot_rows(name: str, count: int) -> list[Row]:
    robot = load_robot(name)
    tip = robot.default_tip()
    goal = PoseTask(tip)
    problem = IkProblem(
        robot, [goal], position_tolerance=TOLERANCE, orientation_tolerance=TOLERANCE
    )
    rng = np.random.default_rng(0)
    solvers = {solver: make_solver(solver) for solver in SOLVERS}
    results: dict[str, list[tuple[IkResult, float]]] = {solver: [] for solver in SOLVERS}
    for solver in solvers.values():  # compile, and fill the buffers
        goal.set_target(robot.forward_kinematics(problem.default_configuration, tip))
        solver.solve(problem, _random(problem, rng))
    for i in range(count):
        goal.set_target(robot.forward_kinematics(_random(problem, rng), tip))
        q0 = _random(problem, rng)
        for solver_name, solver in solvers.items():
            if solver_name == 'levenberg_marquardt' or i % SLOW_SHARE == 0:
                started = time.perf_counter()
                result = solver.solve(problem, q0)
                results[solver_name].append((result, time.perf_counter() - started))
    return [_row(name, solver, outcomes) for solver, outcomes in results.items()]


def _random(problem: IkProblem, rng: np.random.Generator) -> Any:
    q = problem.default_configuration.copy()
    limits = problem.limits
    q[problem.variables] = rng.uniform(limits.sample_lower, limits.sample_upper)
    return q


def _row(robot: str, solver: str, outcomes: list[tuple[IkResult, float]]) -> Row:
    times = 1e6 * np.array([seconds for _, seconds in outcomes])
    return {
        'robot': robot,
        'solver': solver,
        'goals': len(outcomes),
        'success_percent': 100.0 * float(np.mean([r.success for r, _ in outcomes])),
        'mean_us': float(times.mean()),
        'median_us': float(np.median(times)),
        'p99_us': float(np.percentile(times, 99)),
        'max_us': float(times.max()),
        'mean_evaluations': float(np.mean([r.evaluations for r, _ in outcomes])),
        'mean_restarts': float(np.mean([r.restarts for r, _ in outcomes])),
    }


def draw(rows: list[Row], path: Path) -> None:
    """Success against time, a point for each solver: the figure of the README."""
    from matplotlib.figure import Figure  # only who draws needs matplotlib

    figure = Figure(figsize=(7.0, 4.2), layout='constrained')
    axes = figure.add_subplot()
    for solver in dict.fromkeys(row['solver'] for row in rows):
        own = [row for row in rows if row['solver'] == solver]
        time_us = float(np.exp(np.mean([np.log(row['median_us']) for row in own])))
        success = float(np.mean([row['success_percent'] for row in own]))
        axes.plot(time_us, success, 'o', markersize=8)
        axes.annotate(solver, (time_us, success), xytext=(7, 3), textcoords='offset points')
    axes.set_xscale('log')
    axes.set_ylim(0.0, 106.0)
    axes.margins(x=0.3)
    axes.grid(alpha=0.3)
    axes.set_xlabel('median time of a solve [us]: geometric mean over the robots')
    axes.set_ylabel('goals reached [%]')
    robots = ', '.join(dict.fromkeys(row['robot'] for row in rows))
    axes.set_title(f'Random reachable goals, random starts ({robots})', fontsize=10)
    figure.savefig(path)
