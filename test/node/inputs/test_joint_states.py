# SPDX-License-Identifier: Apache-2.0
"""Behind a controller: starting from the measured joint states, losing them, and going on."""

import math
import time
from collections import deque

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger
from support.controlled_arm import ARM, PERIOD, RATE, START, Arm, arm_is_at, controlled, whole
from support.motion_limits import Limits, assert_inside, assert_speeds, by_differences
from support.node_harness import reachable_goal
from support.panda_world import ACCELERATION, TIP

pytestmark = pytest.mark.long


def check_steps(robot, commanded, times=None):
    """Inside the limits of position, velocity and acceleration, from command to command.

    times [ns]: of the commands; by default they are one period apart.
    """
    limits = Limits(robot.lower[:7], robot.upper[:7], robot.velocity[:7], ACCELERATION)
    periods = 1.0 if times is None else np.rint(np.diff(times) / PERIOD)
    seconds = np.broadcast_to(periods, len(commanded) - 1)[:, None] / RATE
    q, dq = by_differences(commanded, seconds)
    assert_inside(np.array(commanded[0]), np.zeros(7), limits, margin=1e-9)
    assert_inside(q, dq, limits, margin=1e-9)
    between = 0.5 * (seconds[:-1] + seconds[1:])
    assert_speeds(dq[:-1], dq[1:], limits, between, relative=1e-6)


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_it_starts_where_the_robot_is_and_takes_it_to_the_goal(robot, output):
    with controlled(output) as node:
        node.until_code('waiting_for_state')
        assert 'panda_joint7' in node.status['text']
        node.send_goal(reachable_goal(robot, TIP, 0))
        node.until_refused('waiting_for_state')
        arm = Arm(node, ARM, START)
        assert not arm.commanded
        arm.start()
        np.testing.assert_allclose(arm.commanded[0], START, atol=1e-12)
        goal = reachable_goal(robot, TIP, 1)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the arm at the goal')
        arm.until(lambda: node.status.get('code') == 'reached', 'reached')
        assert not arm.refused
        check_steps(robot, arm.commanded, arm.times)


def test_partial_messages_are_put_together(robot):
    with controlled('joint_trajectory') as node:
        arm = Arm(node, ARM, START)
        for joint, position in list(zip(ARM, START, strict=True))[:-1]:
            node.until(lambda j=joint, p=position: arm.say(**{j: p}) or heard(node, j), joint)

        def waits_for_the_last():
            # Again: messages that came late and all at once do not show that a joint rests.
            for joint, position in zip(ARM[:-1], START[:-1], strict=True):
                arm.say(**{joint: position})
            return node.status.get('text', '').endswith(': panda_joint7')

        node.until(waits_for_the_last, 'the last one')
        assert not arm.commanded

        def goes():
            waits_for_the_last()
            arm.say(panda_joint7=START[6], not_a_joint=3.0)
            return arm.commanded

        node.until(goes, 'go')
        np.testing.assert_allclose(arm.commanded[0], START, atol=1e-12)


def test_a_controller_by_another_clock_is_warned_of():
    with controlled('joint_trajectory') as node:
        latched = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.node.create_subscription(Log, '/rosout', lambda m: node.inbox.put('log', m), latched)
        publisher = node.publisher(JointState, 'joint_states', qos_profile_sensor_data)
        name = f'{node.namespace.strip("/")}.ik_node'

        def warned():
            stamp = Time(sec=int(time.time()) - 3600)
            publisher.publish(JointState(header=Header(stamp=stamp), name=ARM, position=START))
            return any(m.name == name and 'chrony' in m.msg for m in node.inbox['log'])

        node.until(warned, 'a warning')


def heard(node, joint):
    """Return whether the node no longer waits for the joint."""
    return node.status.get('code') == 'waiting_for_state' and joint not in node.status['text']


