# SPDX-License-Identifier: Apache-2.0
"""Hands by topic move the tip of a running node while their switch is closed."""

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Joy
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger
from support.node_harness import check_states, is_still, load
from support.panda_world import (
    ACCELERATION,
    RATE,
    TIP,
    call,
    panda_world,
    text_of,
    tip_of,
    until_at,
)

import ik_core as ik
from ik_node.conversions import transform_to_pose
from ik_node.parameters.node_options import TeleopOptions

TELEOP = {'input': 'teleop', 'teleop.latency': 0.05}
STILL = np.eye(4)


class Hand:
    """A hand that sends a pose whenever it is looked at, and its switch."""

    def __init__(self, it, *, button=None):
        self.it, self.button = it, button
        self.pose, self.closed, self.frame = STILL, False, ''
        self.poses = it.publisher(PoseStamped, 'hand_pose', 10)
        if button is None:
            self.switch = it.publisher(Bool, 'hand_engaged')
        else:
            self.switch = it.publisher(Joy, 'joy')

    def send(self):
        if self.button is None:
            self.switch.publish(Bool(data=self.closed))
        else:
            buttons = [0] * self.button + [int(self.closed)]
            self.switch.publish(Joy(buttons=buttons))
        message = PoseStamped(pose=transform_to_pose(self.pose))
        message.header.frame_id = self.frame
        message.header.stamp = self.it.node.get_clock().now().to_msg()
        self.poses.publish(message)

    def until(self, condition, what):
        """Send until the condition holds."""

        def sent():
            self.send()
            return condition()

        return self.it.until(sent, what)

    def until_it_is(self, state):
        self.until(lambda: self.it.status.get(f'{TIP}.hand') == state, f'the hand {state}')

    def engage(self):
        """Close the switch; again, if this thread was held up for so long that it was lost."""
        for self.closed in itertools.cycle([False, True]):
            self.until_it_is('following' if self.closed else 'released')
            if self.closed:
                return


def moves_the_tip(hand, robot, pose, expected):
    """Engage, move the hand to a pose, and return whether the tip moved as expected (4, 4).

    A busy machine may lose the hand on the way: then it begins again where the tip is.
    """
    it = hand.it
    for _ in range(20):
        hand.pose = STILL
        hand.engage()
        start = tip_of(robot, it.more_states(1)[-1])
        goal = start.copy()
        goal[:3, 3] += expected[:3, 3]
        goal[:3, :3] = expected[:3, :3] @ start[:3, :3]
        hand.pose = pose

        def arrived(goal=goal):
            tip = tip_of(robot, it.states[-1])
            return np.abs(tip - goal).max() < 1e-3 or it.status.get(f'{TIP}.hand') == 'lost'

        hand.until(arrived, 'the tip')
        if it.status.get(f'{TIP}.hand') == 'following':
            return True
    return False


@pytest.fixture(scope='module')
def robot():
    return load('panda')


@pytest.fixture
def panda(robot):
    with panda_world(**TELEOP) as it:
        yield it
        check_states(it.states, robot, RATE, acceleration=ACCELERATION)


def test_a_hand_moves_and_turns_the_tip(panda, robot):
    pose = ik.transform(position=[0.03, -0.02, 0.04], rpy=[0.0, 0.0, 0.2])
    assert moves_the_tip(Hand(panda), robot, pose, pose)


def panda_with_mast(origin):
    """The description of a Panda with another link on its base."""
    mast = (
        '<link name="mast"/><joint name="mount" type="fixed"><parent link="panda_link0"/>'
        f'<child link="mast"/><origin {origin}/></joint></robot>'
    )
    return text_of('panda').replace('</robot>', mast)


def test_a_hand_in_another_frame_moves_the_tip_along_the_axes_of_that():
    """A frame that is turned by a quarter to the left."""
    text = panda_with_mast('xyz="1 2 3" rpy="0 0 1.5707963267948966"')
    with panda_world(**TELEOP, urdf_path='', robot_description=text) as it:
        hand = Hand(it)
        hand.frame = 'mast'
        pose = ik.transform(position=[0.03, 0.0, 0.01], rpy=[0.1, 0.0, 0.0])
        expected = ik.transform(position=[0.0, 0.03, 0.01], rpy=[0.0, 0.1, 0.0])
        assert moves_the_tip(hand, ik.load_robot(text), pose, expected)
        hand.frame = 'nowhere'
        hand.until(lambda: int(it.status.get('refused.unknown_frame', 0)) > 0, 'a refusal')


