# SPDX-License-Identifier: Apache-2.0
"""Reach cones: inside and outside, angles, gradients, sinus cones, what is refused.

The truth are triple products of each slice [WilhelmsVanGelder2001], boundaries in many points, and
central differences.
"""

import copy
import pickle

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core.robot import ReachCone, human_cones
from ik_core.robot.cone_kernels import outside

LINKS = 'left_upper_arm', 'left_collarbone'
DOWN = (0.0, 0.0, -1.0)


def unit(rng, count):
    rows = rng.normal(size=(count, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def star(rng, count):
    """A polygon round a direction, with dents, in places wider than a hemisphere."""
    azimuths = 2.0 * np.pi * (np.arange(count) + rng.uniform(-0.3, 0.3, count)) / count
    elevations = rng.uniform(0.3, 2.2, count)
    z, x = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    across = np.outer(np.cos(azimuths), x) + np.outer(np.sin(azimuths), np.cross(z, x))
    corners = np.cos(elevations)[:, None] * z + np.sin(elevations)[:, None] * across
    return ReachCone(*LINKS, DOWN, corners, inner=z)


def in_a_slice(cone, directions):
    """Return whether directions (N, 3) are in a triangle of the inner direction and an edge."""
    found = np.zeros(len(directions), bool)
    v, corners = cone.inner, cone.corners
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        sides = [directions @ np.cross(*pair) for pair in ((v, a), (a, b), (b, v))]
        found |= np.min(sides, axis=0) >= 0.0
    return found


def boundary(cone, steps=2000):
    """Points of all edges."""
    share = np.linspace(0.0, 1.0, steps)[:, None]
    ends = zip(cone.corners, np.roll(cone.corners, -1, axis=0), strict=True)
    points = np.vstack([(1.0 - share) * a + share * b for a, b in ends])
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize('seed', range(8))
def test_inside_is_in_a_slice_and_outside_the_angle_to_the_boundary(seed):
    rng = np.random.default_rng(seed)
    cone, directions = star(rng, 5 + seed), unit(rng, 400)
    angles = np.array([outside(cone.edges, *d)[0] for d in directions])
    inside = in_a_slice(cone, directions)
    np.testing.assert_array_equal(angles == 0.0, inside)
    assert 20 < inside.sum() < 380
    nearest = np.arccos(np.clip(directions @ boundary(cone).T, -1.0, 1.0)).min(axis=1)
    np.testing.assert_allclose(angles[~inside], nearest[~inside], atol=2e-3)


def test_corners_in_the_other_order_make_the_same_cone():
    rng = np.random.default_rng(1)
    cone = star(rng, 7)
    other = ReachCone(*LINKS, DOWN, 3.0 * cone.corners[::-1], inner=2.0 * cone.inner)
    for d in unit(rng, 50):
        assert outside(other.edges, *d) == pytest.approx(outside(cone.edges, *d), abs=1e-12)


@pytest.mark.parametrize(
    ('name', 'link', 'base'),
    [
        ('human', 'left_upper_arm', 'left_collarbone'),
        ('human', 'left_hand', 'right_thigh'),
        ('pr2_like', None, None),
    ],
)
def test_violation_and_gradient_are_those_of_the_links(name, link, base):
    robot = robots.shipped(name) if name == 'human' else robots.weighed(name)
    link, base = link or robots.tip_of(robot), base or robot.base_link
    rng, seen = np.random.default_rng(2), 0
    for _ in range(30):
        polygon, axis, q = star(rng, 6), unit(rng, 1)[0], robots.random_q(robot, rng)
        cone = ReachCone(link, base, axis, polygon.corners, inner=polygon.inner)
        places = [robot.forward_kinematics(q, one)[:3, :3] for one in (base, link)]
        direction = places[0].T @ places[1] @ axis
        np.testing.assert_allclose(cone.direction(robot, q), direction, atol=1e-12)
        assert cone.violation(robot, q) == pytest.approx(outside(cone.edges, *direction)[0])
        assert (cone.depth(robot, q) >= 0.0) == in_a_slice(cone, direction[None])[0]
        numeric = robots.central_differences(lambda q, c=cone: c.violation(robot, q), q)
        np.testing.assert_allclose(cone.gradient(robot, q), np.ravel(numeric), atol=1e-7)
        seen += cone.violation(robot, q) > 0.0
    assert 5 < seen < 30


def test_sinus_cones_have_their_elevations_and_quarters_of_ellipses_between():
    a, b, c, d = np.radians([120.0, 50.0, 70.0, 20.0])
    cone = ReachCone.sinus(*LINKS, DOWN, (0, 0, 2), (1, 0, 5), (a, b, c, d))
    elevation = np.arccos(cone.corners[:, 2])
    azimuth = np.arctan2(cone.corners[:, 1], cone.corners[:, 0])
    x, y = elevation * np.cos(azimuth), elevation * np.sin(azimuth)
    width, height = np.where(x > 0.0, a, c), np.where(y > 0.0, b, d)
    np.testing.assert_allclose((x / width) ** 2 + (y / height) ** 2, 1.0, atol=1e-9)
    np.testing.assert_allclose(elevation[:: len(elevation) // 4], (a, b, c, d), atol=1e-9)


def test_a_round_cone_is_its_angle():
    rng, centre = np.random.default_rng(3), np.array([0.6, 0.0, 0.8])
    cone = ReachCone.sinus(*LINKS, DOWN, centre, (0, 1, 0), 0.7)
    for d in unit(rng, 200):
        beyond = max(0.0, np.arccos(d @ centre) - 0.7)
        assert outside(cone.edges, *d)[0] == pytest.approx(beyond, abs=1e-3)  # of 72 corners


def test_the_human_cones_are_inside_the_box_of_their_joints_and_touch_it():
    robot, rng = ik.load_robot('human'), np.random.default_rng(4)
    joints = ('left_shoulder', 'right_shoulder', 'left_hip', 'right_hip')
    for cone, joint in zip(human_cones(), joints, strict=True):
        i, j = (robot.joint_index(f'{joint}/{axis}') for axis in 'yx')
        assert robot.chain(cone.link, cone.relative_to) == [i, j, j + 1]
        directions = np.vstack([unit(rng, 2000), cone.corners])
        inside = np.array([outside(cone.edges, *d)[0] < 1e-9 for d in directions])
        x, y, z = directions[inside].T  # of Ry Rx (0, 0, -1)
        swing, aside = np.arctan2(-x, -z), np.arcsin(y)
        swing = np.where(swing > robot.upper[i] + 1e-9, swing - 2.0 * np.pi, swing)
        for angles, k in ((swing, i), (aside, j)):
            assert angles.min() == pytest.approx(robot.lower[k], abs=1e-6)
            assert angles.max() == pytest.approx(robot.upper[k], abs=1e-6)
        assert cone.violation(robot, np.zeros(robot.n)) == 0.0


def test_cones_are_copied_and_shown():
    cone = human_cones()[0]
    for other in (copy.deepcopy(cone), pickle.loads(pickle.dumps(cone))):
        np.testing.assert_array_equal(other.edges, cone.edges)
    assert repr(cone) == "ReachCone('left_upper_arm', 'left_collarbone', 72 corners)"


SQUARE = ((1, 0, 1), (0, 1, 1), (-1, 0, 1), (0, -1, 1))


@pytest.mark.parametrize(
    ('make', 'why'),
    [
        (lambda: ReachCone(*LINKS, DOWN, SQUARE[:2]), 'k >= 3'),
        (lambda: ReachCone(*LINKS, DOWN, 'corners'), 'not made of numbers'),
        (lambda: ReachCone(*LINKS, (0, 0, 0), SQUARE), 'axis .* no length'),
        (lambda: ReachCone(*LINKS, (0, np.nan, 1), SQUARE), 'axis .* finite'),
        (lambda: ReachCone(*LINKS, [DOWN, DOWN], SQUARE), 'one direction'),
        (lambda: ReachCone(*LINKS, DOWN, SQUARE, inner=(5, 0, 1)), 'not seen from the inner'),
        (lambda: ReachCone(*LINKS, DOWN, [SQUARE[i] for i in (0, 2, 1, 3)]), 'not seen'),
        (lambda: ReachCone(*LINKS, DOWN, 2 * SQUARE), 'twice'),
        (lambda: ReachCone.sinus(*LINKS, DOWN, DOWN, (1, 0, 0), (0.5, 0.0)), 'above 0'),
        (lambda: ReachCone.sinus(*LINKS, DOWN, DOWN, (1, 0, 0), np.pi), 'below pi'),
        (lambda: ReachCone.sinus(*LINKS, DOWN, DOWN, (1, 0, 0), 'wide'), 'below pi'),
        (lambda: ReachCone.sinus(*LINKS, DOWN, DOWN, (0, 0, 3), 0.5), 'across'),
    ],
)
def test_bad_cones_are_refused_with_the_reason(make, why):
    with pytest.raises(ik.InvalidOption, match=why):
        make()


def test_cones_of_links_that_do_not_fit_the_robot_are_refused():
    robot = ik.load_robot('panda')
    goal = ik.PositionTask('panda_hand')
    unknown = ReachCone('left_upper_arm', 'panda_link0', DOWN, SQUARE)
    with pytest.raises(ik.FrameNotFound, match='left_upper_arm'):
        ik.IkProblem(robot, [goal], constraints=[unknown])
    fixed = ReachCone('panda_hand', 'panda_link8', DOWN, SQUARE)
    with pytest.raises(ik.UnsupportedProblem, match=r'no joint moves .panda_hand.'):
        ik.IkProblem(robot, [goal], constraints=[fixed])
    with pytest.raises(ik.InvalidOption, match='a ReachCone is needed'):
        ik.tasks.ReachConeTask(DOWN)


def test_a_sinus_cone_has_one_centre():
    rows = np.eye(3)[:2]
    for wrong in ({'centre': rows}, {'toward': rows}):
        given = {'centre': [0, 0, 1], 'toward': [1, 0, 0], **wrong}
        with pytest.raises(ik.InvalidOption, match='one direction'):
            ReachCone.sinus('a', 'b', [0, 0, 1], **given, elevations=0.5)
