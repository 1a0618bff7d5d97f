# SPDX-License-Identifier: Apache-2.0
"""Transforms in all forms: that of scipy, pinocchio, spatialmath and ROS give the same numbers."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import polar
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core.maths import transforms

TURN = Rotation.from_rotvec([0.3, -0.8, 1.1])
PLACE = np.array([0.4, -0.2, 0.9])
MATRIX = np.eye(4)
MATRIX[:3, :3], MATRIX[:3, 3] = TURN.as_matrix(), PLACE


def xyz(values):
    return Message(**dict(zip('xyz', map(float, values), strict=True)))


def quaternion(turn=TURN):
    return Message(**dict(zip('xyzw', map(float, turn.as_quat()), strict=True)))


def pose():
    return Message(position=xyz(PLACE), orientation=quaternion())


def stamped(frame, **content):
    return Message(header=Message(frame_id=frame), **content)


def of_pinocchio():
    return pytest.importorskip('pinocchio').SE3(TURN.as_matrix(), PLACE)


def of_ros():
    messages = pytest.importorskip('geometry_msgs.msg')
    message = messages.PoseStamped()
    message.header.frame_id = 'base'
    for name, value in zip('xyz', PLACE, strict=True):
        setattr(message.pose.position, name, float(value))
    for name, value in zip('xyzw', TURN.as_quat(), strict=True):
        setattr(message.pose.orientation, name, float(value))
    return message


FORMS = {
    'array': MATRIX.copy,
    'lists': MATRIX.tolist,
    'pinocchio': of_pinocchio,
    'homogeneous': lambda: Message(homogeneous=MATRIX, rotation=None, translation=None),
    'spatialmath': lambda: Message(A=MATRIX, R=MATRIX[:3, :3], t=PLACE),
    'scipy RigidTransform': lambda: Message(
        as_matrix=lambda: MATRIX, rotation=TURN, translation=PLACE
    ),
    'Pose': pose,
    'PoseStamped': lambda: stamped('base', pose=pose()),
    'PoseWithCovarianceStamped': lambda: stamped('base', pose=Message(pose=pose())),
    'TransformStamped': lambda: stamped(
        '/base', transform=Message(translation=xyz(PLACE), rotation=quaternion())
    ),
    'message of ROS': of_ros,
}
ROTATIONS = {
    'scipy': lambda: TURN,
    'matrix': TURN.as_matrix,
    'spatialmath SO3': lambda: Message(A=TURN.as_matrix()),
    'Quaternion': quaternion,
}
every_form = pytest.mark.parametrize('form', FORMS)


@every_form
def test_every_form_of_a_transform_is_the_same_matrix(form):
    value = FORMS[form]()
    np.testing.assert_allclose(ik.transform(value, frame='base'), MATRIX, atol=1e-15)


@every_form
def test_goals_tools_trackers_and_batches_take_every_form(form):
    robot = ik.load_robot(ONE_JOINT)
    goal = ik.PoseTask('hand', transform=FORMS[form]())
    goal.set_target(np.eye(4))
    goal.set_target(FORMS[form]())
    np.testing.assert_allclose(goal.transform, MATRIX, atol=1e-15)
    problem = ik.IkProblem(robot, [goal])
    tracker = tracker_of(problem)
    tracker.set_goal(0, FORMS[form](), 0.0)
    np.testing.assert_allclose(tracker.goals[0], MATRIX, atol=1e-15)
    batch = ik.solve_batch(problem, [FORMS[form](), np.eye(4)])
    again = ik.solve_batch(problem, [MATRIX, np.eye(4)])
    np.testing.assert_allclose(batch.q, again.q, atol=1e-12)
    if not form.endswith(('Stamped', 'of ROS')):  # which are in the frame of the base
        tool = ik.PoseTask('hand', tool=FORMS[form]()).tool
        np.testing.assert_allclose(tool, MATRIX, atol=1e-15)


@pytest.mark.parametrize('form', ROTATIONS)
def test_every_form_of_a_rotation_is_the_same_matrix(form):
    rotation = ROTATIONS[form]()
    turned = ik.transform(rotation=rotation, position=PLACE)
    np.testing.assert_allclose(turned, MATRIX, atol=1e-15)
    goal = ik.OrientationTask('hand', rotation=rotation)
    np.testing.assert_allclose(goal.transform[:3, :3], MATRIX[:3, :3], atol=1e-15)


@given(st.tuples(*[st.floats(-7.0, 7.0)] * 3))
def test_rpy_are_turns_about_fixed_axes(rpy):
    expected = Rotation.from_euler('xyz', rpy).as_matrix()
    goals = [
        ik.PoseTask('hand', PLACE, rpy=rpy),
        ik.PositionTask('hand', PLACE, rpy=rpy),
        ik.OrientationTask('hand', rpy=rpy),
        ik.TwoAxisTask('hand', rpy=rpy),
    ]
    for goal in goals:
        np.testing.assert_allclose(goal.transform[:3, :3], expected, atol=1e-14)
    np.testing.assert_allclose(ik.transform(rpy=rpy)[:3, :3], expected, atol=1e-14)


@pytest.mark.parametrize('value', [PLACE, xyz(PLACE), stamped('base', point=xyz(PLACE))])
def test_positions_and_directions_may_be_messages(value):
    np.testing.assert_array_equal(ik.PositionTask('hand', value).transform[:3, 3], PLACE)
    assert ik.transform(position=value, frame='base')[2, 3] == PLACE[2]
    axis = ik.AxisTask('hand', direction=xyz(PLACE)).transform[:3, 2]
    np.testing.assert_allclose(axis, PLACE / np.linalg.norm(PLACE), atol=1e-15)


def test_a_copy_is_checked():
    mine = MATRIX.copy()
    assert transforms.checked_transform(mine) is not mine
    np.testing.assert_array_equal(transforms.checked_transform(mine.tolist()), mine)


ONE_JOINT = (
    '<robot name="r"><link name="base"/><link name="hand"/><joint name="j" type="revolute">'
    '<parent link="base"/><child link="hand"/><limit lower="-1" upper="1" velocity="1"/></joint>'
    '</robot>'
)


def tracker_of(problem):
    ones = np.ones(1)
    return ik.Tracker(problem, 100.0, limits=ik.MotionLimits(-ones, ones, ones, ones))


def test_a_message_in_another_frame_is_refused_with_a_sentence():
    robot, message = ik.load_robot(ONE_JOINT), stamped('camera', pose=pose())
    goal = ik.PoseTask('hand', transform=message)
    problem = ik.IkProblem(robot, [goal])
    with pytest.raises(ik.InvalidGoal, match=r"'hand' is in the frame 'camera'.*root.*'base'"):
        ik.solve(problem)
    goal.set_target(stamped('base', pose=pose()))
    ik.solve(problem)
    goal.set_target(position=stamped('camera', point=xyz(PLACE)))
    with pytest.raises(ik.InvalidGoal, match='camera'):
        ik.solve(problem)
    goal.set_target(MATRIX)
    ik.solve(problem)
    goal.set_target(position=stamped('camera', point=xyz(PLACE)))
    goal.set_target(rotation=TURN)  # the position is still the other frame's
    with pytest.raises(ik.InvalidGoal, match='camera'):
        ik.solve(problem)
    goal.set_target(MATRIX)
    tracker = tracker_of(problem)
    for refused in (
        lambda: tracker.set_goal(0, message, 0.0),
        lambda: ik.PoseTask('hand', tool=message),
        lambda: ik.solve_batch(problem, [message]),
        lambda: ik.solve_batch(problem, Message(header=message.header, poses=[pose()])),
        lambda: ik.transform(message, frame='base'),
    ):
        with pytest.raises(ik.InvalidGoal, match=r"'camera'; '(base|hand)' is needed"):
            refused()
    assert tracker.goals == [None]


def test_a_pose_array_is_a_batch():
    problem = ik.IkProblem(ik.load_robot(ONE_JOINT), [ik.PoseTask('hand')])
    poses = stamped('base', poses=[pose(), pose()])
    assert len(ik.solve_batch(problem, poses)) == 2


def test_two_orientations_are_one_too_many():
    with pytest.raises(ik.InvalidOption, match='as quaternion and as rpy'):
        ik.PoseTask('hand', PLACE, [0, 0, 0, 1], rpy=[0, 0, 0])
    with pytest.raises(ik.InvalidOption, match='as rpy and as rotation'):
        ik.transform(rpy=[0, 0, 0], rotation=TURN)


def broken(row, column, value):
    transform = np.eye(4)
    transform[row, column] = value
    return transform


@pytest.mark.parametrize(
    ('transform', 'match'),
    [
        (np.eye(3), 'shape.*, or give it as rotation='),
        (TURN, 'shape.*, or give it as rotation='),
        (broken(0, 3, np.nan), 'not finite'),
        (broken(1, 1, np.inf), 'not finite'),
        (broken(0, 0, 1.0 + 1e-5), 'off the identity by 2e-05.*determinant is 1.00001;'),
        (broken(0, 1, 1e-5), 'off the identity by 1e-05'),
        (broken(2, 2, -1.0), 'reflection'),
        (broken(3, 0, 1e-5), 'last row'),
        (broken(3, 3, 2.0), 'last row'),
        ('identity', 'not made of numbers'),
        ([[1, 2], [3]], 'not made of numbers'),
        (object(), 'not made of numbers'),
        (Message(position=xyz(PLACE), orientation=xyz(PLACE)), 'not finite'),
        (Message(A=[MATRIX, MATRIX]), 'shape'),
        (Message(position=xyz(PLACE), orientation=Message(x=0, y=0, z=0, w=0)), 'zero'),
    ],
)
def test_what_is_no_rigid_transform_is_refused_and_by_how_much(transform, match):
    for refused in (
        lambda: transforms.checked_transform(transform),
        lambda: ik.PoseTask('hand', transform=transform),
        lambda: ik.transform(transform),
        lambda: ik.PoseTask('hand', tool=transform),
    ):
        with pytest.raises(ik.InvalidGoal, match=match):
            refused()


@pytest.mark.parametrize(
    ('rotation', 'match'),
    [
        (np.eye(4), 'shape'),
        (1.01 * np.eye(3), r'off the identity by 0.02, where 1e-06.*determinant is 1.0303'),
        (np.diag([1.0, 1.0, -1.0]), 'reflection'),
        (np.full((3, 3), np.nan), 'not finite'),
        (Rotation.random(2, random_state=1), 'shape'),
    ],
)
def test_what_is_no_rotation_is_refused(rotation, match):
    with pytest.raises(ik.InvalidGoal, match=match):
        ik.OrientationTask('hand', rotation=rotation)


def test_a_whole_transform_for_a_position_is_told_its_place():
    for value in (MATRIX, pose()):
        with pytest.raises(ik.InvalidGoal, match='give it as transform='):
            ik.PoseTask('hand', value)
    with pytest.raises(ik.InvalidGoal, match='give a Rotation as rotation='):
        ik.OrientationTask('hand', TURN)


def test_normalise_takes_the_nearest_rotation():
    noise = np.random.default_rng(3).normal(scale=1e-3, size=(3, 3))
    off = MATRIX.copy()
    off[:3, :3] += noise
    for mended in (
        ik.transform(off, normalise=True),
        ik.PoseTask('hand', transform=off, normalise=True).transform,
        ik.transform(position=PLACE, rotation=off[:3, :3], normalise=True),
    ):
        expected = polar(off[:3, :3])[0]
        np.testing.assert_allclose(mended[:3, :3].T @ mended[:3, :3], np.eye(3), atol=1e-14)
        np.testing.assert_allclose(mended[:3, :3], expected, atol=1e-12)
        np.testing.assert_array_equal(mended[:3, 3], PLACE)
    with pytest.raises(
        ik.InvalidGoal, match=r'transform\(..., normalise=True\) takes the nearest'
    ):
        ik.PoseTask('hand', transform=off)


@pytest.mark.parametrize(
    'block', [1.2 * np.eye(3), np.diag([1, 1, -1.0]), np.zeros((3, 3)), np.full((3, 3), np.nan)]
)
def test_normalise_mends_rounding_only(block):
    off = MATRIX.copy()
    off[:3, :3] = block
    with pytest.raises(ik.InvalidGoal):
        ik.transform(off, normalise=True)


@pytest.mark.parametrize('name', FORMS)
def test_many_are_read_as_one_is(name):
    one, message = FORMS[name](), stamped('camera', pose=pose())
    np.testing.assert_allclose(transforms.checked_transforms([one, one], 'base')[1], MATRIX)
    np.testing.assert_allclose(transforms.checked_transforms([[one]], 'base', 1)[0, 0], MATRIX)
    with pytest.raises(ik.InvalidGoal, match=r"'camera'; 'base' is needed"):
        transforms.checked_transforms([one, message], 'base')


def test_many_are_copied_only_where_kernels_need_it():
    given = np.tile(MATRIX, (3, 1, 1))
    assert np.shares_memory(transforms.checked_transforms(given, 'base'), given)
    given.flags.writeable = False
    read = transforms.checked_transforms(given, 'base')
    assert read.flags.writeable
    np.testing.assert_array_equal(read, given)
    turned = np.moveaxis(np.asarray(given, order='F'), 0, -1)[..., ::-1]
    assert transforms.checked_transforms(np.moveaxis(turned, -1, 0), 'base').flags.c_contiguous


def test_the_first_of_many_that_is_none_is_named():
    bad = np.tile(MATRIX, (4, 2, 1, 1))
    bad[2, 1, 0, 0] += 0.5
    with pytest.raises(ik.InvalidGoal, match=r'targets\[2, 1\]'):
        transforms.checked_transforms(bad, 'base', 2)
    with pytest.raises(ik.InvalidGoal, match=r'targets\[2\]'):
        transforms.checked_transforms(bad[:, 1], 'base')
    with pytest.raises(ik.InvalidGoal, match=r'\(N, 2, 4, 4\) is needed'):
        transforms.checked_transforms(bad[:, 1], 'base', 2)
