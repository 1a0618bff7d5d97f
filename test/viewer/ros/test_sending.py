# SPDX-License-Identifier: Apache-2.0
"""Goals wait until their kind counts, and the newest of a tip is the one that is sent."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from ik_viewer.arm import GoalKind, Setting
from ik_viewer.ros.sending import Sending

NAME = 'goal_kind.tool'


class Publisher:
    """Keeps what is published."""

    def __init__(self):
        self.sent = []
        self.publish = self.sent.append

    def get_subscription_count(self):
        return 1


class Node:
    """Makes publishers, by their topics."""

    def __init__(self):
        self.publishers = {}

    def create_publisher(self, kind, topic, qos):
        return self.publishers.setdefault(topic, Publisher())


class Parameters:
    """Sets that wait for an answer; of the same parameter the last one, as the real ones do."""

    def __init__(self):
        self.settings = {NAME: Setting(NAME, str, 'pose')}
        self.waiting = None

    def set(self, values, done):
        if self.waiting is not None:
            self.waiting[1](False)
        self.waiting = values, done

    def answer(self, success):
        """Let the node answer."""
        (values, done), self.waiting = self.waiting, None
        if success:
            self.settings = {NAME: Setting(NAME, str, values[NAME])}
        done(success)


@pytest.fixture
def parameters():
    return Parameters()


@pytest.fixture
def said():
    return []


@pytest.fixture
def sending(parameters, said):
    it = Sending(Node(), '/left', parameters, said.append)
    it.begin(('tool',), 'base')
    return it


def sent(sending):
    """The x of the goals that were published, and their frames."""
    messages = sending._node.publishers['/left/tool/goal_pose'].sent
    return [(m.pose.position.x, m.header.frame_id) for m in messages]


def goal(x):
    """A goal at x."""
    transform = np.eye(4)
    transform[0, 3] = x
    return transform


def test_a_goal_of_the_kind_that_counts_is_sent_at_once(sending, parameters):
    sending.set_goal(0, goal(1.0), GoalKind.POSE)
    sending.poll()
    assert sent(sending) == [(1.0, 'base')]
    assert parameters.waiting is None


def test_the_last_of_goals_whose_kind_is_being_set_is_sent(sending, parameters):
    for x in (1.0, 2.0, 3.0):
        sending.set_goal(0, goal(x), GoalKind.AXIS)
        sending.poll()
    assert sent(sending) == []
    parameters.answer(True)
    sending.poll()
    sending.poll()
    assert sent(sending) == [(3.0, 'base')]


def test_joint_goal_takes_the_place_of_goals_that_wait(sending, parameters):
    sending.set_goal(0, goal(1.0), GoalKind.AXIS)
    sending.set_joint_goal({'b': 2.0, 'a': 1.0})
    sending.poll()
    [message] = sending._node.publishers['/left/joint_goal'].sent
    assert (list(message.name), list(message.position)) == (['b', 'a'], [2.0, 1.0])
    assert sent(sending) == []


def test_a_goal_whose_kind_is_refused_is_not_sent(sending, parameters):
    sending.set_goal(0, goal(1.0), GoalKind.POSITION)
    sending.poll()
    parameters.answer(False)
    parameters.settings = {NAME: Setting(NAME, str, 'position')}
    sending.poll()
    assert sent(sending) == []


def test_a_goal_that_nobody_takes_is_told_after_a_while(sending, said, monkeypatch):
    monkeypatch.setattr(Publisher, 'get_subscription_count', lambda self: 0)
    sending.set_goal(0, goal(1.0), GoalKind.POSE)
    sending.poll()
    assert not said
    monkeypatch.setattr('ik_viewer.ros.sending.PATIENCE', 0.0)
    sending.poll()
    assert 'a goal was not sent' in said[0]
    monkeypatch.undo()
    sending.poll()
    assert sent(sending) == []
