# SPDX-License-Identifier: Apache-2.0
"""`load_mocap` and `load_skeleton`: load motion capture files by their suffix."""

from __future__ import annotations

import os
from pathlib import Path

from ...exceptions import InvalidOption, MocapError
from ..motion import Motion
from ..robot import Robot
from .acclaim import read_motion, read_skeleton
from .bvh import read_bvh, read_frames
from .captured_skeleton import CapturedSkeleton, checked_positive

SUFFIXES = ('.asf', '.amc', '.bvh')


def load_mocap(
    path: str | os.PathLike[str],
    skeleton: str | os.PathLike[str] | None = None,
    *,
    rate: float | None = None,
    scale: float | None = None,
) -> tuple[Robot, Motion]:
    """Load the skeleton and the motion of an AMC or BVH file.

    skeleton : the ASF file of an AMC file; by default the file with the same name, or with the
        part before the underscore, as CMU names them: 124_01.amc, 124.asf
    rate : frames per second [Hz]; by default the file's, or 120 for AMC files without one, the
        rate of CMU's clips
    scale : metres per unit of length; by default that of the ASF file, or 0.01 for BVH

    The result is in metres and radians; the root link, 'world', is the file's world, usually with
    y up. The skeleton floats in it: six joints (x, y, z, then three angles). A joint of several
    angles is one of `Robot.joint_groups`, stacked in the order in which it turns. Limits are those
    of an ASF file; a motion keeps its angles even if they exceed the limits. Links for goals:
    'root' and the far ends of the bones, as 'lhand' (ASF); the joints, and the end sites as
    'lHand_end' (BVH). Raises MocapError, with the line, for an invalid file.
    """
    path = Path(path)
    period = None if rate is None else 1.0 / checked_positive(rate, 'rate', 'Hz')
    scale = None if scale is None else checked_positive(scale, 'scale', 'm')
    kind = _kind(path)
    if kind == '.bvh':
        if skeleton is not None:
            raise InvalidOption('a BVH file has its own skeleton: leave `skeleton` out')
        figure, nodes, lines = read_bvh(path, scale)
        return figure.robot, read_frames(figure, nodes, lines, period)
    if kind == '.asf':
        raise MocapError(f'{path.name} is a skeleton without motion: use load_skeleton')
    figure = read_skeleton(_skeleton_of(path) if skeleton is None else skeleton, scale)
    return figure.robot, read_motion(path, figure, period)


def load_skeleton(path: str | os.PathLike[str], *, scale: float | None = None) -> Robot:
    """Load the skeleton of an ASF or BVH file, as `load_mocap` makes it. Raises MocapError."""
    path = Path(path)
    scale = None if scale is None else checked_positive(scale, 'scale', 'm')
    figures = {'.asf': read_skeleton, '.bvh': lambda p, s: read_bvh(p, s)[0]}
    if _kind(path) not in figures:
        raise MocapError(f'{path.name} has no skeleton: give its ASF file')
    figure: CapturedSkeleton = figures[_kind(path)](path, scale)
    return figure.robot


def _kind(path: Path) -> str:
    """The suffix of a supported file. Raises MocapError."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise MocapError(f'{path.name}: {", ".join(SUFFIXES)} are supported')
    return kind


def _skeleton_of(path: Path) -> Path:
    """The ASF file that belongs to an AMC file."""
    if not path.is_file():
        raise MocapError(f'{path}: there is no such file')
    stems = dict.fromkeys([path.stem, path.stem.split('_')[0]])
    for stem in stems:
        for suffix in ('.asf', '.ASF'):
            if path.with_name(stem + suffix).is_file():
                return path.with_name(stem + suffix)
    missing = ' and no '.join(f'{stem}.asf' for stem in stems)
    raise MocapError(f'{path.name}: no {missing} is beside it; name its skeleton')
