# SPDX-License-Identifier: Apache-2.0
"""Acclaim files, as in CMU's motion capture database: the skeleton (ASF) and its motion (AMC).

A bone with angles t rotates its far end by M = Mp C R(t) C^-1, where Mp is the rotation of its
parent, C the bone's `axis`, and R = Rz Ry Rx for the axis order XYZ; the far end is at
M direction length from the parent's far end. Here the joint frame at a bone's near end is
Mp C R(t); the one at its far end, which has the bone's name, is M: at rest all of these are
parallel to the world.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..joints import WORLD, Joint
from ..motion import Motion
from .captured_skeleton import (
    MAX_BONES,
    CapturedSkeleton,
    make_figure,
    moving,
    rotation,
    translation,
)
from .text_lines import Lines, shown

ROOT = 'root'
INCH = 0.0254  # [m] lengths are inches, divided by `length` under `:units` (CMU: 0.45)

AMC_RATE = 120.0  # [Hz] of most of CMU's clips, whose AMC files contain no rate
RATE_WORD = ':samples-per-second'

ROOT_CHANNELS = ('TX', 'TY', 'TZ', 'RX', 'RY', 'RZ')
ANGLES = {'deg': math.pi / 180.0, 'rad': 1.0}


@dataclass
class Bone:
    """A bone as in the file; `line` is where it begins."""

    line: int
    name: str = ''
    direction: Sequence[float] = ()
    length: float | None = None
    axis: Sequence[float] = ()
    axis_order: str = ''
    channels: list[str] = field(default_factory=list)
    limits: list[tuple[float, float]] = field(default_factory=list)
    parent: str = ''


@dataclass
class Skeleton:
    """The content of an ASF file, in its units `length` and `angle`."""

    length: float = 1.0
    angle: float = ANGLES['deg']
    root_order: list[str] = field(default_factory=lambda: list(ROOT_CHANNELS))
    root_axis: str = 'XYZ'
    bones: dict[str, Bone] = field(default_factory=dict)


def read_skeleton(path: str | os.PathLike[str], scale: float | None = None) -> CapturedSkeleton:
    """Read the skeleton of an ASF file.

    scale : metres per unit of length, by default that of the file

    Raises MocapError.
    """
    lines = Lines(path, comment='#')
    skeleton = Skeleton()
    sections: dict[str, Callable[[Lines, Skeleton], None]] = {
        ':units': _read_units,
        ':root': _read_root,
        ':bonedata': _read_bones,
        ':hierarchy': _read_hierarchy,
    }
    for words in lines:
        read = sections.get(words[0].lower())
        if read is not None:
            read(lines, skeleton)
    if not skeleton.bones:
        raise lines.error('the file has no :bonedata')
    _check_hierarchy(lines, skeleton)
    return _figure(lines.path.stem, skeleton, scale or INCH / skeleton.length)


def read_motion(
    path: str | os.PathLike[str], figure: CapturedSkeleton, period: float | None
) -> Motion:
    """Read the motion of an AMC file for its skeleton.

    period : time between frames [s]; by default that of the file, or of AMC_RATE if it has none

    Raises MocapError.
    """
    lines = Lines(path, comment='#')
    frames: list[list[float]] = []
    first, rate = 0, AMC_RATE
    for words in lines:
        if words[0].lower() == RATE_WORD:
            rate = _rate(lines, words[1:])
        elif words[0].startswith(':'):
            figure = replace(figure, radians=ANGLES.get(words[0][1:4].lower(), figure.radians))
        else:
            number = _frame_number(lines, words)
            first = first if frames else number
            if number != first + len(frames):
                raise lines.error(f'frame {number} where {first + len(frames)} should follow')
            frames.append(_read_frame(lines, figure))
    if not frames:
        raise lines.error('the file has no frames')
    return figure.motion(frames, period or 1.0 / rate)


# --- the sections of an ASF file ----------------------------------------------------------------


def _read_units(lines: Lines, skeleton: Skeleton) -> None:
    for words in _section(lines):
        if words[0] == 'length':
            (skeleton.length,) = lines.numbers(words[1:], 'length', 1)
            if skeleton.length < 1e-6:
                raise lines.error(f'length {skeleton.length:g} must be positive')
        elif words[0] == 'angle':
            unit = ' '.join(words[1:]).lower()[:3]
            if unit not in ANGLES:
                raise lines.error(f'angle {shown(unit)}: deg or rad is needed')
            skeleton.angle = ANGLES[unit]


def _read_root(lines: Lines, skeleton: Skeleton) -> None:
    for words in _section(lines):
        if words[0] == 'order':
            skeleton.root_order = [word.upper() for word in words[1:]]
            if sorted(skeleton.root_order) != sorted(ROOT_CHANNELS):
                raise lines.error(f'order: {" ".join(ROOT_CHANNELS)} are needed, in any order')
        elif words[0] == 'axis':
            skeleton.root_axis = _axis_order(lines, words[1:])
        elif words[0] in ('position', 'orientation') and any(lines.numbers(words[1:], words[0])):
            raise lines.error(f'{words[0]}: only 0 0 0 is supported')


def _read_bones(lines: Lines, skeleton: Skeleton) -> None:
    for words in _section(lines):
        if words != ['begin']:
            raise lines.error(f"{shown(' '.join(words))} where a bone should 'begin'")
        bone = _read_bone(lines)
        if bone.name in skeleton.bones or bone.name == ROOT:
            raise lines.error(f'a second bone is called {bone.name!r}')
        skeleton.bones[bone.name] = bone
        if len(skeleton.bones) > MAX_BONES:
            raise lines.error(f'more than {MAX_BONES} bones')


def _read_bone(lines: Lines) -> Bone:
    bone = Bone(lines.number)
    for words in lines:
        key, values = words[0], words[1:]
        if key == 'end':
            _check_bone(lines, bone)
            return bone
        if key.startswith((':', 'begin')):
            break
        if key == 'name':
            bone.name = lines.name(values, 'name')
        elif key == 'direction':
            bone.direction = lines.numbers(values, key, 3)
        elif key == 'length':
            (bone.length,) = lines.numbers(values, key, 1)
        elif key == 'axis':
            bone.axis_order = _axis_order(lines, values[3:])
            bone.axis = lines.numbers(values[:3], key, 3)
        elif key == 'dof':
            bone.channels = _channels(lines, values)
        elif key == 'limits' or key.startswith('('):
            bone.limits.append(_limits(lines, values if key == 'limits' else words))
    raise lines.error(f"the bone that begins in line {bone.line} does not 'end'")


def _check_bone(lines: Lines, bone: Bone) -> None:
    """Check the required fields of a bone. Raises MocapError."""
    parts = {
        'name': bone.name,
        'direction': bone.direction,
        'length': bone.length is not None,
        'axis': bone.axis,
    }
    for part, given in parts.items():
        if not given:
            raise lines.error(f'bone {bone.name!r} has no {part}')
    if bone.limits and len(bone.limits) != len(bone.channels):
        raise lines.error(
            f'bone {bone.name!r} has {len(bone.limits)} limits for {len(bone.channels)} dof'
        )


def _axis_order(lines: Lines, words: Sequence[str]) -> str:
    order = ' '.join(words).upper()
    if sorted(order) != ['X', 'Y', 'Z']:
        raise lines.error(f'axis: {shown(order)} where an order such as XYZ is needed')
    return order


def _channels(lines: Lines, words: Sequence[str]) -> list[str]:
    channels = [word.upper() for word in words]
    if not set(channels) <= set(ROOT_CHANNELS[3:]) or len(set(channels)) < len(channels):
        raise lines.error(f'dof {shown(" ".join(words))}: rx, ry and rz are known, each once')
    return channels


def _limits(lines: Lines, words: Sequence[str]) -> tuple[float, float]:
    """Two numbers in brackets, in the unit of the file; -inf and inf mean no limit."""
    inside = ' '.join(words).strip('()').split()
    ends = [word for word in inside if word.lower() not in ('-inf', 'inf', '+inf')]
    lines.numbers(ends, 'limits')
    if len(inside) != 2 or float(inside[0]) > float(inside[1]):
        raise lines.error(f'limits {shown(" ".join(words))}: (lower upper) is needed')
    return float(inside[0]), float(inside[1])


def _read_hierarchy(lines: Lines, skeleton: Skeleton) -> None:
    for words in _section(lines):
        parent, children = words[0], words[1:]
        if words in (['begin'], ['end']):
            continue
        for name in words:
            if name not in skeleton.bones and (name != ROOT or name in children):
                raise lines.error(f'{shown(name)} is not a bone of :bonedata')
        for child in children:
            if skeleton.bones[child].parent:
                raise lines.error(f'bone {child!r} has a second parent')
            skeleton.bones[child].parent = parent


def _section(lines: Lines) -> Iterator[list[str]]:
    """Yield the lines up to the next section, whose first line is left unread."""
    for words in lines:
        if words[0].startswith(':'):
            lines.unread()
            return
        yield words


def _check_hierarchy(lines: Lines, skeleton: Skeleton) -> None:
    """Raise MocapError if a bone is not connected to the root."""
    bones = skeleton.bones
    hanging = {ROOT}
    for bone in bones.values():
        path: list[str] = []
        name = bone.name
        while name in bones and name not in hanging and len(path) <= len(bones):
            path.append(name)
            name = bones[name].parent
        if name not in hanging:
            raise lines.error(f'bone {bone.name!r} is not connected to the root', bone.line)
        hanging.update(path)


# --- the skeleton, and the frames of an AMC file -------------------------------------------------


def _figure(name: str, skeleton: Skeleton, scale: float) -> CapturedSkeleton:
    order = skeleton.root_axis[::-1]
    joints = [moving(ROOT, WORLD, ROOT, np.eye(4), order, floating=True)]
    channels: dict[str, Sequence[str]] = {ROOT: skeleton.root_order}
    for bone in skeleton.bones.values():
        joints += _bone_joints(bone, scale, skeleton.angle)
        channels[bone.name] = bone.channels
    return make_figure(name, joints, channels, scale, skeleton.angle)


def _bone_joints(bone: Bone, scale: float, radians: float) -> list[Joint]:
    """The joint at a bone's near end, and the fixed joint from there to its far end.

    Values are in the order of `dof`, rotations in that of the axis; the last one to turn is the
    first joint from the root.
    """
    order = ''.join(axis for axis in bone.axis_order[::-1] if f'R{axis}' in bone.channels)
    axes = rotation(bone.axis_order, radians * np.array(bone.axis))
    turned = dict(zip(bone.channels, radians * np.array(bone.limits), strict=False))
    limits = [tuple(turned[f'R{axis}'].tolist()) for axis in order] if turned else None
    near = f'{bone.name}_near'
    length = scale * (bone.length or 0.0) * np.array(bone.direction)
    return [
        moving(bone.name, bone.parent, near, axes, order, limits),
        Joint(f'{bone.name}_bone', 'fixed', near, bone.name, axes.T @ translation(length)),
    ]


def _rate(lines: Lines, words: Sequence[str]) -> float:
    (rate,) = lines.numbers(words, 'samples per second', 1)
    if not 1e-3 <= rate <= 1e6:
        raise lines.error(f'{rate:g} samples per second: a positive number is needed')
    return rate


def _frame_number(lines: Lines, words: Sequence[str]) -> int:
    if len(words) != 1 or not (words[0].isascii() and words[0].isdigit() and len(words[0]) < 10):
        raise lines.error(f'{shown(" ".join(words))} where the number of a frame should stand')
    return int(words[0])


def _read_frame(lines: Lines, figure: CapturedSkeleton) -> list[float]:
    """Read the lines of one frame, up to the number of the next. Raises MocapError."""
    row = [0.0] * figure.robot.n
    missing = set(figure.columns)
    for words in lines:
        name = words[0]
        if len(words) == 1:
            lines.unread()
            break
        if name not in missing:
            known = name in figure.columns
            reason = 'a second time in this frame' if known else 'no bone of the skeleton moves so'
            raise lines.error(f'{shown(name)}: {reason}')
        missing.remove(name)
        columns = figure.columns[name]
        for i, value in zip(columns, lines.numbers(words[1:], name, len(columns)), strict=True):
            row[i] = value
    if missing:
        raise lines.error(f'the frame lacks {", ".join(sorted(missing))}')
    return row
