# SPDX-License-Identifier: Apache-2.0
"""~/goals and ~/solution: what is followed, for programs that show it."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseArray
from lifecycle_msgs.msg import Transition
from rclpy.time import Time
from sensor_msgs.msg import JointState
from support.node_harness import LATCHED, URDF, is_still, load, reachable_goal, world
from support.panda_world import TIP, panda_world, tip_of
from support.slide import at, slide
from support.twists import jog, twist

from ik_node.conversions import pose_to_transform

GOALS, SOLUTION = 'ik_node/goals', 'ik_node/solution'


def stamp(message):
    """[ns] When it was published."""
    return Time.from_msg(message.header.stamp).nanoseconds


def goals(node):
    """The goals published last: transforms (4, 4), and None where there is none."""
    (*_, last) = node.inbox[GOALS]
    known = [np.isfinite(pose.position.x) for pose in last.poses]
    return [
        pose_to_transform(p) if there else None for p, there in zip(last.poses, known, strict=True)
    ]


def test_goals_are_told_whoever_sent_them_and_until_they_end():
    with slide(acceleration=50.0) as node:
        node._listen(PoseArray, GOALS, LATCHED)
        node.until(lambda: node.inbox[GOALS] and goals(node)[0] is None, 'no goal')
        node.send_goal(at(0.4))
        node.until(lambda: goals(node)[0] is not None, 'a goal')
        np.testing.assert_allclose(goals(node)[0], at(0.4), atol=1e-12)
        assert node.inbox[GOALS][-1].header.frame_id == 'rail'
        node.send_point((0.2, 0.0, 0.0))
        node.until(lambda: np.allclose(goals(node)[0], at(0.2)), 'a clicked point')
        jog(node, twist(linear=(0.1, 0.0, 0.0)), lambda: goals(node)[0] is None, 'no goal')
        node.until_code('idle')  # a twist that is still on its way would drop the goal
        node.send_goal(at(-0.3))
        node.until(lambda: goals(node)[0] is not None, 'a goal again')
        assert node.transition(Transition.TRANSITION_DEACTIVATE)
        node.until(lambda: goals(node) == [], 'nothing, while nothing moves')


def test_each_tip_has_its_goal_and_who_comes_late_hears_of_it():
    robot, tips = load('dual_arm'), ['left_palm', 'right_palm']
    with world(urdf_path=str(URDF / 'dual_arm.urdf'), tip_links=tips) as node:
        node.more_states(1)
        goal = reachable_goal(robot, tips[1], 4)
        node.send_goal(goal, topic=f'{tips[1]}/goal_pose')
        node.until(lambda: node.status.get('code') in ('tracking', 'reached'), 'the goal')
        node.more_states(100)  # longer than it takes to be told
        node._listen(PoseArray, GOALS, LATCHED)
        node.until(lambda: node.inbox[GOALS], 'the goals')
        nothing, given = goals(node)
        assert nothing is None
        np.testing.assert_allclose(given, goal, atol=1e-9)


def test_the_solution_is_there_before_the_joints():
    robot = load('panda')
    with panda_world(joint_limits__default__acceleration=1.0) as node:
        node._listen(JointState, SOLUTION, 10)
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 3)
        node.send_goal(goal)

        def solutions():
            """Return the solutions for the goal, oldest first."""
            found = node.inbox[SOLUTION]
            return [m for m in found if np.allclose(tip_of(robot, m), goal, atol=2e-4)]

        def distance():
            """Return the distance of the last joints from the last solution [rad]."""
            return np.abs(np.subtract(solutions()[-1].position, node.states[-1].position)).max()

        node.until(solutions, 'the solution')
        node.until_code('reached')
        # The goal's tolerance is wider, and the solution is published less often than the joints.
        node.until(lambda: distance() < 1e-6, 'the joints where the solution is')
    first = solutions()[0]
    assert list(first.name) == list(node.states[-1].name)
    (after, *_) = (m for m in node.states if stamp(m) > stamp(first))
    assert not is_still(after), 'the joints are on the way'


def test_without_a_listener_no_solution_is_published(monkeypatch):
    with slide() as node:
        (publisher,) = (p for p in node.ik_node.publishers if p.topic_name.endswith('/solution'))
        published = []
        monkeypatch.setattr(publisher, 'publish', published.append)
        node.send_goal(at(0.4))
        node.until_code('reached')
        assert not published
        node._listen(JointState, SOLUTION, 10)
        node.until(lambda: published, 'a solution')
