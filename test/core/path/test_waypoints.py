# SPDX-License-Identifier: Apache-2.0
"""Poses of a path: interpolation, samples, and what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import ik_core as ik
from ik_core.path.waypoints import FARTHEST, WIDEST, waypoints


def random_poses(count, seed=0, size=0.01):
    rng = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = np.cumsum(rng.normal(scale=size, size=(count, 3)), axis=0)
    poses[:, :3, :3] = Rotation.from_rotvec(rng.normal(size=(count, 3))).as_matrix()
    return poses


def made(poses, times=None, length=0.2):
    return waypoints(poses, times, 'base', length)


def test_poses_between_are_on_lines_and_slerp():
    poses = random_poses(5)
    path = made(poses)
    places = np.linspace(0.0, path.length, 101)
    found = path.at(places)
    slerp = Slerp(path.places, Rotation.from_matrix(poses[:, :3, :3]))
    np.testing.assert_allclose(found[:, :3, :3], slerp(places).as_matrix(), atol=1e-12)
    for k in range(3):
        line = np.interp(places, path.places, poses[:, k, 3])
        np.testing.assert_allclose(found[:, k, 3], line, atol=1e-15)


def test_length_counts_a_radian_as_the_orientation_length():
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[1, 0, 3] = 0.3
    poses[1, :3, :3] = Rotation.from_rotvec([0.0, 0.0, 2.0]).as_matrix()
    assert np.isclose(made(poses).length, np.hypot(0.3, 0.4))


def test_samples_are_close_and_include_all_poses():
    path = made(random_poses(4, size=0.2))
    samples = path.samples()
    assert np.isin(path.places, samples).all()
    between = path.at(samples)
    assert np.linalg.norm(np.diff(between[:, :3, 3], axis=0), axis=1).max() <= FARTHEST + 1e-12
    turns = Rotation.from_matrix(between[:, :3, :3])
    assert (turns[:-1].inv() * turns[1:]).magnitude().max() <= WIDEST + 1e-12


def test_sharp_corners_are_those_with_small_arcs():
    poses = np.tile(np.eye(4), (5, 1, 1))
    directions = np.radians([0.0, 30.0, 120.0, 300.0])  # turns by 30, 90 and 180 degrees
    steps = 0.1 * np.column_stack([np.cos(directions), np.sin(directions)])
    poses[1:, :2, 3] = np.cumsum(steps, axis=0)
    path = made(poses)
    np.testing.assert_allclose(path.corners(1e-4, 1e-3, 0.2), [0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(path.corners(1e-3, 1e-3, 0.2), [0.3], atol=1e-12)
    np.testing.assert_allclose(path.corners(1e-4, 1e-2, 0.2), [0.1, 0.2, 0.3], atol=1e-12)


def test_change_of_the_axis_of_a_turn_is_a_corner():
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[1, :3, :3] = Rotation.from_rotvec([0.5, 0.0, 0.0]).as_matrix()
    poses[2, :3, :3] = poses[1, :3, :3] @ Rotation.from_rotvec([0.0, 0.5, 0.0]).as_matrix()
    np.testing.assert_allclose(made(poses).corners(1e-4, 1e-3, 0.2), [0.1], atol=1e-12)


def test_equal_poses_in_succession_count_once():
    poses = random_poses(3)
    path = made(poses[[0, 0, 1, 1, 1, 2]])
    assert path.poses.tolist() == [0, 2, 5]
    np.testing.assert_allclose(path.given_places, path.places[[0, 0, 1, 1, 1, 2]])


def test_pose_between_poses_has_a_fraction():
    path = made(random_poses(3), times=[0.0, 1.0, 3.0])
    assert path.pose_at(2.0) == 1.5


@pytest.mark.parametrize(
    ('poses', 'times', 'error', 'text'),
    [
        (random_poses(1), None, ik.InvalidGoal, 'two poses or more, and 1 is given'),
        (np.tile(np.eye(4), (4, 1, 1)), None, ik.InvalidGoal, 'all 4 are equal'),
        (random_poses(3)[:, :3], None, ik.InvalidGoal, r'poses have shape \(3, 3, 4\)'),
        (np.full((3, 4, 4), np.nan), None, ik.InvalidGoal, r'poses\[0\]'),
        (np.broadcast_to(np.eye(4), (10**6, 4, 4)), None, ik.InvalidGoal, 'every 10th of them'),
        (
            random_poses(3),
            [0.0, 2.0, 1.0],
            ik.InvalidOption,
            '2 s at pose 1 to 1 s at pose 2',
        ),
        (random_poses(3), [0.0, 1.0], ik.InvalidOption, r'shape \(2,\); \(3,\)'),
        (random_poses(3), [0.0, np.inf, 1.0], ik.InvalidOption, r'times\[1\] is not finite'),
        (random_poses(3), 'now', ik.InvalidOption, 'not numbers'),
    ],
)
def test_bad_input_is_refused_with_a_sentence(poses, times, error, text):
    with pytest.raises(error, match=text):
        made(poses, times)


def test_path_in_millimetres_is_refused():
    poses = random_poses(3)
    poses[:, :3, 3] *= 1e6
    with pytest.raises(ik.InvalidGoal, match='are its positions in metres'):
        made(poses).samples()
