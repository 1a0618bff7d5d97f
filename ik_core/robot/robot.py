# SPDX-License-Identifier: Apache-2.0
"""The robot: an immutable tree of one-dof joints, stored as arrays; forward kinematics by name."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..display import counted, html_table, listed
from ..exceptions import FrameNotFound, InvalidConfiguration, InvalidOption, UnsupportedProblem
from ..maths.argument_types import JointStateMessage, MatrixLike, VectorLike
from ..maths.rotations import Array, transform_of
from .joints import (
    LIMITS,
    MOVABLE,
    MULTI_DOF,
    Joint,
    JointGroup,
    JointLimits,
    LinkPlacement,
    Mimic,
    body_arrays,
    clear_of_singularity,
    fold,
    full_turns,
    joint_groups,
    joint_limits,
    split_joints,
)
from .kinematics import (
    PRISMATIC,
    body_frames,
    body_frames_of_rows,
    point_jacobian,
    point_jacobian_of_rows,
)
from .limits import LARGEST_POSITION
from .mass import Inertial, Masses, centre_of_mass, centre_of_mass_jacobian, masses_of

FLOATS = np.dtype(float)  # compared by `is`, which is faster than `==`

# links that goals are usually meant for
TOOL_NAME = re.compile(
    r'tool|tcp|end_?effector|(^|[_/])eef?(_|$)|(^|[_/])gripper$|gripper_(frame|link)',
    re.IGNORECASE,
)
# names that never mean another link
TCP_NAME = re.compile(r'tcp|tool0|tool_?(frame|cent)|end_?effector', re.IGNORECASE)
# links at the end of an arm that goals are not meant for, if there is another link: sensors,
# copies for collisions or simulators, parts of a gripper
NO_TIP = re.compile(
    r'camera|optical|depth|rgb|stereo|gazebo|sensor|(^|_)imu|lidar|laser|hokuyo|accelerometer'
    r'|touch|lamp|force_torque|(^|_)ft(_|$)|(^|_)sc$|collision|visual|marker|ar_tag|finger|jaw'
    r'|claw|thumb|knuckle|bumper|(^|_)prop(_|$)',
    re.IGNORECASE,
)
# not `fingers` and `knuckles`: one joint that bends the whole hand of a skeleton
FINGER = re.compile(r'(finger|knuckle)(?!s(_|/|$))|thumb|pinky|jaw|claw', re.IGNORECASE)
GRIPPER = re.compile(r'grip', re.IGNORECASE)
# joints that move a gripper as a whole
WRIST = re.compile(r'roll|pitch|yaw|rotat|wrist|twist|swivel|flex', re.IGNORECASE)

__all__ = ['EndEffector', 'Joint', 'JointGroup', 'Mimic', 'PlanningGroup', 'Robot']


class PlanningGroup(NamedTuple):
    """A group of joints of an SRDF.

    joints : names of its independent joints, in the order of q
    tip : the link at the end of its chain; '' if it is not one chain
    states : named states, each the positions [rad or m] by joint; `robot.q` makes q of one
    """

    name: str
    joints: tuple[str, ...]
    tip: str
    states: Mapping[str, dict[str, float]]


class EndEffector(NamedTuple):
    """An end effector of an SRDF: a group of joints, such as a gripper, attached to a link of
    another group; `parent_group` may be ''."""

    name: str
    parent_link: str
    group: str
    parent_group: str


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links and joints; made by `load_robot` or `Robot.from_joints`.

    Arrays of length n run over the independent movable joints in the order of the source: `lower`
    and `upper` [rad or m], `velocity` [rad/s or m/s], `acceleration` [rad/s^2 or m/s^2] and `jerk`
    [rad/s^3 or m/s^3] (inf for no limit), `continuous`, and `full_turns`, true if one turn more or
    less is the same posture. `tree` (K, 3) and `geometry` (K, 14) are the arrays of `kinematics`
    for the K moving joints, including mimic joints; `body_names` names them. `inertials` maps
    links to their masses. `mimic_limits` has the limits of the mimic joints themselves, by name;
    they narrow the limits of the joint that they follow, unless that would leave no range. `urdf`
    is the source text, '' if there was none; `file` is its path, against which paths of collision
    meshes are resolved. `counted_urdf` is `urdf` with the limits in use: soft limits and those of
    a joint_limits.yaml are written into its <limit>. `srdf` is the text of an SRDF, '' if there is
    none; `groups` and `end_effectors` are those of it, by name.
    """

    name: str
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    link_names: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    continuous: NDArray[np.bool_]
    full_turns: NDArray[np.bool_]
    mimic_joints: Mapping[str, Mimic]
    joint_groups: tuple[JointGroup, ...]
    warnings: tuple[str, ...]
    body_names: tuple[str, ...]
    tree: NDArray[np.int64]
    geometry: Array
    places: Mapping[str, LinkPlacement]
    inertials: Mapping[str, Inertial] = field(default_factory=dict)
    mimic_limits: Mapping[str, JointLimits] = field(default_factory=dict)
    urdf: str | bytes = ''
    counted_urdf: str = ''
    file: Path | None = None
    srdf: str | bytes = ''
    groups: Mapping[str, PlanningGroup] = field(default_factory=dict)
    end_effectors: Mapping[str, EndEffector] = field(default_factory=dict)

    @classmethod
    def from_joints(
        cls,
        name: str,
        link_names: Sequence[str],
        joints: Sequence[Joint],
        warnings: Iterable[str] = (),
        free_joints: Sequence[str] = (),
        inertials: Mapping[str, Inertial] | None = None,
    ) -> Robot:
        """Make a robot of these joints, which must form a tree (`load_robot` checks that they do).

        Floating and planar joints move only if `free_joints` names them, since a JointState can't
        carry them. Raises UrdfError if `free_joints` names no such joint, InvalidOption for an
        impossible ball joint.
        """
        single, groups = split_joints(joints, free_joints)
        independent = [j for j in single if j.kind in MOVABLE and j.mimic is None]
        index = {joint.name: i for i, joint in enumerate(independent)}
        children = {joint.child for joint in single}
        root = next(link for link in link_names if link not in children)
        bodies, parents, frames, places = fold(root, single)
        tree, geometry = body_arrays(bodies, parents, frames, index)
        limits, more_warnings = joint_limits(independent, bodies, index)
        continuous = np.array([j.kind == 'continuous' for j in independent], bool)
        turns = full_turns(bodies, len(independent), index)
        for array in (*limits.values(), continuous, turns, tree, geometry):
            array.flags.writeable = False
        return cls(
            name=name,
            joint_names=tuple(index),
            joint_types=tuple(joint.kind for joint in independent),
            link_names=(root, *(link for link in link_names if link != root)),
            lower=limits['lower'],
            upper=limits['upper'],
            velocity=limits['velocity'],
            acceleration=limits['acceleration'],
            jerk=limits['jerk'],
            continuous=continuous,
            full_turns=turns,
            mimic_joints={j.name: j.mimic for j in bodies if j.mimic is not None},
            joint_groups=joint_groups(groups, index),
            warnings=(*warnings, *more_warnings),
            body_names=tuple(joint.name for joint in bodies),
            tree=tree,
            geometry=geometry,
            places=places,
            inertials=dict(inertials or {}),
            mimic_limits={
                j.name: JointLimits(*(float(getattr(j, limit)) for limit in LIMITS))
                for j in bodies
                if j.mimic is not None
            },
        )

    def __repr__(self) -> str:
        joints = f'{counted(self.n, "joint")} ({listed(self.joint_names)})'
        ends = f'{counted(len(self.link_names), "link")} from {self.base_link!r}'
        tips = f' to {listed(map(repr, self.tips()))}' if self.n else ''
        return f'<Robot {self.name!r}: {joints}, {ends}{tips}>'

    def _repr_html_(self) -> str:
        """The joints as a table."""
        rows = []
        for i, (name, kind, unit) in enumerate(
            zip(self.joint_names, self.joint_types, self.joint_units, strict=True)
        ):
            limits = (self.lower[i], self.upper[i], self.velocity[i])
            rows.append((i, name, kind, *(f'{limit:.4g}' for limit in limits), unit))
        head = ('', 'joint', 'type', 'lower', 'upper', 'velocity', 'unit (per s)')
        return html_table(repr(self)[1:-1], head, rows)

    @cached_property
    def _kernel_arrays(self) -> tuple[NDArray[np.int64], Array]:
        """Writable copies of `tree` and `geometry`: for read-only arrays numba would compile
        every kernel a second time."""
        return self.tree.copy(), self.geometry.copy()

    @property
    def n(self) -> int:
        """The number of independent movable joints."""
        return len(self.joint_names)

    @property
    def joint_units(self) -> tuple[str, ...]:
        """The units of q: 'm' for prismatic joints, 'rad' for all others."""
        return tuple('m' if kind == 'prismatic' else 'rad' for kind in self.joint_types)

    @property
    def base_link(self) -> str:
        """The root of the tree; poses are in its frame."""
        return self.link_names[0]

    @property
    def root_joints(self) -> tuple[int, ...]:
        """Indices into q of the floating or planar joints at the root, which carry the robot."""
        first = set(self.tree[self.tree[:, 0] < 0, 2].tolist())
        groups = [group for group in self.joint_groups if group.kind in MULTI_DOF]
        return tuple(i for group in groups if group.indices[0] in first for i in group.indices)

    @property
    def middle_configuration(self) -> Array:
        """A valid configuration (n,): the middle of the limits; 0, or the valid value nearest to
        0, for joints without two finite limits.

        Ball joints keep clear of the middle angle at which they are singular.
        """
        return self.middle_of(self.lower, self.upper)

    def middle_of(self, lower: Array, upper: Array) -> Array:
        """`middle_configuration` for the limits `lower` and `upper` (n,)."""
        middle = np.clip(0.0, lower, upper)
        ranged = np.isfinite(lower) & np.isfinite(upper)
        middle[ranged] = 0.5 * (lower[ranged] + upper[ranged])
        for group in self.joint_groups:
            if group.kind == 'ball':
                i = group.indices[1]
                middle[i] = clear_of_singularity(
                    group.rotation_order, middle[i], lower[i], upper[i]
                )
        return middle

    def checked(self, q: VectorLike, name: str = 'q') -> Array:
        """Return `q` as a new array (n,) of finite floats.

        Raises InvalidConfiguration if it is not one, or if a position exceeds `LARGEST_POSITION`.
        """
        vector = self.numbers(q, name)
        if sum(map(abs, vector.tolist())) <= LARGEST_POSITION:  # faster than one by one
            return vector
        values = dict(zip(self.joint_names, vector.tolist(), strict=True))
        bad = [joint for joint, value in values.items() if not math.isfinite(value)]
        if bad:
            raise InvalidConfiguration(f'{name} is not finite at {", ".join(bad)}')
        large = [joint for joint, value in values.items() if abs(value) > LARGEST_POSITION]
        if large:
            raise InvalidConfiguration(
                f'{name} is {values[large[0]]:g} at {large[0]}: positions of joints [rad or m] '
                f'are at most {LARGEST_POSITION:g}'
            )
        return vector

    def numbers(self, q: VectorLike, name: str = 'q') -> Array:
        """Return `q` as a new array (n,) of floats, which may be inf or nan.

        Raises InvalidConfiguration.
        """
        try:
            vector = np.array(q)
            if vector.dtype is not FLOATS:
                vector = vector.astype(float, casting=_casting_of(vector))
        except (TypeError, ValueError) as error:
            raise InvalidConfiguration(f'{name} {_why_no_numbers(q)}') from error
        if vector.shape != self.lower.shape:
            raise InvalidConfiguration(
                f'{name} has shape {vector.shape}; {self.name!r} has {self.n} joints: '
                f'{", ".join(self.joint_names)}'
            )
        return vector

    def checked_rows(self, q: VectorLike | MatrixLike, count: int, name: str = 'q') -> Array:
        """Return one configuration for all of `count` problems (1, n), or one for each (count, n).

        Raises InvalidConfiguration, which names the first row that is not finite.
        """
        try:
            rows = np.asarray(q)
            rows = rows.astype(float, copy=False, casting=_casting_of(rows))
            rows = np.require(rows, requirements=['C', 'A'])
        except (TypeError, ValueError) as error:
            raise InvalidConfiguration(f'{name} is not one array of numbers: {error}') from error
        if count == 0 and rows.shape == (0,):  # an empty list
            return np.empty((0, self.n))
        if rows.ndim < 2:
            return self.checked(rows, name)[np.newaxis]
        if rows.shape != (count, self.n):
            raise InvalidConfiguration(
                f'{name} has shape {rows.shape}; ({self.n},) or ({count}, {self.n}) is needed'
            )
        usable = np.abs(rows) <= LARGEST_POSITION
        if not usable.all():
            first = int(np.argmin(usable.all(1)))
            self.checked(rows[first], f'{name}[{first}]')
        return rows

    def fold_mimic_limits(
        self, limits: float | VectorLike, mimic_limits: Mapping[str, float]
    ) -> Array:
        """Reduce rate limits of the joints so that mimic joints keep theirs, too; returns (n,).

        limits : one number or (n,), of velocity, acceleration or jerk, inf for no limit
        mimic_limits : limits of mimic joints by name, in their own units

        A mimic joint moves `multiplier` times as fast as its driver, so the driver is limited to
        the mimic joint's limit / |multiplier|. Raises FrameNotFound for a name that is not that of
        a mimic joint.
        """
        folded = np.array(np.broadcast_to(np.asarray(limits, float), self.n))
        for name, limit in mimic_limits.items():
            if name not in self.mimic_joints:
                message = f'robot {self.name!r} has no mimic joint'
                raise FrameNotFound(_unknown(message, name, tuple(self.mimic_joints)))
            mimic = self.mimic_joints[name]
            if mimic.multiplier != 0.0:
                driver = self.joint_names.index(mimic.joint)
                folded[driver] = min(folded[driver], limit / abs(mimic.multiplier))
        return folded

    def placement(self, link: str) -> LinkPlacement:
        """Body and fixed offset of `link`; raises FrameNotFound, with the closest names."""
        try:
            return self.places[link]
        except KeyError:
            message = _unknown(f'robot {self.name!r} has no link', link, self.link_names)
            raise FrameNotFound(message) from None

    def joint_index(self, joint: str) -> int:
        """Index of a joint in q; raises FrameNotFound for unknown and for mimic joints."""
        if joint in self.mimic_joints:
            driver = self.mimic_joints[joint].joint
            raise FrameNotFound(f'joint {joint!r} mimics {driver!r} and has no entry in q')
        if joint not in self.joint_names:
            message = f'robot {self.name!r} has no movable joint'
            raise FrameNotFound(_unknown(message, joint, self.joint_names))
        return self.joint_names.index(joint)

    def body_path(self, link: str) -> list[int]:
        """The bodies from the root to `link`, parents first."""
        return self._path(self.placement(link).body)

    def chain(self, link: str, base_link: str | None = None) -> list[int]:
        """Indices into q of the joints that move `link`, ascending.

        base_link : count the joints that move it relative to this link; by default the root
        """
        up, down = self.paths_between(link, base_link or self.base_link)
        bodies = (*up, *down)
        return sorted({int(self.tree[k, 2]) for k in bodies if self.geometry[k, 12] != 0.0})

    def paths_between(self, link: str, base_link: str) -> tuple[list[int], list[int]]:
        """Bodies from `base_link` up to the common ancestor, and from there down to `link`."""
        down, up = self.body_path(link), self.body_path(base_link)
        common = len([k for k in up if k in down])
        return up[common:][::-1], down[common:]

    def forward_kinematics(
        self, q: VectorLike | MatrixLike, link: str | None = None, base_link: str | None = None
    ) -> Array:
        """The transform (4, 4) of `link` [m] in the frame of `base_link`.

        q : (n,), or (N, n) for transforms (N, 4, 4) that are bitwise equal to single ones
        link : by default `default_tip()`
        base_link : by default the root

        Raises FrameNotFound for an unknown link, InvalidConfiguration for a bad q,
        UnsupportedProblem if `link` is None and there is no default tip.
        """
        frames = self._frames(q)
        transform = self.link_transform(frames, self._default_tip if link is None else link)
        if base_link is None:
            return transform
        base = self.link_transform(frames, base_link)
        axes = base[..., :3, :3].swapaxes(-1, -2)
        relative = np.zeros(transform.shape)
        relative[..., :3, :3] = axes @ transform[..., :3, :3]
        relative[..., :3, 3:] = axes @ (transform[..., :3, 3:] - base[..., :3, 3:])
        relative[..., 3, 3] = 1.0
        return relative

    def frames(self, q: VectorLike) -> Array:
        """The frames (K, 12) of all bodies in the root link's frame, used by `link_transform`."""
        frames = np.empty((len(self.tree), 12))
        body_frames(*self._kernel_arrays, self.checked(q), frames)
        return frames

    def _frames(self, q: VectorLike | MatrixLike) -> Array:
        """Frames (K, 12) of all bodies for q (n,), or (N, K, 12) for q (N, n)."""
        try:
            single = np.ndim(q) != 2
        except ValueError:  # rows of different lengths
            single = False
        if single:
            return self.frames(q)  # type: ignore[arg-type]
        rows = self.checked_rows(q, len(q))  # type: ignore[arg-type]
        frames = np.empty((len(rows), len(self.tree), 12))
        body_frames_of_rows(*self._kernel_arrays, rows, frames)
        return frames

    def link_transform(self, frames: Array, link: str) -> Array:
        """The transform (4, 4) of `link` in the root link's frame, from `frames(q)`."""
        place = self.placement(link)
        if place.body < 0:
            return np.broadcast_to(place.transform, (*frames.shape[:-2], 4, 4)).copy()
        return transform_of(frames[..., place.body, :]) @ place.transform

    def jacobian(
        self, q: VectorLike | MatrixLike, link: str | None = None, base_link: str | None = None
    ) -> Array:
        """The geometric Jacobian (6, n) of the origin of `link`: linear, then angular rows.

        q : (n,), or (N, n) for Jacobians (N, 6, n) that are bitwise equal to single ones
        link : by default `default_tip()`
        base_link : reference link and frame of the velocities; by default the root

        Units: m and rad per rad or m. The column of a joint includes the mimic joints that follow
        it. Raises the errors of `forward_kinematics`.
        """
        frames = self._frames(q)
        link = self._default_tip if link is None else link
        origin = self.link_transform(frames, link)[..., :3, 3]
        columns = self._columns_of(frames, self.placement(link).body, origin)
        if base_link is not None:
            columns -= self._columns_of(frames, self.placement(base_link).body, origin)
            axes = self.link_transform(frames, base_link)[..., np.newaxis, :3, :3]
            vectors = columns.reshape(*columns.shape[:-1], 2, 3)
            columns = (vectors @ axes).reshape(columns.shape)
        return (columns.T if columns.ndim == 2 else columns.swapaxes(1, 2)).copy()

    def _columns_of(self, frames: Array, body: int, point: Array) -> Array:
        """Jacobian columns (n, 6) of a point (3,) [m] that moves with a body, in the root's axes.

        Frames (N, K, 12) and points (N, 3) give columns (N, n, 6).
        """
        columns = np.empty((*point.shape[:-1], self.n, 6))
        if point.ndim > 1:
            points = np.ascontiguousarray(point)
            point_jacobian_of_rows(*self._kernel_arrays, frames, body, points, columns)
        else:
            x, y, z = point.tolist()
            point_jacobian(*self._kernel_arrays, frames, body, (x, y, z), columns)
        return columns

    @cached_property
    def _masses(self) -> Masses:
        return masses_of(self.inertials, self.places, len(self.tree))

    @property
    def mass(self) -> float:
        """Total mass [kg] of the links; 0 for a description without masses."""
        return self._masses.total

    def centre_of_mass(self, q: VectorLike) -> Array:
        """The centre of mass (3,) [m] of all links in the root link's frame, at q (n,).

        Raises UnsupportedProblem for a description without masses.
        """
        return self._centre_of_mass(self.frames(q))[0]

    def centre_of_mass_jacobian(self, q: VectorLike) -> Array:
        """The derivative (3, n) of `centre_of_mass` [m per rad or m]; raises the same errors."""
        frames, columns = self.frames(q), np.empty((self.n, 3))
        _, carried = self._centre_of_mass(frames)
        centre_of_mass_jacobian(*self._kernel_arrays, frames, carried, columns)
        return columns.T.copy()

    def _centre_of_mass(self, frames: Array) -> tuple[Array, Array]:
        """The centre of mass (3,) [m], and mass and moment (K + 1, 4) that each joint moves."""
        if not self.mass:
            raise UnsupportedProblem(
                f'robot {self.name!r} has no masses: its links need '
                '<inertial><origin .../><mass value="..."/></inertial> for a centre of mass'
            )
        centre, carried = np.empty(3), np.empty((len(frames) + 1, 4))
        centre_of_mass(self.tree, *self._masses, frames, carried, centre)
        return centre, carried

    def joint_values(self, q: VectorLike) -> dict[str, float]:
        """Positions [rad or m] of all movable joints by name, including mimic joints."""
        values = dict(zip(self.joint_names, self.checked(q).tolist(), strict=True))
        for joint, mimic in self.mimic_joints.items():
            values[joint] = mimic.multiplier * values[mimic.joint] + mimic.offset
        return values

    def q(
        self, values: Mapping[str, float] | JointStateMessage, default: VectorLike | None = None
    ) -> Array:
        """The configuration (n,) for positions [rad or m] by name: the inverse of `joint_values`.

        values : a mapping, or an object with `name` and `position` such as a JointState. Values of
            mimic joints are ignored, since those follow other joints
        default (n,) : positions of joints without a value; without it every joint needs one

        Raises FrameNotFound for an unknown joint, InvalidConfiguration for missing joints and for
        values that are not finite numbers.
        """
        given = _positions_by_name(values)
        for name in given:
            if name not in self.mimic_joints:
                self.joint_index(name)
        missing = [joint for joint in self.joint_names if joint not in given]
        if missing and default is None:
            raise InvalidConfiguration(
                f'no position of {listed(missing)}: give one for each of the {self.n} joints of '
                f'{self.name!r}, or a default'
            )
        rest = np.zeros(self.n) if default is None else self.checked(default, 'default')
        return self.checked([given.get(j, rest[i]) for i, j in enumerate(self.joint_names)])

    def tips(self) -> list[str]:
        """The links where movable chains end, the longest chain first.

        Gripper fingers do not count: side branches that consist of prismatic, mimic or mimicked
        joints only, and joints named as a gripper's (see `gripper_joints`). The chain then ends at
        the link that carries them. The nut of a screw does not count as a finger. Among the links
        fixed to the end of a chain, the tip is the one behind the most fixed joints, except that
        one named as a tool (tool0, ..._tcp, ..._end_effector) takes precedence, and that sensors,
        copies for collisions and fixed fingers come last.
        """
        return [self._last_link(body) for body in self._chain_ends()]

    def default_tip(self) -> str:
        """The tip of the longest chain.

        Raises UnsupportedProblem, which names the candidates, if several chains are the longest,
        or if no joint moves.
        """
        return self._default_tip

    @cached_property
    def _default_tip(self) -> str:
        ends = self._chain_ends()
        if not ends:
            raise UnsupportedProblem(f'robot {self.name!r} has no movable joint')
        longest = [k for k in ends if self._dof(k) == self._dof(ends[0])]
        if len(longest) > 1:
            raise UnsupportedProblem(
                f'robot {self.name!r} has {len(longest)} longest chains of {self._dof(ends[0])} '
                f'joints; name the tip among: {", ".join(self._last_link(k) for k in longest)}'
            )
        return self._last_link(longest[0])

    def gripper_joints(self, link: str) -> list[str]:
        """Names of the joints between the root and `link` that close a gripper.

        They are recognised by 'finger', 'jaw', 'gripper' and the like in the name of the joint or
        of the link that it moves. A wrist's joint, or one that moves a link called gripper, does
        not count.
        """
        return [
            self.body_names[k] for k in self._path(self.placement(link).body) if self._grips(k)
        ]

    def _grips(self, body: int) -> bool:
        """Return whether a joint closes a gripper, by its name and that of the link it moves."""
        name = self.body_names[body]
        if FINGER.search(name) or any(FINGER.search(link) for link in self._moved_links[body]):
            return True
        return GRIPPER.search(name) is not None and WRIST.search(name) is None

    @cached_property
    def _moved_links(self) -> list[list[str]]:
        """Names of the links at the origin of each body, by body."""
        links: list[list[str]] = [[] for _ in self.tree]
        for link, place in self.places.items():
            if place.body >= 0 and place.depth == 0:
                links[place.body].append(link)
        return links

    def _path(self, body: int) -> list[int]:
        """Bodies from the root to `body`, parents first."""
        path = []
        while body >= 0:
            path.append(body)
            body = int(self.tree[body, 0])
        return path[::-1]

    def _dof(self, body: int) -> int:
        """The number of variables that move `body`."""
        return len({int(self.tree[k, 2]) for k in self._path(body)})

    def _chain_ends(self) -> list[int]:
        """The bodies where chains end, fingers left out, the longest chain first."""
        children: list[list[int]] = [[] for _ in self.tree]
        for k, parent in enumerate(self.tree[:, 0]):
            if parent >= 0:
                children[parent].append(k)
        nuts = {name for k, name in enumerate(self.body_names) if self._is_nut(k)}
        mimics = {name: mimic.joint for name, mimic in self.mimic_joints.items()}
        coupled = {*mimics, *mimics.values()}
        coupled -= {name for nut in nuts for name in (nut, mimics[nut])}

        def grips(body: int, by_name: bool) -> bool:
            name = self.body_names[body]
            own = name in coupled or (self.tree[body, 1] == PRISMATIC and name not in nuts)
            own = own or (by_name and self._grips(body))
            return own and all(grips(child, by_name) for child in children[body])

        ends = []
        waiting = [k for k, parent in enumerate(self.tree[:, 0]) if parent < 0]
        while waiting:
            body = waiting.pop(0)
            branches = children[body]
            is_palm = not self._grips(body)  # a branch that begins with a finger may be the arm
            ends_in_fingers = any(
                self.body_names[k] in coupled or (is_palm and self._grips(k)) for k in branches
            )
            if len(branches) > 1 or ends_in_fingers:
                branches = [k for k in branches if not grips(k, is_palm)]
            waiting += branches
            if not branches:
                ends.append(body)
        return sorted(ends, key=self._dof, reverse=True)

    def _is_nut(self, body: int) -> bool:
        """Return whether the joint of a body slides along a turning joint and mimics it."""
        parent, mimic = int(self.tree[body, 0]), self.mimic_joints.get(self.body_names[body])
        if parent < 0 or mimic is None or self.body_names[parent] != mimic.joint:
            return False
        return bool(self.tree[body, 1] == PRISMATIC != self.tree[parent, 1])

    def _last_link(self, body: int) -> str:
        """The link of a body that goals are most likely meant for."""
        links = [link for link in self.link_names if self.places[link].body == body]
        useful = [link for link in links if not NO_TIP.search(link)]
        named = [link for link in useful if TOOL_NAME.search(link)]
        named = named or [link for link in links if TCP_NAME.search(link)]
        return max(named or useful or links, key=lambda link: self.places[link].depth)


