# SPDX-License-Identifier: Apache-2.0
"""Joint values in CSV files of any program: columns are found by the names of joints."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..display import listed
from ..exceptions import InvalidMotion
from ..maths.rotations import Array
from ..options import exact_number
from .motion import Motion
from .motion_files import MAX_BYTES, UNEVEN, read_rows
from .robot import Robot

ROWS_PER_SECOND = 10.0  # [Hz] Rows per second of a file without times
TIMES = {'time', 't', 'timestamp', 'stamp', 'secs', 'seconds', 'sec'}
PLAIN = {'position', 'positions', 'pos', 'q', 'rad', 'm', 's', 'joint', 'joints', 'joint_states'}
# Words in a heading beside the name of a joint, or of the time; those of angles in degrees
DEGREES = {'deg', 'degree', 'degrees', '°'}
# [s] Units of times that are not in seconds, beside the name of the time
TIME_UNITS = {'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}


def load_joint_table(
    path: str | Path, robot: Robot, *, rate: float | None = None, degrees: bool = False
) -> Motion:
    """Load the joints of a robot from a CSV file with a line of names, whatever else is in it.

    A column belongs to a joint if its name is the joint's, also within a path or with a unit, as
    in `/joint_states/elbow/position` or `elbow [deg]`. Other columns are left out. A column named
    `time`, `t [ms]`, `stamp` or the like has times, in seconds if it names no unit, which have to
    rise; rows that are not evenly spaced are interpolated at their mean rate. So the output of
    `ik solve --poses` is a motion.

    rate [Hz] : rows per second; by default those of the times, or 10 without any
    degrees : all angles are in degrees

    Raises InvalidMotion, with the line, if no joint is named, a joint is named twice, or a number
    or time is wrong.
    """
    path = Path(path)
    _check_size(path)
    rows = read_rows(path)
    if len(rows) < 2:
        raise InvalidMotion(f'{path} has {len(rows)} lines; the names and a row are needed')
    columns, time, in_degrees = _columns(path, rows[0][1], robot)
    wanted = [*columns.values(), *([] if time is None else [time[0]])]
    table = np.array([_numbers(path, line, row, wanted) for line, row in rows[1:]])
    positions = table[:, : len(columns)]
    turns = [robot.joint_units[robot.joint_index(joint)] == 'rad' for joint in columns]
    scaled = np.array(turns) & (np.array([joint in in_degrees for joint in columns]) | degrees)
    positions = np.where(scaled, np.radians(positions), positions)
    if time is None or rate is not None:
        period = 1.0 / _checked_rate(ROWS_PER_SECOND if rate is None else rate)
    else:
        lines = [line for line, _ in rows[1:]]
        positions, period = _evenly(path, lines, time[1] * table[:, -1], positions)
    try:
        return Motion(tuple(columns), positions, period)
    except InvalidMotion as error:
        raise InvalidMotion(f'{path}: {error}') from None


def read_heading(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file. Raises InvalidMotion."""
    _check_size(path)
    rows = read_rows(path, most=1)
    return rows[0][1] if rows else []


def _check_size(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InvalidMotion(f"can't read {str(path)!r}: {error.strerror or error}") from None
    if size > MAX_BYTES:
        raise InvalidMotion(f'{path} is larger than {MAX_BYTES / 1e6:.0f} MB')


def _columns(
    path: Path, heading: Sequence[str], robot: Robot
) -> tuple[dict[str, int], tuple[int, float] | None, set[str]]:
    """Return the column of each joint, in the robot's order; the column of the time, and its unit
    [s]; and the joints whose columns are in degrees."""
    found: dict[str, int] = {}
    time, in_degrees = None, set()
    units = {*PLAIN, *DEGREES, *TIME_UNITS}
    for i, cell in enumerate(heading):
        words = re.findall(r'[\w-]+|°', cell)
        names = [cell] if cell in robot.joint_names else [
            word for word in words if word.lower() not in units
        ]  # fmt: skip
        if time is None and len(names) == 1 and names[0].strip('_').lower() in TIMES:
            time = i, next((TIME_UNITS[word] for word in words if word in TIME_UNITS), 1.0)
        if len(names) != 1 or names[0] not in robot.joint_names:
            continue
        if names[0] in found:
            raise InvalidMotion(f'{path}, line 1: two columns are of joint {names[0]!r}')
        found[names[0]] = i
        if DEGREES & {word.lower() for word in words}:
            in_degrees.add(names[0])
    if not found:
        raise InvalidMotion(
            f'{path}, line 1: no column is named after a joint of {robot.name!r}; its joints are '
            f'{listed(robot.joint_names)}'
        )
    return {name: found[name] for name in robot.joint_names if name in found}, time, in_degrees


def _numbers(path: Path, line: int, row: Sequence[str], wanted: Sequence[int]) -> list[float]:
    try:
        numbers = [float(row[i]) for i in wanted]
    except IndexError:
        raise InvalidMotion(
            f'{path}, line {line}: {len(row)} cells; {max(wanted) + 1} are needed'
        ) from None
    except ValueError as error:
        raise InvalidMotion(f'{path}, line {line}: {error}') from None
    if not all(map(math.isfinite, numbers)):
        raise InvalidMotion(f'{path}, line {line}: a number is not finite')
    return numbers


def _evenly(
    path: Path, lines: Sequence[int], times: Array, positions: Array
) -> tuple[Array, float]:
    """Return positions at equal time steps, interpolated if needed, and the time step [s]."""
    if len(times) == 1:
        return positions, 1.0 / ROWS_PER_SECOND
    steps = np.diff(times)
    if not (steps > 0.0).all():
        line = lines[1 + int(np.argmin(steps > 0.0))]
        raise InvalidMotion(f'{path}, line {line}: the times do not rise')
    period = float(times[-1] - times[0]) / len(steps)
    even = times[0] + period * np.arange(len(times))
    if (np.abs(times - even) > UNEVEN * period).any():
        columns = [np.interp(even, times, column) for column in positions.T]
        positions = np.stack(columns, axis=1)
    return positions, period


def _checked_rate(rate: float) -> float:
    number: float | None = exact_number(rate, float)
    if number is None or not 1e-6 <= number <= 1e6:
        raise InvalidMotion(f'rate {rate!r} [Hz] must be a number from 1e-6 to 1e6')
    return number
