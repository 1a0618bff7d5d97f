"""Problems to measure: tight tolerances, random configurations, goals that are in reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.robot import Robot
from ..tasks import AxisTask, GoalTask, PoseTask

TOLERANCE = 1e-6
"""[m], [rad] Within which goals count as reached."""

Random = np.random.Generator


def pose_problem(of: Robot, **options: Any) -> IkProblem:
    """A pose goal for each tip, to TOLERANCE."""
    return tight(of, [PoseTask(link) for link in of.tips()], **options)


def tight(of: Robot, goals: list[GoalTask], **options: Any) -> IkProblem:
    """A problem with TOLERANCE for metres and radians, unless the options say otherwise."""
    tolerances = {'position_tolerance': TOLERANCE, 'orientation_tolerance': TOLERANCE}
    return IkProblem(of, goals, **{**tolerances, **options})


def random_q(problem: IkProblem, q0: Array, rng: Random) -> Array:
    """q0 (n,) with random variables inside the problem's limits."""
    q = q0.copy()
    limits = problem.limits
    q[problem.variables] = rng.uniform(limits.sample_lower, limits.sample_upper)
    return q


def any_q(problem: IkProblem, rng: Random) -> Array:
    """A random configuration inside the problem's limits."""
    return random_q(problem, problem.default_configuration, rng)


def projected(problem: IkProblem, q: Array) -> Array:
    """q (n,) with its variables inside the problem's limits."""
    inside = q.copy()
    inside[problem.variables] = problem.limits.project(q[problem.variables])
    return inside


def aim(problem: IkProblem, q: Array) -> None:
    """Set all goals to where their links are at q (n,)."""
    frames = problem.robot.frames(q)
    for task in problem.goals:
        at = problem.robot.link_transform(frames, task.link)
        if isinstance(task, AxisTask):
            task.set_direction((at @ task.tool)[:3, 2])
        else:
            task.set_target(at @ task.tool)


def unit_vector(rng: Random) -> Array:
    """A random direction (3,)."""
    v = rng.normal(size=3)
    return np.asarray(v / np.linalg.norm(v), float)


def half_turn(axis: Array) -> Array:
    """The transform (4, 4) of half a turn about a unit axis (3,)."""
    turn = np.eye(4)
    turn[:3, :3] = 2.0 * np.outer(axis, axis) - np.eye(3)
    return turn
