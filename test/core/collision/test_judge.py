# SPDX-License-Identifier: Apache-2.0
"""Distances beside closed forms, and beside coal where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from support.robots import URDF, random_transform

import ik_core as ik
from ik_core.collision import Box, Collisions, Cylinder, Plane, Sphere, World
from ik_core.collision.piece import piece_of

SHIPPED = ('panda', 'ur5e', 'iiwa14', 'dual_arm')


def test_a_ball_and_a_cylinder_are_as_far_apart_as_the_closed_form_says() -> None:
    """Over a flat end the direction is that of the axis: what rounding leaves across it must not
    be scaled up to the rim."""
    robot = ik.load_robot(URDF / 'panda.urdf')
    rng, radius, length, ball = np.random.default_rng(0), 0.1, 0.3, 0.02
    cylinder = piece_of(Cylinder(radius, length), 'panda_link7', random_transform(rng))
    world = World()
    world.add('ball', Sphere(ball))
    collisions = Collisions(robot, world, 0.0, pieces=[cylinder])
    axis = cylinder.corners[1] - cylinder.corners[0]
    axis /= np.linalg.norm(axis)
    for _ in range(300):
        q = robot.lower + rng.random(robot.n) * (robot.upper - robot.lower)
        frame = robot.forward_kinematics(q, 'panda_link7')
        across = np.cross(axis, rng.normal(size=3))
        across /= np.linalg.norm(across)
        rho, z = rng.uniform(0.0, 0.2), rng.uniform(0.0, 0.4)
        expected = np.hypot(max(rho - radius, 0.0), max(z - 0.5 * length, 0.0)) - ball
        if expected < 1e-6:
            continue
        at = frame @ np.append(cylinder.corners.mean(axis=0) + z * axis + rho * across, 1.0)
        world.move('ball', ik.transform(position=at[:3]))
        found = collisions.distance(q)
        assert found.distance == pytest.approx(expected, abs=1e-15)
        out = max(rho - radius, 0.0) * across + max(z - 0.5 * length, 0.0) * axis
        normal = frame[:3, :3] @ out / (expected + ball)
        np.testing.assert_allclose(found.normal, normal, atol=1e-13)
        np.testing.assert_allclose(found.points[1], at[:3] - ball * normal, atol=1e-14)
        np.testing.assert_allclose(
            found.points[0], found.points[1] - expected * normal, atol=1e-14
        )


def test_a_cylinder_over_a_table_is_as_far_away_as_its_lowest_point() -> None:
    """The nearest point is inside a large face, whose corners see every wrong angle."""
    robot, radius, length = ik.load_robot(URDF / 'panda.urdf'), 0.06, 0.2
    rng, seen = np.random.default_rng(5), 0
    cylinder = piece_of(Cylinder(radius, length), 'panda_link7', random_transform(rng))
    world = World()
    world.add('table', Box((0.8, 1.2, 0.05)))
    collisions = Collisions(robot, world, 0.0, pieces=[cylinder])
    for _ in range(1000):
        q = rng.uniform(robot.lower, robot.upper)
        frame = robot.forward_kinematics(q, 'panda_link7')
        ends = cylinder.corners @ frame[:3, :3].T + frame[:3, 3]
        table = ik.transform(position=rng.uniform(-0.5, 0.5, 3), rpy=rng.uniform(-0.5, 0.5, 3))
        up = table[:3, 2]
        axis = (ends[1] - ends[0]) / length
        across = up - (up @ axis) * axis
        lowest = ends[np.argmin(ends @ up)] - radius * across / np.linalg.norm(across)
        x, y, z = table[:3, :3].T @ (lowest - table[:3, 3])
        if z < 0.026 or abs(x) > 0.4 or abs(y) > 0.6:
            continue
        world.move('table', table)
        found = collisions.distance(q)
        assert found.distance == pytest.approx(z - 0.025, abs=1e-14)
        np.testing.assert_allclose(found.normal, -up, atol=1e-13)
        np.testing.assert_allclose(found.points[0], lowest, atol=1e-12)
        seen += 1
    assert seen > 50


def obstacles() -> World:
    world = World()
    world.add('floor', Plane(), ik.transform(position=(0.0, 0.0, -0.4)))
    world.add('can', Cylinder(0.1, 0.3), ik.transform(position=(0.3, 0.4, 0.5), rpy=(0.5, 0.2, 0)))
    world.add('ball', Sphere(0.15), ik.transform(position=(0.3, -0.4, 0.5)))
    return world


@pytest.mark.parametrize('name', SHIPPED)
def test_distances_and_verdicts_agree_with_coal(name: str) -> None:
    pytest.importorskip('coal')
    from benchmark.coal_judge import CoalJudge

    robot = ik.load_robot(URDF / f'{name}.urdf')
    collisions = Collisions(robot, obstacles(), margin=0.0)
    judge, rng = CoalJudge(collisions), np.random.default_rng(1)
    for _ in range(60):
        q = robot.lower + rng.random(robot.n) * (robot.upper - robot.lower)
        truth = judge.distances(q)
        ours = {(pair.first, pair.second): pair for pair in collisions.distances(q, 50.0)}
        least = min(truth.values())
        if abs(least) > 1e-9:
            assert collisions.free(q) == (least > 0.0)
        for names, distance in truth.items():
            found = ours.get(names) or ours[names[::-1]]
            if distance > 1e-9 and abs(found.distance - distance) > 1e-9:  # coal's error?
                pair = found.first, found.second
                gap = judge.gap(q, pair, found.normal, found.distance)
                assert gap == pytest.approx(found.distance, abs=1e-9)
            elif distance <= 1e-9:
                assert found.distance <= 1e-9


@pytest.mark.parametrize('name', SHIPPED)
def test_gradients_agree_with_differences(name: str) -> None:
    pytest.importorskip('scipy')
    from benchmark.collision_judge import Comparison, compare_slopes

    robot, found = ik.load_robot(URDF / f'{name}.urdf'), Comparison()
    collisions, rng = Collisions(robot, obstacles()), np.random.default_rng(2)
    for _ in range(40):
        compare_slopes(collisions, rng.uniform(robot.lower, robot.upper), found)
    assert found.slopes > 50
    assert found.slope_error < 3e-9
    assert found.jumps < 0.05 * found.slopes


def test_normals_between_cylinders_agree_with_differences() -> None:
    """Walls, rims and flat ends, at angles and parallel: the way is known to far more than the
    square root of rounding."""
    pytest.importorskip('scipy')
    from benchmark.collision_judge import Comparison, compare_slopes

    robot, found = ik.load_robot(URDF / 'panda.urdf'), Comparison()
    rng = np.random.default_rng(3)
    for k in range(60):
        turn = np.eye(4) if k % 6 == 0 else random_transform(rng)
        rod = piece_of(Cylinder(0.05, 0.3), 'panda_link7', turn)
        world = World()
        world.add('can', Cylinder(0.1, 0.2), ik.transform(position=rng.uniform(-0.8, 0.8, 3)))
        collisions = Collisions(robot, world, 0.0, pieces=[rod])
        compare_slopes(collisions, rng.uniform(robot.lower, robot.upper), found)
    assert found.slopes > 250
    assert found.slope_error < 3e-9
    assert found.jumps < 0.05 * found.slopes
