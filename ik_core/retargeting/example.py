# SPDX-License-Identifier: Apache-2.0
"""Examples for another robot: paths of links, and postures of joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidOption
from ..maths.argument_types import TransformLike
from ..maths.rotations import Array, quaternion_from_matrix
from ..maths.transforms import checked_transform
from ..options import exact_number
from ..robot.motion import Motion
from ..robot.robot import Robot
from ..tasks.reference_motion import total_link_length

Scale = float | Literal['length']


@dataclass(frozen=True, eq=False)
class Example:
    """The example motion, frame by frame, for the robot that imitates it: E and Theta of [TakKo].

    `links` of that robot have the `paths` (frames, links, 3) [m] and the `orientations` (frames,
    links, 4), quaternions (x, y, z, w), in its root link's frame. `postures` (frames, n) [rad or
    m] are examples for the joints that `mapped` (n,) marks: those with a counterpart. `period`
    [s].
    """

    links: tuple[str, ...]
    paths: Array
    orientations: Array
    postures: Array
    mapped: NDArray[np.bool_]
    period: float

    def __len__(self) -> int:
        return len(self.paths)


def example_of(
    motion: Motion,
    source: Robot,
    robot: Robot,
    links: Mapping[str, str],
    *,
    joints: Mapping[str, str] | None = None,
    scale: Scale = 1.0,
    transform: TransformLike | None = None,
    base_link: str | None = None,
) -> Example:
    """Make an example for `robot` from a motion of `source`; arguments are as in `retarget`."""
    placed = np.eye(4) if transform is None else checked_transform(transform)
    factor = _factor(scale, source, robot, links)
    placed = placed @ np.diag([factor, factor, factor, 1.0])
    positions = motion.positions_of(source)
    paths, axes = link_poses(source, positions, list(links), base_link)
    postures, mapped = _postures(positions, source, robot, _joint_map(source, robot, joints))
    if source.root_joints and mapped[list(robot.root_joints)].any():
        _check_upright(placed, factor, base_link)
        _place_root(postures, positions, source, robot, placed)
    return Example(
        links=tuple(links.values()),
        paths=paths @ placed[:3, :3].T + placed[:3, 3],
        orientations=_quaternions(placed[:3, :3] / factor @ axes),
        postures=postures,
        mapped=mapped,
        period=motion.period,
    )


def link_paths(
    robot: Robot,
    positions: Array | Sequence[Array],
    links: Sequence[str],
    base_link: str | None = None,
) -> Array:
    """The positions (frames, links, 3) [m] of links for joint positions (frames, n), in the frame
    of `base_link` (default: the root link's)."""
    return link_poses(robot, positions, links, base_link)[0]


def link_poses(
    robot: Robot,
    positions: Array | Sequence[Array],
    links: Sequence[str],
    base_link: str | None = None,
) -> tuple[Array, Array]:
    """The positions (frames, links, 3) [m] of links, see `link_paths`, and their rotation matrices
    (frames, links, 3, 3)."""
    poses = np.empty((len(positions), len(links), 4, 4))
    for pose, q in zip(poses, positions, strict=True):
        frames = robot.frames(q)
        pose[:] = [robot.link_transform(frames, link) for link in links]
        if base_link is not None:
            pose[:] = np.linalg.solve(robot.link_transform(frames, base_link), pose)
    return poses[..., :3, 3], poses[..., :3, :3]


def _quaternions(rotations: Array) -> Array:
    """The quaternions (..., 4) of rotation matrices (..., 3, 3)."""
    flat = [quaternion_from_matrix(rotation) for rotation in rotations.reshape(-1, 3, 3)]
    return np.reshape(flat, (*rotations.shape[:-2], 4))


def _factor(scale: Scale, source: Robot, robot: Robot, links: Mapping[str, str]) -> float:
    """The factor for lengths of paths: a number, or the ratio of the lengths of the chains to the
    links. Raises InvalidOption.
    """
    if scale == 'length':
        own = sum(total_link_length(robot, link) for link in links.values())
        return own / sum(total_link_length(source, link) for link in links)
    factor = exact_number(scale, float)
    if factor is None or not 0.0 < factor < np.inf:
        raise InvalidOption(f"scale {scale!r}: a positive number, or 'length'")
    return float(factor)


def _joint_map(source: Robot, robot: Robot, joints: Mapping[str, str] | None) -> dict[int, int]:
    """The index of the source's joint by that of the joint imitating it. Raises InvalidOption."""
    if joints is None:
        joints = {name: name for name in robot.joint_names if name in source.joint_names}
    indices = {robot.joint_index(own): source.joint_index(name) for name, own in joints.items()}
    if len(indices) < len(joints):
        raise InvalidOption('joints: two joints of the source are given the same counterpart')
    for own, other in indices.items():
        if robot.joint_units[own] != source.joint_units[other]:
            raise InvalidOption(
                f'joints: {source.joint_names[other]!r} and {robot.joint_names[own]!r} are of '
                'different kinds, revolute and prismatic: neither can imitate the other'
            )
    return indices


def _postures(
    positions: Array, source: Robot, robot: Robot, joints: Mapping[int, int]
) -> tuple[Array, NDArray[np.bool_]]:
    """The postures (frames, n) and the mask (n,) of joints that imitate one; the others are in the
    middle of their limits."""
    postures = np.tile(robot.middle_configuration, (len(positions), 1))
    mapped = np.zeros(robot.n, bool)
    for own, other in joints.items():
        postures[:, own] = positions[:, other]
        mapped[own] = True
    return postures, mapped


def _check_upright(placed: Array, factor: float, base_link: str | None) -> None:
    if base_link is not None or not np.allclose(placed[:3, :3], factor * np.eye(3)):
        raise InvalidOption(
            'joints: leave out those of a floating root if the paths are rotated, or relative to '
            'another link'
        )


def _place_root(
    postures: Array, positions: Array, source: Robot, robot: Robot, placed: Array
) -> None:
    """Move the floating root in `postures` like the source's, scaled and shifted like paths."""
    (path,) = link_paths(source, positions, (_carried_link(source),)).swapaxes(0, 1)
    slides = [i for i in robot.root_joints if robot.joint_units[i] == 'm']
    at_zero = robot.middle_configuration
    at_zero[list(robot.root_joints)] = 0.0
    link = _carried_link(robot)
    origin = robot.forward_kinematics(at_zero, link)[:3, 3]
    directions = robot.jacobian(at_zero, link)[:3, slides]
    postures[:, slides] = (path @ placed[:3, :3].T + placed[:3, 3] - origin) @ directions


def _carried_link(robot: Robot) -> str:
    """The link that the joints of a floating root carry."""
    (body,) = np.flatnonzero(robot.tree[:, 2] == robot.root_joints[-1])
    return next(link for link, place in robot.places.items() if place.body == body)
