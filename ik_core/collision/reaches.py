# SPDX-License-Identifier: Apache-2.0
"""How fast two pieces can approach each other: bounds that hold at all joint positions.

Between the bodies of two pieces lies a path of joints. One body of the path is its *cut*: joints
on one side of it move the first piece relative to the cut, those on the other side the second
piece. A joint that turns by a small angle moves its piece by at most that angle times the largest
distance of the piece from the joint's axis, over all positions of the joints in between.

That distance comes from a solid of revolution around each axis on the path, from the piece
outwards: it does not change when its own joint turns, and the next one contains it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.records import Record
from ..maths.rotations import Array, IntArray, transform_of
from ..robot.kinematics import KIND, MULTIPLIER, OFFSET, PARENT, PRISMATIC, VARIABLE
from ..robot.robot import Robot
from .records import CYLINDER

UNLIMITED = 1e6  # [m] stands for the range of a prismatic joint without limits


class Approach(NamedTuple):
    """How the joints move two pieces relative to the cut of their path.

    cut : the body of the cut, -1 for the root link
    reach (n,) : [m per rad, or 1 for prismatic joints] motion of their points per joint position
    turn (n,) : rotation of their joints per joint position [rad per rad]
    """

    cut: int
    reach: Array
    turn: Array


class Approaches(NamedTuple):
    """The approaches of all pairs of a record, equal ones once.

    path (P,) : row of `reach` and `turn` of each pair
    cut (P,) : row of `frames` of the body of its cut
    reach, turn (rows, n) : as in `Approach`
    """

    path: IntArray
    cut: IntArray
    reach: Array
    turn: Array


class Solid(NamedTuple):
    """A cylinder around the z axis: its ends and its radius [m]."""

    low: float
    high: float
    radius: float

    @classmethod
    def around(cls, points: Array, thickness: float) -> Solid:
        """Return the solid around points (m, 3) with a thickness [m]."""
        away = np.hypot(points[:, 0], points[:, 1]).max()
        low, high = points[:, 2].min(), points[:, 2].max()
        return cls(float(low - thickness), float(high + thickness), float(away + thickness))

    def moved(self, transform: Array) -> Solid:
        """Return a solid around the z axis that contains this one, moved by `transform` (4, 4)."""
        ends = np.array([[0.0, 0.0, self.low], [0.0, 0.0, self.high]])
        centres = ends @ transform[:3, :3].T + transform[:3, 3]
        rim = self.radius * np.sqrt(max(0.0, 1.0 - float(transform[2, 2]) ** 2))
        low, high = centres[:, 2].min() - rim, centres[:, 2].max() + rim
        away = np.hypot(centres[:, 0], centres[:, 1]).max() + self.radius
        return Solid(float(low), float(high), float(away))


def approaches_of(robot: Robot, model: Record, known: dict[Any, Approach]) -> Approaches:
    """Return the approaches of a record's pairs; `known` keeps those computed before."""
    pieces = [_piece_of(model, i) for i in range(len(model['kind']))]
    keys = [(body, points.tobytes(), thickness) for body, points, thickness in pieces]
    rows: dict[Any, int] = {}
    path, cut = [], []
    for i, j in model['pairs'][:, :2].tolist():
        key = keys[i], keys[j] if pieces[j][0] >= 0 else None
        if key not in known:
            known[key] = approach_of(robot, pieces[i], pieces[j] if key[1] else None)
        path.append(rows.setdefault(key, len(rows)))
        cut.append(known[key].cut + 1)
    reach = np.array([known[key].reach for key in rows]).reshape(len(rows), robot.n)
    turn = np.array([known[key].turn for key in rows]).reshape(len(rows), robot.n)
    return Approaches(np.array(path, np.int64), np.array(cut, np.int64), reach, turn)


def _piece_of(model: Record, i: int) -> tuple[int, Array, float]:
    """Return the body of a piece, -1 for the root link, points in its frame, and a thickness.

    For a cylinder these are the centres of its ends, and its radius.
    """
    first, last = model['span'][i]
    points = model['corners'][first:last].transpose(0, 2, 1).reshape(-1, 3)
    if model['kind'][i] == CYLINDER:
        points = points[:2]
    return int(model['body'][i]) - 1, points, float(model['radius'][i])


