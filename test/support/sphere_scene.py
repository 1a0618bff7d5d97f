# SPDX-License-Identifier: Apache-2.0
"""An arm among balls: collisions that forward kinematics and distances of spheres decide."""

from __future__ import annotations

import numpy as np

import ik_core as ik
from ik_core.collision import Collisions, Plane, Sphere, World
from ik_core.collision.piece import piece_of
from ik_core.maths.rotations import Array

from .robots import URDF

MARGIN = 0.01
PANDA = [f'panda_link{k}' for k in (2, 4, 5)] + ['panda_hand']
UR5E = ['upper_arm_link', 'forearm_link', 'wrist_1_link', 'wrist_2_link', 'wrist_3_link']
ARMS = {'panda': (PANDA, 'panda_hand_tcp'), 'ur5e': (UR5E, 'tool0')}


class Scene:
    """An arm with a sphere on each of some links, over a floor, between three balls."""

    def __init__(self, name: str) -> None:
        links, self.tip = ARMS[name]
        self.robot = ik.load_robot(URDF / f'{name}.urdf')
        place = ik.transform(position=(0.0, 0.02, 0.05))
        self.spheres = [(link, place, 0.04) for link in links]
        self.balls = [((0.45, 0.25, 0.35), 0.15), ((0.4, -0.3, 0.6), 0.12), ((-0.3, 0, 0.5), 0.1)]
        self.floor = 0.0
        self.world = World()
        self.world.add('floor', Plane())
        for k, (centre, radius) in enumerate(self.balls):
            self.world.add(f'ball {k}', Sphere(radius), ik.transform(position=centre))
        pieces = [piece_of(Sphere(radius), link, at) for link, at, radius in self.spheres]
        self.collisions = Collisions(self.robot, self.world, MARGIN, pieces=pieces)

    def problem(self, **options: object) -> ik.IkProblem:
        return ik.IkProblem(self.robot, [ik.PoseTask(self.tip)], avoid=self.collisions, **options)

    def clearance(self, q: Array) -> float:
        """The least distance of a sphere to the floor, to a ball, and to those of other links that
        are checked."""
        fk = self.robot.forward_kinematics
        centres = {link: (fk(q, link) @ at)[:3, 3] for link, at, _ in self.spheres}
        radii = {link: radius for link, _, radius in self.spheres}
        gaps = [centres[link][2] - self.floor - radii[link] for link in centres]
        for link, centre in centres.items():
            gaps += [np.linalg.norm(centre - c) - r - radii[link] for c, r in self.balls]
        for pair in self.collisions.pairs:
            if pair.is_checked and pair.margin == MARGIN:
                gap = np.linalg.norm(centres[pair.first] - centres[pair.second])
                gaps.append(gap - radii[pair.first] - radii[pair.second])
        return float(min(gaps))

    def free_rows(self, count: int, seed: int) -> Array:
        """Random configurations (count, n) that are free by the truth."""
        rng, robot, rows = np.random.default_rng(seed), self.robot, list[Array]()
        while len(rows) < count:
            q = robot.lower + rng.random(robot.n) * (robot.upper - robot.lower)
            if self.clearance(q) > MARGIN:
                rows.append(q)
        return np.array(rows)

    def random_rows(self, count: int, seed: int) -> Array:
        robot, rng = self.robot, np.random.default_rng(seed)
        return robot.lower + rng.random((count, robot.n)) * (robot.upper - robot.lower)

    def poses_at(self, rows: Array) -> Array:
        return np.array([self.robot.forward_kinematics(q, self.tip) for q in rows])
