# SPDX-License-Identifier: Apache-2.0
"""Start ik_node and show it in the browser: `ros2 launch ik_node viewer.launch.py urdf:=panda`.

It also takes the arguments of ik.launch.py; `rviz:=true` also opens RViz. It needs viser, which
has no rosdep key: see docs/viewer.md for its installation. For a node that runs already:
`ros2 run ik_node ik_viewer`.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from ik_core.meshes import package_of
from ik_core.robot.shipped import robot_path

IK_LAUNCH = Path(get_package_share_directory('ik_node')) / 'launch' / 'ik.launch.py'
ARGUMENTS = [
    ('host', '127.0.0.1', 'address that serves the page; 0.0.0.0: also to other machines'),
    ('port', '', 'port of the page; empty: the first free one from 8080 on'),
    (
        'mesh_folders',
        '',
        'folders with meshes, besides the package of urdf, with blanks between',
    ),
]


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and actions."""
    return LaunchDescription(
        [
            *(DeclareLaunchArgument(n, default_value=v, description=d) for n, v, d in ARGUMENTS),
            OpaqueFunction(function=check),  # first, before any process is started
            IncludeLaunchDescription(PythonLaunchDescriptionSource(str(IK_LAUNCH))),
            OpaqueFunction(function=viewer),
        ]
    )


def check(context: LaunchContext) -> None:
    """Refuse arguments that make no sense."""
    port = LaunchConfiguration('port').perform(context)
    if port and not (port.isdecimal() and 0 < int(port) < 65536):
        raise ValueError(f'port:={port}: a number up to 65535 is needed')
    folders = LaunchConfiguration('mesh_folders').perform(context)
    try:
        shlex.split(folders)
    except ValueError as error:
        raise ValueError(f'mesh_folders:={folders}: {error}') from error


def viewer(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Start the page, in the namespace of the node."""
    given = {n: LaunchConfiguration(n).perform(context) for n, _, _ in ARGUMENTS}
    folders = shlex.split(given['mesh_folders'])
    urdf = LaunchConfiguration('urdf').perform(context).strip()
    if urdf:
        folders += map(str, package_of(robot_path(str(Path(urdf).expanduser()))))
    return [
        Node(
            package='ik_node',
            executable='ik_viewer',
            name='ik_viewer',
            namespace=LaunchConfiguration('namespace'),
            arguments=[
                *('--host', given['host']),
                *(('--port', given['port']) if given['port'] else ()),
                *(part for folder in folders for part in ('--mesh-folder', folder)),
            ],
            output='screen',
        )
    ]
