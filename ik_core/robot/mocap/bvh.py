# SPDX-License-Identifier: Apache-2.0
"""BVH files: nested joints with offsets and channels, and frames with the values of all channels.

A joint turns about its channels' axes in their order, each carried by the ones before. Its link is
at its own origin; an end site is a link '<joint>_end'. Position channels replace the OFFSET, as in
files that have both. Units are centimetres and degrees; there are no limits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np

from ..joints import WORLD, Joint
from ..motion import Motion
from .captured_skeleton import MAX_BONES, CapturedSkeleton, make_figure, moving, translation
from .text_lines import Lines, shown

CENTIMETRE = 0.01
CHANNELS = {
    f'{axis.lower()}{word}': f'{kind}{axis}'
    for axis in 'XYZ'
    for word, kind in (('position', 'T'), ('rotation', 'R'))
}
POSITIONS = {'TX', 'TY', 'TZ'}


@dataclass
class Node:
    """A joint or an end site; channels are 'TX' for Xposition, 'RZ' for Zrotation, and so on."""

    line: int
    name: str
    parent: Node | None
    offset: Sequence[float] = ()
    channels: Sequence[str] = ()
    is_end: bool = False


def read_bvh(
    path: str | os.PathLike[str], scale: float | None = None
) -> tuple[CapturedSkeleton, list[Node], Lines]:
    """Read the skeleton of a BVH file; return also its nodes and the remaining lines, the input of
    `read_frames`.

    scale : metres per unit of length, by default 0.01

    Raises MocapError.
    """
    lines = Lines(path)
    nodes = _Hierarchy(lines).read()
    scale = CENTIMETRE if scale is None else scale
    joints = [_joint(node, scale) for node in nodes]
    channels = {node.name: node.channels for node in nodes if not node.is_end}
    return make_figure(lines.path.stem, joints, channels, scale, math.pi / 180.0), nodes, lines


def read_frames(
    figure: CapturedSkeleton, nodes: Sequence[Node], lines: Lines, period: float | None = None
) -> Motion:
    """Read the motion below MOTION; `period` [s] replaces that of the file. Raises MocapError."""
    n_frames = _header(lines, ['frames:'])
    file_period = _header(lines, ['frame', 'time:'])
    if period is None and not 1e-6 <= file_period <= 1e6:
        raise lines.error(f'Frame Time {file_period:g} [s] must be a number from 1e-6 to 1e6')
    order = [i for node in nodes if node.channels for i in figure.columns[node.name]]
    if not order:
        raise lines.error('no joint has channels')
    frames = [lines.numbers(words, 'a frame', len(order)) for words in lines]
    if len(frames) != n_frames or not frames:
        raise lines.error(f'{len(frames)} frames follow where Frames: says {n_frames:g}')
    rows = np.empty((len(frames), len(order)))
    rows[:, order] = frames
    return figure.motion(rows, file_period if period is None else period)


class _Hierarchy:
    """Parser of the nested joints, line by line."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.nodes: list[Node] = []
        self._open: list[Node] = []
        self._needs_brace = False

    def read(self) -> list[Node]:
        """All joints and end sites, parents first, up to MOTION."""
        if (self.lines.read() or [''])[0].upper() != 'HIERARCHY':
            raise self.lines.error('a BVH file begins with HIERARCHY')
        for words in self.lines:
            if words[0].upper() == 'MOTION':
                break
            self._take(words)
        else:
            raise self.lines.error('the file ends before MOTION')
        if self._open or not self.nodes:
            missing = "a '}' is missing" if self.nodes else 'there is no ROOT'
            raise self.lines.error(f'{missing} before MOTION')
        return self.nodes

    def _take(self, words: list[str]) -> None:
        key = words[0].upper()
        if (key == '{') is not self._needs_brace:
            needed = "a '{'" if self._needs_brace else 'something else'
            raise self.lines.error(f'{shown(words[0])} where {needed} should stand')
        if key == '{':
            self._needs_brace = False
        elif key in ('ROOT', 'JOINT', 'END'):
            self._begin(key, words[1:])
        elif key == '}' and self._open:
            self._end(self._open.pop())
        elif key == 'OFFSET' and self._open:
            self._open[-1].offset = self.lines.numbers(words[1:], 'OFFSET', 3)
        elif key == 'CHANNELS' and self._open:
            self._open[-1].channels = self._channels(words[1:])
        else:
            raise self.lines.error(
                f'{shown(words[0])}: ROOT, JOINT, End Site, OFFSET, CHANNELS and braces are known'
            )

    def _begin(self, key: str, words: list[str]) -> None:
        self._needs_brace = words[-1:] != ['{']
        words = words if self._needs_brace else words[:-1]
        parent = self._open[-1] if self._open else None
        if (key == 'ROOT') is not (parent is None) or (key == 'ROOT' and self.nodes):
            raise self.lines.error('one ROOT is needed, and all other joints inside of it')
        if parent is not None and parent.is_end:
            raise self.lines.error('an End Site can hold no joint')
        name = self._end_name(parent) if key == 'END' else self.lines.name(words, key)
        if any(node.name == name for node in self.nodes):
            raise self.lines.error(f'a second joint is called {name!r}')
        self.nodes.append(Node(self.lines.number, name, parent, is_end=key == 'END'))
        self._open.append(self.nodes[-1])
        if len(self.nodes) > MAX_BONES:
            raise self.lines.error(f'more than {MAX_BONES} joints')

    def _end_name(self, parent: Node | None) -> str:
        """'<joint>_end', with a number appended for further end sites of the joint."""
        taken = {node.name for node in self.nodes}
        name = f'{parent.name}_end' if parent else ''
        return next(n for n in chain([name], (f'{name}{i}' for i in count(2))) if n not in taken)

    def _end(self, node: Node) -> None:
        if not node.offset:
            raise self.lines.error(f'{node.name!r} has no OFFSET')

    def _channels(self, words: list[str]) -> list[str]:
        channels = [CHANNELS.get(word.lower(), '') for word in words[1:]]
        turns = [channel for channel in channels if channel[:1] == 'R']
        shifts = [channel for channel in channels if channel[:1] == 'T']
        whole = len(turns) == 3 and len(shifts) == 3 and set(shifts) == POSITIONS
        known = len(turns) + len(shifts) == len(channels) == len(set(channels))
        if not known or not (whole or not shifts) or words[:1] != [str(len(channels))]:
            raise self.lines.error(
                f'CHANNELS {shown(" ".join(words))}: the number of channels is needed, then up to '
                'three rotations, each once, or all three positions and all three rotations'
            )
        if self._open[-1].is_end and channels:
            raise self.lines.error('an End Site has no channels')
        return channels


def _joint(node: Node, scale: float) -> Joint:
    """The joint at the origin of a node; position channels replace its offset."""
    order = ''.join(channel[1] for channel in node.channels if channel[0] == 'R')
    floating = 'TX' in node.channels
    offset = np.zeros(3) if floating else scale * np.array(node.offset)
    parent = WORLD if node.parent is None else node.parent.name
    return moving(node.name, parent, node.name, translation(offset), order, floating=floating)


def _header(lines: Lines, keys: Sequence[str]) -> float:
    """The number in the next line, after the given keys. Raises MocapError."""
    words = lines.read() or []
    if [word.lower() for word in words[: len(keys)]] != list(keys):
        raise lines.error(f'{shown(" ".join(words))} where {" ".join(keys)} should follow')
    (value,) = lines.numbers(words[len(keys) :], keys[-1], 1)
    return value
