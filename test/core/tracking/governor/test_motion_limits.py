# SPDX-License-Identifier: Apache-2.0
"""The limits of a motion: checked, and a robot's own."""

import math

import numpy as np
import pytest
from support.places import URDF

import ik_core as ik
from ik_core.tracking import MotionLimits


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'lower': [0.0, 2.0]}, 'joint 1 .* lower is above upper'),
        ({'upper': [math.nan, 1.0]}, 'upper is NaN'),
        ({'velocity': [1.0, 0.0]}, 'velocity must be positive'),
        ({'acceleration': [0.0, 1.0]}, 'acceleration must be positive'),
        ({'acceleration': [1.0]}, 'shape'),
        ({'lower': [math.inf] * 2, 'upper': [math.inf] * 2}, 'no position'),
        ({'velocity': 'fast'}, 'velocity limits are not made of numbers: '),
        ({'velocity': [None, 'x']}, 'velocity limits are not made of numbers: '),
        ({'velocity': [[1.0], [1.0, 2.0]]}, 'velocity limits are not made of numbers: '),
    ],
)
def test_limits_are_checked(changes, message):
    rows = {'lower': [-1.0] * 2, 'upper': [1.0] * 2, 'velocity': [1.0] * 2}
    with pytest.raises(ik.InvalidOption, match=message):
        MotionLimits(**{**rows, 'acceleration': [1.0] * 2, **changes})


def test_the_limits_of_a_robot_are_its_own_and_those_given():
    robot = ik.load_robot(URDF / 'ur5e.urdf')
    limits = MotionLimits.of(robot, velocity=1.5, acceleration=np.arange(1.0, 7.0))
    np.testing.assert_array_equal(limits.lower, robot.lower)
    np.testing.assert_array_equal(limits.upper, robot.upper)
    np.testing.assert_array_equal(limits.velocity, np.minimum(robot.velocity, 1.5))
    np.testing.assert_array_equal(limits.acceleration, np.arange(1.0, 7.0))
    assert np.isposinf(MotionLimits.of(robot).acceleration).all()
    with pytest.raises(ValueError, match='read-only'):
        limits.lower[0] = 0.0
    with pytest.raises(ik.InvalidOption, match='robot is 3: a Robot is needed'):
        MotionLimits.of(3)
    for name in ('velocity', 'acceleration', 'jerk'):
        with pytest.raises(ik.InvalidOption, match=f"{name} limits are not made of numbers: 'x'"):
            MotionLimits.of(robot, **{name: 'x'})
        with pytest.raises(ik.InvalidOption, match=rf'{name} limits have shape \(3,\); one num'):
            MotionLimits.of(robot, **{name: [1.0, 2.0, 3.0]})
