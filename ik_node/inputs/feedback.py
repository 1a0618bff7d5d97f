# SPDX-License-Identifier: Apache-2.0
"""The state machine that compares the robot with the command.

| state | meaning |
|---|---|
| `Waiting` | for first or lost states, an active controller, rest before a start, or ~/reset |
| `Agreeing` | the robot is where the command is |
| `Sagging` | the robot sags below its command at rest: the command stays |
| `Diverged` | the robot does not follow: the command stops |
| `Returning` | the command goes to where the robot rests |
| `MovedExternally` | others move the robot: the command waits until it rests |

`next_state` returns the state after the observation of a tick, `reactions` what the command does
at the change, `may_publish` whether the command of a tick is published. docs/ros.md has the table.

A robot at rest differs from its command because it sags, or because others moved it. A difference
is a sag if it appears within SETTLING after the command came to rest or was set to measured
positions, or later if it changes slower than CREEP. The command then stays: if it were set to the
measured positions at each sag, the robot would sink for ever. A difference that changes later and
faster means that others moved the robot.
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
# [rad/s or m/s] The known sag changes at most this fast during SETTLING, so that a single wrong
# sample changes little,
SAG_SPEED = 1.0
CREEP = 0.01  # [rad/s or m/s] and at most this fast later
# [s] The difference counts this long after the command stopped: until then the robot may lag.
LONGEST_LAG = 0.3
LONGEST_STEP = 0.05  # [s] a longer period, as after a stall, counts as this one for the sag
CONFIRMING = 3  # consecutive messages of joint_states that prove that a robot was moved,
CONFIRMING_TIME = 0.02  # [s] if they span this time
KEPT = 3.0  # [s] goals are kept this long while the robot stands still
MOVED_AWAY = 5e-3  # [rad or m] a joint farther than this from where it stopped has moved on


class Cause(Enum):
    """The reason of a wait."""

    FIRST_STATES = auto()
    LOST_STATES = auto()
    CONTROLLER = auto()
    REST = auto()  # robot and command must rest, for a start
    RESET = auto()  # ~/reset must be called
    WAY_BACK = auto()  # no message may send the controller to the robot


@dataclass(frozen=True, eq=False)
class Waiting:
    """The command waits until its cause has gone, and robot and command rest.

    goals_until : [s] goals are kept until this time; -inf: they were dropped
    offset : (n + m,) [rad or m] measured minus commanded at rest, before the states were lost;
        None if unknown
    may_differ : whether the robot may be elsewhere than commanded
    has_published : whether a command was published since the last start: the robot may follow it
    needs_reset : whether only ~/reset ends the wait once the cause has gone
    """

    cause: Cause
    goals_until: float = -math.inf
    offset: Array | None = None
    may_differ: bool = True
    has_published: bool = True
    needs_reset: bool = False

    @property
    def keeps_goals(self) -> bool:
        """True if goals are kept during the wait."""
        return self.goals_until > -math.inf


class Suspicion(NamedTuple):
    """The begin of an unexplained difference at rest: number of messages until then, time [s]."""

    samples: int
    since: float


class Returned(NamedTuple):
    """The difference (n + m,) before the last return, and whether the command moved since then."""

    difference: Array
    has_moved: bool = False


@dataclass(frozen=True, eq=False)
class Agreeing:
    """The robot follows, or rests within the tolerance of the command.

    offset : (n + m,) [rad or m] measured minus commanded, at the last rest
    is_new : whether nothing was published since the command was set to measured positions
    suspicion : when others seem to have begun to move the robot at rest; None: not at all
    returned : the last return for a robot that did not follow; None: there was none
    stopped_at : (n + m,) positions at which the robot stood still, until it has moved on; or None
    """

    offset: Array
    is_new: bool = False
    suspicion: Suspicion | None = None
    returned: Returned | None = None
    stopped_at: Array | None = None


class Sagging(Agreeing):
    """The robot rests, with a sag of more than the tolerance from the command."""


@dataclass(frozen=True, eq=False)
class Diverged:
    """The robot does not follow; `returned` as in Agreeing."""

    returned: Returned | None = None


@dataclass(frozen=True, eq=False)
class Returning:
    """The command, or the controller, moves to where the robot rests.

    until : [s] the return takes at least until this time
    difference : (n + m,) [rad or m] measured minus commanded, at its begin
    cause : the cause of the wait before; None if the robot did not follow
    keeps_goals : whether goals are kept during the return
    """

    until: float
    difference: Array
    cause: Cause | None = None
    keeps_goals: bool = False


@dataclass(frozen=True, eq=False)
class MovedExternally:
    """Others move the robot; `offset` is that of Agreeing before."""

    offset: Array
    keeps_goals: bool = False


State = Waiting | Agreeing | Diverged | Returning | MovedExternally


class Observation(NamedTuple):
    """The observation of a tick. Arrays (n + m,) have the mimic joints last.

    now, period : [s] the time, and the time since the last tick
    difference : [rad or m] measured minus commanded, to the nearest turn; 0 for joints that do
        not count
    measured : [rad or m] positions
    samples : number of messages of joint_states so far
    command_rests : whether the command rests, and the last trajectory has ended
    resting_for : [s] time since then, or since the command was set to measured positions
    must_follow : whether the command moves, or holds a goal
    is_lost : whether joint_states are overdue
    robot_rests : whether the states of the robot have agreed for some time
    is_behind, stands : whether joints lag too much, or stand still (`following_error`)
    is_off : whether the controller is known not to be active
    paused : whether motion is paused
    is_outside : whether the robot is outside its limits, where no command can go
    return_time : [s] time that a controller may take to where the robot rests
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
        """True if robot and command rest, so that a motion can begin."""
        return self.command_rests and self.robot_rests


