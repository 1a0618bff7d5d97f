# SPDX-License-Identifier: Apache-2.0
"""`ik bench scaling`: the cost of a solve as robots and goals grow.

- chains of 5 to 100 joints with one pose goal, or with four position goals of two components each:
  time per iteration, and the `exponent` of its growth from 10 joints on (1 is linear);
- the same chains with a pose out of reach, without restarts, to the closest point: the last
  iterations use the exact Hessian, whose cost grows with the cube of the joints;
- a chain of 24 joints with 1 to 24 position goals: from 8 goals on, 24 rows, the system over the
  joints is the smaller one;
- a human-like skeleton of 60 joints that follows 8 position goals at 60 frames a second, each
  frame from the previous solution, as in animation: without and with restarts.

The time per iteration is the slope of time over iterations, over random solves that are cut off
after 1 to 12 iterations, so the constant cost of a call does not count. Out of reach, the time of
whole solves is divided by their iterations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.optim.search import Budget
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.result import IkResult
from ik_core.solvers import DEFAULT_SOLVER, make_solver
from ik_core.solvers.base import Solver
from ik_core.tasks import PoseTask, PositionTask

from .problems import aim, timed
from .results import Row
from .robots import FIGURE_GOALS, chain, figure

JOINTS = (5, 10, 20, 40, 60, 80, 100)
GOALS = (1, 2, 4, 6, 8, 10, 12, 16, 24)
CROSSING_JOINTS = 24
# Below, terms that do not grow with the joints (rotation logs, a 6 x 6 system) still matter.
LINEAR_FROM = 10
FRAME_RATE = 60.0


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each chain, number of goals and skeleton."""
    solves = min(arguments.count, 500)
    for name, pack in (('one pose', one_pose), ('4 masked', four_masked)):
        part = [_chain_row(name, pack(n), solves) for n in bar(JOINTS, f'scaling, {name}')]
        yield from [*part, _exponent_row(name, part)]
    part = [_far_row(one_pose(n), solves // 10 + 1) for n in bar(JOINTS, 'scaling, out of reach')]
    yield from [*part, _exponent_row('pose out of reach', part)]
    for goals in bar(GOALS, 'scaling, goals'):
        yield _chain_row('positions', positions(CROSSING_JOINTS, goals), solves)
    yield from (_figure_row(restarts, arguments.count) for restarts in (0, 100))


# --- problems ----------------------------------------------------------------------------------


def one_pose(n: int) -> IkProblem:
    """Return a chain of n joints with a pose goal at its tip."""
    return IkProblem(chain(n), [PoseTask('tip')])


def four_masked(n: int) -> IkProblem:
    """Return a chain of n joints with four goals: x and z of three links, x and y of the tip."""
    robot = chain(n)
    links = [f'link{max(1, n * i // 4)}' for i in (1, 2, 3)]
    return IkProblem(
        robot,
        [
            *(PositionTask(link, weights=(1.0, 0.0, 1.0)) for link in links),
            PositionTask('tip', weights=(1.0, 1.0, 0.0)),
        ],
    )


def positions(n: int, goals: int) -> IkProblem:
    """Return a chain of n joints with position goals for links evenly along it."""
    links = [f'link{n * i // goals}' for i in range(1, goals)]
    return IkProblem(chain(n), [PositionTask(link) for link in (*links, 'tip')])


@dataclass
class Motion:
    """A smooth motion of all joints of the skeleton, and goals on its links."""

    problem: IkProblem = field(
        default_factory=lambda: IkProblem(figure(), [PositionTask(link) for link in FIGURE_GOALS])
    )
    seed: int = 0

    def configurations(self, frames: int) -> Iterator[Array]:
        """Yield q (60,) of each frame: joints sway by up to 0.4 of their range, in 2 to 5 s."""
        rng = np.random.default_rng(self.seed)
        robot = self.problem.robot
        reach = np.minimum(robot.upper - robot.lower, 4.0)
        sway = reach * rng.uniform(0.08, 0.4, robot.n)
        rate = 2.0 * np.pi / rng.uniform(2.0, 5.0, robot.n)
        phase = rng.uniform(0.0, 2.0 * np.pi, robot.n)
        for k in range(frames):
            yield robot.middle_configuration + sway * np.sin(rate * k / FRAME_RATE + phase)

    def solves(self, solver: Solver, frames: int) -> Iterator[tuple[IkResult, float]]:
        """Yield the solve of each frame but the first, from the previous one, and its time [s]."""
        q: Array | None = None
        for truth in self.configurations(frames):
            aim(self.problem, truth)
            started = time.perf_counter()
            result = solver.solve(self.problem, truth if q is None else q)
            seconds = time.perf_counter() - started
            if q is not None:
                yield result, seconds
            q = result.q


# --- rows --------------------------------------------------------------------------------------


def _chain_row(goals: str, problem: IkProblem, solves: int) -> Row:
    iterations, times = _timed_solves(problem, solves)
    count = len(problem.goals)
    named = f'{count} {goals}' if goals == 'positions' else goals
    return _row(problem, named, _slope(iterations, times), iterations, times)


def _row(problem: IkProblem, goals: str, us: float | str, iterations: Array, times: Array) -> Row:
    return {
        'robot': problem.robot.name,
        'goals': goals,
        'joints': problem.robot.n,
        'rows': problem.packed.rows,
        'us_per_iteration': us,
        'iterations': float(iterations.mean()),
        'mean_ms': 1e3 * float(times.mean()),
        'median_ms': 1e3 * float(np.median(times)),
        'p99_ms': 1e3 * float(np.percentile(times, 99)),
        'reached_percent': '',
        'exponent': '',
    }


def _timed_solves(problem: IkProblem, solves: int) -> tuple[Array, Array]:
    """Return the iterations and times [s] of random solves, cut off after 1 to 12 iterations."""
    solver = make_solver(DEFAULT_SOLVER)
    rng = np.random.default_rng(0)
    reach = 0.5 * problem.robot.upper
    iterations, times = np.empty(solves), np.empty(solves)
    for i in range(solves):
        aim(problem, rng.uniform(-reach, reach))
        q0 = rng.uniform(-reach, reach)
        budget = Budget(iterations=1 + i % 12)
        result, times[i] = timed(solver, problem, q0, budget)
        iterations[i] = result.iterations
    return iterations, times


def _far_row(problem: IkProblem, solves: int) -> Row:
    """Return the row of a chain with poses three times as far away as its tip reaches."""
    solver = make_solver(DEFAULT_SOLVER, restarts=0)
    rng = np.random.default_rng(0)
    robot, [task] = problem.robot, problem.goals
    iterations, times = np.empty(solves), np.empty(solves)
    for i in range(solves):
        target = robot.forward_kinematics(rng.uniform(0.5 * robot.lower, 0.5 * robot.upper), 'tip')
        target[:3, 3] *= 3.0 / np.linalg.norm(target[:3, 3])
        task.set_target(target)
        q0 = rng.uniform(0.5 * robot.lower, 0.5 * robot.upper)
        result, times[i] = timed(solver, problem, q0)
        iterations[i] = result.iterations
    us = 1e6 * float(np.median(times / iterations))
    return _row(problem, 'pose out of reach', us, iterations, times)


def _slope(iterations: Array, times: Array) -> float:
    """Return the microseconds per iteration, fitted to the median of each number of iterations."""
    lengths = np.unique(iterations)
    medians = [float(np.median(times[iterations == length])) for length in lengths]
    return 1e6 * float(np.polyfit(lengths, medians, 1)[0])


def _exponent_row(goals: str, rows: list[Row]) -> Row:
    large = [row for row in rows if row['joints'] >= LINEAR_FROM]
    n = np.log([row['joints'] for row in large])
    t = np.log([row['us_per_iteration'] for row in large])
    exponent = float(np.polyfit(n, t, 1)[0])
    return {**dict.fromkeys(rows[0], ''), 'robot': 'chains', 'goals': goals, 'exponent': exponent}


def _figure_row(restarts: int, frames: int) -> Row:
    motion = Motion()
    solver = make_solver(DEFAULT_SOLVER, restarts=restarts)
    list(motion.solves(solver, 10))  # compile, and fill the buffers
    outcomes = list(motion.solves(solver, frames + 1))
    iterations = np.array([result.iterations for result, _ in outcomes], float)
    times = np.array([seconds for _, seconds in outcomes])
    row = _row(motion.problem, f'8 positions, {restarts} restarts', '', iterations, times)
    reached = 100.0 * float(np.mean([result.success for result, _ in outcomes]))
    return {**row, 'reached_percent': reached}
