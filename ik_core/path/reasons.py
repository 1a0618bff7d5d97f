# SPDX-License-Identifier: Apache-2.0
"""Why a sample of a path has no solution, or none that continues the one before."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..display import angle, counted, length, listed
from ..maths.rotations import Array, IntArray
from ..problem import IkProblem
from ..robot.limits import FULL_TURN
from ..solvers import make_solver
from .candidates import Continuation
from .result import PathReason

LOOKED_AT = 12  # samples without a solution that are looked at
FAR_BEYOND = 10.0  # [m] that limits of sliding joints are widened by, to see what they forbid
SLACK = 1e-6  # [rad or m] beyond a limit


def why_none(
    problem: IkProblem, targets: Array, start: Array, counts: IntArray
) -> tuple[PathReason, str]:
    """Why none of some targets (M, 4, 4) has a usable solution, and a phrase.

    start (n,) : values of the joints that do not move
    counts (M,) : the solutions of each inside the limits, which collide or are refused
    """
    if counts.any():
        i = int(np.argmax(counts > 0))
        return PathReason.COLLISION, _why_refused(problem, targets[i], start)
    chosen = np.unique(np.linspace(0, len(targets) - 1, LOOKED_AT).round().astype(int))
    wide = Continuation(without_limits(problem))
    worst, phrase = (0.0, 0.0), ''
    for target in targets[chosen]:
        beyond = wide.scattered(target, start)
        if len(beyond):
            phrase = _beyond_limits(problem, beyond)
            continue
        misses = _misses(problem, target, start)
        if misses > worst:
            worst = misses
    if worst > (0.0, 0.0) or not phrase:
        position, orientation = worst
        by = length(position) if position > problem.position_tolerance else angle(orientation)
        return PathReason.OUT_OF_REACH, f'out of reach by {by}'
    return PathReason.JOINT_LIMIT, phrase


def why_broken(problem: IkProblem, target: Array, q: Array) -> str:
    """Why no solution for a target (4, 4) continues q (n,), which reaches the one before."""
    wide = Continuation(without_limits(problem))
    found, there = wide.near(target[np.newaxis], q[np.newaxis])
    if not there[0]:
        return 'at a singularity the solution ends, and no other is near'
    x = found[0, problem.variables]
    joints = _outside(problem, x, turn=False)
    if joints:
        return f'{listed(joints)} would leave {"their" if len(joints) > 1 else "its"} limits'
    if problem.avoids and not problem.avoidance.may_answer(found[0]):
        return problem.avoidance.why_not_free(found[0])
    return 'no solution near enough continues the one before'


def without_limits(problem: IkProblem) -> IkProblem:
    """The same problem, without what it avoids, for joints that may go far beyond their limits."""
    robot = problem.robot
    turns = np.array([kind != 'prismatic' for kind in robot.joint_types])
    beyond = np.where(turns, FULL_TURN, FAR_BEYOND)
    return IkProblem(
        robot,
        list(problem.clone().goals),
        frozen_joints=problem.frozen_joints,
        lower=_given(problem, problem.limits.lower, robot.lower) - beyond,
        upper=_given(problem, problem.limits.upper, robot.upper) + beyond,
        position_tolerance=problem.position_tolerance,
        orientation_tolerance=problem.orientation_tolerance,
        orientation_length=problem.orientation_length,
    )


def _given(problem: IkProblem, own: Array, others: Array) -> Array:
    row = others.copy()
    row[problem.variables] = own
    return row


def _outside(problem: IkProblem, x: Array, turn: bool = True) -> list[str]:
    """The joints that are outside their limits at x (v,), whole turns apart if `turn`."""
    limits = problem.limits
    middle = 0.5 * (limits.sample_lower + limits.sample_upper)
    slides = np.array([problem.robot.joint_types[i] == 'prismatic' for i in problem.variables])
    if turn:
        x = np.where(slides, x, x - FULL_TURN * np.round((x - middle) / FULL_TURN))
    outside = (x < limits.lower - SLACK) | (x > limits.upper + SLACK)
    return [problem.robot.joint_names[i] for i in problem.variables[outside]]


def _beyond_limits(problem: IkProblem, q: Array) -> str:
    """Which joints are beyond their limits in solutions (k, n)."""
    outside = [_outside(problem, row[problem.variables]) for row in q]
    often = Counter(name for names in outside for name in names)
    if not often:
        return f'{counted(len(q), "solution")} beyond the limits'
    name, most = often.most_common(1)[0]
    if most == len(q):
        return f'{name} is beyond its limits in all {counted(len(q), "solution")}'
    each = ', '.join(f'{name} in {count}' for name, count in often.most_common(4))
    return f'a joint is beyond its limits in each of {counted(len(q), "solution")}: {each}'


def _misses(problem: IkProblem, target: Array, start: Array) -> tuple[float, float]:
    """The least errors [m, rad] for a target (4, 4) that a search finds."""
    own = problem.without_avoid()
    own.goals[0].set_target(target)
    result = make_solver().solve(own, start)
    return float(result.position_errors[0]), float(result.orientation_errors[0])


def _why_refused(problem: IkProblem, target: Array, start: Array) -> str:
    """Why the solutions for a target (4, 4) may not be used."""
    q = Continuation(problem).scattered(target, start)
    if not len(q):
        return 'all solutions are refused'
    return problem.avoidance.why_no_solution(q, len(q))
