"""Linkages: n rods in a row, joined by hinges or by joints that turn more freely ([Dorta2014]).

At q = 0 the rods lie along x. The joint before each rod is one of

- 'hinge': turns about z, so that the linkage moves in a plane;
- 'two_angle': R_z R_y (section 3.2), turns about z and then about the turned y;
- 'ball': R_z R_y R_x, turns about any axis; not singular where the rods are in line;
- 'screw': turns about z, and moves along z by `pitch` in a turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..options import exact_number, whole_number
from .joints import Joint
from .robot import Robot

ORDERS = {'hinge': 'Z', 'two_angle': 'ZY', 'ball': 'ZYX', 'screw': 'Z'}
"""The axes that each kind of joint turns about, each turned by those before."""

MOST_RODS = 1000
SCREW_TURNS = 10
"""Limit of a screw to each side, by default: a search goes through all turns."""


def linkage(
    rods: int,
    joint: str = 'hinge',
    *,
    lengths: float | Sequence[float] = 0.4,
    limits: tuple[float, float] | None = None,
    velocity: float = math.inf,
    pitch: float = 0.1,
) -> Robot:
    """A linkage of rods: from the link `base`, over `rod_1`, `rod_2`, ..., to `tip`.

    rods : number of rods
    joint : kind of the joint before every rod, 'hinge', 'two_angle', 'ball' or 'screw'; named
        `joint_1`, ...
    lengths [m] : one length for all rods, or one each
    limits [rad] : lower and upper limit of every angle; None for no limits, but for screws, which
        have ten turns to each side
    velocity [rad/s] : speed limit of every angle
    pitch [m] : of screws, in a turn

    Raises InvalidOption.
    """
    if joint not in ORDERS:
        raise InvalidOption(f'joint = {joint!r}: one of {", ".join(ORDERS)}')
    sizes = _sizes(_rods(rods), lengths)
    if joint == 'screw' and limits is None:
        limits = (-SCREW_TURNS * math.tau, SCREW_TURNS * math.tau)
    names = ['base', *(f'rod_{i + 1}' for i in range(len(sizes)))]
    angles = {**_angles(limits, velocity), **_kind(joint, limits, pitch)}
    joints = [
        Joint(f'joint_{i + 1}', parent=names[i], child=names[i + 1], origin=_along_x(at), **angles)
        for i, at in enumerate([0.0, *sizes[:-1]])
    ]
    joints.append(Joint('end', 'fixed', names[-1], 'tip', _along_x(sizes[-1])))
    return Robot.from_joints(f'linkage_{rods}_{joint}', [*names, 'tip'], joints)


def _rods(rods: int) -> int:
    count = whole_number(rods, 'rods')
    if count > MOST_RODS:
        raise InvalidOption(f'rods = {rods}: at most {MOST_RODS}')
    return count


def _kind(joint: str, limits: tuple[float, float] | None, pitch: float) -> dict[str, Any]:
    """The `Joint` of a kind."""
    order = ORDERS[joint]
    if joint == 'screw':
        return {'kind': 'screw', 'axis': np.array([0.0, 0.0, 1.0]), 'pitch': pitch}
    if order == 'Z':
        kind = 'continuous' if limits is None else 'revolute'
        return {'kind': kind, 'axis': np.array([0.0, 0.0, 1.0])}
    return {'kind': 'ball' if len(order) == 3 else 'universal', 'rotation_order': order}


def _angles(limits: tuple[float, float] | None, velocity: float) -> dict[str, Any]:
    """The limits of every angle, checked."""
    lower, upper = (-math.inf, math.inf) if limits is None else map(float, limits)
    if limits is not None and not -math.inf < lower <= upper < math.inf:
        raise InvalidOption(f'limits = {lower:g} {upper:g} [rad]: lower <= upper, both finite')
    if not velocity > 0.0:
        raise InvalidOption(f'velocity = {velocity!r} [rad/s]: must be positive')
    return {'lower': lower, 'upper': upper, 'velocity': float(velocity)}


def _sizes(rods: int, lengths: float | Sequence[float]) -> list[float]:
    """The length of each rod, checked."""
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
