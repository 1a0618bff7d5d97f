"""The instructions of a tracker: values, which it applies one by one between its ticks.

They are checked when they are applied. A list of them, each with its tick, is a recording.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, get_args

from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..optim.search import Clock
from ..options import exact_number
from ..problem import IkProblem
from ..solvers import Solver
from .motion_limits import MotionLimits
from .snapshot import Snapshot
from .status import Command
from .tracker_options import TrackerOptions


class SetGoal(NamedTuple):
    """See `Tracker.set_goal`."""

    tip: int
    transform: ArrayLike | None
    now: float
    twist: ArrayLike | None = None
    move: str | None = None


class SetTwist(NamedTuple):
    """See `Tracker.set_twist`."""

    tip: int
    linear: ArrayLike
    angular: ArrayLike
    now: float


class SetLimits(NamedTuple):
    """See `Tracker.set_limits`."""

    limits: MotionLimits


class SetOptions(NamedTuple):
    """See `Tracker.set_options`."""

    options: TrackerOptions


class SetSolver(NamedTuple):
    """See `Tracker.set_solver`."""

    solver: str | Solver
    options: Mapping[str, Any] | None = None


class SetRest(NamedTuple):
    """See `Tracker.set_rest`."""

    rest: ArrayLike


class SetProblem(NamedTuple):
    """See `Tracker.set_problem`."""

    problem: IkProblem


class NextFrame(NamedTuple):
    """See `Tracker.next_frame`."""

    examples: Sequence[ArrayLike] = ()
    restart: bool = False


class Pause(NamedTuple):
    """See `Tracker.pause`."""

    paused: bool = True


class Stop(NamedTuple):
    """See `Tracker.stop`."""


class Brake(NamedTuple):
    """See `Tracker.brake`."""


class SkipTick(NamedTuple):
    """See `Tracker.skip_tick`."""

    braking: bool


class UndoStep(NamedTuple):
    """See `Tracker.undo_step`."""


class Reset(NamedTuple):
    """See `Tracker.reset`."""

    q: ArrayLike
    keep_goals: bool = False


class MoveTo(NamedTuple):
    """See `Tracker.move_to`."""

    q: ArrayLike
    now: float | None = None


Instruction = (
    SetGoal
    | SetTwist
    | SetLimits
    | SetOptions
    | SetSolver
    | SetRest
    | SetProblem
    | NextFrame
    | Pause
    | Stop
    | Brake
    | SkipTick
    | UndoStep
    | Reset
    | MoveTo
)


_KINDS = frozenset(get_args(Instruction))


def check_instruction(instruction: Instruction) -> None:
    """Raise InvalidOption for what is none, or comes at a time that is none."""
    if type(instruction) not in _KINDS:
        raise InvalidOption(
            f'{instruction!r} is not an instruction: a SetGoal, SetTwist, Stop, ... is needed'
        )
    if isinstance(instruction, (SetGoal, SetTwist)):
        check_time(instruction.now)
    elif isinstance(instruction, MoveTo):
        check_time(0.0 if instruction.now is None else instruction.now)
    elif isinstance(instruction, SetSolver):
        _check_solver(*instruction)


def check_time(now: float) -> None:
    """Raise InvalidOption where `now` [s] is no time: by NaN no goal would ever be stale."""
    if exact_number(now, float) is None or not math.isfinite(now):
        raise InvalidOption(f'now = {now!r} [s]: a finite number, as of a clock, is needed')


def _check_solver(solver: object, options: object) -> None:
    if not isinstance(solver, (str, Solver)):
        raise InvalidOption(
            f'solver = {solver!r}: a name from SOLVERS or a Solver is needed, as of make_solver'
        )
    if not (options is None or isinstance(options, Mapping)):
        raise InvalidOption(f"solver options {options!r}: {{'max_step': 0.1}}, say, is needed")


class Observer(Protocol):
    """Hears of all that makes a tracker do what it does, and of what it does, as it happens."""

    @property
    def is_due(self) -> bool:
        """Whether it is to begin anew before it hears of anything else."""

    def begin(self, snapshot: Snapshot) -> None:
        """What follows happens to a tracker in this state."""

    def applied(self, instruction: Instruction) -> None:
        """An instruction that the tracker has applied."""

    def ticked(self, now: float, command: Command) -> None:
        """It commanded this."""

    def read(self, seconds: float) -> None:
        """It read this from its clock."""

    def failed(self, *, changed: bool) -> None:
        """An instruction or a tick raised: what was read for it is of no use.

        changed : the tracker may be in another state than before
        """


class ObservedClock:
    """A clock whose readings an observer hears of, while there is one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.observer: Observer | None = None

    def __call__(self) -> float:
        """The next reading."""
        seconds = self._clock()
        if self.observer is not None:
            self.observer.read(seconds)
        return seconds
