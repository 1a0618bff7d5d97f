# SPDX-License-Identifier: Apache-2.0
"""Typed goals on a page over an arm that only remembers: what is given, what is displayed."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.fake_arm import panda

pytest.importorskip('viser')

from ik_viewer.arm import GoalKind
from ik_viewer.page.fields import TYPING
from ik_viewer.page.typed_goal import ANGLES, POSITION


def pose_of(position, rpy_degrees):
    """By scipy: the transform (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler('xyz', rpy_degrees, degrees=True).as_matrix()
    pose[:3, 3] = position
    return pose


@pytest.fixture
def arm():
    it = panda()
    it.goals[0] = pose_of((0.41234567, -0.2, 0.3), (170.123456, -20.0, 30.0))
    it.kinds[0] = GoalKind.AXIS
    return it


def test_the_numbers_are_those_of_the_goal(made, clock, arm):
    page, hands = made(arm)
    clock()
    page.frame()
    assert hands.widget(POSITION).value == (0.4123, -0.2, 0.3)
    assert hands.widget(ANGLES).value == pytest.approx((170.12, -20.0, 30.0))
    arm.goals[0] = pose_of((0.5, 0.0, 0.1), (0.0, 0.0, 90.0))
    clock()
    page.frame()
    assert hands.widget(POSITION).value == (0.5, 0.0, 0.1)
    assert hands.widget(ANGLES).value == pytest.approx((0.0, 0.0, 90.0))


def test_without_a_goal_they_are_those_of_the_tip(made, clock, arm):
    arm.goals[0] = None
    page, hands = made(arm)
    clock()
    page.frame()
    truth = arm.description.robot.forward_kinematics(arm.q, arm.links[0])
    np.testing.assert_allclose(hands.widget(POSITION).value, truth[:3, 3], atol=5e-5)


def test_what_is_typed_is_the_goal_once_typing_ends_and_the_rest_keeps_its_digits(
    made, clock, arm
):
    page, hands = made(arm)
    clock()
    page.frame()
    for y in (1.0, 0.1, 0.15):
        hands.change(POSITION, (0.4123, y, 0.3))
        clock(0.5 * TYPING)
        page.frame()
    assert arm.called('set_goal') == []
    assert hands.widget(POSITION).value == (0.4123, 0.15, 0.3)  # not taken from the hand
    clock(TYPING)
    page.frame()
    ((tip, goal, kind),) = arm.called('set_goal')
    assert (tip, kind) == (0, GoalKind.AXIS)
    truth = pose_of((0.41234567, 0.15, 0.3), (170.123456, -20.0, 30.0))
    np.testing.assert_allclose(goal, truth, atol=1e-12)


def test_typed_angles_are_roll_pitch_and_yaw_in_degrees(made, clock, arm):
    page, hands = made(arm)
    clock()
    page.frame()
    hands.change(ANGLES, (10.0, -20.0, 45.0))
    clock()
    page.frame()
    ((_, goal, _),) = arm.called('set_goal')
    truth = pose_of((0.41234567, -0.2, 0.3), (10.0, -20.0, 45.0))
    np.testing.assert_allclose(goal, truth, atol=1e-12)


def test_they_are_for_the_chosen_tip(made, clock):
    from support.fake_arm import FakeArm

    arm = FakeArm(robots.shipped('dual_arm'))
    page, hands = made(arm)
    hands.change('Tip', arm.links[1])
    clock()
    page.frame()
    x, y, _ = hands.widget(POSITION).value
    truth = arm.description.robot.forward_kinematics(arm.q, arm.links[1])
    np.testing.assert_allclose((x, y), truth[:2, 3], atol=5e-5)
    hands.change(POSITION, (x, y, 0.5))
    clock()
    page.frame()
    ((tip, goal, _),) = arm.called('set_goal')
    assert tip == 1
    assert goal[2, 3] == 0.5


def test_what_was_typed_goes_to_its_tip_when_another_is_chosen_meanwhile(made, clock):
    from support.fake_arm import FakeArm

    arm = FakeArm(robots.shipped('dual_arm'))
    page, hands = made(arm)
    clock()
    page.frame()
    x, y, _ = hands.widget(POSITION).value
    hands.change(POSITION, (x, y, 0.5))
    hands.change('Tip', arm.links[1])
    clock()
    page.frame()
    ((tip, goal, _),) = arm.called('set_goal')
    truth = arm.description.robot.forward_kinematics(arm.q, arm.links[0])
    assert tip == 0
    np.testing.assert_allclose(goal[:3, 3], (*truth[:2, 3], 0.5), atol=1e-12)
