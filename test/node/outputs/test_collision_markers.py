# SPDX-License-Identifier: Apache-2.0
"""RViz shows which links are near each other and which collide, as `ik.Collisions` says."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Log
from sensor_msgs.msg import JointState
from support.node_harness import load
from support.panda_world import panda_world
from visualization_msgs.msg import Marker, MarkerArray

import ik_core as ik
from ik_core.collision import pieces_of
from ik_node.outputs.collision_markers import REACH, markers

TOPIC = 'ik_node/collision_markers'
SHAPES = """
<robot name="shapes">
  <link name="base"><collision><geometry><box size="0.2 0.3 0.4"/></geometry></collision></link>
  <link name="arm"><collision><origin xyz="0.1 0.1 0.15" rpy="0.4 0.5 0.6"/><geometry>
    {shape}</geometry></collision></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="arm"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
</robot>
"""


def colliding_configuration(robot):
    """A configuration (n,) inside the limits in which links of the Panda collide, not gently."""
    collisions, rng = ik.Collisions(robot), np.random.default_rng(0)
    while True:
        q = rng.uniform(0.98 * robot.lower, 0.98 * robot.upper)
        if collisions.distance(q).distance < -0.03:
            return q


def of(message, namespace):
    """The markers of a namespace."""
    return [marker for marker in message.markers if marker.ns == namespace]


def said(node):
    """Return the log's lines about links without collision geometry."""
    return [m.msg for m in node.inbox['/rosout'] if 'has no collision geometry' in m.msg]


def ends(marker):
    """The points (k, 2, 3) that lines join."""
    return np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 2, 3)


def test_near_pairs_are_lines_and_colliding_links_are_red():
    robot = load('panda')
    q, collisions = colliding_configuration(robot), ik.Collisions(robot)
    goal = JointState(name=list(robot.joint_names), position=q.tolist())
    pairs = collisions.distances(q, REACH)
    links = {link for pair in collisions.colliding(q) for link in (pair.first, pair.second)}
    covers = [piece for piece in collisions.pieces if piece.link in links]
    assert pairs
    assert covers
    with panda_world() as node:
        node._listen(MarkerArray, TOPIC, 10)
        node.more_states(1)
        node.publisher(JointState, 'joint_goal', 10).publish(goal)

        def is_shown():
            last = node.inbox[TOPIC][-1] if node.inbox[TOPIC] else MarkerArray()
            lines = of(last, 'distances')
            expected = np.array([pair.points for pair in pairs])
            return (
                len(lines) == 1
                and ends(lines[0]).shape == expected.shape
                and np.abs(ends(lines[0]) - expected).max() < 1e-6
            )

        node.until(is_shown, 'lines as at the goal')
        last = node.inbox[TOPIC][-1]
        assert {marker.header.frame_id for marker in last.markers[1:]} == {robot.base_link}
        assert last.markers[0].action == Marker.DELETEALL
        assert len({(marker.ns, marker.id) for marker in last.markers}) == len(last.markers)
        reds = [colour.r > 0.9 and colour.g < 0.2 for colour in of(last, 'distances')[0].colors]
        assert reds == [pair.distance <= pair.margin for pair in pairs for _ in range(2)]
        (text,) = of(last, 'nearest')
        assert text.text.startswith(f'{pairs[0].first} - {pairs[0].second}: -')
        assert len(of(last, 'colliding')) == len(covers)
        node.set_parameters(rate=500.0)  # a change of parameters leaves the markers
        seen = len(node.inbox[TOPIC])
        node.until(lambda: len(node.inbox[TOPIC]) > seen + 2, 'markers go on')
        wide = ik.Collisions(robot, margin=0.05)
        more = {link for pair in wide.colliding(q) for link in (pair.first, pair.second)}
        covers = [piece for piece in wide.pieces if piece.link in more]
        assert more > links
        assert node.set_parameters(collision_margin=0.05).successful
        node.until(
            lambda: len(of(node.inbox[TOPIC][-1], 'colliding')) == len(covers), 'a wider margin'
        )


def test_a_robot_without_shapes_is_one_warning_and_moves_on():
    text = SHAPES.replace('<collision>', '<!--').replace('</collision>', '-->')
    with panda_world(urdf_path='', robot_description=text, tip_links=['arm']) as node:
        node._listen(Log, '/rosout', 1000)
        node._listen(MarkerArray, TOPIC, 10)
        node.until(lambda: said(node), 'a warning')
        node.more_states(200)
        assert len(said(node)) == 1
        assert not [m for message in node.inbox[TOPIC] for m in message.markers if m.ns]
        assert node.transition(Transition.TRANSITION_DEACTIVATE)


@pytest.mark.parametrize(
    ('shape', 'kinds'),
    [
        ('<sphere radius="0.1"/>', [Marker.SPHERE]),
        ('<cylinder radius="0.1" length="0.3"/>', [Marker.CYLINDER]),
        ('<capsule radius="0.1" length="0.3"/>', [Marker.SPHERE, Marker.SPHERE, Marker.CYLINDER]),
        ('<box size="0.1 0.2 0.3"/>', [Marker.TRIANGLE_LIST]),
    ],
)
def test_a_cover_has_the_size_and_the_place_of_its_shape(shape, kinds):
    robot = ik.load_robot(SHAPES.format(shape=shape))
    collisions = ik.Collisions(robot)
    q = np.array([0.05])
    found = [marker for marker in markers(collisions, q) if marker.ns == 'colliding']
    covers = found[len(found) - len(kinds) :]
    assert [marker.type for marker in covers] == kinds
    (piece,) = [piece for piece in pieces_of(robot) if piece.link == 'arm']
    low, high = np.inf, -np.inf
    for marker in covers:
        pose = ik.transform(marker.pose)
        if marker.type == Marker.TRIANGLE_LIST:
            points = ends(marker).reshape(-1, 3)
        else:  # along the cylinder's axis, and across
            half = 0.5 * np.array([marker.scale.x, marker.scale.y, marker.scale.z])
            points = np.vstack([np.diag(half), -np.diag(half)])
        points = points @ pose[:3, :3].T + pose[:3, 3]
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    link = robot.forward_kinematics(q, 'arm')
    corners = piece.corners @ link[:3, :3].T + link[:3, 3]
    assert (low <= corners.min(axis=0) + 1e-9).all()
    assert (high >= corners.max(axis=0) - 1e-9).all()
    assert (low >= corners.min(axis=0) - 0.1 - 1e-9).all()
    assert (high <= corners.max(axis=0) + 0.1 + 1e-9).all()
    np.testing.assert_allclose(0.5 * (low + high), corners.mean(axis=0), atol=1e-9)
