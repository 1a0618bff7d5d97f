# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics and Jacobians of rows of configurations, and without a link."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import robots
from support.places import URDF
from support.random_trees import free_joints_of, trees

import ik_core as ik

COUNT = 7


def rows_of(robot, count=COUNT, seed=1):
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (count, robot.n))


def methods(robot):
    return robot.forward_kinematics, robot.jacobian


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_rows_give_the_same_bits_as_one_by_one(name):
    robot = robots.shipped(name)
    q, bases = rows_of(robot), (None, robot.link_names[0], robot.link_names[-1])
    for method in methods(robot):
        for link in robot.link_names:
            for base in bases:
                one_by_one = np.array([method(row, link, base) for row in q])
                np.testing.assert_array_equal(method(q, link, base), one_by_one)


@settings(max_examples=40)
@given(trees(), st.integers(0, 2**32 - 1))
def test_rows_of_random_trees_give_the_same_bits_as_one_by_one(tree, seed):
    links, joints = tree
    robot = ik.Robot.from_joints('random', links, joints, free_joints=free_joints_of(joints))
    q = rows_of(robot, 3, seed)
    for method in methods(robot):
        for base in (None, links[0]):
            one_by_one = np.array([method(row, links[-1], base) for row in q])
            np.testing.assert_array_equal(method(q, links[-1], base_link=base), one_by_one)


@pytest.mark.parametrize('name', ['arm5', 'dual_arm', 'iiwa14', 'scara', 'ur5e'])  # no mimic joint
def test_rows_agree_with_pinocchio(name):
    pin = pytest.importorskip('pinocchio')
    robot, model = robots.shipped(name), pin.buildModelFromUrdf(str(URDF / f'{name}.urdf'))
    data, q = model.createData(), rows_of(robot)
    link, base = robot.tips()[0], robot.link_names[2]
    assert [model.names[1 + i] for i in range(robot.n)] == list(robot.joint_names)
    assert model.nq == robot.n
    poses, relative = robot.forward_kinematics(q, link), robot.forward_kinematics(q, link, base)
    jacobians = robot.jacobian(q, link)
    for i, row in enumerate(q):
        jacobian = pin.computeFrameJacobian(
            model, data, row, model.getFrameId(link), pin.LOCAL_WORLD_ALIGNED
        )
        pin.framesForwardKinematics(model, data, row)
        tip, other = (data.oMf[model.getFrameId(name)] for name in (link, base))
        np.testing.assert_allclose(poses[i], tip.homogeneous, rtol=0, atol=1e-12)
        np.testing.assert_allclose(relative[i], (other.inverse() * tip).homogeneous, atol=1e-12)
        np.testing.assert_allclose(jacobians[i], jacobian, rtol=0, atol=1e-12)


def test_jacobians_of_rows_in_another_frame_are_derivatives():
    robot, link, base = robots.shipped('dual_arm'), 'left_palm', 'right_palm'
    q = rows_of(robot, 3)
    for row, jacobian in zip(q, robot.jacobian(q, link, base), strict=True):
        moved = robots.central_differences(
            lambda p: robot.forward_kinematics(p, link, base)[:3, 3], row
        )
        np.testing.assert_allclose(jacobian[:3], moved, atol=1e-8)


@pytest.mark.parametrize('count', [0, 1])
def test_few_rows_keep_their_shape(count):
    robot = robots.shipped('ur5e')
    q = rows_of(robot, count)
    assert robot.forward_kinematics(q, 'tool0', 'upper_arm_link').shape == (count, 4, 4)
    assert robot.jacobian(q, 'tool0', 'upper_arm_link').shape == (count, 6, 6)


def test_rows_may_be_lists_or_parts_of_larger_arrays():
    robot = robots.shipped('ur5e')
    q = rows_of(robot)
    wide = np.zeros((2 * COUNT, 9))
    wide[::2, 2:8] = q
    for method in methods(robot):
        for same in (q.tolist(), [tuple(row) for row in q], list(q), wide[::2, 2:8]):
            np.testing.assert_array_equal(method(same, 'tool0'), method(q, 'tool0'))


def test_rows_of_a_link_fixed_to_the_root_are_the_callers_own():
    robot = robots.shipped('ur5e')
    q = rows_of(robot)
    robot.forward_kinematics(q, 'base_link')[:] = 7.0
    np.testing.assert_array_equal(
        robot.forward_kinematics(q, 'base_link'), np.tile(np.eye(4), (COUNT, 1, 1))
    )
    assert not robot.jacobian(q, 'base_link').any()


@pytest.mark.parametrize(
    ('wrong', 'message'),
    [
        (np.zeros((3, 5)), r'q has shape \(3, 5\); \(6,\) or \(3, 6\) is needed'),
        ([[0.0] * 6, [0.0] * 5], 'q is not one array of numbers'),
        (np.where(np.eye(3, 6, k=1) > 0, np.nan, 0.0), r'q\[0\] is not finite at shoulder_lift'),
        (np.zeros((2, 3, 6)), r'q has shape \(2, 3, 6\)'),
        ([['a'] * 6] * 2, 'q is not one array of numbers'),
    ],
    ids=['shape', 'ragged', 'nan', 'three axes', 'text'],
)
def test_wrong_rows_are_refused_with_what_is_wrong(wrong, message):
    for method in methods(robots.shipped('ur5e')):
        with pytest.raises(ik.InvalidConfiguration, match=message):
            method(wrong, 'tool0')


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'scara'])
def test_without_a_link_it_is_the_default_tip(name):
    robot = robots.shipped(name)
    q = rows_of(robot)
    for method in methods(robot):
        for configurations in (q[0], q):
            expected = method(configurations, robot.default_tip(), robot.link_names[1])
            given = method(configurations, base_link=robot.link_names[1])
            np.testing.assert_array_equal(given, expected)


def test_without_a_link_a_robot_of_several_tips_names_them():
    robot = robots.shipped('dual_arm')
    for method in methods(robot):
        with pytest.raises(ik.UnsupportedProblem, match='name the tip among: left_palm, right_p'):
            method(robot.middle_configuration)
        with pytest.raises(ik.FrameNotFound, match="has no link ''"):
            method(robot.middle_configuration, '')
