# SPDX-License-Identifier: Apache-2.0
"""Recording a tracker: its instructions, its commands, the readings of its clock."""

from __future__ import annotations

import json
import os
import platform
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..instructions import Instruction
from ..state import Snapshot
from ..status import Command, TrackStatus
from .reading import RECORDING_FORMAT
from .values import Encoder

# [s] A segment this old ends when the joints rest, and at twice this age in any case.
SEGMENT = 60.0
# Suffix of a file's name until the file is complete.
PART = '.part'
STATUSES = tuple(TrackStatus)


class Segment:
    """A part of a recording: a snapshot, then instructions, commands, readings of the clock."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._encoder = Encoder()
        self.snapshot = {
            name: self._encoder.encode(value) for name, value in snapshot._asdict().items()
        }
        self.rate = snapshot.rate
        self.instructions: list[tuple[int, str, Any]] = []
        self.now, self.q, self.readings = (array('d') for _ in range(3))
        self.status, self.iterations = array('b'), array('q')
        self.at_rest = True
        self._used_readings = 0

    @property
    def age(self) -> float:
        """[s] The recorded time."""
        return len(self.now) / self.rate

    def applied(self, instruction: Instruction) -> None:
        name, fields = self._encoder.instruction(instruction)
        self.instructions.append((len(self.now), name, fields))
        self._keep_readings()

    def ticked(self, now: float, command: Command) -> None:
        self.now.append(now)
        self.q.frombytes(command.q.tobytes())
        self.status.append(STATUSES.index(command.status))
        self.iterations.append(command.iterations)
        self.at_rest = not command.dq.any()
        self._keep_readings()

    def _keep_readings(self) -> None:
        self._used_readings = len(self.readings)

    def drop_readings(self) -> None:
        """Drop the readings of an instruction or a tick that failed."""
        del self.readings[self._used_readings :]

    @property
    def is_full(self) -> bool:
        """True if another segment should begin: this one is long, and if possible joints rest."""
        return self.age >= SEGMENT and (self.at_rest or self.age >= 2.0 * SEGMENT)

    def columns(self) -> dict[str, Any]:
        """Return the arrays to store, by name."""
        return {
            'now': np.array(self.now),
            'q': np.array(self.q).reshape(len(self.now), -1),
            'status': np.array(self.status),
            'iterations': np.array(self.iterations),
            'clock': np.array(self.readings),
            'numbers': np.array(self._encoder.numbers),
        }


class Recorder:
    """An Observer that keeps the last minutes, in segments that each begin with a snapshot.

    urdf : the text of the robot
    minutes : the recorded time that is kept; at most two segments more are
    notes : further values for readers of the file, which JSON can store

    After a tick that raised, another segment begins: the state of the tracker does not follow from
    the recorded instructions.
    """

    def __init__(
        self, urdf: str, *, minutes: float = 10.0, notes: Mapping[str, Any] | None = None
    ) -> None:
        self.minutes = minutes
        self._urdf, self._notes = urdf, dict(notes or {})
        self._segments: deque[Segment] = deque()
        self._is_lost = False

    @property
    def is_due(self) -> bool:
        return self._is_lost or self._segments[-1].is_full

    def begin(self, snapshot: Snapshot) -> None:
        """Begin a segment. Raises InvalidOption if a value of the snapshot can't be recorded."""
        self._segments.append(Segment(snapshot))
        self._is_lost = False
        self._drop_old()

    def applied(self, instruction: Instruction) -> None:
        self._segments[-1].applied(instruction)

    def ticked(self, now: float, command: Command) -> None:
        self._segments[-1].ticked(now, command)

    def read(self, seconds: float) -> None:
        self._segments[-1].readings.append(seconds)

    def failed(self, *, changed: bool) -> None:
        self._segments[-1].drop_readings()
        self._is_lost = changed

    def save(self, path: str | Path) -> None:
        """Write the recording to a file, which appears only once it is complete. Raises OSError.

        Takes seconds, so call it on another thread than `tick`. Replaces a file of that name, and
        an incomplete one (`part_of`) of a process that was killed.
        """
        segments = [segment for segment in self._segments if segment.now]
        header = {
            'format': RECORDING_FORMAT,
            'urdf': self._urdf,
            'notes': self._notes,
            'versions': versions(),
            'segments': [{**s.snapshot, 'instructions': s.instructions} for s in segments],
        }
        columns = {
            f'{i}.{name}': column
            for i, segment in enumerate(segments)
            for name, column in segment.columns().items()
        }
        text = np.frombuffer(json.dumps(header).encode(), np.uint8)
        with _replacing(Path(path)) as file:
            np.savez_compressed(file, header=text, **columns)

    def _drop_old(self) -> None:
        """Drop the oldest segments while the remaining ones last for `minutes`."""
        while sum(segment.age for segment in list(self._segments)[1:]) >= 60.0 * self.minutes:
            self._segments.popleft()


def part_of(path: Path) -> Path:
    """Return the path to which a file is written until it is complete."""
    return path.with_name(path.name + PART)


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open an incomplete file, which is renamed to `path` once it is written."""
    part = part_of(path)
    try:
        with part.open('wb') as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def versions() -> dict[str, str]:
    """Return the versions of the numerical libraries."""
    found = {'python': platform.python_version(), 'numpy': np.__version__}
    try:
        import numba
    except ImportError:
        return found
    return {**found, 'numba': numba.__version__}
