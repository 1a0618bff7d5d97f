# SPDX-License-Identifier: Apache-2.0
"""Ticks that follow a simulated clock: paused, ahead and back."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger
from support.controlled_arm import ARM, CERTAIN, PERIOD, RESTING, START, Arm, controlled
from support.jtc_simulation import nanoseconds
from support.node_harness import check_states, is_still, load, reachable_goal
from support.panda_world import ACCELERATION, RATE, TIP, call, panda_world, tip_of
from trajectory_msgs.msg import JointTrajectory


class SimTime:
    """A simulator's clock: it goes on, by one period of the node, when told to."""

    def __init__(self, node, now):
        self._publisher = node.publisher(Clock, 'clock', 10)
        self._node = node
        self.now = now  # [ns]

    def show(self):
        """Publish the time."""
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.now, 1_000_000_000)
        self._publisher.publish(message)

    def run(self, ticks):
        """Let so many periods go by, and wait for the state of each."""
        for _ in range(ticks):
            before = len(self._node.states)
            self.now += round(1e9 / RATE)
            self.show()
            self._node.until(lambda n=before: len(self._node.states) > n, 'a state')


def test_ticks_follow_simulated_time():
    robot = load('panda')
    with panda_world(use_sim_time=True) as node:
        node.until_code('waiting_for_clock')
        clock = SimTime(node, 100_000_000_000)
        clock.run(5)
        node.send_goal(reachable_goal(robot, TIP, 11))
        node.until(lambda: clock.run(1) or np.abs(node.states[-1].velocity).max() > 0.3, 'motion')
        count = len(node.states)
        assert node.set_parameters(replan_period=1.0).successful
        assert len(node.states) == count, 'a paused clock pauses publishing'
        clock.now = 50_000_000_000
        clock.show()
        assert node.set_parameters(replan_period=0.5).successful  # by now it has seen the time
        clock.run(40)
        assert is_still(node.states[-1]), 'a clock that jumps back stops the robot'
        node.until_code('idle')
        check_states(node.states[:count], robot, RATE, acceleration=ACCELERATION)


def test_a_clock_that_jumps_ahead_is_not_caught_up_with():
    robot = load('panda')
    with panda_world(use_sim_time=True) as node:
        node.until_code('waiting_for_clock')
        clock = SimTime(node, 100_000_000_000)
        clock.run(5)
        node.send_goal(reachable_goal(robot, TIP, 11))
        node.until(lambda: clock.run(1) or np.abs(node.states[-1].velocity).max() > 0.3, 'motion')
        count, late = len(node.states), int(node.diagnostics.get('late_ticks', 0))
        clock.now += 10_000_000_000
        clock.run(1)
        assert node.set_parameters(replan_period=0.5).successful  # by now it has seen the time
        assert len(node.states) <= count + 2, 'ticks were caught up with'
        clock.run(5)
        node.until(lambda: int(node.diagnostics.get('late_ticks', 0)) > late + 1000, 'late ticks')
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_paused_clock_keeps_goals_and_a_pause_longer_than_their_timeout_changes_nothing():
    robot = load('panda')
    with panda_world(use_sim_time=True, goal_timeout=10.0) as node:
        node.until_code('waiting_for_clock')
        clock = SimTime(node, 100_000_000_000)
        clock.run(3)
        goal = reachable_goal(robot, TIP, 11)
        node.send_goal(goal)
        node.until(lambda: clock.run(1) or any(node.states[-1].velocity), 'motion')
        for _ in range(50):
            clock.show()  # the same time again and again
        assert node.set_parameters(replan_period=1.0).successful
        node.until(
            lambda: (
                clock.run(10)
                or np.abs(tip_of(robot, node.states[-1])[:3, 3] - goal[:3, 3]).max() < 2e-5
            ),
            'the goal',
        )


def test_a_pause_while_the_clock_stands_still_says_so_and_comes_to_rest_once_it_goes_on():
    with panda_world(use_sim_time=True) as node:
        node.until_code('waiting_for_clock')
        clock = SimTime(node, 100_000_000_000)
        clock.run(3)
        node.send_goal(reachable_goal(load('panda'), TIP, 11))
        node.until(lambda: clock.run(1) or np.abs(node.states[-1].velocity).max() > 0.5, 'motion')
        for kind, service, request in (
            (SetBool, 'pause', {'data': True}),
            (Trigger, 'reset', {}),
        ):
            answer = call(node, kind, service, **request)
            assert not answer.success
            assert 'the simulated clock is stopped' in answer.message
        clock.run(60)
        assert is_still(node.states[-1])
        assert call(node, SetBool, 'pause', data=True).message == 'paused'


def test_trajectories_tell_their_times_by_the_simulated_clock(robot):
    with controlled('joint_trajectory', use_sim_time=True) as node:
        arm, clock, told = Arm(node, ARM, START), SimTime(node, 50_000_000), []

        def take(message):
            last = message.points[min(RESTING + CERTAIN, len(message.points)) - 1]
            told.append((nanoseconds(message.header.stamp), nanoseconds(last.time_from_start)))
            node.inbox.put('told', message)

        def goes_on():
            clock.now += PERIOD
            clock.show()

        arm.until(lambda: goes_on() or node.status.get('code') == 'idle', 'the state')
        node.node.create_subscription(JointTrajectory, 'joint_trajectory', take, 10)
        node.send_goal(reachable_goal(robot, TIP, 3))
        arm.until(lambda: goes_on() or len(told) > 3, 'motion')
        for _ in range(8):
            clock.now += PERIOD
            expected = 1, clock.now + PERIOD + 14_000_000  # a lag less half a period
            node.until(lambda due=expected: clock.show() or due in told, 'its trajectory')
