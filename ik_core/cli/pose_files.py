# SPDX-License-Identifier: Apache-2.0
"""Poses in a CSV file, as spreadsheets, recorders and people write them.

With a heading the columns may come in any order and others may stand between them: `x y z`, and
for an orientation `qx qy qz qw` or `roll pitch yaw`. Longer names do too (`pose.position.x`,
`orientation_w`), and a unit in the name is obeyed (`x [mm]`, `yaw_deg`). Without a heading 3
columns are x y z, 6 have roll pitch yaw behind them, and 7 a quaternion x y z w. Columns are
separated by commas, semicolons, tabs or blanks; empty lines and what follows # do not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from ..maths.rotations import LARGEST, Array, matrix_from_quaternion, matrix_from_rpy
from .angles import RADIANS, Angles
from .parser import UsageError, is_number

POSITION = ('x', 'y', 'z')
RPY = ('roll', 'pitch', 'yaw')
QUATERNION = ('qx', 'qy', 'qz', 'qw')
BARE = {3: POSITION, 6: POSITION + RPY, 7: POSITION + QUATERNION}
"""Columns of a file without a heading, by their number."""

PLACES = {'pose', 'position', 'pos', 'translation', 'goal', 'target', 'p', 't'}
TURNS = {'orientation', 'rotation', 'quaternion', 'quat', 'q'}
"""Words of longer names: those before an axis say whether it is a quaternion's."""
LENGTHS = {'m': 1.0, 'mm': 1e-3, 'cm': 1e-2}
ANGLES = {'rad': 1.0, 'deg': math.radians(1.0)}
"""Units at the end of a name."""
LOOSE = 0.02
"""How far from 1 the length of a quaternion may be that was rounded; it is made 1."""

