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
from dataclasses import dataclass, field
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

CLOSE = 1e-10
"""[m] Differences of distances that are not looked at."""
TOUCHING = 1e-9
"""[m] Distances and depths up to this may be called touching or not."""
ROUNDING = 1e-14
"""[m] A point that is no farther from a solid is in it."""
UNKNOWN = 1e3
"""[m] coal gives a larger number where it finds no depth."""
STEP = 1e-4
"""[rad or m] Of central differences of fourth order."""
STEADY = 1e-9
"""Differences with half the step agree so well unless the nearest points change their edges."""


@dataclass
class Comparison:
    """Counts of what was compared, and of what was wrong.

    pairs, worst : separated pairs of links or obstacles, and the largest difference [m]
    above : how many of them differ by more than `CLOSE`
    unproved : those of them for which the third computation does not prove our distance
    touching : pairs that only one of the two calls separated, unless ours is proved
    mistaken : those for which ours is proved, so that coal is wrong
    unanswered, undecided : pairs without an answer of coal, and those for which ours is not proved
    free : configurations whose verdict contradicts the distances, coal's or proved ones
    bounds, bounds_above : lower bounds of pairs of pieces, and those above the distance
    slopes, slope_error, jumps : derivatives, their largest error, and those left out because the
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
    undecided: int = 0
    free: int = 0
    bounds: int = 0
    bounds_above: int = 0
    slopes: int = 0
    slope_error: float = 0.0
    jumps: int = 0
    deep: int = 0
    depth_error: float = 0.0

    def __str__(self) -> str:
        share = 100.0 * self.above / max(self.pairs, 1)
        return (
            f'{self.pairs:,} separated pairs: at most {self.worst:.2g} m off, {share:.4f} % above '
            f'{CLOSE:g} m, {len(self.unproved)} of them not proved; {len(self.touching)} '
            f'disagreements on touching, {self.free} on free; coal is wrong on touching '
            f'{self.mistaken} times and has no answer for {self.unanswered:,} pairs, '
            f'{self.undecided} of them undecided; {self.bounds_above} of '
            f'{self.bounds:,} bounds above; {self.slopes:,} derivatives at most '
            f'{self.slope_error:.2g} off, {self.jumps:,} left out; {self.deep:,} depths at most '
            f'{self.depth_error:.2g} m off'
        )


def compare(collisions: Collisions, rows: Array, slopes: bool = True) -> Comparison:
    """Compare what is computed at configurations (N, n) with coal. Raises ImportError."""
    judge, found = CoalJudge(collisions), Comparison()
    for q in rows:
        ours = {(pair.first, pair.second): pair for pair in collisions.distances(q, np.inf)}
        _compare_bounds(collisions, judge, q, found)
        theirs = judge.distances(q)
        least, is_decided = np.inf, True
        for names, pair in ours.items():
            distance = theirs.get(names, theirs.get(names[::-1]))
            if distance is None:
                found.unanswered += 1
                is_decided &= (answered := is_proved(collisions, judge, q, pair))
                found.undecided += not answered
                distance = pair.distance if answered else np.inf
            elif _compare_pair(collisions, judge, q, pair, distance, found):
                distance = pair.distance
            least = min(least, distance)
        is_known = is_decided or least < 0.0
        if is_known and abs(least) > TOUCHING and collisions.free(q) != (least > 0.0):
            found.free += 1
        if slopes:
            _compare_slopes(collisions, q, found)
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
    """Return whether a distance is proved to be within `CLOSE` of the truth, without coal; of a
    pair that touches, whether it does."""
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


def _compare_bounds(collisions: Collisions, judge: CoalJudge, q: Array, found: Comparison) -> None:
    """Compare the bounds that `distances` left in the workspace, and those of spheres."""
    model, state = collisions.model, collisions._state
    between = judge.piece_distances(q)
    for k, (i, j) in enumerate(model['pairs'][:, :2]):
        if between[i, j] < NO_ANSWER:
            continue
        centre = state['centre'][:, :, 0]
        spheres = np.linalg.norm(centre[i] - centre[j]) - model['sphere'][[i, j], 3].sum()
        for bound in (state['bound'][k, 0], spheres):
            found.bounds += 1
            if bound > max(between[i, j], 0.0) + 1e-12:  # coal's error?
                other_way_round = judge.piece_distances(q, [(j, i)])[j, i]
                found.bounds_above += bool(bound > other_way_round + 1e-12)


def _compare_slopes(collisions: Collisions, q: Array, found: Comparison) -> None:
    """Compare the gradient of the nearest distance with central differences."""
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
    """The derivative by joint j, of fourth order."""
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
    """Return configurations (N, n) inside the limits, of joints without limits one turn."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    return lower + np.random.default_rng(seed).random((count, robot.n)) * (upper - lower)


def _compared(arguments: argparse.Namespace) -> Iterator[str]:
    for name in arguments.robots:
        robot = load_robot(name)
        pieces = pieces_of(robot, folders=arguments.meshes)
        world = world_of_all_shapes() if arguments.world else None
        if world is not None:
            # A hand and its fingers touch what they hold: it is compared with the world alone.
            hand, links = robot.tips()[0], robot.link_names
            held, rod = Box((0.04, 0.06, 0.1)), Cylinder(0.02, 0.2)
            world.attach('held', held, hand, ik.transform(rpy=(0.3, 0.2, 0.1)), links)
            world.attach('rod', rod, hand, ik.transform(rpy=(1.3, 0.2, 0.1)), links)
        collisions = Collisions(robot, world, 0.0, pieces=pieces)
        start = time.perf_counter()
        found = compare(collisions, random_rows(robot, arguments.count, arguments.seed))
        seconds = time.perf_counter() - start
        yield f'{robot.name} ({seconds:.0f} s): {found}'
        for pair, distance, q in [*found.unproved, *found.touching][:5]:
            yield f'    {pair.first}, {pair.second}: {pair.distance} or {distance} at {q.tolist()}'


def main(argv: Sequence[str] | None = None) -> int:
    """Compare robots, and print what was found; the exit code."""
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
