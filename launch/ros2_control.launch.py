# SPDX-License-Identifier: Apache-2.0
"""ik_node for ros2_control: `ros2 launch ik_node ros2_control.launch.py urdf:=my_robot.urdf`.

ik_node publishes joint trajectories to a JointTrajectoryController and starts at the measured
joint_states. By default the hardware is a mock that follows every command: try a robot this way
first. `hardware:=urdf` runs the hardware of the URDF's <ros2_control> element,
`hardware:=running` starts ik_node alone, for a controller_manager that runs already.
"""

from __future__ import annotations

import atexit
import os
import runpy
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import yaml
from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, SetParameter, SetRemap

from ik_core import Robot, load_robot

SHARE = Path(get_package_share_directory('ik_node'))
IK_LAUNCH = SHARE / 'launch' / 'ik.launch.py'
CONTROLLERS = SHARE / 'config' / 'ros2_control.yaml'
HARDWARE = ('mock', 'urdf', 'running')
PLUGIN = 'mock_components/GenericSystem'

ARGUMENTS = [
    ('urdf', 'panda', 'robot: a .urdf or .xacro file, or the name of a robot'),
    ('hardware', 'mock', 'mock; urdf: that of the URDF; running: it runs already'),
    ('controller', 'joint_trajectory_controller', 'name of the JointTrajectoryController'),
]
OWN = ('urdf', 'robot_state_publisher')  # arguments of ik.launch.py that this file sets
PASSED_ON = [each for each in runpy.run_path(str(IK_LAUNCH))['ARGUMENTS'] if each[0] not in OWN]


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and actions."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, default, text in [*ARGUMENTS, *PASSED_ON]
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=robot_and_node)])


def robot_and_node(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Start the robot, unless it runs already, and ik_node."""
    names = [name for name, _, _ in [*ARGUMENTS, *PASSED_ON]]
    given = {name: LaunchConfiguration(name).perform(context).strip() for name in names}
    hardware, controller = given['hardware'], given['controller']
    if hardware not in HARDWARE:
        raise ValueError(f'hardware:={hardware}: one of {", ".join(HARDWARE)} is needed')
    if given['namespace'] and hardware != 'running':
        raise ValueError(
            f'namespace:={given["namespace"]}: hardware:=running is needed, with controllers in '
            'that namespace'
        )
    ik_launch = SimpleNamespace(**runpy.run_path(str(IK_LAUNCH)))
    text = ik_launch.robot_description(given, context)
    robot = load_robot(text, joint_limits=given['joint_limits'] or None)
    joints = moved_joints(robot, given)
    if hardware == 'running':
        return [ik_node(given, joints, publishes_robot='false')]
    require_controller_manager()
    if hardware == 'mock':
        text = with_mock_hardware(text, robot)
    given |= {'urdf': temporary_file('robot.urdf', text), 'xacro_args': ''}
    return [*controllers(controller, joints), ik_node(given, joints, publishes_robot='true')]


def moved_joints(robot: Robot, given: dict[str, str]) -> list[str]:
    """Return the joints that the goals move: those between base_link and the tips."""
    tips = [name.strip() for name in given['tip_links'].split(',') if name.strip()]
    moving = {i for tip in tips or [robot.default_tip()] for i in robot.chain(tip)}
    moving -= set(robot.chain(given['base_link'] or robot.base_link))
    return [robot.joint_names[i] for i in sorted(moving)]


def require_controller_manager() -> None:
    """Raise an error that names a missing package."""
    try:
        get_package_prefix('controller_manager')
    except PackageNotFoundError as error:
        distro = os.environ.get('ROS_DISTRO', '<distro>')
        raise RuntimeError(
            'controller_manager is not installed: '
            f'sudo apt install ros-{distro}-ros2-control ros-{distro}-ros2-controllers '
            '(hardware:=running does not need it)'
        ) from error


def with_mock_hardware(text: str, robot: Robot) -> str:
    """Return the URDF with mock hardware, whose joints start in the middle of their limits."""
    urdf = ElementTree.fromstring(text)
    if urdf.find('ros2_control') is not None:
        raise ValueError('the URDF has a <ros2_control> of its own: hardware:=urdf uses it')
    system = ElementTree.SubElement(urdf, 'ros2_control', name='mock', type='system')
    hardware = ElementTree.SubElement(system, 'hardware')
    ElementTree.SubElement(hardware, 'plugin').text = PLUGIN
    ElementTree.SubElement(hardware, 'param', name='calculate_dynamics').text = 'true'
    middle = robot.middle_configuration.tolist()
    for name, position in zip(robot.joint_names, middle, strict=True):
        joint = ElementTree.SubElement(system, 'joint', name=name)
        ElementTree.SubElement(joint, 'command_interface', name='position')
        state = ElementTree.SubElement(joint, 'state_interface', name='position')
        ElementTree.SubElement(state, 'param', name='initial_value').text = repr(position)
        ElementTree.SubElement(joint, 'state_interface', name='velocity')
    return ElementTree.tostring(urdf, encoding='unicode')


def controllers(controller: str, joints: list[str]) -> list[LaunchDescriptionEntity]:
    """Start the controller_manager with a state broadcaster and the controller."""
    values = yaml.safe_load(CONTROLLERS.read_text(encoding='utf-8'))
    own = values.pop('joint_trajectory_controller')
    own['ros__parameters']['joints'] = joints
    manager = values['controller_manager']['ros__parameters']
    manager[controller] = manager.pop('joint_trajectory_controller')
    values[controller] = own
    file = temporary_file('controllers.yaml', yaml.safe_dump(values))
    return [
        Node(
            package='controller_manager',
            executable='ros2_control_node',
            parameters=[file],
            remappings=[('~/robot_description', 'robot_description')],
            output='screen',
        ),
        spawner('joint_state_broadcaster'),
        spawner(controller, '--param-file', file),
    ]


def spawner(*arguments: str) -> Node:
    """Load and start a controller."""
    return Node(package='controller_manager', executable='spawner', arguments=arguments)


def ik_node(
    given: dict[str, str], joints: list[str], publishes_robot: str
) -> LaunchDescriptionEntity:
    """Start ik_node for the controller."""
    passed_on = {name: given[name] for name, _, _ in PASSED_ON}
    topic = f'{given["controller"]}/joint_trajectory'
    return GroupAction(
        [
            SetRemap('joint_trajectory', topic),
            SetParameter('output', 'joint_trajectory'),
            SetParameter('command_joints', ','.join(joints)),  # a list would not survive it
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(IK_LAUNCH)),
                launch_arguments={
                    'urdf': given['urdf'],
                    'robot_state_publisher': publishes_robot,
                    **passed_on,
                }.items(),
            ),
        ]
    )


def temporary_file(name: str, text: str) -> str:
    """Write a file for the started processes; it is removed when the launch ends."""
    folder = tempfile.mkdtemp(prefix='ik_node_')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / name
    path.write_text(text, encoding='utf-8')
    return str(path)
