# SPDX-License-Identifier: Apache-2.0
"""ik.launch.py under launch_pytest: what its node says and how it ends; skipped without it."""

import os

import pytest

launch_pytest = pytest.importorskip('launch_pytest')
pytest.importorskip('launch_ros')

from launch import LaunchDescription
from launch.actions import (
    IncludeLaunchDescription,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch.launch_description_sources import PythonLaunchDescriptionSource
from support.launching import DEADLINE
from support.places import ROOT

DOMAIN = 33
said, ended = [], []


def end_when_ready(event):
    """Note what the node says; end the launch once it publishes."""
    said.append(event.text.decode())
    return [Shutdown(reason='seen enough')] if 'ready: publishing' in said[-1] else None


@launch_pytest.fixture(auto_shutdown=False)
def panda(environment, monkeypatch):
    """The Panda, until its node is ready."""
    for name in ('AMENT_PREFIX_PATH', 'PYTHONPATH'):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.delenv('_ROS_WHEELS_BOOTSTRAP_COMPLETE', raising=False)
    arguments = {'urdf': 'panda', 'robot_state_publisher': 'false', 'namespace': f'p{os.getpid()}'}
    source = PythonLaunchDescriptionSource(str(ROOT / 'launch' / 'ik.launch.py'))
    note_end = OnProcessExit(on_exit=lambda event, _: ended.append(event.returncode))
    return LaunchDescription(
        [
            SetEnvironmentVariable('ROS_DOMAIN_ID', environment['ROS_DOMAIN_ID']),
            RegisterEventHandler(OnProcessIO(on_stdout=end_when_ready, on_stderr=end_when_ready)),
            RegisterEventHandler(note_end),
            TimerAction(period=DEADLINE, actions=[Shutdown(reason='waited in vain')]),
            IncludeLaunchDescription(source, launch_arguments=arguments.items()),
            launch_pytest.actions.ReadyToTest(),
        ]
    )


@pytest.mark.launch(fixture=panda, shutdown=True)
def test_the_node_gets_ready_and_ends_cleanly():
    assert 'ready: publishing' in ''.join(said)
    assert ended == [0]
