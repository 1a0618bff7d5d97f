# SPDX-License-Identifier: Apache-2.0
"""Start ik_node for a robot: `ros2 launch ik_node ik.launch.py urdf:=my_robot.urdf`.

`ros2 launch ik_node ik.launch.py --show-args` lists the arguments. An empty argument is not passed
on: the value of params_file or the node's default applies.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from xml.etree import ElementTree

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import Command, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ik_core.robot.shipped import robot_path

SHARE = Path(get_package_share_directory('ik_node'))

ROBOTS = 'a .urdf or .xacro file, or the name of a shipped or installed robot'

ARGUMENTS = [
    ('urdf', '', f'robot: {ROBOTS}; empty: from params_file or the topic robot_description'),
    ('xacro_args', '', "arguments of a xacro file: 'name:=value other:=value'"),
    ('joint_limits', '', 'joint_limits.yaml of MoveIt or ros2_control, to tighten limits'),
    ('base_link', '', 'fixed link in whose frame goals without a frame are given'),
    ('frame_prefix', '', 'before the names of frames: left/, if others use the same names'),
    ('tip_links', '', 'links that follow goals, with commas between them'),
    ('avoid', '', 'self: the links keep clear of one another; world: and of obstacles; none'),
    ('world_file', '', 'YAML file with obstacles, for avoid: world'),
    ('solver', '', 'name of the solver'),
    ('rate', '', 'joint states per second'),
    ('example', '', 'motion of the robot, .csv or .npz, in whose style goals are followed'),
    ('params_file', str(SHARE / 'config' / 'ik_node.yaml'), 'YAML file of ik_node parameters'),
    ('namespace', '', 'namespace of all nodes'),
    ('use_sim_time', '', 'true: follow the topic /clock'),
    ('robot_state_publisher', 'true', 'true: publish the transforms of the links; needs urdf'),
    ('rviz', 'false', 'true: open RViz'),
    ('rviz_config', str(SHARE / 'config' / 'demo.rviz'), 'RViz configuration file'),
]


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and actions."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=nodes)])


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Start the nodes that the arguments select."""
    given = {name: LaunchConfiguration(name).perform(context).strip() for name, _, _ in ARGUMENTS}
    description = robot_description(given, context) if given['urdf'] else ''
    wanted: list[LaunchDescriptionEntity] = []
    if description and is_true(given, 'robot_state_publisher'):
        wanted.append(robot_state_publisher(given, description))
    if is_true(given, 'rviz'):
        wanted.append(rviz(given, description))
    return [*wanted, ik_node(given, description)]  # last, after the others could be started


def robot_description(given: dict[str, str], context: LaunchContext) -> str:
    """Return the text of a URDF file, of a xacro file once expanded, or of a robot by its name."""
    path = robot_file(given)
    if path.suffix == '.xacro':
        command = shlex.join(['xacro', str(path), *shlex.split(given['xacro_args'])])
        return Command([command]).perform(context)
    if given['xacro_args']:
        raise ValueError(f'xacro_args:={given["xacro_args"]}: {path.name} is not a .xacro file')
    return path.read_text(encoding='utf-8')


def robot_file(given: dict[str, str]) -> Path:
    """Return the file that the argument urdf names, or that of the robot of this name."""
    path = robot_path(str(Path(given['urdf']).expanduser()))
    if not path.is_file():
        raise FileNotFoundError(f'urdf:={given["urdf"]} is neither a file nor the name of a robot')
    return path


def ik_node(given: dict[str, str], description: str) -> Node:
    """Start ik_node, which configures and activates itself."""
    parameters: list[str | dict] = []
    if given['params_file']:
        if not Path(given['params_file']).is_file():
            raise FileNotFoundError(f'params_file:={given["params_file"]} does not exist')
        parameters.append(given['params_file'])
    parameters += overrides(given, description)
    return Node(
        package='ik_node',
        executable='ik_node',
        name='ik_node',
        namespace=given['namespace'],
        parameters=parameters,
        output='screen',
        emulate_tty=True,
    )


