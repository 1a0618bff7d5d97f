# SPDX-License-Identifier: Apache-2.0
"""How fast joints move two pieces against each other: bounds that no configuration exceeds."""

from __future__ import annotations

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import Box, Collisions
from ik_core.maths.rotations import transform_of

STEP = 1e-6


def points_of(model, i):
    """Points of piece i with its thickness, in the frame of its body."""
    first, last = model['span'][i]
    points = model['corners'][first:last].transpose(0, 2, 1).reshape(-1, 3)
    return points[:2] if model['kind'][i] == 1 else points


def frames_of(robot, q):
    return [np.eye(4), *(transform_of(frame) for frame in robot.frames(q))]


@pytest.fixture(scope='module')
def collisions():
    """A panda, whose fingers slide and mimic each other, that carries a box."""
    world = ik.World()
    world.add('table', Box((0.5, 1.0, 0.04)), ik.transform(position=(0.6, 0.0, 0.2)))
    world.attach('tool', Box((0.02, 0.3, 0.02)), 'panda_hand', ik.transform(position=(0, 0, 0.15)))
    return Collisions(ik.load_robot('panda'), world)


def test_no_joint_moves_a_piece_by_more_than_its_reach(collisions):
    robot, rng = collisions.robot, np.random.default_rng(3)
    model, found = collisions.approaches(False)
    largest = np.zeros_like(found.reach)
    for _ in range(60):
        q = rng.uniform(robot.lower, robot.upper)
        here = frames_of(robot, q)
        for j in range(robot.n):
            moved = q.copy()
            moved[j] += STEP
            there = frames_of(robot, moved)
            for (i, k), path, cut in zip(
                model['pairs'][:, :2].tolist(), found.path, found.cut, strict=True
            ):
                speed = 0.0
                for piece in (i, k):
                    body, points = int(model['body'][piece]), points_of(model, piece)
                    if not len(points):
                        continue
                    a, b = (np.linalg.inv(f[cut]) @ f[body] for f in (here, there))
                    step = points @ (b - a)[:3, :3].T + (b - a)[:3, 3]
                    speed += np.linalg.norm(step, axis=1).max() / STEP
                assert speed <= found.reach[path, j] + 1e-6
                largest[path, j] = max(largest[path, j], speed)
    moves = found.reach > 0.0
    assert (largest[moves] > 1e-9).mean() > 0.9  # but not cylinders around their own axis
    assert np.median(largest[moves] / found.reach[moves]) > 0.5  # and few reach much less far


def test_turns_count_revolute_joints_of_the_path(collisions):
    robot = collisions.robot
    _, found = collisions.approaches(False)
    slides = np.array([name.endswith('finger_joint1') for name in robot.joint_names])
    assert (found.turn[:, slides] == 0.0).all()
    assert set(np.unique(found.turn[:, ~slides])) <= {0.0, 1.0}
    assert ((found.reach[:, ~slides] > 0.0) == (found.turn[:, ~slides] > 0.0)).all()