def check_robot(robot: object) -> None:
    """Raise InvalidOption if `robot` is not a Robot."""
    if not isinstance(robot, Robot):
        raise InvalidOption(f'robot is {robot!r}: a Robot is needed, as load_robot returns')


def _positions_by_name(values: Any) -> dict[str, Any]:
    """Positions by joint name, from a mapping or a JointState."""
    if isinstance(values, Mapping):
        return dict(values)
    try:
        names, positions = list(values.name), list(values.position)
    except (AttributeError, TypeError):
        raise InvalidConfiguration(
            f'{type(values).__name__}: positions by name are needed, a mapping or a JointState'
        ) from None
    if len(names) != len(positions):
        raise InvalidConfiguration(f'{len(names)} names with {len(positions)} positions')
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InvalidConfiguration(f'joints named twice: {listed(dict.fromkeys(twice))}')
    return dict(zip(names, positions, strict=True))


def _casting_of(given: Array) -> Literal['unsafe', 'same_kind']:
    """The casting rule for conversion to float; complex numbers raise instead of losing a part."""
    return 'same_kind' if given.dtype.kind == 'c' else 'unsafe'


def _why_no_numbers(q: Any) -> str:
    if isinstance(q, Mapping) or (hasattr(q, 'name') and hasattr(q, 'position')):
        return 'has positions by name: robot.q makes an array of them'
    return f'is not made of numbers: {q!r}'


def _unknown(message: str, name: str, known: Sequence[str]) -> str:
    """Append the unknown name and the closest known ones to `message`."""
    close = difflib.get_close_matches(str(name), known, n=5)
    hint = f'did you mean {", ".join(close)}?' if close else f'known: {", ".join(known)}'
    return f'{message} {name!r}; {hint}'
