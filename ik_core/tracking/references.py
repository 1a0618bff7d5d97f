"""Poses that move: along a straight line, by a twist, or on with the speed of a stream of goals.

A tip follows its `Reference`: a frame that a tick moves on by one period. Where goals are
approached in a straight line, it goes there with limited speed and acceleration, its position on
a line and its orientation about one axis (slerp), both for the same time. With

    T = max(way / linear_velocity, angle / angular_velocity)

seconds of the way left at full speed, and s the share of that speed, T falls by s in a second,
and s is what `motion.approach_speed` of T allows: it rises and falls with the acceleration that
neither part exceeds. For a twist the reference is carried by it, a rotation about the tip's own
origin; the twist changes no faster than the accelerations allow.

A frame (12,) is a rotation matrix row by row and a position [m], in the root link's frame; a
twist (6,) a velocity [m/s] of its origin and an angular velocity [rad/s] in the root's axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..maths.rotations import Array
from .cartesian import (
    approach,
    carry,
    change_between,
    change_twist,
    share_of,
    way_between,
)

STREAM_GAP = 0.25
"""[s] Goals further apart in time are no stream: between them there is no velocity to follow."""
SMOOTHING = 0.5
"""The share of the newest difference in the velocity of a stream of goals."""
HORIZON = 0.1
"""[s] How long a velocity that was given with a goal holds."""
HESITATIONS = 6
"""How often in a row the speed is halved before a way that can't be followed is blocked."""


@dataclass
class SpeedScale:
    """How fast the joints let references go: shares of full speed.

    `slack`: less than 1 where the joints lag behind, down to 0. The speed of the last tick may
    grow by the factor `growth`, which is less than 1 where joints are too fast, and the joints can
    brake it by the factor `least`. `jog`: less than 1 near singularities.
    """

    period: float
    slack: float = 1.0
    growth: float = math.inf
    least: float = 0.0
    jog: float = 1.0

    def most(self, share: float) -> float:
        """The greatest share that may follow a share."""
        return min(self.slack, share * self.growth) if share > 0.0 else self.slack


class Motion(Enum):
    """How a reference moves: not, to its goal in a line, on with its stream, or by a twist."""

    STILL = 'still'
    LINE = 'line'
    STREAM = 'stream'
    JOG = 'jog'


