# SPDX-License-Identifier: Apache-2.0
"""Distances are proved by points in the pieces and planes between them; gradients; free or not."""

import numpy as np
import pytest
from support.convex_pieces import (
    LINKS,
    contains,
    hull,
    least_depth,
    random_piece,
    random_pose,
    separation,
    support,
    tree,
)

import ik_core as ik
from ik_core.collision.piece import moved, piece_of


def world_of(seed):
    """Obstacles of all kinds."""
    rng = np.random.default_rng(seed)
    shapes = {
        'floor': ik.collision.Plane(),
        'box': ik.collision.Box((0.3, 0.2, 0.1)),
        'ball': ik.collision.Sphere(0.1),
        'can': ik.collision.Cylinder(0.1, 0.3),
        'pill': ik.collision.Capsule(0.05, 0.3),
        'stone': ik.collision.Convex(rng.normal(size=(20, 3)) * 0.1),
    }
    world = ik.World()
    for name, shape in shapes.items():
        pose = random_pose(rng, 0.8)
        if name == 'floor':
            pose = ik.transform(position=(0.0, 0.0, -0.2), rpy=(0.2, 0.1, 0.0))
        world.add(name, shape, pose)
    world.attach('held', ik.collision.Box((0.05, 0.1, 0.2)), 'tool', random_pose(rng, 0.1))
    return world


def case(seed, world=None, margin=0.01, size=0.08):
    """Collisions of the tree, each link of one or two random pieces."""
    robot = ik.load_robot(tree())
    rng = np.random.default_rng(seed)
    pieces = [random_piece(rng, link, size) for link in LINKS for _ in range(rng.integers(1, 3))]
    collisions = ik.Collisions(robot, world, margin=margin, pieces=pieces, boxes=1)
    return collisions, rng


def configurations(robot, rng, count):
    lower = np.maximum(robot.lower, -3.0)
    return lower + rng.random((count, robot.n)) * (np.minimum(robot.upper, 3.0) - lower)


def pieces_at(collisions, q, name):
    """The pieces of a link or an obstacle, in the root link's frame."""
    robot, world = collisions.robot, collisions.world
    if name in world:
        each = world[name]
        base = robot.forward_kinematics(q, each.link or robot.base_link)
        shape = each.shape
        is_hull = isinstance(shape, ik.collision.Convex)
        piece = hull('', shape.points) if is_hull else piece_of(shape, '', np.eye(4))
        return [moved(piece, base @ each.pose)]
    pose = robot.forward_kinematics(q, name)
    return [moved(piece, pose) for piece in collisions.pieces if piece.link == name]


@pytest.mark.parametrize('seed', range(12))
def test_points_in_the_pieces_and_a_plane_between_them_prove_each_distance(seed):
    collisions, rng = case(seed, world_of(seed))
    for q in configurations(collisions.robot, rng, 6):
        for pair in collisions.distances(q, within=np.inf):
            near, far = pair.points
            assert np.linalg.norm(pair.normal) == pytest.approx(1.0, abs=1e-12)
            assert (far - near) @ pair.normal == pytest.approx(pair.distance, abs=1e-9)
            first = pieces_at(collisions, q, pair.first)
            inside = [piece for piece in first if contains(piece, near, 1e-8)]
            if pair.second == 'floor':
                pose = collisions.world['floor'].pose
                normal, origin = pose[:3, 2], pose[:3, 3]
                lowest = min(-support(piece, -normal) for piece in first) - origin @ normal
                assert pair.distance == pytest.approx(lowest, abs=1e-9)
                continue
            second = pieces_at(collisions, q, pair.second)
            also = [piece for piece in second if contains(piece, far, 1e-8)]
            gaps = [separation(a, b, pair.normal) for a in inside for b in also]
            assert min(abs(gap - pair.distance) for gap in gaps) < 1e-8
            if pair.distance > 0.0:
                assert far - near == pytest.approx(pair.distance * pair.normal, abs=1e-8)


def test_the_depth_of_a_penetration_is_the_least_over_all_directions():
    robot = ik.load_robot(
        '<robot name="r"><link name="x"/><link name="y"/><joint name="j" type="prismatic">'
        '<parent link="x"/><child link="y"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
    )
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(60):
        pieces = [random_piece(rng, 'x'), random_piece(rng, 'y')]
        collisions = ik.Collisions(robot, pieces=pieces, boxes=1)
        if collisions.pairs[0].verdict in ('touching', 'never'):
            continue
        pair = collisions.distance([0.02])
        if pair.distance < 0.0:
            a, b = pieces[0], moved(pieces[1], robot.forward_kinematics([0.02], 'y'))
            a, b = (a, b) if pair.first == 'x' else (b, a)
            assert separation(a, b, pair.normal) == pytest.approx(pair.distance, abs=1e-9)
            is_round = 'cylinder' in (a.kind, b.kind)
            spare = 0.01 * max(a.radius, b.radius) if is_round else 1e-7
            assert -pair.distance <= least_depth(a, b, rng) + spare
            seen += 1
    assert seen > 15


