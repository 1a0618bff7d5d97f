# SPDX-License-Identifier: Apache-2.0
"""The Panda follows goals in the style of a demonstration, which has the elbow out to one side.

    ros2 launch ik_node example_guided.launch.py

It also takes arguments of ik.launch.py: `urdf`, `base_link`, `tip_links` and `example` for your
own robot and motion, with `goals:=false`, since the published goals are for the Panda.
"""

import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

SHARE = Path(get_package_share_directory('ik_node'))
EXAMPLE = SHARE / 'config' / 'panda_elbow_out.csv'
DEFAULTS = {'urdf': 'panda', 'base_link': 'panda_link0', 'tip_links': 'panda_hand_tcp'}


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and actions."""
    arguments = {**DEFAULTS, 'example': str(EXAMPLE), 'rviz': 'true', 'namespace': ''}
    return LaunchDescription(
        [
            *(DeclareLaunchArgument(name, default_value=text) for name, text in arguments.items()),
            DeclareLaunchArgument('goals', default_value='true', description='true: send goals'),
            OpaqueFunction(function=check),  # first, before any process is started
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'ik.launch.py')),
                launch_arguments={n: LaunchConfiguration(n) for n in arguments}.items(),
            ),
            OpaqueFunction(
                function=send_goals, condition=IfCondition(LaunchConfiguration('goals'))
            ),
        ]
    )


def check(context: LaunchContext) -> None:
    """Refuse arguments that make no sense."""
    goals = LaunchConfiguration('goals').perform(context)
    if goals.strip().lower() not in ('true', 'false', '1', '0'):
        raise ValueError(f'goals:={goals}: true or false is needed')


def send_goals(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Send goals along a circle."""
    namespace = LaunchConfiguration('namespace').perform(context).strip('/')
    topic = f'/{namespace}/goal_pose' if namespace else '/goal_pose'
    command = [sys.executable, '-m', 'ik_node.tools.elbow_out', '--publish', topic]
    return [ExecuteProcess(name='goals', cmd=command, output='log')]
