# SPDX-License-Identifier: Apache-2.0
"""The checker of motions: it sees each kind of violation, and leaves what is sound alone."""

import numpy as np
import pytest

from support.motion_limits import (
    Limits,
    assert_inside,
    assert_speeds,
    by_differences,
    is_one_step,
)

PERIOD = 0.1
LIMITS = Limits(np.array([-1.0, -2.0]), np.array([1.0, 2.0]), np.array([3.0, 1.0]), 10.0)


def motion(*speeds, start=0.0):
    """(q, dq) of ticks at these speeds of the second joint."""
    dq = np.array([[0.0, speed] for speed in speeds])
    return [0.0, start] + np.cumsum(dq, axis=0) * PERIOD, dq


@pytest.mark.parametrize(
    ('speeds', 'start', 'said'),
    [
        ((0.0, 0.6, 1.01), 0.0, 'joint 1 at tick 2: speed 1.01, allowed 1'),
        ((0.0, 0.5), 1.96, 'joint 1 at tick 1: above its upper limit 0.01'),
        ((0.0, -0.5), -1.96, 'joint 1 at tick 1: below its lower limit 0.01'),
        ((0.0, np.nan), 0.0, 'not finite'),
    ],
)
def test_what_is_outside_is_said(speeds, start, said):
    assert_inside(*motion(0.0, 1.0, 1.0, 0.0, -1.0, -1.0), LIMITS)
    with pytest.raises(AssertionError, match=said):
        assert_inside(*motion(*speeds, start=start), LIMITS)


@pytest.mark.parametrize(
    ('speeds', 'said'),
    [
        ((0.0, 1.0, 0.0, -1.0, -1.0), ''),
        ((2.0, 1.5), ''),  # above a limit that was lowered it may only slow down
        ((2.0, 2.1), 'joint 1 at tick 0: speed 2.1, allowed 2'),
        ((0.0, -0.2, 0.81), 'joint 1 at tick 1: acceleration 10.1, allowed 10'),
    ],
)
def test_speeds_change_as_their_limits_allow(speeds, said):
    _, dq = motion(*speeds)
    if not said:
        assert_speeds(dq[:-1], dq[1:], LIMITS, PERIOD)
        return
    with pytest.raises(AssertionError, match=said):
        assert_speeds(dq[:-1], dq[1:], LIMITS, PERIOD)


def test_a_position_beside_its_velocity_is_more_than_one_step():
    q, dq = motion(0.0, 0.5, 0.5)
    q[2] += 1e-9
    pairs = (q[:-1], dq[:-1]), (q[1:], dq[1:])
    assert is_one_step(*pairs, PERIOD, tolerance=1e-10).tolist() == [True, False]


def test_speeds_are_the_differences_of_positions():
    q, dq = motion(0.3, 0.5, 1.0)
    found = by_differences(q, PERIOD)
    np.testing.assert_array_equal(found[0], q[1:])
    np.testing.assert_allclose(found[1], dq[1:])
