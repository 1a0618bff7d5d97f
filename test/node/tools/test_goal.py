# SPDX-License-Identifier: Apache-2.0
"""`ik goal` moves a running node, and its exit code says how that ended."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from support.children import lines_until, supervised
from support.node_harness import DOMAIN, PATIENCE, load, unique_namespace, world
from support.panda_world import TIP, is_at
from support.places import ROOT, URDF
from support.robots import python_path
from support.slide import slide

from ik_core.cli.main import main
from ik_core.cli.parser import UsageError
from ik_core.maths.rotations import matrix_from_rpy
from ik_node.tools.goal import Client, choose

DOWN = '--rpy', '3.14159265', '0', '0'
REACHED = 'the goal is reached'
INHERITED = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}


@pytest.fixture
def goal(monkeypatch, capsys):
    """Run `ik goal` for a node; the exit code, the lines that it prints, and its error."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))

    def run(node, *arguments):
        given = ['goal', *arguments, '--namespace', node.namespace, '--wait', str(PATIENCE)]
        code = main(given)
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    return run


def pose(xyz, rpy):
    """The transform (4, 4) of a goal."""
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = matrix_from_rpy(rpy), xyz
    return transform


def position(node, joint=0):
    """The commanded position of a joint, from now on."""
    return node.more_states(1)[-1].position[joint]


def test_pose_is_reached_also_if_the_tip_is_there_already(goal, panda, robot):
    for _ in range(2):
        code, lines, error = goal(panda, TIP, '--xyz', '0.4', '-0.1', '0.5', *DOWN)
        assert (code, lines[-1], error) == (0, REACHED, '')
        assert is_at(robot, panda.more_states(1)[-1], pose([0.4, -0.1, 0.5], [np.pi, 0, 0]))


def test_pose_out_of_reach_is_not_taken_for_the_goal_before_it(goal, panda):
    assert goal(panda, '--xyz', '0.4', '0', '0.5', *DOWN)[0] == 0
    code, lines, _ = goal(panda, '--xyz', '1.4', '0', '0.5', *DOWN)
    assert code == 1
    assert lines[-1].startswith('not reached: ')
    assert 'to go' in lines[-1]
    assert 'out of reach for certain' in lines[-1]  # so the search for another one has ended


def test_position_alone_keeps_the_orientation_of_the_tool_and_the_other_way_round(goal):
    """The base frame is turned against the root, and the tool against the tip."""
    tool = pose([0.0, 0.1, 0.2], [0.3, 0.0, 0.5])
    start = {'tools__tool0__xyz': [0.0, 0.1, 0.2], 'tools__tool0__rpy': [0.3, 0.0, 0.5]}
    turn = pose([0, 0, 0], [0.0, 0.0, np.pi])
    robot = load('ur5e')
    assert np.allclose(robot.forward_kinematics(robot.middle_configuration, 'base'), turn)
    with world(urdf_path=str(URDF / 'ur5e.urdf'), base_link='base', **start) as node:
        assert goal(node, '--xyz', '0.3', '0.2', '0.4', *DOWN)[0] == 0
        assert goal(node, 'tool0', '--xyz', '0.3', '0.3', '0.4')[0] == 0
        reached = turn @ pose([0.3, 0.3, 0.4], [np.pi, 0, 0]) @ np.linalg.inv(tool)
        assert is_at(robot, node.more_states(1)[-1], reached, 'tool0')
        assert goal(node, '--rpy', '180', '0', '30', '--degrees')[0] == 0
        reached = turn @ pose([0.3, 0.3, 0.4], [np.pi, 0, np.pi / 6]) @ np.linalg.inv(tool)
        assert is_at(robot, node.more_states(1)[-1], reached, 'tool0')


def test_joints_go_to_positions_by_name_and_home(goal, panda, robot):
    home = panda.states[-1].position
    given = 'panda_joint1=30', 'panda_joint4=-90', 'panda_finger_joint1=0.02', '--degrees'
    code, lines, _ = goal(panda, '--joints', *given)
    assert (code, lines[-1]) == (0, REACHED)
    state = panda.more_states(1)[-1]
    at = dict(zip(state.name, state.position, strict=True))
    assert at['panda_joint1'] == pytest.approx(np.pi / 6)
    assert at['panda_joint4'] == pytest.approx(-np.pi / 2)
    assert at['panda_finger_joint1'] == pytest.approx(0.02)
    assert at['panda_joint2'] == home[1]
    assert goal(panda, '--home')[0] == 0
    assert panda.more_states(1)[-1].position == home
    numbers = [f'{value - 0.01}' for value in home[: robot.n]]
    assert goal(panda, '--joints', *numbers)[0] == 0
    assert np.allclose(panda.more_states(1)[-1].position[: robot.n], np.array(numbers, float))


def test_refused_goal_moves_nothing_and_the_error_says_why(goal, panda):
    code, lines, error = goal(panda, '--joints', 'panda_joint1=3')
    assert (code, lines) == (2, [])
    assert 'panda_joint1 = 3 rad is outside its limits [-2.897, 2.897]' in error
    assert goal(panda, '--joints', 'panda_joint1=0.1')[0] == 0  # counted before, not again
    code, _, error = goal(panda, '--xyz', 'nan', '0', '0.5', *DOWN)
    assert code == 2
    assert 'is not finite' in error


def test_unknown_tip_and_joint_are_refused_with_the_names_that_there_are(goal, panda):
    code, _, error = goal(panda, 'panda_hnad', '--xyz', '0.4', '0', '0.5')
    assert code == 2
    assert f"'panda_hnad' is no tip of {panda.namespace}/ik_node: its tips are {TIP}" in error
    code, _, error = goal(panda, '--joints', 'panda_jont1=0.1')
    assert code == 2
    assert 'panda_jont1' in error
    assert 'did you mean' in error


