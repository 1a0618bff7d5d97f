# SPDX-License-Identifier: Apache-2.0
"""A drawn figure stands where the robot's links are, and only what moved is sent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support import robots
from support.fake_scene import FakeScene
from support.random_trees import trees

pytest.importorskip('trimesh')

import ik_core as ik
from ik_core.maths.rotations import transform_of
from ik_viewer.drawing.drawn_robot import DrawnRobot, linear, size_of, unit_solid
from ik_viewer.drawing.shapes import Box, Cylinder, Mesh, Shape, Sphere
from ik_viewer.drawing.skeleton import skeleton


def link_shapes(robot):
    """A small ball at the origin of every link."""
    return [
        Shape(place.body, place.transform, Sphere(0.01), (0, 0, 0))
        for place in robot.places.values()
    ]


def drawn_places(scene, robot):
    """Return the poses (4, 4) of the balls of `link_shapes`, by link."""
    (balls,) = scene.of_kind('batched_meshes_simple').values()
    turns = Rotation.from_quat(np.roll(balls.batched_wxyzs, -1, axis=1))
    places = zip(robot.places, turns, balls.batched_positions, strict=True)
    return {link: robots.transform(turn, position) for link, turn, position in places}


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_every_link_is_drawn_where_it_is(name):
    links, joints = robots.read_joints(name)
    robot, rng = robots.shipped(name), np.random.default_rng(5)
    scene = FakeScene()
    figure = DrawnRobot(scene, '/robot', robot, link_shapes(robot))
    for _ in range(3):
        q = robots.random_q(robot, rng)
        figure.show(q)
        truth = robots.slow_poses(joints, robot.joint_values(q), robot.base_link)
        places = drawn_places(scene, robot)
        for link in links:
            np.testing.assert_allclose(places[link], truth[link], atol=1e-5)


@settings(max_examples=25)
@given(trees(), st.integers(0, 1000))
def test_so_are_the_links_of_random_trees(tree, seed):
    robot = ik.Robot.from_joints('tree', *tree)
    scene = FakeScene()
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, robot.n)
    DrawnRobot(scene, '/robot', robot, link_shapes(robot)).show(q)
    places = drawn_places(scene, robot)
    for link in robot.link_names:
        truth = robot.forward_kinematics(q, link)
        np.testing.assert_allclose(places[link], truth, atol=1e-5)


def triangles(robot):
    """A mesh at the origin of every link."""
    triangle = Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.uint32))
    return [shape._replace(solid=triangle) for shape in link_shapes(robot)]


def test_meshes_are_drawn_where_their_links_are():
    robot, scene = robots.shipped('pr2_like'), FakeScene()
    figure = DrawnRobot(scene, '/robot', robot, triangles(robot))
    q = robots.random_q(robot, np.random.default_rng(8))
    figure.show(q)
    meshes = [scene.world(name) for name in scene.of_kind('mesh_simple')]
    assert len(meshes) == len(robot.places)
    for link, place in zip(robot.places, meshes, strict=True):
        np.testing.assert_allclose(place, robot.forward_kinematics(q, link), atol=1e-5)


def test_only_bodies_that_moved_are_sent():
    robot, scene = robots.shipped('panda'), FakeScene()
    figure = DrawnRobot(scene, '/robot', robot, triangles(robot))
    q = robot.middle_configuration
    figure.show(q)
    before = {name: node.moves for name, node in scene.nodes.items()}
    figure.show(q)
    assert {name: node.moves for name, node in scene.nodes.items()} == before
    q[2] += 0.1
    figure.show(q)
    moved = {name for name, node in scene.nodes.items() if node.moves != before[name]}
    assert moved == {f'/robot/body_{k}' for k in range(2, len(robot.tree))}


def test_a_joint_that_creeps_is_drawn_in_time():
    robot, scene = robots.shipped('arm5'), FakeScene()
    figure = DrawnRobot(scene, '/robot', robot, link_shapes(robot))
    q, link = robot.middle_configuration, robots.tip_of(robot)
    for _ in range(1000):
        q[0] += 3e-7  # less than is worth a message, every time
        figure.show(q)
    truth = robot.forward_kinematics(q, link)
    np.testing.assert_allclose(drawn_places(scene, robot)[link], truth, atol=5e-6)


@pytest.mark.parametrize(
    ('solid', 'extent'),
    [
        (Box((1.0, 2.0, 3.0)), (1.0, 2.0, 3.0)),
        (Cylinder(0.5, 3.0), (1.0, 1.0, 3.0)),
        (Sphere(0.5), (1.0, 1.0, 1.0)),
    ],
)
def test_a_solid_is_drawn_as_large_as_it_is(solid, extent):
    vertices, faces = unit_solid(type(solid))
    sized = vertices * size_of(solid)
    np.testing.assert_allclose(np.ptp(sized, axis=0), extent, rtol=0.01)
    np.testing.assert_allclose(sized.max(axis=0), -sized.min(axis=0), rtol=0.01)
    corners = sized[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum('ij,ij->i', normals, corners.mean(axis=1)) > 0.0).all()  # outwards


def test_a_removed_figure_leaves_nothing():
    robot, scene = robots.shipped('panda'), FakeScene()
    DrawnRobot(scene, '/robot', robot, link_shapes(robot)).remove()
    assert scene.nodes == {}


# What has no shapes


def chain(length=0.5):
    """base -z-> a -x-> b, then a tip `length` along x."""
    ahead = robots.transform(translation=(length, 0.0, 0.0))
    up = robots.transform(translation=(0.0, 0.0, 2 * length))
    z = np.array([0.0, 0.0, 1.0])
    joints = [
        ik.robot.Joint('first', 'revolute', 'base', 'a', up, z, -1.0, 1.0),
        ik.robot.Joint('second', 'revolute', 'a', 'b', ahead, z, -1.0, 1.0),
        ik.robot.Joint('end', 'fixed', 'b', 'tip', ahead),
    ]
    return ik.Robot.from_joints('chain', ['base', 'a', 'b', 'tip'], joints)


def ends_of_bones(robot, q):
    """The two ends of every bone of a skeleton, in the world."""
    frames = [np.eye(4), *map(transform_of, robot.frames(q))]
    for shape in skeleton(robot):
        if isinstance(shape.solid, Cylinder) and shape.solid.length > 0.3:
            pose = frames[shape.body + 1] @ shape.transform
            half = 0.5 * shape.solid.length * pose[:3, 2]
            yield pose[:3, 3] - half, pose[:3, 3] + half


def test_bones_of_a_skeleton_go_from_joint_to_joint_and_to_the_tip():
    robot, q = chain(), np.array([0.3, -0.7])
    places = [robot.forward_kinematics(q, link)[:3, 3] for link in ('base', 'a', 'b', 'tip')]
    bones = list(ends_of_bones(robot, q))
    assert len(bones) == 3
    for (start, end), first, second in zip(bones, places[:-1], places[1:], strict=True):
        np.testing.assert_allclose(start, first, atol=1e-12)
        np.testing.assert_allclose(end, second, atol=1e-12)


def test_a_housing_stands_at_each_joint_along_its_axis():
    robot = chain()
    housings = [s for s in skeleton(robot) if isinstance(s.solid, Cylinder)][-2:]
    for k, shape in enumerate(housings):
        assert shape.body == k
        np.testing.assert_array_equal(shape.transform, np.eye(4))  # the axis of a body is its z


def test_a_ball_joint_is_a_ball():
    robot = ik.robot.linkage(3, 'ball')
    joints = [s for s in skeleton(robot) if np.array_equal(s.transform, np.eye(4))]
    assert len(joints) == 9
    assert all(isinstance(shape.solid, Sphere) for shape in joints)


def test_a_prismatic_joint_has_a_rail_as_long_as_its_range():
    slide = ik.robot.Joint(
        'slide', 'prismatic', 'base', 'tip', np.eye(4), np.array([1.0, 0.0, 0.0]), -0.2, 0.6
    )
    robot = ik.Robot.from_joints('slide', ['base', 'tip'], [slide])
    rail = next(s for s in skeleton(robot) if s.body == -1 and isinstance(s.solid, Box))
    half = 0.5 * rail.solid.size[2] * rail.transform[:3, 2]
    np.testing.assert_allclose(rail.transform[:3, 3] - half, [-0.2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(rail.transform[:3, 3] + half, [0.6, 0, 0], atol=1e-12)


@pytest.mark.parametrize('scale', [1e-3, 1.0, 1e3])
def test_bones_are_as_thick_as_the_robot_is_large(scale):
    radii = [s.solid.radius for s in skeleton(chain(scale)) if isinstance(s.solid, Cylinder)]
    assert 0.02 * scale < min(radii) <= max(radii) < 0.25 * scale


def test_a_robot_without_extent_is_drawn_too():
    turn = ik.robot.Joint('turn', 'revolute', 'base', 'tip', lower=-1.0, upper=1.0)
    robot = ik.Robot.from_joints('dot', ['base', 'tip'], [turn])
    assert skeleton(robot)


def test_colours_of_instances_are_sent_as_light_adds_up():
    # Of half the light sRGB says 188, and 118 of what is 18 %, a photographer's grey.
    assert linear(np.array([0, 118, 188, 255])).tolist() == [0, 46, 128, 255]
    assert linear(np.array([5])).tolist() == [0]  # on the straight part: 5 / 12.92
    scene = FakeScene()
    shape = Shape(-1, np.eye(4), Sphere(0.1), (255, 188, 0))
    DrawnRobot(scene, '/robot', robots.shipped('panda'), [shape])
    (balls,) = scene.of_kind('batched_meshes_simple').values()
    assert balls.batched_colors.tolist() == [[255, 128, 0]]
