# SPDX-License-Identifier: Apache-2.0
"""`~/status` comes where something changes that it is there to tell, and else not."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.controlled_arm import ARM, START, Arm, controlled
from support.slide import at, slide


def of_periods(node, count):
    """Wait for so many more of /diagnostics, which come once a second; the statuses meanwhile."""
    before, told = len(node.inbox['ik_node/status']), len(node.inbox['/diagnostics'])
    node.until(lambda: len(node.inbox['/diagnostics']) >= told + count, 'diagnostics')
    return node.inbox['ik_node/status'][before:]


def test_at_a_reached_goal_nothing_is_told_again_and_again_but_what_changes():
    with slide(acceleration=50.0) as node:
        node.send_goal(at(0.3))
        node.until_code('reached')
        node.until(lambda: not of_periods(node, 1), 'rest')
        meter = node.ik_node._health.meter
        for _ in range(3):
            meter.late_ticks += 1000  # as on a busy machine, in every tick
            assert not of_periods(node, 1)
        assert int(node.diagnostics['late_ticks']) >= 2000
        node.send_goal(np.full((4, 4), np.nan))
        node.until_refused('not_finite')
        assert int(node.status['late_ticks']) >= 3000
        assert node.status['code'] == 'reached'


def test_while_others_move_the_arm_the_status_says_so():
    with controlled('joint_trajectory') as node:
        arm = Arm(node, ARM, START)
        arm.until(lambda: node.status.get('code') == 'idle', 'the start')

        def pushed_and_so():
            arm.q[0] += 0.002
            return node.status.get('code') == 'moved_externally'

        arm.until(pushed_and_so, 'the status')
        assert 'others move the robot' in node.status['text']
        arm.until(lambda: node.status.get('code') == 'idle', 'rest')
