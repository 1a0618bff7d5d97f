# SPDX-License-Identifier: Apache-2.0
"""Key frames: poses of a robot at given times, and the motion between them.

Joints, tips and rotations of ball joints pass their keys on cubic Bezier curves, built from
straight lines or, for rotations, from spherical linear interpolation [Shoemake1985]. The speed at
a key is the harmonic mean of the speeds before and after it [FritschButland1984], 0 where the
motion turns back. So joints have continuous speeds, stay between their keys, and rest between
equal ones.

If tips move on curves of their own, inverse kinematics finds knots of the joints: at the keys, and
halfway between two knots until a joint at the next one is where the curve through the others
brings it, to KNOT_ERROR. This curve is cubic, too; its control points are inside the limits, and
so is the curve. A joint that reaches its limit at full speed makes knots dense, down to
SHORTEST, but no speed jumps.
"""

from __future__ import annotations

import copy
import csv
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import InvalidMotion, InvalidOption
from ..maths.argument_types import MatrixLike, Names, VectorLike
from ..maths.rotations import Array
from ..options import exact_number
from ..problem import IkProblem
from ..result import IkResult
from ..robot.joints import JointGroup
from ..robot.motion import MAX_FRAMES, Motion
from ..robot.motion_files import read_rows, read_table
from ..robot.robot import Robot
from ..solvers import make_solver
from ..tasks import PositionTask, PostureTask
from .example import link_paths

BETA = 1e-5  # [m^2/rad^2] weight of the posture relative to positions
LARGEST_ERROR = 0.01  # [m] poses with a larger error of a goal are refused
SAME_ANGLE = 1e-6  # [rad] angles that differ less are equal
# spans between knots are halved where the curve leaves an inverse kinematics solution by more than
# KNOT_ERROR [rad or m], but not to less than SHORTEST [s], nor to more than MOST for a span
# between two keys
KNOT_ERROR, SHORTEST, MOST = 1e-3, 8e-3, 512
FINE = 4000.0  # [Hz] rate at which the speeds of the joints are compared with limits
# spans between keys are stretched so many times, each by the excess of its own speeds
STRETCHES = 3
COLUMNS = ['time', 'link', 'x', 'y', 'z']

# by link: times (k,) [s] and positions (k, 3) [m]
Goals = Mapping[str, tuple[VectorLike, MatrixLike]]