@pytest.mark.parametrize(
    ('names', 'positions', 'reason'),
    [
        (ARM, START[:-1], 'ragged'),
        ([*ARM, ARM[0]], [*START, 1.0], 'duplicate_joint'),
        (ARM, [*START[:-1], math.nan], 'not_finite'),
    ],
)
def test_joint_states_that_can_not_be_right_are_refused(names, positions, reason):
    with controlled('position_command') as node:
        publisher = node.publisher(JointState, 'joint_states', qos_profile_sensor_data)
        bad = JointState(name=names, position=positions)
        key = f'refused.{reason}'
        node.until(lambda: publisher.publish(bad) or int(node.status.get(key, 0)) > 0, key)
        assert node.status['code'] == 'waiting_for_state'


def test_a_robot_that_somebody_moved_is_started_from_where_it_is(robot):
    moved = [*START[:3], START[3] + 0.3, *START[4:]]
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        arm.obeys = False
        arm.q = [position + 0.01 for position in START]  # sags a little: nothing to follow
        np.testing.assert_allclose(arm.rest(80), START, atol=1e-12)
        before = len(arm.commanded)
        arm.q = moved
        arm.until(lambda: 'moved_externally' in codes(node), 'it is seen')
        arm.until(lambda: codes(node)[-1] == 'idle', 'the command where it is')
        arm.rest()
        for q in arm.commanded[before:]:  # nothing in between: it would lead the robot back
            assert np.allclose(q, START) or np.allclose(q, moved), q
        np.testing.assert_allclose(arm.commanded[-1], moved)
        arm.obeys = True
        goal = reachable_goal(robot, TIP, 2)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')