class Rules(NamedTuple):
    """The parameters of the state machine.

    tolerance : (n + m,) [rad or m] largest difference between states of a robot at rest
    allowed : (n + m,) [rad or m] largest following errors
    sends_trajectories : whether a controller executes trajectories; else it gets each command
    waits : whether `after_not_following` is `wait`
    avoids : whether collisions are avoided, so that no motion is published that is not checked
    """

    tolerance: Array
    allowed: Array
    sends_trajectories: bool
    waits: bool = False
    avoids: bool = False


# Which state comes next


def next_state(state: State, seen: Observation, rules: Rules) -> State:
    """Return the state after a tick; the same object if nothing changes."""
    if seen.is_lost:
        return _without_states(state, rules)
    return _NEXT[type(state)](state, seen, rules)


def _without_states(state: State, rules: Rules) -> State:
    if isinstance(state, Waiting) and state.cause in (Cause.FIRST_STATES, Cause.LOST_STATES):
        return state
    offset = state.offset if isinstance(state, Agreeing | MovedExternally | Waiting) else None
    needs_reset = isinstance(state, Waiting) and state.cause is Cause.RESET
    needs_reset |= isinstance(state, Diverged) and rules.waits
    return Waiting(
        Cause.LOST_STATES,
        offset=offset,
        has_published=_has_published(state),
        needs_reset=needs_reset,
    )


def _has_published(state: State) -> bool:
    """Return whether the robot may follow a published command."""
    if isinstance(state, Waiting):
        return state.has_published
    return not (
        isinstance(state, MovedExternally) or (isinstance(state, Agreeing) and state.is_new)
    )


def _next_of_agreeing(state: Agreeing, seen: Observation, rules: Rules) -> State:
    if seen.is_behind:
        return Diverged(state.returned)
    if seen.must_follow and (seen.is_off or (seen.stands and rules.sends_trajectories)):
        if state.stopped_at is not None and not seen.is_off:  # it stopped there again
            return Diverged(state.returned)
        return Waiting(Cause.CONTROLLER, goals_until=seen.now + KEPT)
    if seen.command_rests:
        return _at_rest(state, seen, rules)
    if state.stopped_at is not None and _beyond(seen.measured - state.stopped_at, MOVED_AWAY):
        state = replace(state, stopped_at=None)
    returned = state.returned
    if returned is None or returned.has_moved:
        return state
    return replace(state, returned=Returned(returned.difference, has_moved=True))


def _at_rest(state: Agreeing, seen: Observation, rules: Rules) -> State:
    """Return the next state: the robot sags under its load, or something else moves it."""
    # While its controller is off, a robot can't sag from the command.
    settles = seen.resting_for < SETTLING and not seen.is_off
    step = (SAG_SPEED if settles else CREEP) * min(seen.period, LONGEST_STEP)
    offset = state.offset + np.clip(seen.difference - state.offset, -step, step)
    suspicion = None
    if not (settles or seen.must_follow) and _beyond(seen.difference - offset, rules.tolerance):
        suspicion = state.suspicion or Suspicion(seen.samples, seen.now)
        messages, seconds = seen.samples - suspicion.samples, seen.now - suspicion.since
        if messages >= CONFIRMING - 1 and seconds >= CONFIRMING_TIME:
            return MovedExternally(state.offset, keeps_goals=seen.paused)
    if seen.resting_for >= LONGEST_LAG and _beyond(offset, rules.allowed):
        return Diverged(state.returned)
    return _settled(offset, rules, state, suspicion=suspicion)


