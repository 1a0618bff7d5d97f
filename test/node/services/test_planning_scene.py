# SPDX-License-Identifier: Apache-2.0
"""`PlanningScene`: what its messages put around a robot, and what may touch.

Messages are classes with the fields of moveit_msgs; the real ones are in test_compute_ik.py.
"""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.moveit_messages import carried, matrix, message, thing
from support.node_harness import load

import ik_core as ik
from ik_core.collision import Box, Convex, Cylinder, Sphere
from ik_node.known_collisions import KnownCollisions
from ik_node.planning_scene import MATRIX, Moment, Operation, PlanningScene
from ik_node.scene_reader import SceneReader

_, REMOVE, APPEND, MOVE = (bytes([operation]) for operation in Operation)
BOX, BALL, ROD = (1, [0.2, 0.4, 0.6]), (2, [0.1]), (3, [0.6, 0.1])
MAP = ik.transform(position=(0.0, 0.0, 2.0), rpy=(0.0, 0.0, 0.5))


@pytest.fixture(scope='module')
def now():
    return moment()


def moment(seed=0, map_frame=MAP):
    """A panda somewhere, beside a frame `map`."""
    robot = load('panda')
    q = np.random.default_rng(seed).uniform(robot.lower, robot.upper)

    def frame_of(name):
        if name == 'map':
            return map_frame
        if name == 'nowhere':
            raise ik.InvalidOption(f'unknown frame {name!r}')
        return robot.forward_kinematics(q, name or robot.base_link)

    return Moment(robot, q, frame_of)


def scene_of(now, *messages):
    scene = PlanningScene()
    for each in messages:
        scene = scene.changed(each, now)
    return scene


def world_of(scene, now):
    world = ik.World()
    scene.put_into(world, now)
    return {each.name: each for each in world}


def positions(scene, now):
    return {
        name: (
            each.pose
            if each.link is None
            else now.robot.forward_kinematics(now.q, each.link) @ each.pose
        )[:3, 3].round(9)
        for name, each in world_of(scene, now).items()
    }


def test_objects_stand_where_they_are_put(now):
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    scene = scene_of(now, message(thing('all', BOX, BALL, ROD, at=(0.5, 0, 0), meshes=[corners])))
    found = world_of(scene, now)
    assert found['all'].shape == Box((0.2, 0.4, 0.6))
    assert found['all 1'].shape == Sphere(0.1)
    assert found['all 2'].shape == Cylinder(0.1, 0.6)
    assert isinstance(found['all 3'].shape, Convex)
    for each in found.values():
        np.testing.assert_allclose(each.pose, ik.transform(position=(0.6, 0, 0)), atol=1e-12)


def test_objects_are_replaced_moved_enlarged_and_removed(now):
    scene = scene_of(now, message(thing('a', BOX), thing('b', BALL)))
    scene = scene.changed(message(thing('a', BALL)), now)
    assert world_of(scene, now)['a'].shape == Sphere(0.1)
    scene = scene.changed(message(thing('a', at=(0, 1, 0), operation=MOVE)), now)
    scene = scene.changed(message(thing('a', ROD, at=(0, 2, 0), operation=APPEND)), now)
    found = positions(scene, now)
    np.testing.assert_allclose([found['a'], found['a 1']], [(0.1, 1, 0), (0.1, 2, 0)])
    scene = scene.changed(message(thing('a', operation=REMOVE)), now)
    assert [*world_of(scene, now)] == ['b']
    assert not scene.changed(message(thing('', operation=REMOVE)), now)


def test_a_whole_scene_replaces_the_one_before(now):
    scene = scene_of(
        now, message(thing('a', BOX), attached=[carried('panda_hand', thing('c', ROD))])
    )
    scene = scene.changed(message(thing('b', BALL), is_diff=False), now)
    assert [*world_of(scene, now)] == ['b']


def test_in_the_frame_of_a_link_an_object_stays_and_in_another_it_moves_with_that(now):
    scene = scene_of(
        now, message(thing('on_hand', BOX, frame='/panda_hand'), thing('on_map', BOX, frame='map'))
    )
    before = positions(scene, now)
    later = moment(1, ik.transform(position=(0.0, 0.0, 1.0)))
    after = positions(scene, later)
    np.testing.assert_allclose(after['on_hand'], before['on_hand'])
    np.testing.assert_allclose(after['on_map'], (0.1, 0.0, 1.0))
    hand = now.frame_of('panda_hand') @ (0.1, 0.0, 0.0, 1.0)
    np.testing.assert_allclose(before['on_hand'], hand[:3], atol=1e-9)


