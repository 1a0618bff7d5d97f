# SPDX-License-Identifier: Apache-2.0
"""The two clocks of a node: moments of the one are known on the other, without jitter."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from ik_node import clocks
from ik_node.clocks import NodeClock

PERIOD = 4_000_000
AHEAD = 1_700_000_000_000_000_000


class Clocks:
    """Stands for the module `time`: each reading takes a while, some a long one."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.ahead = AHEAD
        self.now = 10**9

    def pass_by(self):
        is_interrupted = self.random.uniform() < 0.02
        self.now += int(2_000_000 if is_interrupted else self.random.integers(40, 150))
        return self.now

    def monotonic(self):
        return 1e-9 * self.now

    def monotonic_ns(self):
        return self.pass_by()

    def time_ns(self):
        return self.pass_by() + self.ahead


@pytest.fixture
def machine(monkeypatch):
    machine = Clocks(1)
    monkeypatch.setattr(clocks, 'time', machine)
    return machine


def stamps(clock, machine, count, gain=0.0):
    """Return the stamps of `count` ticks, less their due times, and the stamps."""
    moments, due = [], machine.now
    for number in range(count):
        machine.now = due + number * PERIOD + 100_000
        machine.ahead = AHEAD + round(gain * number * PERIOD)
        moments.append(clock.moment(due + number * PERIOD))
    assert all(m.due == due + k * PERIOD for k, m in enumerate(moments))
    return np.array([m.stamp - m.due for m in moments]), np.array([m.stamp for m in moments])


def test_ticks_are_one_period_apart_by_the_clock_of_messages_too(machine):
    ahead, at = stamps(NodeClock(None), machine, 5000)
    assert np.abs(ahead - AHEAD).max() < 2_000_000
    assert np.abs(np.diff(at[100:]) - PERIOD).max() < 50


def test_a_clock_that_is_slewed_is_followed(machine):
    ahead, at = stamps(NodeClock(None), machine, 5000, gain=5e-4)
    expected = AHEAD + 5e-4 * PERIOD * np.arange(5000)
    assert np.abs(ahead - expected)[500:].max() < 100_000
    assert np.abs(np.diff(at)[500:] / PERIOD - 1.0).max() < 2e-3


def test_a_clock_that_is_set_is_followed_at_once(machine):
    clock = NodeClock(None)
    stamps(clock, machine, 100)
    machine.ahead += 3_000_000_000
    moment = clock.moment(machine.now)
    assert moment.stamp - moment.due == pytest.approx(AHEAD + 3_000_000_000, abs=2_000_000)


def test_in_simulated_time_there_is_one_clock(machine):
    clock = NodeClock(None)
    clock.follow(simulated=True)
    assert clock.moment(123) == (123, 123)
