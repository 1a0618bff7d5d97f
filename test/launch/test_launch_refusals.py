# SPDX-License-Identifier: Apache-2.0
"""Launch files with wrong arguments end before anything has started."""

import pytest

pytest.importorskip('launch_ros')
pytest.importorskip('ros2launch')
pytest.importorskip('rclpy')

from support.launching import Launch

DOMAIN = 34
QUIET = ('rviz:=false', 'robot_state_publisher:=false')


@pytest.mark.parametrize(
    ('file', 'argument', 'complaint'),
    [
        ('demo.launch.py', 'goals:=perhaps', 'goals:=perhaps: true or false is needed'),
        ('demo.launch.py', 'pause:=soon', 'pause:=soon: a number of seconds is needed'),
        ('demo.launch.py', 'pause:=-1', 'pause:=-1: a number of seconds is needed'),
        ('demo.launch.py', 'urdf:=ur5e', 'urdf: the demo moves the Panda'),
        ('demo.launch.py', 'tip_links:=panda_hand', 'tip_links: the demo moves the Panda'),
        ('ros2_control.launch.py', 'namespace:=left', 'hardware:=running is needed'),
        ('example_guided.launch.py', 'goals:=maybe', 'goals:=maybe: true or false is needed'),
        ('viewer.launch.py', "mesh_folders:='a", "mesh_folders:='a: No closing quotation"),
        ('viewer.launch.py', 'port:=http', 'port:=http: a number up to 65535 is needed'),
    ],
)
def test_nothing_is_left_running(environment, namespace, file, argument, complaint):
    arguments = (argument, *QUIET, f'namespace:={namespace}')
    with Launch(environment, file, *arguments) as launch:
        assert launch.wait() != 0
    assert complaint in launch.output
    assert 'process started' not in launch.output
