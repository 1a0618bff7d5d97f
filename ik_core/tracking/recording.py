"""What a tracker was told and what it answered, in a file, and running that again.

A `RecordedTracker` is a `Tracker` that notes all it is told, each command, and every reading of
its clock: time budgets end solves, so with the same readings in the same order a run is the same
to the last bit. A recording is made of segments. Each begins with a new tracker, since what a
tracker has in mind can't be stored; the oldest segments are dropped, so that a node can record
for days and keep the last minutes.

A file is a numpy archive (.npz, read without pickle): `header`, JSON as UTF-8, and for segment i
the arrays `i.now`, `i.q`, `i.status`, `i.iterations` (a row per tick), `i.clock` (readings) and
`i.numbers`, which what was told refers to by offset and shape.
"""

from __future__ import annotations

import inspect
import json
import platform
import zipfile
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import IkError, InvalidOption
from ..maths.rotations import Array
from ..optim.search import Clock, default_clock
from ..problem import IkProblem
from ..robot.robot import Robot
from ..robot.urdf import load_urdf
from ..tasks import GoalTask, PoseTask, PostureTask, Task
from ..tasks.kernels import GOAL_AXES
from .limits import MotionLimits
from .options import TrackerOptions
from .status import Command, TrackStatus
from .tracker import Tracker

__all__ = ['InvalidRecording', 'Recorder', 'Recording', 'Replay', 'read_recording', 'replay']

FORMAT = 1
SEGMENT = 60.0
"""[s] A segment this old ends when the joints rest, and at twice this age in any case."""
SAME = 1e-9
"""[rad or m] Commands nearer than this are the same."""
STATUSES = tuple(TrackStatus)


class InvalidRecording(IkError, ValueError):
    """A file that is no recording, or one that this version can't run."""


# --- writing -----------------------------------------------------------------------------------


