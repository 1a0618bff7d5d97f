# SPDX-License-Identifier: Apache-2.0
"""Ways whose speed is linear in the way gone: their shape, their limits, their end."""

import copy

import numpy as np
import pytest

import ik_core as ik
from ik_core.tracking import MotionLimits
from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.joint_motion import JointMotion
from ik_core.tracking.governor.slow_in_out import LEAST_SPEED, RAMP, SlowInOut, top_speed

PERIOD = 0.005
TARGET = np.array([1.0, -0.4])


def limits(jerk=np.inf, acceleration=4.0):
    return MotionLimits(
        np.full(2, -5.0), np.full(2, 5.0), np.array([1.5, 2.0]), np.full(2, acceleration), jerk
    )


def motion(**changes):
    made = JointMotion(Governor(limits(**changes), PERIOD, np.zeros(2)), [[0], [0, 1]])
    made.speed_profile = 'linear'
    made.jump()
    return made


def ticks(joints, target, count):
    """The joints (count, 2) on their way."""
    rows = []
    for _ in range(count):
        joints.follow(target, None, {})
        rows.append(joints.q.copy())
    return np.array(rows)


def derivatives(way):
    """Velocities, accelerations and jerks of the way, by differences."""
    still = np.vstack([np.zeros((3, 2)), way])
    return [np.diff(still, k, axis=0) / PERIOD**k for k in (1, 2, 3)]


def test_the_speed_is_linear_in_the_way_gone_and_in_the_way_left():
    way = ticks(motion(), TARGET, 1000)
    speed = np.diff(way[:, 0], prepend=0.0) / PERIOD
    gone = np.append(0.0, way[:-1, 0])
    top = speed.max()
    rising = (gone > 0.05) & (gone < 0.9 * RAMP)
    np.testing.assert_allclose(speed[rising], top * gone[rising] / RAMP, rtol=0.01)
    falling = (gone < 0.95) & (gone > 1.0 - 0.9 * RAMP)
    np.testing.assert_allclose(speed[falling], top * (1.0 - gone[falling]) / RAMP, rtol=0.03)
    assert rising.sum() > 20
    assert falling.sum() > 20


@pytest.mark.parametrize(('jerk', 'off'), [(np.inf, 1e-3), (30.0, 0.01)])
def test_joints_arrive_exactly_together_on_a_straight_line_and_stay(jerk, off):
    """With a jerk limit each joint rounds the corner, where the rise ends, by itself."""
    joints = motion(jerk=jerk)
    way = ticks(joints, TARGET, 2500)
    np.testing.assert_array_equal(way[-1], TARGET)
    assert joints.governor.at_rest
    assert not joints.synchronized
    np.testing.assert_allclose(way[:, 1], -0.4 * way[:, 0], atol=off)


@pytest.mark.parametrize('jerk', [np.inf, 30.0])
def test_the_limits_are_kept_though_the_goal_jumps_on_the_way(jerk):
    joints = motion(jerk=jerk)
    way = [ticks(joints, TARGET, 150)]
    for target in (np.array([-1.0, 1.0]), np.array([0.3, 0.9])):
        joints.jump()
        way.append(ticks(joints, target, 130))
    velocity, acceleration, jerks = derivatives(np.vstack(way))
    assert (np.abs(velocity) <= limits().velocity * (1 + 1e-9)).all()
    assert np.abs(acceleration).max() <= 4.0 * (1 + 1e-6)
    if jerk < np.inf:
        assert np.abs(jerks).max() <= jerk * (1 + 1e-3)


def test_from_motion_it_goes_on_as_fast_as_the_joints_go():
    approach = SlowInOut(np.zeros(2), np.array([0.5, -0.2]))
    _, velocity = approach.advance(TARGET, limits(), PERIOD)
    np.testing.assert_allclose(velocity, [0.5, -0.2], rtol=1e-9)
    back = SlowInOut(np.zeros(2), np.array([-0.5, 0.2]))
    _, velocity = back.advance(TARGET, limits(), PERIOD)
    top = top_speed(TARGET, RAMP, limits())
    np.testing.assert_allclose(velocity, LEAST_SPEED * top * TARGET)


def test_the_top_speed_is_that_of_the_joint_that_meets_its_limit_first():
    assert top_speed(np.array([1.0, 0.5]), 100.0, limits()) == pytest.approx(0.95 * 1.5)
    assert top_speed(np.array([0.5, 1.0]), 100.0, limits()) == pytest.approx(0.95 * 2.0)
    assert top_speed(np.array([1.0, 0.0]), 0.01, limits()) == pytest.approx(0.038**0.5)
    slow = top_speed(np.array([1.0, 0.0]), 0.01, limits(jerk=0.5))
    assert slow == pytest.approx((0.95 * 0.5 * 1e-4) ** (1 / 3))


def test_without_limits_it_arrives_at_once():
    free = MotionLimits(*np.full((2, 2), [[-5.0], [5.0]]), *np.full((2, 2), np.inf))
    point, velocity = SlowInOut(np.zeros(2), np.zeros(2)).advance(TARGET, free, PERIOD)
    np.testing.assert_array_equal(point, TARGET)
    assert velocity is None


def test_a_snapshot_goes_on_the_same_way():
    joints = motion()
    ticks(joints, TARGET, 60)
    other = JointMotion(joints.governor.copy(), [[0], [0, 1]])
    other.speed_profile = 'linear'
    for name in JointMotion.OWN:
        setattr(other, name, copy.deepcopy(getattr(joints, name)))
    np.testing.assert_array_equal(ticks(other, TARGET, 100), ticks(joints, TARGET, 100))


def test_a_tracker_goes_by_it_and_can_be_told_otherwise_on_the_way():
    robot = ik.robot.linkage(3, 'two_angle')
    start, goal = np.full(6, 0.3), np.array([-0.5, 0.4, 0.3, 0.2, -0.3, 0.5])
    problem = ik.IkProblem(robot, [ik.PositionTask('tip')])
    speeds = MotionLimits.of(robot, velocity=1.5, acceleration=4.0)
    options = ik.tracking.TrackerOptions(speed_profile='linear')
    tracker = ik.Tracker(problem, 100.0, limits=speeds, options=options, q0=start)
    tracker.set_goal(0, robot.forward_kinematics(goal, 'tip'), 0.0)
    early = [np.abs(tracker.tick(0.0).q - start).max() for _ in range(12)]
    assert early[-1] < 0.03  # half of 4 rad/s^2 times 0.12 s squared is as much
    tracker.set_options(ik.tracking.TrackerOptions())
    for _ in range(300):
        command = tracker.tick(0.0)
    assert command.status is ik.tracking.TrackStatus.REACHED
