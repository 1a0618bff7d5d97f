# SPDX-License-Identifier: Apache-2.0
"""Goals that suit arms of few joints: `PoseTask.for_joints` and `PositionAxisTask`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.few_joints import hobby_arm

import ik_core as ik

ROBOT = hobby_arm()
TIP = 'tool'
POSE = ROBOT.forward_kinematics(ROBOT.middle_configuration + 0.2, TIP)
TURN = Rotation.from_matrix(POSE[:3, :3])


def solved(goal, **options):
    return ik.solve(ik.IkProblem(ROBOT, [goal], **options))


def angle_between(a, b):
    """The angle [rad] between two directions (3,), exact for small ones."""
    a, b = np.array(a) / np.linalg.norm(a), np.array(b) / np.linalg.norm(b)
    return 2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(a - b), 0.0, 1.0))


@pytest.mark.parametrize(
    'target',
    [
        {'transform': POSE},
        {'position': POSE[:3, 3], 'rpy': TURN.as_euler('xyz')},
        {'position': POSE[:3, 3], 'quaternion': TURN.as_quat()},
        {'position': POSE[:3, 3], 'rotation': POSE[:3, :3]},
    ],
    ids=lambda target: ' '.join(target),
)
@pytest.mark.parametrize('joints', [5, 6])
def test_for_joints_takes_a_target_as_pose_task_does(joints, target):
    goal = ik.PoseTask.for_joints(joints, TIP, **target)
    np.testing.assert_allclose(goal.transform, POSE, atol=1e-12)
    assert goal.puts_position_first == (joints < 6)
    there = ROBOT.forward_kinematics(solved(goal).q, TIP)
    assert np.linalg.norm(there[:3, 3] - POSE[:3, 3]) < 1e-5
    assert Rotation.from_matrix(POSE[:3, :3].T @ there[:3, :3]).magnitude() < 1e-4


def test_for_joints_without_a_target_takes_one_later():
    goal = ik.PoseTask.for_joints(5, TIP)
    with pytest.raises(ik.InvalidGoal, match='no orientation and no position'):
        solved(goal)
    goal.set_target(POSE)
    assert solved(goal).success


@pytest.mark.parametrize('joints', ['5', -1, 4.5, None, True])
def test_for_joints_refuses_what_is_no_number_of_joints(joints):
    with pytest.raises(ik.InvalidOption, match=r"joints is .*len\(robot.chain\('tool'\)\)"):
        ik.PoseTask.for_joints(joints, TIP)


def test_for_joints_refuses_a_target_that_is_given_twice():
    with pytest.raises(ik.InvalidGoal, match='a position is given twice'):
        ik.PoseTask.for_joints(5, TIP, transform=POSE, position=[0.1, 0.2, 0.3])


vectors = st.tuples(*3 * [st.floats(-1.0, 1.0)]).filter(lambda v: np.linalg.norm(v) > 0.05)
configurations = st.tuples(*5 * [st.floats(0.1, 0.9)]).map(
    lambda shares: ROBOT.lower + np.array(shares) * (ROBOT.upper - ROBOT.lower)
)


@settings(max_examples=40, deadline=None)
@given(q=configurations, axis=vectors, turn=vectors, offset=vectors)
def test_position_and_axis_of_a_tool_are_reached(q, axis, turn, offset):
    tool = np.eye(4)
    tool[:3, :3], tool[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), 0.1 * np.array(offset)
    there = ROBOT.forward_kinematics(q, TIP) @ tool
    direction = there[:3, :3] @ axis
    goal = ik.PositionAxisTask(TIP, there[:3, 3], axis=axis, direction=direction, tool=tool)
    result = solved(goal)
    found = ROBOT.forward_kinematics(result.q, TIP) @ tool
    missed = np.linalg.norm(found[:3, 3] - there[:3, 3])
    turned = angle_between(found[:3, :3] @ axis, direction)
    assert result.position_errors[0] == pytest.approx(missed, abs=1e-9)
    assert result.orientation_errors[0] == pytest.approx(turned, abs=1e-7)
    assert result.success, result.message


def test_position_and_axis_may_be_one_transform_whose_roll_is_free():
    rolled = POSE.copy()
    rolled[:3, :3] = POSE[:3, :3] @ Rotation.from_euler('z', 1.0).as_matrix()
    assert solved(ik.PositionAxisTask(TIP, transform=rolled)).success
    whole = solved(ik.PoseTask(TIP, transform=rolled))
    assert not whole.success


def test_an_axis_within_its_cone_is_reached():
    direction = Rotation.from_rotvec([0.0, 0.0, 0.2]).as_matrix() @ POSE[:3, 2]
    off = angle_between(direction, POSE[:3, 2])
    start = ROBOT.middle_configuration + 0.2
    for cone, is_there in ((off + 0.01, True), (off - 0.01, False)):
        goal = ik.PositionAxisTask(TIP, POSE[:3, 3], direction=direction, cone=cone)
        result = ik.solve(ik.IkProblem(ROBOT, [goal]), start)
        assert (result.iterations == 0) == is_there


def test_a_direction_moves_without_the_position():
    goal = ik.PositionAxisTask(TIP, POSE[:3, 3], axis=[1, 0, 0], direction=[0, 0, 2])
    goal.set_direction([0, 3, 0])
    np.testing.assert_allclose(goal.transform[:3, 2], [0, 1, 0])
    np.testing.assert_array_equal(goal.transform[:3, 3], POSE[:3, 3])


@pytest.mark.parametrize(
    ('make', 'text'),
    [
        (lambda: ik.PositionAxisTask(TIP, POSE), r'shape \(4, 4\); .* give it as transform='),
        (lambda: ik.PositionAxisTask(TIP, axis=[0, 0, 0]), 'axis is zero'),
        (lambda: ik.PositionAxisTask(TIP, direction=[0, 0, 0]), 'direction is zero'),
        (
            lambda: ik.PositionAxisTask(TIP, transform=POSE, direction=[0, 0, 1]),
            'the direction is given twice',
        ),
        (
            lambda: ik.PositionAxisTask(TIP, [0, 0, 1], transform=POSE),
            'a position is given twice',
        ),
        (
            lambda: solved(ik.PositionAxisTask(TIP, [0.2, 0, 0.1])),
            'no orientation; give it one with set_target or set_direction, or use PositionTask',
        ),
        (
            lambda: solved(ik.PositionAxisTask(TIP, direction=[0, 0, 1])),
            'no position; .*, or use AxisTask',
        ),
        (
            lambda: ik.PositionTask(TIP).set_target([0.4, 0.2, 0.5]),
            r'shape \(3,\); .*, or give it as position=',
        ),
    ],
)
def test_errors_say_what_would_be_right(make, text):
    with pytest.raises(ik.InvalidGoal, match=text):
        make()
