# SPDX-License-Identifier: Apache-2.0
"""Linkages: n rods in series, joined by hinges or by joints that turn more freely ([Dorta2014]).

At q = 0 the rods lie along x. The joint before each rod is one of

- 'hinge': turns about z, so that the linkage moves in a plane;
- 'two_angle': R_z R_y (section 3.2), turns about z and then about the rotated y;
- 'ball': R_z R_y R_x, turns about any axis; not singular while the rods are in line;
- 'screw': turns about z, and moves along z by `pitch` per turn.

A linkage with branches forks after half of its rods, and has a tip at the end of each branch.

Rods of several pieces are flexible: joints between the pieces let them bend, in the plane of
hinges or to all sides, and `spring_weights` makes springs of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array, matrix_from_rpy
from ..options import exact_number, whole_number
from .joints import Joint
from .robot import Robot

JointKind = Literal['hinge', 'two_angle', 'ball', 'screw']
# the axes of each kind of joint, each carried by the ones before
ORDERS: dict[JointKind, str] = {'hinge': 'Z', 'two_angle': 'ZY', 'ball': 'ZYX', 'screw': 'Z'}

MOST_RODS = 1000
SCREW_TURNS = 10  # default limit of a screw in either direction: searches try every turn
MOST_BRANCHES, MOST_PIECES = 100, 100
BEND = 'bend_'  # the names of the joints between the pieces of a rod begin with this
FAN = math.radians(60.0)  # angle between the outermost branches at q = 0


def linkage(
    rods: int,
    joint: JointKind = 'hinge',
    *,
    lengths: float | Sequence[float] = 0.4,
    limits: tuple[float, float] | None = None,
    velocity: float = math.inf,
    pitch: float = 0.1,
    branches: int = 1,
    pieces: int = 1,
) -> Robot:
    """A linkage of rods: links `base`, `rod_1`, `rod_2`, ..., `tip`.

    rods : number of rods
    joint : kind of the joint before every rod, 'hinge', 'two_angle', 'ball' or 'screw'; named
        `joint_1`, ...
    lengths [m] : one length for all rods, or one each
    limits [rad] : lower and upper limit of every angle; None: no limits, except that screws have
        ten turns in either direction
    velocity [rad/s] : speed limit of every angle
    pitch [m] : advance of screws per turn
    branches : if more than 1, the linkage forks after the first half of its rods (rounded up),
        and each branch has the other half; at q = 0 they fan out about z. The names in branches
        end in `_1`, `_2`, ..., as `tip_1`
    pieces : of every rod, all of the same length; between them are joints `bend_1_1`, `bend_1_2`,
        ..., without limits, and the links `rod_1_2`, `rod_1_3`, ...

    Raises InvalidOption.
    """
    if joint not in ORDERS:
        raise InvalidOption(f'joint = {joint!r}: one of {", ".join(ORDERS)}')
    sizes = _sizes(_rods(rods), lengths)
    if joint == 'screw' and limits is None:
        limits = (-SCREW_TURNS * math.tau, SCREW_TURNS * math.tau)
    angles = {**_angles(limits, velocity), **_kind(joint, limits, pitch)}
    count = _branches(branches, len(sizes))
    parts = whole_number(pieces, 'pieces')
    if parts > MOST_PIECES:
        raise InvalidOption(f'pieces = {pieces}: at most {MOST_PIECES}')
    trunk = 0 if count == 1 else (len(sizes) + 1) // 2
    joints = _chain('base', np.eye(4), range(trunk), '', sizes, angles, parts)
    fork, at = 'base', np.eye(4)
    if trunk:
        fork, at = joints[-1].child, _along_x(sizes[trunk - 1] / parts)
    for k, turn in enumerate(np.linspace(-0.5 * FAN, 0.5 * FAN, count) if trunk else [0.0]):
        suffix, origin = f'_{k + 1}' if trunk else '', at @ _about_z(turn)
        branch = _chain(fork, origin, range(trunk, len(sizes)), suffix, sizes, angles, parts)
        last, tip = branch[-1].child, _along_x(sizes[-1] / parts)
        joints += [*branch, Joint(f'end{suffix}', 'fixed', last, f'tip{suffix}', tip)]
    name = f'linkage_{rods}_{joint}' + (f'_{count}_branches' if trunk else '')
    name += f'_{parts}_pieces' if parts > 1 else ''
    return Robot.from_joints(name, ['base', *(each.child for each in joints)], joints)


def spring_weights(robot: Robot, stiffness: float) -> Array:
    """Weights (n,) of a `PostureTask` that makes springs of the joints of a linkage.

    stiffness : of a rod, relative to that of a joint, which is 1; however many pieces it has, a
        rod bends by the same angle

    Raises InvalidOption.
    """
    own = exact_number(stiffness, float)
    if own is None or not 0.0 < own < math.inf:
        raise InvalidOption(f'stiffness = {stiffness!r}: a positive number is needed')
    rods = [group.name.rpartition('_')[0] for group in robot.joint_groups]
    weights = np.ones(robot.n)
    for group, rod in zip(robot.joint_groups, rods, strict=True):
        if rod.startswith(BEND):
            weights[list(group.indices)] = own * rods.count(rod)
    return weights


def _chain(
    parent: str,
    origin: Array,
    rods: range,
    suffix: str,
    sizes: Sequence[float],
    angles: dict[str, Any],
    pieces: int,
) -> list[Joint]:
    """Joints of rods in series, the first at `origin` (4, 4) in the parent link's frame."""
    joints: list[Joint] = []
    bends = _kind('hinge' if angles.get('rotation_order', 'Z') == 'Z' else 'two_angle', None, 0.0)
    for i in rods:
        at = origin if i == rods.start else _along_x(sizes[i - 1] / pieces)
        name, child = f'joint_{i + 1}{suffix}', f'rod_{i + 1}{suffix}'
        joints.append(Joint(name, parent=parent, child=child, origin=at, **angles))
        parent = child
        for k in range(1, pieces):
            name, child = f'{BEND}{i + 1}{suffix}_{k}', f'rod_{i + 1}{suffix}_{k + 1}'
            at = _along_x(sizes[i] / pieces)
            joints.append(Joint(name, parent=parent, child=child, origin=at, **bends))
            parent = child
    return joints


