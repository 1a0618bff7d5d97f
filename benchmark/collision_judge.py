# SPDX-License-Identifier: Apache-2.0
"""Distances, bounds, verdicts and gradients of `Collisions` at random configurations, beside coal.

    python -m benchmark.collision_judge panda ur5e --count 1000 [--world] [--meshes FOLDER]

Robots are files or names of shipped robots; --world adds an obstacle of every shape. Distances of
separated pairs are compared up to rounding. Where they differ by more than `CLOSE`, where only one
of the two calls a pair separated, and where coal has no answer, a third computation decides: our
points are in the pieces by non-negative least squares, which bounds the distance from above, and
the gap along our normal in long doubles bounds it from below; a point in both proves that they
touch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

import ik_core as ik
from ik_core.collision import (
    Box,
    Capsule,
    Collisions,
    Convex,
    Cylinder,
    PairDistance,
    Plane,
    Sphere,
    World,
    pieces_of,
)
from ik_core.maths.rotations import Array
from ik_core.robot.robot_sources import load_robot

from .coal_judge import NO_ANSWER, CoalJudge

CLOSE = 1e-10  # [m] smaller differences of distances are rounding
TOUCHING = 1e-9  # [m] for smaller distances and depths, both verdicts on touching are right
ROUNDING = 1e-14  # [m] a point closer than this to a solid counts as in it
UNKNOWN = 1e3  # [m] coal returns a larger number if it finds no depth
STEP = 1e-4  # [rad or m] step of central differences of fourth order
# Gradients are compared at one configuration in SLOPES; processes take PARTS of all.
SLOPES, PARTS = 10, 64
# Differences with half the step agree this well, unless the nearest points jump to other edges.
STEADY = 1e-9


@dataclass
class Comparison:
    """Counts of comparisons and of errors.

    pairs, worst : separated pairs of links or obstacles, and the largest difference [m]
    above : number of these that differ by more than `CLOSE`
    unproved : those of them for which the third computation does not prove our distance
    touching : pairs that only one of the two calls separated, unless ours is proved
    mistaken : number of such pairs for which ours is proved, so coal is wrong
    unanswered, undecided : pairs without an answer of coal; those for which ours is not proved
    free : configurations whose verdict contradicts the distances, of coal or proved
    bounds, bounds_above : lower bounds of pairs of pieces, and those above the distance
    slopes, slope_error, jumps : derivatives, their largest error, and those left out since the
        nearest points jump
    deep, depth_error : penetrations, and the largest difference of depths [m]
    """

    pairs: int = 0
    worst: float = 0.0
    above: int = 0
    unproved: list[Any] = field(default_factory=list)
    touching: list[Any] = field(default_factory=list)
    mistaken: int = 0
    unanswered: int = 0
    undecided: list[Any] = field(default_factory=list)
    free: int = 0
    bounds: int = 0
    bounds_above: int = 0
    slopes: int = 0
    slope_error: float = 0.0
    jumps: int = 0
    deep: int = 0
    depth_error: float = 0.0

    def __iadd__(self, other: Comparison) -> Comparison:
        """Add the counts of other configurations."""
        for name, value in vars(other).items():
            here = getattr(self, name)
            is_largest = name in ('worst', 'slope_error', 'depth_error')
            setattr(self, name, max(here, value) if is_largest else here + value)
        return self

    def __str__(self) -> str:
        share = 100.0 * self.above / max(self.pairs, 1)
        return (
            f'{self.pairs:,} separated pairs: at most {self.worst:.2g} m off, {share:.4f} % above '
            f'{CLOSE:g} m, {len(self.unproved)} of them not proved; {len(self.touching)} '
            f'disagreements on touching, {self.free} on free; coal is wrong on touching '
            f'{self.mistaken} times and has no answer for {self.unanswered:,} pairs, '
            f'{len(self.undecided)} of them undecided; {self.bounds_above} of '
            f'{self.bounds:,} bounds above; {self.slopes:,} derivatives at most '
            f'{self.slope_error:.2g} off, {self.jumps:,} left out; {self.deep:,} depths at most '
            f'{self.depth_error:.2g} m off'
        )


def compare(collisions: Collisions, rows: Array, slopes: int = 1) -> Comparison:
    """Compare our results at configurations (N, n) with coal. Raises ImportError.

    slopes : gradients are compared at one configuration in this many
    """
    judge, found = CoalJudge(collisions), Comparison()
    for number, q in enumerate(rows):
        ours = {(pair.first, pair.second): pair for pair in collisions.distances(q, np.inf)}
        between = judge.piece_distances(q)
        _compare_bounds(collisions, judge, q, between, found)
        theirs = judge.distances(q, between)
        least, is_decided = np.inf, True
        for names, pair in ours.items():
            distance = theirs.get(names, theirs.get(names[::-1]))
            if distance is None:
                found.unanswered += 1
                distance = pair.distance
                if not is_proved(collisions, judge, q, pair):
                    found.undecided.append((pair, distance, q))
                    is_decided, distance = False, np.inf
            elif _compare_pair(collisions, judge, q, pair, distance, found):
                distance = pair.distance
            least = min(least, distance)
        is_known = is_decided or least < 0.0
        if is_known and abs(least) > TOUCHING and collisions.free(q) != (least > 0.0):
            found.free += 1
        if number % slopes == 0:
            compare_slopes(collisions, q, found)
    return found


def _compare_pair(
    collisions: Collisions,
    judge: CoalJudge,
    q: Array,
    pair: PairDistance,
    distance: float,
    found: Comparison,
) -> bool:
    """Count a pair; return whether the two disagree on touching and ours is proved."""
    difference = abs(pair.distance - distance)
    if min(distance, pair.distance) <= 0.0:
        if max(distance, pair.distance) > TOUCHING:
            if is_proved(collisions, judge, q, pair):
                found.mistaken += 1
                return True
            found.touching.append((pair, distance, q))
        if difference < UNKNOWN:
            found.deep += 1
            found.depth_error = max(found.depth_error, difference)
        return False
    found.pairs += 1
    found.worst = max(found.worst, difference)
    if difference > CLOSE:
        found.above += 1
        if not is_proved(collisions, judge, q, pair):
            found.unproved.append((pair, distance, q))
    return False


def is_proved(collisions: Collisions, judge: CoalJudge, q: Array, pair: PairDistance) -> bool:
    """Return whether a distance is proved without coal.

    It is proved if it is within `CLOSE` of the truth; for a pair that touches, if it does touch.
    """
    names = pair.first, pair.second
    if any(isinstance(each.shape, Plane) and each.name in names for each in collisions.world):
        return False
    near, far = pair.points
    if pair.distance <= 0.0:
        return any(
            all(
                min(outside(*solid, point) for solid in judge.solids_at(q, name)) <= ROUNDING
                for name in names
            )
            for point in (near, far, 0.5 * (near + far))
        )
    below = judge.gap(q, names, pair.normal, pair.distance)
    above = float(np.linalg.norm(far - near))
    for name, point in zip(names, (near, far), strict=True):
        above += min(outside(*solid, point) for solid in judge.solids_at(q, name))
    return pair.distance - CLOSE <= below and above <= pair.distance + CLOSE


def outside(kind: str, corners: Array, radius: float, point: Array) -> float:
    """Return the distance [m] of a point to a solid, 0 inside."""
    if kind in ('box', 'hull'):
        at = corners - point
        weight = max(1.0, float(abs(at).max()))
        matrix = np.vstack([at.T, np.full((1, len(at)), weight)])
        share, _ = nnls(matrix, np.array([0.0, 0.0, 0.0, weight]))
        return float(np.linalg.norm(share @ at / share.sum()))
    if kind == 'sphere':
        return max(float(np.linalg.norm(point - corners[0])) - radius, 0.0)
    start, way = corners[0], corners[1] - corners[0]
    length = float(np.linalg.norm(way))
    along = float((point - start) @ way) / length
    inside = min(max(along, 0.0), length)
    if kind == 'capsule':
        off = float(np.linalg.norm(point - start - inside / length * way))
        return max(off - radius, 0.0)
    across = float(np.linalg.norm(point - start - along / length * way))
    return float(np.hypot(along - inside, max(across - radius, 0.0)))


def _compare_bounds(
    collisions: Collisions, judge: CoalJudge, q: Array, between: Array, found: Comparison
) -> None:
    """Compare the lower bounds of `distances`, and those of bounding spheres, with coal."""
    model, state = collisions.model, collisions._state
    pairs = model['pairs'][:, :2]
    way = np.diff(state['centre'][pairs, :, 0], axis=1)[:, 0]
    spheres = np.linalg.norm(way, axis=1) - model['sphere'][pairs, 3].sum(axis=1)
    truth, is_known = np.maximum(between, 0.0) + 1e-12, between > NO_ANSWER
    for bounds in (state['bound'][: len(pairs), 0], spheres):
        found.bounds += int(is_known.sum())
        for k in np.flatnonzero(is_known & (bounds > truth)):  # coal's error?
            (other_way_round,) = judge.piece_distances(q, pairs[k : k + 1, ::-1])
            if NO_ANSWER < other_way_round < bounds[k] - 1e-12:
                found.bounds_above += not _are_apart(judge, q, pairs[k], bounds[k])


def _are_apart(judge: CoalJudge, q: Array, pair: Array, bound: float) -> bool:
    """Return whether two pieces are proved to be farther apart than a bound; not for cylinders."""
    (kind, a, first), (other, b, second) = (judge.solid_at(q, i) for i in pair.tolist())
    if 'cylinder' in (kind, other) or 'plane' in (kind, other):
        return False
    differences = (b[:, np.newaxis] - a).reshape(-1, 3)
    apart = outside('hull', differences, 0.0, np.zeros(3)) - first - second
    return apart > bound - 1e-12


def compare_slopes(collisions: Collisions, q: Array, found: Comparison) -> None:
    """Compare the gradient of the smallest distance with central differences."""
    here = collisions.distance(q)
    if here.distance <= 10.0 * STEP:
        return
    gradient = collisions.gradient(q)
    for j in range(len(q)):
        coarse, fine = (_slope(collisions, q, j, step) for step in (STEP, 0.5 * STEP))
        if not abs(coarse - fine) < STEADY:
            found.jumps += 1
            continue
        found.slopes += 1
        found.slope_error = max(found.slope_error, abs(float(gradient[j]) - fine))


def _slope(collisions: Collisions, q: Array, j: int, step: float) -> float:
    """Return the derivative by joint j, by central differences of fourth order."""
    unit = np.eye(len(q))[j]
    far, near, beside, behind = (
        collisions.distance(q + k * step * unit).distance for k in (-2, -1, 1, 2)
    )
    return (far - behind + 8.0 * (beside - near)) / (12.0 * step)


# --- what is compared ----------------------------------------------------------------------------


def world_of_all_shapes() -> World:
    """Return a world with an obstacle of every shape around an arm's base."""
    world = World()
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3], [0.2, 0.2, 0.1]])
    world.add('floor', Plane(), ik.transform(position=(0.0, 0.0, -0.4), rpy=(0.05, 0.02, 0.0)))
    for name, shape, position in (
        ('table', Box((0.8, 1.2, 0.05)), (0.85, 0.0, 0.2)),
        ('can', Cylinder(0.1, 0.3), (0.3, 0.4, 0.5)),
        ('pill', Capsule(0.08, 0.3), (-0.3, 0.4, 0.5)),
        ('ball', Sphere(0.15), (0.3, -0.4, 0.5)),
        ('wedge', Convex(corners), (-0.4, -0.4, 0.3)),
    ):
        world.add(name, shape, ik.transform(position=position, rpy=(0.4, -0.2, 0.3)))
    return world


