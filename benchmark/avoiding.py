# SPDX-License-Identifier: Apache-2.0
"""`ik bench avoiding`: motion that keeps clear of the robot itself and of obstacles.

    ik bench avoiding                    # the shipped arms in five scenes
    ik bench avoiding --count 100000     # ticks of each

An arm that avoids collisions (margin 10 mm) gets a random goal each two seconds, many of them in
obstacles or behind them, as a jump, a straight line or a jog, at 250 Hz. Beside it moves an arm
that avoids nothing; their ticks are timed in turns.

- pairs : of pieces
- near : fraction of ticks with an obstacle within 50 mm
- reached : fraction of goals that end reached; the others end at an obstacle, or out of reach
- breaches : of 20 points between two commands and 20 of the stop that was kept then, those nearer
  than the margin, in each tick with a pair within 30 mm; judged by the library's distances, and
  each tenth point by coal, if it is installed
- nearest_mm : the least distance beyond the margin at these points
- added_p50_us, added_p99_us : percentiles of a tick, less those of the arm that avoids nothing
- p999_us : of a whole tick
- straight : of a goal each two seconds, from random free configurations, those that the arm that
  avoids nothing reaches on a path that is free, as is the straight line of the joints
- in_time : fraction of these that the other arm reaches in at most 1.2 times the time
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

import ik_core as ik
from ik_core.collision import Box, Collisions, World
from ik_core.maths.rotations import Array
from ik_core.tracking import MotionLimits, Tracker, TrackStatus

from .coal_judge import NO_ANSWER, CoalJudge
from .collisions import SCENES
from .results import Row

RATE, SECONDS = 250.0, 2.0  # [Hz], [s] from goal to goal
EACH = round(SECONDS * RATE)  # ticks from goal to goal
LONGEST, LONGER = 2000, 1.2  # ticks of a free path; times the time that it takes
ACCELERATION = 10.0  # [rad/s^2 or m/s^2]
MARGIN, CLOSE, NEAR = 0.01, 0.03, 0.05  # [m]
POINTS = 20  # judged between two commands, and of a stop
ROUNDING = 1e-9  # [m]
COAL_EACH = 10  # coal takes 1 ms for all pairs of a panda
TIPS = {'panda': 'panda_hand_tcp', 'ur5e': 'tool0', 'iiwa14': 'iiwa_link_ee'}
START = {'panda': [0.0, -0.4, 0.0, -2.2, 0.0, 1.9, 0.78, 0.04]}
COLUMNS = (
    'robot', 'scene', 'pairs', 'ticks', 'near', 'reached', 'breaches', 'nearest_mm', 'judge',
    'added_p50_us', 'added_p99_us', 'p999_us', 'straight', 'in_time',
)  # fmt: skip


def hundred() -> World:
    """Return 100 boxes of 0.1 m around the arm, at the same places in each run."""
    world, rng = World(), np.random.default_rng(1)
    while len(world) < 100:
        place = rng.uniform((-0.9, -0.9, 0.0), (0.9, 0.9, 1.2))
        if np.hypot(place[0], place[1]) > 0.45:
            world.add(f'box {len(world)}', Box((0.1, 0.1, 0.1)), ik.transform(position=place))
    return world


WORLDS: dict[str, Callable[[], World]] = {**SCENES, 'hundred': hundred}


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each robot and scene."""
    for name, tip in TIPS.items():
        robot = ik.load_robot(name)
        for scene, world in WORLDS.items():
            collisions = Collisions(robot, world(), margin=MARGIN)
            row = _row(collisions, tip, arguments.count)
            straight = _straight(collisions, tip, max(1, arguments.count // EACH))
            yield {'robot': name, 'scene': scene} | row | straight


def _row(collisions: Collisions, tip: str, count: int) -> Row:
    robot, rng = collisions.robot, np.random.default_rng(2)
    q0 = _free_start(collisions, rng)
    limits = MotionLimits.of(robot, acceleration=ACCELERATION)
    problem = ik.IkProblem(robot, [ik.PoseTask(tip)])
    avoiding = Tracker(problem, RATE, limits=limits, q0=q0, avoid=collisions)
    plain = Tracker(problem, RATE, limits=limits, q0=q0)
    judge = _Judge(collisions)
    times, seen = np.zeros((2, count)), np.zeros(3, int)  # near ticks, goals, goals reached
    for tick in range(count):
        now = tick / RATE
        if tick % EACH == 0:
            _give_goal((avoiding, plain), robot, tip, rng, now)
            seen[1] += 1
        before = avoiding.q
        for k in (0, 1) if tick % 2 else (1, 0):
            begin = time.perf_counter()
            command = (avoiding, plain)[k].tick(now)
            times[k, tick] = time.perf_counter() - begin
            if k == 0:
                status = command.status
        seen[0] += judge.see(before, avoiding)
        if (tick + 1) % EACH == 0:
            seen[2] += status is TrackStatus.REACHED
    percentiles = 1e6 * np.percentile(times, (50, 99, 99.9), axis=1)
    return {
        'pairs': len(collisions.model['pairs']),
        'ticks': count,
        'near': seen[0] / count,
        'reached': seen[2] / seen[1],
        'breaches': judge.breaches,
        'nearest_mm': 1e3 * judge.nearest,
        'judge': judge.name,
        'added_p50_us': percentiles[0, 0] - percentiles[0, 1],
        'added_p99_us': percentiles[1, 0] - percentiles[1, 1],
        'p999_us': percentiles[2, 0],
    }


def _straight(collisions: Collisions, tip: str, count: int) -> Row:
    """Return how many of `count` goals have a free straight path, and how many are in time."""
    robot, rng = collisions.robot, np.random.default_rng(3)
    limits = MotionLimits.of(robot, acceleration=ACCELERATION)
    problem = ik.IkProblem(robot, [ik.PoseTask(tip)])
    straight = in_time = 0
    for _ in range(count):
        q0, q1 = _free_random(collisions, rng), _free_random(collisions, rng)
        goal = robot.forward_kinematics(q1, tip)
        plain = Tracker(problem, RATE, limits=limits, q0=q0)
        path = _path_to(plain, goal, LONGEST)
        if path is None:
            continue
        line = q0 + np.linspace(0.0, 1.0, len(path))[:, np.newaxis] * (path[-1] - q0)
        if collisions.free(np.concatenate([path, line])).all():
            avoiding = Tracker(problem, RATE, limits=limits, q0=q0, avoid=collisions)
            straight += 1
            in_time += _path_to(avoiding, goal, round(LONGER * len(path))) is not None
    return {'straight': straight, 'in_time': in_time / straight if straight else ''}


def _path_to(tracker: Tracker, goal: Array, longest: int) -> Array | None:
    """Return the commands (t, n) until a goal is reached; None if that takes longer."""
    tracker.set_goal(0, goal, 0.0)
    path = []
    for tick in range(longest):
        command = tracker.tick((tick + 1) / RATE)
        path.append(command.q)
        if command.status is TrackStatus.REACHED:
            return np.array(path)
    return None


def _free_random(collisions: Collisions, rng: np.random.Generator) -> Array:
    """Return a random free configuration (n,)."""
    while True:
        for q in _random(collisions.robot, rng, 10):
            if collisions.free(q):
                return np.asarray(q)


def _free_start(collisions: Collisions, rng: np.random.Generator) -> Array:
    """Return a free configuration (n,), the same in each run."""
    robot = collisions.robot
    for q in (START.get(robot.name, robot.middle_configuration), *_random(robot, rng, 10_000)):
        if collisions.free(np.asarray(q)):
            return np.asarray(q)
    raise RuntimeError(f'{robot.name}: no free configuration was found')


def _random(robot: ik.Robot, rng: np.random.Generator, count: int) -> Array:
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    return rng.uniform(lower, upper, (count, robot.n))


def _give_goal(
    trackers: tuple[Tracker, Tracker],
    robot: ik.Robot,
    tip: str,
    rng: np.random.Generator,
    now: float,
) -> None:
    """Give both trackers the same goal: a jump, a straight line, or a jog."""
    goal = robot.forward_kinematics(_random(robot, rng, 1)[0], tip)
    kind, twist = rng.random(), rng.normal(0.0, (0.3, 0.3, 0.3, 1.0, 1.0, 1.0))
    for tracker in trackers:
        if kind < 0.2:
            tracker.set_twist(0, twist[:3], twist[3:], now)
        else:
            tracker.set_goal(0, goal, now, move='linear' if kind < 0.4 else 'joint')


class _Judge:
    """Distances between and after commands."""

    def __init__(self, collisions: Collisions) -> None:
        self.collisions = collisions
        self.breaches, self.nearest, self.name = 0, np.inf, 'coal'
        try:
            self._coal: CoalJudge | None = CoalJudge(collisions)
        except ImportError:
            self._coal, self.name = None, 'ours'
        self._seen = 0

    def see(self, before: Array, tracker: Tracker) -> bool:
        """Judge a step and the stop after it; return whether a pair is near."""
        q = tracker.q
        near = self.collisions.distances(q, NEAR)
        nearest = min((pair.distance - pair.margin for pair in near), default=np.inf)
        world = self.collisions.world
        if nearest < CLOSE:
            stop = tracker.governor.copy()
            places = [before + u * (q - before) for u in np.linspace(0.0, 1.0, POINTS)]
            while not stop.at_rest and len(places) < 400:
                stop.brake(announced=True)
                places.append(stop.q.copy())
            step = max(1, (len(places) - POINTS) // POINTS)
            for place in (*places[:POINTS], *places[POINTS::step]):
                beyond = self._beyond(place)
                self.nearest = min(self.nearest, beyond)
                self.breaches += beyond < -ROUNDING
        return any(pair.first in world or pair.second in world for pair in near)

    def _beyond(self, q: Array) -> float:
        """Return the least distance beyond the margin [m] at q (n,)."""
        margins = self.collisions.model['margin']
        self._seen += 1
        if self._coal is None or self._seen % COAL_EACH:
            pairs = self.collisions.distances(q, NEAR + MARGIN)
            return min((pair.distance - pair.margin for pair in pairs), default=np.inf)
        found = self._coal.piece_distances(q)
        doubtful = np.flatnonzero(found < margins)  # coal may be wrong in one of both orders
        if doubtful.size:
            swapped = self.collisions.model['pairs'][doubtful, 1::-1]
            found[doubtful] = np.maximum(found[doubtful], self._coal.piece_distances(q, swapped))
        return float((found - margins)[found > NO_ANSWER].min(initial=np.inf))
