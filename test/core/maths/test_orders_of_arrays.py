# SPDX-License-Identifier: Apache-2.0
"""Arrays in column-major order, and rows that are not aligned, count as any others."""

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import Box

ROBOT = ik.load_robot('panda')
TIP, Q = 'panda_hand_tcp', ROBOT.middle_configuration
POSE = ROBOT.forward_kinematics(Q + 0.1, TIP)


def obstacle(pose):
    world = ik.World()
    world.add('box', Box((0.1, 0.1, 0.1)), pose)
    world.move('box', pose)
    return world['box'].pose


def tracked(pose):
    limits = ik.MotionLimits.of(ROBOT, acceleration=5.0)
    tracker = ik.Tracker(ik.IkProblem(ROBOT, [ik.PoseTask(TIP)]), rate=100, limits=limits)
    tracker.set_goal(0, pose, now=0.0)
    return tracker.tick(0.01).q


CALLS = {
    'a task': lambda pose: ik.PoseTask(TIP, transform=pose).target,
    'a tool': lambda pose: ik.PoseTask(TIP, transform=POSE, tool=pose).tool,
    'a solve': lambda pose: ik.solve(ROBOT, pose, Q, TIP).q,
    'a transform': ik.transform,
    'a rounded transform': lambda pose: ik.transform(pose, normalise=True),
    'a rotation': lambda pose: ik.transform(rotation=pose[:3, :3]),
    'an obstacle': obstacle,
    'a tracker': tracked,
    'a batch': lambda pose: (
        ik.solve_batch(
            ik.IkProblem(ROBOT, [ik.PoseTask(TIP)]), np.array([pose, pose], order='F')
        ).q
    ),
}


@pytest.mark.parametrize('call', CALLS.values(), ids=CALLS)
def test_transforms_in_column_major_order_are_taken(call):
    given = np.asfortranarray(POSE)
    np.testing.assert_array_equal(call(given), call(POSE))
    np.testing.assert_array_equal(given, POSE)


def test_rows_that_are_not_aligned_or_in_column_major_order_are_taken():
    rows = Q + np.linspace(0.0, 0.1, 5)[:, np.newaxis]
    packed = np.frombuffer(b'x' + rows.tobytes(), offset=1).reshape(rows.shape)
    assert not packed.flags.aligned
    expected = ROBOT.forward_kinematics(rows, TIP)
    collisions = ik.Collisions(ROBOT)
    for given in (packed, np.asfortranarray(rows), rows[::-1][::-1]):
        np.testing.assert_array_equal(ROBOT.forward_kinematics(given, TIP), expected)
        np.testing.assert_array_equal(collisions.free(given), collisions.free(rows))