def overrides(given: dict[str, str], description: str) -> list[dict[str, object]]:
    """Return the parameters that the arguments set, and no others."""
    values: dict[str, object] = {
        name: ParameterValue(given[name], value_type=str)
        for name in ('base_link', 'frame_prefix', 'tip_links', 'avoid', 'world_file', 'solver')
        if given[name]
    }
    if given['example']:
        values['example.file'] = ParameterValue(given['example'], value_type=str)
    if given['joint_limits']:
        path = Path(given['joint_limits']).expanduser().resolve()
        if not path.is_file():
            raise FileNotFoundError(f'joint_limits:={given["joint_limits"]} does not exist')
        values['joint_limits_path'] = ParameterValue(str(path), value_type=str)
    if given['rate']:
        values['rate'] = number(given, 'rate')
    if description:
        values |= {k: ParameterValue(v, value_type=str) for k, v in robot(given, description)}
    return ([values] if values else []) + sim_time(given)


def robot(given: dict[str, str], description: str) -> list[tuple[str, str]]:
    """Return the parameters of the robot: its file, or the text where the file is no URDF yet.

    `ros2 param load` can't read a text of many lines back that `ros2 param dump` wrote.
    """
    path = robot_file(given)
    if path.suffix == '.xacro':
        return [('robot_description', description)]
    return [('robot_description', ''), ('urdf_path', str(path.resolve()))]


def robot_state_publisher(given: dict[str, str], description: str) -> Node:
    """Start the node that turns joint states into transforms."""
    text = ParameterValue(description, value_type=str)
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        namespace=given['namespace'],
        parameters=[{'robot_description': text, **frame_prefix(given)}, *sim_time(given)],
        output='screen',
    )


def rviz(given: dict[str, str], description: str) -> Node:
    """Start RViz; its configuration has relative topics, which the namespace applies to."""
    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError:
        distro = os.environ.get('ROS_DISTRO', '<distro>')
        raise RuntimeError(
            f'rviz:=true: rviz2 is not installed: sudo apt install ros-{distro}-rviz2'
        ) from None
    link = given['base_link'] or root_link(description)
    frame = given['frame_prefix'] + link if link else ''
    return Node(
        package='rviz2',
        executable='rviz2',
        namespace=given['namespace'],
        arguments=['-d', given['rviz_config'], *(['-f', frame] if frame else [])],
        parameters=sim_time(given),
        output='log',
    )


def root_link(description: str) -> str:
    """Return the root link of a URDF; empty if there is not exactly one."""
    try:
        robot = ElementTree.fromstring(description)
    except ElementTree.ParseError:
        return ''  # ik_node reports what is wrong with it
    children = {child.get('link') for child in robot.iterfind('joint/child')}
    roots = [name for link in robot.iterfind('link') if (name := link.get('name')) not in children]
    return roots[0] if len(roots) == 1 and roots[0] else ''


def frame_prefix(given: dict[str, str]) -> dict[str, object]:
    """Return the parameter frame_prefix, if it was given."""
    prefix = given['frame_prefix']
    return {'frame_prefix': ParameterValue(prefix, value_type=str)} if prefix else {}


def sim_time(given: dict[str, str]) -> list[dict[str, object]]:
    """Return the parameter use_sim_time, if it was given."""
    return [{'use_sim_time': is_true(given, 'use_sim_time')}] if given['use_sim_time'] else []


def is_true(given: dict[str, str], name: str) -> bool:
    """Read a boolean argument."""
    text = given[name].lower()
    if text not in ('true', 'false', '1', '0', ''):
        raise ValueError(f'{name}:={given[name]}: true or false is needed')
    return text in ('true', '1')


def number(given: dict[str, str], name: str) -> float:
    """Read a number."""
    try:
        return float(given[name])
    except ValueError as error:
        raise ValueError(f'{name}:={given[name]}: a number is needed') from error
