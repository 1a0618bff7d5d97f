# SPDX-License-Identifier: Apache-2.0
"""Arcs for ranges and cones for reach cones, where a scene that only remembers has them."""

import numpy as np
import pytest
from support import robots
from support.fake_scene import FakeScene

from ik_core.robot import human_cones
from ik_core.robot.outline import STEPS
from ik_viewer.drawing.colours import BLUE, RED, SKY
from ik_viewer.drawing.drawn_robot import linear
from ik_viewer.drawing.limits import ARC, CONE, Arcs, Cones, Limits

SIZE = 2.0
LINES = STEPS + 2  # Lines of an arc and its two sides


def angle_between(a, b):
    return np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)


def test_arcs_span_the_ranges_and_ticks_stand_at_the_angles():
    robot, scene = robots.shipped('panda'), FakeScene()
    arcs = Arcs(scene, '/limits', robot, SIZE)
    rng = np.random.default_rng(1)
    joints = [j for j in range(robot.n) if 'finger' not in robot.joint_names[j]]
    assert len(arcs.bodies) == len(joints) == 7  # none for fingers, which slide
    for _ in range(5):
        q = robots.random_q(robot, rng)
        arcs.show(q)
        lines = scene.nodes['/limits/arcs'].points.reshape(7, LINES, 2, 3).astype(float)
        ticks = scene.nodes['/limits/ticks'].points.astype(float)
        for j, arc, (origin, tip) in zip(joints, lines, ticks, strict=True):
            link = f'panda_link{j + 1}'
            frame = robot.forward_kinematics(q, link)
            np.testing.assert_allclose(origin, frame[:3, 3], atol=1e-6)
            before = robot.forward_kinematics(q, f'panda_link{j}')[:3, 3]
            share = 0.8 if np.linalg.norm(origin - before) < 1e-6 and j > 0 else 1.0
            radius = share * ARC * SIZE
            spokes = (arc[:, 1] - origin) / radius
            np.testing.assert_allclose(np.linalg.norm(spokes, axis=1), 1.0, atol=1e-5)
            np.testing.assert_allclose(spokes @ frame[:3, 2], 0.0, atol=1e-5)
            steps = np.linalg.norm(arc[:STEPS, 1] - arc[:STEPS, 0], axis=1) / radius
            width = 2.0 * STEPS * np.arcsin(steps.mean() / 2.0)
            assert width == pytest.approx(robot.upper[j] - robot.lower[j], abs=1e-3)
            # from the lower side to the tick it is as far as the joint is above its lower limit
            turned = robot.forward_kinematics(
                np.where(np.arange(robot.n) == j, robot.lower, q), link
            )
            along = frame[:3, :3].T @ (tip - origin)
            lowest = turned[:3, :3] @ along
            np.testing.assert_allclose(arc[STEPS, 1] - origin, lowest, atol=1e-5)


def test_a_tick_points_along_the_part_that_the_joint_carries():
    robot, scene = robots.shipped('human'), FakeScene()
    arcs = Arcs(scene, '/limits', robot, SIZE)
    q = np.zeros(robot.n)
    q[robot.joint_index('left_elbow')] = -0.7
    arcs.show(q)
    k = list(robot.body_names).index('left_elbow')
    origin, tip = scene.nodes['/limits/ticks'].points[list(arcs.bodies).index(k)]
    hand = robot.forward_kinematics(q, 'left_hand')[:3, 3]
    assert angle_between(tip - origin, hand - origin) < 1e-5


def test_arcs_of_a_ball_joint_are_smaller_one_after_the_other_and_long_ranges_spirals():
    robot, scene = robots.shipped('human'), FakeScene()
    arcs = Arcs(scene, '/limits', robot, SIZE)
    bodies = [list(robot.body_names).index(f'left_hip/{axis}') for axis in 'yxz']
    ticks = scene.nodes['/limits/ticks'].args[0]
    lengths = [np.linalg.norm(np.diff(ticks[list(arcs.bodies).index(k)], axis=0)) for k in bodies]
    np.testing.assert_allclose(np.divide(lengths, lengths[0]), (1.0, 0.8, 0.64), atol=1e-5)
    ur5e, other = robots.shipped('ur5e'), FakeScene()
    Arcs(other, '/limits', ur5e, SIZE)
    arc = other.nodes['/limits/arcs'].args[0].reshape(-1, LINES, 2, 3)[0]
    radii = np.linalg.norm(arc[STEPS:, 1] - arc[STEPS:, 0], axis=1)
    assert radii[0] < 0.75 * radii[1]


def test_ticks_at_limits_are_vermilion():
    robot, scene = robots.shipped('panda'), FakeScene()
    arcs, q = Arcs(scene, '/limits', robot, SIZE), robots.shipped('panda').middle_configuration
    q[2], q[4] = robot.upper[2], robot.lower[4] + 1e-3
    arcs.show(q)
    colours = scene.nodes['/limits/ticks'].colors[:, 0]
    expected = linear(np.array([RED if i in (2, 4) else BLUE for i in range(7)]))
    np.testing.assert_array_equal(colours, expected)


def test_cones_are_at_their_links_and_vermilion_where_these_are_outside():
    robot, scene, cones = robots.shipped('human'), FakeScene(), human_cones()
    drawn = Cones(scene, '/cone', robot, cones, SIZE)
    q = robots.random_q(robot, np.random.default_rng(2), margin=0.4)
    q[robot.joint_index('left_hip/y')], q[robot.joint_index('left_hip/x')] = -2.0, 0.7
    drawn.show(q)
    for i, cone in enumerate(cones):
        pose, side = scene.world(f'/cone/{i}/side'), scene.nodes[f'/cone/{i}/side']
        vertices, faces = side.args
        apex, corner = pose[:3, 3], pose[:3, :3] @ vertices[7] + pose[:3, 3]
        np.testing.assert_allclose(apex, robot.forward_kinematics(q, cone.link)[:3, 3], atol=1e-9)
        base = robot.forward_kinematics(q, cone.relative_to)[:3, :3]
        np.testing.assert_allclose(corner - apex, CONE * SIZE * base @ cone.corners[7], atol=1e-6)
        assert faces.shape == (len(cone.corners), 3)
        assert not vertices[faces[:, 0]].any()
        assert side.color == (RED if cone.violation(robot, q) > 0.0 else SKY)
    assert scene.nodes['/cone/2/side'].color == RED
    assert scene.nodes['/cone/3/side'].color == SKY


def test_limits_are_made_when_they_are_shown_and_hidden_again():
    robot, scene = robots.shipped('human'), FakeScene()
    limits = Limits(scene, '/limits', robot, human_cones(), SIZE)
    limits.hide()
    assert scene.nodes == {}
    limits.show(robot.middle_configuration)
    made = len(scene.nodes)
    assert scene.nodes['/limits'].visible
    limits.hide()
    assert not scene.nodes['/limits'].visible
    limits.show(robot.middle_configuration)
    assert scene.nodes['/limits'].visible
    assert len(scene.nodes) == made
