# SPDX-License-Identifier: Apache-2.0
"""The checker of motions: it sees each kind of violation, and leaves what is sound alone."""

import numpy as np
import pytest

from support.motion_limits import (
    Limits,
    assert_inside,
    assert_integrates,
    assert_steps,
    by_differences,
    is_one_step,
)

PERIOD = 0.1
LIMITS = Limits(np.array([-1.0, -2.0]), np.array([1.0, 2.0]), np.array([3.0, 1.0]), 10.0)


def motion(*speeds, start=(0.0, 0.0)):
    """(q, dq) of ticks at these speeds of the second joint."""
    dq = np.array([[0.0, speed] for speed in speeds])
    return np.array(start) + np.cumsum(dq, axis=0) * PERIOD, dq


def judge(q, dq):
    pairs = (q[:-1], dq[:-1]), (q[1:], dq[1:])
    assert_inside(q, dq, LIMITS)
    assert_steps(*pairs, LIMITS, PERIOD)
    assert_integrates(*pairs, PERIOD)


def test_a_motion_at_its_limits_is_sound():
    judge(*motion(0.0, 1.0, 1.0, 0.0, -1.0, -1.0))


@pytest.mark.parametrize(
    ('speeds', 'start', 'said'),
    [
        ((0.0, 0.6, 1.01), (0.0, 0.0), 'joint 1 at tick 2: speed 1.01, allowed 1'),
        ((0.0, -0.2, 0.81), (0.0, 0.0), 'joint 1 at tick 1: acceleration 10.1, allowed 10'),
        ((0.0, 0.5), (0.0, 1.96), 'joint 1 at tick 1: above its upper limit 0.01'),
        ((0.0, -0.5), (0.0, -1.96), 'joint 1 at tick 1: below its lower limit 0.01'),
        ((0.0, np.nan), (0.0, 0.0), 'not finite'),
    ],
)
def test_what_breaks_a_limit_is_said(speeds, start, said):
    with pytest.raises(AssertionError, match=said):
        judge(*motion(*speeds, start=start))


def test_a_position_beside_its_velocity_is_said():
    q, dq = motion(0.0, 0.5, 0.5)
    q[2] += 1e-9
    with pytest.raises(AssertionError, match='position beside its velocity'):
        judge(q, dq)
    pairs = (q[:-1], dq[:-1]), (q[1:], dq[1:])
    assert is_one_step(*pairs, PERIOD, tolerance=1e-10).tolist() == [True, False]


@pytest.mark.parametrize(('speed', 'sound'), [(-0.5, True), (0.0, True), (1e-3, False)])
def test_a_joint_outside_its_limits_may_only_come_back(speed, sound):
    q, dq = motion(0.0, speed, start=(0.0, 2.5))
    pairs = (q[0], dq[0]), (q[1], dq[1])
    if sound:
        assert_steps(*pairs, LIMITS, PERIOD)
    else:
        with pytest.raises(AssertionError, match='joint 1: outside its limits'):
            assert_steps(*pairs, LIMITS, PERIOD)


@pytest.mark.parametrize(('speeds', 'sound'), [((2.0, 1.5), True), ((2.0, 2.1), False)])
def test_a_joint_above_its_speed_limit_may_only_slow_down(speeds, sound):
    q, dq = motion(*speeds)
    pairs = (q[0], dq[0]), (q[1], dq[1])
    if sound:
        assert_steps(*pairs, LIMITS, PERIOD)
    else:
        with pytest.raises(AssertionError, match='speed'):
            assert_steps(*pairs, LIMITS, PERIOD)


def test_speeds_are_the_differences_of_positions():
    q, dq = motion(0.3, 0.5, 1.0)
    found = by_differences(q, PERIOD)
    np.testing.assert_array_equal(found[0], q[1:])
    np.testing.assert_allclose(found[1], dq[1:])
