# SPDX-License-Identifier: Apache-2.0
"""`~/status` comes where something changes that it is there to tell, and else not."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState
from support.controlled_arm import ARM, START, Arm, controlled
from support.node_harness import values_of
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


def outcome(node, number):
    """The first and the last status about the goal of this number, once that has ended."""

    def about_it():
        every = map(values_of, node.inbox['ik_node/status'])
        return [status for status in every if status.get('goals_taken') == str(number)]

    node.until(lambda: about_it() and about_it()[-1]['goal_has_ended'] == 'true', 'its end')
    return about_it()[0], about_it()[-1]


def test_status_counts_goals_and_says_when_the_last_one_has_ended():
    with slide() as node:
        node.until(lambda: node.status.get('goals_taken') == '0', 'no goal')
        assert node.status['goal_has_ended'] == 'false'
        node.send_goal(at(0.5))
        first, last = outcome(node, 1)
        assert (first['goal_has_ended'], last['code']) == ('false', 'reached')
        node.send_goal(at(0.5))  # where it is already
        assert outcome(node, 2)[1]['code'] == 'reached'
        node.send_goal(at(2.0))
        first, last = outcome(node, 3)
        assert (first['goal_has_ended'], last['code']) == ('false', 'closest')
        assert 'out of reach for certain' in last['solver_note']  # the search has ended, too


def test_status_has_the_reason_for_the_last_refusal():
    with slide() as node:
        message = JointState(name=['x'], position=[2.0])
        node.publisher(JointState, 'joint_goal', 10).publish(message)
        node.until_refused('outside_limits')
        assert node.status['last_refused'].startswith('joint_goal: x = 2 m is outside its limits')
        assert node.status['goals_taken'] == '0'
        node.send_goal(np.full((4, 4), np.nan))
        node.until_refused('not_finite')
        assert node.status['last_refused'].startswith('goal_pose: ')


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
