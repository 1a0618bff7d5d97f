# SPDX-License-Identifier: Apache-2.0
"""The obstacles that a node avoids, as `RosArm` receives them and the page draws them."""

from types import SimpleNamespace as Fields

import numpy as np
import pytest

pytest.importorskip('rclpy')

from std_srvs.srv import Trigger
from support.fake_scene import FakeScene
from support.node_harness import load
from support.panda_world import TIP, call, panda_world
from support.watched_arm import watched

import ik_core as ik
from ik_core.collision import Box, Cylinder, Sphere
from ik_viewer.arm import Moment
from ik_viewer.collisions.world import AvoidedWorld

LINES = (
    'table: {box: [1.0, 2.0, 0.1], xyz: [3.7, 0.0, 0.1], rpy: [0, 0, 0.5]}',
    'tool: {capsule: [0.01, 0.1], link: panda_hand, xyz: [0, 0, 0.3], rpy: [0.5, 0, 0]}',
    'wedge: {convex: [[3, 0, 0], [3.1, 0, 0], [3, 0.1, 0], [3, 0, 0.1]]}',
)


def test_the_page_has_the_obstacles_of_the_node_where_they_are(tmp_path):
    path = tmp_path / 'world.yaml'
    path.write_text('\n'.join(LINES), encoding='utf-8')
    with panda_world(avoid='world', world_file=str(path), frame_prefix='a/') as node:
        node.more_states(1)
        with watched(node) as watch:
            watch.until(lambda: watch.moment and watch.moment.world is not None, 'the obstacles')
            world = watch.moment.world
            assert {it.name: it.link for it in world} == {
                'table': None, 'tool': TIP, 'tool (2)': TIP, 'tool (3)': TIP, 'wedge': None,
            }  # fmt: skip
            assert world['table'].shape == Box((1.0, 2.0, 0.1))
            assert world['tool'].shape == Cylinder(0.01, 0.1)
            assert world['tool (2)'].shape == Sphere(0.01)
            there = ik.transform(position=(3.7, 0.0, 0.1), rpy=(0, 0, 0.5))
            np.testing.assert_allclose(world['table'].pose, there, atol=1e-12)
            corners = {tuple(point) for point in world['wedge'].shape.points.round(9).tolist()}
            assert corners == {(3, 0, 0), (3.1, 0, 0), (3, 0.1, 0), (3, 0, 0.1)}
            call(node, Trigger, 'clear_world')
            assert watch.moment.world is world  # the same object until it changes


def test_obstacles_are_drawn_and_carried_ones_follow_their_link():
    robot, world = load('panda'), ik.World()
    table = ik.transform(position=(0.5, 0.0, 0.1), rpy=(0.1, 0.2, 0.3))
    world.add('table', Box((1.0, 1.0, 0.1)), table)
    tool = ik.transform(position=(0.0, 0.0, 0.2), rpy=(0.5, 0.0, 0.0))
    world.attach('tool', Cylinder(0.01, 0.1), TIP, tool)
    scene = FakeScene()
    context = Fields(server=Fields(scene=scene), robot=robot, size=1.0)
    rng = np.random.default_rng(2)

    def moment(world):
        q = rng.uniform(robot.lower, robot.upper)
        return Moment(0.0, q, (), 'idle', '', world=world)

    part = AvoidedWorld(context, moment(None))
    assert not scene.nodes
    for _ in range(3):
        now = moment(world)
        part.show(now)
        ((_, box),) = scene.of_kind('box').items()
        ((_, rod),) = scene.of_kind('cylinder').items()
        np.testing.assert_allclose(scene.world(box.name), table, atol=1e-9)
        hand = robot.forward_kinematics(now.q, TIP)
        np.testing.assert_allclose(scene.world(rod.name), hand @ tool, atol=1e-9)
    part.show(moment(ik.World()))
    assert not scene.nodes
    part.show(moment(world))
    part.remove()
    assert not scene.nodes
