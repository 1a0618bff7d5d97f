# SPDX-License-Identifier: Apache-2.0
"""launch/ros2_control.launch.py, run for real with `ros2 launch`; skipped where launch is absent.

ros2_control itself is replaced by programs of the same names that write down how they were
called; the controller, by a node that publishes joint_states and listens to trajectories.
"""

import json
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip('launch_ros')
pytest.importorskip('ros2launch')
pytest.importorskip('rclpy')
yaml = pytest.importorskip('yaml')

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from support.launching import Launch
from support.places import ROOT
from trajectory_msgs.msg import JointTrajectory

import ik_core as ik
from ik_node.conversions import transform_to_pose

HAS_CONTROL = any(
    Path(prefix, 'share', 'controller_manager').is_dir()
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
)
DOMAIN = 32
FILE = 'ros2_control.launch.py'
ARM = [f'panda_joint{i}' for i in range(1, 8)]
TIP = 'panda_hand_tcp'
RECORDER = """#!{python}
import json, pathlib, sys
files = [pathlib.Path(a) for a in sys.argv[1:] if a.startswith('/')]
texts = {{str(file): file.read_text() for file in files if file.is_file()}}
note = {{'arguments': sys.argv[1:], 'files': texts}}
path = pathlib.Path({folder!r}) / '{name}'
with path.open('a') as file:
    file.write(json.dumps(note) + '\\n')
"""


@pytest.fixture
def recorded(tmp_path, environment):
    """An environment with programs that write down how they are called, and where they do."""
    prefix, notes = tmp_path / 'prefix', tmp_path / 'notes'
    notes.mkdir()
    (tmp_path / 'temporary').mkdir()
    programs = [('controller_manager', 'ros2_control_node'), ('controller_manager', 'spawner')]
    programs.append(('robot_state_publisher', 'robot_state_publisher'))
    for package, name in programs:
        index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
        program = prefix / 'lib' / package / name
        for folder in (index, program.parent, prefix / 'share' / package):
            folder.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        text = RECORDER.format(python=sys.executable, folder=str(notes), name=name)
        program.write_text(text)
        program.chmod(0o755)
    paths = os.pathsep.join([str(prefix), environment['AMENT_PREFIX_PATH']])
    temporary = str(tmp_path / 'temporary')
    return {**environment, 'AMENT_PREFIX_PATH': paths, 'TMPDIR': temporary}, notes


def calls(notes, name, count=1):
    """Return the arguments of a program's calls, once there are `count` of them; None before."""
    path = notes / name
    lines = path.read_text().splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines] if len(lines) >= count else None


def yaml_files(call):
    """Return the contents of the parameter files that a program was given."""
    return [yaml.safe_load(text) for text in call['files'].values() if 'ros__parameters' in text]


@pytest.fixture
def patient(tmp_path):
    """The launch argument of parameters for a busy machine, where the controller may be late."""
    path = tmp_path / 'patient.yaml'
    limits = 'joint_limits.default.velocity: 1.0'
    path.write_text(f'/**:\n  ros__parameters:\n    state_timeout: 60.0\n    {limits}\n')
    return f'params_file:={path}'


def controller(listener, q):
    """Publish q as joint_states now and then, as a joint_state_broadcaster does."""
    message = JointState(name=list(q), position=list(q.values()))
    publisher = listener.node.create_publisher(JointState, '/joint_states', 10)

    def publish():
        message.header.stamp = listener.node.get_clock().now().to_msg()
        publisher.publish(message)

    listener.node.create_timer(0.02, publish)


