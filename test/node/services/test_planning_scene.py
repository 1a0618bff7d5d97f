"""`PlanningScene`: what its messages put around a robot, and what may touch.

Messages are classes with the fields of moveit_msgs; the real ones are in test_compute_ik.py.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.moveit_messages import carried, matrix, message, thing
from support.node_harness import load

import ik_core as ik
from ik_core.collision import Box, Convex, Cylinder, Sphere
from ik_node.planning_scene import Moment, Operation, PlanningScene

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


BAD = {
    'no id': message(thing('', BOX)),
    'no shape': message(thing('a')),
    'cone': message(thing('a', (4, [0.1, 0.1]))),
    'dimensions': message(thing('a', (1, [0.1]))),
    'negative': message(thing('a', (2, [-0.1]))),
    'not finite': message(thing('a', BOX, at=(float('nan'), 0, 0))),
    'plane': message(thing('a', BOX, planes=[None])),
    'operation': message(thing('a', BOX, operation=b'\7')),
    'to move': message(thing('a', operation=MOVE)),
    'frame': message(thing('kept', BALL, frame='map', operation=APPEND)),
    'octomap': message(octomap=[1]),
    'rows': message(allowed=matrix(['a', 'b'], [[True]])),
    'default': message(allowed=one_default_too_few()),
    'no_link': message(attached=[carried('no_link', thing('a', BOX))]),
    'no_touching': message(attached=[carried('panda_hand', thing('a', BOX), ['no_touching'])]),
    'flat': message(thing('a', meshes=[[(0.0, 0.0, float('inf'))] * 4])),
    'too many': message(*(thing(f'thing {k}', BALL) for k in range(100))),
}


@pytest.mark.parametrize('bad', BAD.values(), ids=BAD)
def test_what_is_wrong_is_refused_as_a_whole(now, bad):
    scene = scene_of(now, message(thing('kept', BOX)))
    good = thing('good', BALL)
    bad.world.collision_objects.insert(0, good)
    try:
        with pytest.raises(ik.IkError) as refused:
            scene.changed(bad, now)
    finally:
        bad.world.collision_objects.remove(good)
    assert len(str(refused.value).splitlines()) == 1
    assert [*world_of(scene, now)] == ['kept']


def test_a_pose_counts_only_with_its_poses():
    it = thing('a', BOX)
    it.primitive_poses = []
    with pytest.raises(ik.InvalidOption, match="object 'a': each primitive and mesh needs a pose"):
        PlanningScene().changed(message(it), moment())


def test_an_unknown_frame_is_named_when_the_scene_is_used(now):
    def unknown(name):
        raise ik.InvalidOption(f'unknown frame {name!r}')

    scene = scene_of(now, message(thing('a', BOX, frame='map')))
    with pytest.raises(ik.InvalidOption, match="object 'a': unknown frame 'map'"):
        scene.put_into(ik.World(), Moment(now.robot, now.q, unknown))