class Segment:
    """The life of one tracker: how it was made, what it was told, what it commanded."""

    def __init__(self, clock: Clock) -> None:
        self.made: dict[str, Any] = {}
        self.told: list[tuple[int, str, Any, Any]] = []
        self.now, self.q, self.readings, self.numbers = (array('d') for _ in range(4))
        self.status, self.iterations = array('b'), array('q')
        self.at_rest = True
        self._clock = clock
        self._depth = 0

    def clock(self) -> float:
        """The clock of the tracker, read and noted."""
        reading = self._clock()
        self.readings.append(reading)
        return reading

    def during(self, call: Callable[[], Any], note: Callable[[Any], None]) -> Any:
        """Call, and note the result; but calls of the tracker to itself, and what failed, not."""
        mark = len(self.readings)
        self._depth += 1
        try:
            result = call()
        except Exception:
            del self.readings[mark:]
            raise
        finally:
            self._depth -= 1
        if self._depth == 0:
            note(result)
        return result

    def note_told(self, name: str, args: Any, kwargs: Any) -> None:
        """Note what the tracker was told before the next tick."""
        self.told.append((len(self.now), name, self.encode(args), self.encode(kwargs)))

    def note_command(self, now: float, command: Command) -> None:
        """Note a tick."""
        self.now.append(now)
        self.q.frombytes(command.q.tobytes())
        self.status.append(STATUSES.index(command.status))
        self.iterations.append(command.iterations)
        self.at_rest = not command.dq.any()

    def encode(self, value: Any) -> Any:
        """The value as JSON, with arrays kept in `numbers`."""
        if isinstance(value, np.ndarray):
            offset = len(self.numbers)
            self.numbers.extend(np.asarray(value, float).ravel().tolist())
            return {'array': [offset, *value.shape]}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, MotionLimits):
            return {'limits': self.encode(np.vstack([value.rows, value.jerk]))}
        if isinstance(value, TrackerOptions):
            return {'options': vars(value)}
        if isinstance(value, Mapping):
            return {'mapping': {key: self.encode(entry) for key, entry in value.items()}}
        if isinstance(value, (list, tuple)):
            return [self.encode(entry) for entry in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise InvalidOption(f"a {type(value).__name__} can't be recorded")

    def columns(self) -> dict[str, Any]:
        """The arrays to store, by name."""
        return {
            'now': np.array(self.now),
            'q': np.array(self.q).reshape(len(self.now), -1),
            'status': np.array(self.status),
            'iterations': np.array(self.iterations),
            'clock': np.array(self.readings),
            'numbers': np.array(self.numbers),
        }


class RecordedTracker(Tracker):
    """A tracker that notes in a segment what it is told, and what it commands."""

    def __init__(
        self, segment: Segment, problem: IkProblem, rate: float, **arguments: Any
    ) -> None:
        self._segment = segment
        make = super().__init__
        segment.made = {
            'problem': segment.encode(describe_problem(problem)),
            'rate': rate,
            'arguments': segment.encode(arguments),
        }
        segment.during(
            lambda: make(problem, rate, clock=segment.clock, **arguments), lambda _: None
        )

    def tick(self, now: float) -> Command:
        """See Tracker."""
        tick, segment = super().tick, self._segment
        command: Command = segment.during(
            lambda: tick(now), lambda command: segment.note_command(now, command)
        )
        return command


def _noted(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: RecordedTracker, *args: Any, **kwargs: Any) -> Any:
        return self._segment.during(
            lambda: method(self, *args, **kwargs),
            lambda _: self._segment.note_told(method.__name__, args, kwargs),
        )

    return call


TOLD = {
    name: method
    for name, method in vars(Tracker).items()
    if inspect.isfunction(method) and name != 'tick' and not name.startswith('_')
}
"""All that a tracker can be told."""
for _name, _method in TOLD.items():
    setattr(RecordedTracker, _name, _noted(_method))


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
        self._segments: deque[tuple[float, Segment]] = deque()

    def new_tracker(self, problem: IkProblem, rate: float, **arguments: Any) -> Tracker:
        """A tracker in a segment of its own; arguments as Tracker takes them.

        Raises InvalidOption where something of it can't be recorded.
        """
        segment = Segment(self._clock)
        tracker = RecordedTracker(segment, problem, rate, **arguments)
        self._segments.append((rate, segment))
        self._drop_old()
        return tracker

    @property
    def segment_is_full(self) -> bool:
        """Whether another tracker should go on: time has come, and if possible the joints rest."""
        if not self._segments:
            return False
        rate, segment = self._segments[-1]
        age = len(segment.now) / rate
        return age >= SEGMENT and (segment.at_rest or age >= 2.0 * SEGMENT)

    def save(self, path: str | Path) -> None:
        """Write all that is kept. Takes seconds, so not on the thread that ticks."""
        segments = [segment for _, segment in self._segments if segment.now]
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
        with Path(path).open('wb') as file:
            np.savez_compressed(file, header=text, **columns)

    def _drop_old(self) -> None:
        """Drop segments as long as those after them hold enough."""
        while sum(len(s.now) / r for r, s in list(self._segments)[1:]) >= 60.0 * self.minutes:
            self._segments.popleft()


def versions() -> dict[str, str]:
    """Of what computes."""
    found = {'python': platform.python_version(), 'numpy': np.__version__}
    try:
        import numba
    except ImportError:
        return found
    return {**found, 'numba': numba.__version__}


def describe_problem(problem: IkProblem) -> dict[str, Any]:
    """All that `make_problem` needs; InvalidOption for tasks that it does not know."""
    return {
        'tasks': [describe_task(task) for task in (*problem.goals, *problem.other_tasks)],
        'secondary': [describe_task(task) for task in problem.secondary],
        'frozen_joints': list(problem.frozen_joints),
        'position_tolerance': problem.position_tolerance,
        'orientation_tolerance': problem.orientation_tolerance,
        'orientation_length': problem.orientation_length,
    }


def describe_task(task: Task) -> dict[str, Any]:
    """The arguments of a PoseTask or PostureTask."""
    if isinstance(task, GoalTask) and len(task.rotation_weights) == 3:
        return {
            'link': task.link,
            'transform': task.transform,
            'position_weights': task.position_weights,
            'orientation_weights': task.rotation_weights,
            'position_axes': 'goal' if task.position_axes == GOAL_AXES else 'root',
            'tool': task.tool,
        }
    if type(task) is PostureTask:
        return {'rest': task.rest, 'weights': task.weights}
    raise InvalidOption(f"a {type(task).__name__} can't be recorded")


# --- reading -----------------------------------------------------------------------------------


class ReplayedClock:
    """Reads what was read, in order; asked for more, it stands still."""

    def __init__(self, readings: Array) -> None:
        self._readings = iter(readings.tolist())
        self._last = 0.0

    def __call__(self) -> float:
        """The next reading."""
        self._last = next(self._readings, self._last)
        return self._last


@dataclass(frozen=True)
class Replay:
    """One segment, run again.

    `now` [s], `recorded` and `replayed` (ticks, n), `statuses`, as recorded and as replayed.
    `first_difference`: the first tick that differs in q by more than SAME, in its status, or in
    its iterations; None where none does. `failure`: why it ended early, or empty.
    """

    now: Array
    recorded: Array
    replayed: Array
    statuses: tuple[tuple[str, str], ...]
    first_difference: int | None
    failure: str = ''

    @property
    def is_same(self) -> bool:
        """Whether it did the same, to its end."""
        return self.first_difference is None and not self.failure

    @property
    def largest_difference(self) -> float:
        """Of all joints and ticks that were run [rad or m]."""
        ran = len(self.replayed)
        return float(np.abs(self.recorded[:ran] - self.replayed).max(initial=0.0))


@dataclass(frozen=True)
class Recording:
    """A file that was read: the robot, notes and versions, and the segments as they are."""

    robot: Robot
    notes: dict[str, Any]
    versions: dict[str, str]
    segments: list[tuple[dict[str, Any], dict[str, Array]]]


COLUMNS = ('now', 'q', 'status', 'iterations', 'clock', 'numbers')


def read_recording(path: str | Path) -> Recording:
    """The recording in a file. Raises InvalidRecording, OSError."""
    if not zipfile.is_zipfile(path):
        raise InvalidRecording(f'{path} is no recording: not a numpy archive (.npz)')
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file['header'].tobytes().decode())
            if header['format'] != FORMAT:
                raise InvalidRecording(f'{path}: format {header["format"]}; {FORMAT} is known')
            segments = [
                (made, {name: file[f'{i}.{name}'] for name in COLUMNS})
                for i, made in enumerate(header['segments'])
            ]
    except InvalidRecording:
        raise
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidRecording(f'{path} is no recording: {error}') from error
    return Recording(load_urdf(header['urdf']), header['notes'], header['versions'], segments)


