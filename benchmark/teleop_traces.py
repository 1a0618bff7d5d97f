# SPDX-License-Identifier: Apache-2.0
"""Traces of a hand for teleoperation: its true motion, and the samples that arrive of it.

A headset samples the hand at 72 Hz by its own clock, which starts at CLOCK. The connections:

- `wire`: each sample arrives 3 to 5 ms later;
- `wifi`: 30 % of the samples are lost, and the others wait up to 150 ms and arrive in bursts;
- `glitches`: as `wire`, but one of 20 samples is off by 15 mm, in any direction.

The hand moves smoothly. Everything is computed from a seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ik_core.maths.rotations import Array, matrix_from_rpy

SAMPLE_RATE = 72.0  # [Hz]
CLOCK = 5000.0  # [s] of the hand's clock at time 0
DELAY, JITTER = 0.003, 0.002  # [s] of a wire
BURST, LOSS = 0.15, 0.3  # [s] and the fraction of samples, of wifi
GLITCH, GLITCHES = 0.015, 20  # [m], and one in so many samples
SWITCH = 1.0  # [s] before the dead man's switch is closed
BEYOND = 0.3  # [m] that a hand goes out of the reach

Motion = Callable[[float], Array]


class HandSample(NamedTuple):
    """A sample: when it arrives, its stamp [s], the pose (4, 4), whether the switch is closed."""

    arrival: float
    stamp: float
    pose: Array
    engaged: bool


@dataclass(frozen=True, eq=False)
class Trace:
    """The motion of a hand, and the samples of it in the order of their arrival.

    hand : its true pose (4, 4) at a time [s]
    switch : whether the dead man's switch is closed at a time
    """

    name: str
    seconds: float
    hand: Motion
    switch: Callable[[float], bool]
    samples: list[HandSample]


def trace(
    name: str,
    hand: Motion,
    seconds: float,
    switch: Callable[[float], bool] | None = None,
    seed: int = 0,
) -> Trace:
    """Return the trace of a motion over the connection of this name."""
    closed = switch or (lambda time: time >= SWITCH)
    rng, samples = np.random.default_rng(seed), []
    for number in range(int(seconds * SAMPLE_RATE)):
        time = number / SAMPLE_RATE
        pose, arrival = hand(time), time + DELAY + JITTER * float(rng.random())
        if name == 'glitches' and rng.integers(GLITCHES) == 0:
            direction = rng.normal(size=3)
            pose[:3, 3] += GLITCH * direction / np.linalg.norm(direction)
        if name == 'wifi':
            if rng.random() < LOSS:
                continue
            arrival = BURST * math.ceil(arrival / BURST)
        samples.append(HandSample(arrival, CLOCK + time, pose, closed(time)))
    return Trace(name, seconds, hand, closed, sorted(samples, key=lambda sample: sample.arrival))


def wandering(size: float, speed: float, seed: int) -> Motion:
    """Return a smooth motion within about `size` [m], with a greatest speed [m/s].

    Each coordinate is a sum of two sines, and so are roll, pitch and yaw.
    """
    rng = np.random.default_rng(seed)
    shares, phases = rng.uniform(0.3, 0.7, (3, 1)), rng.uniform(0.0, math.tau, (6, 2))
    sizes = size * np.hstack([shares, 1.0 - shares])
    rates = rng.uniform(0.6, 1.4, (6, 2))
    times = np.linspace(0.0, 60.0, 6001)
    linear = np.stack([
        (sizes[i] * rates[i] * np.cos(np.outer(times, rates[i]) + phases[i])).sum(1)
        for i in range(3)
    ])  # fmt: skip
    rates *= speed / np.linalg.norm(linear, axis=0).max()

    def hand(time: float) -> Array:
        sines = np.sin(rates * time + phases)
        pose = np.eye(4)
        pose[:3, :3] = matrix_from_rpy((0.2 * sines[3:].mean(1)).tolist())
        pose[:3, 3] = (sizes * sines[:3]).sum(1)
        return pose

    return hand


def out_and_back(way: Array, leaves: float, turns: float) -> Motion:
    """Return a motion along `way` (3,) [m] and back; it leaves and turns at these times [s]."""

    def hand(time: float) -> Array:
        done = min(max((time - leaves) / (turns - leaves), 0.0), 2.0)
        pose = np.eye(4)
        pose[:3, 3] = way * 0.5 * (1.0 - math.cos(math.pi * done))
        return pose

    return hand


def switched(period: float, closed: float) -> Callable[[float], bool]:
    """Return a switch that is closed for `closed` [s] of each period [s], from SWITCH on."""
    return lambda time: time >= SWITCH and (time - SWITCH) % period < closed


def resting(hand: Motion, period: float, rest: float) -> Motion:
    """Return a motion that rests from 0.1 s before each period [s] of `switched`, for `rest` [s].

    In between it moves on along the path of `hand`.
    """

    def stepping(time: float) -> Array:
        number, since = divmod(time - SWITCH + 0.1, period)
        done = max(since - rest, 0.0) / (period - rest)
        return hand(period * (number + 0.5 - 0.5 * math.cos(math.pi * done)))

    return stepping
