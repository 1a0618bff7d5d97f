# SPDX-License-Identifier: Apache-2.0
"""`ik bench few_joints`: reachable poses for arms with fewer than six joints, by two goals.

Goals are random poses that the arm reaches, from random starts. One goal puts the position first
(`PoseTask.for_joints`, the node's `auto`), the other one weighs position and orientation alike
(`PoseTask`, `pose`). Both solve each pose in turns, warm, `CALLS` times; the least time counts.
`auto_us` and `pose_us` are medians, `ratio` is the median of the ratios of `auto` to `pose`,
`mean_ratio` the ratio of the means; `pose_missed` and `auto_missed` are the poses that each does
not reach, of `poses`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from ik_core.exceptions import UnsupportedProblem
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_core.robot.shipped import shipped_robots
from ik_core.solvers import make_solver
from ik_core.solvers.base import Solver
from ik_core.tasks import PoseTask
from ik_core.tasks.goals import POSE_FREEDOMS

from .problems import any_q
from .results import Row

CALLS = 3


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each tip of a shipped robot that fewer than six joints move."""
    for robot, tip in bar(list(short_arms()), 'few_joints'):
        yield _row(robot, tip, arguments.count)


def short_arms() -> Iterator[tuple[Robot, str]]:
    """Yield shipped robots with a tip that fewer than six joints move, and this tip."""
    for name in shipped_robots():
        robot = load_robot(name)
        try:
            tip = robot.default_tip()
        except UnsupportedProblem:  # several longest chains
            tip = robot.tips()[0]
        if len(robot.chain(tip)) < POSE_FREEDOMS:
            yield robot, tip


def _row(robot: Robot, tip: str, count: int) -> Row:
    joints = len(robot.chain(tip))
    goals = {'auto': PoseTask.for_joints(joints, tip), 'pose': PoseTask(tip)}
    problems = {name: IkProblem(robot, [goal]) for name, goal in goals.items()}
    solvers = {name: make_solver() for name in goals}
    rng = np.random.default_rng(0)
    times: dict[str, list[float]] = {name: [] for name in goals}
    missed = dict.fromkeys(goals, 0)
    for number in range(1 + count):
        q, q0 = (any_q(problems['pose'], rng) for _ in range(2))
        pose = robot.forward_kinematics(q, tip)
        for name in sorted(goals, reverse=bool(number % 2)):
            goals[name].set_target(pose)
            seconds, success = _timed(solvers[name], problems[name], q0)
            if number:  # the first solve allocates the buffers
                times[name].append(seconds)
                missed[name] += not success
    auto, pose_times = (1e6 * np.array(times[name]) for name in ('auto', 'pose'))
    return {
        'robot': robot.name,
        'joints': joints,
        'poses': count,
        'pose_us': float(np.median(pose_times)),
        'auto_us': float(np.median(auto)),
        'ratio': float(np.median(auto / pose_times)),
        'mean_ratio': float(auto.mean() / pose_times.mean()),
        'pose_missed': missed['pose'],
        'auto_missed': missed['auto'],
    }


def _timed(solver: Solver, problem: IkProblem, q0: Array) -> tuple[float, bool]:
    """Return the least time of some solves [s], and whether they reach the goal."""
    seconds = []
    for _ in range(CALLS):
        started = time.perf_counter()
        result = solver.solve(problem, q0)
        seconds.append(time.perf_counter() - started)
    return min(seconds), result.success
