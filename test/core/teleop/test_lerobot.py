# SPDX-License-Identifier: Apache-2.0
"""An object for lerobot's processors: motors in degrees, a gripper after them, weights."""

import numpy as np
import pytest

import ik_core as ik
from ik_core.maths.rotations import pose_error
from ik_core.teleop import LerobotKinematics

MOTORS = ['shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex', 'wrist_roll']
START = np.array([5.0, -20.0, 30.0, 25.0, 10.0, 42.0])  # the gripper last


@pytest.fixture(scope='module')
def robot():
    return ik.load_robot('so101_like')


@pytest.fixture(scope='module')
def kinematics(robot):
    return LerobotKinematics(robot)


def test_motors_are_in_degrees(robot, kinematics):
    pose = kinematics.forward_kinematics(START)
    q = robot.q(dict(zip(MOTORS, np.radians(START[:5]), strict=True)), default=np.zeros(6))
    np.testing.assert_allclose(pose, robot.forward_kinematics(q, 'gripper_frame_link'))


def test_a_pose_is_reached_and_the_gripper_kept(kinematics):
    goal = kinematics.forward_kinematics([20.0, -10.0, 20.0, 40.0, -30.0])
    found = kinematics.inverse_kinematics(START, goal)
    position, angle = pose_error(kinematics.forward_kinematics(found), goal)
    assert position < 1e-4
    assert angle < 1e-2
    assert found[5] == 42.0
    assert START[5] == 42.0


def test_the_position_comes_first_and_is_all_without_a_weight_of_the_orientation(kinematics):
    goal = kinematics.forward_kinematics(START)
    turned = goal.copy()
    turned[:3, :3] = goal[:3, :3] @ ik.transform(rpy=[0.1, 0.3, 0.2])[:3, :3]
    for weight in (0.01, 0.0):
        found = kinematics.inverse_kinematics(START, turned, 1.0, weight)
        position, angle = pose_error(kinematics.forward_kinematics(found), turned)
        assert position < 1e-4
        if weight:
            assert angle < pose_error(goal, turned)[1] - 0.1
        else:
            np.testing.assert_allclose(found, START, atol=1e-6)


def test_motors_have_the_order_that_is_asked_for(robot, kinematics):
    other = LerobotKinematics(robot, joint_names=MOTORS[::-1])
    np.testing.assert_allclose(
        other.forward_kinematics(START[:5][::-1]), kinematics.forward_kinematics(START)
    )


def test_limits_are_kept(robot, kinematics):
    far = kinematics.forward_kinematics(START)
    far[:3, 3] *= 3.0
    found = np.radians(kinematics.inverse_kinematics(START, far)[:5])
    assert (found >= robot.lower[:5]).all()
    assert (found <= robot.upper[:5]).all()


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda k: k.forward_kinematics([1.0, 2.0]), ik.InvalidConfiguration, '5 are needed'),
        (lambda k: k.forward_kinematics('home'), ik.InvalidConfiguration, 'no numbers'),
        (lambda k: k.inverse_kinematics(START, np.eye(3)), ik.InvalidGoal, 'shape'),
        (
            lambda k: k.inverse_kinematics(START, np.eye(4), -1.0),
            ik.InvalidOption,
            'position_weight = -1.0',
        ),
        (lambda k: LerobotKinematics('so101_like', joint_names=['gripper']), ik.InvalidOption,
         'none of them moves'),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(kinematics, call, error, message):
    with pytest.raises(error, match=message):
        call(kinematics)
