# SPDX-License-Identifier: Apache-2.0
"""Joints as a robot description has them, and their conversion to the arrays of a Robot.

Every joint is 1-dof inside: fixed joints are folded into the frame of the next joint, and a
floating or planar joint becomes a stack of prismatic and revolute joints. The frames of the
moving bodies are rotated so that each joint's axis is z, as `kinematics` requires.

A ball joint becomes three revolute joints at one point, in the order of its source: 'ZYZ' is
R = Rz(phi) Ry(psi) Rz(theta) of [EngellErleben2011] A.16 (whose corner is 1, not 0), 'ZXY' that of
a BVH file with these channels. The columns of its Jacobian are those of A.22, with the cross
products of A.18: the matrix printed at A.8 is not a cross product. In every order one middle angle
makes the first and the third axis parallel: 0 for 'ZYZ', a right angle for 'XYZ'. A universal
joint is a ball joint with two axes only.

A screw becomes a revolute joint and a prismatic joint on the same axis that mimics it: a nut that
turns by q moves by q pitch / 2 pi.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import InvalidOption, UrdfError
from ..maths.rotations import Array, frame_of, matrix_onto_axis, shortest_turn_onto
from ..options import exact_number
from .kinematics import PRISMATIC, REVOLUTE

MOVABLE = ('revolute', 'continuous', 'prismatic')
MULTI_DOF = ('floating', 'planar')
# the joint that `carried_by_floating_base` adds, and the root link above it
FLOATING_BASE, WORLD = 'floating_base', 'world'
LIMITS = ('lower', 'upper', 'velocity', 'acceleration', 'jerk')
RATES = LIMITS[2:]
DEFAULT_ORDERS = {'ball': 'ZYZ', 'floating': 'ZYX'}
FLOATING_NAMES = {'X': 'roll', 'Y': 'pitch', 'Z': 'yaw'}

AXIS_ROUNDING = 1e-9  # [rad or m] axes and origins in a file that differ less are equal
SINGULAR_MARGIN = 0.5  # [rad] distance of default starts of ball joints from their singular angle


@dataclass(frozen=True)
class Mimic:
    """Coupling of a joint: its position is multiplier * (position of `joint`) + offset.

    The offset is in rad or m.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


class JointLimits(NamedTuple):
    """Limits of a joint: of position [rad or m], velocity, acceleration and jerk (per s, s^2,
    s^3)."""

    lower: float
    upper: float
    velocity: float
    acceleration: float = math.inf
    jerk: float = math.inf


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint, with the fields of a URDF.

    `kind`: revolute, continuous, prismatic, fixed, floating, planar, ball, universal or screw.
    `origin` (4, 4): the joint's frame in the parent link's frame. `axis` (3,): a unit vector in
    the joint's frame (for a planar joint the normal of the plane). Limits in rad or m, and per s
    (velocity), s^2 (acceleration) and s^3 (jerk); inf for no limit.

    A ball or universal joint turns about the axes of its frame in `rotation_order`, each carried
    by the ones before (intrinsic): 'ZYZ' (default of a ball joint), 'XYZ', ..., or two axes such
    as 'ZX'. Its limits are numbers for all angles, or arrays in that order. The rotation of a
    floating joint has an order, too, by default 'ZYX', but no limits. A screw turns about its
    axis, its position in rad, and moves along it by `pitch` [m] per turn.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    lower: float | Array = -math.inf
    upper: float | Array = math.inf
    velocity: float | Array = math.inf
    mimic: Mimic | None = None
    rotation_order: str = ''
    pitch: float = 0.0
    acceleration: float | Array = math.inf
    jerk: float | Array = math.inf

    @property
    def rotations(self) -> str:
        """The rotation order, or the default for this kind of joint."""
        return self.rotation_order or DEFAULT_ORDERS.get(self.kind, '')


@dataclass(frozen=True)
class JointGroup:
    """A joint of the source: name, kind and indices into q; the order of the rotations of a ball,
    universal or floating joint.
    """

    name: str
    kind: str
    indices: tuple[int, ...]
    rotation_order: str = ''

    @property
    def ball(self) -> tuple[int, ...]:
        """The three indices of rotations about any axis; () for other kinds of joints."""
        return {'ball': self.indices, 'floating': self.indices[3:]}.get(self.kind, ())


