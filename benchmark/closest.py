# SPDX-License-Identifier: Apache-2.0
"""`ik bench closest`: whether the closest points that solvers report are local minima.

Goals are out of reach, or reachable by a hair, for six robots. Starts are random, in the middle,
with joints on their limits, and stretched out. Each answer with the status CLOSEST is compared
with 60 points near it, inside the limits, and with the end of scipy's bounded least squares from
there. If one of these is lower, with no ridge in between, the status was false. Solvers have no
restarts, which would hide it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.optimize import least_squares

from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.result import IkResult, IkStatus
from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import SOLVERS, make_solver
from ik_core.solvers.base import Solver
from ik_core.tasks import PoseTask, PositionTask
from ik_core.tasks.goals import GoalTask

from .problems import any_q, unit_vector
from .results import Row

ROBOTS = ('arm5', 'panda', 'ur5e', 'scara', 'buss_y', 'iiwa14')
POSITIONS_ONLY = ('arm5', 'buss_y')
# Distances of goals, in lengths of the stretched-out arm: barely out of reach, and far out.
BEYOND = (1.01, 4.0)

NEAR = (1e-4, 1e-3, 1e-2)
POINTS = 20  # number of points tried at each distance [rad or m]

# The cost is also checked at this fraction of the step to the lower point; if it rises there, the
# point belongs to another minimum.
HARDLY = 0.05

CLEARLY = 1e-6  # fraction of the cost by which another point has to be lower

SAME_BASIN = 0.1  # [rad or m] if scipy ends farther away, it found another minimum


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each robot and solver, of `count` starts."""
    for name in ROBOTS:
        robot = load_robot(name)
        counts = {solver: Counter[str]() for solver in SOLVERS}
        solvers = {solver: make_solver(solver, restarts=0) for solver in SOLVERS}
        for seed in bar(range(arguments.count), f'closest, {name}'):
            problem, q0 = problem_out_of_reach(robot, name in POSITIONS_ONLY, seed)
            for solver in SOLVERS:
                counts[solver][_outcome(problem, solvers[solver], q0)] += 1
        yield from (_row(name, solver, counts[solver]) for solver in SOLVERS)


def problem_out_of_reach(robot: Robot, positions_only: bool, seed: int) -> tuple[IkProblem, Array]:
    """Return a problem and a start (n,); every fourth start has its joints in the middle."""
    rng = np.random.default_rng(seed)
    make = PositionTask if positions_only else PoseTask
    goals: list[GoalTask] = [make(link) for link in robot.tips()]
    problem = IkProblem(robot, goals)
    q = any_q(problem, rng)
    for goal in goals:
        at = robot.forward_kinematics(q, goal.link)
        length = np.linalg.norm(robot.forward_kinematics(np.zeros(robot.n), goal.link)[:3, 3])
        at[:3, 3] = max(float(length), 0.3) * rng.uniform(*BEYOND) * unit_vector(rng)
        goal.set_target(at)
    q0 = any_q(problem, rng)
    if seed % 4 == 0:
        q0 = problem.default_configuration.copy()
    elif seed % 4 == 1:
        _onto_limits(problem, q0, rng)
    return problem, q0


def _onto_limits(problem: IkProblem, q0: Array, rng: np.random.Generator) -> None:
    """Move about 40 % of the variables of q0 (n,) to a limit."""
    limits, moved = problem.limits, problem.variables
    side = np.where(rng.random(len(moved)) < 0.5, limits.sample_lower, limits.sample_upper)
    q0[moved] = np.where(rng.random(len(moved)) < 0.4, side, q0[moved])


def _outcome(problem: IkProblem, solver: Solver, q0: Array) -> str:
    result = solver.solve(problem, q0)
    if not result.status.is_closest:
        return result.status.name
    return 'FALSE' if is_false(problem, result) else 'CLOSEST'


def is_false(problem: IkProblem, result: IkResult) -> bool:
    """Return whether the cost is clearly lower near a result with the status CLOSEST."""
    limits = problem.limits
    x = problem.start(result.q)[1]
    cost = problem.evaluator.cost_at(x)
    rng = np.random.default_rng(0)
    for size in NEAR:
        for _ in range(POINTS):
            step = limits.project(x + size * rng.normal(size=len(x))) - x
            is_lower = problem.evaluator.cost_at(x + step) < cost * (1.0 - CLEARLY)
            if is_lower and problem.evaluator.cost_at(x + HARDLY * step) <= cost:
                return True
    end, lowest = _by_scipy(problem, x)
    return lowest < cost * (1.0 - CLEARLY) and bool(np.max(np.abs(end - x)) < SAME_BASIN)


def _by_scipy(problem: IkProblem, x: Array) -> tuple[Array, float]:
    """Return the end point of scipy from x (variables,), and the cost there."""
    limits = problem.limits
    room = limits.upper - limits.lower > 1e-9

    def whole(part: Array) -> Array:
        y = x.copy()
        y[room] = part
        return limits.project(y)

    found = least_squares(
        lambda part: problem.at(whole(part)).residual,
        np.clip(x[room], limits.lower[room] + 1e-10, limits.upper[room] - 1e-10),
        lambda part: problem.at(whole(part)).jacobian[:, room],
        (limits.lower[room], limits.upper[room]),
        max_nfev=50,
    )
    return whole(found.x), 2.0 * float(found.cost)


def _row(robot: str, solver: str, counts: Counter[str]) -> Row:
    unused = IkStatus.LEAST, IkStatus.TOO_FEW_JOINTS
    names = ('FALSE', *(status.name for status in IkStatus if status not in unused))
    row: Row = {'robot': robot, 'solver': solver, 'starts': sum(counts.values())}
    return row | {name.lower(): counts[name] for name in names}
