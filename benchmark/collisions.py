# SPDX-License-Identifier: Apache-2.0
"""`ik bench collisions`: speed of collision checks, and of solves free of collisions.

    ik bench collisions                  # the shipped robots in four scenes
    ik bench collisions --solve          # without the times of collision checks
    ik bench collisions --data FOLDER    # also problems and robots that others publish

A panda and a UR5e, as they are shipped, alone and in three scenes: a table, a shelf that is open
to the arm, and a slot between walls. Goals are poses at random free configurations, so each has a
free solution; starts are random, too. The margin is 0.

- free_ns : `Collisions.free` of 20,000 random configurations, per configuration
- distance_us : a call of `Collisions.distance`
- plain_per_s, avoid_per_s : `solve_batch` without and with `avoid`, all cores
- reached : of all goals with `avoid`; plain_free : answers without `avoid` that happen to be free
- wrong : answers with `avoid` that collide, by coal if it is installed (`judge`)
- single_ratio : the median time of single solves with `avoid` over that without, in turns
- p50_us, p99_us, max_us : single solves with `avoid`, the least time of four each
- to_panda : avoid_per_s over that of the panda at a table in the same run

A folder with data (`collision_data`) adds two UR10e and a G1, alone, and MotionBenchMaker's
problems by scene. For these, `free` is the fraction of published goal configurations that are free
by the judge; the goals are their poses, each solved once and alone from the problem's start (the
ur5 in closed form). Times do not include making the records of the world, 7 to 10 ms for the ur5,
whose meshes have many pieces.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ik_core as ik
from ik_core.batch import solve_batch
from ik_core.collision import Box, Collisions, Piece, Plane, World
from ik_core.maths.rotations import Array

from .coal_judge import CoalJudge
from .collision_data import PEERS, VAMP, Arms, Problem, read_problems

ROBOTS = {'panda': 'panda_hand_tcp', 'ur5e': 'tool0'}
GOALS = 10  # goals of a batch per `--count`
JUDGED, ROUNDS, SINGLES, SINGLE_ROUNDS = 20_000, 5, 300, 4
TENTH = 10  # a G1 gets a tenth of `--count`, since coal takes 30 ms for its configurations
COLUMNS = (
    *('robot', 'scene', 'pairs', 'free', 'free_ns', 'distance_us', 'goals', 'plain_per_s'),
    *('plain_free', 'avoid_per_s', 'reached', 'attempts', 'wrong', 'judge', 'single_ratio'),
    *('p50_us', 'p99_us', 'max_us', 'to_panda'),
)
TOUCHING = 1e-9  # [m] a pair with a larger depth by coal is a collision


def table() -> World:
    """Return a floor, and a table's top in front of the arm with space below it."""
    return _world(floor=-0.02, table=((0.5, 1.0, 0.04), (0.55, 0.0, 0.25)))


def shelf() -> World:
    """Return a box open towards the arm: 0.5 m wide, 0.4 m high, 0.35 m deep."""
    return _world(
        floor=-0.02,
        bottom=((0.35, 0.54, 0.02), (0.62, 0.0, 0.24)),
        top=((0.35, 0.54, 0.02), (0.62, 0.0, 0.66)),
        right=((0.35, 0.02, 0.4), (0.62, -0.26, 0.45)),
        left=((0.35, 0.02, 0.4), (0.62, 0.26, 0.45)),
        back=((0.02, 0.54, 0.44), (0.805, 0.0, 0.45)),
    )


def walls() -> World:
    """Return two walls 0.3 m apart in front of the arm, a beam over them, and side walls."""
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
    """Yield a row for each robot and scene, and those of a folder with data."""
    panda = 0.0
    for name, tip in ROBOTS.items():
        robot = ik.load_robot(name)
        for scene, world in SCENES.items():
            collisions = Collisions(robot, world(), margin=0.0)
            row = _row(name, (tip,), scene, collisions, arguments.count, arguments.solve)
            if (name, scene) == ('panda', 'table'):
                panda = row['avoid_per_s']
            row['to_panda'] = row['avoid_per_s'] / panda if panda else ''
            yield row
    if arguments.data:
        yield from _rows_of_data(arguments.data, arguments.count, panda, arguments.solve)


