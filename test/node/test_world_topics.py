# SPDX-License-Identifier: Apache-2.0
"""Obstacles that a node with `avoid: world` gets by topics, and its services about them."""

from types import SimpleNamespace as Fields

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, Pose
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger
from support.moveit_messages import carried, matrix, message, thing
from support.node_harness import is_still, load, snapshot
from support.panda_world import TIP, call, panda_world, until_at
from visualization_msgs.msg import Marker, MarkerArray

import ik_core as ik
from ik_core.collision import Box, Collisions, Cylinder
from ik_node.conversions import Refused
from ik_node.inputs.scene_topics import SceneTopics
from ik_node.known_collisions import KnownCollisions
from ik_node.planning_scene import Operation, PlanningScene
from ik_node.scene_reader import SceneReader

MARGIN = 0.02
SIZE, AT = (1.0, 2.0, 0.1), (0.7, 0.0, 0.1)  # a table; its top is at 0.15
DOWN = {'quaternion': (1.0, 0.0, 0.0, 0.0)}
IN_TABLE = ik.transform(position=(0.5, 0.0, 0.05), **DOWN)
ABOVE = ik.transform(position=(0.5, 0.1, 0.5), **DOWN)
ROOT = 'panda_link0'


@pytest.fixture
def node():
    with panda_world(avoid='world', avoid_margin=MARGIN) as it:
        it.more_states(1)
        yield it


def marker(name='table', number=0, kind=Marker.CUBE, size=SIZE, at=AT, frame=ROOT, **fields):
    it = Marker(ns=name, id=number, type=kind, **fields)
    it.header.frame_id = frame
    it.scale.x, it.scale.y, it.scale.z = map(float, size)
    it.pose = Pose(position=Point(**dict(zip('xyz', map(float, at), strict=True))))
    return it


def send(node, *markers):
    node.publisher(MarkerArray, 'ik_node/world_markers', 10).publish(MarkerArray(markers=markers))


def obstacles(node):
    return [each.name for each in node.ik_node._motion.model.tracker.world]


def until_obstacles(node, *names):
    node.until(lambda: sorted(obstacles(node)) == sorted(names), f'obstacles {names}')


def until_unknown(node, *texts):
    def is_told():
        reason = node.status.get('world_unknown', '')
        return all(text in reason and text in node.status['text'] for text in texts)

    node.until(is_told, f'a status with {texts}')


def clear(node):
    answer = call(node, Trigger, 'clear_world')
    assert answer.success
    return answer.message


def least(node):
    """The least distance [m] beyond the margin from a table, in all states and between them."""
    robot, world = load('panda'), ik.World()
    world.add('table', Box(SIZE), ik.transform(position=AT))
    collisions = Collisions(robot, world, margin=MARGIN)
    rows = np.array([list(state.position[: robot.n]) for state in node.states])
    rows = np.unique(np.concatenate([rows, 0.5 * (rows[1:] + rows[:-1])]), axis=0)
    near = (pair for q in rows for pair in collisions.distances(q, 0.1))
    return min((pair.distance - pair.margin for pair in near), default=np.inf)


def test_the_arm_stops_above_a_table_of_a_marker_until_it_is_deleted(node):
    robot = load('panda')
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    send(node, marker())
    until_obstacles(node, 'table/0')
    node.send_goal(IN_TABLE)
    node.until_code('obstacle')
    assert 'table/0' in node.status['obstacle'].split(', ')
    assert -1e-9 <= least(node) < 0.003
    key = 'obstacle_distance [m]'
    node.until(lambda: MARGIN <= float(node.status[key]) < MARGIN + 0.003, 'the distance')
    send(node, marker(action=Marker.DELETE))
    until_obstacles(node)
    node.send_goal(ik.transform(position=(0.5, 0.0, 0.12), **DOWN))
    node.until_code('reached')
    assert least(node) < -0.02  # it reached into the place where the table was


def test_objects_stay_when_their_publisher_goes(node):
    other = node.node.create_publisher(MarkerArray, 'ik_node/world_markers', 10)
    node.until(other.get_subscription_count, 'the node')
    other.publish(MarkerArray(markers=[marker()]))
    until_obstacles(node, 'table/0')
    node.node.destroy_publisher(other)
    topic = f'{node.namespace}/ik_node/world_markers'
    node.until(lambda: not node.node.count_publishers(topic), 'the end of the publisher')
    robot = load('panda')
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    node.send_goal(IN_TABLE)
    node.until_code('obstacle')
    assert obstacles(node) == ['table/0']


