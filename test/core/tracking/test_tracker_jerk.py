# SPDX-License-Identifier: Apache-2.0
"""Moves of a tracker within jerk limits."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.tracked_arms import PERIOD, moved, new_tracker, pose, shipped_of, ticks

from ik_core.tracking import MotionLimits, TrackStatus


@pytest.mark.parametrize('jerk', [20.0, 200.0])
@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_linear_move_within_jerk_limits_bends_by_millimetres(name, jerk):
    tracker = new_tracker(name, linear_velocity=0.2, linear_acceleration=0.8)
    start, shift = pose(tracker), np.array([0.09, 0.075, -0.105])
    limits = MotionLimits.of(shipped_of(tracker), acceleration=20.0, jerk=jerk)
    tracker.set_limits(limits)
    tracker.set_goal(0, moved(start, shift), 0.0, move='linear')
    commands = ticks(tracker, 0, 1800)
    assert commands[-1].status is TrackStatus.REACHED
    path = np.array([pose(tracker, command.q) for command in commands])
    off = np.cross(path[:, :3, 3] - start[:3, 3], shift) / np.linalg.norm(shift)
    assert np.linalg.norm(off, axis=1).max() < 2.5e-3
    turned = Rotation.from_matrix(path[:, :3, :3] @ start[:3, :3].T).magnitude()
    assert turned.max() < 0.03


def test_moves_keep_the_jerk_and_all_joints_arrive_together():
    tracker = new_tracker()
    robot = shipped_of(tracker)
    q0, goal = tracker.q, moved(pose(tracker), [0.1, 0.05, -0.12])
    tracker.set_limits(MotionLimits.of(robot, acceleration=5.0, jerk=50.0))
    tracker.set_goal(0, goal, 0.0)
    commands = ticks(tracker, 0, 1000)
    assert commands[-1].status is TrackStatus.REACHED
    q = np.array([q0, *(command.q for command in commands)])
    jerk = np.diff(q, 3, axis=0) / PERIOD**3
    assert np.abs(jerk).max() <= 50.0 * (1 + 1e-6) + 1e-3
    moving = np.abs(q[-1] - q0) > 1e-3
    share = (q - q0)[:, moving] / (q[-1] - q0)[moving]
    half = [int(np.argmax(share[:, i] > 0.999)) for i in range(share.shape[1])]
    assert np.ptp(half) <= 20