@pytest.mark.parametrize('frame', ['', 'map', 'panda_link3'])
def test_what_is_picked_up_moves_with_its_link_and_what_is_put_down_stays(now, frame):
    scene = scene_of(now, message(thing('cup', ROD, at=(0.4, 0.1, 0.2), frame=frame)))
    before = positions(scene, now)['cup']
    touching = ['panda_leftfinger']
    grasp = carried('panda_hand', thing('cup'), touching)
    scene = scene.changed(message(attached=[grasp]), now)
    (cup,) = world_of(scene, now).values()
    assert (cup.link, list(cup.touching)) == ('panda_hand', touching)
    np.testing.assert_allclose(positions(scene, now)['cup'], before, atol=1e-9)
    later = moment(1)
    there = positions(scene, later)['cup']
    in_hand = np.linalg.inv(now.frame_of('panda_hand')) @ [*before, 1.0]
    np.testing.assert_allclose(there, (later.frame_of('panda_hand') @ in_hand)[:3], atol=1e-8)
    release = carried('', thing('cup', operation=REMOVE))
    scene = scene.changed(message(attached=[release]), later)
    assert world_of(scene, later)['cup'].link is None
    np.testing.assert_allclose(positions(scene, now)['cup'], there, atol=1e-9)


def test_the_allowed_collision_matrix_says_what_may_touch(now):
    allowed = matrix(
        ['table', 'panda_hand', 'panda_link7'],
        [[False, True, False], [True, False, True], [False, True, False]],
        {'cloth': True, 'panda_link7': False},
    )
    scene = scene_of(now, message(thing('table', BOX, BALL), thing('cloth', BOX), allowed=allowed))
    world = ik.World()
    scene.put_into(world, now)
    pairs = world.allowed
    for name in ('table', 'table 1'):
        assert frozenset((name, 'panda_hand')) in pairs
        assert frozenset((name, 'panda_link7')) not in pairs
    assert frozenset(('panda_hand', 'panda_link7')) in pairs
    assert frozenset(('cloth', 'panda_link3')) in pairs
    assert frozenset(('cloth', 'panda_link7')) not in pairs  # one of the two defaults forbids it
    unchanged = scene.changed(message(thing('ball', BALL)), now)
    assert unchanged.allowed == scene.allowed


def test_configurations_are_judged_in_the_scene(now):
    """By a world that is made without it."""
    scene = scene_of(
        now,
        message(thing('table', (1, [0.8, 1.2, 0.1]), at=(0.5, 0.0, 0.3))),
        message(
            attached=[carried('panda_hand', thing('rod', (3, [0.3, 0.02]), frame='panda_hand'))]
        ),
    )
    expected, found = ik.World(), ik.World()
    expected.add('table', Box((0.8, 1.2, 0.1)), ik.transform(position=(0.6, 0.0, 0.3)))
    expected.attach('rod', Cylinder(0.02, 0.3), 'panda_hand', ik.transform(position=(0.1, 0, 0)))
    scene.put_into(found, now)
    rows = np.random.default_rng(2).uniform(now.robot.lower, now.robot.upper, (500, now.robot.n))
    free = ik.Collisions(now.robot, found).free(rows)
    assert (free == ik.Collisions(now.robot, expected).free(rows)).all()
    assert 0.02 < free.mean() < 0.9


def one_default_too_few():
    it = matrix(defaults={'a': True, 'b': True})
    it.default_entry_values.pop()
    return it


def names_of(scene, ignored=()):
    return [each.name for each in scene.missing(ignored)]


CONE, PRISM, PLANE = (4, [0.1, 0.1]), (5, [0.1]), object()
BAD = {  # a message, what is missing after it, and of which kind
    'no id': (message(thing('', BOX)), '', ''),
    'no shape': (message(thing('a')), 'a', ''),
    'cone': (message(thing('a', CONE)), 'a', 'cone'),
    'prism': (message(thing('a', PRISM)), 'a', 'prism'),
    'dimensions': (message(thing('a', (1, [0.1]))), 'a', ''),
    'negative': (message(thing('a', (2, [-0.1]))), 'a', ''),
    'above 1 km': (message(thing('a', (1, [1001.0, 1.0, 1.0]))), 'a', ''),
    'not finite': (message(thing('a', BOX, at=(float('nan'), 0, 0))), 'a', ''),
    'plane': (message(thing('a', planes=[PLANE])), 'a', 'plane'),
    'operation': (message(thing('a', BOX, operation=b'\7')), 'a', ''),
    'to move': (message(thing('a', operation=MOVE)), 'a', ''),
    'octomap': (message(octomap=[1], octomap_id='OcTree'), 'octomap', 'octomap'),
    'padding': (message(padding=[0.0, 0.02]), 'link_padding', 'link_padding'),
    'scale': (message(scale=[1.1]), 'link_scale', 'link_scale'),
    'rows': (message(allowed=matrix(['a', 'b'], [[True]])), MATRIX, MATRIX),
    'default': (message(allowed=one_default_too_few()), MATRIX, MATRIX),
    'no_link': (message(attached=[carried('no_link', thing('a', BOX))]), 'a', 'link'),
    'no_touching': (
        message(attached=[carried('panda_hand', thing('a', BOX), ['x'])]),
        'a',
        'link',
    ),
    'nothing to carry': (message(attached=[carried('panda_hand', thing('a'))]), 'a', ''),
    'mesh': (message(thing('a', meshes=[[(0.0, 0.0, float('inf'))] * 4])), 'a', 'mesh'),
    'frame': (message(thing('a', BOX, frame='nowhere')), 'a', 'frame'),
    'too many': (message(*(thing(f't{k}', BALL) for k in range(99))), 't98', 'count'),
}
# Messages after which these can be read
MENDS = {
    MATRIX: message(allowed=matrix(['a'], [[True]])),
    'octomap': message(octomap_id='cleared'),
    'link_padding': message(padding=[0.0]),
    'link_scale': message(scale=[1.0]),
}


