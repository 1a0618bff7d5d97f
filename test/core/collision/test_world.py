# SPDX-License-Identifier: Apache-2.0
"""`World`: obstacles by name, and that collisions see each change at their next call."""

import pickle

import numpy as np
import pytest
from support.robots import URDF

import ik_core as ik
from ik_core.collision import Box, Capsule, Convex, Cylinder, Plane, Sphere
from ik_core.collision.piece import piece_of
from ik_core.collision.world import MAX_OBSTACLES

CUBE = Box((0.1, 0.1, 0.1))
ONE_PIECE = 'y'


@pytest.fixture
def robot():
    """A cube that slides along x, with a link behind a fixed joint and one that turns."""
    return ik.load_urdf(
        '<robot name="slide"><link name="x"/><link name="y"/><link name="end"/><link name="z"/>'
        '<joint name="j" type="prismatic"><parent link="x"/><child link="y"/>'
        '<axis xyz="1 0 0"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>'
        '<joint name="f" type="fixed"><parent link="y"/><child link="end"/>'
        '<origin xyz="0 0 0.1"/></joint>'
        '<joint name="k" type="continuous"><parent link="y"/><child link="z"/>'
        '<origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint></robot>'
    )


@pytest.fixture
def world():
    return ik.World()


@pytest.fixture
def collisions(robot, world):
    return ik.Collisions(robot, world, 0.0, pieces=[piece_of(CUBE, 'y', np.eye(4))])


def at(*xyz):
    return ik.transform(position=xyz)


def test_changes_are_seen_from_the_next_call_on(collisions, world):
    q = [0.0, 0.0]
    with pytest.raises(ik.UnsupportedProblem, match='no pair'):
        collisions.distance(q)
    assert collisions.free(q)
    world.add('ball', Sphere(0.1), at(0.5, 0, 0))
    assert collisions.distance(q).distance == pytest.approx(0.35, abs=1e-12)
    world.move('ball', at(0.3, 0, 0))
    assert collisions.distance(q).distance == pytest.approx(0.15, abs=1e-12)
    world.add('box', CUBE, at(0.0, 0.2, 0))
    assert collisions.distance(q).second == 'box'
    assert [pair.second for pair in collisions.distances(q, 1.0)] == ['box', 'ball']
    world.remove('box')
    assert collisions.distance(q).second == 'ball'
    world.move('ball', at(0.1, 0, 0))
    assert not collisions.free(q)
    world.remove('ball')
    assert collisions.free(q)


def test_a_model_that_is_in_use_is_not_changed_by_a_move(collisions, world):
    world.add('ball', Sphere(0.1), at(0.5, 0, 0))
    before = collisions.model
    kept = before['sphere'].copy()
    world.move('ball', at(0.3, 0, 0))
    assert collisions.model is not before
    assert (before['sphere'] == kept).all()
    assert collisions.model is collisions.model


def test_all_shapes_stand_where_they_are_put(collisions, world):
    """The cube reaches from 0.05 to the shape, which is turned by a right angle about y."""
    quarter = ik.transform(position=(1.0, 0.0, 0.0), rpy=(0.0, -np.pi / 2, 0.0))  # z to -x
    ends = {
        'box': (Box((0.1, 0.2, 0.4)), 0.2),
        'ball': (Sphere(0.3), 0.3),
        'can': (Cylinder(0.1, 0.5), 0.25),
        'pill': (Capsule(0.1, 0.5), 0.35),
        'cone': (Convex(np.array([[0, 0, 0.3], [1, 0, 0], [-1, 1, 0], [-1, -1, 0]])), 0.3),
        'wall': (Plane(), 0.0),
    }
    for name, (shape, half) in ends.items():
        world.add(name, shape, quarter)
        pair = collisions.distance([0.0, 0.0])
        assert (pair.first, pair.second) == ('y', name)
        assert pair.distance == pytest.approx(0.95 - half, abs=1e-9)
        assert pair.normal == pytest.approx([1.0, 0.0, 0.0], abs=1e-7)
        assert collisions.gradient([0.0, 0.0]) == pytest.approx([-1.0, 0.0], abs=1e-7)
        world.remove(name)


def test_the_depth_in_a_plane_is_that_of_the_lowest_corner(collisions, world):
    world.add('floor', Plane(), at(0.0, 0.0, 0.02))
    pair = collisions.distance([0.3, 0.0])
    assert pair.distance == pytest.approx(-0.07, abs=1e-12)
    assert pair.normal == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)


