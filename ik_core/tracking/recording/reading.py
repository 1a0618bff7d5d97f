# SPDX-License-Identifier: Apache-2.0
"""Reading a recording."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import IkError
from ...maths.rotations import Array
from ...robot.robot import Robot
from ...robot.robot_sources import load_robot
from ..status import TrackStatus

RECORDING_FORMAT = 11
# The arrays of a segment, with the types of their numbers.
COLUMNS = {'now': 'd', 'q': 'd', 'status': 'b', 'iterations': 'q', 'clock': 'd', 'numbers': 'd'}


class InvalidRecording(IkError, ValueError):
    """The file is no recording, or one that this version can't run."""


@dataclass(frozen=True)
class Recording:
    """The contents of a file: robot, notes, versions, and segments as JSON and arrays."""

    robot: Robot
    notes: dict[str, Any]
    versions: dict[str, str]
    segments: list[tuple[dict[str, Any], dict[str, Array]]]


def read_recording(path: str | Path) -> Recording:
    """Read the recording in a file. Raises InvalidRecording, OSError."""
    with Path(path).open('rb') as file:  # raises OSError, where is_zipfile would say no
        if not zipfile.is_zipfile(file):
            raise InvalidRecording(f'{path} is not a recording: not a numpy archive (.npz)')
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file['header'].tobytes().decode())
            if header['format'] != RECORDING_FORMAT:
                raise InvalidRecording(
                    f'{path} has format {header["format"]!r}, of another version: '
                    f'this one runs format {RECORDING_FORMAT}'
                )
            robot = load_robot(header['urdf'])
            segments = [
                (segment, {name: file[f'{i}.{name}'] for name in COLUMNS})
                for i, segment in enumerate(header['segments'])
            ]
            for i, segment in enumerate(segments):
                _check_segment(i, *segment, robot.n)
            return Recording(robot, dict(header['notes']), dict(header['versions']), segments)
    except IkError:
        raise
    except Exception as error:  # a damaged archive fails anywhere in zipfile, zlib and numpy
        reason = ' '.join(str(error).split()) or type(error).__name__
        raise InvalidRecording(f'{path} is not a recording: {reason}') from error


def _check_segment(number: int, segment: Any, columns: dict[str, Array], n: int) -> None:
    """Raise ValueError unless all columns have their types, lengths and values."""
    ticks = columns['now'].size
    shapes = {'now': (ticks,), 'q': (ticks, n), 'status': (ticks,), 'iterations': (ticks,)}
    for name, kind in COLUMNS.items():
        column = columns[name]
        if column.dtype != np.dtype(kind) or column.shape != shapes.get(name, (column.size,)):
            raise ValueError(
                f'{name} of segment {number} are {column.dtype} of shape {column.shape}; '
                f'{np.dtype(kind)} of shape {shapes.get(name, (column.size,))} are needed'
            )
    if not (isinstance(segment, dict) and isinstance(segment['instructions'], list)):
        raise ValueError(f'segment {number} has no list of instructions')
    if not (ticks and np.isfinite(columns['now']).all()):
        raise ValueError(f'segment {number} has no ticks, or at times that are not finite')
    status = columns['status']
    if status.min() < 0 or status.max() >= len(TrackStatus):
        raise ValueError(f'segment {number} has a status that no tracker has')
