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
from ..snapshot import Snapshot
from ..status import Command, TrackStatus
from .reading import FORMAT
from .values import Encoder

SEGMENT = 60.0
"""[s] A segment this old ends when the joints rest, and at twice this age in any case."""
PART = '.part'
"""Suffix of a file's name until it is whole."""
STATUSES = tuple(TrackStatus)


class Segment:
    """A part of the life of a tracker: its state, then instructions, commands, readings."""

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
        """The seconds that it holds."""
        return len(self.now) / self.rate

    def applied(self, instruction: Instruction) -> None:
        """See Observer."""
        name, fields = self._encoder.instruction(instruction)
        self.instructions.append((len(self.now), name, fields))
        self._keep_readings()

    def ticked(self, now: float, command: Command) -> None:
        """See Observer."""
        self.now.append(now)
        self.q.frombytes(command.q.tobytes())
        self.status.append(STATUSES.index(command.status))
        self.iterations.append(command.iterations)
        self.at_rest = not command.dq.any()
        self._keep_readings()

    def _keep_readings(self) -> None:
        self._used_readings = len(self.readings)

    def drop_readings(self) -> None:
        """Drop those of the instruction or the tick that failed."""
        del self.readings[self._used_readings :]

    @property
    def is_full(self) -> bool:
        """Whether another one should go on: time has come, and if possible the joints rest."""
        return self.age >= SEGMENT and (self.at_rest or self.age >= 2.0 * SEGMENT)

    def columns(self) -> dict[str, Any]:
        """The arrays to store, by name."""
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

    urdf : the text of the robot; notes : what else a reader should know, as JSON has it
    minutes : what is kept at least, if there was as much; at most two segments more are

    Where a tick fails, what the tracker then is follows from nothing: another segment begins.
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
        """See Observer."""
        return self._is_lost or self._segments[-1].is_full

    def begin(self, snapshot: Snapshot) -> None:
        """See Observer. Raises InvalidOption where something of it can't be recorded."""
        self._segments.append(Segment(snapshot))
        self._is_lost = False
        self._drop_old()

    def applied(self, instruction: Instruction) -> None:
        """See Observer."""
        self._segments[-1].applied(instruction)

    def ticked(self, now: float, command: Command) -> None:
        """See Observer."""
        self._segments[-1].ticked(now, command)

    def read(self, seconds: float) -> None:
        """See Observer."""
        self._segments[-1].readings.append(seconds)

    def failed(self, *, changed: bool) -> None:
        """See Observer."""
        self._segments[-1].drop_readings()
        self._is_lost = changed

    def save(self, path: str | Path) -> None:
        """Write all that is kept, to a file that is there whole or not at all. Raises OSError.

        Takes seconds, so not on the thread that ticks. A file of that name is replaced, and so is
        its part: what a process left that was killed while it wrote.
        """
        segments = [segment for segment in self._segments if segment.now]
        header = {
            'format': FORMAT,
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
        """Drop segments as long as those after them hold enough."""
        while sum(segment.age for segment in list(self._segments)[1:]) >= 60.0 * self.minutes:
            self._segments.popleft()


def part_of(path: Path) -> Path:
    """Where a file is written until it is whole."""
    return path.with_name(path.name + PART)


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """The part of a file, which takes its name once it is written without an error."""
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
    """Versions of the numerical libraries."""
    found = {'python': platform.python_version(), 'numpy': np.__version__}
    try:
        import numba
    except ImportError:
        return found
    return {**found, 'numba': numba.__version__}
