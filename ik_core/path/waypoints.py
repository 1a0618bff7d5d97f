# SPDX-License-Identifier: Apache-2.0
"""Poses joined by straight lines and slerp: a path of the tip, and its parameter.

The parameter u of a path is its length [m], a radian counted as the problem's orientation length;
or the time since the first pose [s], if the poses have times. The *samples* of a path are its
poses and points between them, so close to each other that solutions can be joined by comparing
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import TransformsLike, VectorLike
from ..maths.rotations import Array, IntArray, relative_logs
from ..maths.transforms import checked_transforms

MOST_POSES = 100_000
MOST_SAMPLES = 200_000
FARTHEST, WIDEST = 0.02, 0.05  # [m, rad] between neighbouring samples
SAME_LENGTH, SAME_ANGLE = 1e-9, 1e-9  # [m, rad] poses that differ by less are equal


@dataclass(frozen=True, eq=False)
class Waypoints:
    """A path of the tip through N poses that differ, each from the one before.

    transforms (N, 4, 4) : the poses [m]
    places (N,) : the path's parameter there, rising
    poses (N,) : the indices of the poses as they were given, or arguments of a function; what is
        before and after the given ones has indices, too
    turns (N - 1, 3) : rotation vectors [rad] from each pose to the next, in the axes of the former
    timed : whether the parameter is the time [s], rather than a length [m]
    given (M,) : the indices or arguments of all poses that were given, with equal ones
    """

    transforms: Array
    places: Array
    poses: Array
    turns: Array
    timed: bool
    given: Array

    @property
    def length(self) -> float:
        """The range of the parameter [m or s]."""
        return float(self.places[-1] - self.places[0])

    def at(self, places: Array) -> Array:
        """The poses (M, 4, 4) at these values (M,) of the parameter."""
        i, part = self._between(places)
        result = np.empty((len(places), 4, 4))
        result[:] = np.eye(4)
        start, end = self.transforms[i, :3, 3], self.transforms[i + 1, :3, 3]
        result[:, :3, 3] = start + part[:, np.newaxis] * (end - start)
        turned = rotations(part[:, np.newaxis] * self.turns[i])
        result[:, :3, :3] = self.transforms[i, :3, :3] @ turned
        exact = part == 1.0
        result[exact] = self.transforms[i[exact] + 1]
        return result

    @property
    def given_places(self) -> Array:
        """The path's parameter at all poses as they were given, equal ones included."""
        return self.places[np.searchsorted(self.poses, self.given, 'right') - 1]

    def pose_at(self, place: float) -> float:
        """The index of the pose at a value of the parameter, with a fraction between poses."""
        i, part = self._between(np.array([place]))
        first, last = self.poses[i[0]], self.poses[i[0] + 1]
        return float(first + part[0] * (last - first))

    def rates(self, places: Array) -> tuple[Array, Array]:
        """The speeds (M,) of the target per unit of the parameter: [m] and [rad] per [m or s]."""
        i, _ = self._between(places)
        shift = np.linalg.norm(np.diff(self.transforms[:, :3, 3], axis=0), axis=1)
        step = np.diff(self.places)
        return (shift / step)[i], (np.linalg.norm(self.turns, axis=1) / step)[i]

    def corners(self, within: float, radius: float, orientation_length: float) -> Array:
        """The parameter (k,) at corners that an arc within a distance [m] of them would round with
        less than a radius [m]; a radian counts as the orientation length."""
        turned = np.einsum('nij,nj->ni', self.transforms[:-1, :3, :3], self.turns)
        steps = np.hstack(
            [np.diff(self.transforms[:, :3, 3], axis=0), orientation_length * turned]
        )
        steps /= np.linalg.norm(steps, axis=1)[:, np.newaxis]
        cosine = np.sqrt(0.5 + 0.5 * np.clip((steps[:-1] * steps[1:]).sum(axis=1), -1.0, 1.0))
        return self.places[1:-1][within * cosine < radius * (1.0 - cosine)]  # of half the angle

    def samples(self) -> Array:
        """The parameter (M,) of all poses and of points between them, see the module."""
        shift = np.linalg.norm(np.diff(self.transforms[:, :3, 3], axis=0), axis=1)
        turn = np.linalg.norm(self.turns, axis=1)
        count = np.ceil(np.maximum(shift / FARTHEST, turn / WIDEST) - 1e-9)
        count = np.maximum(count, 1).astype(int)
        if count.sum() > MOST_SAMPLES:
            i = int(np.argmax(count))
            raise InvalidGoal(
                f'the path is too long: {shift.sum():.4g} m and {turn.sum():.4g} rad, of which '
                f'{shift[i]:.4g} m and {turn[i]:.4g} rad are from pose {self.poses[i]:g} to '
                f'{self.poses[i + 1]:g}; are its positions in metres?'
            )
        return divided(self.places, count)

    def _between(self, places: Array) -> tuple[IntArray, Array]:
        """The poses (M,) before values of the parameter, and the fractions (M,) of the steps."""
        i = np.clip(np.searchsorted(self.places, places, 'right') - 1, 0, len(self.places) - 2)
        step = self.places[i + 1] - self.places[i]
        return i, np.clip((places - self.places[i]) / step, 0.0, 1.0)


def divided(places: Array, counts: IntArray) -> Array:
    """Values (M,) with each interval of places (N,) divided into as many parts as counts (N - 1,)
    says."""
    first = np.cumsum(counts) - counts
    index = np.repeat(np.arange(len(counts)), counts)
    part = (np.arange(len(index)) - first[index]) / counts[index]
    return np.append(places[index] + part * np.diff(places)[index], places[-1])