def test_a_carried_shape_moves_with_its_link_and_may_touch_it(collisions, world):
    world.add('ball', Sphere(0.1), at(1.0, 0.0, 1.0))
    world.attach('tool', Box((0.2, 0.04, 0.04)), 'z', at(0.2, 0.0, 0.0))
    found = {pair.first: pair.distance for pair in collisions.distances([0.0, 0.0], 9.0)}
    assert found['tool'] == pytest.approx(0.6, abs=1e-12)
    (tool,) = (p for p in collisions.distances([0.3, np.pi], 9.0) if p.first == 'tool' == p.first)
    assert {tool.first, tool.second} == {'tool', 'y'} or tool.distance > 0.6
    assert collisions.distance([0.5, 0.0]).distance == pytest.approx(0.1, abs=1e-12)
    world.move('tool', at(0.4, 0.0, 0.0))
    assert not collisions.free([0.5, 0.0])


def test_the_box_around_a_carried_shape_turns_with_its_link(collisions, world):
    """The bound of a box in the world is not that of one that moves."""
    world.attach('tool', Box((0.5, 0.02, 0.02)), 'z', at(0.3, 0.0, -0.9))
    world.add('ball', Sphere(0.05), at(0.0, 0.4, 0.1))
    near = collisions.distances([0.0, np.pi / 2], 9.0)
    pair = next(pair for pair in near if {pair.first, pair.second} == {'tool', 'ball'})
    assert pair.distance < 0.0
    assert not collisions.free([0.0, np.pi / 2])
    assert collisions.free([0.0, 0.0])


def test_a_carried_shape_may_touch_the_links_that_are_named(robot, world):
    pieces = [piece_of(CUBE, 'y', np.eye(4)), piece_of(CUBE, 'z', at(0, 0, -0.9))]
    srdf = '<robot><disable_collisions link1="y" link2="z"/></robot>'
    collisions = ik.Collisions(robot, world, 0.0, srdf, pieces=pieces)
    world.attach('tool', Sphere(0.06), 'z', at(0.0, 0.0, -1.0))
    assert not collisions.free([0.0, 0.0])
    world.remove('tool')
    world.attach('tool', Sphere(0.06), 'z', at(0.0, 0.0, -1.0), touching=['y'])
    assert collisions.free([0.0, 0.0])


def test_a_carried_shape_is_checked_with_links_of_other_bodies_alone(collisions, world):
    world.attach('tool', CUBE, 'end')  # behind a fixed joint: the same body as the cube's
    assert collisions.free([0.0, 0.0])
    assert len(collisions.model['pairs']) == 0


def test_names_are_taken_once_and_unknown_ones_are_refused(world):
    world.add('box', CUBE)
    with pytest.raises(ik.InvalidOption, match="'box' already: move or remove it"):
        world.add('box', CUBE)
    with pytest.raises(ik.InvalidOption, match="'box' already"):
        world.attach('box', CUBE, 'y')
    for call in (world.remove, lambda name: world.move(name, at(0, 0, 0)), world.__getitem__):
        with pytest.raises(ik.InvalidOption, match="no obstacle 'bax'; there are: 'box'"):
            call('bax')
    with pytest.raises(ik.InvalidOption, match='text is needed'):
        world.add('', CUBE)
    with pytest.raises(ik.InvalidOption, match='text is needed'):
        world.add(3, CUBE)


def test_a_hundred_obstacles_are_the_most(collisions, world):
    for i in range(MAX_OBSTACLES):
        world.add(f'{i}', Sphere(0.01), at(0.1 * i - 5.0, 0.0, 1.0))
    with pytest.raises(ik.InvalidOption, match='100 obstacles already, the most'):
        world.add('one more', CUBE)
    assert len(collisions.distances([0.0, 0.0], 100.0)) == MAX_OBSTACLES
    world.remove('3')
    world.add('one more', CUBE, at(0, 0, 3))
    assert len(world) == MAX_OBSTACLES


@pytest.mark.parametrize(
    'pose',
    [
        np.full((4, 4), np.nan),
        np.full((4, 4), np.inf),
        [0.0, np.nan, 0.0],
        np.eye(3),
        2.0 * np.eye(4),
        'here',
    ],
)
def test_what_is_no_pose_is_refused_and_nothing_changes(world, pose):
    world.add('box', CUBE, at(1, 0, 0))
    version = world.version
    for call in (lambda: world.add('other', CUBE, pose), lambda: world.move('box', pose)):
        with pytest.raises(ik.InvalidGoal, match=r"'(other|box)': "):
            call()
    assert world.version == version
    assert world['box'].pose[0, 3] == 1.0
    assert list(world) == [world['box']]


@pytest.mark.parametrize(
    'shape',
    [
        Sphere(0.0),
        Sphere(-1.0),
        Sphere(float('nan')),
        Box((1.0, 1.0)),
        Box((1.0, 1.0, np.inf)),
        Cylinder(0.1, 1e4),
        Capsule('a', 0.1),
        Convex(np.zeros((0, 3))),
        Convex([[0.0, 0.0]]),
        Convex([[0.0, 0.0, np.nan]]),
        'box',
        None,
    ],
)
def test_what_is_no_shape_is_refused(world, shape):
    with pytest.raises(ik.InvalidOption, match="'it'"):
        world.add('it', shape)
    assert len(world) == 0


