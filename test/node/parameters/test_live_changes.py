# SPDX-License-Identifier: Apache-2.0
"""Parameters that change while the robot moves."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from support.node_harness import check_states, load, reachable_goal
from support.panda_world import ACCELERATION, RATE, TIP, panda_world, until_at

import ik_core as ik


def test_parameters_change_on_the_way():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 8)
        node.send_goal(goal)
        for values in (
            {'solver': 'damped_least_squares'},
            {'updates_per_tick': 2},
            {'position_tolerance': 1e-4, 'orientation_tolerance': 1e-3},
            {'solver': 'levenberg_marquardt', 'levenberg_marquardt__restarts': 5},
            {'updates_per_tick': 0, 'position_tolerance': 1e-5, 'orientation_tolerance': 1e-4},
        ):
            assert node.set_parameters(**values).successful
            node.more_states(10)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_what_is_no_parameter_is_refused_by_its_name():
    """By both services; a set with one of them in it changes nothing."""
    known = {
        'joint_limits.panda_jiont1.velocity': "did you mean 'joint_limits.panda_joint1.velocity'?",
        'joint_limits.elbow.velocity': "no joint 'elbow'; there are panda_joint1, ",
        'rtae': "did you mean 'rate'?",
        'foo': "there is no parameter 'foo'",
    }
    with panda_world() as node:
        node.more_states(1)
        for name, said in known.items():
            result = node.set_parameters(**{name: 0.1}, position_tolerance=1e-3)
            assert not result.successful
            assert f'there is no parameter {name!r}' in result.reason
            assert said in result.reason
            request = SetParameters.Request(
                parameters=[Parameter(name, value=1).to_parameter_msg()]
            )
            (answer,) = node.call(SetParameters, 'ik_node/set_parameters', request).results
            assert not answer.successful
            assert said in answer.reason
        assert node.ik_node.get_parameter('position_tolerance').value == 1e-5
        assert node.set_parameters(position_tolerance=1e-3).successful


def test_every_solver_can_be_chosen_on_the_way():
    """Each takes over the arm where the one before left it, and goes on."""
    robot, rng = load('panda'), np.random.default_rng(12)
    with panda_world() as node:
        node.more_states(1)
        for solver in [*ik.SOLVERS, 'levenberg_marquardt']:
            q = np.array(node.states[-1].position[: robot.n])
            q[:7] = np.clip(q[:7] + rng.uniform(-0.1, 0.1, 7), robot.lower[:7], robot.upper[:7])
            node.send_goal(robot.forward_kinematics(q, TIP))
            assert node.set_parameters(solver=solver).successful
            node.more_states(50)
        until_at(node, robot, robot.forward_kinematics(q, TIP))
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_position_limit_that_is_tightened_moves_the_joint_inside():
    robot = load('panda')
    with panda_world() as node:
        start = node.more_states(1)[-1].position[0]
        assert node.set_parameters(joint_limits__panda_joint1__lower=start + 0.5).successful
        node.send_goal(reachable_goal(robot, TIP, 10))
        node.until(lambda: node.states[-1].position[0] >= start + 0.5 - 1e-9, 'inside')
        inside = node.more_states(100)
        assert min(state.position[0] for state in inside) >= start + 0.5 - 1e-9
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_set_with_one_wrong_value_changes_nothing():
    with panda_world() as node:
        node.more_states(1)
        result = node.set_parameters(goal_timeout=5.0, solver='magic')
        assert not result.successful
        assert 'levenberg_marquardt' in result.reason
        assert node.ik_node.get_parameter('goal_timeout').value == 0.0
