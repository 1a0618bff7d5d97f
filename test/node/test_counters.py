# SPDX-License-Identifier: Apache-2.0
"""Counters: of late ticks, and of messages that are logged now and then."""

import pytest

pytest.importorskip('rclpy')

from ik_node.counters import RisingTotal, Throttle, TickMeter

PERIOD = 4_000_000


def test_a_throttle_lets_one_of_each_kind_through_and_counts_the_others():
    throttle = Throttle(2.0)
    assert throttle.admit('a', 10.0) == 0
    assert throttle.admit('b', 10.5) == 0
    assert [throttle.admit('a', now) for now in (10.1, 11.0, 11.9)] == [None] * 3
    assert throttle.admit('a', 12.0) == 3
    assert throttle.admit('a', 14.0) == 0


def test_the_meter_counts_nominal_times_that_were_skipped():
    meter = TickMeter()
    for number in (0, 1, 2, 5, 6, 9):
        meter.tick(number * PERIOD + 123, PERIOD)
    assert meter.ticks == 6
    assert meter.late_ticks == 4


def test_the_meter_does_not_count_a_pause():
    meter = TickMeter()
    meter.tick(0, PERIOD)
    meter.restart()
    meter.tick(100 * PERIOD, PERIOD)
    meter.tick(101 * PERIOD, PERIOD)
    assert meter.late_ticks == 0


def test_the_meter_stands_a_clock_that_jumps_back():
    meter = TickMeter()
    for number in (5, 6, 0, 1):
        meter.tick(number * PERIOD, PERIOD)
    assert meter.late_ticks == 0


def test_a_count_that_starts_again_is_totalled():
    restarts = RisingTotal()
    for count in (0, 1, 3, 3, 0, 2, 1):
        restarts.add(count)
    assert restarts.total == 3 + 2 + 1
