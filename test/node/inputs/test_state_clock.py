# SPDX-License-Identifier: Apache-2.0
"""Detection of joint_states whose stamps are of another clock."""

import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time

from ik_node.inputs.state_clock import StateClock

START = 1_800_000_000.0


def told(ahead, ages, period=0.02, start=START):
    """Return the clock differences reported for states of these ages [s], from a clock that is
    ahead [s]."""
    now = start
    clock = StateClock(lambda: now)
    differences = []
    for age in ages:
        now += period
        whole, rest = divmod(now - age + ahead, 1.0)
        differences.append(clock.difference(Time(sec=int(whole), nanosec=int(1e9 * rest))))
    return [difference for difference in differences if difference is not None]


@pytest.mark.parametrize('ahead', [-1e6, -2.0, -0.1, 0.02, 2.0, 1e6])
def test_clocks_that_differ_are_told_of_once_a_second(ahead):
    ages = [0.001, 0.3, 0.002, 0.05] * 125  # 10 s
    differences = told(ahead, ages)
    assert 8 <= len(differences) <= 10
    assert differences == pytest.approx([0.001 - ahead] * len(differences), abs=1e-5)


@pytest.mark.parametrize('ahead', [-0.03, 0.0, 0.004])
def test_clocks_that_go_together_are_not(ahead):
    assert told(ahead, [0.002, 0.4, 0.01] * 200) == []


def test_states_without_a_stamp_say_nothing():
    clock = StateClock(lambda: START)
    assert not any(clock.difference(Time()) for _ in range(500))


def test_seldom_states_say_nothing():
    assert told(-5.0, [0.0] * 20, period=10.0) == []
