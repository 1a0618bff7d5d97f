# SPDX-License-Identifier: Apache-2.0
"""Problems with tight tolerances, random configurations, and timing of solves."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.optim.search import Budget
from ik_core.problem import IkProblem
from ik_core.result import IkResult
from ik_core.robot.robot import Robot
from ik_core.solvers import Solver
from ik_core.tasks import AxisTask, PoseTask
from ik_core.tasks.goals import GoalTask

TOLERANCE = 1e-6  # [m], [rad] of reached goals

REPEATS = 3
SHORT, LONG = 1, 12  # largest iterations of the two solves whose difference is timed
PRECISE = 20  # repeats of these solves

Random = np.random.Generator


def pose_problem(of: Robot, **options: Any) -> IkProblem:
    """Return a problem with a pose goal for each tip, to TOLERANCE."""
    return tight(of, [PoseTask(link) for link in of.tips()], **options)


def tight(of: Robot, goals: list[GoalTask], **options: Any) -> IkProblem:
    """Return a problem with TOLERANCE for metres and radians, unless the options override it."""
    tolerances = {'position_tolerance': TOLERANCE, 'orientation_tolerance': TOLERANCE}
    return IkProblem(of, goals, **{**tolerances, **options})


def random_q(problem: IkProblem, q0: Array, rng: Random) -> Array:
    """Return q0 (n,) with random variables inside the problem's limits."""
    q = q0.copy()
    limits = problem.limits
    q[problem.variables] = rng.uniform(limits.sample_lower, limits.sample_upper)
    return q


def any_q(problem: IkProblem, rng: Random) -> Array:
    """Return a random configuration (n,) inside the problem's limits."""
    return random_q(problem, problem.default_configuration, rng)


def projected(problem: IkProblem, q: Array) -> Array:
    """Return q (n,) with its variables projected into the problem's limits."""
    inside = q.copy()
    inside[problem.variables] = problem.limits.project(q[problem.variables])
    return inside


def aim(problem: IkProblem, q: Array) -> None:
    """Set all goals to the poses of their links at q (n,)."""
    frames = problem.robot.frames(q)
    for task in problem.goals:
        at = problem.robot.link_transform(frames, task.link)
        if isinstance(task, AxisTask):
            task.set_direction((at @ task.tool)[:3, 2])
        else:
            task.set_target(at @ task.tool)


def unit_vector(rng: Random) -> Array:
    """Return a random direction (3,)."""
    v = rng.normal(size=3)
    return np.asarray(v / np.linalg.norm(v), float)


def half_turn(axis: Array) -> Array:
    """Return the transform (4, 4) of half a turn about a unit axis (3,)."""
    turn = np.eye(4)
    turn[:3, :3] = 2.0 * np.outer(axis, axis) - np.eye(3)
    return turn


def timed(
    method: Solver,
    problem: IkProblem,
    q0: Array,
    budget: Budget | None = None,
    repeats: int = REPEATS,
) -> tuple[IkResult, float]:
    """Return the result, and the shortest of some times [s], since other work only adds to it."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        result = method.solve(problem, q0, budget)
        times.append(time.perf_counter() - begun)
    return result, min(times)


def per_iteration(method: Solver, problem: IkProblem, q0: Array) -> float:
    """Return the time of an iteration [s], without the call: a long solve minus a short one.

    A search that ends by itself is cut an iteration before, since its end takes time, too. Returns
    nan if that leaves no iterations to time.
    """
    last = method.solve(problem, q0, Budget(iterations=LONG + 1)).iterations - 1
    if last <= SHORT:
        return math.nan
    short, long = (
        timed(method, problem, q0, Budget(iterations=n), PRECISE)[1] for n in (SHORT, last)
    )
    return (long - short) / (last - SHORT)
