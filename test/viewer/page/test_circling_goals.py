# SPDX-License-Identifier: Apache-2.0
"""`ik view --goal circle`: goals that move on circles, which tips follow."""

import math

import numpy as np
import pytest
from support import robots

pytest.importorskip('viser')

from ik_viewer.arm import Description
from ik_viewer.local.local_arm import LocalArm
from ik_viewer.page.circling_goals import CirclingGoals
from ik_viewer.page.page import PARTS

ROBOT = robots.shipped('panda')
TIP = robots.tip_of(ROBOT)


@pytest.fixture
def arm(monkeypatch):
    """A Panda that moves only by `tick`."""
    monkeypatch.setattr(LocalArm, '_run', lambda _: None)
    it = LocalArm(Description(ROBOT), rate=100.0)
    yield it
    it.close()


def test_goal_moves_on_a_circle_and_the_tip_follows(arm, made, clock):
    page, hands = made(arm, (*PARTS, CirclingGoals))
    top = ROBOT.forward_kinematics(arm.read().q, TIP)[:3, 3]
    radius = hands.widget('Radius [m]').value
    assert radius == pytest.approx(0.2 * np.linalg.norm(top))
    hands.change('Seconds for a turn', 20.0)
    found = []
    for k in range(100):
        clock(0.1)
        page.frame()
        for tick in range(10):
            arm.tick(0.1 * k + 0.01 * tick)
        found.append(arm.read().tips[0].goal[:3, 3])
    away = np.array(found) - top + [0.0, 0.0, radius]
    np.testing.assert_allclose(away[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), radius)
    turned = np.unwrap(np.arctan2(away[:, 1], away[:, 2]))
    np.testing.assert_allclose(np.diff(turned)[1:], 0.1 * math.tau / 20.0)
    at = ROBOT.forward_kinematics(arm.read().q, TIP)[:3, 3]
    assert np.linalg.norm(at - found[-1]) < 0.05
    hands.change('Move the goals', False)
    clock(0.1)
    page.frame()
    arm.tick(10.1)
    np.testing.assert_array_equal(arm.read().tips[0].goal[:3, 3], found[-1])
