# SPDX-License-Identifier: Apache-2.0
"""The fraction of full speed that a trajectory controller reports, without its noise."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from ik_node.inputs.speed_scaling import LEAST, SpeedScaling


@pytest.mark.parametrize(
    ('reported', 'used'),
    [
        ([0.519], [0.5]),  # down to a multiple of the step
        ([0.5, 0.47], [0.5, 0.46]),  # it falls at once
        ([0.5, 0.55, 0.56], [0.5, 0.5, 0.56]),  # it rises by more than noise only
        ([0.96, 1.0], [0.96, 1.0]),  # or to full speed
        ([0.0, -0.3], [LEAST, LEAST]),
        ([0.5, 1.7], [0.5, 1.0]),
        ([0.5, math.nan, math.inf], [0.5, 0.5, 0.5]),
    ],
)
def test_the_fraction_in_use_follows_what_is_reported(reported, used):
    scaling = SpeedScaling(None, None, lambda: 0.0)
    for factor, expected in zip(reported, used, strict=True):
        scaling._take(SimpleNamespace(speed_scaling_factor=factor))
        assert scaling.factor == pytest.approx(expected)
    scaling.close()
    assert scaling.factor == 1.0


def test_without_the_field_the_speed_is_full():
    scaling = SpeedScaling(None, None, lambda: 0.0)
    scaling._take(SimpleNamespace(speed_scaling_factor=0.5))
    scaling._take(SimpleNamespace())
    assert scaling.factor == 1.0
