# SPDX-License-Identifier: Apache-2.0
"""A tracker that avoids collisions: what it commands stays clear, whatever it is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from support.places import URDF

import ik_core as ik
from ik_core.collision import Box, Collisions, Sphere
from ik_core.exceptions import InvalidOption, UnsupportedProblem
from ik_core.tracking import MotionLimits, Tracker, TrackStatus
from ik_core.tracking.recording import Recorder, read_recording, replay

RATE = 250.0
START = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.9, 0.78, 0.04])
MARGIN = 0.01
DOWN = 1.0, 0.0, 0.0, 0.0


def table(height=0.15):
    """A world with a table whose top is at this height [m]."""
    world = ik.World()
    world.add('table', Box((1.0, 2.0, 0.1)), ik.transform(position=(0.7, 0.0, height - 0.05)))
    return world


class Arm:
    """A panda that follows goals, and the least distance that it ever had."""

    def __init__(self, world=None, jerk=np.inf, acceleration=10.0):
        self.robot = ik.load_robot('panda')
        self.judge = Collisions(self.robot, world)
        goal = ik.PoseTask('panda_hand', position=[0.5, 0.0, 0.5], quaternion=DOWN)
        problem = ik.IkProblem(self.robot, [goal], avoid=self.judge)
        self.limits = MotionLimits.of(self.robot, acceleration=acceleration, jerk=jerk)
        self.tracker = Tracker(problem, RATE, limits=self.limits, q0=START)
        self.now, self.q = 0.0, [START]

    def goal(self, x, y, z, **more):
        pose = ik.transform(position=(x, y, z), quaternion=DOWN)
        self.tracker.set_goal(0, pose, self.now, **more)

    def tick(self):
        self.now += 1.0 / RATE
        command = self.tracker.tick(self.now)
        self.q.append(command.q)
        return command

    def run(self, seconds):
        return [self.tick() for _ in range(round(seconds * RATE))]

    def tip(self, q=None):
        q = self.tracker.q if q is None else q
        return self.robot.forward_kinematics(q, 'panda_hand')[:3, 3]

    def least(self, first=0):
        """The least distance beyond the margin [m], at the commands and between them."""
        rows = np.array(self.q[first:])
        rows = np.concatenate([rows[:-1] + u * np.diff(rows, axis=0) for u in (0.0, 0.5, 1.0)])
        near = [self.judge.distances(q, 0.05) for q in rows]
        return min((pair.distance - pair.margin for one in near for pair in one), default=np.inf)


@pytest.mark.parametrize('jerk', [np.inf, 1000.0])
def test_a_goal_in_an_obstacle_is_approached_to_the_margin_and_then_the_joints_rest(jerk):
    arm = Arm(table(), jerk)
    arm.goal(0.5, 0.0, 0.05)
    arm.run(3.0)
    resting = arm.run(1.0)
    assert {command.status for command in resting} == {TrackStatus.OBSTACLE}
    assert 'table' in arm.tracker.obstacle
    assert not any(command.dq.any() for command in resting)
    assert 0.0 <= arm.least() < 0.002
    assert np.linalg.norm(arm.tip()[:2] - (0.5, 0.0)) < 0.01  # above the goal, not beside it
    arm.goal(0.5, 0.0, 0.5)
    assert arm.run(2.0)[-1].status is TrackStatus.REACHED
    assert arm.tracker.obstacle is None


def test_the_tip_slides_along_a_face_as_fast_as_its_goal():
    arm = Arm(table())
    arm.goal(0.5, -0.15, 0.05)
    arm.run(3.0)
    first = len(arm.q)
    for tick in range(375):
        arm.goal(0.5, -0.15 + 0.2 * tick / RATE, 0.2)
        arm.tick()
    assert arm.tip()[1] > 0.15 - 0.03  # it goes 0.3 m at 0.2 m/s, at most 0.03 m behind
    assert 0.0 <= arm.least() < 0.002
    heights = np.array([arm.tip(q)[2] for q in arm.q[first + 50 :]])
    assert np.ptp(heights) < 0.004


def test_a_line_and_a_jog_stop_on_their_line():
    arm = Arm(table())
    arm.goal(0.5, 0.1, 0.5)
    arm.run(2.0)
    first = len(arm.q)
    arm.goal(0.5, 0.1, 0.05, move='linear')
    assert arm.run(3.0)[-1].status is TrackStatus.OBSTACLE
    off = [np.linalg.norm(arm.tip(q)[:2] - (0.5, 0.1)) for q in arm.q[first:]]
    assert max(off) < 5e-4
    for _ in range(300):
        arm.tracker.set_twist(0, (0.1, 0.0, -0.1), (0.0, 0.0, 0.0), arm.now)
        command = arm.tick()
    assert command.status is TrackStatus.OBSTACLE
    assert not command.dq.any()
    assert arm.least() >= 0.0
    for _ in range(300):  # away from it nothing holds the jog
        arm.tracker.set_twist(0, (0.0, 0.0, 0.1), (0.0, 0.0, 0.0), arm.now)
        command = arm.tick()
    assert arm.tip()[2] > 0.35
    assert command.status is TrackStatus.TRACKING


@pytest.mark.parametrize('jerk', [np.inf, 1000.0])
def test_nothing_that_is_asked_for_breaks_the_margin(jerk):
    """Jumps, twists, joint goals, pauses, brakes, limits and undone ticks, in any order."""
    rng, arm = np.random.default_rng(8), Arm(table(0.25), jerk)
    near = 0
    for _ in range(70):
        draw = rng.random()
        if draw < 0.5:
            arm.goal(*rng.uniform((0.2, -0.6, 0.0), (0.8, 0.6, 0.6)))
        elif draw < 0.6:
            arm.tracker.move_to(rng.uniform(arm.robot.lower, arm.robot.upper))
        elif draw < 0.8:
            arm.tracker.set_twist(0, rng.normal(0.0, 0.4, 3), rng.normal(0.0, 1.0, 3), arm.now)
        elif draw < 0.9:
            arm.tracker.pause(bool(rng.random() < 0.3))
        else:
            scale = rng.uniform(0.3, 1.0)
            rows = arm.limits.rows
            limits = MotionLimits(rows[0], rows[1], rows[2], scale * rows[3], rows[4])
            arm.tracker.set_limits(limits)
        for _ in range(int(rng.integers(5, 80))):
            if rng.random() < 0.02:
                arm.tracker.brake()
            arm.tick()
            if rng.random() < 0.05:
                arm.tracker.undo_tick()
                arm.q.pop()
                arm.q.append(arm.tracker.q)
        near += arm.judge.distance(arm.tracker.q).distance < 0.03
    assert near > 10
    assert arm.least() >= -1e-9


def test_an_obstacle_that_appears_in_motion_is_left_on_the_kept_stop():
    arm = Arm(table(0.0))
    arm.goal(0.7, 0.3, 0.3)
    arm.run(0.25)
    stop = arm.tracker.governor.stop_point(announced=True)
    here, there = (
        arm.robot.forward_kinematics(q, 'panda_leftfinger')[:3, 3] for q in (arm.tracker.q, stop)
    )
    ahead = there + 0.33 * (there - here) / np.linalg.norm(there - here)
    world = arm.tracker.world
    world.add('ball', Sphere(0.3), ik.transform(position=ahead))
    arm.tracker.set_world(world)
    arm.judge, first = Collisions(arm.robot, world), len(arm.q)
    arm.tick()
    assert 'ball' in arm.tracker.obstacle
    arm.run(1.0)
    deepest = arm.judge.distance(stop).distance
    assert deepest < -0.01  # the joints can't stop before it
    assert min(arm.judge.distance(q).distance for q in arm.q[first:]) > deepest - 1e-5
    arm.goal(0.3, 0.0, 0.5)  # away from it the way is free
    assert arm.run(3.0)[-1].status is TrackStatus.REACHED
    assert arm.judge.distance(arm.tracker.q).distance > MARGIN


def test_what_a_link_carries_is_kept_clear_too():
    world, carried = table(0.1), table(0.1)
    carried.attach(
        'rod', Box((0.02, 0.02, 0.2)), 'panda_hand', ik.transform(position=(0.0, 0.0, 0.2)),
        touching=('panda_leftfinger', 'panda_rightfinger'),
    )  # fmt: skip
    heights = []
    for each in (world, carried):
        arm = Arm(each)
        arm.goal(0.5, 0.0, 0.05)
        arm.run(4.0)
        heights.append(arm.tip()[2])
        assert arm.least() >= 0.0
    assert heights[1] > heights[0] + 0.05  # the rod is longer than the fingers, and may lean


def test_what_is_grasped_in_motion_is_kept_clear_from_then_on():
    """A rod that the hand takes up on the way to a table, and judged where it is by hand."""
    arm = Arm(table(0.1))
    arm.goal(0.5, 0.0, 0.05)
    arm.run(0.1)
    assert arm.tracker.dq.any()
    world, rod = arm.tracker.world, ik.transform(position=(0.0, 0.0, 0.2))
    fingers = 'panda_leftfinger', 'panda_rightfinger'
    world.attach('rod', Box((0.02, 0.02, 0.2)), 'panda_hand', rod, touching=fingers)
    arm.tracker.set_world(world)
    first = len(arm.q)
    assert arm.run(4.0)[-1].status is TrackStatus.OBSTACLE
    ends = np.array(
        [(x, y, z, 1.0) for x in (-0.01, 0.01) for y in (-0.01, 0.01) for z in (-0.1, 0.1)]
    )
    lowest = min(
        float((arm.robot.forward_kinematics(q, 'panda_hand') @ rod @ ends.T)[2].min())
        for q in arm.q[first:]
    )
    assert 0.1 + MARGIN <= lowest < 0.1 + MARGIN + 0.003
    carried = arm.tracker.world
    carried.remove('rod')
    arm.tracker.set_world(carried)  # put down: the hand itself goes on
    height = arm.tip()[2]
    arm.run(2.0)
    assert arm.tip()[2] < height - 0.05


def test_lowered_accelerations_wait_for_a_stop_that_is_free():
    """At full speed towards a table, the stop by a tenth of the acceleration would hit it."""
    arm = Arm(table(0.15))
    arm.goal(0.5, 0.0, 0.15)
    while arm.tip()[2] > 0.40:
        arm.tick()
    rows = arm.limits.rows
    arm.tracker.set_limits(MotionLimits(rows[0], rows[1], rows[2], 0.1 * rows[3], rows[4]))
    arm.run(3.0)
    assert arm.least() >= 0.0
    in_force = arm.tracker.governor.limits_in_force.acceleration
    np.testing.assert_array_equal(in_force, 0.1 * rows[3])


def test_an_undone_tick_brings_back_the_kept_stop():
    arm = Arm(table())
    arm.goal(0.5, 0.0, 0.05)
    arm.run(0.3)
    kept = arm.tracker.governor.stop_point(announced=True)
    arm.tick()
    arm.tracker.undo_tick()
    np.testing.assert_array_equal(arm.tracker.governor.stop_point(announced=True), kept)


def test_after_an_error_in_a_check_the_kept_stop_continues(monkeypatch):
    arm = Arm(table())
    arm.goal(0.5, 0.0, 0.05)
    arm.run(0.4)
    governor = arm.tracker.governor
    kept, moving = governor.stop_point(announced=True), arm.tracker.dq
    assert moving.any()

    def fail(*_):
        raise ArithmeticError('a check that fails')

    with monkeypatch.context() as patch:
        patch.setattr(type(governor.clearance), 'shows', fail)
        while not governor.at_rest:
            with pytest.raises(ArithmeticError):
                arm.tick()
            governor.begin_tick()
            governor.give_up()
            arm.q.append(governor.q.copy())
    np.testing.assert_allclose(governor.q, kept, atol=1e-9)
    assert arm.least() >= 0.0


def test_a_recording_replays_the_same_bits(tmp_path):
    arm = Arm(table())
    path = tmp_path / 'panda.npz'
    recorder = Recorder((URDF / 'panda.urdf').read_text())
    arm.tracker.observe(recorder)
    arm.goal(0.5, 0.0, 0.05)
    arm.run(0.5)
    world = arm.tracker.world
    world.add('ball', Sphere(0.05), ik.transform(position=(0.4, 0.3, 0.4)))
    arm.tracker.set_world(world)
    arm.goal(0.4, 0.3, 0.4)
    arm.run(1.0)
    recorder.save(path)
    assert [each.is_same for each in replay(read_recording(path))] == [True]


def test_arguments_that_do_not_fit_are_refused():
    robot = ik.load_robot('panda')
    goal = ik.PoseTask('panda_hand')
    collisions = Collisions(robot)
    plain, avoiding = ik.IkProblem(robot, [goal]), ik.IkProblem(robot, [goal], avoid=collisions)
    limits = MotionLimits.of(robot, acceleration=10.0)
    with pytest.raises(InvalidOption, match='give it once'):
        Tracker(avoiding, RATE, limits=limits, avoid=collisions)
    with pytest.raises(InvalidOption, match='Collisions of this robot'):
        Tracker(plain, RATE, limits=limits, avoid=Collisions(ik.load_robot('panda')))
    with pytest.raises(UnsupportedProblem, match='avoids nothing'):
        Tracker(plain, RATE, limits=limits).set_world(table())
    tracker = Tracker(plain, RATE, limits=limits, avoid=collisions)
    with pytest.raises(InvalidOption, match=r'an ik\.World is needed'):
        tracker.set_world('table')
    world = table()
    world.attach('tool', Sphere(0.1), 'no_such_link')
    with pytest.raises(ik.FrameNotFound, match='no_such_link'):
        tracker.set_world(world)
    assert len(tracker.world) == 0


# A ur5e whose upper arm is 5 um beyond the margin of its base, along which their edges lie.
AT_ITS_BASE = np.array([-0.3514838, 1.4178091, 1.1211698, 1.5283, -1.7682469, 1.2810664])


def test_joints_that_rest_at_an_obstacle_move_away_from_it():
    robot = ik.load_robot('ur5e')
    collisions = Collisions(robot)
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')], avoid=collisions)
    limits = MotionLimits.of(robot, acceleration=10.0)
    (pair,) = (
        each
        for each in collisions.distances(AT_ITS_BASE, 0.0055)
        if each.first == 'upper_arm_link' and each.second == 'base_link_inertia'
    )
    assert 0.0 < pair.distance - pair.margin < 2e-5
    away = AT_ITS_BASE + np.array([0.3, -0.3, 0.3, -0.3, 0.3, -0.3])
    tracker = Tracker(problem, 50.0, limits=limits, q0=AT_ITS_BASE)
    tracker.set_goal(0, robot.forward_kinematics(away, 'tool0'), 0.0)
    statuses = [tracker.tick(k / 50.0).status for k in range(1, 101)]
    assert statuses[-1] is TrackStatus.REACHED
    np.testing.assert_allclose(tracker.q, away, atol=1e-3)


def random_boxes(rng, count):
    """A world of boxes around an arm."""
    world = ik.World()
    for i in range(count):
        place = rng.uniform((-0.9, -0.9, -0.6), (0.9, 0.9, 1.2))
        world.add(f'box {i}', Box(rng.uniform(0.05, 0.2, 3)), ik.transform(position=place))
    return world


@pytest.mark.parametrize('seed', range(1, 5))
def test_an_arm_among_boxes_does_not_stop_and_go(seed):
    """It seldom rests on its way, and stands for good where it ends."""
    rng, robot = np.random.default_rng(seed), ik.load_robot('ur5e')
    collisions = Collisions(robot, random_boxes(rng, 12))
    poses = rng.uniform(-2.5, 2.5, (200, 6))
    poses = poses[collisions.free(poses)]
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')], avoid=collisions)
    limits = MotionLimits.of(robot, acceleration=10.0)
    tracker = Tracker(problem, 50.0, limits=limits, q0=poses[0])
    now = 0.0
    for pose in poses[1:7]:
        tracker.set_goal(0, robot.forward_kinematics(pose, 'tool0'), now)
        starts, is_moving = 0, False
        for _ in range(500):
            now += 0.02
            command = tracker.tick(now)
            speed = np.abs(command.dq).max()
            starts += not is_moving and speed > 0.05
            is_moving = speed > (0.01 if is_moving else 0.05)  # [rad/s]
        assert starts <= 3
        assert command.status in (TrackStatus.REACHED, TrackStatus.OBSTACLE)
        assert not command.dq.any()