def _settled(
    offset: Array, rules: Rules, state: Agreeing | None = None, **fields: Any
) -> Agreeing:
    """Return Agreeing, or Sagging for an offset beyond the tolerance."""
    kind = Sagging if _beyond(offset, rules.tolerance) else Agreeing
    if state is not None:
        fields = {
            'is_new': state.is_new,
            'returned': state.returned,
            'stopped_at': state.stopped_at,
        } | fields
    return kind(offset, **fields)


def _restarted(seen: Observation) -> Agreeing:
    """Return the state after a restart of the command at the measured positions."""
    return Agreeing(np.zeros_like(seen.difference), is_new=True)


def _next_of_waiting(state: Waiting, seen: Observation, rules: Rules) -> State:
    cause = state.cause
    if state.keeps_goals and seen.now > state.goals_until:
        return Diverged() if cause is Cause.CONTROLLER else replace(state, goals_until=-math.inf)
    if cause in (Cause.FIRST_STATES, Cause.RESET) or seen.is_off or not seen.all_rest:
        return state
    if state.needs_reset:
        return Waiting(Cause.RESET)
    # The last trajectory may have ended beside the command, whose stop was not published.
    begins_anew = rules.sends_trajectories and rules.avoids
    if (
        state.offset is not None
        and not begins_anew
        and not _beyond(seen.difference - state.offset, rules.tolerance)
    ):
        return _settled(state.offset, rules)  # the robot has not moved
    if rules.sends_trajectories:
        may_be_elsewhere = state.has_published and state.may_differ
        return _lead_back(state, seen, rules) if may_be_elsewhere else _restarted(seen)
    if (
        cause is not Cause.REST
        or not state.has_published
        or (state.may_differ and seen.is_outside)
    ):
        return _restarted(seen)
    return state if seen.paused else _return(state, seen)  # in a pause nothing moves


def _next_of_diverged(state: Diverged, seen: Observation, rules: Rules) -> State:
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
        return _lead_back(state, seen, rules)
    # Limits lead the command back inside; if the robot diverges there again, it waits.
    if seen.is_outside:
        return replace(_restarted(seen), returned=Returned(seen.difference))
    return state if seen.paused else _return(state, seen)  # in a pause nothing moves


def _lead_back(state: Waiting | Diverged, seen: Observation, rules: Rules) -> State:
    """Return the state after a wait behind a controller, which has to be led to the robot.

    The way of that message is the controller's, so it is not checked for collisions: to avoid them
    the command begins where the robot rests if that is near, and else waits until it is.
    """
    if not rules.avoids:
        return _return(state, seen)
    if _beyond(seen.difference, rules.allowed):
        waits = isinstance(state, Waiting) and state.cause is Cause.WAY_BACK
        return state if waits else Waiting(Cause.WAY_BACK)
    begin = _restarted(seen)
    if isinstance(state, Diverged):
        return replace(begin, returned=Returned(seen.difference))
    return replace(begin, stopped_at=seen.measured) if state.keeps_goals else begin


def _return(state: Waiting | Diverged, seen: Observation) -> Returning:
    cause, keeps_goals = None, False
    if isinstance(state, Waiting):
        cause, keeps_goals = state.cause, state.keeps_goals
    return Returning(seen.now + seen.return_time, seen.difference, cause, keeps_goals)


def _next_of_returning(state: Returning, seen: Observation, rules: Rules) -> State:
    if seen.is_off or not seen.all_rest or seen.now < state.until:
        return state
    if seen.paused and not rules.sends_trajectories:
        return state  # the pause interrupted the return
    returned = Returned(state.difference) if state.cause is None else None
    if _beyond(seen.difference, rules.allowed):
        return Diverged(returned)
    if state.keeps_goals:
        return _settled(seen.difference, rules, stopped_at=seen.measured)
    return _settled(seen.difference, rules, returned=returned)


def _next_of_moved(state: MovedExternally, seen: Observation, rules: Rules) -> State:
    if not seen.robot_rests:
        return state
    if not _beyond(seen.difference - state.offset, rules.tolerance):
        return _settled(state.offset, rules)
    return _restarted(seen)


_NEXT: dict[type, Callable[..., State]] = {
    Waiting: _next_of_waiting,
    Agreeing: _next_of_agreeing,
    Sagging: _next_of_agreeing,
    Diverged: _next_of_diverged,
    Returning: _next_of_returning,
    MovedExternally: _next_of_moved,
}


