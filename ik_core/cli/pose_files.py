# SPDX-License-Identifier: Apache-2.0
"""Read poses from a CSV file of spreadsheets, recorders or people.

With a heading the columns may have any order, and others may be between them: `x y z`, and for an
orientation `qx qy qz qw` or `roll pitch yaw`. Longer names are understood (`pose.position.x`,
`orientation_w`), and units in names are used (`x [mm]`, `yaw_deg`). A column `time` [s] counts
for paths at given times. Without a heading, 3 columns
are x y z, 6 also have roll pitch yaw, and 7 a quaternion x y z w. Columns are separated by commas,
semicolons, tabs or blanks; empty lines and text after # are ignored.
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
TIME = 'time'
QUATERNION = ('qx', 'qy', 'qz', 'qw')
# columns of a file without a heading, by their number
BARE = {3: POSITION, 6: POSITION + RPY, 7: POSITION + QUATERNION}

# words in longer names before the axis; those of TURNS mean a quaternion
PLACES = {'pose', 'position', 'pos', 'translation', 'goal', 'target', 'p', 't'}
TURNS = {'orientation', 'rotation', 'quaternion', 'quat', 'q'}
# units at the end of a name
LENGTHS = {'m': 1.0, 'mm': 1e-3, 'cm': 1e-2}
ANGLES = {'rad': 1.0, 'deg': math.radians(1.0)}
LOOSE = 0.02  # the length of a rounded quaternion may differ from 1 by this; it is normalised

Row = tuple[int, list[str]]  # the number of a line in its file, and its cells


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses (N, 4, 4) in the root link's frame [m], and their `lines` in the file.

    `turned`: True if they have orientations, False if only positions. `times` (N,) [s] are those
    of a column `time`, None without one.
    """

    transforms: Array
    lines: tuple[int, ...]
    turned: bool
    times: Array | None = None


def read_poses(path: Path, angles: Angles = RADIANS) -> Poses:
    """Read the poses of a file; `angles` is the unit of roll, pitch and yaw without one.

    Raises UsageError, with the file and the line.
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
    times = columns.times(body)
    return Poses(transforms, tuple(line for line, _ in body), columns.turned, times)


def _rows(text: str) -> Iterator[Row]:
    """Yield the lines that are not empty, split by the separator of the first one."""
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
    """The columns of a file with their units."""

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
        self._order = [names[name] for name in (*POSITION, *(wanted or ()))]
        self._cells = cells
        self._time = names.get(TIME)
        scales = [self._scale(line, i) if self.has_heading else None for i in self._order]
        otherwise = 1.0 / angles.per_radian if wanted == RPY else 1.0
        self._scales = [
            (1.0 if i < 3 else otherwise) if scale is None else scale
            for i, scale in enumerate(scales)
        ]

    def read(self, row: Row, transform: Array) -> None:
        """Write the pose of a line into a transform (4, 4). Raises UsageError."""
        line, cells = row
        if len(cells) != self._count:
            self._refuse(line, f'{self._count} columns are needed, not {len(cells)}')
        values = [
            scale * self._number(line, cells[i], i)
            for scale, i in zip(self._scales, self._order, strict=True)
        ]
        transform[:3, 3] = values[:3]
        if self.turned:
            transform[:3, :3] = self._rotation(line, values[3:])

    def times(self, rows: Sequence[Row]) -> Array | None:
        """The times (N,) [s] of lines; None without such a column. Raises UsageError."""
        at = self._time
        if at is None:
            return None
        return np.array([self._number(line, cells[at], at) for line, cells in rows])

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
        """The factor from the unit in a column's name to m or rad; None without a unit."""
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
    """A text on the missing columns of an incomplete orientation."""
    whole = QUATERNION if set(QUATERNION) & set(names) else RPY
    return f'the orientation lacks {", ".join(name for name in whole if name not in names)}'


def _names(cells: Sequence[str]) -> dict[str, int]:
    """The index of the first column of each meaning."""
    names: dict[str, int] = {}
    for i, cell in enumerate(cells):
        names.setdefault(_meaning(cell), i)
    return names


def _meaning(cell: str) -> str:
    """The meaning of a heading: `pose.orientation.w` is qw, `Position X [mm]` is x."""
    words = _words(cell)
    if len(words) > 1 and words[-1] in LENGTHS | ANGLES:
        words.pop()
    last = words[-1] if words else ''
    turned = bool(TURNS.intersection(words[:-1]))
    known = all(word in PLACES | TURNS for word in words[:-1])
    return (f'q{last}' if turned else last) if known else cell


def _words(cell: str) -> list[str]:
    """The words of a heading, in lower case."""
    return [word for word in re.split(r'[^a-z0-9]+', cell.lower()) if word]
