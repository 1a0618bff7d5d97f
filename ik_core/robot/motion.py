# SPDX-License-Identifier: Apache-2.0
"""A motion: joint positions at a fixed rate, such as a captured or a demonstrated one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from ..exceptions import InvalidMotion
from ..maths.argument_types import MatrixLike, Names
from ..maths.rotations import Array
from .robot import Robot

MAX_FRAMES = 10_000_000  # more frames mean that the period is a mistake


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint positions at frames that are `period` [s] apart.

    joint_names : (n,) names, all different
    positions   : (frames, n) [rad or m], at least one frame, finite; kept read-only
    period      : time from frame to frame [s], positive

    `motion[i]` is one frame (n,), `motion[first:last]` a part of the motion, and
    `motion[::step]` every step-th frame. Raises InvalidMotion.
    """

    joint_names: tuple[str, ...]
    positions: Array
    period: float

    if TYPE_CHECKING:  # what is converted

        def __init__(self, joint_names: Names, positions: MatrixLike, period: float) -> None: ...

    def __post_init__(self) -> None:
        names = tuple(self.joint_names)
        object.__setattr__(self, 'joint_names', names)
        object.__setattr__(self, 'positions', _checked_positions(self.positions, names))
        object.__setattr__(self, 'period', _checked_period(self.period))

    def __repr__(self) -> str:
        frames = f'{self.n_frames} frames at {self.rate:g} Hz'
        return f'<Motion of {len(self.joint_names)} joints: {frames}>'

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> Motion: ...

    def __getitem__(self, index: int | slice) -> Array | Motion:
        if not isinstance(index, slice):
            return self.positions[index]
        step = 1 if index.step is None else abs(index.step)
        return replace(self, positions=self.positions[index], period=step * self.period)

    @property
    def n_frames(self) -> int:
        """The number of frames."""
        return len(self.positions)

    @property
    def duration(self) -> float:
        """The time [s] from the first frame to the last."""
        return (self.n_frames - 1) * self.period

    @property
    def rate(self) -> float:
        """Frames per second [Hz]."""
        return 1.0 / self.period

    def resampled(self, period: float) -> Motion:
        """The motion with another time `period` between frames [s], beginning at the same frame.

        Positions are interpolated linearly, so jumps by whole turns have to be removed first, by
        `unwrapped`. The last frame is the latest that is not after the end.
        """
        period = _checked_period(period)
        count = self.duration / period + 1e-9
        if count > MAX_FRAMES:
            raise InvalidMotion(f'period {period!r} [s] makes more than {MAX_FRAMES} frames')
        times = period / self.period * np.arange(math.floor(count) + 1)
        frames = np.arange(self.n_frames)
        columns = [np.interp(times, frames, column) for column in self.positions.T]
        return replace(self, positions=np.stack(columns, axis=1), period=period)

    def unwrapped(self, joints: Names | None = None) -> Motion:
        """The same postures without jumps by whole turns: each angle changes by less than pi.

        `joints` names the joints that turn; by default all do. Sliding joints among them are left
        alone if they move less than pi metres from frame to frame.
        """
        columns = self._columns(self.joint_names if joints is None else joints, 'joints')
        positions = self.positions.copy()
        positions[:, columns] = np.unwrap(positions[:, columns], axis=0)
        return replace(self, positions=positions)

    def positions_of(self, robot: Robot) -> Array:
        """Positions (frames, robot.n) of a robot's joints, found by their names.

        Joints of the motion that the robot does not have are left out. Raises InvalidMotion if a
        joint of the robot is missing.
        """
        return self.positions[:, self._columns(robot.joint_names, f'robot {robot.name!r}')]

    def to_rerun(self, path: str | Path, robot: Robot | None = None) -> None:
        """Write the motion as a recording of Rerun (.rrd), which `rerun FILE` shows.

        Each joint is a curve over time, `joints/NAME` [rad or m]. With a robot its bodies move as
        well, with the shapes of its URDF and the paths of its tips, below `robot`.

        Raises InvalidOption without rerun-sdk (extra `rerun`), with the command that installs it,
        or for another suffix; InvalidMotion if a joint of the robot is missing; OSError.
        """
        import_module('ik_viewer.rerun_file').write(self, path, robot)

    def _columns(self, names: Names, asked_by: str) -> list[int]:
        index = {name: i for i, name in enumerate(self.joint_names)}
        missing = [name for name in names if name not in index]
        if missing:
            raise InvalidMotion(
                f'{asked_by}: the motion does not move {_listed(missing)}; '
                f'it moves {_listed(self.joint_names)}'
            )
        return [index[name] for name in names]


def _checked_positions(positions: object, names: tuple[str, ...]) -> Array:
    """Return `positions` as a new read-only array (frames, n) of finite numbers."""
    try:
        array = np.array(positions, float, order='C')
    except (TypeError, ValueError) as error:
        raise InvalidMotion(f'the positions are not an array of numbers: {error}') from None
    if array.ndim != 2 or not array.size or array.shape[1] != len(names):
        raise InvalidMotion(
            f'the positions have shape {array.shape}; (frames, {len(names)}) is needed for '
            f'{len(names)} joints, with at least one frame and joint'
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidMotion(f'joints named twice: {_listed(twice)}')
    if not np.isfinite(array).all():
        frame, joint = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InvalidMotion(f'the position of {names[joint]!r} at frame {frame} is not finite')
    array.flags.writeable = False
    return array


def _checked_period(period: object) -> float:
    """Return `period` [s] as a float from 1e-9 to 1e9, whose inverse is finite, too."""
    try:
        value = float(period)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = math.nan
    if not 1e-9 <= value <= 1e9:
        raise InvalidMotion(f'period {period!r} [s] must be a number from 1e-9 to 1e9')
    return value


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(map(str, names[:most])) + more if names else 'no joint'