def test_an_obstacle_named_as_a_link_is_refused_and_can_be_removed(collisions, world):
    world.add('z', CUBE, at(3, 0, 0))
    for _ in range(2):
        with pytest.raises(ik.InvalidOption, match="'z' has the name of a link"):
            collisions.free([0.0, 0.0])
    world.remove('z')
    assert collisions.free([0.0, 0.0])


def test_links_that_the_robot_lacks_are_refused(collisions, world):
    world.attach('tool', CUBE, 'hand')
    with pytest.raises(ik.FrameNotFound, match=r"obstacle 'tool'.*'hand'"):
        collisions.free([0.0, 0.0])
    world.remove('tool')
    world.attach('tool', CUBE, 'z', touching=['hand'])
    with pytest.raises(ik.FrameNotFound, match="'hand'"):
        collisions.free([0.0, 0.0])


def test_a_link_carries_no_plane_and_touching_is_a_list(world):
    with pytest.raises(ik.InvalidOption, match='can not carry a Plane'):
        world.attach('floor', Plane(), 'y')
    with pytest.raises(ik.InvalidOption, match='a list of links is needed'):
        world.attach('tool', CUBE, 'y', touching='z')


def test_what_was_given_can_be_changed_without_changing_the_world(collisions, world):
    pose, points = at(0.5, 0, 0), np.random.default_rng(0).normal(size=(9, 3)) * 0.1
    world.add('stone', Convex(points), pose)
    before = collisions.distance([0.0, 0.0]).distance
    pose[:3, 3] = points[:] = 0.0
    assert (
        ik.Collisions(collisions.robot, world, 0.0, pieces=collisions.pieces)
        .distance([0.0, 0.0])
        .distance
        == before
    )
    with pytest.raises(ValueError, match='read-only'):
        world['stone'].pose[0, 3] = 0.0


def test_flat_hulls_and_single_points_are_obstacles(collisions, world):
    square = np.array([[0.0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]])
    for points in (square, square[:2], square[:1] * 0.0):
        world.add('flat', Convex(points), at(0.5, 0, 0))
        expected = 0.45
        if len(points) == 2:
            expected = np.hypot(0.45, 0.95)
        assert collisions.distance([0.0, 0.0]).distance == pytest.approx(expected, abs=1e-9)
        assert collisions.distance([0.5, 0.0]).distance <= 1e-9 or len(points) == 2
        world.remove('flat')


def test_pickles_and_two_collisions_of_one_world(collisions, world, robot):
    world.add('ball', Sphere(0.1), at(0.5, 0, 0))
    other = ik.Collisions(robot, world, 0.0, pieces=collisions.pieces)
    copy = pickle.loads(pickle.dumps(collisions))
    world.move('ball', at(0.6, 0, 0))
    q = [0.0, 0.0]
    assert collisions.distance(q).distance == other.distance(q).distance
    assert copy.distance(q).distance == pytest.approx(0.35, abs=1e-12)
    copy.world.remove('ball')
    assert 'ball' in world


def test_what_does_not_move_is_not_checked(world):
    robot = ik.load_urdf(URDF / 'panda.urdf')
    collisions = ik.Collisions(robot, world, 0.0)
    pairs = len(collisions.model['pairs'])
    world.add('in the base', Sphere(0.05))
    names = collisions.piece_names
    for i, j in collisions.model['pairs'][:, :2]:
        assert {names[i], names[j]} != {'in the base', robot.base_link}
    assert len(collisions.model['pairs']) > pairs


def test_what_is_allowed_to_touch_is_not_checked(collisions, world):
    q = [0.0, 0.0]
    world.add('ball', Sphere(0.1), at(0.1, 0, 0))
    world.allow('ball', 'box')  # before there is one
    assert not collisions.free(q)
    world.allow('ball', 'y')
    assert collisions.free(q)
    world.add('box', CUBE, at(0.0, 0.09, 0))
    assert [pair.second for pair in collisions.colliding(q)] == ['box']
    world.allow('y', 'ball', False)
    assert {pair.second for pair in collisions.colliding(q)} == {'box', 'ball'}


def test_links_may_be_allowed_to_touch():
    robot = ik.load_urdf(URDF / 'panda.urdf')
    world = ik.World()
    collisions = ik.Collisions(robot, world)
    share = np.random.default_rng(4).random((2000, robot.n))
    rows = robot.lower + share * (robot.upper - robot.lower)
    q = rows[~collisions.free(rows)][0]
    for pair in collisions.colliding(q):
        assert not collisions.free(q)
        world.allow(pair.first, pair.second)
    assert collisions.free(q)
    assert not collisions.free(rows).all()


@pytest.mark.parametrize('name', ['', None, 3])
def test_only_names_can_be_allowed(world, name):
    with pytest.raises(ik.InvalidOption, match='is no name'):
        world.allow('ball', name)
    assert not world.allowed
