"""`ik bench collisions`: how fast configurations are judged, and goals solved free of collisions.

A panda and a UR5e, as they are shipped, alone and in three scenes: a table, a shelf that is open
to the arm, and a slot between walls. Goals are poses at random configurations that are free, so
that each has a free solution; starts are random, too. Margin 0.

- free_ns : `Collisions.free` of 20,000 random configurations, for one
- distance_us : `Collisions.distance`, a call
- plain_per_s, avoid_per_s : `solve_batch` without and with `avoid`, all cores
- reached : of all goals with `avoid`; plain_free : answers without `avoid` that happen to be free
- wrong : answers with `avoid` that collide, by coal where it is installed (`judge`)
- single_ratio : the median time of single solves with `avoid` over that without, in turns
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import ik_core as ik
from ik_core.batch import solve_batch
from ik_core.collision import Box, Collisions, Plane, World
from ik_core.maths.rotations import Array

from .coal_judge import CoalJudge

ROBOTS = {'panda': 'panda_hand_tcp', 'ur5e': 'tool0'}
GOALS = 10
"""Times `--count` goals of a batch."""
JUDGED, ROUNDS, SINGLES = 20_000, 5, 300
TOUCHING = 1e-9
"""[m] A pair that is deeper by coal is a collision."""


def table() -> World:
    """A floor, and a table's top in front of the arm with room below it."""
    return _world(floor=-0.02, table=((0.5, 1.0, 0.04), (0.55, 0.0, 0.25)))


def shelf() -> World:
    """A box open towards the arm: 0.5 m wide, 0.4 m high, 0.35 m deep."""
    return _world(
        floor=-0.02,
        bottom=((0.35, 0.54, 0.02), (0.62, 0.0, 0.24)),
        top=((0.35, 0.54, 0.02), (0.62, 0.0, 0.66)),
        right=((0.35, 0.02, 0.4), (0.62, -0.26, 0.45)),
        left=((0.35, 0.02, 0.4), (0.62, 0.26, 0.45)),
        back=((0.02, 0.54, 0.44), (0.805, 0.0, 0.45)),
    )


def walls() -> World:
    """Two walls 0.3 m apart in front of the arm, a beam over them, and walls beside the arm."""
    return _world(
        floor=-0.02,
        left=((0.4, 0.04, 0.7), (0.55, 0.17, 0.35)),
        right=((0.4, 0.04, 0.7), (0.55, -0.17, 0.35)),
        beam=((0.1, 0.8, 0.06), (0.45, 0.0, 0.8)),
        far_left=((0.6, 0.04, 1.0), (0.0, 0.35, 0.5)),
        far_right=((0.6, 0.04, 1.0), (0.0, -0.35, 0.5)),
    )


def _world(floor: float, **boxes: tuple[tuple[float, ...], tuple[float, ...]]) -> World:
    world = World()
    world.add('floor', Plane(), ik.transform(position=(0.0, 0.0, floor)))
    for name, (size, centre) in boxes.items():
        world.add(name, Box(size), ik.transform(position=centre))  # type: ignore[arg-type]
    return world


SCENES: dict[str, Callable[[], World]] = {
    'alone': World,
    'table': table,
    'shelf': shelf,
    'walls': walls,
}


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each robot and scene."""
    for name, tip in ROBOTS.items():
        for scene, world in SCENES.items():
            yield _row(name, tip, scene, world(), arguments.count)


def _row(name: str, tip: str, scene: str, world: World, count: int) -> dict[str, Any]:
    robot = ik.load_urdf(name)
    collisions = Collisions(robot, world, margin=0.0)
    rng = np.random.default_rng(0)
    q = _random_rows(robot, JUDGED, rng)
    free = collisions.free(q)
    judged = _least(lambda: collisions.free(q), ROUNDS) / len(q)
    distance = _least(lambda: [collisions.distance(one) for one in q[:200]], ROUNDS) / 200
    ends = _free_rows(collisions, GOALS * count, rng)
    goals = np.array([robot.forward_kinematics(one, tip) for one in ends])
    starts = _random_rows(robot, len(goals), rng)
    plain = ik.IkProblem(robot, [ik.PoseTask(tip)])
    others = np.setdiff1d(np.arange(robot.n), plain.variables)  # fingers stay as they are
    starts[:, others] = ends[:, others]
    avoiding = ik.IkProblem(robot, [ik.PoseTask(tip)], avoid=collisions)
    batches = {problem: solve_batch(problem, goals, starts) for problem in (plain, avoiding)}
    seconds = {
        problem: min(solve_batch(problem, goals, starts).solve_time for _ in range(ROUNDS))
        for problem in (plain, avoiding)
    }
    found = batches[avoiding]
    wrong, judge = _wrong(collisions, found.q[found.success])
    return {
        'robot': name,
        'scene': scene,
        'pairs': len(collisions.model['pairs']),
        'free': free.mean(),
        'free_ns': 1e9 * judged,
        'distance_us': 1e6 * distance,
        'goals': len(goals),
        'plain_per_s': len(goals) / seconds[plain],
        'plain_free': collisions.free(batches[plain].q).mean(),
        'avoid_per_s': len(goals) / seconds[avoiding],
        'reached': found.success.mean(),
        'attempts': 1.0 + found.restarts.mean(),
        'wrong': wrong,
        'judge': judge,
        'single_ratio': _single_ratio(plain, avoiding, goals[:SINGLES], starts),
    }


def _random_rows(robot: ik.Robot, count: int, rng: np.random.Generator) -> Array:
    low, high = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    rows: Array = low + rng.random((count, robot.n)) * (high - low)
    return rows


def _free_rows(collisions: Collisions, count: int, rng: np.random.Generator) -> Array:
    """Random configurations (count, n) that are free."""
    found = np.empty((0, collisions.robot.n))
    while len(found) < count:
        q = _random_rows(collisions.robot, count, rng)
        found = np.concatenate([found, q[collisions.free(q)]])
    return found[:count]


def _least(call: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def _wrong(collisions: Collisions, q: Array) -> tuple[int, str]:
    """How many configurations (N, n) collide, and who says so."""
    try:
        judge = CoalJudge(collisions)
    except ImportError:
        return int((~collisions.free(q)).sum()), 'ours'
    return sum(min(judge.distances(one).values()) < -TOUCHING for one in q), 'coal'


def _single_ratio(
    plain: ik.IkProblem, avoiding: ik.IkProblem, goals: Array, starts: Array
) -> float:
    """The median over goals of the time with avoid over that without, each the least of four."""
    solver, ratios = ik.make_solver(), []
    other = ik.make_solver()
    for goal, start in zip(goals, starts, strict=False):
        times = {}
        for problem, method in ((plain, solver), (avoiding, other)):
            problem.goals[0].set_target(goal)
            times[problem] = _least(partial(method.solve, problem, start), 4)
        ratios.append(times[avoiding] / times[plain])
    return float(np.median(ratios))
