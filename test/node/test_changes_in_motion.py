# SPDX-License-Identifier: Apache-2.0
"""Whatever changes or fails in motion, each published step keeps the limits of its time.

Judged by finite differences of the published positions. The joint is a slide whose end is near:
what were to begin anew, jump or go on would leave its rail, at once.
"""

import signal

import pytest

pytest.importorskip('rclpy')

from support.motion_changes import SPEEDS, assert_change_keeps_limits, change, record
from support.node_harness import Client, is_still, node_process, unique_namespace, world
from support.slide import RATE, URDF, assert_keeps_limits, go, rows, slide

pytestmark = pytest.mark.long
ACCELERATION = 'joint_limits.x.acceleration'


def recorded(node):
    """A recording begins and ends."""
    record(node, True)
    node.more_states(3)
    record(node, False)


CASES = {
    'a tolerance': (10.0, 30.0, change({'position_tolerance': 2e-5}), 10.0, 30.0),
    'a tool': (10.0, 30.0, change({'tools.carriage.xyz': [0.01, 0.0, 0.0]}), 10.0, 30.0),
    'a solver': (10.0, 30.0, change({'solver': 'damped_least_squares'}), 10.0, 30.0),
    'a recording': (10.0, 30.0, recorded, 10.0, 30.0),
}


@pytest.mark.parametrize('speed', SPEEDS)
@pytest.mark.parametrize('case', CASES)
def test_changes_in_motion_keep_the_limits(case, speed, tmp_path):
    assert_change_keeps_limits(CASES[case], speed, tmp_path)


def test_deactivating_takes_as_long_as_the_limits_say():
    with slide(0.5) as node:
        go(node, 0.98, 0.6)
        assert node.transition(4)
        node.until(lambda: is_still(node.states[-1]), 'rest')
    assert_keeps_limits(node.states, (0, rows(0.5)))


def test_a_signal_lets_it_brake_as_long_as_the_limits_say(tmp_path):
    (tmp_path / 'slide.urdf').write_text(URDF, encoding='utf-8')
    client = Client(unique_namespace())
    parameters = {'urdf_path': tmp_path / 'slide.urdf', 'rate': RATE, ACCELERATION: 0.5}
    arguments = [part for k, v in parameters.items() for part in ('-p', f'{k}:={v}')]
    try:
        with node_process(client.namespace, *arguments) as process:
            client.more_states(2)
            go(client, 0.98, 0.6)
            process.send_signal(signal.SIGINT)
            printed = process.stdout.read()
            assert process.wait() == 0, printed
            client.until(lambda: is_still(client.states[-1]), 'rest')
        assert_keeps_limits(client.states, (0, rows(0.5)))
    finally:
        client.close()


def test_configured_again_it_starts_where_the_last_command_was():
    with slide(10.0) as node:
        go(node, 0.98, 1.0)
        assert [node.transition(number) for number in (4, 2, 1, 3)] == [True] * 4
        node.more_states(5)
        assert node.states[-1].position[0] > 0.05
        go(node, -0.5, 1.0)
        node.until_code('reached')
    assert_keeps_limits(node.states, (0, rows(10.0)))


SHORTER = URDF.replace('upper="1"', 'upper="0.5"').replace('velocity="2"', 'velocity="1"')


def test_another_robot_in_motion_is_taken_at_rest_and_goes_on_from_there():
    """Its joint has the same name, and its rail ends before the place where the old one stops."""
    with world(rate=RATE, joint_limits__x__acceleration=4.0) as node:
        node.send_description(URDF)
        node.more_states(2)
        go(node, 0.98, 1.2)
        node.until(lambda: node.states[-1].position[0] > 0.55, 'a place beyond the shorter rail')
        when = len(node.states)
        node.send_description(SHORTER)
        node.until(lambda: len(node.states) > when and is_still(node.states[-1]), 'rest')
        old = len(node.states)
        node.until(lambda: node.states[-1].position[0] <= 0.5, 'the way back')
        go(node, -0.5, 0.9)
        node.until_code('reached')
    assert max(m.position[0] for m in node.states) > 0.5
    assert_keeps_limits(node.states, (0, rows(4.0)), (old, rows(4.0, text=SHORTER)))
