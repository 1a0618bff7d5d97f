# SPDX-License-Identifier: Apache-2.0
"""Frames that are carried by twists, and the way from one to another."""

import numpy as np
from scipy.spatial.transform import Rotation

from ik_core.tracking.goals import cartesian


def test_a_frame_carried_by_a_twist_turns_about_its_own_origin():
    rng = np.random.default_rng(1)
    for _ in range(20):
        start, twist = Rotation.random(random_state=rng), rng.normal(size=6)
        frame = np.concatenate([start.as_matrix().ravel(), rng.normal(size=3)])
        origin = frame[9:].copy()
        cartesian.carry(frame, twist, 0.3)
        turned = Rotation.from_rotvec(0.3 * twist[3:]) * start
        np.testing.assert_allclose(frame[:9].reshape(3, 3), turned.as_matrix(), atol=1e-12)
        np.testing.assert_allclose(frame[9:], origin + 0.3 * twist[:3], atol=1e-12)


def test_the_way_between_two_frames_carries_the_one_to_the_other():
    rng = np.random.default_rng(2)
    for _ in range(20):
        rotations = Rotation.random(2, random_state=rng).as_matrix().reshape(2, 9)
        a, b = np.hstack([rotations, rng.normal(size=(2, 3))])
        way = np.empty(6)
        cartesian.way_between(a, b, way)
        cartesian.carry(a, way, 1.0)
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_a_frame_that_is_carried_a_million_times_stays_a_rotation():
    frame = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    twist = np.array([0.0, 0.0, 0.0, 0.3, -0.2, 0.9])
    for _ in range(20000):
        cartesian.carry(frame, twist, 0.7)
    rotation = frame[:9].reshape(3, 3)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
