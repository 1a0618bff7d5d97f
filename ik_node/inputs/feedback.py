# SPDX-License-Identifier: Apache-2.0
"""The robot compared with the command: one state, and the one that comes next.

| state | meaning |
|---|---|
| `Waiting` | for first or lost states, an active controller, rest before a start, or ~/reset |
| `Agreeing` | the robot is where the command is |
| `Sagging` | it rests beside the command, which explains that: the command stays |
| `Diverged` | it does not follow: the command stops |
| `Returning` | the command goes to where the robot rests |
| `MovedExternally` | others move the robot: the command waits until it rests |

`next_state` says which comes next, from what is seen in a tick; `acts` what the command does at
the change; `may_publish` whether the command of a tick is published. docs/ros.md has the table.

A robot at rest differs from its command because it holds imperfectly, or because others moved it.
It holds imperfectly where the difference appears within SETTLING after the command came to rest or
began at measured positions, or creeps. The command then stays: one that began anew at each sag
would sink for ever. Others moved it where the difference changes later, and faster than CREEP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

from ik_core.maths.rotations import Array

from ..outputs.codes import StatusCode

# [s] A difference that appears within this time after the command came to rest is a sag.
SETTLING = 0.5
# [rad/s or m/s] The sag is followed so fast meanwhile: a single wrong sample changes little,
SAG_SPEED = 1.0
CREEP = 0.01  # [rad/s or m/s] and so fast later
# [s] A robot that lags by less is not judged by its difference to a command that just stopped.
LONGEST_LAG = 0.3
LONGEST_STEP = 0.05  # [s] longer ticks, as after a stall, let the sag follow no faster than this
CONFIRMING = 3  # messages of joint_states in a row that show that a robot was moved,
CONFIRMING_TIME = 0.02  # [s] over this time
KEPT = 3.0  # [s] how long the goals of a robot that stands still are kept
LEFT = 5e-3  # [rad or m] a robot that stood still has left when a joint is farther from there


class Cause(Enum):
    """What is waited for."""

    FIRST_STATES = auto()
    LOST_STATES = auto()
    CONTROLLER = auto()
    REST = auto()
    """Of robot and command, to start there: asked for, or the robot left its start."""
    RESET = auto()
    """A call of ~/reset."""


@dataclass(frozen=True, eq=False)
class Waiting:
    """Nothing begins before the cause has gone, and robot and command rest.

    goals_until [s] : goals are kept until then; -inf: they were dropped
    by (n + m,) : difference at rest, [rad or m], before the states were lost; None: not known
    is_apart : the robot may be elsewhere than commanded
    has_sent : something was published since the last start, so the robot may follow that
    needs_reset : once the cause has gone, only ~/reset ends the wait
    """

    cause: Cause
    goals_until: float = -math.inf
    by: Array | None = None
    is_apart: bool = True
    has_sent: bool = True
    needs_reset: bool = False

    @property
    def keeps_goals(self) -> bool:
        """Whether goals wait for the end of this."""
        return self.goals_until > -math.inf


class Suspicion(NamedTuple):
    """Since when [s], and since which message, a robot at rest differs as it should not."""

    samples: int
    since: float


class Returned(NamedTuple):
    """The difference (n + m,) for which the command returned last; whether it moved since then."""

    difference: Array
    has_moved: bool = False


@dataclass(frozen=True, eq=False)
class Agreeing:
    """The robot follows, and rests within the tolerance of the command.

    by (n + m,) : measured minus commanded [rad or m], as at the last rest
    is_new : nothing was published since the command began at measured positions
    suspicion : None, or since when the robot at rest seems to be moved by others
    returned : None, or the last return for a robot that did not follow
    stood (n + m,) : where it stood still before, until it has left; None: nowhere
    """

    by: Array
    is_new: bool = False
    suspicion: Suspicion | None = None
    returned: Returned | None = None
    stood: Array | None = None


class Sagging(Agreeing):
    """The same, but it rests beside the command by more than the tolerance."""


@dataclass(frozen=True, eq=False)
class Diverged:
    """The robot does not follow; `returned` as in Agreeing."""

    returned: Returned | None = None


@dataclass(frozen=True, eq=False)
class Returning:
    """The command, or the controller, is on its way to where the robot rests.

    until [s] : not over before
    difference (n + m,) : measured minus commanded, when it began
    cause : what was waited for before; None: the robot did not follow
    keeps_goals : whether goals wait for the end of this
    """

    until: float
    difference: Array
    cause: Cause | None = None
    keeps_goals: bool = False


@dataclass(frozen=True, eq=False)
class MovedExternally:
    """Others move the robot; `by` as in Agreeing, before they did."""

    by: Array
    keeps_goals: bool = False


State = Waiting | Agreeing | Diverged | Returning | MovedExternally


class Seen(NamedTuple):
    """What is seen in a tick. Rows (n + m,) have the mimic joints last; others do not count.

    now, period [s] : the time, and that since the last tick
    difference : measured minus commanded [rad or m], by the shorter way round
    measured : positions
    samples : number of messages of joint_states so far
    command_rests : the command rests, and what was sent has ended
    resting_for [s] : since then, or since the command began at measured positions
    must_follow : the command moves, or holds a goal
    is_lost : no states came for too long
    robot_rests : the states of the robot agree for some time
    is_behind, stands : it does not follow (`following_error`)
    is_off : its controller is known, and not active
    paused : motion is paused
    is_outside : the robot is outside of its limits, where no goal can lead it
    return_time [s] : how long a controller may take to where the robot rests
    """

    now: float
    period: float
    difference: Array
    measured: Array
    samples: int
    command_rests: bool
    resting_for: float
    must_follow: bool
    is_lost: bool
    robot_rests: bool
    is_behind: bool
    stands: bool
    is_off: bool
    paused: bool = False
    is_outside: bool = False
    return_time: float = 0.0

    @property
    def all_rest(self) -> bool:
        """Whether a motion can begin where the robot is."""
        return self.command_rests and self.robot_rests


class Rules(NamedTuple):
    """What the parameters ask for.

    tolerance (n + m,) : states of a robot at rest may differ so much [rad or m]
    allowed (n + m,) : following errors [rad or m]
    sends_trajectories : a controller executes what is sent; else each command is published
    waits : `after_not_following` is wait
    """

    tolerance: Array
    allowed: Array
    sends_trajectories: bool
    waits: bool = False


# Which state comes next


def next_state(state: State, seen: Seen, rules: Rules) -> State:
    """The state after a tick; the same object where nothing changes."""
    if seen.is_lost:
        return _without_states(state, rules)
    return _NEXT[type(state)](state, seen, rules)


def _without_states(state: State, rules: Rules) -> State:
    if isinstance(state, Waiting) and state.cause in (Cause.FIRST_STATES, Cause.LOST_STATES):
        return state
    by = state.by if isinstance(state, Agreeing | MovedExternally | Waiting) else None
    needs_reset = isinstance(state, Waiting) and state.cause is Cause.RESET
    needs_reset |= isinstance(state, Diverged) and rules.waits
    return Waiting(Cause.LOST_STATES, by=by, has_sent=_has_sent(state), needs_reset=needs_reset)


def _has_sent(state: State) -> bool:
    """Return whether the robot may follow what was published."""
    if isinstance(state, Waiting):
        return state.has_sent
    return not (
        isinstance(state, MovedExternally) or (isinstance(state, Agreeing) and state.is_new)
    )


def _next_of_agreeing(state: Agreeing, seen: Seen, rules: Rules) -> State:
    if seen.is_behind:
        return Diverged(state.returned)
    if seen.must_follow and (seen.is_off or (seen.stands and rules.sends_trajectories)):
        if state.stood is not None and not seen.is_off:  # it stopped again where it stood
            return Diverged(state.returned)
        return Waiting(Cause.CONTROLLER, goals_until=seen.now + KEPT)
    if seen.command_rests:
        return _at_rest(state, seen, rules)
    if state.stood is not None and _beyond(seen.measured - state.stood, LEFT):
        state = replace(state, stood=None)
    returned = state.returned
    if returned is None or returned.has_moved:
        return state
    return replace(state, returned=Returned(returned.difference, has_moved=True))


def _at_rest(state: Agreeing, seen: Seen, rules: Rules) -> State:
    """Tell a robot that holds imperfectly from one that others move."""
    # Where its controller is off, the command does not hold it, and explains nothing.
    settles = seen.resting_for < SETTLING and not seen.is_off
    step = (SAG_SPEED if settles else CREEP) * min(seen.period, LONGEST_STEP)
    by = state.by + np.clip(seen.difference - state.by, -step, step)
    suspicion = None
    if not (settles or seen.must_follow) and _beyond(seen.difference - by, rules.tolerance):
        suspicion = state.suspicion or Suspicion(seen.samples, seen.now)
        messages, seconds = seen.samples - suspicion.samples, seen.now - suspicion.since
        if messages >= CONFIRMING - 1 and seconds >= CONFIRMING_TIME:
            return MovedExternally(state.by, keeps_goals=seen.paused)
    if seen.resting_for >= LONGEST_LAG and _beyond(by, rules.allowed):
        return Diverged(state.returned)
    return _settled(by, rules, state, suspicion=suspicion)


def _settled(by: Array, rules: Rules, state: Agreeing | None = None, **fields: Any) -> Agreeing:
    """Agreeing, or Sagging, by this difference."""
    kind = Sagging if _beyond(by, rules.tolerance) else Agreeing
    if state is not None:
        fields = {
            'is_new': state.is_new,
            'returned': state.returned,
            'stood': state.stood,
        } | fields
    return kind(by, **fields)


def _begun(seen: Seen) -> Agreeing:
    """The command began where the robot is."""
    return Agreeing(np.zeros_like(seen.difference), is_new=True)


def _next_of_waiting(state: Waiting, seen: Seen, rules: Rules) -> State:
    cause = state.cause
    if state.keeps_goals and seen.now > state.goals_until:
        return Diverged() if cause is Cause.CONTROLLER else replace(state, goals_until=-math.inf)
    if cause in (Cause.FIRST_STATES, Cause.RESET) or seen.is_off or not seen.all_rest:
        return state
    if state.needs_reset:
        return Waiting(Cause.RESET)
    if state.by is not None and not _beyond(seen.difference - state.by, rules.tolerance):
        return _settled(state.by, rules)  # it is where it rested before
    if rules.sends_trajectories:
        return _return(state, seen) if state.has_sent and state.is_apart else _begun(seen)
    if cause is not Cause.REST or not state.has_sent or (state.is_apart and seen.is_outside):
        return _begun(seen)
    return state if seen.paused else _return(state, seen)  # in a pause nothing moves


def _next_of_diverged(state: Diverged, seen: Seen, rules: Rules) -> State:
    returned = state.returned
    if seen.is_off or not seen.all_rest:
        return state
    comes_back = returned is not None and (
        not returned.has_moved
        or not _beyond(seen.difference - returned.difference, rules.tolerance)
    )
    if rules.waits or comes_back:
        return Waiting(Cause.RESET)
    if rules.sends_trajectories:
        return _return(state, seen)
    if seen.is_outside:  # its limits lead it back: where it diverges there again, it waits
        return replace(_begun(seen), returned=Returned(seen.difference))
    return state if seen.paused else _return(state, seen)  # in a pause nothing moves


def _return(state: Waiting | Diverged, seen: Seen) -> Returning:
    cause, keeps_goals = None, False
    if isinstance(state, Waiting):
        cause, keeps_goals = state.cause, state.keeps_goals
    return Returning(seen.now + seen.return_time, seen.difference, cause, keeps_goals)


def _next_of_returning(state: Returning, seen: Seen, rules: Rules) -> State:
    if seen.is_off or not seen.all_rest or seen.now < state.until:
        return state
    if seen.paused and not rules.sends_trajectories:
        return state  # it stopped on the way
    returned = Returned(state.difference) if state.cause is None else None
    if _beyond(seen.difference, rules.allowed):
        return Diverged(returned)
    if state.keeps_goals:
        return _settled(seen.difference, rules, stood=seen.measured)
    return _settled(seen.difference, rules, returned=returned)


def _next_of_moved(state: MovedExternally, seen: Seen, rules: Rules) -> State:
    if not seen.robot_rests:
        return state
    if not _beyond(seen.difference - state.by, rules.tolerance):
        return _settled(state.by, rules)
    return _begun(seen)


_NEXT: dict[type, Callable[..., State]] = {
    Waiting: _next_of_waiting,
    Agreeing: _next_of_agreeing,
    Sagging: _next_of_agreeing,
    Diverged: _next_of_diverged,
    Returning: _next_of_returning,
    MovedExternally: _next_of_moved,
}


def after_reset(state: State) -> State:
    """The state after ~/reset: start where the robot is, once it rests."""
    if isinstance(state, Waiting) and state.cause in (Cause.FIRST_STATES, Cause.LOST_STATES):
        return state
    is_apart = state.is_apart if isinstance(state, Waiting) else not isinstance(state, Agreeing)
    return Waiting(Cause.REST, is_apart=is_apart, has_sent=_has_sent(state))


def before_first_command(state: Agreeing, difference: Array, rules: Rules, now: float) -> State:
    """The state for the first command since a start: Waiting if the robot has left since then."""
    if _beyond(difference - state.by, rules.tolerance):
        return Waiting(Cause.REST, goals_until=now + KEPT, has_sent=False)
    return replace(state, is_new=False)


def status_of(state: State) -> StatusCode | None:
    """The status of the node, for which goals are refused; None: they are followed, or wait."""
    if isinstance(state, Agreeing | MovedExternally):
        return None
    cause = None if isinstance(state, Diverged) else state.cause
    return _STATUS.get(cause, StatusCode.NOT_FOLLOWING)


_STATUS: dict[Cause | None, StatusCode] = {
    Cause.FIRST_STATES: StatusCode.WAITING_FOR_STATE,
    Cause.LOST_STATES: StatusCode.STATE_LOST,
    Cause.REST: StatusCode.RESETTING,
}


# What follows from it


class Act(Enum):
    """What the command does when the state changes."""

    STOP = auto()
    """Brake, and drop the goals."""
    BEGIN = auto()
    """Begin where the robot is measured; nothing is published on the way."""
    BEGIN_WITH_GOALS = auto()
    """The same, and go on to the goals."""
    MOVE = auto()
    """Move to where the robot is measured, within the limits."""
    END_MOVE = auto()
    """That was nobody's goal."""
    LEAD = auto()
    """Send the controller to where the robot is measured."""


