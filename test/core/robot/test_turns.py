# SPDX-License-Identifier: Apache-2.0
"""Joints that may turn more than once take the nearest turn inside their limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ik_core.robot.limits import shift_to_nearest_turns


@given(
    q=st.floats(-30.0, 30.0),
    reference=st.floats(-30.0, 30.0),
    width=st.one_of(st.floats(math.tau, 30.0), st.just(math.inf)),
)
def test_nearest_turn_is_the_nearest_one_inside_the_limits(q, reference, width):
    lower, upper = -width / 2, width / 2
    q = float(np.clip(q, lower, upper))
    reference = float(np.clip(reference, lower, upper))
    turned = np.array([q])
    shift_to_nearest_turns(
        turned, np.array([reference]), np.array([lower]), np.array([upper]), np.array([True])
    )
    candidates = q + math.tau * np.arange(-12, 13)
    candidates = candidates[(candidates >= lower) & (candidates <= upper)]
    nearest = np.abs(candidates - reference).min()
    assert lower <= turned[0] <= upper
    assert abs(turned[0] - reference) <= nearest + 1e-9
    turns = (turned[0] - q) / math.tau
    assert turns == pytest.approx(round(turns), abs=1e-9)


def test_joints_that_do_not_turn_are_left_alone():
    q = np.array([5.0, 5.0])
    shift_to_nearest_turns(
        q, np.zeros(2), np.full(2, -9.0), np.full(2, 9.0), np.array([False, True])
    )
    assert q.tolist() == [5.0, 5.0 - math.tau]
