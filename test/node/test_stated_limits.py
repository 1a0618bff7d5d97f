# SPDX-License-Identifier: Apache-2.0
"""The node keeps the limits that a description and a joint_limits.yaml state."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import snapshot, world

import ik_core as ik
from ik_node.joint_limits import limits_with_mimics, missing_limits, motion_limits
from ik_node.parameters.node_options import Limits
from ik_node.parameters.specs import limit_specs

URDF = """
<robot name="two" version="1.2"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="2" effort="1" acceleration="4" deceleration="6" jerk="40"/>
<safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_velocity="1"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<origin xyz="0.5 0 0"/><limit lower="-2" upper="2" velocity="2" effort="1"/></joint>
<joint name="j3" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/>
<origin xyz="0.5 0 0"/><mimic joint="j2" multiplier="2"/>
<limit lower="-4" upper="4" velocity="8" effort="1" acceleration="12"/></joint></robot>
"""
FILE = """
joint_limits:
  j2: {has_acceleration_limits: true, max_acceleration: 3.0}
"""


def test_stated_accelerations_count_and_defaults_are_for_the_others():
    robot = ik.load_robot(URDF)
    parameters = snapshot()
    parameters = replace(parameters, default_limits=Limits(acceleration=5.0, velocity=1.0))
    limits = motion_limits(robot, parameters)
    np.testing.assert_array_equal(limits.acceleration, [4, 6])  # j3 follows at twice the rate
    np.testing.assert_array_equal(limits.jerk, [40, np.inf])
    np.testing.assert_array_equal(limits.velocity, [2, 2])
    np.testing.assert_array_equal(limits.upper, [1, 2])
    assert limits_with_mimics(robot, parameters, limits)[3].tolist() == [4, 6, 12]


def test_parameters_only_tighten_stated_limits():
    robot = ik.load_robot(URDF)
    own = {'j1': Limits(acceleration=1.5), 'j2': Limits(acceleration=50.0)}
    parameters = replace(snapshot(), joint_limits=own)
    limits = motion_limits(robot, replace(parameters, default_limits=Limits()))
    np.testing.assert_array_equal(limits.acceleration, [1.5, 6])
    bounds = {spec.name: spec.bounds[1] for spec in limit_specs(robot)}
    assert bounds['joint_limits.j1.acceleration'] == 4
    assert bounds['joint_limits.j1.jerk'] == 40
    assert bounds['joint_limits.j1.upper'] == 1


def test_joints_with_stated_accelerations_are_not_said_to_be_unlimited():
    parameters = replace(snapshot(), default_limits=Limits())
    assert not missing_limits(ik.load_robot(URDF), parameters)
    plain = ik.load_robot(URDF.replace('acceleration="4"', '').replace('deceleration="6"', ''))
    (said,) = missing_limits(plain, parameters)
    assert said.startswith('no acceleration limit for j1; ')


def test_a_node_moves_within_the_limits_of_its_files(tmp_path):
    urdf, limits = tmp_path / 'two.urdf', tmp_path / 'joint_limits.yaml'
    urdf.write_text(URDF)
    limits.write_text(FILE)
    parameters = {'urdf_path': str(urdf), 'joint_limits_path': str(limits), 'rate': 100.0}
    with world(**parameters) as it:
        it.more_states(1)
        values = limits_in_force(it)
        assert values['j1.acceleration [rad/s^2]'] == '4'
        assert values['j2.acceleration [rad/s^2]'] == '3'
        assert values['j1.jerk [rad/s^3]'] == '40'
        assert values['j1.upper [rad]'] == '1'
        assert not it.set_parameters(joint_limits__j1__acceleration=5.0).successful
        assert it.set_parameters(joint_limits__j1__acceleration=2.0).successful
    with world(**parameters, soft_limits=False) as it:
        it.more_states(1)
        assert limits_in_force(it)['j1.upper [rad]'] == '2'


def limits_in_force(it):
    """The limits that the diagnostics report, by name."""
    found = {}

    def has_come():
        for message in it.inbox['/diagnostics']:
            for status in message.status:
                if it.namespace.lstrip('/') in status.name:
                    found.update({pair.key: pair.value for pair in status.values})
        return any('.upper' in key for key in found)

    it.until(has_come, 'limits in the diagnostics')
    return found