def approach_of(
    robot: Robot, first: tuple[int, Array, float], second: tuple[int, Array, float] | None
) -> Approach:
    """Return how the joints move two pieces, each a body, points (m, 3) in its frame, thickness.

    second : None for a piece that never moves; the cut is the root link then
    """
    up = _ancestors(robot, first[0])
    down = [] if second is None else _ancestors(robot, second[0])
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    joints = [*up, *reversed(down)]  # in the order of the path
    upwards = [True] * len(up) + [False] * len(down)
    forth = _reaches(robot, joints, upwards, first)
    cuts = range(len(joints), len(joints) + 1)
    back = [0.0] * len(joints)
    if second is not None:
        turned = [not is_up for is_up in reversed(upwards)]
        back = _reaches(robot, joints[::-1], turned, second)[::-1]
        cuts = range(len(joints) + 1)
    fastest = [_fastest(robot, k) for k in joints]
    cost = [
        sum(v * r for v, r in zip(fastest, [*forth[:cut], *back[cut:]], strict=True))
        for cut in cuts
    ]
    cut = cuts[int(np.argmin(cost))]
    reach, turn = np.zeros(robot.n), np.zeros(robot.n)
    for k, distance in zip(joints, [*forth[:cut], *back[cut:]], strict=True):
        multiplier, variable = abs(robot.geometry[k, MULTIPLIER]), robot.tree[k, VARIABLE]
        reach[variable] += multiplier * distance
        turn[variable] += multiplier * (robot.tree[k, KIND] != PRISMATIC)
    return Approach(_body_of_cut(robot, joints, upwards, cut), reach, turn)


def _ancestors(robot: Robot, body: int) -> list[int]:
    """Return a body and those that carry it, up to the root link, without that."""
    found = []
    while body >= 0:
        found.append(body)
        body = int(robot.tree[body, PARENT])
    return found


def _body_of_cut(robot: Robot, joints: list[int], upwards: list[bool], cut: int) -> int:
    """Return the body between the joints before and after the cut of a path."""
    if cut < len(joints) and upwards[cut]:
        return joints[cut]
    if cut > 0 and not upwards[cut - 1]:
        return joints[cut - 1]
    known = joints[cut - 1] if cut > 0 else joints[0]  # the common ancestor is its parent
    return int(robot.tree[known, PARENT])


def _reaches(
    robot: Robot, joints: list[int], upwards: list[bool], piece: tuple[int, Array, float]
) -> list[float]:
    """Return the distance of a piece's points from the axis of each joint; 1 where it slides."""
    solid, found = Solid.around(piece[1], piece[2]), []
    for k, is_up in zip(joints, upwards, strict=True):
        own, slides = transform_of(robot.geometry[k, :12]), robot.tree[k, KIND] == PRISMATIC
        if not is_up:
            solid = solid.moved(np.asarray(np.linalg.inv(own), float))
        found.append(1.0 if slides else solid.radius)
        if slides:
            low, high = _slides(robot, k)
            low, high = (low, high) if is_up else (-high, -low)
            solid = solid._replace(low=solid.low + low, high=solid.high + high)
        if is_up:
            solid = solid.moved(own)
    return found


def _slides(robot: Robot, k: int) -> tuple[float, float]:
    """Return the range [m] of the joint of body k, which slides."""
    variable, offset = robot.tree[k, VARIABLE], float(robot.geometry[k, OFFSET])
    multiplier = float(robot.geometry[k, MULTIPLIER])
    ends = (
        [multiplier * robot.lower[variable], multiplier * robot.upper[variable]]
        if multiplier
        else [0.0]
    )
    low, high = np.clip([min(ends), max(ends)], -UNLIMITED, UNLIMITED)
    return offset + float(low), offset + float(high)


def _fastest(robot: Robot, k: int) -> float:
    """Return the velocity limit of the joint of body k, 1 where there is none."""
    limit = float(robot.velocity[robot.tree[k, VARIABLE]])
    return abs(float(robot.geometry[k, MULTIPLIER])) * (limit if limit < np.inf else 1.0)