class KeyFrames:
    """Poses of a robot at given times, and the motion through them, see the module.

    times (k,) : ascending [s], at least two
    poses (k, n) : inside the limits
    tips : links that move from pose to pose on curves of their own, by inverse kinematics; a tip
        that is at the same position in two poses stays there in between
    closed : True for a cycle, whose last pose equals its first

    Raises InvalidMotion, InvalidConfiguration, FrameNotFound.
    """

    def __init__(
        self,
        robot: Robot,
        times: VectorLike,
        poses: MatrixLike,
        *,
        tips: Names = (),
        closed: bool = False,
    ) -> None:
        self.robot, self.closed = robot, closed
        self.times = _checked_times(times)
        self.poses = np.array([robot.checked(q, 'poses') for q in poses])  # type: ignore[union-attr]
        if len(self.poses) != len(self.times):
            raise InvalidMotion(f'{len(self.times)} times are given for {len(self.poses)} poses')
        outside = (self.poses < robot.lower - SAME_ANGLE) | (self.poses > robot.upper + SAME_ANGLE)
        if outside.any():
            frame, joint = np.argwhere(outside)[0].tolist()
            raise InvalidMotion(
                f'the pose at {self.times[frame]:g} s breaks the limits of '
                f'{robot.joint_names[joint]!r}'
            )
        if closed and np.abs(self.poses[-1] - self.poses[0]).max() > SAME_ANGLE:
            raise InvalidMotion('a cycle needs a last pose that is its first')
        self._goals = self._goals_of(tuple(tips))

    def __repr__(self) -> str:
        kind = 'cycle' if self.closed else 'motion'
        return (
            f'<KeyFrames: {len(self.times)} poses of {self.robot.name!r}, a {kind} of '
            f'{self.times[-1] - self.times[0]:g} s>'
        )

    @property
    def tips(self) -> tuple[str, ...]:
        """The links that move on curves of their own."""
        return tuple(tip for tip, _, _ in self._goals)

    @classmethod
    def from_goals(
        cls, robot: Robot, goals: Goals, *, rest: VectorLike | None = None, closed: bool = False
    ) -> KeyFrames:
        """Make poses that bring links to goals at given times, as near to a posture as possible.

        goals : keys of each link, as `load_goals` reads them. Between its own keys a link moves on
            its own curve, also at the times of others' keys
        rest (n,) : the posture, by default the middle of the limits; sliding joints do not count

        Raises InvalidMotion if a pose leaves a goal by more than a centimetre.
        """
        keys = [(link, *_checked_goals(link, *goals[link])) for link in goals]
        if not keys:
            raise InvalidMotion('goals: keys of one link at least are needed')
        for link, _, path in keys:
            if closed and np.abs(path[-1] - path[0]).max() > SAME_ANGLE:
                raise InvalidMotion(f'a cycle needs a last goal of {link!r} that is its first')
        times = np.unique(np.concatenate([own for _, own, _ in keys]))
        targets = np.stack([_along(LINE, path, own, times, closed) for _, own, path in keys], 1)
        posture = robot.middle_configuration if rest is None else robot.checked(rest, 'rest')
        posture = np.clip(posture, robot.lower, robot.upper)
        solver, q = PostureSolver(robot, list(goals)), posture
        for _ in range(2 if closed else 1):  # a cycle begins anew where the first round ended
            poses = []
            for time, positions in zip(times, targets, strict=True):
                result = solver.solve(posture, positions, q)
                worst = int(np.argmax(result.position_errors))
                if result.position_errors[worst] > LARGEST_ERROR:
                    raise InvalidMotion(
                        f'key at {time:g} s: {keys[worst][0]} ends '
                        f'{100 * result.position_errors[worst]:.1f} cm from its goal'
                    )
                q = result.q
                poses.append(q)
        if closed:
            poses[0] = poses[-1]
        frames = cls(robot, times, poses, closed=closed)
        frames._goals = keys
        return frames

    def motion(self, rate: float = 60.0) -> Motion:
        """The motion (frames, n) at a rate [Hz], from the first pose to the last.

        The last frame is the latest that is not after the last pose.
        """
        number = exact_number(rate, float)
        if number is None or not 0.0 < number < math.inf:
            raise InvalidMotion(f'rate = {rate!r} [Hz]: a positive number is needed')
        span = (self.times[-1] - self.times[0]) * number
        if not span < MAX_FRAMES:
            raise InvalidMotion(f'rate = {rate!r} [Hz] makes more than {MAX_FRAMES} frames')
        count = math.floor(span + 1e-9) + 1
        at = self.times[0] + np.arange(count) / number
        return Motion(self.robot.joint_names, self._positions(at), 1.0 / number)

    def goal_paths(self, at: VectorLike) -> Array:
        """Positions of the tips (frames, tips, 3) [m] at times (frames,) [s]."""
        times = np.asarray(at, float)
        paths = [_along(LINE, path, own, times, self.closed) for _, own, path in self._goals]
        return np.stack(paths, axis=1)

    def within(self, velocity: float | VectorLike | None = None) -> KeyFrames:
        """The same key frames at times that let the joints keep their limits of velocity.

        velocity : [rad/s or m/s] one number or (n,), by default the limits of the robot

        Spans between two keys become longer, by as much as the fastest joint in them needs; none
        becomes shorter. Raises InvalidOption.
        """
        robot = self.robot
        given = robot.velocity if velocity is None else np.asarray(velocity, float)
        if given.shape not in ((), (robot.n,)) or not (given > 0.0).all():
            raise InvalidOption(
                f'velocity = {velocity!r}: a positive number, or {robot.n} of them, are needed'
            )
        stretched, best, least = self, self, math.inf
        for _ in range(STRETCHES + 1):
            excess = stretched._excess(given)
            most = max(1.0, float(excess.max()))
            duration = most * (stretched.times[-1] - stretched.times[0])
            if duration < least:
                best, factor, least = stretched, most, duration
            if most == 1.0:
                break
            stretched = stretched._stretched(np.maximum(excess, 1.0))
        return best if factor == 1.0 else best._slowed(factor)

    def save(self, path: str | Path) -> None:
        """Save the poses as CSV: their times [s] and joints. Raises OSError."""
        with Path(path).open('w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file, lineterminator='\n')
            writer.writerow(['time', *self.robot.joint_names])
            writer.writerows([time, *q] for time, q in zip(self.times, self.poses, strict=True))

    @classmethod
    def load(
        cls, path: str | Path, robot: Robot, *, tips: Names = (), closed: bool = False
    ) -> KeyFrames:
        """Load poses that `save` wrote. Raises InvalidMotion, with the line of the file."""
        names, _, numbers = read_table(Path(path))
        if sorted(names[1:]) != sorted(robot.joint_names):
            raise InvalidMotion(f'{path}, line 1: the joints of {robot.name!r} should be there')
        order = [names.index(joint) for joint in robot.joint_names]
        return cls(robot, numbers[:, 0], numbers[:, order], tips=tips, closed=closed)

    def _goals_of(self, tips: tuple[str, ...]) -> list[tuple[str, Array, Array]]:
        """Each tip with its times (k,) [s] and its positions (k, 3) [m] in the poses."""
        if not tips:
            return []
        paths = link_paths(self.robot, self.poses, tips)
        return [(tip, self.times, paths[:, i]) for i, tip in enumerate(tips)]

    def _between(self, at: Array) -> Array:
        """The joints (frames, n) at times (frames,) [s], before tips are corrected."""
        keys = self.poses[:, :, np.newaxis]  # each joint for itself
        positions = _along(LINE, keys, self.times, at, self.closed)[:, :, 0]
        for group in self.robot.joint_groups:
            turned = group.indices[-3:] if group.kind in ('ball', 'floating') else ()
            if turned:
                columns = list(turned)
                angles = self._turned(group, columns, at)
                if angles is not None:
                    positions[:, columns] = angles
        return np.clip(positions, self.robot.lower, self.robot.upper)

    def _turned(self, group: JointGroup, columns: list[int], at: Array) -> Array | None:
        """Angles (frames, 3) of a group, interpolated as a rotation.

        Returns None if they leave the limits or pass a singularity.
        """
        from scipy.spatial.transform import Rotation  # slow to import

        order, keys = group.rotation_order, self.poses[:, columns]
        space = Space(
            lambda a, b: (a.inv() * b).as_rotvec(), lambda a, by: a * Rotation.from_rotvec(by)
        )
        rotations = Rotation.from_euler(order, keys)
        asked = np.concatenate([at, self.times])
        turned = _along(space, rotations, self.times, asked, self.closed)
        in_turn = np.argsort(asked, kind='stable')
        angles = np.empty((len(asked), 3))
        angles[in_turn] = _angles(turned[in_turn], order, keys[0])
        lower, upper = self.robot.lower[columns], self.robot.upper[columns]
        inside = ((angles >= lower - SAME_ANGLE) & (angles <= upper + SAME_ANGLE)).all()
        exact = np.abs(angles[len(at) :] - keys).max() <= SAME_ANGLE
        return angles[: len(at)] if inside and exact else None

    def _positions(self, at: Array) -> Array:
        """The joints (frames, n) at times (frames,) [s]."""
        return self._through(*self._knots, at) if self.tips else self._between(at)

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Times (k,) [s] and joints (k, n) on the way of the tips, see the module."""
        times, joints = self.times, self._with_tips(self.times, self.poses)
        shortest = np.maximum(SHORTEST, np.diff(times) / MOST)
        spans = np.arange(len(times) - 1)  # those still to be halved
        while len(spans):
            at = 0.5 * (times[spans] + times[spans + 1])
            guesses = self._through(times, joints, at)
            found = self._with_tips(at, guesses)
            is_off = np.abs(found - guesses).max(axis=1) > KNOT_ERROR
            keys = np.searchsorted(self.times, at) - 1
            is_off &= times[spans + 1] - times[spans] > 2.0 * shortest[keys]
            times, joints = np.insert(times, spans + 1, at), np.insert(joints, spans + 1, found, 0)
            halves = (spans + np.arange(len(spans)))[is_off]
            spans = np.sort(np.concatenate([halves, halves + 1]))
        return times, joints

    def _with_tips(self, at: Array, starts: Array) -> Array:
        """The joints (frames, n) nearest to those between the poses with the tips on their curves,
        searched from `starts` (frames, n)."""
        solver, goals = PostureSolver(self.robot, self.tips), self.goal_paths(at)
        frames = zip(self._between(at), goals, starts, strict=True)
        return np.array([solver.solve(posture, to, start).q for posture, to, start in frames])

    def _through(self, times: Array, joints: Array, at: Array) -> Array:
        """The joints (frames, n) at times `at` (frames,) on a smooth curve through knots (k, n).

        The speed at a knot is that of the parabola through it and its neighbours, as far as the
        control points beside it are inside the limits.
        """
        robot, spans = self.robot, np.diff(times)[:, np.newaxis]
        means = np.diff(joints, axis=0) / spans
        before, after = np.vstack([spans[-1:], spans]), np.vstack([spans, spans[:1]])
        means_before, means_after = np.vstack([means[-1:], means]), np.vstack([means, means[:1]])
        speeds = (after * means_before + before * means_after) / (before + after)
        if not self.closed:
            speeds[[0, -1]] = 0.0  # at rest; the ends of a cycle go round
        room = np.minimum(robot.upper - joints, joints - robot.lower)
        most = 3.0 * np.maximum(room, 0.0) / np.maximum(before, after)
        found = _bezier(LINE, joints, times, np.clip(speeds, -most, most), at)
        return np.clip(found, robot.lower, robot.upper)

    def _excess(self, velocity: Array) -> Array:
        """The largest speed of a joint over its limit in each span (k - 1,) between two keys."""
        steps = math.ceil((self.times[-1] - self.times[0]) * FINE)
        at = np.linspace(self.times[0], self.times[-1], steps + 1)
        speeds = np.abs(np.diff(self._positions(at), axis=0)) / (at[1] - at[0])
        spans = np.searchsorted(self.times, 0.5 * (at[1:] + at[:-1])) - 1
        excess = np.zeros(len(self.times) - 1)
        np.maximum.at(excess, spans, (speeds / velocity).max(axis=1))
        return excess

    def _slowed(self, factor: float) -> KeyFrames:
        """The same motion at a lower speed."""
        slower = self._stretched(np.full(len(self.times) - 1, factor))
        if self.tips:
            times, joints = self._knots
            slower._knots = self.times[0] + factor * (times - self.times[0]), joints
        return slower

    def _stretched(self, factors: Array) -> KeyFrames:
        """The same key frames, with spans between two keys that are longer by these factors."""
        slower = copy.copy(self)
        slower.__dict__.pop('_knots', None)
        spans = np.diff(self.times) * factors
        slower.times = self.times[0] + np.concatenate([[0.0], np.cumsum(spans)])
        slower._goals = [
            (tip, np.interp(own, self.times, slower.times), path) for tip, own, path in self._goals
        ]
        return slower


class PostureSolver:
    """A solver for the posture nearest to a given one that brings links to given positions.

    It minimises sum |e|^2 + beta |q - posture|^2, [TakKo] Eq. 1, so it changes continuously with
    both, even if the links can't reach all of their positions. Sliding joints do not count in the
    posture.
    """

    def __init__(self, robot: Robot, links: Sequence[str]) -> None:
        weights = [BETA if unit == 'rad' else 0.0 for unit in robot.joint_units]
        self._goals = [PositionTask(link) for link in links]
        self._posture = PostureTask(robot.middle_configuration, weights=weights)
        self._problem = IkProblem(robot, [*self._goals, self._posture])
        self._solver = make_solver()

    def solve(self, posture: Array, positions: Array, start: Array) -> IkResult:
        """Find the posture nearest to `posture` (n,), from a start (n,), with the links at
        positions (links, 3) [m].
        """
        for goal, position in zip(self._goals, positions, strict=True):
            goal.set_target(position=position)
        self._posture.set_rest(posture)
        return self._solver.solve(self._problem, start)


def load_goals(path: str | Path) -> dict[str, tuple[Array, Array]]:
    """Read keys of links from a CSV file with the columns time [s], link, x, y, z [m].

    Returns times (k,) and positions (k, 3) by link. Raises InvalidMotion, with the line.
    """
    path = Path(path)
    rows = read_rows(path)
    if not rows or rows[0][1] != COLUMNS:
        raise InvalidMotion(f'{path}, line 1: the columns should be {",".join(COLUMNS)}')
    found: dict[str, list[list[float]]] = {}
    for line, row in rows[1:]:
        try:
            time, link, *position = row
            numbers = [float(text) for text in (time, *position)]
        except ValueError:
            numbers = []
        if len(numbers) != 4 or not np.isfinite(numbers).all():
            raise InvalidMotion(f'{path}, line {line}: a time, a link and x, y, z are needed')
        found.setdefault(link, []).append(numbers)
    keys = {link: np.array(sorted(rows)) for link, rows in found.items()}
    return {link: (rows[:, 0], rows[:, 1:]) for link, rows in keys.items()}


# --- curves --------------------------------------------------------------------------------------


class Space(NamedTuple):
    """Operations of arrays (..., k) or rotations: difference of two values, and moving by one."""

    difference: Callable[[Any, Any], Array]
    move: Callable[[Any, Array], Any]

    def mix(self, a: Any, b: Any, part: Array) -> Any:
        """The values at fractions `part` of the displacements from a to b."""
        displacement = self.difference(a, b)
        return self.move(a, part.reshape(-1, *[1] * (displacement.ndim - 1)) * displacement)


LINE = Space(lambda a, b: b - a, lambda a, by: a + by)


def _along(space: Space, keys: Any, times: Array, at: Array, closed: bool) -> Any:
    """The values at times `at` (frames,) [s] of the curve through keys at `times` (k,) [s]."""
    if len(times) == 1:
        return keys[np.zeros(len(at), int)]
    spans = np.diff(times)
    moves = space.difference(keys[:-1], keys[1:])
    per_span = spans.reshape(-1, *[1] * (moves.ndim - 1))
    return _bezier(space, keys, times, _speeds(moves / per_span, closed), at)


def _bezier(space: Space, keys: Any, times: Array, speeds: Array, at: Array) -> Any:
    """The values at times `at` (frames,) [s] of the curve with speeds (k, ..., m) at its keys."""
    spans = np.diff(times)
    i = np.clip(np.searchsorted(times, at, side='right') - 1, 0, len(spans) - 1)
    part = np.clip((at - times[i]) / spans[i], 0.0, 1.0)
    third = spans[i].reshape(-1, *[1] * (speeds.ndim - 1)) / 3.0
    start, end = keys[i], keys[i + 1]
    points = [
        start,
        space.move(start, third * speeds[i]),
        space.move(end, -third * speeds[i + 1]),
        end,
    ]
    while len(points) > 1:  # de Casteljau's algorithm
        points = [space.mix(a, b, part) for a, b in pairwise(points)]
    return points[0]


def _speeds(spans: Array, closed: bool) -> Array:
    """The velocities (k, ..., m) at keys, from the means of the spans (k - 1, ..., m) between."""
    end = np.zeros_like(spans[:1])
    before = np.concatenate([spans[-1:] if closed else end, spans])
    after = np.concatenate([spans, spans[:1] if closed else end])
    lengths = [np.linalg.norm(speed, axis=-1, keepdims=True) for speed in (before, after)]
    sums, total = before + after, lengths[0] + lengths[1]
    size = np.linalg.norm(sums, axis=-1, keepdims=True)
    onward = (before * after).sum(axis=-1, keepdims=True) > 0.0
    mean = 2.0 * lengths[0] * lengths[1] / np.where(total > 0.0, total, 1.0)
    result: Array = np.where(onward, mean * sums / np.where(size > 0.0, size, 1.0), 0.0)
    return result


def _angles(rotations: Any, order: str, first: Array) -> Array:
    """Euler angles (frames, 3) of rotations, each the nearest to those of the frame before."""
    own = rotations.as_euler(order, suppress_warnings=True)
    middle = -own[:, 1] if order[0] == order[2] else math.pi - own[:, 1]
    other = np.column_stack((own[:, 0] + math.pi, middle, own[:, 2] + math.pi))
    angles, last = np.empty_like(own), first
    for frame, choices in enumerate(zip(own, other, strict=True)):
        near = [choice - math.tau * np.round((choice - last) / math.tau) for choice in choices]
        last = angles[frame] = min(near, key=lambda choice: np.abs(choice - last).max())
    return angles


def _checked_times(times: VectorLike) -> Array:
    """Times (k,) [s], at least two, ascending. Raises InvalidMotion."""
    try:
        array = np.array(times, float)
    except (TypeError, ValueError):
        raise InvalidMotion(f'times: {times!r} are not made of numbers') from None
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all():
        raise InvalidMotion('times: two at least are needed, all of them finite')
    if (np.diff(array) <= 0.0).any():
        raise InvalidMotion(f'times: {array.tolist()} do not rise')
    return array


def _checked_goals(link: str, times: VectorLike, positions: MatrixLike) -> tuple[Array, Array]:
    """A link's times (k,) [s] and positions (k, 3) [m]; with a single one the link stays there.
    Raises InvalidMotion."""
    own, path = np.atleast_1d(np.array(times, float)), np.atleast_2d(np.array(positions, float))
    if own.ndim != 1 or path.shape != (len(own), 3) or not np.isfinite(path).all():
        raise InvalidMotion(
            f'goals of {link!r}: times (k,) and finite positions (k, 3) are needed'
        )
    return own if len(own) == 1 else _checked_times(own), path