@dataclass(frozen=True, eq=False)
class LinkPlacement:
    """Pose of a link on its body: the body (-1: the root link's), the transform (4, 4) in the
    body's frame, and the number of fixed joints between the body's first link and it."""

    body: int
    transform: Array
    depth: int


def carried_by_floating_base(
    links: Sequence[str], joints: Sequence[Joint]
) -> tuple[list[str], list[Joint]]:
    """Add a floating joint above the root of a tree. Raises UrdfError if its names exist."""
    if WORLD in links or any(joint.name == FLOATING_BASE for joint in joints):
        raise UrdfError(
            f'a floating base adds a link {WORLD!r} and a joint {FLOATING_BASE!r}: the robot has '
            'one of them already'
        )
    (root,) = set(links) - {joint.child for joint in joints}
    joint = Joint(FLOATING_BASE, 'floating', parent=WORLD, child=root)
    return [WORLD, *links], [joint, *joints]


def split_joints(
    joints: Sequence[Joint], free_joints: Sequence[str]
) -> tuple[list[Joint], list[tuple[Joint, list[str]]]]:
    """Split joints into 1-dof joints, in the same order; return also each moving joint of the
    source with the names of its parts.

    Floating and planar joints that `free_joints` does not name become fixed.
    """
    known = [j.name for j in joints if j.kind in MULTI_DOF]
    for name in free_joints:
        if name not in known:
            raise UrdfError(
                f'free_joints names {name!r}, which is not a floating or planar joint; '
                f'those are: {", ".join(known) or "none"}'
            )
    single: list[Joint] = []
    groups = []
    for joint in joints:
        if joint.kind in MULTI_DOF:
            parts = _stack(joint) if joint.name in free_joints else [replace(joint, kind='fixed')]
        elif joint.kind in ('ball', 'universal'):
            parts = _ball(joint)
        elif joint.kind == 'screw':
            parts = _screw(joint)
        else:
            parts = [joint]
        single += parts
        moving = [j.name for j in parts if j.kind in MOVABLE and j.mimic is None]
        if moving:
            groups.append((joint, moving))
    return single, groups


def joint_groups(
    groups: Sequence[tuple[Joint, list[str]]], index: dict[str, int]
) -> tuple[JointGroup, ...]:
    """Make the groups of `Robot`; `groups` are those of `split_joints`, `index` is by name."""
    return tuple(
        JointGroup(
            joint.name,
            joint.kind,
            tuple(index[part] for part in parts),
            joint.rotations,
        )
        for joint, parts in groups
    )


def _stack(joint: Joint) -> list[Joint]:
    """The 1-dof joints of a floating (x, y, z, yaw, pitch, roll) or planar (x, y, yaw) joint.

    A floating joint turns in its `rotation_order`: 'ZXY' is yaw, roll, pitch. A planar joint moves
    in the plane whose normal is its axis. If the axis is z, its x and y are those of the joint's
    frame; otherwise they are rotated by the shortest turn of z onto the axis.
    """
    if joint.kind == 'planar':
        names = ['x', 'y', 'yaw']
        axes, shifts = list(shortest_turn_onto(joint.axis).T), 2
    else:
        order = _checked_order(joint, 3)
        names = ['x', 'y', 'z', *_numbered([FLOATING_NAMES[axis] for axis in order])]
        axes, shifts = [*np.eye(3), *_axes(order)], 3
    parts = [
        Joint(name, 'prismatic' if i < shifts else 'continuous', '', '', axis=axis)
        for i, (name, axis) in enumerate(zip(names, axes, strict=True))
    ]
    return _in_series(joint, parts)


def _in_series(joint: Joint, parts: Sequence[Joint]) -> list[Joint]:
    """Connect `parts` in series in place of `joint`; their names are '<joint>/<part>'."""
    pile = []
    parent, origin = joint.parent, joint.origin
    for part in parts:
        name = f'{joint.name}/{part.name}'
        child = joint.child if part is parts[-1] else f'{name}_link'
        pile.append(replace(part, name=name, parent=parent, child=child, origin=origin))
        parent, origin = child, np.eye(4)
    return pile