def random_rows(robot: ik.Robot, count: int, seed: int = 0) -> Array:
    """Return random configurations (N, n) inside the limits, or within one turn without limits."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    return lower + np.random.default_rng(seed).random((count, robot.n)) * (upper - lower)


def _compared(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the lines to print; all cores share the configurations of each robot."""
    with ProcessPoolExecutor(mp_context=get_context('spawn')) as pool:
        for name in arguments.robots:
            start = time.perf_counter()
            rows = random_rows(load_robot(name), arguments.count, arguments.seed)
            job = partial(_compare_part, name, arguments.world, tuple(arguments.meshes))
            found = Comparison()
            for part in pool.map(job, np.array_split(rows, min(PARTS, len(rows)))):
                found += part
            yield f'{name} ({time.perf_counter() - start:.0f} s): {found}'
            for pair, other, q in [*found.unproved, *found.touching, *found.undecided][:5]:
                names = f'{pair.first}, {pair.second}'
                yield f'    {names}: {pair.distance} or {other} at {q.tolist()}'


def _compare_part(name: str, world: bool, meshes: tuple[Path, ...], rows: Array) -> Comparison:
    return compare(_collisions(name, world, meshes), rows, SLOPES)


@cache
def _collisions(name: str, has_world: bool, meshes: tuple[Path, ...]) -> Collisions:
    robot = load_robot(name)
    world = world_of_all_shapes() if has_world else None
    if world is not None:
        # A hand and its fingers touch what they hold: it is compared with the world alone.
        hand, links = robot.tips()[0], robot.link_names
        held, rod = Box((0.04, 0.06, 0.1)), Cylinder(0.02, 0.2)
        world.attach('held', held, hand, ik.transform(rpy=(0.3, 0.2, 0.1)), links)
        world.attach('rod', rod, hand, ik.transform(rpy=(1.3, 0.2, 0.1)), links)
    return Collisions(robot, world, 0.0, pieces=pieces_of(robot, folders=meshes))


def main(argv: Sequence[str] | None = None) -> int:
    """Compare robots and print the results; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('robots', nargs='+', metavar='ROBOT')
    parser.add_argument('--count', type=int, default=100, help='random configurations of each')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--world', action='store_true', help='with an obstacle of every shape')
    parser.add_argument('--meshes', action='append', type=Path, default=[], metavar='FOLDER')
    for line in _compared(parser.parse_args(argv)):
        print(line, flush=True)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
