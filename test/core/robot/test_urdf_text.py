# SPDX-License-Identifier: Apache-2.0
"""A robot that is written as a URDF is read back as the same robot."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import mocap_figures as figures
from support import robots

import ik_core as ik
from ik_core.robot.urdf_text import urdf_text


def assert_same_robot(robot, again):
    """Joints, limits and the places of all links agree."""
    assert again.joint_names == robot.joint_names
    assert again.joint_types == robot.joint_types
    assert set(again.link_names) == set(robot.places)
    assert again.base_link == robot.base_link
    for name in ('lower', 'upper', 'velocity', 'continuous', 'full_turns'):
        np.testing.assert_array_equal(getattr(again, name), getattr(robot, name), err_msg=name)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(-3.0, 3.0, robot.n)
        for link in robot.link_names:
            here, there = (r.forward_kinematics(q, link) for r in (robot, again))
            np.testing.assert_allclose(there, here, atol=1e-12, err_msg=link)


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_a_shipped_robot_is_read_back(name):
    robot = robots.shipped(name)
    again = ik.load_robot(urdf_text(robot))
    assert_same_robot(robot, again)
    assert again.mimic_joints == robot.mimic_joints


@pytest.mark.parametrize('kind', ['asf', 'bvh'])
def test_a_captured_figure_is_read_back(tmp_path, kind):
    path = tmp_path / f'figure.{kind}'
    text = {'asf': figures.asf_text(), 'bvh': figures.bvh_text(figures.bvh_values())}[kind]
    path.write_text(text)
    robot = ik.motion.load_skeleton(path)
    assert_same_robot(robot, ik.load_robot(urdf_text(robot)))


@pytest.mark.parametrize('pitch', [0.0, np.pi / 2, np.pi / 2 - 1e-9, -np.pi / 2, 1.0])
def test_origins_are_exact_at_a_pitch_of_a_right_angle(pitch):
    rng = np.random.default_rng(1)
    for roll, yaw in rng.uniform(-3.0, 3.0, (20, 2)):
        origin = robots.transform(Rotation.from_euler('xyz', [roll, pitch, yaw]), [1.0, 2.0, 3.0])
        joints = [ik.robot.Joint('turn', 'revolute', 'base', 'tip', origin, lower=-1.0, upper=1.0)]
        robot = ik.Robot.from_joints('one', ['base', 'tip'], joints)
        assert_same_robot(robot, ik.load_robot(urdf_text(robot)))
