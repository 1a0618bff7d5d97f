# SPDX-License-Identifier: Apache-2.0
"""The launch file of the viewer, run for real; skipped where launch or viser is not installed."""

import re
import urllib.request

import pytest

pytest.importorskip('launch_ros')
pytest.importorskip('ros2launch')
pytest.importorskip('rclpy')
pytest.importorskip('viser')

from support.launching import Launch

DOMAIN = 33


def test_it_shows_the_node_in_a_namespace_and_ends_cleanly(environment, listener, namespace):
    arguments = ('urdf:=panda', f'namespace:={namespace}', 'robot_state_publisher:=false')
    with Launch(environment, 'viewer.launch.py', *arguments) as launch:
        listener.hear(f'/{namespace}/joint_states', launch)
        solution = f'/{namespace}/ik_node/solution'
        listener.until(lambda: listener.node.count_subscribers(solution), launch)
        listener.until(lambda: re.search(r'is on (http\S+)', launch.output), launch)
        assert f'/{namespace}/ik_node is on http://localhost:' in launch.output
        url = re.search(r'is on (http\S+)', launch.output)[1]
        with urllib.request.urlopen(url, timeout=300) as page:
            assert page.status == 200
    assert launch.output.count('process has finished cleanly') == 2
    assert 'Traceback' not in launch.output


def test_a_mesh_folder_that_is_not_there_is_named_and_the_node_goes_on(
    environment, listener, namespace
):
    arguments = ('urdf:=ur5e', f'namespace:={namespace}', 'robot_state_publisher:=false')
    wrong = "mesh_folders:='/no where'"
    with Launch(environment, 'viewer.launch.py', *arguments, wrong) as launch:
        listener.until(lambda: '--mesh-folder /no where: there is no' in launch.output, launch)
        listener.hear(f'/{namespace}/joint_states', launch)
    assert 'Traceback' not in launch.output
