# SPDX-License-Identifier: Apache-2.0
"""Motions in files: CSV, for people and other programs, and numpy archives.

A CSV file has a line of names, `time` and the joints', then a line of numbers per frame: its time
[s], evenly spaced, and the positions [rad or m]. An archive (.npz, read without pickle) has the
arrays `joint_names`, `positions` (frames, n) and `period` [s].
"""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InvalidMotion
from ..maths.rotations import Array
from .motion import Motion

MAX_BYTES = 200_000_000  # an hour of 60 joints at 30 Hz has 130 MB as CSV
UNEVEN = 1e-3  # [periods] largest deviation of a frame's time from even spacing
SUFFIXES = ('.csv', '.npz')


def save_motion(motion: Motion, path: str | Path) -> None:
    """Save a motion as .csv or .npz, by the suffix. Raises InvalidMotion, OSError."""
    path = Path(path)
    check_suffix(path)
    if path.suffix == '.npz':
        with path.open('wb') as file:
            np.savez_compressed(
                file,
                joint_names=np.array(motion.joint_names),
                positions=motion.positions,
                period=np.array(motion.period),
            )
        return
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(['time', *motion.joint_names])
        for frame, positions in enumerate(motion.positions.tolist()):
            writer.writerow([f'{frame * motion.period:.9g}', *map(repr, positions)])


def load_motion(path: str | Path) -> Motion:
    """Load a motion from a .csv or .npz file, as `save_motion` or another program writes it.

    Raises InvalidMotion, with the line of a CSV file.
    """
    path = Path(path)
    check_suffix(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidMotion(f'{path} is larger than {MAX_BYTES / 1e6:.0f} MB')
        return _read_archive(path) if path.suffix == '.npz' else _read_csv(path)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidMotion(f"can't read {str(path)!r}: {reason}") from None


def check_suffix(path: Path) -> None:
    """Raise InvalidMotion for a file name without a motion's suffix."""
    if path.suffix not in SUFFIXES:
        raise InvalidMotion(f'{path}: the suffix of a motion is one of {", ".join(SUFFIXES)}')


def _read_archive(path: Path) -> Motion:
    try:
        with np.load(path, allow_pickle=False) as archive:
            names, positions, period = (
                archive[name] for name in ('joint_names', 'positions', 'period')
            )
        return Motion(tuple(map(str, names.tolist())), positions, period.item())
    except InvalidMotion as error:
        raise InvalidMotion(f'{path}: {error}') from None
    except OSError:
        raise
    except Exception as error:  # a damaged archive makes numpy raise almost anything
        raise InvalidMotion(
            f'{path} is not an archive of joint_names, positions and period: {error}'
        ) from None


def read_rows(path: Path, most: int | None = None) -> list[tuple[int, list[str]]]:
    """The first `most` non-empty rows (None: all) of a CSV file: line number and stripped cells.

    Raises InvalidMotion.
    """
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:
            reader = csv.reader(file)
            rows = islice(filter(None, reader), most)
            return [(reader.line_num, [cell.strip() for cell in row]) for row in rows]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidMotion(f'{path} is not a CSV file: {error}') from None
    except OSError as error:
        raise InvalidMotion(f"can't read {str(path)!r}: {error.strerror or error}") from None


def read_table(path: Path) -> tuple[list[str], list[int], Array]:
    """Read a CSV file: the names, 'time' first, the line number of each row, and the numbers
    (rows, names).

    Raises InvalidMotion.
    """
    lines = read_rows(path)
    names = lines[0][1] if lines else []
    if names[:1] != ['time'] or len(names) < 2:
        raise InvalidMotion(f"{path}, line 1: 'time' and the names of joints should be there")
    if len(lines) < 3:
        raise InvalidMotion(f'{path} has {len(lines) - 1} frames; two are needed for the period')
    numbers = np.array([_numbers(path, line, row, len(names)) for line, row in lines[1:]])
    return names, [line for line, _ in lines[1:]], numbers


def _read_csv(path: Path) -> Motion:
    names, lines, numbers = read_table(path)
    period = _period(path, lines, numbers[:, 0])
    try:
        return Motion(tuple(names[1:]), numbers[:, 1:], period)
    except InvalidMotion as error:
        raise InvalidMotion(f'{path}: {error}') from None


def _numbers(path: Path, line: int, row: list[str], count: int) -> list[float]:
    try:
        numbers = [float(text) for text in row]
    except ValueError as error:
        raise InvalidMotion(f'{path}, line {line}: {error}') from None
    if len(numbers) != count:
        raise InvalidMotion(f'{path}, line {line}: {len(numbers)} numbers; {count} are needed')
    return numbers


def _period(path: Path, lines: list[int], times: Array) -> Any:
    """The time between frames [s]; raises InvalidMotion if it is not constant."""
    period = (times[-1] - times[0]) / (len(times) - 1)
    even = times[0] + period * np.arange(len(times))
    off = ~(np.abs(times - even) <= UNEVEN * abs(period))
    if off.any() or not period > 0.0:
        line = lines[int(np.argmax(off))]
        raise InvalidMotion(f'{path}, line {line}: the times are not evenly spaced and rising')
    return period