def _branches(branches: int, rods: int) -> int:
    count = whole_number(branches, 'branches')
    if count > MOST_BRANCHES:
        raise InvalidOption(f'branches = {branches}: at most {MOST_BRANCHES}')
    if count > 1 and rods < 2:
        raise InvalidOption(f'branches = {branches}: a linkage that forks needs two rods or more')
    return count


def _rods(rods: int) -> int:
    count = whole_number(rods, 'rods')
    if count > MOST_RODS:
        raise InvalidOption(f'rods = {rods}: at most {MOST_RODS}')
    return count


def _kind(joint: JointKind, limits: tuple[float, float] | None, pitch: float) -> dict[str, Any]:
    """The arguments of `Joint` that depend on the kind of joint."""
    order = ORDERS[joint]
    if joint == 'screw':
        return {'kind': 'screw', 'axis': np.array([0.0, 0.0, 1.0]), 'pitch': pitch}
    if order == 'Z':
        kind = 'continuous' if limits is None else 'revolute'
        return {'kind': kind, 'axis': np.array([0.0, 0.0, 1.0])}
    return {'kind': 'ball' if len(order) == 3 else 'universal', 'rotation_order': order}


def _angles(limits: tuple[float, float] | None, velocity: float) -> dict[str, Any]:
    """The limits of every angle as arguments of `Joint`. Raises InvalidOption."""
    lower, upper = (-math.inf, math.inf) if limits is None else map(float, limits)
    if limits is not None and not -math.inf < lower <= upper < math.inf:
        raise InvalidOption(f'limits = {lower:g} {upper:g} [rad]: lower <= upper, both finite')
    if not velocity > 0.0:
        raise InvalidOption(f'velocity = {velocity!r} [rad/s]: must be positive')
    return {'lower': lower, 'upper': upper, 'velocity': float(velocity)}


def _sizes(rods: int, lengths: float | Sequence[float]) -> list[float]:
    """The length [m] of each rod. Raises InvalidOption."""
    given = list(lengths) if isinstance(lengths, Sequence) else [lengths]
    sizes = [exact_number(length, float) for length in given]
    for size, length in zip(sizes, given, strict=True):
        if size is None or not 0.0 < size < math.inf:
            raise InvalidOption(f'length {length!r} [m]: a positive number is needed')
    if len(sizes) not in (1, rods):
        raise InvalidOption(f'{len(sizes)} lengths for {rods} rods: one for all, or one for each')
    return sizes * rods if len(sizes) == 1 else sizes


def _along_x(distance: float) -> Array:
    transform = np.eye(4)
    transform[0, 3] = distance
    return transform


def _about_z(angle: float) -> Array:
    transform = np.eye(4)
    transform[:3, :3] = matrix_from_rpy((0.0, 0.0, angle))
    return transform