def test_markers_of_all_kinds_have_their_sizes_and_poses(node):
    far = (3.0, 0.5, 0.5)
    send(
        node,
        marker('a', at=far),
        marker('b', 7, Marker.SPHERE, (0.2, 0.2, 0.2), far, frame='panda_link1'),
        marker('b', 8, Marker.CYLINDER, (0.2, 0.2, 0.6), far, frame='/panda_link0'),
    )
    until_obstacles(node, 'a/0', 'b/7', 'b/8')
    world = node.ik_node._motion.model.tracker.world
    assert world['a/0'].shape == ik.collision.Box(SIZE)
    assert world['b/7'].shape == ik.collision.Sphere(0.1)
    assert world['b/8'].shape == ik.collision.Cylinder(0.1, 0.6)
    link = load('panda').forward_kinematics(node.ik_node._motion.model.q, 'panda_link1')
    there = (link @ ik.transform(position=far))[:3, 3]
    np.testing.assert_allclose(world['b/7'].pose[:3, 3], there, atol=1e-9)
    np.testing.assert_allclose(world['b/8'].pose[:3, 3], far)
    send(node, marker('b', 7, Marker.SPHERE, (0.2, 0.2, 0.2), (3.0, 0.0, 0.0)))
    moved = ik.transform(position=(3.0, 0.0, 0.0))
    world = node.ik_node._motion.model.tracker
    node.until(lambda: (world.world['b/7'].pose == moved).all(), 'the moved ball')
    send(node, marker('b', action=Marker.DELETEALL))
    until_obstacles(node, 'a/0')
    send(node, marker('', action=Marker.DELETEALL))
    until_obstacles(node)


def test_a_marker_that_is_locked_to_a_link_is_carried_by_it(node):
    size, at = (0.02, 0.02, 0.02), (0.0, 0.0, 0.3)
    send(node, marker('tool', size=size, at=at, frame=TIP, frame_locked=True))
    until_obstacles(node, 'tool/0')
    tool = node.ik_node._motion.model.tracker.world['tool/0']
    assert tool.link == TIP
    np.testing.assert_allclose(tool.pose, ik.transform(position=at))


@pytest.mark.parametrize(
    ('wrong', 'reason'),
    [
        ({'size': (0.1, float('nan'), 0.1)}, 'size'),
        ({'kind': Marker.CYLINDER, 'size': (0.1, float('nan'), 0.1)}, 'diameters must be equal'),
        ({'kind': Marker.SPHERE, 'size': (0.1, 0.2, 0.1)}, 'diameters must be equal'),
        ({'size': (0.1, 0.0, 0.1)}, 'size'),
        ({'kind': Marker.MESH_RESOURCE}, 'a marker of type 10 is not known'),
        ({'frame': 'no_such_frame'}, "unknown frame 'no_such_frame'"),
        ({'at': (float('inf'), 0.0, 0.0)}, 'not finite'),
        ({'action': 9}, 'unknown action 9'),
    ],
)
def test_while_a_marker_can_not_be_read_no_new_goals_are_accepted(node, wrong, reason):
    robot = load('panda')
    send(node, marker('good', at=(3.0, 0.0, 0.0)), marker('bad', **wrong))
    until_unknown(node, "object 'bad/0'", reason)
    until_obstacles(node, 'good/0')  # what could be read counts
    node.send_goal(ABOVE)
    node.until_refused('world_unknown')
    assert reason in node.status['last_refused']
    send(node, marker('bad', action=Marker.DELETE))
    node.until(lambda: 'world_unknown' not in node.status, 'goals are accepted')
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)


def test_what_can_not_be_read_can_be_ignored(node):
    robot = load('panda')
    assert node.set_parameters(compute_ik_ignore=['label/0']).successful
    send(node, marker('label', kind=Marker.TEXT_VIEW_FACING), marker('far', at=(3.0, 0.0, 0.0)))
    until_obstacles(node, 'far/0')
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)


def test_the_101st_object_is_refused_by_name_also_beside_those_of_a_file(tmp_path):
    path = tmp_path / 'world.yaml'
    path.write_text('ball/0: {sphere: 0.01, xyz: [5, 5, 5]}\n', encoding='utf-8')
    with panda_world(avoid='world', world_file=str(path)) as node:
        balls = [
            marker('ball', k, Marker.SPHERE, (0.01, 0.01, 0.01), (4.0, 0.1 * k, 0.0))
            for k in range(100)
        ]
        send(node, *balls)
        until_unknown(node, "object 'ball/99'", 'more than 100')
        named = ['ball/0', 'ball/0 (2)', *(f'ball/{k}' for k in range(1, 99))]
        until_obstacles(node, *named)
        message = clear(node)
        assert message.startswith('100 objects removed')
        until_obstacles(node, 'ball/0')  # of the file
        node.until(lambda: 'world_unknown' not in node.status, 'goals are accepted')


