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
from ...robot.urdf import load_urdf

FORMAT = 6
COLUMNS = ('now', 'q', 'status', 'iterations', 'clock', 'numbers')


class InvalidRecording(IkError, ValueError):
    """A file that is no recording, or one that this version can't run."""


@dataclass(frozen=True)
class Recording:
    """A file that was read: the robot, notes and versions, and the segments as they are."""

    robot: Robot
    notes: dict[str, Any]
    versions: dict[str, str]
    segments: list[tuple[dict[str, Any], dict[str, Array]]]


def read_recording(path: str | Path) -> Recording:
    """The recording in a file. Raises InvalidRecording, OSError."""
    with Path(path).open('rb') as file:  # raises OSError, where is_zipfile would say no
        if not zipfile.is_zipfile(file):
            raise InvalidRecording(f'{path} is not a recording: not a numpy archive (.npz)')
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file['header'].tobytes().decode())
            if header['format'] != FORMAT:
                raise InvalidRecording(
                    f'{path} has format {header["format"]}, of another version: '
                    f'this one runs format {FORMAT}'
                )
            segments = [
                (segment, {name: file[f'{i}.{name}'] for name in COLUMNS})
                for i, segment in enumerate(header['segments'])
            ]
    except InvalidRecording:
        raise
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidRecording(f'{path} is not a recording: {error}') from error
    return Recording(load_urdf(header['urdf']), header['notes'], header['versions'], segments)