def test_twist_moves_until_its_time_is_over_and_is_1_where_the_way_is_blocked(goal):
    with slide() as node:
        start = position(node)
        code, lines, _ = goal(node, '--twist', '0.2', *'00000', '--seconds', '1')
        assert (code, lines[0]) == (0, 'following twists')
        assert 0.0 < position(node) - start < 0.5
        assert goal(node, '--joints', 'x=0.99')[0] == 0
        code, lines, _ = goal(node, 'carriage', '--twist', '0.2', *'00000', '--seconds', '5')
        assert code == 1
        assert position(node) == pytest.approx(1.0, abs=1e-3)
        assert node.more_states(1)[-1].velocity[0] == 0.0


def test_pause_keeps_goals_until_resumed(goal):
    with slide() as node:
        assert goal(node, '--pause') == (0, ['paused'], '')
        before = position(node)
        code, lines, _ = goal(node, '--joints', 'x=0.5')
        assert (code, lines) == (1, ['paused: stopped, the goals are kept'])
        assert position(node) == before
        assert goal(node, '--resume') == (0, ['resumed'], '')
        node.until(lambda: node.states[-1].position[0] == pytest.approx(0.5), 'the goal')


@contextmanager
def process(node, *arguments):
    """`ik goal` for a node, as a process."""
    namespace = '--namespace', node.namespace, '--wait', str(PATIENCE)
    with supervised(
        subprocess.Popen(
            [sys.executable, '-u', '-m', 'ik_core', 'goal', *arguments, *namespace],
            env=INHERITED | {'ROS_DOMAIN_ID': str(DOMAIN), 'PYTHONPATH': python_path(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    ) as started:
        yield started


def test_ctrl_c_stops_the_robot_and_drops_the_goal():
    with slide(joint_limits__x__velocity=0.01) as node:  # the way would take 100 s
        with process(node, '--joints', 'x=1') as ik_goal:
            lines = iter(ik_goal.stdout.readline, '')
            lines_until('moving to the goal', lines)
            node.until_moving()
            ik_goal.send_signal(signal.SIGINT)
            lines_until('at rest; the goals are dropped', lines)
            assert ik_goal.wait(PATIENCE) == 130
        node.until_code('idle')
        assert node.more_states(1)[-1].velocity[0] == 0.0
        assert position(node) < 0.99


def test_node_that_is_deactivated_meanwhile_ends_it():
    slow = {'joint_limits__x__velocity': 0.01}
    with slide(**slow) as node, process(node, '--joints', 'x=1') as ik_goal:
        lines = iter(ik_goal.stdout.readline, '')
        lines_until('moving to the goal', lines)
        node.transition(Transition.TRANSITION_DEACTIVATE)
        lines_until('not active', lines)
        assert ik_goal.wait(PATIENCE) == 1


def test_no_node_is_an_error_that_names_domain_and_namespace(monkeypatch, capsys):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    namespace = unique_namespace()
    assert main(['goal', '--home', '--namespace', namespace, '--wait', '0.2']) == 2
    error = capsys.readouterr().err
    assert f'no ik_node was found in the namespace {namespace} with ROS_DOMAIN_ID' in error
    assert f'ROS_DOMAIN_ID={DOMAIN}' in error


def test_node_that_takes_no_goals_is_an_error_with_its_status(monkeypatch, capsys):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    with world(urdf_path='') as node:
        node.until_code('no_model')
        given = ['--namespace', node.namespace, '--wait', '10']
        assert main(['goal', '--home', *given]) == 2
    error = capsys.readouterr().err
    assert f'{node.namespace}/ik_node takes no goals after 10 s: ' in error
    assert 'waiting for a robot on the topic robot_description' in error


@pytest.mark.parametrize(
    ('names', 'namespace', 'chosen'),
    [
        (['/ik_node'], None, '/ik_node'),
        (['/left/ik_node'], None, '/left/ik_node'),
        (['/left/ik_node', '/right/ik_node'], 'right', '/right/ik_node'),
        (['/left/ik_node', '/right/ik_node'], '/left/', '/left/ik_node'),
        (['/ik_node', '/left/ik_node'], '/', '/ik_node'),
        (['/ik_node', '/left/arm/ik_node'], 'left/arm', '/left/arm/ik_node'),
    ],
)
def test_node_is_chosen_by_its_namespace(names, namespace, chosen):
    assert choose(names, namespace, 0) == chosen


@pytest.mark.parametrize(
    ('names', 'namespace', 'said'),
    [
        ([], None, 'no ik_node was found with ROS_DOMAIN_ID=7: start one'),
        (['/left/ik_node'], 'right', 'in the namespace /right with ROS_DOMAIN_ID=7 (found: /left'),
        (['/left/ik_node'], '/', 'in the namespace / with'),
        (['/left/ik_node', '/right/ik_node'], None, 'choose one by its --namespace'),
        (['/ik_node', '/ik_node'], None, 'two in one namespace would both follow the goal'),
        (['/a/ik', '/a/ik_node', '/ik_node'], 'a', '2 nodes were found with ROS_DOMAIN_ID=7'),
    ],
)
def test_none_and_several_nodes_are_refused(names, namespace, said):
    with pytest.raises(UsageError) as caught:
        choose(names, namespace, 7)
    assert said in str(caught.value)


def test_all_nodes_of_a_domain_are_found():
    with slide() as node, slide() as other:
        client = Client(node.context, PATIENCE)
        try:
            names = {f'{each.namespace}/ik_node' for each in (node, other)}
            client.spin_until(lambda: names <= set(client.names()))
            assert len(client.names()) == len(set(client.names()))
        finally:
            client.close()
