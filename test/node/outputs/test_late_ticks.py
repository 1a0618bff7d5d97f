# SPDX-License-Identifier: Apache-2.0
"""An exception in a tick neither loses nor repeats a step of a trajectory."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.controlled_arm import ARM, START, Arm, controlled
from support.node_harness import load, reachable_goal, snapshot
from support.panda_world import TIP

from ik_core.tracking.governor.joint_motion import JointMotion
from ik_core.tracking.instructions import UndoTick
from ik_core.tracking.state import TrackerState
from ik_node.committed_steps import CommittedSteps
from ik_node.control_loop import ControlLoop
from ik_node.inputs.joint_states import FeedbackMonitor
from ik_node.outputs.diagnostics import Diagnostics
from ik_node.robot_model import Model

PERIOD = 10_000_000


class Injected(Exception):
    """An exception that the test raises on purpose."""


def let_fail(monkeypatch, owner, name, *, late):
    """Let a method raise, before it does its work or, where it is `late`, after."""
    works = getattr(owner, name)

    def wrapped(*arguments, **named):
        if late:
            works(*arguments, **named)
        raise Injected(name)

    monkeypatch.setattr(owner, name, wrapped)


def tick(motion, due):
    """A step, and its message."""
    motion.step()
    return motion.publish(due)


@pytest.mark.parametrize('held_up', [0, 3], ids=['in time', 'held up'])
@pytest.mark.parametrize(
    ('owner', 'name', 'late'),
    [
        (ControlLoop, '_send', True),
        (Diagnostics, 'record', False),
        (FeedbackMonitor, 'compare', False),
    ],
)
def test_what_raises_after_the_step_leaves_its_deadline_served(
    monkeypatch, owner, name, late, held_up
):
    """To write a message takes so many periods at first, by the clock of the node."""
    with controlled('joint_trajectory') as node:
        Arm(node, ARM, START).start()
        motion = node.ik_node._motion
        with node.ik_node._gate.lock, monkeypatch.context() as patch:
            let_fail(patch, owner, name, late=late)
            served = [motion._last_due]
            now, write, delays = [served[0]], motion._output.write, []

            def write_slowly(*arguments):
                now[0] += PERIOD * (delays.pop() if delays else 0)
                return write(*arguments)

            patch.setattr(motion._clock, 'now', lambda: now[0])
            patch.setattr(motion._output, 'write', write_slowly)
            for _ in range(3):
                delays[:] = [held_up]
                served.append(tick(motion, served[-1] + PERIOD))
                assert motion._output._last_due == served[-1]
    assert (np.diff(served) > 0).all()


@pytest.mark.parametrize('braking', [False, True])
@pytest.mark.parametrize(
    ('owner', 'name', 'late'),
    [
        (TrackerState, 'come_to_rest', False),
        (TrackerState, 'come_to_rest', True),
        (JointMotion, 'brake', False),
        (JointMotion, 'brake', True),
        (JointMotion, 'follow', False),
    ],
)
def test_each_step_that_is_made_up_is_taken_once_whatever_raises(
    monkeypatch, owner, name, late, braking
):
    robot, told = load('panda'), []
    goal = reachable_goal(robot, TIP, 1)
    tracker, other = (Model(robot, snapshot(tip_links=(TIP,), rate=100.0)).tracker for _ in '12')
    for tick in range(20):
        for each in (tracker, other):
            each.set_goal(0, goal, 0.01 * tick)
            each.tick(0.01 * tick)
    let_fail(monkeypatch, owner, name, late=late)
    CommittedSteps(tracker, told.append).skip_tick(braking=braking)
    if told:
        assert 'Injected' in told[0]
        other.governor.brake(announced=braking)
    else:
        monkeypatch.undo()
        other.skip_tick(braking=braking)
    np.testing.assert_array_equal(tracker.governor.q, other.governor.q)


def test_a_step_is_taken_back_whatever_raises(monkeypatch):
    robot, told = load('panda'), []
    tracker = Model(robot, snapshot(tip_links=(TIP,), rate=100.0)).tracker
    tracker.set_goal(0, reachable_goal(robot, TIP, 1), 0.0)
    for tick in range(20):
        before = tracker.governor.q.copy()
        tracker.tick(0.01 * tick)
    let_fail(monkeypatch, UndoTick, 'apply', late=True)
    CommittedSteps(tracker, told.append).undo_tick()
    np.testing.assert_array_equal(tracker.governor.q, before)
    assert 'Injected' in told[0]