def replay(recording: Recording) -> list[Replay]:
    """Run the segments again. A segment that can't be run says so in its `failure`."""
    return [_replay_segment(recording.robot, *segment) for segment in recording.segments]


def _replay_segment(robot: Robot, made: dict[str, Any], columns: dict[str, Array]) -> Replay:
    clock = ReplayedClock(columns['clock'])
    commands: list[Command] = []
    failure = ''
    try:
        for command in _run(robot, made, columns, clock):
            commands.append(command)
    except (IkError, KeyError, TypeError, ValueError) as error:
        failure = f'{type(error).__name__}: {error}'
    replayed = np.array([command.q for command in commands]).reshape(-1, robot.n)
    recorded = columns['q'].reshape(-1, robot.n)
    statuses = [STATUSES[i].value for i in columns['status'].tolist()]
    differs = np.abs(recorded[: len(replayed)] - replayed).max(axis=1, initial=0.0) > SAME
    differs |= [c.status.value != s for c, s in zip(commands, statuses, strict=False)]
    differs |= columns['iterations'][: len(commands)] != [c.iterations for c in commands]
    first = int(np.argmax(differs)) if differs.any() else None
    return Replay(
        now=columns['now'],
        recorded=recorded,
        replayed=replayed,
        statuses=tuple((s, c.status.value) for c, s in zip(commands, statuses, strict=False)),
        first_difference=len(commands) if failure and first is None else first,
        failure=failure,
    )


def _run(
    robot: Robot, made: dict[str, Any], columns: dict[str, Array], clock: Clock
) -> Iterator[Command]:
    """The commands of a tracker that is made and told the same at the same ticks."""
    numbers = columns['numbers']
    problem = make_problem(robot, decode(made['problem'], numbers))
    arguments = decode(made['arguments'], numbers)
    tracker = Tracker(problem, made['rate'], clock=clock, **arguments)
    told = deque(made['told'])
    for tick, now in enumerate(columns['now'].tolist()):
        while told and told[0][0] <= tick:
            _, name, args, kwargs = told.popleft()
            if name not in TOLD:
                raise InvalidRecording(f'a tracker of this version has no {name}')
            TOLD[name](tracker, *decode(args, numbers), **decode(kwargs, numbers))
        yield tracker.tick(now)


def make_problem(robot: Robot, described: dict[str, Any]) -> IkProblem:
    """The problem of `describe_problem`, for the robot; its limits are the tracker's."""
    tasks, secondary = (
        [PoseTask(**task) if 'link' in task else PostureTask(**task) for task in described[kind]]
        for kind in ('tasks', 'secondary')
    )
    rest = {k: v for k, v in described.items() if k not in ('tasks', 'secondary')}
    return IkProblem(robot, tasks, secondary=secondary, **rest)


def decode(value: Any, numbers: Array) -> Any:
    """What `Segment.encode` made JSON of; its arrays are in `numbers`."""
    if isinstance(value, list):
        return [decode(entry, numbers) for entry in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == 'array':
        offset, *shape = content
        return numbers[offset : offset + int(np.prod(shape))].reshape(shape).copy()
    if kind == 'limits':
        return MotionLimits(*decode(content, numbers))
    if kind == 'options':
        return TrackerOptions(**content)
    return {key: decode(entry, numbers) for key, entry in content.items()}


def draw_replay(recording: Recording, replays: list[Replay], path: Path) -> None:
    """Every joint over time, as recorded and as replayed. Raises ImportError."""
    from matplotlib.figure import Figure  # only who draws needs matplotlib

    names = recording.robot.joint_names
    figure = Figure(figsize=(9.0, 1.2 * len(names)), layout='constrained')
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for run in replays:
        for i, axes in enumerate(panels):
            axes.plot(run.now, run.recorded[:, i], color='#99ccee', linewidth=3.0)
            axes.plot(run.now[: len(run.replayed)], run.replayed[:, i], color='#4477aa')
    for axes, name in zip(panels, names, strict=True):
        axes.set_ylabel(name, fontsize=7)
    panels[-1].set_xlabel('time [s]; broad: recorded, thin: replayed')
    figure.savefig(path)
