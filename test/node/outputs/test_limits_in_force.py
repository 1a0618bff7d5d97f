# SPDX-License-Identifier: Apache-2.0
"""/diagnostics has the limits in force, wherever they come from."""

import pytest

pytest.importorskip('rclpy')

from support.node_harness import load, values_of
from support.panda_world import panda_world


def limits(node):
    """The limits of the last /diagnostics of this node; {} before any."""
    name = f'{node.namespace.lstrip("/")}/ik_node: joint limits'
    mine = [s for m in node.inbox['/diagnostics'] for s in m.status if s.name == name]
    return values_of(mine[-1]) if mine else {}


def test_the_limits_of_the_description_of_parameters_and_of_defaults_are_shown():
    robot = load('panda')
    with panda_world(joint_limits__default__acceleration=0.5) as node:
        node.until(lambda: limits(node), 'limits')
        shown = limits(node)
        for i, joint in enumerate(robot.joint_names):
            unit = robot.joint_units[i]
            assert float(shown[f'{joint}.acceleration [{unit}/s^2]']) == 0.5
            assert float(shown[f'{joint}.velocity [{unit}/s]']) == robot.velocity[i]
            assert float(shown[f'{joint}.upper [{unit}]']) == pytest.approx(robot.upper[i])
            assert float(shown[f'{joint}.lower [{unit}]']) == pytest.approx(robot.lower[i])
        assert not any('following_error' in key for key in shown)  # nothing is measured
        own = {'joint_limits.panda_joint2.acceleration': 0.25}
        assert node.set_parameters(**own).successful
        key = 'panda_joint2.acceleration [rad/s^2]'
        node.until(lambda: limits(node)[key] == '0.25', 'the limit that was set')


def test_the_following_errors_in_force_are_shown_where_the_state_is_measured():
    own = {'joint_limits__panda_joint2__following_error': 0.25}
    with panda_world(output='position_command', **own) as node:
        node.until(lambda: limits(node), 'limits')
        assert limits(node)['panda_joint1.following_error [rad]'] == '0.1'
        assert limits(node)['panda_joint2.following_error [rad]'] == '0.25'
        assert limits(node)['panda_finger_joint1.following_error [m]'] == '0.1'
