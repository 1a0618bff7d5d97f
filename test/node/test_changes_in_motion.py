# SPDX-License-Identifier: Apache-2.0
"""Whatever changes or fails in motion, each published step keeps the limits of its time.

Judged by finite differences of the published positions. The joint is a slide whose end is near:
what were to begin anew, jump or go on would leave its rail, at once.
"""

import math
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')

from std_srvs.srv import SetBool
from support.node_harness import Client, is_still, node_process, unique_namespace, world
from support.slide import RATE, URDF, assert_keeps_limits, go, rows, slide

pytestmark = pytest.mark.long
VELOCITY, ACCELERATION, JERK = (
    f'joint_limits.x.{limit}' for limit in ('velocity', 'acceleration', 'jerk')
)
NONE = math.inf


def change(**values):
    """Set parameters of a node; '__' stands for '.'."""

    def act(node):
        answer = node.set_parameters(**values)
        assert answer.successful, answer.reason

    return act


def recorded(node):
    """A recording begins and ends."""
    for on in (True, False):
        answer = node.call(SetBool, 'ik_node/record', SetBool.Request(data=on))
        assert answer.success, answer.message
        node.more_states(3)


# Acceleration and jerk before; what happens; acceleration, jerk and velocity after.
CASES = {
    'a tolerance': (10.0, 30.0, change(position_tolerance=2e-5), 10.0, 30.0),
    'a tool': (10.0, 30.0, change(**{'tools.carriage.xyz': [0.01, 0.0, 0.0]}), 10.0, 30.0),
    'a solver': (10.0, 30.0, change(solver='damped_least_squares'), 10.0, 30.0),
    'a recording': (10.0, 30.0, recorded, 10.0, 30.0),
    'a lower speed': (10.0, 200.0, change(**{VELOCITY: 0.25}), 10.0, 200.0, 0.25),
    'a lower jerk': (10.0, 200.0, change(**{JERK: 5.0}), 10.0, 5.0),
    'a jerk limit': (10.0, NONE, change(**{JERK: 30.0}), 10.0, 30.0),
    'both lower': (10.0, 200.0, change(**{ACCELERATION: 1.0, JERK: 3.0}), 1.0, 3.0),
}


@pytest.mark.parametrize('speed', [0.3, 1.5])
@pytest.mark.parametrize('case', CASES)
def test_changes_in_motion_keep_the_limits(case, speed, tmp_path):
    acceleration, jerk, act, *after = CASES[case]
    with slide(acceleration, jerk, record_folder=str(tmp_path)) as node:
        go(node, -1.0, 0.1)
        node.until_code('reached')
        go(node, 0.98, speed)
        when = len(node.states)
        act(node)
        node.until_code('reached')
        node.more_states(2)
        before, after = rows(acceleration, jerk), rows(*after)
        loosest = np.maximum(before, after)  # the answer comes later than the change
        answered = len(node.states)
    assert_keeps_limits(
        node.states[:answered], (0, before), (when - 1, loosest), (answered, after)
    )


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