class RealArm(Arm):
    """An arm whose states come late, or seldom, or wrong."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.late = self.period = self.said = 0.0
        self.error = np.zeros(7)
        self.past = deque()

    def say(self, **joints):
        """Publish where it was `late` [s] ago, with an `error`, every `period` [s] at most."""
        now = time.monotonic()
        self.past.append((now, list(self.q)))
        while now - self.past[0][0] > self.late:
            q = self.past.popleft()[1]
            if now - self.said >= self.period:
                self.said, q = now, q + self.error
                super().say(**joints or dict(zip(self.joints, q, strict=True)))


def codes(node):
    """The codes of all statuses so far."""
    return [
        {pair.key: pair.value for pair in m.values}['code'] for m in node.inbox['ik_node/status']
    ]


def refused(node, reason):
    """Return how many messages were refused for that reason."""
    return int(node.status.get(f'refused.{reason}', 0))


def start_arm(node):
    """An arm at START that says so until commands come."""
    arm = RealArm(node, ARM, START)
    arm.start()
    return arm


def is_moving(arm):
    """Return whether the command is on its way at some speed."""
    q = np.array(arm.commanded[-20:])
    return np.abs(q[-1] - q[0]).max() > 0.05


def test_a_measured_state_that_is_noisy_does_not_disturb_a_motion(robot):
    with controlled('position_command') as node:
        arm, rng = start_arm(node), np.random.default_rng(1)
        goal = reachable_goal(robot, TIP, 3)
        node.send_goal(goal)

        def there():
            arm.error = rng.uniform(-0.08, 0.08, 7)
            return arm_is_at(robot, arm.commanded[-1], goal)

        arm.until(there, 'the goal')
        assert arm_is_at(robot, arm.rest(80), goal)
        check_steps(robot, arm.commanded)
        assert 'not_following' not in codes(node)


def stop_dead(robot, node, number):
    """An arm that stops in a motion, until the node has seen it; and the goal of the motion."""
    arm = start_arm(node)
    goal = reachable_goal(robot, TIP, number)
    node.send_goal(goal)
    arm.until(lambda: is_moving(arm), 'motion')
    arm.obeys = False  # an emergency stop
    arm.until(lambda: 'not_following' in codes(node), 'it does not follow')
    return arm, goal


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_a_robot_that_does_not_follow_is_not_led_on(robot, output):
    with controlled(output) as node:
        arm, goal = stop_dead(robot, node, 3)
        (found,) = [m for m in node.inbox['ik_node/status'] if 'not follow' in m.message][:1]
        assert found.level == DiagnosticStatus.ERROR
        assert 'panda_joint' in found.message
        node.send_goal(goal)
        node.until_refused('not_following')
        arm.until(lambda: codes(node)[-1] == 'idle', 'it goes on')
        assert 'reached' not in codes(node)
        if output == 'position_command':
            np.testing.assert_allclose(arm.rest(), arm.q, atol=1e-9)
        check_steps(robot, arm.commanded, arm.times)
        arm.obeys, before, count = True, list(arm.q), len(arm.commanded)  # it is back
        node.send_goal(goal)
        arm.until(lambda: codes(node)[-1] == 'reached', 'the goal')
        first = np.array(arm.commanded[count]) - before
        assert np.abs(first).max() <= 1.01 * ACCELERATION / RATE**2, 'it begins where the robot is'
        check_steps(robot, arm.commanded[count:], arm.times[count:])


def test_no_joint_jumps_when_the_controller_comes_back_before_the_robot_has_settled(robot):
    random, news = np.random.default_rng(3), [0, 0.0]

    def shakes():
        arm.error = random.choice([0.0, 0.0, 0.0, 0.03]) * np.ones(7)
        return True

    def is_silent():
        if len(arm.commanded) != news[0]:
            news[:] = len(arm.commanded), time.monotonic()
        return shakes() and time.monotonic() > news[1] + 20.0 / RATE

    with controlled('joint_trajectory') as node:
        arm, _ = stop_dead(robot, node, 3)
        arm.until(is_silent, 'no commands')
        arm.obeys, stopped = True, list(arm.q)
        node.send_goal(reachable_goal(robot, TIP, 3))
        arm.until(lambda: shakes() and refused(node, 'not_following'), 'it is still refused')
        arm.error[:] = 0.0
        arm.until(lambda: codes(node)[-1] == 'idle', 'it goes on')
        assert arm.q == stopped


def test_a_tick_that_is_held_up_stands_for_the_last_one_that_was_due(robot):
    with controlled('joint_trajectory') as node:
        arm, dues, held = start_arm(node), [], []
        node.send_goal(reachable_goal(robot, TIP, 3))
        arm.until(lambda: is_moving(arm), 'motion')
        motion = node.ik_node._motion
        output, tracker = motion._output, motion.model.tracker
        write, tick = output.write, tracker.tick

        def note(governor, moment):
            dues.append(moment.due)
            return write(governor, moment)

        def hang(now, instructions):
            tracker.tick = tick
            held.append(len(dues))
            time.sleep(10 / RATE)
            return tick(now, instructions)

        output.write = note
        arm.until(lambda: dues, 'a tick')
        tracker.tick = hang
        arm.until(lambda: held and len(dues) > held[0] + 20, 'ticks after it')
        periods = np.diff(dues) / PERIOD
        assert (periods >= 1).all()
        assert (periods == periods.round()).all()
        assert periods[held[0] - 1] >= 10
        check_steps(robot, arm.commanded, arm.times)


def test_a_robot_that_is_pushed_away_from_its_goal_loses_it(robot):
    with controlled('position_command') as node:
        arm = start_arm(node)
        node.send_goal(reachable_goal(robot, TIP, 3))
        arm.until(lambda: codes(node)[-1] == 'reached', 'reached')
        arm.obeys, arm.q = False, [position + 0.15 for position in arm.q]
        arm.until(lambda: codes(node)[-1] == 'not_following', 'it does not follow')
        arm.until(lambda: codes(node)[-1] == 'idle', 'it goes on')
        np.testing.assert_allclose(arm.rest(), arm.q, atol=1e-12)


def test_a_goal_is_not_reached_before_the_robot_is_there(robot):
    with controlled('position_command', joint_limits__default__following_error=0.03) as node:
        arm = start_arm(node)
        near = [START[0] + 0.2, *START[1:]]
        arm.obeys = False
        node.send_goal(robot.forward_kinematics(whole(robot, near), TIP))
        arm.until(lambda: codes(node)[-1] == 'not_following', 'it does not follow')
        assert 'reached' not in codes(node)


def test_reset_goes_on_from_where_a_robot_is_that_does_not_follow(robot):
    with controlled('position_command', joint_limits__default__following_error=0.05) as node:
        arm, _ = stop_dead(robot, node, 3)
        rng = np.random.default_rng(2)
        arm.call(Trigger, 'reset')

        def idle():
            arm.error = rng.choice([0.0, 0.0, 0.0, 0.0, 0.01]) * np.ones(7)  # it shakes a little
            return codes(node)[-1] == 'idle'

        arm.until(idle, 'idle')
        assert np.abs(np.array(arm.rest()) - arm.q).max() < 0.04


def test_a_joint_may_be_allowed_to_stay_behind(robot):
    limits = {f'joint_limits__{joint}__following_error': 10.0 for joint in ARM}
    with controlled('position_command', **limits) as node:
        arm = start_arm(node)
        arm.obeys = False
        goal = reachable_goal(robot, TIP, 3)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')
        assert arm_is_at(robot, arm.rest(80), goal)
        name = 'joint_limits.default.following_error'
        assert node.ik_node.get_parameter(name).value == 0.1
        assert node.set_parameters(**dict.fromkeys(limits, 0.05)).successful
        arm.until(lambda: codes(node)[-1] == 'not_following', 'it does not follow')


def test_a_robot_that_stops_in_a_pause_loses_its_goals(robot):
    slow = {'acceleration': 0.4, 'following_error': 0.03}
    limits = {f'joint_limits__default__{limit}': value for limit, value in slow.items()}
    with controlled('position_command', **limits) as node:
        arm = start_arm(node)
        node.send_goal(reachable_goal(robot, TIP, 3))
        arm.until(lambda: is_moving(arm), 'motion')
        arm.obeys = False
        arm.call(SetBool, 'pause', data=True)
        arm.until(lambda: 'not_following' in codes(node), 'it does not follow')
        arm.call(SetBool, 'pause', data=False)
        arm.until(lambda: codes(node)[-1] == 'idle', 'it goes on')
        np.testing.assert_allclose(arm.rest(80), arm.q, atol=1e-12)
        check_steps(robot, arm.commanded)


@pytest.mark.parametrize(('late', 'period'), [(0.1, 0.0), (0.0, 0.1), (0.1, 0.1)])
def test_states_may_come_late_and_seldom(robot, late, period):
    with controlled('position_command') as node:
        arm = RealArm(node, ARM, START)
        arm.late, arm.period = late, period
        arm.start()
        for number in (3, 4):  # as fast as the limits allow
            goal = reachable_goal(robot, TIP, number)
            node.send_goal(goal)
            arm.until(lambda g=goal: arm_is_at(robot, arm.commanded[-1], g), 'the goal')
        arm.until(lambda: codes(node)[-1] == 'reached', 'reached')
        check_steps(robot, arm.commanded)
        assert 'not_following' not in codes(node)


@pytest.mark.parametrize('joint', [0, 3, 6])
def test_one_wrong_sample_moves_nothing(robot, joint):
    with controlled('position_command') as node:
        arm = start_arm(node)
        arm.rest(80)
        for wrong in (0.05, 0.3, -2.5, 200.0):
            q = list(START)
            q[joint] += wrong
            arm.say(**dict(zip(ARM, q, strict=True)))
            np.testing.assert_allclose(arm.rest(5), START, atol=1e-12)
        node.until_refused('implausible_state', 2)
        np.testing.assert_allclose(arm.commanded, np.tile(START, (len(arm.commanded), 1)))
        assert codes(node)[-1] == 'idle'


def test_it_does_not_start_where_no_robot_can_be(robot):
    with controlled('position_command') as node:
        arm = RealArm(node, ARM, [200.0, *START[1:]])
        arm.until(lambda: int(node.status.get('refused.implausible_state', 0)) > 10, 'refusals')
        assert not arm.commanded
        assert node.status['text'].endswith(': panda_joint1')
        arm.q = list(START)
        arm.start()
        np.testing.assert_allclose(arm.commanded[0], START, atol=1e-12)


def test_where_an_encoder_jumps_and_stays_the_robot_is(robot):
    with controlled('position_command') as node:
        arm = start_arm(node)
        arm.rest(80)
        arm.obeys, arm.q = False, [START[0] - 2.0, *START[1:]]
        arm.until(lambda: 'moved_externally' in codes(node), 'it is seen')
        arm.until(lambda: codes(node)[-1] == 'idle', 'it is there')
        arm.until(lambda: np.allclose(arm.commanded[-1], arm.q, rtol=0, atol=1e-12), 'the command')
        arm.obeys = True
        goal = reachable_goal(robot, TIP, 2)
        node.send_goal(goal)
        arm.until(lambda: codes(node)[-1] == 'reached', 'the goal')


def test_without_joint_states_it_stops_and_goes_on_from_them(robot):
    with controlled('position_command', state_timeout=1.0) as node:
        arm = Arm(node, ARM, START)
        arm.start()
        node.send_goal(reachable_goal(robot, TIP, 4))
        node.until_code('state_lost')  # nobody says where the robot is
        node.until(lambda: arm.commanded[-1] == arm.commanded[-2], 'rest')
        node.send_goal(reachable_goal(robot, TIP, 5))
        node.until_refused('state_lost')
        check_steps(robot, arm.commanded)
        arm.until(lambda: node.status.get('code') == 'idle', 'the state is back')
        goal = reachable_goal(robot, TIP, 6)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')


def test_reset_drops_the_goal_and_takes_the_measured_state(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        goal = reachable_goal(robot, TIP, 7)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')
        arm.obeys, arm.q = False, [position + 0.005 for position in arm.q]
        arm.call(Trigger, 'reset')
        arm.until(lambda: np.allclose(arm.commanded[-1], arm.q, atol=1e-12), 'where it is')
        arm.until(lambda: node.status.get('code') == 'idle', 'idle')


def test_a_robot_that_was_moved_in_a_pause_goes_on_from_there(robot):
    with controlled('position_command') as node:
        arm = Arm(node, ARM, START)
        arm.start()
        goal = reachable_goal(robot, TIP, 8)
        node.send_goal(goal)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal')
        arm.call(SetBool, 'pause', data=True)
        arm.until(lambda: node.status.get('code') == 'paused', 'paused')
        held, moved = arm.rest(80), [position + 0.2 for position in START]
        arm.obeys, before = False, len(arm.commanded)
        arm.q = moved
        arm.until(lambda: arm.commanded[-1] != held, 'a command where it is')
        for q in arm.commanded[before:]:
            assert np.allclose(q, held, atol=1e-12) or np.allclose(q, moved, atol=1e-12)
        np.testing.assert_allclose(arm.rest(80), moved, atol=1e-12)
        arm.obeys = True
        arm.call(SetBool, 'pause', data=False)
        arm.until(lambda: arm_is_at(robot, arm.commanded[-1], goal), 'the goal again')


def test_a_robot_outside_its_limits_is_brought_back_slowly(robot):
    outside = [*START[:3], robot.upper[3] + 0.05, *START[4:]]
    with controlled('position_command') as node:
        arm = Arm(node, ARM, outside)
        arm.start()
        np.testing.assert_allclose(arm.commanded[0], outside, atol=ACCELERATION / RATE**2)
        arm.until(lambda: arm.commanded[-1][3] <= robot.upper[3] + 1e-9, 'inside')
        angle = np.array(arm.commanded)[:, 3]
        assert (np.diff(angle) <= 1e-12).all(), 'it went farther out'
        assert np.abs(np.diff(angle)).max() * RATE <= robot.velocity[3] * (1 + 1e-6)