@pytest.mark.parametrize('seed', range(6))
def test_bounds_in_lanes_are_never_above_the_distance(seed):
    collisions, rng = case(seed, world_of(seed))
    groups = collisions._model['pairs'][:, 3]
    for q in configurations(collisions.robot, rng, 30):
        found = collisions.distances(q, within=np.inf)
        bound = collisions._state['bound'][:, 0]
        least = {g: bound[groups == g].min() for g in np.unique(groups)}
        names = {
            (collisions._names[i], collisions._names[j]): g
            for i, j, _, g in collisions._model['pairs']
        }
        for pair in found:
            if pair.distance > 0.0:
                assert least[names[pair.first, pair.second]] <= pair.distance


@pytest.mark.parametrize('seed', range(6))
def test_gradients_are_the_derivatives_of_the_distance(seed):
    collisions, rng = case(seed, world_of(seed), size=0.03)
    step, seen = 1e-6, 0
    for q in configurations(collisions.robot, rng, 40):
        pair = collisions.distance(q)
        gradient = collisions.gradient(q)
        if pair.distance < 1e-3:
            continue
        for j in range(collisions.robot.n):
            sides = [collisions.distance(q + d * step * np.eye(len(q))[j]) for d in (-1, 1)]
            if {(s.first, s.second) for s in sides} != {(pair.first, pair.second)}:
                continue
            ahead, behind = sides[1].distance - pair.distance, pair.distance - sides[0].distance
            if abs(ahead - behind) > 1e-10:  # the nearest points jump
                continue
            assert gradient[j] == pytest.approx((ahead + behind) / (2 * step), abs=2e-5)
            seen += 1
    assert seen > 20


def test_gradients_of_rows_are_those_of_single_configurations():
    collisions, rng = case(1, world_of(1))
    rows = configurations(collisions.robot, rng, 9)
    assert (collisions.gradient(rows) == [collisions.gradient(q) for q in rows]).all()


@pytest.mark.parametrize('margin', [0.0, 0.01, 0.05])
@pytest.mark.parametrize('seed', range(4))
def test_free_is_that_no_pair_is_within_its_margin(seed, margin):
    collisions, rng = case(seed, world_of(seed), margin, size=0.03)
    rows = configurations(collisions.robot, rng, 203)
    free = collisions.free(rows)
    margins = {frozenset((pair.first, pair.second)): pair.margin for pair in collisions.pairs}
    for q, is_free in zip(rows, free, strict=True):
        near = [
            pair
            for pair in collisions.distances(q, within=margin)
            if pair.distance <= margins.get(frozenset((pair.first, pair.second)), margin)
        ]
        assert is_free == (not near)
        assert collisions.free(q) is bool(is_free)
    assert free.sum() > 0 or margin > 0.01


def test_the_nearest_pair_is_the_first_of_all_distances():
    collisions, rng = case(5, world_of(5))
    for q in configurations(collisions.robot, rng, 20):
        nearest, found = collisions.distance(q), collisions.distances(q, within=np.inf)
        assert [pair.distance for pair in found] == sorted(pair.distance for pair in found)
        assert nearest.distance == pytest.approx(found[0].distance, abs=1e-10)
        within = collisions.distances(q, within=0.1)
        assert [pair.distance for pair in within] == pytest.approx(
            [pair.distance for pair in found if pair.distance <= 0.1], abs=1e-10
        )


def test_two_spheres_are_apart_by_what_their_centres_are_more_than_their_radii():
    robot = ik.load_robot(
        '<robot name="r"><link name="x"><collision><geometry><sphere radius="0.1"/></geometry>'
        '</collision></link><link name="y"><collision><geometry><sphere radius="0.2"/></geometry>'
        '</collision></link><joint name="j" type="prismatic"><parent link="x"/><child link="y"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
    )
    collisions = ik.Collisions(robot)
    pair = collisions.distance([0.5])
    assert pair.distance == pytest.approx(0.2, abs=1e-15)
    assert pair.points == pytest.approx(np.array([[0.0, 0.3, 0.0], [0.0, 0.1, 0.0]]), abs=1e-15)
    assert pair.normal == pytest.approx([0.0, -1.0, 0.0], abs=1e-15)
    assert repr(pair) == "<'y' and 'x': 200 mm apart>"
    assert collisions.gradient([0.5]) == pytest.approx([1.0])
    assert collisions.gradient([-0.5]) == pytest.approx([-1.0])
    deep = collisions.distance([0.1])
    assert deep.distance == pytest.approx(-0.2, abs=1e-12)
    assert collisions.gradient([0.1]) == pytest.approx([1.0])
    assert [bool(x) for x in collisions.free([[0.5], [0.1], [0.311], [0.309]])] == [
        True, False, True, False,
    ]  # fmt: skip
    assert np.isfinite(collisions.distance([0.0]).distance)


def test_configurations_that_can_not_be_are_refused():
    collisions, _ = case(0)
    with pytest.raises(ik.InvalidConfiguration, match='shape'):
        collisions.free([0.0])
    with pytest.raises(ik.InvalidConfiguration, match='finite at j2'):
        collisions.distance([0.0, np.nan, 0.0, 0.0])
    with pytest.raises(ik.InvalidConfiguration, match=r'q\[1\]'):
        collisions.free([[0.0] * 4, [np.inf] * 4])
    with pytest.raises(ik.InvalidOption, match='within'):
        collisions.distances([0.0] * 4, within=-1.0)
    assert collisions.free(np.empty((0, 4))).shape == (0,)