def test_goals_reach_the_controller_as_trajectories(recorded, listener, patient):
    environment, notes = recorded
    robot = ik.load_robot(ROOT / 'urdf' / 'panda.urdf')
    q = robot.middle_configuration
    controller(listener, robot.joint_values(q))
    trajectories = []
    topic = '/arm/joint_trajectory'
    listener.node.create_subscription(JointTrajectory, topic, trajectories.append, 10)
    goals = listener.node.create_publisher(PoseStamped, '/goal_pose', 1)
    arguments = ('controller:=arm', f'tip_links:={TIP}', 'rate:=50', patient)
    with Launch(environment, FILE, *arguments) as launch:
        listener.until(goals.get_subscription_count, launch)
        listener.until(lambda: trajectories, launch)
        first = trajectories[0]
        pose = PoseStamped(pose=transform_to_pose(robot.forward_kinematics(q + 0.2, TIP)))
        pose.header.frame_id = 'panda_link0'
        listener.node.create_timer(0.2, lambda: goals.publish(pose))  # until it is taken
        moved = lambda: max(abs(a - b) for a, b in zip(  # noqa: E731
            q[:7], trajectories[-1].points[0].positions, strict=True)) > 0.02  # fmt: skip
        listener.until(moved, launch)
        listener.until(lambda: calls(notes, 'spawner', 2), launch)
    assert not list((notes.parent / 'temporary').glob('ik_node_*')), 'files that stay behind'
    assert first.joint_names == ARM
    assert list(first.points[0].positions) == pytest.approx(q[:7].tolist(), abs=0.02)
    (manager,) = calls(notes, 'ros2_control_node')
    (parameters,) = yaml_files(manager)
    assert parameters['arm']['ros__parameters']['joints'] == ARM
    types = parameters['controller_manager']['ros__parameters']
    assert types['arm']['type'] == 'joint_trajectory_controller/JointTrajectoryController'
    assert 'joint_trajectory_controller' not in types
    spawned = {call['arguments'][0]: call for call in calls(notes, 'spawner')}
    assert set(spawned) == {'joint_state_broadcaster', 'arm'}
    assert yaml_files(spawned['arm']) == [parameters]
    check_mock(calls(notes, 'robot_state_publisher')[0], robot)


def check_mock(call, robot):
    """The published robot has a mock of all joints, in the middle of their limits."""
    (parameters,) = yaml_files(call)
    (values,) = parameters.values()
    text = values['ros__parameters']['robot_description']
    assert ik.load_robot(text).joint_names == robot.joint_names
    system = ElementTree.fromstring(text).find('ros2_control')
    assert system.findtext('hardware/plugin') == 'mock_components/GenericSystem'
    starts = {
        joint.get('name'): float(joint.findtext('state_interface[@name="position"]/param'))
        for joint in system.iterfind('joint')
    }
    middle = robot.middle_configuration.tolist()
    assert starts == dict(zip(robot.joint_names, middle, strict=True))


def test_for_hardware_that_runs_already_only_the_node_is_started(recorded, listener, patient):
    environment, notes = recorded
    robot = ik.load_robot(ROOT / 'urdf' / 'ur5e.urdf')
    controller(listener, robot.joint_values(robot.middle_configuration))
    trajectories = []
    listener.node.create_subscription(
        JointTrajectory, '/joint_trajectory_controller/joint_trajectory', trajectories.append, 10
    )
    with Launch(environment, FILE, 'hardware:=running', 'urdf:=ur5e', patient) as launch:
        listener.until(lambda: trajectories, launch)
    assert list(notes.iterdir()) == []


def refused(environment, *arguments):
    """Return the output of a launch that must end by itself."""
    with Launch(environment, FILE, *arguments) as launch:
        assert launch.wait() != 0
    assert 'process started' not in launch.output
    return launch.output


def test_a_robot_with_hardware_of_its_own_gets_no_mock(recorded, tmp_path):
    own = '<ros2_control name="arm" type="system"/></robot>'
    urdf = tmp_path / 'own.urdf'
    urdf.write_text((ROOT / 'urdf' / 'ur5e.urdf').read_text().replace('</robot>', own))
    assert 'hardware:=urdf uses it' in refused(recorded[0], f'urdf:={urdf}')


def test_unknown_hardware_is_an_error_that_lists_what_there_is(recorded):
    assert 'one of mock, urdf, running' in refused(recorded[0], 'hardware:=real')


@pytest.mark.skipif(HAS_CONTROL, reason='controller_manager is installed')
def test_without_ros2_control_it_says_what_to_install(environment):
    output = refused(environment)
    assert 'controller_manager is not installed: sudo apt install' in output
    assert 'Traceback' not in output
