# SPDX-License-Identifier: Apache-2.0
"""`ik_node` as a process: how it starts and ends, and others that publish joint states too."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from support.node_harness import (
    PATIENCE,
    ROOT,
    URDF,
    Client,
    check_states,
    load,
    node_process,
    reachable_goal,
    unique_namespace,
)
from support.robots import python_path

pytestmark = pytest.mark.long
PANDA = [
    '-p',
    f'urdf_path:={URDF / "panda.urdf"}',
    '-p',
    'tip_links:=panda_hand',
    '-p',
    'rate:=100',
]
SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture
def client():
    it = Client(unique_namespace())
    yield it
    it.close()


def wait_for_line(process, text):
    """Read what the process prints until a line has the text."""
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f'the process ended without {text!r}')


def end(process, number):
    """Send a signal; the exit code and what was printed since."""
    process.send_signal(number)
    rest = process.stdout.read()
    return process.wait(PATIENCE), rest


@pytest.mark.parametrize('number', SIGNALS)
def test_a_signal_on_the_way_brings_the_joints_to_rest_first(client, number):
    slow = ['-p', 'joint_limits.default.acceleration:=5.0']
    with node_process(client.namespace, *PANDA, *slow) as process:
        client.more_states(1)
        client.send_goal(reachable_goal(load('panda'), 'panda_hand', 1))
        client.until_moving(0.5)
        code, rest = end(process, number)
        assert code == 0, rest
        assert 'Traceback' not in rest
        client.until(lambda: max(map(abs, client.states[-1].velocity)) < 1e-9, 'rest')
    check_states(client.states, load('panda'), 100.0, acceleration=5.0)


def test_more_signals_while_it_stops_let_it_come_to_rest(client):
    slow = ['-p', 'joint_limits.default.acceleration:=3.0']
    with node_process(client.namespace, *PANDA, *slow) as process:
        client.more_states(1)
        client.send_goal(reachable_goal(load('panda'), 'panda_hand', 1))
        client.until_moving(0.5)
        for other in (signal.SIGTERM, *SIGNALS):
            before = len(client.states)
            process.send_signal(other)
            client.until(lambda n=before: len(client.states) > n or is_over(process), 'a state')
        rest = process.stdout.read()
        assert process.wait(PATIENCE) == 0, rest
        assert 'Traceback' not in rest
        client.until(lambda: max(map(abs, client.states[-1].velocity)) < 1e-9, 'rest')
    check_states(client.states, load('panda'), 100.0, acceleration=3.0)


def is_over(process):
    """Return whether the process has ended."""
    return process.poll() is not None


@pytest.mark.parametrize('module', ['ik_node', 'ik_node.main'])
def test_without_rclpy_one_line_says_what_is_missing(module):
    """Started by a Python that finds the project and its dependencies, but no rclpy."""
    blocked = (
        'import runpy, sys\n'
        'for name in list(sys.modules):\n'
        '    if name.partition(".")[0] == "rclpy": del sys.modules[name]\n'
        'sys.modules["rclpy"] = None\n'
        f'runpy.run_module({module!r}, run_name="__main__", alter_sys=True)\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', blocked],
        env={**os.environ, 'PYTHONPATH': python_path(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert 'Traceback' not in done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith('ik_node: ')
    assert 'rclpy' in line
    assert 'source' in line


@pytest.mark.parametrize('number', SIGNALS)
def test_a_signal_while_waiting_for_the_robot_ends_it(number):
    with node_process(unique_namespace()) as process:
        wait_for_line(process, 'waiting for a robot')
        code, rest = end(process, number)
    assert code == 0, rest
    assert 'Traceback' not in rest


def test_a_signal_while_the_kernels_are_compiled_ends_it(tmp_path, monkeypatch):
    """A cache of its own, so that there is something to compile where numba is installed."""
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    with node_process(unique_namespace(), *PANDA) as process:
        wait_for_line(process, 'loading the robot')
        code, rest = end(process, signal.SIGTERM)
    assert code == 0, rest
    assert 'Traceback' not in rest


@pytest.mark.parametrize(
    ('arguments', 'code', 'said'),
    [
        (['-p', 'rate:=-1.0'], 2, 'rate'),
        (['-p', 'solvr:=bfgs'], 2, "did you mean 'solver'?"),
        (['--', 'pnada'], 2, "did you mean 'panda'?"),
        (['--', '--urdf', 'panda'], 2, 'usage: ik_node'),
        (['--', '--help'], 0, 'my_robot.urdf --ros-args'),
        (['-p', 'output:=torque'], 2, 'joint_state'),
        (['-p', 'use_sim_time:=maybe'], 2, 'use_sim_time'),
        (['-p', 'twist_timeout:=.inf'], 2, 'twist_timeout is inf; it must be in [0, 10]'),
        (['-p', 'urdf_path:=/no/such.urdf'], 1, '/no/such.urdf'),
        ([*PANDA, '-p', 'tip_links:=panda_hnad'], 1, 'panda_hand'),
        ([*PANDA, '-p', 'joint_limits.panda_joint1.velocity:=99.0'], 1, 'panda_joint1.velocity'),
    ],
)
def test_what_can_not_work_ends_with_a_reason(arguments, code, said):
    with node_process(unique_namespace(), *arguments) as process:
        printed = process.stdout.read()
        assert process.wait(PATIENCE) == code, printed
    assert said in printed
    assert 'Traceback' not in printed


def test_a_robot_can_be_named_on_the_command_line(client):
    with node_process(client.namespace, '-p', 'tip_links:=panda_hand', '--', 'panda'):
        client.more_states(1)
    assert client.states[-1].name[: load('panda').n] == list(load('panda').joint_names)


def test_another_publisher_of_joint_states_is_warned_of(client):
    with (
        node_process(client.namespace, *PANDA, '-r', '__node:=first') as first,
        node_process(client.namespace, *PANDA, '-r', '__node:=second'),
    ):
        line = wait_for_line(first, f'other publishers too: {client.namespace}/second')
        assert f'{client.namespace}/first' not in line.partition('publishers too')[2]


def test_goals_in_the_style_of_an_example_end_with_signals_and_say_nothing(client):
    goals = []
    client.node.create_subscription(PoseStamped, 'goal_pose', goals.append, 1)
    circle = ('ik_node.tools.elbow_out', '--publish', 'goal_pose')
    with node_process(client.namespace, program=circle) as process:
        client.until(lambda: goals, 'a goal')
        process.send_signal(signal.SIGINT)  # of Ctrl-C, before that of ros2 launch
        assert end(process, signal.SIGINT) == (0, '')


def test_names_can_be_remapped(client):
    remaps = ['-r', 'goal_pose:=target', '-r', '__node:=arm']
    with node_process(client.namespace, *PANDA, *remaps):
        client.more_states(1)
        client.send_goal(reachable_goal(load('panda'), 'panda_hand', 2), topic='target')
        client.until_moving()


@pytest.mark.thorough
def test_the_demo_reaches_its_goals():
    environment = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    environment |= {'PYTHONPATH': python_path(ROOT), 'CI': '1'}  # so it waits for no browser
    done = subprocess.run(
        [sys.executable, '-m', 'ik_node.tools.demo', '--duration', '9'],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(' reached ') == 3  # two goals, and home
    assert 'held closest' in done.stdout
