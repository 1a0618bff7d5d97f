# SPDX-License-Identifier: Apache-2.0
"""A hand and the tip that it moves: when the goal follows, and the tracker's instructions.

A tip is in one state:

    RELEASED    the dead man's switch is open: the joints keep their command
    ENGAGING    it was closed: the tip waits until that moment is played and its joints rest
    FOLLOWING   the goal of the tip moves as the hand moves
    WAITING     samples are late by more than the latency: the motion fades out and is held
    LOST        they are late by LOST more, the hand's clock was set, or another instruction
                stopped the tracker: as RELEASED, until the switch is opened and closed again
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from ..maths.rotations import Array, transform_of
from ..tracking import Command, MotionLimits, Tracker
from ..tracking.instructions import Instruction, MoveTo, SetGoal
from .clutch import Clutch, HandOptions
from .hand_stream import LOST, HandStream, Sample


class HandState(Enum):
    """The state of a tip and its hand; `text` is a sentence for users."""

    RELEASED = 'released'
    ENGAGING = 'engaging'
    FOLLOWING = 'following'
    WAITING = 'waiting'
    LOST = 'lost'

    @property
    def text(self) -> str:
        """One sentence for status messages."""
        return _STATE_TEXT[self]


_STATE_TEXT = {
    HandState.RELEASED: 'released: the joints rest',
    HandState.ENGAGING: 'engaging: the hand is tied to the tip once its joints rest',
    HandState.FOLLOWING: 'following the hand',
    HandState.WAITING: 'the samples of the hand are late: fading out',
    HandState.LOST: 'the hand was lost, or something else moves the arm: open the switch and '
    'close it again',
}
RELEASED, ENGAGING, FOLLOWING, WAITING, STREAM_LOST = HandState


# [rad/s or m/s] Stands for joints without a limit of velocity.
FASTEST = 1e3
# [rad or m] A lag that counts for nothing, where joints can stop at once.
LEAST_LAG = 0.01


class Received(NamedTuple):
    """A sample as it came.

    stamp, received [s] : by the hand's clock, and by that of the steps; None: in the next step
    frame (12,) : of the hand
    gripper [rad or m] : position of the gripper's joint, if there is one
    engaged : whether the dead man's switch is closed
    """

    stamp: float | None
    received: float | None
    frame: Array
    gripper: float | None
    engaged: bool


class Hand:
    """A hand, and the tip that it moves.

    tracker, index : moves the tip of this index; only read here
    chain : indices of the joints that move this tip
    shared : those of them that move other tips, too
    tip_frame : returns the frame (12,) of the tip at q (n,), in the root link's
    position_first : the tip has too few joints for a pose
    """

    def __init__(
        self,
        tracker: Tracker,
        index: int,
        chain: Sequence[int],
        shared: Collection[int],
        tip_frame: Callable[[Array], Array],
        options: HandOptions,
        *,
        position_first: bool,
    ) -> None:
        self.gripper, self.state = options.gripper, RELEASED
        self.stream = HandStream(options.latency)
        self.clutch = Clutch(options, tracker.period, position_first=position_first)
        self._inbox: deque[Received] = deque()
        self._tracker, self._index, self._chain = tracker, index, list(chain)
        self._own = [joint for joint in chain if joint not in shared]
        self._solution = tracker.q  # of the last tick
        self._limits: MotionLimits | None = None  # those that the next two are of
        self._fastest = self._braking = np.zeros(0)  # of the chain [rad/s or m/s], [rad or m]
        self._tip_frame = tip_frame
        self._has_goal = False  # in the tracker
        self._closed_at = 0.0  # [s] of the hand's clock: when the switch was closed
        self._gripper_goal: float | None = None

    @property
    def is_followed(self) -> bool:
        """True if the hand moves the tip."""
        return self.state is FOLLOWING or self.state is WAITING

    def push(self, sample: Received) -> None:
        """Add a sample for the next period; may be called from another thread."""
        self._inbox.append(sample)

    def release(self) -> None:
        """Open the switch now, without a sample, also for those that no step has read yet."""
        self.state = RELEASED
        self._inbox = deque(sample._replace(engaged=False) for sample in self._inbox)

    def lose(self) -> None:
        """Stop following until the switch is opened, since something else moves the arm."""
        if self.state is not RELEASED:
            self.state = STREAM_LOST

    def _receive(self, now: float) -> None:
        """Read the samples that came since the last period."""
        while self._inbox:
            stamp, received, frame, gripper, engaged = self._inbox.popleft()
            sample = Sample(now if stamp is None else stamp, frame, gripper)
            continues = True
            if stamp is not None or not self._inbox:  # without stamps the last one counts
                continues = self.stream.push(sample, now if received is None else received)
            if not engaged:
                self.state = RELEASED
            elif not continues and self.state is not RELEASED:
                self.state = STREAM_LOST
            elif self.state is RELEASED:
                self.state, self._closed_at = ENGAGING, sample.stamp
                self.stream.choose_latency()
        self.stream.follow_clock(self._tracker.period, followed=self.is_followed)

    def move(self, now: float) -> Iterator[Instruction]:
        """Move the goal of the tip by a period; yield the instructions for the tracker."""
        self._receive(now)
        at = self.stream.time(now)
        late = self.stream.age(at)
        if late > LOST or self._was_replaced:
            self.lose()
        if self.state is ENGAGING and at >= self._closed_at and self._rests:
            self.stream.begin()
            self.clutch.engage(self.stream.pose(at), self._tip_frame(self._tracker.q))
            self.state, self._gripper_goal = FOLLOWING, None
            return  # nothing moves in this period
        if not self.is_followed:
            if self._has_goal:
                self._has_goal = False
                yield SetGoal(self._index, None, now)
            return
        self.state = WAITING if late > 0.0 else FOLLOWING
        self.clutch.move(self.stream.pose(at))
        goal, twist = transform_of(self.clutch.goal), self.clutch.twist
        yield SetGoal(self._index, goal, now, twist=twist)
        self._has_goal = True
        gripper = self.stream.gripper(at)
        if self.gripper is not None and gripper is not None and gripper != self._gripper_goal:
            self._gripper_goal = gripper
            yield MoveTo({self.gripper: gripper}, now)

    def see(self, command: Command) -> None:
        """Keep the goal near the solution of a tick, and no faster than the joints can follow."""
        if not self._has_goal:
            self._solution = command.solution
            return
        self.clutch.keep_near(self._tip_frame(command.solution))
        chain, solution = self._chain, command.solution
        limits = self._tracker.governor.limits
        if limits is not self._limits:
            self._limits = limits
            self._fastest = np.minimum(limits.velocity[chain], FASTEST)
            self._braking = 0.5 * self._fastest**2 / limits.acceleration[chain] + LEAST_LAG
        use = (np.abs(solution - self._solution)[chain] / self._fastest).max()
        lag = (np.abs(solution - command.q)[chain] / self._braking).max()
        self.clutch.keep_pace(float(use) * self._tracker.rate, max(0.0, 1.0 - float(lag)))
        self._solution = solution

    @property
    def _rests(self) -> bool:
        return not self._tracker.dq[self._own].any()

    @property
    def _was_replaced(self) -> bool:
        """True if another instruction stopped the tracker, or set another kind of goal."""
        tracker = self._tracker
        return self._has_goal and (tracker.stopped or tracker.goals[self._index] is None)
