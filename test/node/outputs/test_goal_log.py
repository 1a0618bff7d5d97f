# SPDX-License-Identifier: Apache-2.0
"""The log reports the end of each goal once: reached, blocked, or not reached and by how much.

The slide ends at 1 m, so the distances are known.
"""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rcl_interfaces.msg import Log
from support.slide import RATE, at, slide

from ik_node.outputs.goal_log import STEADY

WORDS = ('goal reached', 'not reached', 'blocked', 'fewer joints')


@pytest.fixture(scope='module')
def node():
    with slide(acceleration=50.0) as it:
        it._listen(Log, '/rosout', 1000)
        yield it


def lines(node):
    """Return the log's lines about goals."""
    mine = node.namespace.strip('/')
    return [
        m.msg
        for m in node.inbox['/rosout']
        if m.name.startswith(mine) and any(word in m.msg for word in WORDS)
    ]


def until_line(node, before):
    """The one line that is new."""
    node.until(lambda: len(lines(node)) > before, 'a line')
    assert len(lines(node)) == before + 1
    return lines(node)[-1]


def reach(node, x):
    """Send a goal, and wait until the log says that it is reached."""
    before = len(lines(node))
    node.send_goal(at(x))
    assert 'goal reached' in until_line(node, before)


def test_each_outcome_is_one_line_that_says_how_far(node):
    before = len(lines(node))
    node.send_goal(at(0.3))
    text = until_line(node, before)
    assert text == 'goal reached: carriage is within tolerance'
    node.send_goal(at(1.25))
    text = until_line(node, before + 1)
    assert 'carriage is off by 250 mm, its orientation within tolerance' in text
    assert '; at a joint limit: x; exactly this goal is out of reach for certain' in text
    for _ in range(30):  # the same goal again is no other goal
        node.send_goal(at(1.25))
        node.more_states(10)
    assert len(lines(node)) == before + 2


def test_orientation_that_few_joints_cannot_reach_hints_at_the_goal_kind(node):
    reach(node, 0.0)
    before, goal = len(lines(node)), at(0.2)
    goal[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    node.send_goal(goal)
    text = until_line(node, before)
    assert text.startswith('the arm has fewer joints than the goal asks for: carriage is off')
    assert 'by 90 deg, its position within tolerance' in text
    assert 'only 1 joint moves carriage: set goal_kind.carriage to position or axis' in text
    before = len(lines(node))
    goal[0, 3] = 1.25  # too far, and turned, too
    node.send_goal(goal)
    text = until_line(node, before)
    assert text.startswith('goal not reached: carriage is off by 250 mm')
    assert 'goal_kind' not in text


def test_a_direction_in_which_no_joint_moves_the_tip_is_named(node):
    reach(node, 0.0)
    before, goal = len(lines(node)), at(0.2)
    goal[2, 3] += 0.05
    node.send_goal(goal)
    text = until_line(node, before)
    assert text.startswith('the arm has fewer joints than the goal asks for: carriage is off')
    assert 'by 50 mm, its orientation within tolerance' in text
    assert 'no joint moves carriage along z' in text
    assert 'PoseTask' not in text


def test_a_way_that_is_blocked_is_told(node):
    reach(node, 0.0)
    assert node.set_parameters(move='linear').successful
    before = len(lines(node))
    node.send_goal(at(1.125))
    assert 'blocked: carriage stops short by 12' in until_line(node, before)
    assert node.set_parameters(move='joint').successful


def test_a_stream_says_nothing_until_it_ends(node):
    """A pause as long as a stream that has ended, which a busy machine makes, does not count."""
    pause = np.inf
    while pause > 0.5 * STEADY:
        reach(node, -0.5)
        before, times = len(lines(node)), [time.monotonic()]
        for number in range(round(4.0 * STEADY * RATE / 2)):
            node.send_goal(at(-0.5 + 1e-3 * number))
            node.more_states(2)
            times.append(time.monotonic())
        said, pause = len(lines(node)) - before, np.diff(times).max()
    assert not said
    assert 'goal reached' in until_line(node, before)