def test_a_button_is_the_switch_and_a_mirror_turns_left_into_right(robot):
    options = {'teleop.button': 3, 'teleop.mirror': 'y', 'teleop.scale': 0.5}
    with panda_world(**TELEOP, **options) as it:
        pose = ik.transform(position=[0.02, 0.04, 0.0])
        mirrored = ik.transform(position=[0.01, -0.02, 0.0])
        assert moves_the_tip(Hand(it, button=3), robot, pose, mirrored)
        it.publisher(Joy, 'joy').publish(Joy(buttons=[1]))
        it.until_refused('no_button')


def test_a_tip_stays_in_the_box(robot):
    with panda_world(**TELEOP) as it:
        top = 0.02 + float(tip_of(robot, it.more_states(1)[-1])[2, 3])
    with panda_world(**TELEOP, **{'teleop.box_upper': [10.0, 10.0, top]}) as it:
        hand = Hand(it)
        hand.engage()
        hand.pose = ik.transform(position=[0.0, 0.0, 0.1])
        hand.until(lambda: tip_of(robot, it.states[-1])[2, 3] > top - 1e-3, 'the tip at the top')
        for _ in range(20):
            hand.send()
            it.more_states(5)
        heights = [tip_of(robot, state)[2, 3] for state in it.states]
        assert max(heights) < top + 5e-3  # the goal stops at once, joints can't
        assert abs(heights[-1] - top) < 1e-3


def test_corners_of_a_box_in_the_wrong_order_are_refused():
    with pytest.raises(ik.InvalidOption, match=r'0\.5 along z, above the 0\.2'):
        TeleopOptions(box_lower=(0.0, 0.0, 0.5), box_upper=(1.0, 1.0, 0.2))


def test_an_open_switch_holds_the_tip(panda, robot):
    hand = Hand(panda)
    hand.engage()
    hand.closed = False
    hand.until_it_is('released')
    panda.until(lambda: is_still(panda.states[-1]), 'rest')
    before = tip_of(robot, panda.more_states(1)[-1])
    hand.pose = ik.transform(position=[0.1, 0.0, 0.0])
    states = []
    hand.until(lambda: states.append(panda.states[-1]) or len(states) > 100, 'samples')
    np.testing.assert_allclose(tip_of(robot, panda.more_states(1)[-1]), before, atol=1e-9)


def test_a_switch_that_is_not_heard_of_any_more_is_open(panda):
    hand = Hand(panda)
    hand.engage()
    panda.until(lambda: panda.status.get(f'{TIP}.hand') != 'following', 'an open switch')


@pytest.mark.parametrize('service', ['reset', 'pause', 'home'])
def test_what_else_moves_or_stops_the_robot_takes_it_from_the_hand(panda, service):
    hand = Hand(panda)
    hand.engage()
    if service == 'pause':
        assert call(panda, SetBool, 'pause', data=True).success
    else:
        assert call(panda, Trigger, service).success
    hand.until_it_is('lost')
    hand.closed = False
    hand.until_it_is('released')


def test_hands_are_left_alone_without_the_parameter():
    with panda_world() as it:
        it.more_states(1)
        topics = [s.topic_name for s in it.ik_node.subscriptions]
        assert topics
        assert not [topic for topic in topics if topic.endswith(('hand_pose', 'hand_engaged'))]


# Frames that tips follow


def test_a_tip_follows_a_frame_until_the_parameter_is_empty(robot):
    text = panda_with_mast('xyz="0.45 0.1 0.5" rpy="3 0.1 0.2"')
    followed = {f'goal_frame.{TIP}': 'mast'}
    with panda_world(urdf_path='', robot_description=text, **followed) as it:
        it.more_states(1)
        mast = ik.transform(position=[0.45, 0.1, 0.5], rpy=[3.0, 0.1, 0.2])
        until_at(it, robot, mast)
        assert it.set_parameters(**{f'goal_frame__{TIP}': ''}).successful
        goal = robot.forward_kinematics([0.1, -0.3, 0, -2, 0, 2, 0.5, 0], TIP)
        it.send_goal(goal)
        until_at(it, robot, goal)
        check_states(it.states, robot, RATE, acceleration=ACCELERATION)


def test_an_unknown_frame_moves_nothing():
    with panda_world(**{f'goal_frame.{TIP}': 'nowhere'}) as it:
        it.more_states(300)
        assert it.status['code'] == 'idle'
        assert is_still(it.states[-1])
