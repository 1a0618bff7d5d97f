# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics and Jacobians against slow, separately written ones.

On every shipped robot, and on random trees with all kinds of joints: fixed ones in between,
mimic joints with multipliers and offsets, floating and planar ones.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support import robots
from support.random_trees import free_joints_of, trees

import ik_core as ik

FIXED = settings(max_examples=80)


def slow_poses(robot, joints, q):
    values = dict(zip(robot.joint_names, q, strict=True))
    planar = [_planar_as_floating(j, values) for j in joints]
    return robots.slow_poses(planar, values, robot.base_link)


def _planar_as_floating(joint, values):
    """A planar joint in its own words: a shift in the plane, then a turn about its normal."""
    if joint.kind != 'planar':
        return joint
    x, y, yaw = (values.get(f'{joint.name}/{p}', 0.0) for p in ('x', 'y', 'yaw'))
    across = np.cross([0.0, 0.0, 1.0], joint.axis)  # the shortest turn of z onto the normal
    sine, angle = np.linalg.norm(across), np.arccos(np.clip(joint.axis[2], -1.0, 1.0))
    direction = across / sine if sine > 0.0 else np.array([1.0, 0.0, 0.0])
    plane = robots.transform(Rotation.from_rotvec(angle * direction))
    motion = plane @ robots.transform(translation=[x, y, 0.0]) @ plane.T
    motion = motion @ robots.transform(Rotation.from_rotvec(yaw * joint.axis))
    return ik.robot.Joint(joint.name, 'fixed', joint.parent, joint.child, joint.origin @ motion)


def twist_of(robot, link, q):
    """The Jacobian (6, n) by differences: of the position, and of the rotation from here."""
    here = Rotation.from_matrix(robot.forward_kinematics(q, link)[:3, :3])

    def pose(p):
        t = robot.forward_kinematics(p, link)
        turn = (Rotation.from_matrix(t[:3, :3]) * here.inv()).as_rotvec()
        return np.concatenate([t[:3, 3], turn])

    return robots.central_differences(pose, q)


@FIXED
@given(trees(), st.integers(0, 2**32 - 1))
def test_random_trees_stand_where_the_slow_product_puts_them(tree, seed):
    links, joints = tree
    robot = ik.Robot.from_joints('random', links, joints, free_joints=free_joints_of(joints))
    q = np.random.default_rng(seed).uniform(-3, 3, robot.n)
    for link, pose in slow_poses(robot, joints, q).items():
        np.testing.assert_allclose(robot.forward_kinematics(q, link), pose, rtol=0, atol=1e-11)


@FIXED
@given(trees(), st.integers(0, 2**32 - 1))
def test_jacobians_of_random_trees_are_the_twists_of_the_links(tree, seed):
    links, joints = tree
    robot = ik.Robot.from_joints('random', links, joints, free_joints=free_joints_of(joints))
    q = np.random.default_rng(seed).uniform(-3, 3, robot.n)
    for link in links[-3:]:
        if robot.n:
            jacobian = robot.jacobian(q, link)
            robots.assert_same_jacobian(jacobian, twist_of(robot, link, q))
            moving = np.flatnonzero(np.abs(jacobian).max(axis=0) > 0)
            assert set(moving) <= set(robot.chain(link))


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_shipped_robots_stand_where_the_slow_product_puts_them(name):
    robot, (links, joints) = robots.shipped(name), robots.read_joints(name)
    rng = np.random.default_rng(1)
    for _ in range(10):
        q = robots.random_q(robot, rng)
        values = dict(zip(robot.joint_names, q, strict=True))
        poses = robots.slow_poses(joints, values, robot.base_link)
        assert set(poses) == set(links) == set(robot.link_names)
        for link, pose in poses.items():
            np.testing.assert_allclose(robot.forward_kinematics(q, link), pose, atol=1e-12)


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_jacobians_of_shipped_robots_are_the_twists_of_the_links(name):
    robot = robots.shipped(name)
    q = robots.random_q(robot, np.random.default_rng(2))
    for link in robot.link_names:
        robots.assert_same_jacobian(robot.jacobian(q, link), twist_of(robot, link, q))


def test_joints_of_one_variable_add_up_in_its_column():
    """Two that turn and two that slide, each pair driven by one variable."""
    axes = Rotation.random(4, random_state=5).apply([0.0, 0.0, 1.0])
    kinds = ['revolute', 'prismatic', 'revolute', 'prismatic']
    mimics = [None, None, ik.robot.Mimic('J0', -1.7, 0.3), ik.robot.Mimic('J1', 0.6, -0.2)]
    rng, links = np.random.default_rng(5), list('abcde')
    joints = [
        ik.robot.Joint(f'J{i}', kinds[i], links[i], links[i + 1], robots.random_transform(rng),
                       axes[i], mimic=mimics[i])
        for i in range(4)
    ]  # fmt: skip
    robot = ik.Robot.from_joints('coupled', links, joints)
    q = np.array([0.4, -0.8])
    for link in links:
        robots.assert_same_jacobian(robot.jacobian(q, link), twist_of(robot, link, q))
        pose = slow_poses(robot, joints, q)[link]
        np.testing.assert_allclose(robot.forward_kinematics(q, link), pose, atol=1e-13)


def test_a_mimic_joint_counts_in_the_column_of_its_driver():
    finger = 'panda_rightfinger'  # moved by panda_finger_joint1 through a mimic joint alone
    robot = robots.shipped('panda')
    column = robot.jacobian(robot.middle_configuration, finger)[:, -1]
    assert np.linalg.norm(column[:3]) == pytest.approx(1.0)
    assert column[3:].tolist() == [0.0, 0.0, 0.0]
    assert robot.n - 1 in robot.chain(finger)


def test_poses_in_the_frame_of_another_link():
    robot = robots.shipped('dual_arm')
    q = robots.random_q(robot, np.random.default_rng(3))
    left, right = (robot.forward_kinematics(q, link) for link in ('left_palm', 'right_palm'))
    relative = robot.forward_kinematics(q, 'left_palm', base_link='right_palm')
    np.testing.assert_allclose(relative, np.linalg.inv(right) @ left, atol=1e-13)


def test_frames_serve_many_links_at_once():
    robot = robots.shipped('ur5e')
    q = robots.random_q(robot, np.random.default_rng(4))
    frames = robot.frames(q)
    assert frames.shape == (6, 12)
    for link in robot.link_names:
        pose = robot.link_transform(frames, link)
        np.testing.assert_array_equal(pose, robot.forward_kinematics(q, link))


def test_poses_are_the_callers_own():
    robot = robots.shipped('ur5e')
    robot.forward_kinematics(np.zeros(6), 'base_link')[:] = 7.0
    np.testing.assert_array_equal(robot.forward_kinematics(np.zeros(6), 'base_link'), np.eye(4))