def _rows_of_data(
    folder: Path, count: int, panda: float, only_solve: bool
) -> Iterator[dict[str, Any]]:
    """Yield rows of the robots and problems in a folder; print missing ones on stderr."""
    for name, arms in PEERS.items():
        if (folder / arms.file).is_file():
            collisions = _collisions_of(folder, arms)
            goals = max(count // TENTH, 1)
            row = _row(name, arms.links, 'alone', collisions, goals, only_solve)
            yield row | {'to_panda': row['avoid_per_s'] / panda}
        else:
            print(f'{name} is left out: there is no {folder / arms.file}', file=sys.stderr)
    for name, arms in VAMP.items():
        if (folder / arms.file).is_file():
            pieces = _collisions_of(folder, arms).pieces
            for scene, problems in read_problems(folder / name).items():
                yield _row_of_problems(folder, name, arms, scene, problems, pieces)
        else:
            print(f'{name} is left out: there is no {folder / arms.file}', file=sys.stderr)


def _collisions_of(
    folder: Path, arms: Arms, world: World | None = None, pieces: Sequence[Piece] | None = None
) -> Collisions:
    """Return the collision checker of a robot in a folder, at margin 0."""
    robot = ik.load_robot(folder / arms.file)
    srdf = arms.srdf
    if srdf is not None and not srdf.startswith('<'):
        srdf = str(folder / srdf)
    folders = [folder / each for each in arms.folders]
    return Collisions(robot, world, 0.0, srdf, folders=folders, pieces=pieces)


def _row_of_problems(
    folder: Path,
    name: str,
    arms: Arms,
    scene: str,
    problems: Sequence[Problem],
    pieces: Sequence[Piece],
) -> dict[str, Any]:
    """Return the row of a scene's problems, solved alone if their published goals are free."""
    valid, wrong, seconds, restarts, pairs, judge = 0, 0, [], [], 0, ''
    solver = ik.make_solver(arms.solver)
    world = World()
    collisions = _collisions_of(folder, arms, world, pieces)
    robot, link = collisions.robot, arms.links[0]
    task = ik.PoseTask(link, transform=robot.forward_kinematics(robot.middle_configuration, link))
    asked = ik.IkProblem(robot, [task], avoid=collisions)
    solver.solve(asked)  # makes the records that later solves share
    for problem in problems:
        _replace(world, problem.world)
        goal, start = (_row_of(robot, each) for each in (problem.goal, problem.start))
        collides, judge = _wrong(collisions, goal[None])
        pairs = max(pairs, len(collisions.model['pairs']))
        if collides:
            continue
        valid += 1
        task.set_target(transform=robot.forward_kinematics(goal, task.link))
        began = time.perf_counter()
        found = solver.solve(asked, start)
        seconds.append(time.perf_counter() - began)
        if found.success:
            wrong += _wrong(collisions, found.q[None])[0]
            restarts.append(found.restarts)
    unmeasured = dict.fromkeys(COLUMNS, '')
    return unmeasured | {
        'robot': name,
        'scene': scene,
        'pairs': pairs,
        'free': valid / len(problems),
        'goals': valid,
        'reached': len(restarts) / valid if valid else '',
        'attempts': 1.0 + float(np.mean(restarts)) if restarts else '',
        'wrong': wrong,
        'judge': judge,
        **_quantiles(seconds),
    }


def _replace(world: World, other: World) -> None:
    """Replace the obstacles of a world by those of another one."""
    for each in world:
        world.remove(each.name)
    for each in other:
        world.add(each.name, each.shape, each.pose)


def _row_of(robot: ik.Robot, positions: dict[str, float]) -> Array:
    """Return positions by name as a configuration (n,), without joints that the robot lacks."""
    q: Array = np.zeros(robot.n)
    for joint, position in positions.items():
        if joint in robot.joint_names:
            q[robot.joint_index(joint)] = position
    return q


def _quantiles(seconds: Sequence[float]) -> dict[str, Any]:
    if not seconds:
        return dict.fromkeys(('p50_us', 'p99_us', 'max_us'), '')
    at = 1e6 * np.quantile(seconds, (0.5, 0.99, 1.0))
    return dict(zip(('p50_us', 'p99_us', 'max_us'), at.tolist(), strict=True))


def _row(
    name: str,
    tips: Sequence[str],
    scene: str,
    collisions: Collisions,
    count: int,
    only_solve: bool,
) -> dict[str, Any]:
    robot = collisions.robot
    rng = np.random.default_rng(0)
    q = _random_rows(robot, JUDGED, rng)
    free = collisions.free(q)
    judged: dict[str, Any] = dict.fromkeys(('free_ns', 'distance_us'), '')
    if not only_solve:
        judged = _times_of_judging(collisions, q)
    ends = _free_rows(collisions, GOALS * count, rng)
    goals = np.array([[robot.forward_kinematics(one, tip) for tip in tips] for one in ends])
    starts = _random_rows(robot, len(goals), rng)
    tasks = [ik.PoseTask(tip) for tip in tips]
    plain = ik.IkProblem(robot, tasks)
    others = np.setdiff1d(np.arange(robot.n), plain.variables)  # fingers stay as they are
    starts[:, others] = ends[:, others]
    avoiding = ik.IkProblem(robot, tasks, avoid=collisions)
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
        **judged,
        'goals': len(goals),
        'plain_per_s': len(goals) / seconds[plain],
        'plain_free': collisions.free(batches[plain].q).mean(),
        'avoid_per_s': len(goals) / seconds[avoiding],
        'reached': found.success.mean(),
        'attempts': 1.0 + found.restarts.mean(),
        'wrong': wrong,
        'judge': judge,
        **_single_times(plain, avoiding, goals[:SINGLES], starts),
    }


