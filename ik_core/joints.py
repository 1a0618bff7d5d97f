"""Joints as a robot description has them, and their folding into the arrays of a Robot.

Every joint is 1-dof inside: fixed joints are folded into the frame of the next one, and a
floating or planar joint becomes a stack of prismatic and revolute ones. The frames of the
moving bodies are turned so that each joint's axis is z, which is what `kinematics` computes
with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .exceptions import UrdfError
from .kinematics import PRISMATIC, REVOLUTE
from .rotations import Array, frame_of, matrix_onto_axis

MOVABLE = ('revolute', 'continuous', 'prismatic')
MULTI_DOF = ('floating', 'planar')


@dataclass(frozen=True)
class Mimic:
    """The joint stands at multiplier * (position of `joint`) + offset [rad or m]."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint as a URDF has it.

    `kind`: revolute, continuous, prismatic, fixed, floating or planar. `origin` (4, 4) is the
    joint's frame in the parent link's frame, `axis` (3,) a unit vector in the joint's frame
    (for a planar joint the normal of the plane). Limits in rad or m, rad/s or m/s, infinite
    where there is none.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    mimic: Mimic | None = None


@dataclass(frozen=True)
class JointGroup:
    """What was one joint in the source: its name, its kind, its indices into q."""

    name: str
    kind: str
    indices: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LinkPlace:
    """Where a link is: its body (-1: the root's), its transform (4, 4) in the body's frame,
    and by how many fixed joints it is away from the body's first link."""

    body: int
    transform: Array
    depth: int


def split_joints(
    joints: Sequence[Joint], free_joints: Sequence[str]
) -> tuple[list[Joint], list[tuple[str, str, list[str]]]]:
    """1-dof joints, in the same order, and (name, kind, joint names) of every former joint.

    Floating and planar joints that `free_joints` does not name become fixed.
    """
    known = [j.name for j in joints if j.kind in MULTI_DOF]
    for name in free_joints:
        if name not in known:
            raise UrdfError(
                f'free_joints names {name!r}, which is no floating or planar joint; '
                f'those are: {", ".join(known) or "none"}'
            )
    single: list[Joint] = []
    groups = []
    for joint in joints:
        if joint.kind in MULTI_DOF:
            parts = _stack(joint) if joint.name in free_joints else [replace(joint, kind='fixed')]
        else:
            parts = [joint]
        single += parts
        moving = [j.name for j in parts if j.kind in MOVABLE and j.mimic is None]
        if moving:
            groups.append((joint.name, joint.kind, moving))
    return single, groups


def _stack(joint: Joint) -> list[Joint]:
    """The 1-dof joints of a floating (x, y, z, yaw, pitch, roll) or planar (x, y, yaw) joint.

    A planar joint moves in the plane whose normal is its axis.
    """
    names: tuple[str, ...] = ('x', 'y', 'z', 'yaw', 'pitch', 'roll')
    basis, axes, shifts = np.eye(3), [0, 1, 2, 2, 1, 0], 3
    if joint.kind == 'planar':
        names, axes, shifts = ('x', 'y', 'yaw'), [0, 1, 2], 2
        basis = matrix_onto_axis(joint.axis)
    parts = []
    parent, origin = joint.parent, joint.origin
    for i, (name, axis) in enumerate(zip(names, axes, strict=True)):
        child = joint.child if i == len(names) - 1 else f'{joint.name}/{name}_link'
        kind = 'prismatic' if i < shifts else 'continuous'
        full_name = f'{joint.name}/{name}'
        parts.append(Joint(full_name, kind, parent, child, origin, basis[:, axis]))
        parent, origin = child, np.eye(4)
    return parts


def fold(
    root: str, joints: Sequence[Joint]
) -> tuple[list[Joint], list[int], list[Array], dict[str, LinkPlace]]:
    """Moving joints (parents first), their parent bodies and frames in them; all link places."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    places = {root: LinkPlace(-1, np.eye(4), 0)}
    bodies: list[Joint] = []
    parents: list[int] = []
    frames: list[Array] = []
    waiting = [root]
    while waiting:
        link = waiting.pop()
        place = places[link]
        for joint in below.get(link, ()):
            transform = place.transform @ joint.origin
            if joint.kind in MOVABLE:
                onto_axis = np.eye(4)
                onto_axis[:3, :3] = matrix_onto_axis(joint.axis)
                bodies.append(joint)
                parents.append(place.body)
                frames.append(frame_of(transform @ onto_axis))
                places[joint.child] = LinkPlace(len(bodies) - 1, onto_axis.T, 0)
            else:
                places[joint.child] = LinkPlace(place.body, transform, place.depth + 1)
            waiting.append(joint.child)
    return bodies, parents, frames, places


def body_arrays(
    bodies: Sequence[Joint],
    parents: Sequence[int],
    frames: Sequence[Array],
    index: dict[str, int],
) -> tuple[np.ndarray, Array]:
    """The `tree` and `geometry` arrays of `kinematics`; `index` finds a joint's place in q."""
    tree = np.empty((len(bodies), 3), np.int64)
    geometry = np.empty((len(bodies), 14))
    for k, joint in enumerate(bodies):
        mimic = joint.mimic or Mimic(joint.name)
        kind = PRISMATIC if joint.kind == 'prismatic' else REVOLUTE
        tree[k] = parents[k], kind, index[mimic.joint]
        geometry[k, :12] = frames[k]
        geometry[k, 12:] = mimic.multiplier, mimic.offset
    return tree, geometry


def joint_limits(
    independent: Sequence[Joint], bodies: Sequence[Joint], index: dict[str, int]
) -> tuple[Array, Array, Array, list[str]]:
    """(lower, upper, velocity), each (n,), and warnings.

    The limits of mimic joints are taken over through multiplier and offset; where nothing is
    left of a range, it stays the driver's own.
    """
    lower = np.array([j.lower for j in independent], float)
    upper = np.array([j.upper for j in independent], float)
    velocity = np.array([j.velocity for j in independent], float)
    warnings = []
    for joint in bodies:
        if joint.mimic is None or joint.mimic.multiplier == 0.0:
            continue
        m, i = joint.mimic, index[joint.mimic.joint]
        bounds = sorted(((joint.lower - m.offset) / m.multiplier,
                         (joint.upper - m.offset) / m.multiplier))  # fmt: skip
        low, high = max(lower[i], bounds[0]), min(upper[i], bounds[1])
        if low > high:
            warnings.append(
                f'joint {joint.name!r} mimics {m.joint!r}, but their limits have no position '
                f'in common; those of {m.joint!r} are kept'
            )
        else:
            lower[i], upper[i] = low, high
        velocity[i] = min(velocity[i], joint.velocity / abs(m.multiplier))
    return lower, upper, velocity, warnings


def full_turns(bodies: Sequence[Joint], n: int, index: dict[str, int]) -> np.ndarray:
    """(n,) bool: whether one turn more or less leaves all that the joint moves in place."""
    turns = np.ones(n, bool)
    for joint in bodies:
        mimic = joint.mimic or Mimic(joint.name)
        whole = joint.kind != 'prismatic' and float(mimic.multiplier).is_integer()
        turns[index[mimic.joint]] &= whole
    return turns
