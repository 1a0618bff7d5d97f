# SPDX-License-Identifier: Apache-2.0
"""The launch files, run for real with `ros2 launch`; skipped where launch is not installed."""

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip('launch_ros')
pytest.importorskip('ros2launch')
pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from support.launching import Launch
from support.places import ROOT

DOMAIN = 31
PREFIXES = os.environ.get('AMENT_PREFIX_PATH') or sys.prefix
HAS_STATE_PUBLISHER = any(
    Path(prefix, 'share', 'robot_state_publisher').is_dir()
    for prefix in PREFIXES.split(os.pathsep)
)


def refused(environment, *arguments):
    """Return the output of a launch that must end by itself."""
    with Launch(environment, 'ik.launch.py', *arguments) as launch:
        assert launch.wait() != 0
    return launch.output


QUIET = 'robot_state_publisher:=false'


def test_a_urdf_file_is_enough(environment, listener, namespace):
    urdf = ROOT / 'urdf' / 'ur5e.urdf'
    arguments = (f'urdf:={urdf}', f'namespace:={namespace}', QUIET)
    with Launch(environment, 'ik.launch.py', *arguments) as launch:
        state = listener.hear(f'/{namespace}/joint_states', launch)
        assert len(state.name) == 6
        assert len(state.position) == 6
        names = ('robot_description', 'urdf_path')
        values = listener.parameters(f'/{namespace}/ik_node', *names, launch=launch)
    assert values == ['', str(urdf)], '`ros2 param load` could not read the text back'


def test_arguments_win_over_the_parameter_file_and_what_is_left_empty_does_not(
    environment, listener, namespace, tmp_path
):
    path = tmp_path / 'parameters.yaml'
    path.write_text(
        '/**:\n  ros__parameters:\n    rate: 77.0\n    solver: damped_least_squares\n'
        '    goal_timeout: 3.0\n'
    )
    arguments = (
        'urdf:=ur5e',
        f'namespace:={namespace}',
        'rate:=90',
        f'params_file:={path}',
        QUIET,
    )
    names = ('rate', 'solver', 'goal_timeout')
    with Launch(environment, 'ik.launch.py', *arguments) as launch:
        values = listener.parameters(f'/{namespace}/ik_node', *names, launch=launch)
    assert values == [90.0, 'damped_least_squares', 3.0]


def test_a_goal_in_a_namespace_moves_the_joints(environment, listener, namespace):
    arguments = ('urdf:=panda', f'namespace:={namespace}', 'base_link:=panda_link0', QUIET)
    with Launch(environment, 'ik.launch.py', *arguments) as launch:
        start = listener.hear(f'/{namespace}/joint_states', launch)
        goals = listener.node.create_publisher(PoseStamped, f'/{namespace}/goal_pose', 1)
        listener.until(goals.get_subscription_count, launch)
        goal = PoseStamped()
        goal.header.frame_id = 'panda_link0'
        goal.pose.position.x, goal.pose.position.z = 0.4, 0.4
        goal.pose.orientation.x, goal.pose.orientation.w = 1.0, 0.0
        goals.publish(goal)
        moved = lambda: max(abs(a - b) for a, b in zip(  # noqa: E731
            start.position, listener.states[-1].position, strict=True)) > 0.05  # fmt: skip
        listener.until(moved, launch)
        assert listener.node.count_publishers('/joint_states') == 0


def test_the_frame_prefix_reaches_the_node(environment, listener, namespace):
    arguments = ('urdf:=panda', f'namespace:={namespace}', 'frame_prefix:=left/', QUIET)
    with Launch(environment, 'ik.launch.py', *arguments) as launch:
        values = listener.parameters(f'/{namespace}/ik_node', 'frame_prefix', launch=launch)
    assert values == ['left/']


def test_the_shipped_parameters_limit_the_acceleration(environment, listener, namespace):
    arguments = ('urdf:=panda', f'namespace:={namespace}', QUIET)
    name = 'joint_limits.default.acceleration'
    with Launch(environment, 'ik.launch.py', *arguments) as launch:
        (value,) = listener.parameters(f'/{namespace}/ik_node', name, launch=launch)
    assert 0.0 < value < 100.0


def test_it_ends_cleanly_on_sigint(environment, listener, namespace):
    with Launch(
        environment, 'ik.launch.py', 'urdf:=ur5e', f'namespace:={namespace}', QUIET
    ) as launch:
        listener.hear(f'/{namespace}/joint_states', launch)
    assert 'process has finished cleanly' in launch.output
    assert 'Traceback' not in launch.output


@pytest.mark.parametrize(
    ('arguments', 'complaint'),
    [
        (['urdf:=/nowhere/robot.urdf'], 'urdf:=/nowhere/robot.urdf is neither a file nor'),
        (['urdf:=ur5e', 'rate:=fast', QUIET], 'rate:=fast: a number is needed'),
        (['urdf:=ur5e', 'use_sim_time:=maybe', QUIET], 'use_sim_time:=maybe: true or false'),
        (['urdf:=ur5e', 'params_file:=/nowhere.yaml', QUIET], '/nowhere.yaml does not exist'),
    ],
)
def test_an_argument_that_is_wrong_is_named(environment, arguments, complaint):
    assert complaint in refused(environment, *arguments)


XACRO = """<robot name="xa" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="name" default=""/><xacro:arg name="reach" default="1"/>
<link name="base"/><link name="$(arg name)"/>
<joint name="j" type="revolute"><parent link="base"/><child link="$(arg name)"/>
<origin xyz="$(arg reach) 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>
"""


def test_a_xacro_file_gets_its_arguments(environment, listener, namespace, tmp_path):
    pytest.importorskip('xacro')
    program = tmp_path / 'xacro'
    program.write_text(f'#!{sys.executable}\nimport xacro\nxacro.main()\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), environment['PATH']])
    file = tmp_path / 'robot.urdf.xacro'
    file.write_text(XACRO)
    arguments = [f'urdf:={file}', f'namespace:={namespace}', 'robot_state_publisher:=false']
    given = "xacro_args:=name:='the hand' reach:=0.5"
    with Launch({**environment, 'PATH': path}, 'ik.launch.py', *arguments, given) as launch:
        assert listener.hear(f'{namespace}/joint_states', launch).name == ['j']
        (text,) = listener.parameters(f'{namespace}/ik_node', 'robot_description', launch=launch)
    assert '<link name="the hand"/>' in text
    assert 'xyz="0.5 0 0"' in text


@pytest.mark.skipif(HAS_STATE_PUBLISHER, reason='robot_state_publisher is installed')
def test_without_robot_state_publisher_nothing_is_left_running(environment):
    output = refused(environment, 'urdf:=ur5e')
    assert "package 'robot_state_publisher' not found" in output
    assert 'process started' not in output


@pytest.mark.skipif(not HAS_STATE_PUBLISHER, reason='needs robot_state_publisher')
def test_the_description_is_published(environment, listener, namespace):
    with Launch(environment, 'ik.launch.py', 'urdf:=ur5e', f'namespace:={namespace}') as launch:
        node = f'/{namespace}/robot_state_publisher'
        (text,) = listener.parameters(node, 'robot_description', launch=launch)
    assert text == Path(ROOT / 'urdf' / 'ur5e.urdf').read_text(encoding='utf-8')
