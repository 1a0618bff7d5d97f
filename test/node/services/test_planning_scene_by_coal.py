# SPDX-License-Identifier: Apache-2.0
"""Random planning scenes: verdicts in them are those of coal, for which a test reads messages."""

import os

import numpy as np
import pytest

pytest.importorskip('rclpy')
coal = pytest.importorskip('coal')

from support.moveit_messages import carried, message, thing
from support.node_harness import load

import ik_core as ik
from benchmark.coal_judge import NO_ANSWER, CoalJudge
from ik_node.conversions import transform_to_pose
from ik_node.known_collisions import KnownCollisions
from ik_node.planning_scene import Moment, Operation
from ik_node.scene_reader import SceneReader

SCENES = int(os.environ.get('SCENES', '25'))  # Scenes that are drawn
MESSAGES, CONFIGURATIONS = 8, 15  # Messages of a scene, and configurations that are judged in it
UNDECIDED = 1e-6  # [m] Distances that are nearer to the margin are not compared: coal's error
ADD, REMOVE, APPEND, MOVE = (bytes([operation]) for operation in Operation)
MAP = ik.transform(position=(0.3, -0.2, 0.1), rpy=(0.1, 0.2, 0.7))
OFFSET = ik.transform(position=(0.1, 0.0, 0.0))  # of the shapes of `thing` in its frame
HAND, FINGERS = 'panda_hand', ['panda_leftfinger', 'panda_rightfinger']


class Drawn:
    """A scene that is drawn message by message.

    objects : by id, the link that carries it (None: it stands), its pose in that link's frame or
        in the root link's, and coal's shapes with their poses in its frame
    in_map : ids of objects in the frame `map`
    """

    def __init__(self, robot, q, rng):
        self.robot, self.q, self.rng = robot, q, rng
        self.objects, self.in_map = {}, set()

    def frame_of(self, name):
        return MAP if name == 'map' else self.robot.forward_kinematics(self.q, name or BASE)

    def pose(self, reach):
        return ik.transform(
            position=self.rng.uniform(-reach, reach, 3), rpy=self.rng.uniform(-3.0, 3.0, 3)
        )

    def shapes(self, largest):
        """Arguments of `thing`, and the same shapes as coal has them."""
        solids, meshes, shapes = [], [], []
        for kind in sorted(self.rng.integers(1, 5, self.rng.integers(1, 4)).tolist()):
            x, y, z = self.rng.uniform(0.02, largest, 3).tolist()
            if kind == 1:
                solids.append((1, [x, y, z]))
                shapes.append(coal.Box(x, y, z))
            elif kind == 2:
                solids.append((2, [0.5 * x]))
                shapes.append(coal.Sphere(0.5 * x))
            elif kind == 3:
                solids.append((3, [x, 0.5 * y]))
                shapes.append(coal.Cylinder(0.5 * y, x))
            else:
                points = self.rng.normal(size=(self.rng.integers(4, 60), 3)) * largest / 4
                meshes.append(points.tolist())
                vertices = coal.StdVec_Vec3s()
                for point in points:
                    vertices.append(point)
                shapes.append(coal.ConvexBase.convexHull(vertices, False, None))
        return {'solids': solids, 'meshes': meshes}, [(shape, OFFSET) for shape in shapes]

    def placed(self, name, operation, frame=None, reach=0.9, solids=(), meshes=()):
        """A message about an object, and its pose (4, 4) in the root link's frame."""
        if frame is None:
            frame = str(self.rng.choice(['', 'map', BASE, 'panda_link4', HAND]))
            (self.in_map.add if frame == 'map' else self.in_map.discard)(name)
        it, pose = thing(name, *solids, meshes=meshes, frame=frame), self.pose(reach)
        it.pose, it.operation = transform_to_pose(pose), operation
        return it, self.frame_of(frame) @ pose

    def change(self):
        """Return a message, and change the objects accordingly."""
        standing = [name for name, it in self.objects.items() if it[0] is None]
        held = [name for name, it in self.objects.items() if it[0] is not None]
        what = str(self.rng.choice(['add', 'append', 'move', 'remove', 'hold', 'pick', 'put']))
        if what in ('append', 'move', 'remove', 'pick') and standing:
            return getattr(self, what)(str(self.rng.choice(standing)))
        if what == 'put' and held:
            return self.put(str(self.rng.choice(held)))
        name = f'thing {self.rng.integers(8)}'
        return self.hold(name) if what == 'hold' else self.add(name)

    def add(self, name):
        sent, shapes = self.shapes(0.5)
        it, pose = self.placed(name, ADD, **sent)
        self.objects[name] = None, pose, shapes
        return message(it)

    def append(self, name):
        frame = 'map' if name in self.in_map else ''
        sent, shapes = self.shapes(0.3)
        it, pose = self.placed(name, APPEND, frame, **sent)
        _, before, known = self.objects[name]
        moved = np.linalg.inv(before) @ pose
        self.objects[name] = None, before, [*known, *((it, moved @ at) for it, at in shapes)]
        return message(it)

    def move(self, name):
        it, pose = self.placed(name, MOVE)
        self.objects[name] = None, pose, self.objects[name][2]
        return message(it)

    def remove(self, name):
        del self.objects[name]
        return message(thing(name, operation=REMOVE))

    def hold(self, name):
        sent, shapes = self.shapes(0.15)
        it, pose = self.placed(name, ADD, HAND, 0.1, **sent)
        self.objects[name] = HAND, np.linalg.inv(self.frame_of(HAND)) @ pose, shapes
        return message(attached=[carried(HAND, it, FINGERS)])

    def pick(self, name):
        _, pose, shapes = self.objects[name]
        self.objects[name] = HAND, np.linalg.inv(self.frame_of(HAND)) @ pose, shapes
        return message(attached=[carried(HAND, thing(name), FINGERS)])

    def put(self, name):
        _, pose, shapes = self.objects[name]
        self.objects[name] = None, self.frame_of(HAND) @ pose, shapes
        self.in_map.discard(name)
        return message(attached=[carried('', thing(name, operation=REMOVE))])