def test_the_nearest_pair_is_that_of_the_distances(node):
    robot = load('panda')
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    node.until_code('reached')
    q = node.ik_node._motion.model.q
    tip = robot.forward_kinematics(q, 'panda_hand_tcp')[:3, 3]
    size = (0.2, 0.2, 0.1)
    below = tip - (0.0, 0.0, 0.078)
    send(node, marker('cube', size=size, at=below))
    until_obstacles(node, 'cube/0')
    world = ik.World()
    world.add('cube/0', Box(size), ik.transform(position=below))
    every = Collisions(robot, world, margin=MARGIN).distances(q, 1.0)
    found = min(every, key=lambda pair: pair.distance - pair.margin)
    assert 'cube/0' in (found.first, found.second)
    assert found is not every[0]  # links that are always near are nearer
    answer = call(node, Trigger, 'nearest_pair')
    assert answer.success
    names = f'{found.first} - {found.second}'
    assert answer.message == f'{names}: {found.distance:.3f} m (margin {MARGIN:.3f} m)'
    key = 'nearest_distance [m]'
    node.until(lambda: node.diagnostics.get('nearest_pair', '').count('cube/0'), 'diagnostics')
    assert abs(float(node.diagnostics[key]) - found.distance) < 1e-4


def test_without_avoid_there_is_no_nearest_pair_and_no_topic():
    with panda_world() as node:
        node.more_states(1)
        answer = call(node, Trigger, 'nearest_pair')
        assert not answer.success
        assert 'avoid is none' in answer.message
        assert node.node.count_subscribers(f'{node.namespace}/ik_node/world_markers') == 0
        assert 'nearest_pair' not in node.diagnostics


def tell(node, it, change=PlanningScene.changed):
    """Give the node a stand-in for a message of MoveIt, as its subscription would."""
    node.ik_node._scene_topics._unread.append((it, change))


def test_what_is_picked_up_keeps_its_distance_too_and_is_put_down_again(node):
    """With stand-ins for the messages of MoveIt, which is not installed everywhere."""
    robot, model = load('panda'), node.ik_node._motion.model
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    send(node, marker())
    # from 0.13 to 0.33 m below the hand: 0.02 m beyond the end of the fingers
    rod = thing('rod', (3, [0.2, 0.02]), at=(-0.1, 0.0, 0.23), frame=TIP)
    fingers = ['panda_leftfinger', 'panda_rightfinger', 'panda_hand']
    tell(node, message(attached=[carried(TIP, rod, fingers)]))
    until_obstacles(node, 'table/0', 'rod')
    node.send_goal(IN_TABLE)
    node.until_code('obstacle')
    node.until(lambda: is_still(node.states[-1]), 'rest')
    q, world = model.q, ik.World()
    world.add('table', Box(SIZE), ik.transform(position=AT))
    world.attach('rod', Cylinder(0.02, 0.2), TIP, ik.transform(position=(0, 0, 0.23)), fingers)
    gaps = Collisions(robot, world, margin=MARGIN).distances(q, 0.5)
    gap = next(pair.distance for pair in gaps if {pair.first, pair.second} == {'rod', 'table'})
    assert MARGIN - 1e-9 <= gap < MARGIN + 0.003
    tell(node, message(attached=[carried(TIP, thing('rod', operation=bytes([Operation.REMOVE])))]))
    node.until(lambda: model.tracker.world['rod'].link is None, 'the rod on the table')
    there = robot.forward_kinematics(q, TIP) @ ik.transform(position=(0, 0, 0.23))
    np.testing.assert_allclose(model.tracker.world['rod'].pose, there, atol=1e-9)


def test_pairs_that_the_scene_allows_to_touch_may_touch(node):
    robot = load('panda')
    deep = ik.transform(position=(0.5, 0.0, 0.12), **DOWN)
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    tell(node, message(thing('table', (1, list(SIZE)), at=np.subtract(AT, (0.1, 0.0, 0.0)))))
    until_obstacles(node, 'table')
    names = ['table', *robot.link_names]
    rows = [[first == 'table' != second for second in names] for first in names]
    tell(node, message(allowed=matrix(names, rows)))
    allowed = frozenset(('table', 'panda_hand'))
    node.until(lambda: allowed in node.ik_node._motion.model.tracker.world.allowed, 'the pairs')
    node.send_goal(deep)
    until_at(node, robot, deep)
    assert least(node) < -0.02
    tell(node, message(thing('table', operation=bytes([Operation.REMOVE])), is_diff=True))
    until_obstacles(node)