@pytest.mark.parametrize(('bad', 'name', 'kind'), BAD.values(), ids=BAD)
def test_what_can_be_read_counts_and_the_rest_is_missing_until_it_is_replaced(
    now, bad, name, kind
):
    scene = scene_of(now, message(thing('kept', BOX)))
    good = thing('good', BALL)
    bad.world.collision_objects.insert(0, good)
    try:
        scene = scene.changed(bad, now)
    finally:
        bad.world.collision_objects.remove(good)
    assert {'kept', 'good'} <= set(world_of(scene, now))
    assert name not in world_of(scene, now)
    (missing,) = scene.missing()
    assert (missing.name, missing.flaw.kind) == (name, kind)
    assert len(str(missing).splitlines()) == 1
    assert not scene.missing([name])
    assert not scene.missing([kind]) or not kind
    assert names_of(scene.changed(message(thing('other', BOX)), now))[0] == name
    assert not scene.changed(message(is_diff=False), now).missing()
    if name in MENDS:
        assert not scene.changed(MENDS[name], now).missing()
    elif missing.subject.startswith('attached'):
        put_down = carried('', thing(name, operation=REMOVE))
        scene = scene.changed(message(attached=[put_down]), now)
        assert names_of(scene) == [name]  # it stands in the world now
        assert not scene.changed(message(thing(name, operation=REMOVE)), now).missing()
    else:
        assert not scene.changed(message(thing(name, operation=REMOVE)), now).missing()
        if name:
            replaced = scene.changed(message(thing('good', operation=REMOVE)), now)
            replaced = replaced.changed(message(thing(name, BALL)), now)
            assert not replaced.missing()
            assert name in world_of(replaced, now)


def test_shapes_of_an_object_that_can_be_read_count(now):
    scene = scene_of(now, message(thing('a', BOX, CONE, BALL, planes=[PLANE])))
    assert [each.shape for each in world_of(scene, now).values()] == [
        Box((0.2, 0.4, 0.6)),
        Sphere(0.1),
    ]
    assert [each.flaw.kind for each in scene.missing()] == ['plane', 'cone']
    assert names_of(scene, ['cone']) == ['a']
    assert not scene.missing(['cone', 'plane'])
    moved = scene.changed(message(thing('a', at=(0, 1, 0), operation=MOVE)), now)
    assert names_of(moved) == ['a', 'a']  # moving mends no shape
    picked_up = scene.changed(message(attached=[carried('panda_hand', thing('a'))]), now)
    assert [each.subject for each in picked_up.missing()] == ["attached object 'a'"] * 2


def test_an_object_that_is_moved_to_an_unknown_frame_is_nowhere_until_it_is_moved_again(now):
    scene = scene_of(now, message(thing('a', BOX)))
    lost = scene.changed(message(thing('a', frame='nowhere', operation=MOVE)), now)
    assert not world_of(lost, now)
    (missing,) = lost.missing()
    assert missing.flaw.kind == 'frame'
    assert "'nowhere'" in str(missing)
    found = lost.changed(message(thing('a', at=(0, 1, 0), operation=MOVE)), now)
    assert not found.missing()
    np.testing.assert_allclose(positions(found, now)['a'], (0.1, 1, 0))


def test_an_attached_object_grows(now):
    scene = scene_of(
        now,
        message(attached=[carried('panda_hand', thing('a', BOX, frame='panda_hand'))]),
        message(
            attached=[
                carried('panda_hand', thing('a', BALL, frame='panda_hand', operation=APPEND)),
            ]
        ),
    )
    assert [each.shape for each in world_of(scene, now).values()] == [
        Box((0.2, 0.4, 0.6)),
        Sphere(0.1),
    ]
    assert not scene.missing()


