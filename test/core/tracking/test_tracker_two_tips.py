# SPDX-License-Identifier: Apache-2.0
"""Two tips at once: while one is led along a line or by a twist, the other one goes on too."""

import numpy as np
import pytest
from support.streams import Stream, moved, out_of_reach

from ik_core.tracking import TrackerOptions, TrackStatus

SPEED = 0.05
FAR = 0.2
UP = np.array([0.0, 0.0, 1.0])


def arms(**options):
    """Both arms bent, away from their limits; each tick is checked against the limits."""
    stream = Stream('dual_arm', options=TrackerOptions(**options))
    q = stream.configuration(np.random.default_rng(3))
    for attempt in range(100):
        stream.tracker.reset(q)
        if stream.tracker.condition_number() < 40.0:
            return stream
        q = stream.configuration(np.random.default_rng(attempt))
    raise AssertionError('no such configuration')


def jog(stream, seconds, twist=SPEED * UP, tip=1, each_tick=lambda k: None):
    """Carry a tip on by a twist; the commands."""
    commands = []
    for k in range(round(seconds / stream.tracker.period)):
        stream.tracker.set_twist(tip, twist, np.zeros(3), stream.now)
        each_tick(k)
        commands.append(stream.tick())
    return commands


def height(stream, tip):
    return stream.tip_pose(tip)[2, 3]


def distance(stream, tip, goal):
    return np.linalg.norm((stream.tip_pose(tip) - goal)[:3, 3])


def test_a_goal_of_the_joints_is_gone_to_during_a_jog_of_the_other_tip():
    stream = arms()
    jog(stream, 0.5)
    goal, before = moved(stream.tip_pose(0), z=0.1), height(stream, 1)
    stream.goal(goal, tip=0)
    jog(stream, 1.0)
    assert height(stream, 1) - before == pytest.approx(SPEED, rel=0.05)
    assert distance(stream, 0, goal) < 1e-3
    assert stream.settle().status is TrackStatus.REACHED


def test_a_goal_of_the_joints_is_gone_to_during_a_line_of_the_other_tip():
    stream = arms(linear_velocity=SPEED)
    line, goal = moved(stream.tip_pose(1), z=0.1), moved(stream.tip_pose(0), z=0.04)
    stream.tracker.set_goal(1, line, stream.now, move='linear')
    stream.run(0.5)
    stream.goal(goal, tip=0)
    stream.run(1.0)
    assert distance(stream, 0, goal) < 1e-3
    assert 0.01 < distance(stream, 1, line) < 0.06
    assert stream.settle().status is TrackStatus.REACHED
    assert distance(stream, 1, line) < 1e-4


def test_a_jog_begins_while_the_other_tip_moves_by_the_joints():
    stream = arms()
    goal = moved(stream.tip_pose(0), z=FAR)
    stream.goal(goal, tip=0)
    stream.run(0.1)
    jog(stream, 0.5)
    before, left = height(stream, 1), distance(stream, 0, goal)
    jog(stream, 0.3)
    assert height(stream, 1) - before == pytest.approx(0.3 * SPEED, rel=0.1)
    assert distance(stream, 0, goal) < left
    assert stream.settle().status is TrackStatus.REACHED
    assert distance(stream, 0, goal) < 1e-4


def test_goals_that_stream_in_are_followed_during_a_jog():
    stream = arms()
    start, before = stream.tip_pose(0), height(stream, 1)
    commands = jog(stream, 1.0, each_tick=lambda k: stream.goal(moved(start, z=1e-3 * k), tip=0))
    assert height(stream, 1) - before == pytest.approx(SPEED, rel=0.1)
    assert height(stream, 0) - start[2, 3] == pytest.approx(0.099, abs=0.02)
    assert TrackStatus.BLOCKED not in {command.status for command in commands}


def test_a_goal_out_of_reach_does_not_keep_the_other_tip_from_jogging():
    stream = arms()
    before = height(stream, 1)
    stream.goal(out_of_reach(stream.tip_pose(0)), tip=0)
    commands = jog(stream, 3.0)  # both arms turn the trunk, so it gets slower
    assert commands[-1].status is TrackStatus.BLOCKED
    assert height(stream, 1) - before > 0.8 * 3.0 * SPEED
    assert stream.settle().status is TrackStatus.CLOSEST


def test_a_blocked_jog_leaves_the_other_tip_free():
    stream = arms()
    out = stream.tip_pose(1)[:3, 3] / np.linalg.norm(stream.tip_pose(1)[:3, 3])
    commands = jog(stream, 20.0, 0.2 * out)
    goal = moved(stream.tip_pose(0), z=0.1)
    stream.goal(goal, tip=0)
    commands += jog(stream, 2.0, 0.2 * out)
    assert distance(stream, 0, goal) < 1e-3
    assert stream.settle().status is TrackStatus.REACHED
    assert np.abs(commands[1990].dq).max() < 0.05


def test_a_goal_that_ends_during_a_jog_leaves_the_jog_going_on():
    stream = arms()
    stream.goal(moved(stream.tip_pose(0), z=FAR), tip=0)
    jog(stream, 0.5)
    stream.tracker.set_goal(0, None, stream.now)
    jog(stream, 0.5)
    before, held = height(stream, 1), stream.tip_pose(0)
    jog(stream, 0.5)
    assert height(stream, 1) - before == pytest.approx(0.5 * SPEED, rel=0.05)
    assert distance(stream, 0, held) < 1e-3


def test_the_same_goal_for_the_joints_leaves_a_blocked_line():
    stream = Stream('ur5e')
    stream.tracker.reset(stream.configuration(np.random.default_rng(0)))
    goal = stream.pose(stream.configuration(np.random.default_rng(5)))
    stream.tracker.set_goal(0, goal, stream.now, move='linear')
    assert [c.status for c in stream.run(20.0)][-1] is TrackStatus.BLOCKED
    stream.tracker.set_goal(0, goal, stream.now, move='joint')
    assert stream.settle().status is TrackStatus.REACHED


def test_a_jog_goes_on_after_braking_from_where_the_joints_stop():
    stream = arms()
    jog(stream, 1.0, tip=0)
    stream.tracker.brake()
    path = []
    jog(stream, 1.0, tip=0, each_tick=lambda k: path.append(stream.tip_pose(0)[:3, 3]))
    way = np.array(path) - path[0]
    assert way[-1] @ UP == pytest.approx(SPEED, rel=0.2)
    assert np.diff(way @ UP).min() > -1e-6  # it never goes back
    assert np.abs(way[:, :2]).max() < 1e-4  # and stays on its line


def test_a_jog_may_begin_in_the_middle_of_a_move_of_the_joints():
    stream = Stream('panda')
    stream.tracker.reset(stream.configuration(np.random.default_rng(1)))
    stream.goal(moved(stream.tip_pose(), z=-0.25))
    stream.run(0.3)
    assert not stream.tracker.at_rest
    jog(stream, 0.5, tip=0)
    before = height(stream, 0)
    commands = jog(stream, 0.5, tip=0)
    assert height(stream, 0) - before == pytest.approx(0.5 * SPEED, rel=0.1)
    assert {command.status for command in commands} == {TrackStatus.TRACKING}