def after_reset(state: State) -> State:
    """Return the state after ~/reset: a wait for rest, to start at the measured positions."""
    if isinstance(state, Waiting) and state.cause in (Cause.FIRST_STATES, Cause.LOST_STATES):
        return state
    may_differ = (
        state.may_differ if isinstance(state, Waiting) else not isinstance(state, Agreeing)
    )
    return Waiting(Cause.REST, may_differ=may_differ, has_published=_has_published(state))


def before_first_command(state: Agreeing, difference: Array, rules: Rules, now: float) -> State:
    """Return the state at the first command of a start: Waiting if the robot has moved since."""
    if _beyond(difference - state.offset, rules.tolerance):
        return Waiting(Cause.REST, goals_until=now + KEPT, has_published=False)
    return replace(state, is_new=False)


def status_of(state: State) -> StatusCode | None:
    """Return the status for which goals are refused; None if they are followed, or wait."""
    if isinstance(state, Agreeing | MovedExternally):
        return None
    cause = None if isinstance(state, Diverged) else state.cause
    return _STATUS.get(cause, StatusCode.NOT_FOLLOWING)


_STATUS: dict[Cause | None, StatusCode] = {
    Cause.FIRST_STATES: StatusCode.WAITING_FOR_STATE,
    Cause.LOST_STATES: StatusCode.STATE_LOST,
    Cause.REST: StatusCode.RESETTING,
}


# Reactions to changes of the state


class Reaction(Enum):
    """A reaction of the command to a change of the state."""

    STOP = auto()  # brake, and drop the goals
    RESTART = auto()  # set the command to the measured positions, without publishing a motion
    RESTART_WITH_GOALS = auto()  # the same, and follow the goals
    MOVE = auto()  # move to the measured positions, within the limits
    END_MOVE = auto()  # remove the joint goal of MOVE
    SEND_RETURN = auto()  # send the controller to the measured positions


def reactions(before: State, after: State, rules: Rules) -> tuple[Reaction, ...]:
    """Return the reactions of the command to a change of the state."""
    if isinstance(after, Waiting):
        drops = isinstance(before, Waiting) and before.keeps_goals and not after.keeps_goals
        drops |= after.cause is Cause.LOST_STATES
        return (Reaction.STOP,) if drops and before is not after else ()
    if type(after) is type(before) or (
        isinstance(after, Agreeing) and isinstance(before, Agreeing)
    ):
        return ()
    keeps = not isinstance(before, Agreeing | Diverged) and before.keeps_goals
    begin = Reaction.RESTART_WITH_GOALS if keeps else Reaction.RESTART
    if isinstance(after, Diverged):
        return (Reaction.STOP,)
    if isinstance(after, MovedExternally):
        return () if after.keeps_goals else (Reaction.STOP,)
    if isinstance(after, Returning):
        return (begin, Reaction.SEND_RETURN) if rules.sends_trajectories else (Reaction.MOVE,)
    if isinstance(before, Returning):
        return () if rules.sends_trajectories else (Reaction.END_MOVE,)
    return (begin,) if after.is_new else ()


def must_brake(state: State, rules: Rules) -> bool:
    """Return whether the command brakes, regardless of its goals and limits."""
    if isinstance(state, Returning):
        return rules.sends_trajectories
    return not isinstance(state, Agreeing)


def may_publish(
    state: State, rules: Rules, *, at_rest: bool, has_ended: bool, is_off: bool, may_be_off: bool
) -> bool:
    """Return whether the command of a tick is published.

    at_rest : whether the command rested before the tick, and rests after it
    has_ended : whether the last trajectory has ended
    is_off, may_be_off : whether the controller is inactive now, or was at the last states
    """
    if isinstance(state, MovedExternally):
        return False
    if isinstance(state, Agreeing) or (isinstance(state, Waiting) and not state.may_differ):
        if rules.sends_trajectories:
            return not (is_off or has_ended)
        suspects = isinstance(state, Agreeing) and state.suspicion is not None
        return not (is_off or may_be_off or suspects)
    if rules.sends_trajectories or is_off:
        return False
    if isinstance(state, Returning):
        return True
    if isinstance(state, Waiting) and (state.cause is Cause.CONTROLLER or not state.has_published):
        return False
    return not at_rest  # the stop of a published motion is published


def _beyond(rows: Array, allowed: Array | float) -> bool:
    return bool((np.abs(rows) > allowed).any())