def acts(before: State, after: State, rules: Rules) -> tuple[Act, ...]:
    """What the command does when one state comes after another."""
    if isinstance(after, Waiting):
        drops = isinstance(before, Waiting) and before.keeps_goals and not after.keeps_goals
        drops |= after.cause is Cause.LOST_STATES
        return (Act.STOP,) if drops and before is not after else ()
    if type(after) is type(before) or (
        isinstance(after, Agreeing) and isinstance(before, Agreeing)
    ):
        return ()
    keeps = not isinstance(before, Agreeing | Diverged) and before.keeps_goals
    begin = Act.BEGIN_WITH_GOALS if keeps else Act.BEGIN
    if isinstance(after, Diverged):
        return (Act.STOP,)
    if isinstance(after, MovedExternally):
        return () if after.keeps_goals else (Act.STOP,)
    if isinstance(after, Returning):
        return (begin, Act.LEAD) if rules.sends_trajectories else (Act.MOVE,)
    if isinstance(before, Returning):
        return () if rules.sends_trajectories else (Act.END_MOVE,)
    return (begin,) if after.is_new else ()


def must_brake(state: State, rules: Rules) -> bool:
    """Return whether the command brakes, whatever its goals and limits ask for."""
    if isinstance(state, Returning):
        return rules.sends_trajectories
    return not isinstance(state, Agreeing)


def may_publish(
    state: State, rules: Rules, *, at_rest: bool, has_ended: bool, is_off: bool, may_be_off: bool
) -> bool:
    """Return whether the command of a tick is published.

    at_rest : the command rested before the tick, and rests after it
    has_ended : the last trajectory has ended
    is_off, may_be_off : the controller is not active; it was not when the last states came
    """
    if isinstance(state, MovedExternally):
        return False
    if isinstance(state, Agreeing) or (isinstance(state, Waiting) and not state.is_apart):
        if rules.sends_trajectories:
            return not (is_off or has_ended)
        suspects = isinstance(state, Agreeing) and state.suspicion is not None
        return not (is_off or may_be_off or suspects)
    if rules.sends_trajectories or is_off:
        return False
    if isinstance(state, Returning):
        return True
    if isinstance(state, Waiting) and (state.cause is Cause.CONTROLLER or not state.has_sent):
        return False
    return not at_rest  # the stop of what was published is


def _beyond(rows: Array, allowed: Array | float) -> bool:
    return bool((np.abs(rows) > allowed).any())