Row = tuple[int, list[str]]
"""The number of a line in its file, and its cells."""


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses (N, 4, 4) in the root link's frame [m], and their `lines` in the file.

    `turned`: whether they have orientations; else only their positions count.
    """

    transforms: Array
    lines: tuple[int, ...]
    turned: bool


def read_poses(path: Path, angles: Angles = RADIANS) -> Poses:
    """The poses in a file; `angles` are those of roll, pitch and yaw whose name has no unit.

    Raises UsageError, with the file and the line where it can't be understood.
    """
    try:
        text = path.read_text(encoding='utf-8-sig')
    except OSError as error:
        raise UsageError(f"can't read {str(path)!r}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f'{path} is not text: a CSV file of poses is needed') from None
    rows = list(_rows(text))
    columns = _Columns(path, rows[0], angles) if rows else None
    body = rows[1:] if columns and columns.has_heading else rows
    if columns is None or not body:
        raise UsageError(f'{path}: there are no poses in it')
    transforms = np.tile(np.eye(4), (len(body), 1, 1))
    for transform, row in zip(transforms, body, strict=True):
        columns.read(row, transform)
    return Poses(transforms, tuple(line for line, _ in body), columns.turned)


def _rows(text: str) -> Iterator[Row]:
    """The lines that have something, split by what the first of them is split by."""
    separator: str | None = None
    is_first = True
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition('#')[0].strip()
        if not line:
            continue
        if is_first:
            separator = next((mark for mark in (';', '\t', ',') if mark in line), None)
            is_first = False
        yield number, [cell.strip().strip('"\'') for cell in line.split(separator)]


class _Columns:
    """The places of columns in a file."""

    def __init__(self, path: Path, first: Row, angles: Angles) -> None:
        self.path = path
        line, cells = first
        self.has_heading = not all(map(is_number, cells))
        names = _names(cells) if self.has_heading else self._bare(line, len(cells))
        wanted = next((w for w in (QUATERNION, RPY, ()) if set(POSITION + w) <= set(names)), None)
        if wanted is None:
            self._refuse(line, f'{_NEEDED}; there are: {", ".join(cells)}')
        elif not wanted and set(names) & {*RPY, *QUATERNION}:
            self._refuse(line, f'{_missing(names)}; {_NEEDED}; there are: {", ".join(cells)}')
        self.turned = bool(wanted)
        self._count = len(cells)
        self._places = [names[name] for name in (*POSITION, *(wanted or ()))]
        self._cells = cells
        scales = [self._scale(line, i) if self.has_heading else None for i in self._places]
        otherwise = 1.0 / angles.per_radian if wanted == RPY else 1.0
        self._scales = [
            (1.0 if i < 3 else otherwise) if scale is None else scale
            for i, scale in enumerate(scales)
        ]

    def read(self, row: Row, transform: Array) -> None:
        """Put the pose of a line into a transform (4, 4)."""
        line, cells = row
        if len(cells) != self._count:
            self._refuse(line, f'{self._count} columns are needed, not {len(cells)}')
        values = [
            scale * self._number(line, cells[i], i)
            for scale, i in zip(self._scales, self._places, strict=True)
        ]
        transform[:3, 3] = values[:3]
        if self.turned:
            transform[:3, :3] = self._rotation(line, values[3:])

    def _rotation(self, line: int, values: Sequence[float]) -> Array:
        if len(values) == 3:
            return matrix_from_rpy(values)
        length = math.hypot(*values)
        if abs(length - 1.0) > LOOSE:
            self._refuse(line, f'the quaternion has length {length:.4g}; 1 is needed')
        return matrix_from_quaternion(np.array(values) / length)

    def _number(self, line: int, cell: str, column: int) -> float:
        if not is_number(cell) or not abs(float(cell)) <= LARGEST:
            name = self._cells[column] if self.has_heading else f'column {column + 1}'
            self._refuse(line, f'{name} is {cell!r}; a number up to {LARGEST:g} is needed')
        return float(cell)

    def _scale(self, line: int, column: int) -> float | None:
        """The factor from the unit in a column's name to m or rad; None for unknown units."""
        words = _words(self._cells[column])
        unit = words[-1] if len(words) > 1 else ''
        meaning = _meaning(self._cells[column])
        units = LENGTHS if meaning in POSITION else ANGLES if meaning in RPY else {}
        if unit in LENGTHS | ANGLES and unit not in units:
            self._refuse(line, f'{self._cells[column]}: {meaning} is not in {unit}')
        return units.get(unit)

    def _bare(self, line: int, count: int) -> dict[str, int]:
        if count not in BARE:
            self._refuse(line, f'{count} numbers without a heading; {_NEEDED}')
        return {name: i for i, name in enumerate(BARE[count])}

    def _refuse(self, line: int, what: str) -> NoReturn:
        raise UsageError(f'{self.path}, line {line}: {what}')


_NEEDED = 'needed are x, y, z, and for an orientation qx, qy, qz, qw or roll, pitch, yaw'


def _missing(names: Mapping[str, int]) -> str:
    """The columns that an incomplete orientation lacks."""
    whole = QUATERNION if set(QUATERNION) & set(names) else RPY
    return f'the orientation lacks {", ".join(name for name in whole if name not in names)}'


def _names(cells: Sequence[str]) -> dict[str, int]:
    """The columns that are known by what they mean; the first of each."""
    names: dict[str, int] = {}
    for i, cell in enumerate(cells):
        names.setdefault(_meaning(cell), i)
    return names


def _meaning(cell: str) -> str:
    """`pose.orientation.w` is qw, `Position X [mm]` x."""
    words = _words(cell)
    if len(words) > 1 and words[-1] in LENGTHS | ANGLES:
        words.pop()
    last = words[-1] if words else ''
    turned = bool(TURNS.intersection(words[:-1]))
    known = all(word in PLACES | TURNS for word in words[:-1])
    return (f'q{last}' if turned else last) if known else cell


def _words(cell: str) -> list[str]:
    return [word for word in re.split(r'[^a-z0-9]+', cell.lower()) if word]