class Reference:
    """Where one tip shall be: `frame` (12,), moving with `twist` (6,), on its way to `goal`.

    `refused` is set where the frame had to `retreat`: the way there is blocked. `fresh` is set
    where a goal waits to be accepted. `received` [s] is when the goal or the twist came.
    """

    def __init__(self) -> None:
        self.goal = np.zeros(12)
        self.frame = np.zeros(12)
        self.twist = np.zeros(6)
        self.motion = Motion.STILL
        self.linear = False
        self.refused = False
        self.fresh = False
        self.received = 0.0
        self._accepted = np.zeros(12)  # the goal that is being followed
        self._wanted = np.zeros(6)  # the twist of a jog, or of the stream of goals
        self._horizon = 0.0  # [s] how long that twist holds
        self.share = 0.0
        """How fast it moves on a line or a jog, of its full speed."""
        self._hesitations = 0
        self._backup = np.zeros(12)
        self._refused_twist = np.zeros(6)

    @property
    def moves(self) -> bool:
        """Whether the frame moves by itself."""
        return self.motion is not Motion.STILL and not (self.linear and self.refused)

    @property
    def target(self) -> Array:
        """What errors are told of: the goal of a line, else the frame as it is."""
        return self.goal if self.motion is Motion.LINE else self.frame

    def hold(self, frame: Array) -> None:
        """Stay at a frame (12,)."""
        self.goal[:] = self.frame[:] = self._accepted[:] = frame
        self.twist[:] = self._wanted[:] = 0.0
        self.motion, self.share = Motion.STILL, 0.0
        self.linear = self.refused = self.fresh = False

    @property
    def wanted(self) -> Array:
        """The twist (6,) that a jog asks for, or at which a stream moves on."""
        return self._wanted

    def resume(self, frame: Array) -> None:
        """Go on after a pause, a line from the frame (12,) where the tip is now."""
        self.twist[:] = 0.0
        self.share, self.refused = 0.0, False
        if self.motion is Motion.LINE:
            self.frame[:] = frame
        elif self.motion is Motion.STREAM:
            self.frame[:] = self.goal
            self.motion = Motion.STILL

    # What it is told

    def give(self, goal: Array, now: float, *, linear: bool, twist: Array | None) -> None:
        """Take a goal (12,), and the velocity (6,) that it moves with, for HORIZON seconds."""
        self.goal[:] = goal
        self.received = now
        self.linear, self.fresh = linear, True
        if twist is not None:
            self._wanted[:], self._horizon = twist, HORIZON

    def give_next_of_stream(self, goal: Array, now: float) -> None:
        """Take a goal (12,) that goes on with the smoothed velocity of its stream."""
        seconds = now - self.received
        velocity = np.zeros(6)
        if 0.0 < seconds <= STREAM_GAP:
            way_between(self.goal, goal, velocity)
            velocity /= seconds
            if self.motion is Motion.STREAM:
                velocity = self._wanted + SMOOTHING * (velocity - self._wanted)
        if seconds > 0.0:
            self._wanted[:], self._horizon = velocity, 2.0 * seconds
        self.goal[:] = goal
        self.received = now
        self.linear, self.fresh = False, True

    def jog(self, twist: Array, now: float, start: Array) -> None:
        """Move by a twist (6,), from the frame `start` (12,) where it does not do so already."""
        if self.motion is not Motion.JOG:
            self.hold(start)
            self.motion = Motion.JOG
        if self.refused and float(twist @ self._refused_twist) <= 0.0:
            self.refused = False  # another direction
        self._wanted[:] = twist
        self.received = now

    # What moves it

    def accept(self, start: Array | None) -> tuple[float, float]:
        """Go for the goal from now on; how far it moved, [m] and [rad], from the one before.

        A straight line begins at the frame `start` (12,).
        """
        self.fresh = False
        change = change_between(self._accepted, self.goal)
        if self.motion is Motion.JOG:
            self.motion = Motion.STILL
        elif change == (0.0, 0.0):
            return change  # the same goal again: what is held stays held
        self._accepted[:] = self.goal
        self.refused = False
        if self.linear:
            if self.motion is not Motion.LINE and start is not None:
                self.frame[:], self.share = start, 0.0
                self.motion = Motion.LINE
        else:
            self.frame[:] = self.goal
            self.motion = Motion.STREAM if self._wanted.any() else Motion.STILL
        return change

    def jumped(self) -> None:
        """The goal that was accepted is no next one of a stream."""
        if self.motion is Motion.STREAM:
            self.motion = Motion.STILL
            self._wanted[:] = 0.0

    def advance(self, now: float, limits: Array, timeout: float, pace: SpeedScale) -> None:
        """Move the frame by one period."""
        if not self.moves:
            return
        self._backup[:] = self.frame
        if self.motion is Motion.STREAM:
            self._extrapolate(now)
        elif self.motion is Motion.LINE:
            share = self.share
            self.share = approach(
                self.frame, self.goal, self.twist, limits, share, pace.least * share,
                pace.most(share) * 0.5**self._hesitations, pace.period,
            )  # fmt: skip
            if self.share == 0.0 and (self.frame == self.goal).all():
                self.motion, self.linear = Motion.STILL, False
        else:
            self._carry(now, limits, timeout, pace)

    def _extrapolate(self, now: float) -> None:
        age = now - self.received
        self.frame[:] = self.goal
        if 0.0 <= age <= self._horizon:
            self.twist[:] = self._wanted
            carry(self.frame, self.twist, age)
        else:
            self.twist[:] = self._wanted[:] = 0.0
            self.motion = Motion.STILL

    def _carry(self, now: float, limits: Array, timeout: float, pace: SpeedScale) -> None:
        if self.refused or not 0.0 <= now - self.received <= timeout:
            self._wanted[:] = 0.0
        fastest = share_of(self._wanted, limits)
        most = pace.most(self.share) * pace.jog * 0.5**self._hesitations
        scale = min(1.0, most / fastest) if fastest > 0.0 else 0.0
        change_twist(self.twist, self._wanted, limits, scale, pace.period)
        self.share = share_of(self.twist, limits)
        carry(self.frame, self.twist, pace.period)
        self.goal[:] = self._accepted[:] = self.frame

    @property
    def jog_has_ended(self) -> bool:
        """Whether it came to rest after the last twist."""
        return self.motion is Motion.JOG and not (self.twist.any() or self._wanted.any())

    def hesitate(self) -> bool:
        """Take back the last `advance`, since it can't be followed, to go on at half the speed.

        Returns whether that was tried often enough.
        """
        self.frame[:] = self._backup
        self.twist *= 0.5
        self.share *= 0.5
        self._hesitations += 1
        return self._hesitations > HESITATIONS

    def go_on(self) -> None:
        """The last `advance` could be followed."""
        self._hesitations = 0

    def retreat(self, frame: Array) -> None:
        """Stand still at a frame (12,), since the way is blocked."""
        self.frame[:] = frame
        self.goal[:] = self.frame if self.motion is Motion.JOG else self.goal
        self._refused_twist[:] = self._wanted
        self.twist[:] = 0.0
        self.share, self.refused, self._hesitations = 0.0, True, 0
