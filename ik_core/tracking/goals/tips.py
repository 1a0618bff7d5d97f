# SPDX-License-Identifier: Apache-2.0
"""The targets of the tips. Each tip has one state, which moves its frame by a period per tick:

    Hold     stay where the last goal ended, or where that of the first other tip began
    Drag     stay at the goal, and leap to the next one: the joints follow
    Stream   continue from the goal with the velocity of the stream of goals, for a while
    Line     move on a straight line to the goal, with limited speed and acceleration
    Jog      move by a twist, which changes no faster than the accelerations allow

An instruction is kept in the `Request` of a tip until the next tick accepts it:

    any    -> Line             by `accept`, a goal to be reached in a straight line
    any    -> Drag, Stream     by `accept`, any other goal, without and with a velocity
    any    -> Jog              by `jog`
    any    -> Hold             by `hold` and `release`
    Stream -> Drag             once the velocity has expired, and after a pause
    Line   -> Drag             at the goal

Tips on lines and jogs lead: the joints follow them step by step. While one tip leads, the others
keep step: what would be a leap becomes a line too (`lead_from`), until no tip leads any more
(`request_again`). If a step can't be followed the tip takes it back and tries a smaller one
(`hesitate`). If that does not help it stays where the joints can stop, and is `blocked`: a line
until something else changes, a jog until its direction changes.

A frame (12,) is a rotation matrix row by row and a position [m], in the root link's frame; a
twist (6,) a velocity [m/s] of its origin and an angular velocity [rad/s] in the root's axes. No
array is written to: it is replaced by another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from ...maths.rotations import Array, frame_of
from ..governor.second_order import approach_speed
from ..governor.speed_scale import UNLIMITED, SpeedScale
from .cartesian import (
    approach,
    carried,
    change_between,
    change_twist,
    fraction_of,
    turned_near,
    twist_between,
)

# [s] Goals further apart in time are no stream: between them there is no velocity to follow.
STREAM_GAP = 0.25
# [s] A velocity that was given with a goal expires after this time.
HORIZON = 0.1
# The speed is halved this often in a row before a path that can't be followed is blocked.
HESITATIONS = 6
STILL = np.zeros(6)


@dataclass(eq=False)
class Request:
    """The last request of a tip.

    goal (12,) : target frame; that of a jog is its present frame
    twist (6,) : velocity of its goals, or of a jog
    horizon [s] : the velocity of a goal expires this long after `received`
    linear : the goal is to be reached in a straight line
    received [s] : when the request came
    waits : the goal is yet to be accepted
    """

    goal: Array = field(default_factory=lambda: np.zeros(12))
    twist: Array = field(default_factory=lambda: STILL)
    horizon: float = 0.0
    linear: bool = False
    received: float = 0.0
    waits: bool = False

    def is_new(self, now: float, timeout: float) -> bool:
        """Return whether the request came less than a timeout [s] ago."""
        return 0.0 <= now - self.received <= timeout


class Allowance(NamedTuple):
    """Limits of a tip's motion in a tick.

    now, period [s]
    speeds (4,) : limits of lines and jogs: linear and angular velocity, then both accelerations
    twist_timeout [s] : a twist expires after this time
    scale : speed limits that the tip's joints set, as fractions of its full speed
    jog_fraction : factor of a jog's speed, below 1 on the way into a singularity
    turns : True while the tip's orientation lags; its line ends only once it has caught up
    """

    now: float
    period: float
    speeds: Array
    twist_timeout: float
    scale: SpeedScale = UNLIMITED
    jog_fraction: float = 1.0
    turns: bool = False


@dataclass(eq=False)
class TipState:
    """The state of a tip.

    fraction : of its full speed, that the tip has on a line or a jog
    blocked : its path can't be followed
    """

    fraction: float = 0.0
    blocked: bool = False

    has_goal: ClassVar[bool] = True
    advances: ClassVar[bool] = False  # the frame moves by itself
    leads: ClassVar[bool] = False  # the joints follow step by step

    def advance(self, tip: Tip, step: Allowance) -> TipState:
        """Move the frame of the tip by a period; return the state from then on."""
        return self


class Hold(TipState):
    """Stay, without a goal."""

    has_goal = False


class Drag(TipState):
    """Stay at the goal until there is another."""


class Stream(TipState):
    """Move on from the goal with its velocity."""

    advances = True

    def advance(self, tip: Tip, step: Allowance) -> TipState:
        request = tip.request
        age = step.now - request.received
        if 0.0 <= age <= request.horizon:
            tip.frame = carried(request.goal, request.twist, age)
            return self
        tip.frame, request.twist = request.goal, STILL
        return Drag()


@dataclass(eq=False)
class Line(TipState):
    """Move to the goal in a straight line, with a velocity `twist` (6,)."""

    twist: Array = field(default_factory=lambda: STILL)

    advances = leads = True

    def advance(self, tip: Tip, step: Allowance) -> TipState:
        scale, goal = step.scale, tip.request.goal
        least, most = scale.least * self.fraction, scale.most(self.fraction) * tip.caution
        tip.frame, self.twist = tip.frame.copy(), self.twist.copy()
        self.fraction = approach(
            tip.frame, goal, self.twist, step.speeds, self.fraction, least, most, step.period
        )
        if self.fraction == 0.0 and not step.turns and (tip.frame == goal).all():
            return Drag()
        return self


@dataclass(eq=False)
class Jog(TipState):
    """Move by a `twist` (6,), which approaches the requested one.

    blocked_twist (6,) : the requested one when the jog was blocked
    """

    twist: Array = field(default_factory=lambda: STILL)
    blocked_twist: Array = field(default_factory=lambda: STILL)

    advances = leads = True

    def advance(self, tip: Tip, step: Allowance) -> TipState:
        if not tip.request.is_new(step.now, step.twist_timeout):
            tip.request.twist = STILL
        wanted = tip.request.twist
        fastest = fraction_of(wanted, step.speeds)
        most, full = step.scale.most(self.fraction) * tip.caution, step.scale.slack * tip.caution
        scale = min(1.0, most * step.jog_fraction / fastest) if fastest > 0.0 else 0.0
        goal = wanted * (min(1.0, full * step.jog_fraction / fastest) if fastest > 0.0 else 0.0)
        before, least = self.twist, step.scale.least * self.fraction
        self.twist = before.copy()
        change_twist(self.twist, wanted, step.speeds, scale, step.period)
        self._ease(before, goal, step)
        fraction, most = fraction_of(self.twist, step.speeds), max(most, least)
        if fraction > most and self.fraction > most:  # joints brake harder than its accelerations
            self.twist = most / self.fraction * before
        elif fraction < least:  # or not as hard
            self.twist = before + (self.fraction - least) / (self.fraction - fraction) * (
                self.twist - before
            )
        self.fraction = fraction_of(self.twist, step.speeds)
        tip.frame = tip.request.goal = carried(tip.frame, self.twist, step.period)
        return self

    def _ease(self, before: Array, goal: Array, step: Allowance) -> None:
        """Limit the change of the twist from `before` to `goal` (6,), so as not to overshoot."""
        if self.fraction == 0.0:
            return
        left, change = fraction_of(goal - before, step.speeds), self.twist - before
        most = approach_speed(left, step.scale.change * self.fraction, 1.0)
        asked = fraction_of(change, step.speeds)
        if asked > most:
            self.twist = before + most / asked * change


class Tip:
    """The target of one tip: `frame` (12,), moved by its `state`; all is only to be read.

    index : of its goal in the problem
    given (4, 4) : the last goal, which `restore_goal` sets again; None after a twist or a stop
    """

    # Attributes that are its state.
    OWN: ClassVar = (
        'frame', 'state', 'request', 'given', '_accepted', '_accepted_linear', '_before',
        '_hesitations', '_late',
    )  # fmt: skip

    def __init__(self, index: int) -> None:
        self.index = index
        self.frame = np.zeros(12)
        self.state: TipState = Hold()
        self.request = Request()
        self.given: Array | None = None
        self._accepted = np.zeros(12)  # the goal that is followed,
        self._accepted_linear = False  # and whether in a straight line
        self._before = np.zeros(12)  # the frame a tick ago
        self._hesitations = 0
        self._late = 0  # ticks in a row in which the joints were not solved for in time

    @property
    def has_goal(self) -> bool:
        """True if the tip has a goal, or a twist."""
        return self.state.has_goal

    @property
    def moves(self) -> bool:
        """True if the frame moves by itself."""
        return self.state.advances and not self.state.blocked

    @property
    def leads(self) -> bool:
        """True if the tip was asked to move so that the joints follow step by step."""
        return self.state.leads and self.moves and not self.keeps_step

    @property
    def keeps_step(self) -> bool:
        """True if the tip is on a line only because another tip leads."""
        return isinstance(self.state, Line) and not self.request.linear

    @property
    def target(self) -> Array:
        """The frame (12,) that errors are measured from: the goal on a line, else the frame."""
        return self.request.goal if isinstance(self.state, Line) else self.frame

    @property
    def caution(self) -> float:
        """The fraction of its speed that is left after it hesitated, or after late solves."""
        return 0.5 ** (self._hesitations + self._late)

    @property
    def jog_twist(self) -> Array | None:
        """The requested twist (6,) of a jog; None in other states."""
        return self.request.twist if isinstance(self.state, Jog) else None

    @property
    def turn(self) -> Array:
        """The angular velocity (3,) of a line or a jog."""
        return self.state.twist[3:] if isinstance(self.state, (Jog, Line)) else STILL[3:]

    @property
    def turns_only(self) -> bool:
        """True if the tip is a jog that turns without moving its origin."""
        if not isinstance(self.state, Jog):
            return False
        twist = self.state.twist
        return bool(twist[3:].any() and not twist[:3].any())

    def has_ended(self, now: float, twist_timeout: float) -> bool:
        """Return whether the tip is a jog that rests after its last twist, without a request."""
        state, request = self.state, self.request
        if not isinstance(state, Jog) or request.waits:
            return False
        if state.blocked:
            return not request.is_new(now, twist_timeout)
        return not (state.twist.any() or request.twist.any())

    def is_stale(self, now: float, timeout: float) -> bool:
        """Return whether the tip has a goal, not a twist, that is older than the timeout [s]."""
        if isinstance(self.state, (Hold, Jog)):
            return False
        return now - self.request.received > timeout

    # Instructions

    def set_goal(self, goal: Array, now: float, *, linear: bool, twist: Array | None) -> None:
        """Set the goal (4, 4), and its velocity (6,) for the next HORIZON seconds."""
        self.request.twist, self.request.horizon = STILL if twist is None else twist, HORIZON
        self._request_goal(goal, now, linear)

    def set_stream_goal(self, goal: Array, now: float) -> None:
        """Set a goal (4, 4) that continues with the velocity of its stream."""
        request = self.request
        seconds = now - request.received
        velocity = STILL
        if 0.0 < seconds <= STREAM_GAP:
            velocity = twist_between(request.goal, frame_of(goal)) / seconds
            if isinstance(self.state, Stream):  # smoothed: goals come with jitter
                velocity = request.twist + 0.5 * (velocity - request.twist)
        if seconds > 0.0:
            request.twist, request.horizon = velocity, 2.0 * seconds
        self._request_goal(goal, now, linear=False)

    def _request_goal(self, goal: Array, now: float, linear: bool) -> None:
        request, self.given = self.request, goal
        request.goal = frame_of(goal)
        request.received, request.linear, request.waits = now, linear, True
        if not self.state.has_goal:
            self.state = Drag()

    def jog(self, twist: Array, now: float) -> None:
        """Move by a twist (6,), from the present frame or that of the next `lead_from`."""
        if not isinstance(self.state, Jog):
            self.hold(self.frame)
            self.state = Jog()
        elif self.state.blocked and float(twist @ self.state.blocked_twist) <= 0.0:
            self.state.blocked = False  # another direction
        self.request.twist = twist
        self.request.received = now
        self.given = None

    def forget(self) -> None:
        """Forget the last goal: `restore_goal` shall not set it again."""
        self.given = None

    def hold(self, frame: Array) -> None:
        """Stay at a frame (12,), without a goal."""
        self.frame = self.request.goal = self._accepted = frame
        self.request.twist = STILL
        self.request.linear = self.request.waits = False
        self.state = Hold()

    def release(self) -> None:
        """Stay, without a goal."""
        self.request.waits = False
        self.state = Hold()

    def resume(self) -> None:
        """Continue after a pause, or after braking."""
        if isinstance(self.state, Stream) or self.keeps_step:
            self.frame = self.request.goal
            self.state = Drag()
        elif isinstance(self.state, Line):
            self.state = Line()

    def restore_goal(self, given: Array, request: Request) -> None:
        """Set a goal again, `given` (4, 4), by its request."""
        self.given, self.request = given, request
        request.waits = True
        if not self.has_goal:
            self.state = Drag()

    def request_again(self) -> None:
        """Continue to the goal as it was requested, once no tip leads any more."""
        self.state = Drag()
        self._accepted = self.frame
        self.request.waits = True

    def unblock(self) -> None:
        """Try a blocked path again, after something else than the goals has changed."""
        self.state.blocked = False

    # What ticks call

    def accept(self, in_line: bool) -> tuple[float, float]:
        """Follow the requested goal; return its distance [m], [rad] from the one before.

        in_line : in a straight line, since that was requested or another tip leads
        """
        request, state = self.request, self.state
        request.waits = False
        change = change_between(self._accepted, request.goal)
        same_way = request.linear == self._accepted_linear and not isinstance(state, Jog)
        if change == (0.0, 0.0) and same_way:
            return change  # the same goal again
        self._accepted, self._accepted_linear = request.goal, request.linear
        if in_line:
            if isinstance(state, Line):
                state.blocked = False
            else:
                self._before = self.frame
                self._hesitations = 0
                self.state = Line()
            return change
        if isinstance(state, Line):
            change = change_between(self.frame, request.goal)
        self.frame = request.goal
        streams = request.twist is not STILL and request.twist.any()
        kind = Stream if streams else Drag
        if type(state) is kind:
            state.blocked = False
        else:
            self.state = kind()
        return change

    def lead_from(self, frame: Array) -> None:
        """Begin step by step at this frame (12,), where the joints can stop: a tip leads."""
        self.frame = self._before = frame
        self._hesitations = self._late = 0
        state = self.state
        if isinstance(state, Hold):
            self._accepted = frame
        elif isinstance(state, Jog):
            self._accepted = self.request.goal = frame
            state.fraction, state.twist = 0.0, STILL
        elif isinstance(state, Line):
            state.fraction = 0.0
        else:
            self.request.twist = STILL
            self.state = Line()

    def forget_stream(self) -> None:
        """Forget the velocity of the accepted goal, which does not continue a stream."""
        if isinstance(self.state, Stream):
            self.request.twist = STILL
            self.state = Drag()

    def advance(self, step: Allowance) -> None:
        """Move the frame by one period."""
        if not self.moves:
            return
        self._before = self.frame
        self.state = self.state.advance(self, step)
        if isinstance(self.state, Jog):
            self._accepted = self.frame

    def keep_near(self, frame: Array, leash: float) -> None:
        """Turn the frame of a jog to within `leash` [rad] of another frame (12,)."""
        turn = turned_near(self.frame, frame, leash)
        if turn is not self.frame:
            self.frame = self.request.goal = self._accepted = turn

    def undo_advance(self) -> None:
        """Undo the last `advance`, which can't be followed."""
        self.frame = self._before

    def hesitate(self) -> bool:
        """Halve the speed; return whether that was tried often enough."""
        self.slow_down(0.5)
        self._hesitations += 1
        return self._hesitations > HESITATIONS

    def reset_caution(self) -> None:
        """Reset the counters of `hesitate` and `be_late`: the last `advance` was followed."""
        self._hesitations = self._late = 0

    def be_late(self) -> None:
        """Slow down, and stop in the end: the last `advance` was not solved for in time."""
        self._late += 1
        if self.state.fraction < 0.5**HESITATIONS:
            self.slow_down(0.0)

    def slow_down(self, factor: float) -> None:
        """Multiply the speed by this factor."""
        self.state.fraction *= factor
        if isinstance(self.state, (Jog, Line)):
            self.state.twist = factor * self.state.twist

    def go_on_from(self, frame: Array) -> None:
        """Continue from a frame (12,) to which the joints braked."""
        self.frame = self._before = frame
        if isinstance(self.state, Jog):
            self.request.goal = self._accepted = frame

    def coast(self, period: float) -> None:
        """Move the frame by one period with the velocity of the last `advance`."""
        if self.moves and isinstance(self.state, (Jog, Line)):
            self.frame = carried(self.frame, self.state.twist, period)

    def block(self) -> None:
        """Stay, since the path is blocked."""
        self.state.blocked = True
        if isinstance(self.state, Jog):
            self.state.blocked_twist = self.request.twist