def waypoints(
    poses: TransformsLike,
    times: VectorLike | None,
    root: str,
    orientation_length: float,
    *,
    approach: float = 0.0,
    retreat: float = 0.0,
    is_closed: bool = False,
    given: Array | None = None,
) -> Waypoints:
    """Check the poses of a path, N of what `ik_core.transform` takes, and their times [s] (N,).

    root : required frame of stamped messages
    orientation_length : length that a radian counts as [m/rad]
    approach, retreat : how far before the first pose the path begins, and how far before the last
        one it ends, along their z axes [m]
    is_closed : whether the path returns to its first pose
    given (N,) : names of the poses, rising numbers; by default their indices

    Raises InvalidGoal, InvalidOption.
    """
    transforms = checked_transforms(poses, root, name='poses')
    count = len(transforms)
    if count < 2:
        raise InvalidGoal(
            f'poses: a path needs two poses or more, and {count} is given; for one pose use '
            'ik.solve, or ik.solve_all'
        )
    if count > MOST_POSES:
        raise InvalidGoal(
            f'poses: {count:,} are more than {MOST_POSES:,}; leave some out, since straight '
            f'lines between every {-(-count // MOST_POSES)}th of them are about the same path'
        )
    names = given = np.arange(float(count)) if given is None else given
    if times is not None:
        if is_closed and _differ(transforms[[-1, 0]]).any():
            raise InvalidGoal(
                'poses: with closed=True and times the last pose has to equal the first one; '
                'append it, with its time'
            )
        places = _checked_times(times, count)
        places -= places[0]  # stamps since 1970 would have no digits left for derivatives
        return Waypoints(transforms, places, names, _turns(transforms), True, given)
    differ = _differ(transforms)
    if not differ.any():
        raise InvalidGoal(f'poses: all {count} are equal, so there is no path between them')
    kept = np.concatenate([[True], differ])
    transforms, names = transforms[kept], names[kept]
    if approach > 0.0:
        transforms = np.concatenate([_backed_off(transforms[0], approach), transforms])
        names = np.insert(names, 0, given[0] - 1.0)
    if is_closed and _differ(transforms[[-1, 0]]).any():
        transforms = np.concatenate([transforms, transforms[:1]])
        names = np.append(names, given[-1] + 1.0)
    if retreat > 0.0:
        transforms = np.concatenate([transforms, _backed_off(transforms[-1], retreat)])
        names = np.append(names, given[-1] + 1.0)
    turns = _turns(transforms)
    shift = np.linalg.norm(np.diff(transforms[:, :3, 3], axis=0), axis=1)
    step = np.hypot(shift, orientation_length * np.linalg.norm(turns, axis=1))
    places = np.concatenate([[0.0], np.cumsum(step)])
    return Waypoints(transforms, places, names, turns, False, given)


def rotations(vectors: Array) -> Array:
    """The rotation matrices (M, 3, 3) of rotation vectors (M, 3) [rad]."""
    angle = np.linalg.norm(vectors, axis=1)
    sine = np.sinc(angle / np.pi)  # sin(angle) / angle
    cosine = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2  # (1 - cos(angle)) / angle^2
    x, y, z = vectors.T
    cross = np.zeros((len(vectors), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -z, y, -x
    cross[:, 1, 0], cross[:, 2, 0], cross[:, 2, 1] = z, -y, x
    result = sine[:, None, None] * cross + cosine[:, None, None] * (cross @ cross)
    return result + np.eye(3)


def _differ(transforms: Array) -> NDArray[np.bool_]:
    """Return whether each pose but the first differs from the one before (N - 1,)."""
    shift = np.linalg.norm(np.diff(transforms[:, :3, 3], axis=0), axis=1)
    angle = np.linalg.norm(_turns(transforms), axis=1)
    return np.asarray((shift > SAME_LENGTH) | (angle > SAME_ANGLE))


def _backed_off(pose: Array, distance: float) -> Array:
    """The pose (1, 4, 4) at a distance [m] behind a pose (4, 4), along its z axis."""
    behind = pose[np.newaxis].copy()
    behind[0, :3, 3] -= distance * pose[:3, 2]
    return behind


def _turns(transforms: Array) -> Array:
    """The rotation vectors (N - 1, 3) from each pose (N, 4, 4) to the next."""
    frames = np.ascontiguousarray(transforms[:, :3, :3]).reshape(-1, 9)
    vectors = np.empty((len(frames) - 1, 3))
    relative_logs(frames[:-1].copy(), frames[1:].copy(), vectors)
    return vectors


def _checked_times(times: VectorLike, count: int) -> Array:
    """The times (N,) as an array. Raises InvalidOption."""
    try:
        given = np.array(times, float)
    except (TypeError, ValueError) as error:
        raise InvalidOption(f'times are not numbers: {error}') from None
    if given.shape != (count,):
        raise InvalidOption(f'times have shape {given.shape}; ({count},), one a pose, is needed')
    if not np.isfinite(given).all():
        raise InvalidOption(f'times[{int(np.argmin(np.isfinite(given)))}] is not finite')
    back = np.diff(given) <= 0.0
    if back.any():
        i = int(np.argmax(back))
        raise InvalidOption(
            f'times have to rise, but go from {given[i]:g} s at pose {i} to {given[i + 1]:g} s at '
            f'pose {i + 1}'
        )
    return given