def _ball(joint: Joint) -> list[Joint]:
    """The revolute joints of a ball or universal joint, as <name>/z, <name>/y, <name>/z2."""
    order = _checked_order(joint, 3 if joint.kind == 'ball' else 2)
    if joint.mimic is not None:
        raise InvalidOption(
            f'{joint.kind} joint {joint.name!r} mimics {joint.mimic.joint!r}: it cannot'
        )
    names = _numbered(order.lower())
    limits = zip(*(_of_each_axis(joint, limit, len(order)) for limit in LIMITS), strict=True)
    parts = []
    for name, axis, own in zip(names, _axes(order), limits, strict=True):
        own_limits = dict(zip(LIMITS, own, strict=True))
        endless = np.isinf([own_limits['lower'], own_limits['upper']]).all()
        kind = 'continuous' if endless else 'revolute'
        parts.append(Joint(name, kind, '', '', np.eye(4), axis, **own_limits))
    return _in_series(joint, parts)


def whole_balls(joints: Sequence[Joint]) -> list[Joint]:
    """Join the revolute joints that `split_joints` makes of a ball joint to one again.

    A URDF has only those. They are known by their names, '<ball>/z' and so on, and the axes in
    these names; each carries nothing but the next one, at the same point.
    """
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    balls = {parts[0].name: parts for joint in joints if (parts := _parts_of_ball(joint, below))}
    inner = {part.name for parts in balls.values() for part in parts[1:]}
    return [
        _joined(balls[joint.name]) if joint.name in balls else joint
        for joint in joints
        if joint.name not in inner
    ]


def _parts_of_ball(first: Joint, below: dict[str, list[Joint]]) -> list[Joint]:
    """The three joints of a ball joint of which this is the first, or [] if it is not."""
    parts = [first]
    while len(parts) < 3:
        carried = below.get(parts[-1].child, [])
        if parts[-1].child != f'{parts[-1].name}_link' or len(carried) != 1:
            return []
        parts += carried
    ball = first.name.rpartition('/')[0]
    order = ''.join(part.name.removeprefix(f'{ball}/')[:1] for part in parts).upper()
    names = [f'{ball}/{name}' for name in _numbered(order.lower())]
    if not ball or set(order) - set('XYZ') or [part.name for part in parts] != names:
        return []
    is_ball = all(
        part.kind in ('revolute', 'continuous')
        and part.mimic is None
        and np.allclose(part.axis, axis, atol=AXIS_ROUNDING)
        and (part is first or np.allclose(part.origin, np.eye(4), atol=AXIS_ROUNDING))
        for part, axis in zip(parts, _axes(order), strict=True)
    )
    return parts if is_ball else []


def _joined(parts: Sequence[Joint]) -> Joint:
    """The ball joint of three revolute joints."""
    ball, names = parts[0].name.rpartition('/')[0], [part.name for part in parts]
    order = ''.join(name[len(ball) + 1] for name in names).upper()
    limits: dict[str, Any] = {
        limit: np.array([getattr(part, limit) for part in parts]) for limit in LIMITS
    }
    return replace(
        parts[0], name=ball, kind='ball', child=parts[-1].child, rotation_order=order, **limits
    )


def _screw(joint: Joint) -> list[Joint]:
    """The revolute joint of a screw, under its name, and '<name>/slide', which mimics it."""
    pitch = exact_number(joint.pitch, float)
    if pitch is None or not math.isfinite(pitch):
        raise InvalidOption(f'screw {joint.name!r}: pitch {joint.pitch!r} [m]: a finite number')
    slide = f'{joint.name}/slide'
    turns = replace(joint, kind='revolute', child=f'{slide}_link')
    mimic = Mimic(joint.name, multiplier=pitch / math.tau)
    return [
        turns,
        Joint(slide, 'prismatic', turns.child, joint.child, axis=joint.axis, mimic=mimic),
    ]


def _checked_order(joint: Joint, count: int) -> str:
    """The rotation order of a joint with `count` axes. Raises InvalidOption."""
    order = joint.rotations
    again = any(a == b for a, b in pairwise(order))
    if len(order) != count or set(order) - set('XYZ') or again:
        which = {2: ('two', 'alike', 'ZY'), 3: ('three', 'alike side by side', 'ZYZ')}[count]
        raise InvalidOption(
            f'{joint.kind} joint {joint.name!r}: rotation_order {order!r}; {which[0]} of X, Y and '
            f'Z are needed, no two {which[1]}, such as {which[2]!r}'
        )
    return order


def _axes(order: str) -> list[Array]:
    """The unit vectors (3,) of a rotation order."""
    return [np.eye(3)['XYZ'.index(axis)] for axis in order]