BASE = 'panda_link0'


class Judge:
    """The distances of links and objects by coal."""

    def __init__(self, alone, objects):
        self.alone, self.objects, self.robot = alone, objects, alone.robot
        judge = CoalJudge(alone)
        self.links = [(piece.link, *judge._of_piece(piece)) for piece in alone.pieces]
        self.request, self.result = judge._request, coal.DistanceResult()

    def nearest(self, q):
        """The least distance of a link or a carried object from an object, None: unknown."""
        fk = {link: self.robot.forward_kinematics(q, link) for link in self.robot.link_names}
        links = [(link, shape, fk[link] @ at) for link, shape, at in self.links]
        standing, held = [], []
        for link, pose, shapes in self.objects.values():
            base = pose if link is None else fk[link] @ pose
            (standing if link is None else held).extend((s, base @ at) for s, at in shapes)
        # not judged: what never moves against what stands, and links fixed to the hand, and
        # fingers, against what it holds
        moving = [(shape, at) for link, shape, at in links if link != BASE]
        body_of = self.robot.placement
        fixed = {link for link, *_ in links if body_of(link).body == body_of(HAND).body}
        others = [(shape, at) for link, shape, at in links if link not in {*fixed, *FINGERS}]
        pairs = [(one, other) for one in moving + held for other in standing]
        pairs += [(one, other) for one in held for other in others]
        found = [self.distance(*one, *other) for one, other in pairs]
        return None if NO_ANSWER in found else min(found, default=np.inf)

    def distance(self, shape, at, other, there):
        self.result.clear()
        one, two = (coal.Transform3s(t[:3, :3].copy(), t[:3, 3].copy()) for t in (at, there))
        return coal.distance(shape, one, other, two, self.request, self.result)


@pytest.mark.parametrize('margin', [0.0, 0.01])
def test_scenes_are_judged_as_by_coal(margin):
    robot = load('panda')
    known, rng = KnownCollisions(), np.random.default_rng(round(1000 * margin))
    alone = known.of(robot, margin)
    rows = rng.uniform(robot.lower, robot.upper, (4000, robot.n))
    rows = rows[alone.free(rows)]
    wrong, counts = [], [0, 0]
    for scene in range(SCENES // 2):
        q = rows[rng.integers(len(rows))]
        drawn, reader = Drawn(robot, q, rng), SceneReader(known)
        now = Moment(robot, q, drawn.frame_of)
        for _ in range(MESSAGES):
            assert not reader.read(drawn.change(), now)
        judge = Judge(alone, drawn.objects)
        chosen = rows[rng.integers(len(rows), size=CONFIGURATIONS)]
        free = reader.collisions(reader.scene, margin, now).free(chosen)
        for row, is_free in zip(chosen, free.tolist(), strict=True):
            distance = judge.nearest(row)
            if distance is None or abs(distance - margin) < UNDECIDED:
                continue
            counts[is_free] += 1
            if is_free != (distance > margin):
                wrong.append((scene, is_free, distance))
    assert not wrong
    assert min(counts) > 0.05 * sum(counts) > 0
