"""From a stream of goals to a stream of joint commands: continuity and rate limits.

`Tracker` is called once per period. Each tick makes one seeded solve without restarts, or advances
one search with restarts when a new goal is far and the seeded solve cannot reach it, and then
moves the commanded joints one step towards the solution. What its users can rely on:

1. Every commanded position is finite and inside the limits, and every step respects the velocity and
   acceleration limits (`motion.py` says which rule wins when a limit is tightened while moving).
2. While a goal is followed there are no restarts, so the arm stays on its branch. A search starts
   only for a goal that jumped, at most every `replan_period`, and its branch is kept until the next.
3. Joints that can turn more than once take the nearest turn: no clipping, no winding.
4. A goal out of reach gives the closest pose, held still.
5. Goals older than `goal_timeout`, and `stop()`, decelerate to rest; commands go on.
6. All the computing of a tick shares one time budget, a part of the period.

A tip without a goal of its own holds the pose it had when its last goal ended (or the first goal of
another tip came), with the same weight as a goal: where both cannot be had, the closest compromise is
held and reported as such. With no goals at all nothing is solved and the joints rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from .problem import IkProblem
    from .robot import Robot
    from .solvers import Solver

Array = NDArray[np.float64]


class TrackStatus(Enum):
    """What the tracker is doing; `text` is the sentence shown to people."""

    IDLE = 'idle'
    TRACKING = 'tracking'
    REACHED = 'reached'
    CLOSEST = 'closest'
    SEARCHING = 'searching'
    STALE = 'stale'
    PAUSED = 'paused'

    @property
    def text(self) -> str:
        """One sentence for status messages."""
        return _STATUS_TEXT[self]


_STATUS_TEXT = {
    TrackStatus.IDLE: 'no goal yet: holding the joints still',
    TrackStatus.TRACKING: 'moving to the goal',
    TrackStatus.REACHED: 'the goal is reached',
    TrackStatus.CLOSEST: 'the goal is out of reach: holding the closest pose found',
    TrackStatus.SEARCHING: 'searching for a way to reach the new goal',
    TrackStatus.STALE: 'the goals stopped coming (goal_timeout): stopped',
    TrackStatus.PAUSED: 'paused: stopped, goals are kept',
}


@dataclass(frozen=True)
class TrackerOptions:
    """How goals are followed. Raises InvalidOption when a value is out of its bounds."""

    updates_per_tick: int = field(
        default=0,
        metadata={
            'doc': 'solver updates per tick; 0 solves to convergence every tick',
            'unit': '',
            'bounds': (0, 10_000),
        },
    )
    goal_jump_position: float = field(
        default=0.1,
        metadata={
            'doc': 'a goal that moves farther than this between two ticks is new, not followed',
            'unit': 'm',
            'bounds': (0.0, np.inf),
        },
    )
    goal_jump_orientation: float = field(
        default=0.5,
        metadata={
            'doc': 'a goal that turns farther than this between two ticks is new, not followed',
            'unit': 'rad',
            'bounds': (0.0, np.inf),
        },
    )
    replan_period: float = field(
        default=0.5,
        metadata={
            'doc': 'least time between the starts of two searches with restarts',
            'unit': 's',
            'bounds': (0.0, np.inf),
        },
    )
    goal_timeout: float = field(
        default=0.0,
        metadata={
            'doc': 'a goal older than this is dropped and the arm stops; 0 keeps goals for ever',
            'unit': 's',
            'bounds': (0.0, np.inf),
        },
    )


@dataclass(frozen=True)
class MotionLimits:
    """The limits of every commanded step, one value per joint of the robot; inf where none.

    lower, upper: (n,) [rad or m]; velocity (n,) >= 0 [rad/s, m/s]; acceleration (n,) > 0 [rad/s^2, m/s^2].
    Raises InvalidOption for NaN, lower > upper, wrong lengths or signs.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike = np.inf,
    ) -> MotionLimits:
        """Return the robot's own limits; a number or (n,) array replaces the URDF's velocities."""
        raise NotImplementedError


class Command(NamedTuple):
    """What one tick commands and reports. The arrays belong to the caller.

    q (n,), dq (n,): commanded position and velocity of all joints of the robot.
    position_errors (G,) [m], orientation_errors (G,) [rad]: those of the commanded q, per tip.
    solution (n,): where the solver wants the joints, which q moves to at limited speed.
    iterations, restarts, solve_time [s]: what the solver spent in this tick.
    """

    q: Array
    dq: Array
    status: TrackStatus
    position_errors: Array
    orientation_errors: Array
    iterations: int
    solve_time: float
    solution: Array
    restarts: int


class Tracker:
    """Follows one goal per tip of a problem, one period per tick.

    problem: its tasks are the tips, in order; the tracker works on a clone.
    rate [Hz]: a step is always one nominal period long, however late its tick comes.
    limits: see MotionLimits. solver: a name, or a Solver used as it is. q0 (n,): where the joints are.
    Times (`now` [s]) are passed in and only used for timeouts and `replan_period`. Not thread-safe:
    call everything from one thread, or under one lock.
    """

    def __init__(
        self,
        problem: IkProblem,
        rate: float,
        *,
        limits: MotionLimits,
        solver: str | Solver = 'levenberg_marquardt',
        solver_options: Mapping[str, Any] | None = None,
        options: TrackerOptions = TrackerOptions(),
        q0: ArrayLike | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def q(self) -> Array:
        """(n,) commanded position (a copy)."""
        raise NotImplementedError

    @property
    def dq(self) -> Array:
        """(n,) commanded velocity (a copy)."""
        raise NotImplementedError

    @property
    def period(self) -> float:
        """[s] The nominal time between two ticks."""
        raise NotImplementedError

    def set_goal(self, index: int, transform: ArrayLike | None, now: float) -> None:
        """Give tip `index` the goal `transform` (4, 4) in the root frame, or None to drop its goal.

        Takes effect at the next tick. Raises InvalidGoal (and keeps the last goal) for a transform that
        is not finite or not a rigid motion, and for an index that is not a tip.
        """
        raise NotImplementedError

    def tick(self, now: float) -> Command:
        """Advance by one nominal period and return the command."""
        raise NotImplementedError

    def set_limits(self, limits: MotionLimits) -> None:
        """Use these limits from the next tick on; InvalidOption when they are for another robot."""
        raise NotImplementedError

    def set_options(self, options: TrackerOptions) -> None:
        """Use these options from the next tick on."""
        raise NotImplementedError

    def set_solver(self, solver: str | Solver, options: Mapping[str, Any] | None = None) -> None:
        """Use this solver from the next tick on; InvalidOption (nothing changes) when it is wrong."""
        raise NotImplementedError

    def pause(self, paused: bool = True) -> None:
        """Decelerate to rest and keep the goals, or go on with them."""
        raise NotImplementedError

    def stop(self) -> None:
        """Decelerate to rest and drop all goals (clock jump, lost model)."""
        raise NotImplementedError

    def reset(self, q: ArrayLike | None = None, dq: ArrayLike | None = None) -> None:
        """Drop all goals and start again from q, dq (n,): without them, where it is, at rest.

        Raises InvalidGoal for non-finite values and wrong lengths. A q outside the limits is taken as it
        is and brought inside at limited speed.
        """
        raise NotImplementedError

    def warm(self) -> None:
        """Run everything a tick may run once, so that all kernels are compiled; changes nothing."""
        raise NotImplementedError
