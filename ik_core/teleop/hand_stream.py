# SPDX-License-Identifier: Apache-2.0
"""The samples of a hand, played with a constant delay.

Samples come late, in bursts, not at all, or wrong. A `HandStream` plays them at the time

    t = now - offset - latency

of the hand's clock, so that the motion of the hand is seen with one constant delay. `offset` is
the least delay between stamp and arrival in the last 10 s: of all samples these came with the
least delay of the network. Gaps up to the latency are over before they are played.

The pose at t is a local cubic fit to the samples around it, weighted by (1 - (s / h)^2)^3
where s is the distance in time and h at least SMOOTHING. It passes gaps by the samples on both
sides, reduces the noise of a tracker, and has a velocity v and an acceleration a. Beyond the
newest sample the pose goes on as it moved, and fades out within COASTING seconds: after s of
them its velocity is

    (v + a s) (1 - (s / COASTING)^4)^2.

Samples that come after a gap change the fit at once. The difference to the motion that was played
until then is added to what they show, and dies out with time constant RECOVERY, critically damped
in third order: position, velocity and acceleration have no step.

A frame (12,) is a rotation matrix row by row and a position [m]; a twist (6,) a velocity [m/s] and
an angular velocity [rad/s] in the axes that the hand is given in.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from typing import NamedTuple

import numpy as np

from ..maths.rotations import Array
from ..tracking.goals.cartesian import carried, change_between, twist_between
from .local_cubic import LocalCubic

WINDOW = 10.0  # [s] in which the least delay and the gaps are found
SLEW = 0.005  # [s/s] at most by which the offset changes while the hand is followed
LEAST_LATENCY, MOST_LATENCY = 0.03, 0.3  # [s] of latencies that are measured
UNKNOWN_LATENCY = 0.15  # [s] before ENOUGH_GAPS are measured
ENOUGH_GAPS = 20
SMOOTHING, SMOOTHED = 0.09, 0.65  # [s] least h, and of the latency: then gaps are smaller than h
COASTING = 0.1  # [s] after which the hand is held
RECOVERY = 0.05  # [s]
DIFFERENCE = 0.002  # [s]
# [s] Between two samples. A shorter one changes the fit little, and a correction for every sample
# of a fast stream would add up to a lag.
GAP = 0.025
LOST = 0.5  # [s] after which a stream without samples is lost
# A sample is doubted if it is off the prediction by more than 15 mm for each 30 ms since the last
# one, and by 5 mm; an angle likewise.
OUTLIER_SPEED, LEAST_OUTLIER = 0.5, 0.005  # [m/s], [m]
OUTLIER_TURN_SPEED, LEAST_OUTLIER_TURN = 5.0, 0.05  # [rad/s], [rad]
# [s] A stamp that is older than the newest by more belongs to a clock that was set, not to a
# sample that was overtaken.
CLOCK_STEP = 1.0
# A correction is c(s) = (k[0] + k[1] s + k[2] s^2) exp(-s / RECOVERY), by its k (3, 6).
NONE = np.zeros((3, 6))


class Sample(NamedTuple):
    """A sample of a hand: `stamp` [s] of its clock, its frame (12,), and a gripper's position."""

    stamp: float
    frame: Array
    gripper: float | None