def test_names_of_shapes_are_those_of_no_other_object_or_link(now):
    names = ['shelf', 'shelf 1', 'shelf 1 (2)', 'panda_hand', 'panda_hand (object)']
    objects = [thing(name, BOX, BALL, at=(k, 0, 0)) for k, name in enumerate(names)]
    allowed = matrix(['panda_hand', 'panda_link3'], [[False, True], [True, False]])
    scene = scene_of(now, message(*objects, allowed=allowed))
    found = world_of(scene, now)
    assert len(found) == 2 * len(names)
    assert not set(found) & set(now.robot.link_names)
    for k, name in enumerate(names):
        parts = [part for part, at in positions(scene, now).items() if at[0] == k + 0.1]
        assert len(parts) == 2
        assert (name in parts) == (name != 'panda_hand')
    world = ik.World()
    scene.put_into(world, now)
    ik.Collisions(now.robot, world)
    assert world.allowed == {frozenset(('panda_hand', 'panda_link3'))}  # the link, not the object


def test_a_mesh_of_many_vertices_is_its_hull(now):
    rng = np.random.default_rng(3)
    inside = rng.uniform(-0.4, 0.4, (12_000, 3))
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    scene = scene_of(now, message(thing('a', meshes=[[*corners, *inside.tolist()]])))
    assert not scene.missing()
    (found,) = world_of(scene, now).values()
    assert sorted(map(tuple, found.shape.points)) == sorted(corners)


def test_a_flat_mesh_is_its_corners(now):
    square = [(x, y, 0.0) for x in (0.0, 1.0) for y in (0.0, 0.5, 1.0)]
    scene = scene_of(now, message(thing('a', meshes=[square])))
    (found,) = world_of(scene, now).values()
    assert set(map(tuple, found.shape.points)) >= {(x, y, 0.0) for x in (0, 1) for y in (0, 1)}


def test_an_unknown_frame_is_refused_when_the_object_comes(now):
    asked = []

    def unknown(name):
        asked.append(name)
        raise ik.InvalidOption(f'unknown frame {name!r}')

    elsewhere = Moment(now.robot, now.q, unknown)
    scene = scene_of(elsewhere, message(thing('a', BOX, frame='map')))
    (missing,) = scene.missing()
    assert str(missing) == "object 'a': unknown frame 'map'"
    del asked[:]
    assert not world_of(scene, elsewhere)
    assert not asked


def test_a_frame_that_is_lost_later_is_named(now):
    def unknown(name):
        raise ik.InvalidOption(f'unknown frame {name!r}')

    scene = scene_of(now, message(thing('a', BOX, frame='map')))
    with pytest.raises(ik.InvalidOption, match="object 'a': unknown frame 'map'"):
        scene.put_into(ik.World(), Moment(now.robot, now.q, unknown))


def test_collisions_are_made_once_for_a_scene_and_a_margin(now):
    """An object in a frame that moves is where its frame is at each call."""
    reader = SceneReader(KnownCollisions())
    reader.read(message(thing('a', BALL, frame='map'), thing('b', BOX, at=(0, 3, 0))), now)
    first = reader.collisions(reader.scene, 0.0, now)
    moved = {'map': ik.transform(position=(0.0, 0.0, 1.0))}
    later = replace(now, frame_of=lambda name: moved.get(name, np.eye(4)))
    assert reader.collisions(reader.scene, 0.0, later) is first
    np.testing.assert_allclose(first.world['a'].pose[:3, 3], (0.1, 0.0, 1.0))
    assert reader.collisions(reader.scene, 0.02, later).margins.default == 0.02
    assert reader.collisions(reader.scene, 0.0, later) is first
    reader.read(message(thing('c', BALL, at=(0, 4, 0))), later)
    assert [each.name for each in reader.collisions(reader.scene, 0.0, later).world] == [*'abc']
    reader.read(message(is_diff=False), later)
    assert not len(reader.collisions(reader.scene, 0.0, later).world)


def test_a_message_that_breaks_the_reader_is_missing_until_the_next_whole_scene(now):
    reader = SceneReader(KnownCollisions())
    reader.read(message(thing('a', BALL)), now)
    broken = message(thing('b', BALL))
    del broken.world.collision_objects
    (missing,) = reader.read(broken, now)
    assert missing.flaw.kind == 'planning_scene'
    assert not reader.read(message(thing('c', BALL)), now)
    assert [*reader.scene.objects] == ['a', 'c']
    assert reader.scene.missing() == [missing]
    reader.read(message(is_diff=False), now)
    assert not reader.scene.missing()