def _numbered(names: Sequence[str]) -> list[str]:
    """Append a 2 to names that occur before in the list."""
    return [f'{name}2' if name in names[:i] else name for i, name in enumerate(names)]


def _of_each_axis(joint: Joint, name: str, count: int) -> list[float]:
    """The limit `name` of a ball or universal joint, for each of its `count` angles."""
    values = np.asarray(getattr(joint, name), float)
    if values.shape not in ((), (count,)) or np.isnan(values).any():
        raise InvalidOption(
            f'{joint.kind} joint {joint.name!r}: {name} = {getattr(joint, name)!r}; one number or '
            f'{count}, in the order of its rotations, are needed'
        )
    return [float(value) for value in np.broadcast_to(values, (count,))]


def clear_of_singularity(order: str, middle: float, lower: float, upper: float) -> float:
    """The angle nearest to `middle` that keeps SINGULAR_MARGIN from singular middle angles.

    If no angle inside the limits does, the one that is farthest from the singular angle; upwards
    if both sides are equal. Singular are multiples of pi if the first axis is also the third
    ('ZYZ'), else these plus a right angle ('XYZ').
    """
    first = 0.0 if order[0] == order[2] else 0.5 * math.pi
    singular = first + math.pi * round((middle - first) / math.pi)
    if abs(middle - singular) >= SINGULAR_MARGIN:
        return middle
    sides = [singular + SINGULAR_MARGIN, singular - SINGULAR_MARGIN]
    if middle < singular:
        sides.reverse()
    inside = [min(max(side, lower), upper) for side in sides]
    return max(inside, key=lambda angle: round(abs(angle - singular), 9))


def fold(
    root: str, joints: Sequence[Joint]
) -> tuple[list[Joint], list[int], list[Array], dict[str, LinkPlacement]]:
    """Fold fixed joints away.

    Returns the moving joints, parents first, the parent body of each, their frames (12,) in these,
    and the placements of all links.
    """
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    places = {root: LinkPlacement(-1, np.eye(4), 0)}
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
                places[joint.child] = LinkPlacement(len(bodies) - 1, onto_axis.T, 0)
            else:
                places[joint.child] = LinkPlacement(place.body, transform, place.depth + 1)
            waiting.append(joint.child)
    return bodies, parents, frames, places


def body_arrays(
    bodies: Sequence[Joint],
    parents: Sequence[int],
    frames: Sequence[Array],
    index: dict[str, int],
) -> tuple[np.ndarray, Array]:
    """The `tree` and `geometry` arrays of `kinematics`; `index` has a joint's index in q."""
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
) -> tuple[dict[str, Array], list[str]]:
    """The limits by name, each (n,), and warnings.

    Limits of mimic joints narrow those of their driver, through multiplier and offset. If that
    leaves no range, the driver keeps its own, with a warning.
    """
    limits = {name: np.array([getattr(j, name) for j in independent], float) for name in LIMITS}
    lower, upper = limits['lower'], limits['upper']
    warnings = []
    for joint in bodies:
        if joint.mimic is None or joint.mimic.multiplier == 0.0:
            continue
        m, i, own = joint.mimic, index[joint.mimic.joint], (joint.lower, joint.upper)
        bounds = sorted((float(limit) - m.offset) / m.multiplier for limit in own)
        low, high = max(lower[i], bounds[0]), min(upper[i], bounds[1])
        if low > high:
            warnings.append(
                f'joint {joint.name!r} mimics {m.joint!r}, but their limits have no position '
                f'in common; those of {m.joint!r} are kept'
            )
        else:
            lower[i], upper[i] = low, high
        for rate in RATES:
            own_rate = float(getattr(joint, rate))
            limits[rate][i] = min(limits[rate][i], own_rate / abs(m.multiplier))
    for name in ('lower', 'upper'):
        limits[name] += 0.0  # numpy draws no number between 0.0 and -0.0, so no limit is -0.0
    return limits, warnings


def full_turns(bodies: Sequence[Joint], n: int, index: dict[str, int]) -> np.ndarray:
    """Mask (n,) of joints whose rotation by a full turn leaves all links in place."""
    turns = np.ones(n, bool)
    for joint in bodies:
        mimic = joint.mimic or Mimic(joint.name)
        whole = joint.kind != 'prismatic' and float(mimic.multiplier).is_integer()
        turns[index[mimic.joint]] &= whole
    return turns
