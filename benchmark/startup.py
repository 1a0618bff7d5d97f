# SPDX-License-Identifier: Apache-2.0
"""`ik bench startup`: the time from the start of a process to its first answer.

Each row has the fastest of some starts, by the clock and in processor time, which other work
lengthens less. Loading the library, or compiling by numba, is part of both. Nodes are timed until
their first joint state arrives; their late ticks are counted in the first second at 1 kHz, in
which a goal arrives. If ROS's launch is installed, two launch files are started: ours, and one
with nothing but the node.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from ik_core import SOLVERS
from ik_core.progress import bar
from ik_core.shared_files import shared_file

from .results import Row

STARTS = 3
PATIENCE = 120.0
RATE = 1000.0

PROBLEM = """
import ik_core as ik
robot = ik.load_robot('panda')
pose = robot.forward_kinematics([0.3, -0.2, 0.1, -2.0, 0.2, 2.0, 0.5, 0.0], 'panda_hand')
problem = ik.IkProblem(robot, [ik.PoseTask('panda_hand', transform=pose)])
"""
ALL = 'ik.solve_all(ik.IkProblem(robot, problem.goals, frozen_joints=["panda_joint3"]))'
TICK = """
limits = ik.MotionLimits.of(robot, acceleration=10.0)
tracker = ik.Tracker(problem, 1000.0, limits=limits)
tracker.set_goal(0, pose, 0.0)
tracker.tick(0.0)
"""
PROGRAMS: dict[str, list[str]] = {
    'python': ['-c', 'pass'],
    'import ik_core': ['-c', 'import ik_core'],
    'ik --help': ['-m', 'ik_core', '--help'],
    'completion': ['-m', 'ik_core'],
    'ik solve': ['-m', 'ik_core', 'solve', 'panda', '--xyz', '0.4', '0.0', '0.5'],
    'first solution': ['-c', f'{PROBLEM}assert ik.solve(problem).success'],
    'first batch': ['-c', f'{PROBLEM}ik.solve_batch(problem, [pose] * 100)'],
    'first solve_all': ['-c', f'{PROBLEM}{ALL}'],
    'first tick': ['-c', PROBLEM + TICK],
    **{name: ['-c', f'{PROBLEM}ik.solve(problem, solver={name!r})'] for name in SOLVERS},
}
AIMS = {
    'python': '',
    'import ik_core': 0.25,
    'ik --help': 0.15,
    'completion': 0.15,
    'ik solve': 0.4,
}
FIRST_ANSWER = 1.0
# [s] Targets on a quiet machine; our launch file may add 0.2 s to the bare one.
NODE_STARTS = 1.5

COMPLETION = {
    '_ARGCOMPLETE': '1',
    '_ARGCOMPLETE_STDOUT_FILENAME': os.devnull,
    'COMP_LINE': 'ik so',
    'COMP_POINT': '5',
}
NODE = 'node'
LAUNCHES = {
    'ik.launch.py': [
        'ik_node',
        'ik.launch.py',
        'urdf:=panda',
        'robot_state_publisher:=false',
        f'rate:={RATE}',
    ],
    'the node alone': [],
}
BARE = """
from launch import LaunchDescription
from launch_ros.actions import Node
def generate_launch_description():
    parameters = [{{'urdf_path': {urdf!r}, 'rate': {rate}}}]
    return LaunchDescription([Node(package='ik_node', executable='ik_node', namespace={space!r},
        parameters=parameters)])
"""


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each kind of start; the bare start of Python is the first."""
    names = [*PROGRAMS, *([NODE] if find_spec('rclpy') else [])]
    if find_spec('rclpy') and shutil.which('ros2'):
        names += LAUNCHES
    for name in bar(names, 'startup'):
        starts = [_program(name) if name in PROGRAMS else _node(name) for _ in range(STARTS)]
        yield {key: min(start[key] for start in starts) for key in starts[0]}


def _program(name: str) -> Row:
    """Run a Python program, and return the row of its times."""
    more = COMPLETION if name == 'completion' else {}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *PROGRAMS[name]],
        env={**_environment(), **more},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if more else None,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise RuntimeError(f'{name} ended with {process.returncode}')
    cpu = usage.ru_utime + usage.ru_stime
    aim = AIMS.get(name, FIRST_ANSWER)
    return {'start': name, 's': seconds, 'cpu_s': cpu, 'aim_s': aim, 'late_ticks': ''}


def _node(name: str) -> Row:
    """Start a node or a launch file, send a goal, and return the row after a second of ticks."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import PoseStamped
    from sensor_msgs.msg import JointState

    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('startup', namespace=f'/startup_{os.getpid()}', context=context)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    goals = node.create_publisher(PoseStamped, 'goal_pose', 1)
    came: list[float] = []
    late: list[int] = []

    def take_state(message: JointState) -> None:
        if not came:
            came.extend((time.perf_counter() - started, _processor_time(process.pid)))
            goal = PoseStamped()
            goal.pose.position.x, goal.pose.position.z = 0.4, 0.5
            goal.pose.orientation.x, goal.pose.orientation.w = 1.0, 0.0
            goals.publish(goal)

    def take_diagnostics(message: DiagnosticArray) -> None:
        values = {pair.key: pair.value for pair in message.status[-1].values}
        if int(values.get('ticks', 0)) >= RATE / 2:
            late.append(int(values['late_ticks']))

    node.create_subscription(JointState, 'joint_states', take_state, 1)
    node.create_subscription(DiagnosticArray, '/diagnostics', take_diagnostics, 10)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        process = subprocess.Popen(
            _command(name, node.get_namespace(), Path(folder)),
            env=_environment(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not late and process.poll() is None and time.perf_counter() < started + PATIENCE:
            executor.spin_once(timeout_sec=0.1)
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    if not late:
        raise RuntimeError(f'{name}: no joint states')
    is_node = name == NODE
    return {
        'start': name,
        's': came[0],
        'cpu_s': came[1] if is_node else '',
        'aim_s': NODE_STARTS if is_node else '',
        'late_ticks': late[0],
    }


def _processor_time(pid: int) -> float:
    """Return the processor time of a process [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _command(name: str, space: str, folder: Path) -> list[str]:
    """Return the command that starts a node in a namespace."""
    urdf = str(shared_file('urdf/panda.urdf'))
    if name == NODE:
        given = ['-r', f'__ns:={space}', '-p', f'urdf_path:={urdf}', '-p', f'rate:={RATE}']
        return [sys.executable, '-m', 'ik_node', '--ros-args', *given]
    if LAUNCHES[name]:
        return ['ros2', 'launch', *LAUNCHES[name], f'namespace:={space}']
    bare = folder / 'bare.launch.py'
    bare.write_text(BARE.format(urdf=urdf, rate=RATE, space=space))
    return ['ros2', 'launch', str(bare)]


def _environment() -> dict[str, str]:
    """Return variables for a Python process that imports this package and keeps its caches."""
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get('PYTHONPATH')]))
    kept = {k: v for k, v in os.environ.items() if k != 'PYTHONDONTWRITEBYTECODE'}
    return {**kept, 'PYTHONPATH': path}
