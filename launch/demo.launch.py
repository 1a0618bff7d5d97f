# SPDX-License-Identifier: Apache-2.0
"""The Panda in RViz moves from goal to goal: `ros2 launch ik_node demo.launch.py`.

It also takes the arguments of ik.launch.py, but for those of the robot, which is the Panda.
`ros2 topic pub` publishes the goals, as in a shell; with `goals:=false` the arm waits for yours.
"""

import math
import os
from pathlib import Path

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

SHARE = Path(get_package_share_directory('ik_node'))
IK_LAUNCH, WORLD = SHARE / 'launch' / 'ik.launch.py', SHARE / 'config' / 'demo_world.yaml'
FRAME, TIP = 'panda_link0', 'panda_hand_tcp'
ROBOT = {'urdf': 'panda', 'base_link': FRAME, 'tip_links': TIP}

# Position [m] and quaternion (x, y, z, w); the last one is out of reach.
GOALS = [
    ((0.45, 0.0, 0.45), (1.0, 0.0, 0.0, 0.0)),
    ((0.2, 0.45, 0.35), (1.0, 0.0, 0.0, 0.0)),
    ((0.25, -0.45, 0.6), (0.707, 0.0, 0.707, 0.0)),
    ((0.5, 0.1, 0.2), (0.924, 0.383, 0.0, 0.0)),
    ((1.5, 0.0, 0.6), (0.707, 0.0, 0.707, 0.0)),
]


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and actions."""
    return LaunchDescription(
        [
            DeclareLaunchArgument('rviz', default_value='true', description='true: open RViz'),
            DeclareLaunchArgument('goals', default_value='true', description='true: send goals'),
            DeclareLaunchArgument(
                'avoid', default_value='world', description='none: do not check for collisions'
            ),
            DeclareLaunchArgument(
                'world_file', default_value=str(WORLD), description='YAML file with obstacles'
            ),
            DeclareLaunchArgument('pause', default_value='3.0', description='[s] between goals'),
            OpaqueFunction(function=check),  # first, before any process is started
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(IK_LAUNCH)), launch_arguments=ROBOT.items()
            ),
            OpaqueFunction(
                function=send_goal, args=[0], condition=IfCondition(LaunchConfiguration('goals'))
            ),
        ]
    )


def check(context: LaunchContext) -> None:
    """Refuse arguments that make no sense."""
    for name in ROBOT:
        if context.launch_configurations.get(name):
            raise ValueError(f'{name}: the demo moves the Panda; ik.launch.py takes any robot')
    goals, pause = (LaunchConfiguration(name).perform(context) for name in ('goals', 'pause'))
    if goals.strip().lower() not in ('true', 'false', '1', '0'):
        raise ValueError(f'goals:={goals}: true or false is needed')
    if goals.strip().lower() in ('true', '1'):
        try:
            get_package_prefix('ros2topic')
        except PackageNotFoundError:
            distro = os.environ.get('ROS_DISTRO', '<distro>')
            raise RuntimeError(
                'ros2topic, which sends the goals, is not installed: '
                f'sudo apt install ros-{distro}-ros2topic, or goals:=false'
            ) from None
    try:
        is_time = 0.0 <= float(pause) < math.inf
    except ValueError:
        is_time = False
    if not is_time:
        raise ValueError(f'pause:={pause}: a number of seconds is needed')


def send_goal(context: LaunchContext, number: int) -> list[LaunchDescriptionEntity]:
    """Send a goal once ik_node has subscribed, and after a pause the next one."""
    namespace = LaunchConfiguration('namespace').perform(context).strip('/')
    topic = f'/{namespace}/goal_pose' if namespace else '/goal_pose'
    # The publisher waits until it has matched, not until ik_node has: a first message may be lost.
    publish_thrice = ['ros2', 'topic', 'pub', '--times', '3', '--rate', '2']
    publish_thrice += ['--wait-matching-subscriptions', '1']
    goal = ['geometry_msgs/msg/PoseStamped', message(*GOALS[number % len(GOALS)])]
    publish = ExecuteProcess(name='goal', cmd=[*publish_thrice, topic, *goal], output='log')
    after_it = OpaqueFunction(function=send_goal, args=[number + 1])
    pause = TimerAction(period=LaunchConfiguration('pause'), actions=[after_it])
    return [RegisterEventHandler(OnProcessExit(target_action=publish, on_exit=[pause])), publish]


def message(position: tuple[float, ...], quaternion: tuple[float, ...]) -> str:
    """Return a PoseStamped as `ros2 topic pub` reads it."""
    x, y, z = position
    qx, qy, qz, qw = quaternion
    pose = (
        f'position: {{x: {x}, y: {y}, z: {z}}}, '
        f'orientation: {{x: {qx}, y: {qy}, z: {qz}, w: {qw}}}'
    )
    return f'{{header: {{frame_id: {FRAME}}}, pose: {{{pose}}}}}'