def _times_of_judging(collisions: Collisions, q: Array) -> dict[str, Any]:
    """Return the time of `free` per configuration, and of a call of `distance`."""
    free = _least(lambda: collisions.free(q), ROUNDS) / len(q)
    few = q[:200]
    distance = _least(lambda: [collisions.distance(one) for one in few], ROUNDS) / len(few)
    return {'free_ns': 1e9 * free, 'distance_us': 1e6 * distance}


def _random_rows(robot: ik.Robot, count: int, rng: np.random.Generator) -> Array:
    low, high = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    rows: Array = low + rng.random((count, robot.n)) * (high - low)
    return rows


def _free_rows(collisions: Collisions, count: int, rng: np.random.Generator) -> Array:
    """Return random free configurations (count, n)."""
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
    """Return the number of configurations (N, n) that collide, and the judge's name."""
    try:
        judge = CoalJudge(collisions)
    except ImportError:
        return int((~collisions.free(q)).sum()), 'ours'
    return sum(min(judge.distances(one).values()) < -TOUCHING for one in q), 'coal'


def _single_times(
    plain: ik.IkProblem, avoiding: ik.IkProblem, goals: Array, starts: Array
) -> dict[str, Any]:
    """Return times of single solves with and without avoid in turns, the least of four each."""
    solver, ratios, seconds = ik.make_solver(), [], []
    other = ik.make_solver()
    for targets, start in zip(goals, starts, strict=False):
        times = {}
        for problem, method in ((plain, solver), (avoiding, other)):
            for task, target in zip(problem.goals, targets, strict=True):
                task.set_target(target)
            times[problem] = _least(partial(method.solve, problem, start), SINGLE_ROUNDS)
        ratios.append(times[avoiding] / times[plain])
        seconds.append(times[avoiding])
    return {'single_ratio': float(np.median(ratios)), **_quantiles(seconds)}
