# SPDX-License-Identifier: Apache-2.0
"""Trackers that avoid collisions, given all inputs of a tracker, while their worlds change.

A pair is too near if it comes nearer than its margin, or than it was on the stop that was kept
when the world or the joints' position was last set, whichever is less. coal judges 20 points of
each step, and 20 of each tenth kept stop; without coal the library's own distances do. Where coal
says that a pair is too deep, a search over directions decides: its depths of cylinders can be too
large by several millimetres.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from benchmark.coal_judge import CoalJudge, height
from ik_core.collision import Box, Collisions, Sphere, World
from ik_core.maths.rotations import Array
from ik_core.maths.transforms import transform
from ik_core.tracking import Tracker
from ik_core.tracking.governor import Governor
from ik_core.tracking.instructions import Brake

from .checker import Verdict
from .offline import TRACKER_TICKS, Injected, Tracked

POINTS = np.linspace(0.05, 1.0, 20)[:, np.newaxis]  # fractions of a step at which it is judged
STOP_POINTS, STOP_EACH = 20, 10  # points of a kept stop; ticks between two that are judged
NEAR = 0.03  # [m]
ROUNDING = 2e-6  # [m] with which the kept stop at a change of the world is known
DEPTH = 3e-3  # [m] Depths of cylinders are known to a hundredth of the radius (`collision.epa`).
MARGIN = 0.01


class Avoiding(Tracked):
    """A tracker that avoids collisions in a world of boxes, balls and what its tip carries."""

    NAMES = 'panda', 'ur5e', 'iiwa14', 'dual_arm'

    def __init__(self, seed: int) -> None:
        self.world = World()
        self.coal: CoalJudge | None = None
        self.verdict = Verdict()
        super().__init__(seed)
        self._begin(self.tracker.q)

    def acts(self) -> list[Callable[[], None]]:
        return [*super().acts(), self.change_world, self.change_world, self.change_world]

    def change_world(self) -> None:
        """Add, move or remove an obstacle, near the tip or anywhere, or let the tip carry one."""
        random, names = self.random, [each.name for each in self.world]
        draw, where = random.random(), transform(position=random.uniform(-0.8, 0.8, 3))
        if draw < 0.5:  # in the way of the tip
            tip = self.robot.forward_kinematics(self.tracker.q, self._link(self._tip()))
            where = transform(position=tip[:3, 3] + 0.15 * random.normal(size=3))
        if names and (draw > 0.8 or len(names) > 6):
            self.world.remove(str(random.choice(names)))
        elif names and draw > 0.6:
            name = str(random.choice(names))
            if self.world[name].link is None:
                self.world.move(name, where)
        elif draw > 0.55 and 'tool' not in names:
            pose = transform(position=(0.0, 0.0, 0.15))
            self.world.attach('tool', Box((0.03, 0.03, 0.1)), self._link(self._tip()), pose)
        else:
            name = f'{self.told["change_world"]} {self.checker.tick}'
            shape = Sphere(0.08) if random.random() < 0.5 else Box((0.2, 0.1, 0.3))
            self.world.add(name, shape, where)
        self.tracker.set_world(self.world)
        self._begin(*self._kept_stop())

    def reset(self) -> None:
        super().reset()
        self._begin(*self._kept_stop())

    def _new_tracker(self, governor: Governor | None = None) -> Tracker:
        if governor is None:
            self.judge = Collisions(self.robot, self.world, margin=MARGIN)
            q = self._configuration()
            while self.random.random() < 0.9 and not self.judge.free(q):
                q = self._configuration()
            start = Governor(self._motion_limits(), 1.0 / self.rate, q)
            tracker = super()._new_tracker(start)
            tracker._state.avoid(self.judge.with_world(self.world))
        else:
            tracker = super()._new_tracker(governor)
        clearance = tracker.governor.clearance
        assert clearance is not None
        return tracker

    def _kept_stop(self) -> list[Array]:
        """Return positions (n,) along the stop that the governor keeps."""
        stop = self.tracker.governor.copy()
        places = [stop.q.copy()]
        while not stop.at_rest:
            stop.brake(announced=True)
            places += [places[-1] + u * (stop.q - places[-1]) for u in (0.5, 1.0)]
        return places

    def _begin(self, *places: Array) -> None:
        """Let pairs be as near as they are at these places."""
        self.judge = self.judge.with_world(self.world)
        self.last = self.tracker.q
        try:
            self.coal = CoalJudge(self.judge, self.coal)
        except ImportError:
            self.coal = None
        names = self.judge.piece_names
        pairs = self.judge.model['pairs'][:, :2].tolist()
        self.with_world = np.array(
            [names[i] in self.world or names[j] in self.world for i, j in pairs], bool
        )
        self.floors = np.minimum(self.judge.model['margin'], self._distances(*places))

    def _distances(self, *places: Array) -> Array:
        """Return the least distance (P,) [m] of each pair at some places, if it is near."""
        if self.coal is not None:
            return self.coal.distances_within(np.array(places), NEAR).min(axis=0)
        names = self.judge.piece_names
        pairs = [(names[i], names[j]) for i, j in self.judge.model['pairs'][:, :2].tolist()]
        least = np.full(len(pairs), np.inf)
        for q in places:
            near = self.judge.distances(q, NEAR)
            found = {(pair.first, pair.second): pair.distance for pair in near}
            least = np.minimum(least, [found.get(names, np.inf) for names in pairs])
        return least

    def _gap(self, q: Array, pair: int) -> float:
        """Return the largest gap [m] between two pieces in any direction, less than 0 if deep."""
        assert self.coal is not None
        first, second = (
            self.coal.solid_at(q, i) for i in self.judge.model['pairs'][pair, :2].tolist()
        )

        def overlap(direction: Array) -> float:
            n = direction / np.linalg.norm(direction)
            return float(height(first, n) + height(second, -n))

        directions = np.random.default_rng(0).normal(size=(1000, 3))
        best = min(directions, key=overlap)
        return -float(minimize(overlap, best, method='Nelder-Mead', tol=1e-9).fun)

    def _tick(self) -> None:
        super()._tick()
        q = self.tracker.q
        self.told['moved'] += bool((q != self.last).any())
        places = [*(self.last + POINTS * (q - self.last))]
        if self.checker.tick % STOP_EACH == 0:
            stop = self._kept_stop()
            places += stop[:: max(1, len(stop) // STOP_POINTS)]
        distances = self._distances(*places)
        self.told['near'] += bool((distances[self.with_world] < NEAR).any())
        is_deep = np.minimum(distances, self.floors) <= 0.0
        lacks, allowed = self.floors - distances, np.where(is_deep, DEPTH, ROUNDING)
        for pair in np.flatnonzero(is_deep & (lacks > allowed)).tolist() if self.coal else ():
            lacks[pair] = self.floors[pair] - min(self._gap(q, pair) for q in places)
        self.verdict.take('distance', lacks[np.newaxis], allowed[np.newaxis], self.checker.tick)
        self.last = q

    def _brake(self) -> None:
        try:
            self.tracker.tick(self.now, [Brake()])
        except Injected:
            self.tracker.governor.begin_tick()
            self.tracker.governor.give_up()


def avoid(seed: int, ticks: int = TRACKER_TICKS) -> tuple[Avoiding, Verdict]:
    """The life of a tracker that avoids collisions, which belongs to a seed."""
    life = Avoiding(seed)
    with np.errstate(all='ignore'):
        life.run(ticks)
    return life, life.verdict
