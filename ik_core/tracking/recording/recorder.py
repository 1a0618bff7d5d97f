"""Recording a tracker: its instructions, its commands, the readings of its clock."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...optim.search import Clock, default_clock
from ...problem import IkProblem
from ..instructions import Instruction
from ..status import Command, TrackStatus
from ..tracker import Tracker
from .reading import FORMAT
from .values import Encoder

SEGMENT = 60.0
"""[s] A segment this old ends when the joints rest, and at twice this age in any case."""
STATUSES = tuple(TrackStatus)


class Segment:
    """The life of the tracker it observes: how it was made, its instructions, its commands."""

    def __init__(self, made: Mapping[str, Any]) -> None:
        self._encoder = Encoder()
        self.made = {name: self._encoder.encode(value) for name, value in made.items()}
        self.rate: float = made['rate']
        self.told: list[tuple[int, str, Any]] = []
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
        self.told.append((len(self.now), name, fields))
        self._used_readings = len(self.readings)

    def ticked(self, now: float, command: Command) -> None:
        """See Observer."""
        self.now.append(now)
        self.q.frombytes(command.q.tobytes())
        self.status.append(STATUSES.index(command.status))
        self.iterations.append(command.iterations)
        self.at_rest = not command.dq.any()
        self._used_readings = len(self.readings)

    def read(self, seconds: float) -> None:
        """See Observer."""
        self.readings.append(seconds)

    def failed(self) -> None:
        """See Observer."""
        del self.readings[self._used_readings :]

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
    """Makes trackers that are recorded, one segment each, and keeps the last minutes.

    urdf : the text of the robot; notes : what else a reader should know, as JSON has it
    minutes : what is kept at least, if there was as much; at most two segments more are
    """

    def __init__(
        self,
        urdf: str,
        *,
        minutes: float = 10.0,
        notes: Mapping[str, Any] | None = None,
        clock: Clock = default_clock,
    ) -> None:
        self.minutes = minutes
        self._clock = clock
        self._urdf, self._notes = urdf, dict(notes or {})
        self._segments: deque[Segment] = deque()

    def new_tracker(self, problem: IkProblem, rate: float, **arguments: Any) -> Tracker:
        """A tracker in a segment of its own; arguments as Tracker takes them.

        Raises InvalidOption where something of it can't be recorded.
        """
        segment = Segment({'problem': problem, 'rate': rate, 'arguments': arguments})
        tracker = Tracker(problem, rate, clock=self._clock, **arguments)
        tracker.observe(segment)
        self._segments.append(segment)
        self._drop_old()
        return tracker

    @property
    def segment_is_full(self) -> bool:
        """Whether another tracker should go on: time has come, and if possible the joints rest."""
        if not self._segments:
            return False
        segment = self._segments[-1]
        return segment.age >= SEGMENT and (segment.at_rest or segment.age >= 2.0 * SEGMENT)

    def save(self, path: str | Path) -> None:
        """Write all that is kept, to a file that is there whole or not at all. Raises OSError.

        Takes seconds, so not on the thread that ticks. A file of that name is replaced.
        """
        segments = [segment for segment in self._segments if segment.now]
        header = {
            'format': FORMAT,
            'urdf': self._urdf,
            'notes': self._notes,
            'versions': versions(),
            'segments': [{**s.made, 'told': s.told} for s in segments],
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


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path`, which takes its name once it is written without an error."""
    handle, name = tempfile.mkstemp(suffix='.part', dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, 'wb') as file:
            yield file
            file.flush()
            os.fsync(handle)
        beside.replace(path)
    except BaseException:
        beside.unlink()
        raise


def versions() -> dict[str, str]:
    """Of what computes."""
    found = {'python': platform.python_version(), 'numpy': np.__version__}
    try:
        import numba
    except ImportError:
        return found
    return {**found, 'numba': numba.__version__}
