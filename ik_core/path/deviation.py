# SPDX-License-Identifier: Apache-2.0
"""The distance of a tip from its path, between samples as well: shown by a second-order bound.

A function whose second derivative is at most B is, between two points h apart, at most B h^2 / 8
from the chord of its values there. The difference of the tip's position and of the straight line
is one, since a line has no second derivative; and so are the nine differences of the rotation
matrices of the tip and of slerp, whose norm is 2 sqrt(2) sin(angle / 2). Bounds of the tip's
second derivative follow from those of the joints' and from the arm's lengths. So an interval is
halved until the distance at its ends and B h^2 / 8 together are within what is allowed, or until
a point is found that is not.

If the goal leaves freedom or is a region, the distances at the ends are the goal's own errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PPoly

from ..maths.rotations import Array, IntArray, frames_of
from ..problem import IkProblem
from ..robot.kinematics import KIND, MULTIPLIER, OFFSET, PRISMATIC, VARIABLE
from .waypoints import Waypoints

HALVINGS = 24  # of an interval, before it counts as not within
NEARLY = 0.999  # fraction of what is allowed that a point may be at without being refused


@dataclass(frozen=True, eq=False)
class Deviation:
    """The tip's distance from its path.

    position, orientation : upper bounds over the whole path [m, rad]
    outside (k,) : indices of the spline's intervals where more than is allowed was found, or could
        not be excluded
    """

    position: float
    orientation: float
    outside: IntArray


class Arm:
    """A problem's chain, for bounds of the second derivative of its tip."""

    def __init__(self, problem: IkProblem) -> None:
        self.problem, robot, goal = problem, problem.robot, problem.goals[0]
        self.is_pose = goal.fixed_freedoms == 6 and problem.packed.is_plain
        tip = robot.placement(goal.link).transform @ goal.tool
        lever = float(np.linalg.norm(tip[:3, 3]))
        outward, back = robot.body_path(goal.link), list[int]()
        if goal.relative_to is not None:
            up, outward = robot.paths_between(goal.link, goal.relative_to)
            back = up[::-1]
        column = {int(joint): j for j, joint in enumerate(problem.variables)}
        rows: list[tuple[int, float, float, float]] = []  # variable, multiplier, lever, spin
        # from the tip to the root, and outward again to the link that the goal is relative to
        for k in [*reversed(outward), *back]:
            joint, slides = int(robot.tree[k, VARIABLE]), robot.tree[k, KIND] == PRISMATIC
            scale, offset = (abs(float(robot.geometry[k, i])) for i in (MULTIPLIER, OFFSET))
            link = float(np.linalg.norm(robot.geometry[k, 9:12]))
            if slides:
                reach = max(abs(robot.lower[joint]), abs(robot.upper[joint]))
                link += scale * float(reach) + offset
            lever += link if k in back or slides else 0.0
            if joint in column:
                rows.append((column[joint], scale, 1.0 if slides else lever, float(not slides)))
            lever += 0.0 if k in back or slides else link
        rows.reverse()
        table = np.reshape(rows, (-1, 4))
        self._variable = table[:, 0].astype(int)
        self._scale, self._lever, self._spin = table[:, 1], table[:, 2], table[:, 3]

    def transforms(self, q: Array) -> Array:
        """Poses (M, 4, 4) of the goal's tip at q (M, n)."""
        goal = self.problem.goals[0]
        pose = self.problem.robot.forward_kinematics(q, goal.link, goal.relative_to)
        return np.asarray(pose @ goal.tool)

    def second_derivatives(self, rate: Array, curve: Array) -> tuple[Array, Array, Array]:
        """Bounds for joints with first and second derivatives up to rate, curve (M, v).

        Returns those (M,) of the tip's second derivative [m], of its angular acceleration [rad]
        and of its angular velocity [rad], all per unit of the parameter.
        """
        rate, curve = rate[:, self._variable] * self._scale, curve[:, self._variable] * self._scale
        spin = rate * self._spin
        before = np.cumsum(spin, axis=1) - spin
        tip = (curve * self._lever + rate * self._lever * (spin + 2.0 * before)).sum(axis=1)
        turning = (curve * self._spin + spin * before).sum(axis=1)
        return tip, turning, spin.sum(axis=1)


