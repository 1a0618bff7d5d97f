# SPDX-License-Identifier: Apache-2.0
"""Markers are taken away in RViz where the node goes, or stops."""

import signal

import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from support.node_harness import (
    PATIENCE,
    URDF,
    Client,
    load,
    node_process,
    reachable_goal,
    unique_namespace,
)
from support.panda_world import TIP, panda_world
from visualization_msgs.msg import Marker, MarkerArray

TOPIC = 'ik_node/markers'


def show(client):
    """Listen to the markers until there is one of a goal."""
    client._listen(MarkerArray, TOPIC, 10)
    client.more_states(1)
    client.send_goal(reachable_goal(load('panda'), TIP, 3))
    client.until(lambda: any(len(m.markers) > 1 for m in client.inbox[TOPIC]), 'markers')


def are_gone(client):
    """Return whether the last message takes all markers away."""
    (*_, last) = client.inbox[TOPIC]
    return [marker.action for marker in last.markers] == [Marker.DELETEALL]


@pytest.mark.parametrize('steps', [['DEACTIVATE'], ['DEACTIVATE', 'CLEANUP']])
def test_markers_go_when_the_node_is_deactivated(steps):
    with panda_world() as node:
        show(node)
        for step in steps:
            assert node.transition(getattr(Transition, f'TRANSITION_{step}'))
        node.until(lambda: are_gone(node), 'no markers')
        count = len(node.inbox[TOPIC])
        before = len(node.inbox['/diagnostics'])
        node.until(lambda: len(node.inbox['/diagnostics']) > before, 'a second')
        assert len(node.inbox[TOPIC]) == count, 'nothing is shown while nothing moves'


@pytest.mark.parametrize(
    'number', [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)]
)
def test_markers_go_when_the_process_is_ended(number):
    client = Client(unique_namespace())
    arguments = [f'urdf_path:={URDF / "panda.urdf"}', f'tip_links:={TIP}', 'rate:=100.0']
    try:
        with node_process(client.namespace, *(x for a in arguments for x in ('-p', a))) as process:
            show(client)
            process.send_signal(number)
            client.until(lambda: are_gone(client), 'no markers')
            assert process.wait(PATIENCE) == 0
    finally:
        client.close()
