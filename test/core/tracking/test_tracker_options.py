# SPDX-License-Identifier: Apache-2.0
"""The options of a tracker are checked."""

import math

import pytest

import ik_core as ik
from ik_core.tracking import TrackerOptions


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('updates_per_tick', -1),
        ('updates_per_tick', 1.5),
        ('goal_jump_position', -0.1),
        ('goal_jump_orientation', math.nan),
        ('replan_period', -1.0),
        ('goal_timeout', '1'),
    ],
)
def test_options_are_checked(name, value):
    with pytest.raises(ik.InvalidOption, match=name):
        TrackerOptions(**{name: value})