def test_the_obstacles_are_published_for_rviz_as_they_are_avoided(tmp_path):
    path = tmp_path / 'world.yaml'
    lines = [
        'floor: {plane: true, xyz: [0, 0, -0.5]}',
        'can: {cylinder: [0.1, 0.4], xyz: [3, 0, 0]}',
        'tool: {capsule: [0.01, 0.1], link: panda_hand, xyz: [0, 0, 0.3]}',
        'wedge: {convex: [[3, 0, 0], [3.1, 0, 0], [3, 0.1, 0], [3, 0, 0.1]]}',
    ]
    path.write_text('\n'.join(lines), encoding='utf-8')
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with panda_world(avoid='world', world_file=str(path), frame_prefix='a/') as node:
        node._listen(MarkerArray, 'ik_node/obstacles', latched)

        def shown():
            messages = node.inbox['ik_node/obstacles']
            return messages[-1].markers[1:] if messages else []

        node.until(lambda: len(shown()) == 6, 'all obstacles')
        assert [(it.ns, it.type, it.header.frame_id, it.frame_locked) for it in shown()] == [
            ('floor', Marker.CUBE, 'a/panda_link0', False),
            ('can', Marker.CYLINDER, 'a/panda_link0', False),
            ('tool', Marker.CYLINDER, 'a/panda_hand', True),
            *[('tool', Marker.SPHERE, 'a/panda_hand', True)] * 2,
            ('wedge', Marker.TRIANGLE_LIST, 'a/panda_link0', False),
        ]
        floor, can, _, low, high, wedge = shown()
        assert floor.pose.position.z + 0.5 * floor.scale.z == pytest.approx(-0.5)  # its top
        assert (can.scale.x, can.scale.y, can.scale.z) == (0.2, 0.2, 0.4)
        assert sorted(it.pose.position.z for it in (low, high)) == pytest.approx([0.25, 0.35])
        assert len(wedge.points) == 4 * 3
        send(node, marker('cube', at=(3.0, 0.0, 0.0), frame='a/panda_link0'))
        node.until(lambda: shown() and shown()[-1].ns == 'cube/0', 'the cube')
        assert shown()[-1].scale.y == SIZE[1]


class Frames:
    """A frame `map` outside the robot, which moves."""

    def __init__(self):
        self.pose = ik.transform(position=(3.0, 0.0, 0.0))

    def lookup(self, target, source, stamp=0):
        if self.pose is None:
            raise Refused('unknown_frame', f'{source} is lost')
        return self.pose


def test_objects_in_a_frame_of_tf_move_with_it_and_its_loss_is_the_reason():
    """The topics without a node: a model that only has what they read."""
    robot, frames, reader = load('panda'), Frames(), SceneReader(KnownCollisions())
    options = snapshot(avoid='world', tip_links=(TIP,))
    applied = []
    model = Fields(
        robot=robot,
        base_link=ROOT,
        parameters=options,
        tracker=Fields(q=robot.middle_configuration),
        avoided=Collisions(robot),
        apply=lambda instruction: applied.append(instruction.world),
    )
    log = Fields(info=lambda *_, **__: None, warning=lambda *_, **__: None)
    topics = SceneTopics(Fields(get_logger=lambda: log), lambda: model, frames, reader)

    def look():
        topics.make_world()
        topics.apply_world()
        return [world['box/0'].pose[:3, 3].tolist() for world in applied if len(world)]

    it = marker('box', size=(0.1, 0.1, 0.1), at=(0.0, 0.5, 0.0), frame='map', frame_locked=True)
    topics._take(Fields(markers=[it]), PlanningScene.marked)
    assert topics.why_unknown(model)  # it is not in the world yet
    assert look() == [[3.0, 0.5, 0.0]]
    assert not topics.why_unknown(model)
    assert len(look()) == 1  # nothing moved
    frames.pose = ik.transform(position=(2.0, 0.0, 0.0))
    assert look()[1:] == [[2.0, 0.5, 0.0]]
    assert applied[-1]['box/0'].shape is applied[-2]['box/0'].shape  # so it was only moved
    frames.pose = None
    assert len(look()) == 2
    assert 'map is lost' in topics.why_unknown(model)
    frames.pose = ik.transform(position=(1.0, 0.0, 0.0))
    assert look()[2:] == [[1.0, 0.5, 0.0]]
    assert not topics.why_unknown(model)