class HandStream:
    """The samples of one hand, and its pose at any time.

    latency [s] : how much later than it arrives at best a sample is played; None to measure it

    `push` adds samples, `follow_clock` moves the offset, once per period; `pose` is read after
    both.
    """

    def __init__(self, latency: float | None) -> None:
        self._given_latency = latency
        self.latency = UNKNOWN_LATENCY if latency is None else latency
        self._gaps: deque[tuple[float, float]] = deque()  # (received, how long one waited) [s]
        self.restart()

    def restart(self) -> None:
        """Forget all samples, and the hand's clock; the latency stays."""
        self._stamps: list[float] = []
        self._samples: list[Sample] = []
        self._twist = np.zeros(6)  # between the two newest samples
        self._doubted: Sample | None = None
        self._delays: deque[tuple[float, float]] = deque()  # (received, delay), least delay first
        self._offset = 0.0
        self.begin()

    # Samples

    def push(self, sample: Sample, received: float) -> bool:
        """Add a sample that was received at a time [s]; return False if the stream restarted.

        It restarts where the hand's clock was set or nothing came for too long: what came before
        says nothing about this sample.
        """
        begins, restarted = not self._stamps, False
        if not begins:
            gap = sample.stamp - self._stamps[-1]
            if -CLOCK_STEP < gap <= 0.0:
                return True  # it was overtaken
            if not 0.0 < gap <= LOST + self.latency:
                self.restart()
                begins = restarted = True
        self._note_delay(sample.stamp, received)
        if begins:
            self._offset = received - sample.stamp
            self._accept(sample)
            return not restarted
        self._note_gap(received)
        doubted, self._doubted = self._doubted, None
        if _is_likely(self._samples[-1], self._twist, sample):
            self._accept(sample)
        elif doubted is not None and self._agree(doubted, sample):
            self._accept(doubted)
            self._accept(sample)
        else:
            self._doubted = sample
        return True

    def _agree(self, doubted: Sample, sample: Sample) -> bool:
        """Return whether two samples show one hand that jumped, or one that was too fast."""
        if sample.stamp <= doubted.stamp:
            return False
        twists = self._twist, _twist(self._samples[-1], doubted)
        return any(_is_likely(doubted, twist, sample) for twist in twists)

    def _accept(self, sample: Sample) -> None:
        if self._samples:
            self._twist = _twist(self._samples[-1], sample)
        self._stamps.append(sample.stamp)
        self._samples.append(sample)
        old = bisect_left(self._stamps, sample.stamp - self.latency - LOST)
        if old > 64:  # rarely: lists are shortened as a whole
            del self._stamps[:old], self._samples[:old]

    # The hand's clock

    def _note_delay(self, stamp: float, received: float) -> None:
        delay, delays = received - stamp, self._delays
        while delays and delays[-1][1] >= delay:
            delays.pop()
        delays.append((received, delay))
        while delays[0][0] < received - WINDOW:
            delays.popleft()

    def _note_gap(self, received: float) -> None:
        """Record the latency that would have bridged the gap before this sample."""
        gap, gaps = received - self._offset - self._stamps[-1], self._gaps
        if 0.0 < gap <= LOST:
            gaps.append((received, gap))
        while gaps and gaps[0][0] < received - WINDOW:
            gaps.popleft()

    def follow_clock(self, period: float, *, followed: bool) -> None:
        """Move the offset towards the least delay; while the hand is followed slowly."""
        if not self._delays:
            return
        change = self._delays[0][1] - self._offset
        if followed:
            change = min(max(change, -SLEW * period), SLEW * period)
        self._offset += change

    def choose_latency(self) -> None:
        """Choose the latency: the given one, or the 95th percentile of the gaps."""
        if self._given_latency is not None:
            return
        if len(self._gaps) < ENOUGH_GAPS:
            self.latency = UNKNOWN_LATENCY
            return
        needed = float(np.percentile([gap for _, gap in self._gaps], 95))
        self.latency = min(max(needed, LEAST_LATENCY), MOST_LATENCY)

    # The hand

    def time(self, now: float) -> float:
        """Return the time [s] of the hand's clock that is played now."""
        return now - self._offset - self.latency

    def age(self, time: float) -> float:
        """Return how long [s] the newest sample is over at a time of the hand; inf without one."""
        return time - self._stamps[-1] if self._stamps else math.inf

    def gripper(self, time: float) -> float | None:
        """Return the gripper's position of the last sample at or before this time, if it has one.

        Before the first sample that is the first one's.
        """
        index = max(bisect_right(self._stamps, time) - 1, 0)
        return self._samples[index].gripper

    def begin(self) -> None:
        """Begin to read poses: samples that came until now are not late."""
        self._read: tuple[float, float] | None = None  # [s] time and newest stamp of the last pose
        self._correction = NONE  # from the motion of the samples to that returned

    def pose(self, time: float) -> Array:
        """Return the frame (12,) of the hand at a time of its clock, for times that rise.

        There must be a sample.
        """
        newest, frame = self._stamps[-1], self._frame_by(len(self._stamps), time)
        if self._read is not None:
            read_at, known = self._read
            self._correction = _decayed(self._correction, max(time - read_at, 0.0))
            if newest > known and (time > known or newest > known + GAP):
                self._correction = self._correction + _decaying(self._change(known, time))
        self._read = time, newest
        return carried(frame, self._correction[0], 1.0)

    def _change(self, known: float, time: float) -> Array:
        """Return how the samples after the one with stamp `known` move the frame at a time.

        That is the change, and its first and second derivative (3, 6), by central differences:
        twist and slope of the fit are not quite those of the frames that it returns.
        """
        count = max(bisect_right(self._stamps, known), 1)
        before, now, after = (
            twist_between(self._frame_by(len(self._stamps), at), self._frame_by(count, at))
            for at in (time - DIFFERENCE, time, time + DIFFERENCE)
        )
        rate, second = 0.5 * (after - before), after - 2.0 * now + before
        return np.stack([now, rate / DIFFERENCE, second / DIFFERENCE**2])

    def _frame_by(self, count: int, time: float) -> Array:
        """Return the frame (12,) at a time by so many of the first samples."""
        newest = self._stamps[count - 1]
        if time <= newest:
            return self._fit(count, max(time, self._stamps[0])).frame
        fit = self._fit(count, newest)
        u = min((time - newest) / COASTING, 1.0)
        way = COASTING * (u - 0.4 * u**5 + u**9 / 9.0) * fit.twist
        way += COASTING**2 * (0.5 * u**2 - u**6 / 3.0 + 0.1 * u**10) * fit.slope
        return carried(fit.frame, way, 1.0)

    def _fit(self, count: int, time: float) -> LocalCubic:
        """Return the fit to the first samples at a time between two of them."""
        stamps = self._stamps if count == len(self._stamps) else self._stamps[:count]
        after = bisect_left(stamps, time)
        near = sorted(abs(stamp - time) for stamp in stamps[max(after - 4, 0) : after + 4])[:4]
        width = max(SMOOTHING, SMOOTHED * self.latency, 1.25 * near[-1])
        first, end = bisect_right(stamps, time - width), bisect_left(stamps, time + width)
        frames = np.array([sample.frame for sample in self._samples[first:end]])
        return LocalCubic(np.array(stamps[first:end]), frames, time, width)


