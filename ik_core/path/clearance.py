# SPDX-License-Identifier: Apache-2.0
"""Whether a motion of the joints is free of collisions everywhere, shown by distances.

While joint j moves by up to d_j, no point of the robot moves by more than the sum of d_j l_j,
where l_j is the largest distance of anything that the joint moves from its axis; nor does the
distance of two bodies change by more. So an interval is free if all distances in its middle are
above their margins by that; else it is halved.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PPoly

from ..collision.collisions import Collisions
from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.kinematics import KIND, MULTIPLIER, PARENT, PRISMATIC, VARIABLE

SMALLEST = 1e-5  # [m] a motion by less is not halved: it counts as a hit


def first_hit(problem: IkProblem, spline: PPoly, start: Array) -> float | None:
    """The first place found where a cubic spline of the variables is not free; None if it is free
    everywhere.

    start (n,) : values of the joints that do not move

    The problem's `valid` and reach cones are checked in the middles of the intervals only.
    """
    avoidance, collisions = problem.avoidance, problem.avoid
    levers = (
        np.zeros(len(problem.variables)) if collisions is None else _levers(problem, collisions)
    )
    reach = 0.0 if collisions is None else collisions.reach
    first = spline.derivative(1)
    low, high = spline.x[:-1], spline.x[1:]
    while len(low):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        # the derivative is a parabola on each interval: its values and its bend bound it
        ends = np.array([first(low), first(middle), first(np.nextafter(high, low))])
        bend = np.abs(ends[0] - 2.0 * ends[1] + ends[2])
        moved = half * ((np.abs(ends).max(axis=0) + 0.25 * bend) @ levers)
        q = np.tile(start, (len(middle), 1))
        q[:, problem.variables] = spline(middle)
        free = avoidance.which_may_answer(q)
        if not free.all():
            return float(middle[int(np.argmin(free))])
        if collisions is None:
            return None
        halved = np.zeros(len(middle), bool)
        for i, row in enumerate(q):
            near = collisions.distances(row, reach + float(moved[i]), avoidance.groups)
            halved[i] = any(pair.distance - pair.margin <= moved[i] for pair in near)
        small = halved & (moved < SMALLEST)
        if small.any():
            return float(middle[int(np.argmax(small))])
        low, middle, high = low[halved], middle[halved], high[halved]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return None


def _levers(problem: IkProblem, collisions: Collisions) -> Array:
    """The largest motion of a point of the robot per motion of each variable (v,) [m/rad, m/m]."""
    robot, model = problem.robot, collisions.model
    extent = np.zeros(len(robot.tree))  # of a body and those behind it, from its joint's origin
    for body, sphere in zip(model['body'].tolist(), model['sphere'], strict=True):
        if body > 0:
            away = float(np.linalg.norm(sphere[:3])) + float(sphere[3])
            extent[body - 1] = max(extent[body - 1], away)
    column = {int(joint): j for j, joint in enumerate(problem.variables)}
    levers = np.zeros(len(problem.variables))
    for k in range(len(robot.tree) - 1, -1, -1):  # children first
        joint, parent = int(robot.tree[k, VARIABLE]), int(robot.tree[k, PARENT])
        scale, slides = abs(float(robot.geometry[k, MULTIPLIER])), robot.tree[k, KIND] == PRISMATIC
        if joint in column:
            levers[column[joint]] += scale * (1.0 if slides else extent[k])
        if parent >= 0:
            slide = 0.0
            if slides:
                slide = scale * float(max(abs(robot.lower[joint]), abs(robot.upper[joint])))
            away = float(np.linalg.norm(robot.geometry[k, 9:12])) + slide + extent[k]
            extent[parent] = max(extent[parent], away)
    return levers
