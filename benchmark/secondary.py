# SPDX-License-Identifier: Apache-2.0
"""`ik bench secondary`: the cost of secondary tasks, and how well they are minimised.

Goals are random reachable poses of arms with seven joints, from random starts, to 1e-6 m and
1e-6 rad. Each is solved bare and with one secondary task in the null space. `time_ratio` is the
total time with the task over that without; `cost_left` is the task's total cost over that of the
bare solutions (1: nothing gained). `slsqp_cost_left` is the same for scipy's SLSQP, which
minimises the task's cost from the bare solution with the goal as six equations;
`slsqp_time_ratio` is its time. SLSQP gets one goal in ten; `slsqp_goals` of them it reaches to
1e-5 m and rad, and `same_goals_cost_left` is ours over these.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import DEFAULT_SOLVER, make_solver
from ik_core.tasks import LimitAvoidanceTask, ManipulabilityTask, PostureTask, Task

from .problems import TOLERANCE, Random, aim, any_q, pose_problem
from .results import Row

ROBOTS = ('panda', 'iiwa14')
EVERY = 10  # SLSQP solves one goal in this many, since it is slow


class Outcome(NamedTuple):
    """Times [s] and the secondary task's costs of one goal; NaN if SLSQP has none."""

    bare_time: float
    time: float
    bare_cost: float
    cost: float
    reached: bool
    slsqp_time: float = float('nan')
    slsqp_cost: float = float('nan')


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each robot and secondary task."""
    for name in ROBOTS:
        tip = load_robot(name).tips()[0]
        tasks = {
            'posture': PostureTask(),
            'limit avoidance': LimitAvoidanceTask(),
            'manipulability': ManipulabilityTask(tip),
        }
        yield from (_row(name, text, task, arguments.count) for text, task in tasks.items())


def _row(name: str, text: str, task: Task, count: int) -> Row:
    bare = pose_problem(load_robot(name))
    problem = IkProblem(
        bare.robot,
        bare.goals,
        secondary=[task],
        position_tolerance=TOLERANCE,
        orientation_tolerance=TOLERANCE,
    )
    rng = np.random.default_rng(0)
    _outcome(bare, problem, rng, False)  # compile, and fill the buffers
    goals = bar(range(count), f'secondary, {name}, {text}')
    outcomes = np.array([_outcome(bare, problem, rng, i % EVERY == 0) for i in goals])
    whole = Outcome(*outcomes.sum(axis=0))
    searched = outcomes[np.isfinite(outcomes[:, -1])]
    part = Outcome(*searched.sum(axis=0))
    return {
        'robot': name,
        'secondary': text,
        'goals': count,
        'reached_percent': 100.0 * whole.reached / count,
        'mean_us': 1e6 * whole.time / count,
        'time_ratio': whole.time / whole.bare_time,
        'cost_left': whole.cost / whole.bare_cost,
        'slsqp_goals': len(searched),
        'same_goals_cost_left': part.cost / part.bare_cost,
        'slsqp_cost_left': part.slsqp_cost / part.bare_cost,
        'slsqp_time_ratio': part.slsqp_time / part.bare_time,
    }


def _outcome(bare: IkProblem, problem: IkProblem, rng: Random, search: bool) -> Outcome:
    aim(bare, any_q(bare, rng))
    q0 = any_q(bare, rng)
    solver, other = _solvers
    started = time.perf_counter()
    first = solver.solve(bare, q0)
    between = time.perf_counter()
    result = other.solve(problem, q0)
    ended = time.perf_counter()
    x = first.q[problem.variables]
    outcome = Outcome(
        between - started,
        ended - between,
        _cost(problem, x),
        _cost(problem, result.q[problem.variables]),
        result.success,
    )
    if not search:
        return outcome
    started = time.perf_counter()
    cost = _slsqp_cost(problem, x)
    return outcome._replace(slsqp_time=time.perf_counter() - started, slsqp_cost=cost)


# A solver for each problem, so that both stay packed. Without closed form, both begin at the same
# start.
_solvers = make_solver(DEFAULT_SOLVER, closed_form=False), make_solver(DEFAULT_SOLVER)


def _cost(problem: IkProblem, x: Array) -> float:
    residual, _ = problem.evaluator.secondary_at(x)
    return float(residual @ residual)


def _slsqp_cost(problem: IkProblem, x: Array) -> float:
    """Return the task's cost at SLSQP's end from x, NaN if the goal is not reached there."""
    from scipy.optimize import minimize  # slow to import, and only needed here

    def gradient(y: Array) -> Array:
        residual, jacobian = problem.evaluator.secondary_at(y)
        return 2.0 * jacobian.T @ residual

    limits = problem.limits
    found = minimize(
        lambda y: _cost(problem, y),
        x,
        jac=gradient,
        method='SLSQP',
        bounds=list(zip(limits.lower, limits.upper, strict=True)),
        constraints={
            'type': 'eq',
            'fun': lambda y: problem.at(y).residual,
            'jac': lambda y: problem.at(y).jacobian,
        },
        options={'maxiter': 300, 'ftol': 1e-12},
    )
    at = problem.at(limits.project(found.x))
    met = problem.is_solved(0.1 * at.position_errors, 0.1 * at.orientation_errors)
    return _cost(problem, at.x) if met else float('nan')