def _decaying(derivatives: Array) -> Array:
    """Return the correction that begins with c, c' and c'' (3, 6)."""
    value, rate, second = derivatives
    slope = rate + value / RECOVERY
    return np.stack([value, slope, 0.5 * (second + (rate + slope) / RECOVERY)])


def _decayed(correction: Array, seconds: float) -> Array:
    """Return a correction as it is after some time."""
    value, slope, bend = correction
    left = math.exp(-seconds / RECOVERY)
    later = value + seconds * (slope + seconds * bend)
    return left * np.stack([later, slope + 2.0 * seconds * bend, bend])


def _twist(first: Sample, second: Sample) -> Array:
    """Return the mean twist (6,) between two samples."""
    return twist_between(first.frame, second.frame) / (second.stamp - first.stamp)


def _is_likely(last: Sample, twist: Array, sample: Sample) -> bool:
    """Return whether a sample is where a hand with this twist (6,) can be after the last one."""
    gap = sample.stamp - last.stamp
    distance, angle = change_between(carried(last.frame, twist, gap), sample.frame)
    likely = distance <= max(LEAST_OUTLIER, OUTLIER_SPEED * gap)
    return likely and angle <= max(LEAST_OUTLIER_TURN, OUTLIER_TURN_SPEED * gap)
