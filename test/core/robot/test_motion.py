# SPDX-License-Identifier: Apache-2.0
"""Motions: checked when they are made, resampled, unwrapped, and matched to a robot by name."""

import math

import numpy as np
import pytest
from support import robots

import ik_core as ik


def a_motion(frames=5, n=3, period=0.1):
    rng = np.random.default_rng(0)
    names = tuple(f'joint{i}' for i in range(n))
    return ik.motion.Motion(names, rng.uniform(-1, 1, (frames, n)), period)


def test_times_follow_from_the_period():
    motion = a_motion(frames=5, period=0.1)
    assert len(motion) == motion.n_frames == 5
    assert motion.duration == pytest.approx(0.4)
    assert motion.rate == pytest.approx(10.0)
    assert repr(motion) == '<Motion of 3 joints: 5 frames at 10 Hz>'


def test_a_motion_keeps_its_own_read_only_positions():
    source = np.zeros((2, 1))
    motion = ik.motion.Motion(['a'], source, 1.0)
    source[0, 0] = 7.0
    assert motion[0] == [0.0]
    assert motion.joint_names == ('a',)
    with pytest.raises(ValueError, match='read-only'):
        motion.positions[0, 0] = 1.0


@pytest.mark.parametrize(
    ('names', 'positions', 'period', 'says'),
    [
        (['a'], [[0.0, 1.0]], 0.1, r'shape \(1, 2\); \(frames, 1\)'),
        (['a'], [0.0], 0.1, 'shape'),
        (['a'], np.zeros((0, 1)), 0.1, 'at least one frame'),
        ([], np.zeros((2, 0)), 0.1, 'at least one frame and joint'),
        (['a', 'b'], [[0.0, 1.0], [2.0, np.nan]], 0.1, "'b' at frame 1 is not finite"),
        (['a', 'a'], [[0.0, 1.0]], 0.1, 'named twice: a'),
        (['a'], [['x']], 0.1, 'not an array of numbers'),
        (['a'], [[0.0], [0.0, 1.0]], 0.1, 'not an array of numbers'),
        (['a'], [[0.0]], 0.0, 'period 0.0'),
        (['a'], [[0.0]], math.nan, 'period nan'),
        (['a'], [[0.0]], '0.1s', 'period'),
        (['a'], [[0.0]], 1e-320, 'period'),
    ],
)
def test_what_is_no_motion_is_refused(names, positions, period, says):
    with pytest.raises(ik.motion.InvalidMotion, match=says):
        ik.motion.Motion(names, positions, period)


def test_a_part_of_a_motion_is_a_motion():
    motion = a_motion(frames=7, period=0.1)
    part = motion[2:5]
    np.testing.assert_array_equal(part.positions, motion.positions[2:5])
    assert part.period == motion.period
    every_third = motion[1::3]
    np.testing.assert_array_equal(every_third.positions, motion.positions[[1, 4]])
    assert every_third.period == pytest.approx(0.3)
    assert motion[::-1].period == motion.period
    np.testing.assert_array_equal(motion[-1], motion.positions[6])
    with pytest.raises(ik.motion.InvalidMotion, match='at least one frame'):
        motion[7:]


def test_resampling_keeps_a_straight_line_and_its_ends():
    times = 0.1 * np.arange(11)
    motion = ik.motion.Motion(('a', 'b'), np.stack([2.0 * times, 1.0 - times], 1), 0.1)
    for period in (0.05, 0.03, 0.1, 0.25, 1.0, 3.0):
        finer = motion.resampled(period)
        t = period * np.arange(finer.n_frames)
        np.testing.assert_allclose(finer.positions, np.stack([2.0 * t, 1.0 - t], 1), atol=1e-12)
        assert finer.period == period
        assert motion.duration - period < finer.duration <= motion.duration + 1e-9
    assert motion.resampled(0.05).n_frames == 21


def test_a_period_for_billions_of_frames_is_refused():
    with pytest.raises(ik.motion.InvalidMotion, match='more than'):
        ik.motion.Motion(('a',), [[0.0], [1.0]], 100.0).resampled(1e-9)


def test_unwrapping_undoes_whole_turns():
    smooth = np.linspace(0.0, 20.0, 60)
    wrapped = (smooth + np.pi) % (2.0 * np.pi) - np.pi
    motion = ik.motion.Motion(('turning', 'sliding'), np.stack([wrapped, 4.0 * wrapped], 1), 0.1)
    np.testing.assert_allclose(motion.unwrapped(['turning']).positions[:, 0], smooth, atol=1e-12)
    np.testing.assert_array_equal(
        motion.unwrapped(['turning']).positions[:, 1], motion.positions[:, 1]
    )
    np.testing.assert_allclose(motion.unwrapped().positions[:, 0], smooth, atol=1e-12)
    with pytest.raises(ik.motion.InvalidMotion, match='does not move rolling'):
        motion.unwrapped(['rolling'])


def test_positions_of_a_robot_are_found_by_name():
    robot = robots.shipped('ur5e')
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, (4, robot.n))
    order = rng.permutation(robot.n)
    names = ('gripper', *(robot.joint_names[i] for i in order))
    motion = ik.motion.Motion(names, np.column_stack([np.ones(4), q[:, order]]), 0.1)
    np.testing.assert_array_equal(motion.positions_of(robot), q)


def test_a_joint_that_the_motion_lacks_is_named():
    robot = robots.shipped('ur5e')
    motion = ik.motion.Motion(robot.joint_names[:-1], np.zeros((2, robot.n - 1)), 0.1)
    with pytest.raises(ik.motion.InvalidMotion, match=robot.joint_names[-1]):
        motion.positions_of(robot)
