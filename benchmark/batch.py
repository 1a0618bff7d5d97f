# SPDX-License-Identifier: Apache-2.0
"""`ik bench batch`: rates of `solve_batch` and of single solves, and all solutions of a UR5e.

- `single`: consecutive calls of `solver.solve`; `batch`: `solve_batch` with one thread, and with
  one thread per core. Goals are random reachable poses, to 1e-5 m and 1e-5 rad. Starts are random,
  or near: up to 0.2 rad (or m) from a solution in every joint. `agree`: whether batch and single
  solves return the same bits.
- `all`: `solve_all` by searches for random poses of a UR5e. Here `success_percent` counts the
  poses for which another random seed finds as many solutions; for others, one seed missed some.

Rates are goals per second by the wall clock; `per_core` divides by the CPU time of all cores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ik_core.batch.all_solutions import solve_all
from ik_core.batch.many_targets import solve_batch
from ik_core.chunks import available_threads
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import DEFAULT_SOLVER, make_solver
from ik_core.tasks import PoseTask

from .results import Row

ROBOTS = ('panda', 'ur5e', 'iiwa14')
TOLERANCE = 1e-5
NEAR = 0.2
REPEATS = 10  # goals of a batch per goal of the single solves, which take about as long in total


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each robot, kind of start and way to call; then the row of all solutions."""
    for name in bar(ROBOTS, 'batch'):
        yield from _robot_rows(name, arguments.count)
    yield _all_row(arguments.count)


def _robot_rows(name: str, count: int) -> Iterator[Row]:
    robot = load_robot(name)
    tip, rng = robot.default_tip(), np.random.default_rng(0)
    problem = IkProblem(
        robot, [PoseTask(tip)], position_tolerance=TOLERANCE, orientation_tolerance=TOLERANCE
    )
    q = _random(problem, rng, REPEATS * count)
    targets = np.array([robot.forward_kinematics(one, tip) for one in q])
    near = q.copy()
    near[:, problem.variables] = problem.limits.project(
        (q + rng.uniform(-NEAR, NEAR, q.shape))[:, problem.variables]
    )
    for kind, starts in (('random', _random(problem, rng, len(q))), ('near', near)):
        yield from _rows(name, kind, problem, targets, starts)


def _rows(
    name: str, kind: str, problem: IkProblem, targets: Array, starts: Array
) -> Iterator[Row]:
    count = len(targets) // REPEATS
    solver, goal = make_solver(DEFAULT_SOLVER), problem.goals[0]
    solve_batch(problem, targets[:2], starts[:2])  # compile
    goal.set_target(targets[0])
    solver.solve(problem, starts[0])

    def singly() -> list[Any]:
        results = []
        for target, start in zip(targets[:count], starts, strict=False):
            goal.set_target(target)
            results.append(solver.solve(problem, start))
        return results

    head = {'robot': name, 'start': kind}
    singles, row = _timed(head, 'single', 1, count, singly)
    yield {**row, 'success_percent': 100.0 * np.mean([r.success for r in singles]), 'agree': ''}
    for threads in sorted({1, available_threads()}):
        together = partial(solve_batch, problem, targets, starts, threads=threads)
        batch, row = _timed(head, 'batch', threads, len(targets), together)
        agree = all((batch.q[i] == single.q).all() for i, single in enumerate(singles))
        percent = 100.0 * float(batch.success.mean())
        yield {**row, 'success_percent': percent, 'agree': agree}


def _timed(
    head: Row, way: str, threads: int, count: int, call: Callable[[], Any]
) -> tuple[Any, Row]:
    """Return the result of `call`, and a row with its rates over `count` goals."""
    wall, cores = time.perf_counter(), time.process_time()
    answer = call()
    wall, cores = time.perf_counter() - wall, time.process_time() - cores
    return answer, {
        **head,
        'way': way,
        'threads': threads,
        'goals': count,
        'per_second': count / wall,
        'per_core': count / cores,
    }


def _all_row(count: int) -> Row:
    robot, rng = load_robot('ur5e'), np.random.default_rng(0)
    goal = PoseTask(robot.default_tip())
    problem = IkProblem(robot, [goal])

    def search() -> list[bool]:
        same = []
        for q in rng.uniform(-np.pi, np.pi, (count, robot.n)):
            goal.set_target(robot.forward_kinematics(q, goal.link))
            a, b = (solve_all(problem, closed_form=False, random_seed=seed) for seed in (0, 1))
            same.append(len(a) == len(b))
        return same

    goal.set_target(robot.forward_kinematics(problem.default_configuration + 0.5, goal.link))
    solve_all(problem, closed_form=False)
    same, row = _timed(
        {'robot': 'ur5e', 'start': 'all'}, 'all', available_threads(), 2 * count, search
    )
    return {**row, 'success_percent': 100.0 * np.mean(same), 'agree': all(same)}


def _random(problem: IkProblem, rng: np.random.Generator, count: int) -> Array:
    q = np.tile(problem.default_configuration, (count, 1))
    limits, shape = problem.limits, (count, len(problem.variables))
    q[:, problem.variables] = rng.uniform(limits.sample_lower, limits.sample_upper, shape)
    return q