def deviation(
    arm: Arm, spline: PPoly, path: Waypoints, start: Array, within: tuple[float, float]
) -> Deviation:
    """Bound the tip's distance from its path on all intervals of a cubic spline of the variables.

    start (n,) : values of the joints that do not move
    within : what is allowed [m, rad]; more precise bounds than that are not looked for
    """
    knots = spline.x
    index = np.arange(len(knots) - 1)
    low, high = knots[:-1], knots[1:]
    first, second = spline.derivative(1), spline.derivative(2)
    third = np.abs(6.0 * spline.c[0])  # (pieces, v), constant on each
    known = _errors(arm, spline, path, start, knots)
    at_low, at_high = known[:-1], known[1:]
    outside = np.zeros(len(index), bool)
    worst = np.zeros(2)
    allowed = np.array(within)
    for _ in range(HALVINGS):
        bound = _bounds(arm, first, second, third[index], path, low, high)
        most = np.maximum(at_low, at_high) + bound
        good = (most <= allowed).all(axis=1)
        worst = np.maximum(worst, most[good].max(axis=0, initial=0.0))
        bad = (np.maximum(at_low, at_high) > NEARLY * allowed).any(axis=1) & ~good
        outside[index[bad]] = True
        open_ = ~good & ~outside[index]
        if not open_.any():
            break
        index, low, high = index[open_], low[open_], high[open_]
        middle = 0.5 * (low + high)
        here = _errors(arm, spline, path, start, middle)
        at_low = np.concatenate([at_low[open_], here])
        at_high = np.concatenate([here, at_high[open_]])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        index = np.concatenate([index, index])
    else:
        outside[index] = True
    return Deviation(float(worst[0]), float(worst[1]), outside.nonzero()[0])


def _errors(arm: Arm, spline: PPoly, path: Waypoints, start: Array, places: Array) -> Array:
    """The distances (M, 2) [m, rad] of the tip from its path at values (M,) of the parameter."""
    q = np.tile(start, (len(places), 1))
    q[:, arm.problem.variables] = spline(places)
    targets = path.at(places)
    if not arm.is_pose:
        return _goal_errors(arm.problem, q, targets)
    tips = arm.transforms(q)
    shift = np.linalg.norm(tips[:, :3, 3] - targets[:, :3, 3], axis=1)
    chord = np.linalg.norm(tips[:, :3, :3] - targets[:, :3, :3], axis=(1, 2))
    return np.column_stack([shift, _angle(chord)])


def _goal_errors(problem: IkProblem, q: Array, targets: Array) -> Array:
    """The errors (M, 2) [m, rad] of the goal at q (M, n) for targets (M, 4, 4)."""
    packed, errors = problem.packed, np.empty((len(q), 2))
    frames = frames_of(targets)
    for i, row in enumerate(q):
        packed.load_frozen(row)
        packed.set_targets([frames[i]])
        packed.update(row[problem.variables])
        errors[i] = packed.errors[0]
    return errors


def _angle(chord: Array) -> Array:
    """Angles [rad] of rotations whose matrices have these distances (Frobenius norm)."""
    return 2.0 * np.arcsin(np.minimum(chord / math.sqrt(8.0), 1.0))


def _bounds(
    arm: Arm, first: PPoly, second: PPoly, third: Array, path: Waypoints, low: Array, high: Array
) -> Array:
    """Return bounds (M, 2) [m, rad] on the tip's distance from its path inside intervals, beyond
    that at their ends."""
    step = (high - low)[:, np.newaxis]
    inside = 0.5 * (low + high)
    # derivatives at the ends, as seen from inside: the pieces next to the interval have others
    middle_rate, middle_curve = first(inside), second(inside)
    curve = np.abs(middle_curve) + 0.5 * step * third
    rate = np.abs(middle_rate) + 0.5 * step * np.abs(middle_curve) + 0.125 * step**2 * third
    tip, turning, spin = arm.second_derivatives(rate, curve)
    _, slerp = path.rates(inside)
    square = (high - low) ** 2 / 8.0
    matrix = math.sqrt(2.0) * (turning + spin**2 + slerp**2)
    return np.column_stack([square * tip, _angle(square * matrix)])


def overshoot(spline: PPoly, lower: Array, upper: Array) -> IntArray:
    """The intervals of a cubic spline in which a variable leaves its limits (v,)."""
    step = np.diff(spline.x)[:, np.newaxis]
    a, b, c, d = spline.c
    with np.errstate(divide='ignore', invalid='ignore'):
        root = np.sqrt(np.maximum(b * b - 3.0 * a * c, 0.0))
        extremes = [(-b + root) / (3.0 * a), (-b - root) / (3.0 * a), -c / (2.0 * b)]
    beyond = np.zeros(d.shape, bool)
    for place in (0.0 * d, step + 0.0 * d, *extremes):
        t = np.clip(np.nan_to_num(place), 0.0, step)
        value = ((a * t + b) * t + c) * t + d
        beyond |= (value < lower) | (value > upper)
    return np.flatnonzero(beyond.any(axis=1))
