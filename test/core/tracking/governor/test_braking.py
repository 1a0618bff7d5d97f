# SPDX-License-Identifier: Apache-2.0
"""Braking distances of a joint in discrete time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ik_core.tracking.governor.second_order import approach_speed, stopping_distance

periods = st.sampled_from([0.001, 0.002, 0.01, 0.033, 0.1])


@given(speed=st.floats(0.0, 50.0), ticks=st.floats(0.02, 3000.0), period=periods)
def test_stopping_distance_is_the_sum_over_the_braking_ticks(speed, ticks, period):
    step = max(speed, 1.0) / ticks
    way, left = 0.0, speed
    while left > 0.0:
        way += left * period
        left -= step
    assert stopping_distance(speed, step, period) == pytest.approx(way, rel=1e-9)


@given(distance=st.floats(1e-9, 100.0), acceleration=st.floats(0.01, 500.0), period=periods)
def test_approach_speed_is_the_inverse_of_the_stopping_distance(distance, acceleration, period):
    step = acceleration * period
    speed = approach_speed(distance, step, period)
    assert stopping_distance(speed, step, period) == pytest.approx(distance, rel=1e-9)
