# SPDX-License-Identifier: Apache-2.0
"""`ik bench closed_form_proof`: solutions in closed form, compared with other solvers.

`count` poses for each arm: half of them at random configurations, the other half at singular ones,
with some or all joints at multiples of a right angle (stretched, folded, wrists in line). The
forward kinematics of pinocchio checks every solution, or ours if it is not installed. All cores
take part, each with other poses.

- `wrong`: solutions with an error above WRONG, or outside the limits; `lost`: poses whose own
  configuration is regular and not among the solutions.
- `certain_percent`: how often `is_certain` was true; `lost_certain` and `missing_certain` count
  only such poses, for which no solution may be missing.
- A row for each of `against`: the search (`solve_all(closed_form=False)`), and EAIK, ik-geo and
  ssik if they are installed and solve the arm quickly. Slow ones get one pose in EVERY; `poses`
  counts those compared. EAIK and ik-geo solve arms of seven as arms of six, with the redundant
  joint fixed. `missing`: solutions of the other solver that the closed form lacks; `extra`: the
  reverse. Only regular solutions inside the limits count, since singular poses may have infinitely
  many.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ik_core.batch.all_solutions import solve_all
from ik_core.closed_form.chain import Chain, chain_of
from ik_core.closed_form.closed_form import ClosedForm
from ik_core.closed_form.families import meeting_point
from ik_core.closed_form.kernel import EXACT
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.limits import FULL_TURN
from ik_core.robot.robot import Robot
from ik_core.robot.urdf_text import urdf_text
from ik_core.tasks import PoseTask

from .results import Row
from .robots import arm, bent_wrist, calibrated, crx, gantry, kr, pairs, random_arm, six

# Slow solvers get one pose in this many. The numbers are odd, so that singular poses, which
# alternate with regular ones, are among them.
EVERY = {'search': 51, 'ssik': 21}
EVERY_HELD = 11  # the same for arms of seven, since each pose needs new solvers
PATIENCE = 0.2  # [s] peers that take longer for a pose are left out: some search
ROUND = 500  # poses that a process checks before it takes others
ONE_THREAD = 'OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'
WRONG = 1e-8  # [m, rad] a solution with a larger error is wrong
CLOSE = 1e-6  # [m, rad] a peer's solution with a larger error is ignored
ON_LIMIT = 1e-7  # [rad or m] a peer's joint this far beyond a limit counts as on it
NEAR = 1e-3  # [rad or m] configurations closer than this in every joint are the same
REGULAR = 2e-3  # least ratio of singular values, smallest to largest, of a regular Jacobian


# Arms by name. Of eight joints the first one is frozen; of seven, one is redundant.
ARMS: dict[str, Callable[[], Robot]] = {
    'ur5e': lambda: arm('ur5e'),
    'ur5e as measured': lambda: calibrated('ur5e', 5),
    'kr': kr,
    'puma': lambda: arm('puma'),
    'crx': crx,
    'bent wrist': bent_wrist,
    'any six': six,
    'pairs': pairs,
    'gantry': gantry,
    'any five': lambda: six(5),
    'scara': lambda: arm('scara'),
    'panda': lambda: arm('panda'),
    'iiwa14': lambda: arm('iiwa14'),
    'pr2_like': lambda: arm('pr2_like'),
}
# Number of random arms, with the structures of all families in turn; fraction of `count` for each.
RANDOM_ARMS, RANDOM_FRACTION = 143, 0.01
RANDOM = {f'random arm {i}': partial(random_arm, i) for i in range(RANDOM_ARMS)}

Solutions = Callable[[Array], Array]  # returns solutions (k, 6) for a tip's pose

# Families of ik-geo with closed forms.
RUST = ('three_parallel_two_intersecting', 'spherical_two_parallel', 'spherical_two_intersecting')


def rows(arguments: argparse.Namespace) -> list[Row]:
    """Return a row for each arm and each other solver; the random arms share a row."""
    counts = dict.fromkeys(ARMS, arguments.count)
    counts |= dict.fromkeys(RANDOM, math.ceil(RANDOM_FRACTION * arguments.count))
    rounds = [
        (name, first, count)
        for first in range(0, arguments.count, ROUND)
        for name, count in counts.items()
        if first < count
    ]
    counted = {name: Counter[Any]() for name in counts}
    for name in ONE_THREAD:
        os.environ.setdefault(name, '1')  # the processes take all cores already
    with ProcessPoolExecutor(mp_context=get_context('spawn')) as pool:
        waiting = {pool.submit(_judged, *one): one[0] for one in rounds}
        done = as_completed(waiting)
        for _ in bar(rounds, 'closed_form_proof'):
            future = next(done)
            counted[waiting[future]] += future.result()
    found = [row for name in ARMS for row in _proof(name).rows(counts[name], counted[name])]
    together: Counter[Any] = sum((counted[name] for name in RANDOM), Counter())
    others = dict.fromkeys(key[0] for key in together if isinstance(key, tuple))
    given = f'{RANDOM_ARMS} random arms', 'each in turn', sum(counts[name] for name in RANDOM)
    return [*found, *(row_of(*given, together, name) for name in others)]


def _judged(name: str, first: int, count: int) -> Counter[Any]:
    """Return counts over the round of poses from `first` on."""
    return _proof(name).judged(first, min(first + ROUND, count))


@cache
def _proof(name: str) -> Proof:
    return Proof(name, (ARMS | RANDOM)[name]())


class Proof:
    """The check of one arm: its closed form and the other solvers."""

    def __init__(self, name: str, robot: Robot) -> None:
        self.name, self.robot = name, robot
        self.tip = robot.default_tip()
        self.goal = PoseTask(self.tip)
        chain = [robot.joint_names[i] for i in robot.chain(self.tip)]
        frozen = chain[: max(0, len(chain) - 7)]
        self.problem = IkProblem(robot, [self.goal], frozen_joints=frozen)
        self.form = ClosedForm(self.problem)
        redundant = self.form.redundant_joint
        if redundant is not None:
            frozen = [*frozen, robot.joint_names[redundant]]
        self.searched = IkProblem(robot, [self.goal], frozen_joints=frozen)
        self.moving = self.searched.variables
        self.turning = np.array([robot.joint_units[i] == 'rad' for i in self.moving])
        self.pose_of = _judge(robot, self.tip)
        self.others = self._quick_others()

    def rows(self, count: int, counts: Counter[Any] | None = None) -> list[Row]:
        """Return a row for each other solver, from the counts of `count` poses."""
        if counts is None:
            counts = self.judged(0, count)
        given = self.name, self.form.family, count, counts
        return [row_of(*given, name) for name in ('search', *self.others)]

    def judged(self, first: int, last: int) -> Counter[Any]:
        """Return counts of the poses from `first` to `last`."""
        counts: Counter[Any] = Counter()
        q = self._configurations(first, last)
        poses = np.array([self.pose_of(one) for one in q])
        found, certain = self.solve(q, poses)
        regular = self._are_regular(np.concatenate(found))
        ends = np.cumsum([len(one) for one in found])
        for i, own in enumerate(np.split(regular, ends[:-1])):
            case = Case(q[i], poses[i], found[i], own, bool(certain[i]))
            self._count_own(case, counts)
            for name, solutions in self._asked(case, first + i):
                self._compare(name, case, solutions, counts)
        return counts

    def solve(self, q: Array, poses: Array) -> tuple[list[Array], NDArray[np.bool_]]:
        """Return the solutions of each pose (k, 4, 4), and whether they are certain.

        q : (k, n) a configuration for each pose
        """
        many = self.form.solve_many(poses, q, threads=1)
        return list(many), many.certain

    # --- the others -----------------------------------------------------------------------------

    def _quick_others(self) -> dict[str, Solutions]:
        """Return the solvers that take less than PATIENCE for this arm, by name."""
        q = self._configurations(0, 1)[0]
        pose = self.pose_of(q)
        others = dict(self._others_at(q))
        return {name: one for name, one in others.items() if _seconds(one, pose) < PATIENCE}

    def _others_at(self, q: Array) -> Iterator[tuple[str, Solutions]]:
        """Yield the solvers of this arm; frozen and redundant joints are at their values in q."""
        self.searched.packed.load_frozen(q)
        return peers(self.robot, self.tip, chain_of(self.searched.packed, False))

    def _asked(self, case: Case, i: int) -> Iterator[tuple[str, Array]]:
        """Yield the solvers compared at case i, with their solutions (k, n)."""
        others = self.others
        if self.form.redundant_joint is not None and others:
            others = dict(self._others_at(case.q)) if i % EVERY_HELD == 0 else {}
        for name, solutions in others.items():
            if i % EVERY.get(name, 1) == 0:
                yield name, self._turned(case.q, solutions(case.pose))
        if i % EVERY['search'] == 0:
            self.goal.set_target(case.pose)
            found = solve_all(self.searched, case.q, closed_form=False).q
            yield 'search', self._turned(case.q, found[:, self.moving])

    def _turned(self, q: Array, x: Array) -> Array:
        """Return q (k, n) of solutions x (k, variables), in turns near q and in the limits."""
        limits, turning, start = self.searched.limits, self.turning, q[self.moving]
        x = np.where(turning, x - FULL_TURN * np.round((x - start) / FULL_TURN), x)
        x = np.where(turning & (x > limits.upper + ON_LIMIT), x - FULL_TURN, x)
        x = np.where(turning & (x < limits.lower - ON_LIMIT), x + FULL_TURN, x)
        inside = (x >= limits.lower - ON_LIMIT) & (x <= limits.upper + ON_LIMIT)
        whole = np.repeat(q[np.newaxis], len(x), axis=0)
        whole[:, self.moving] = x
        return whole[inside.all(axis=1)]

    # --- poses ----------------------------------------------------------------------------------

    def _configurations(self, first: int, last: int) -> Array:
        """Return random and singular configurations in turns (last - first, n)."""
        limits, whole = self.searched.limits, self.problem.limits
        made = np.repeat(self.searched.default_configuration[np.newaxis], last - first, axis=0)
        for i, q in enumerate(made, first):
            rng = np.random.default_rng(i)
            q[self.problem.variables] = rng.uniform(whole.sample_lower, whole.sample_upper)
            x = q[self.moving]
            if i % 2:
                right = rng.random(len(x)) < (1.0 if i % 4 == 1 else 0.5)
                x[right] = 0.25 * FULL_TURN * np.round(4.0 / FULL_TURN * x[right])
            q[self.moving] = np.clip(x, limits.lower, limits.upper)
        return made

    def _are_regular(self, q: Array) -> NDArray[np.bool_]:
        """Return whether the Jacobians at q (k, n) clearly have full rank, away from limits."""
        x, limits = q[:, self.moving], self.searched.limits
        away = (np.minimum(x - limits.lower, limits.upper - x) >= NEAR).all(axis=1)
        if not len(q):
            return away
        jacobians = [self.robot.jacobian(one, self.tip)[:, self.moving] for one in q]
        values = np.linalg.svd(np.array(jacobians), compute_uv=False)
        return away & (values[:, -1] > REGULAR * values[:, 0])

    def _gaps(self, one: Array, others: Array) -> Array:
        """Return distances (k, l) of configurations (k, n) and (l, n), without whole turns."""
        gaps = (one[:, None] - others[None])[:, :, self.moving]
        turns = np.where(self.turning, np.round(gaps / FULL_TURN), 0.0)
        return np.asarray(np.abs(gaps - FULL_TURN * turns).max(axis=2, initial=0.0), float)

    # --- counting -------------------------------------------------------------------------------

    def _count_own(self, case: Case, counts: Counter[Any]) -> None:
        """Count certainty, errors and losses of the closed form alone."""
        found, robot = case.found, self.robot
        counts['certain'] += case.certain
        counts['solutions'] += len(found)
        inside = ((found >= robot.lower) & (found <= robot.upper)).all(axis=1)
        off = [_error(self.pose_of(q), case.pose) > WRONG for q in found]
        counts['wrong'] += int((~inside | np.array(off, bool)).sum())
        is_there = (self._gaps(case.q[np.newaxis], found) <= NEAR).any()
        if not is_there and self._are_regular(case.q[np.newaxis])[0]:
            counts['lost'] += 1
            counts['lost_certain'] += case.certain

    def _compare(self, name: str, case: Case, theirs: Array, counts: Counter[Any]) -> None:
        """Count the solutions that only one of the two sets has."""
        near = self._gaps(theirs, case.found) <= NEAR
        have = near.any(axis=0)
        missing = self._solutions_among(theirs[~near.any(axis=1)], case.pose)
        counts[name, 'poses'] += 1
        counts[name, 'missing'] += missing
        counts[name, 'missing_certain'] += missing * case.certain
        counts[name, 'extra'] += int((case.regular & ~have).sum())
        counts[name, 'theirs'] += int((case.regular & have).sum()) + missing

    def _solutions_among(self, q: Array, pose: Array) -> int:
        """Return the number of distinct regular solutions among q (k, n)."""
        q = q[[_error(self.pose_of(one), pose) <= CLOSE for one in q]] if len(q) else q
        q = q[self._are_regular(q)]
        same = np.tril(self._gaps(q, q) <= NEAR, -1)
        return int((~same.any(axis=1)).sum())


def row_of(robot: str, family: str, count: int, counts: Counter[Any], against: str) -> Row:
    """Return the row of the counts of `count` poses, against another solver."""
    keys = ('poses', 'theirs', 'missing', 'missing_certain', 'extra')
    return {
        'robot': robot,
        'family': family,
        'count': count,
        'solutions': counts['solutions'] / count,
        'certain_percent': 100.0 * counts['certain'] / count,
        **{key: counts[key] for key in ('wrong', 'lost', 'lost_certain')},
        'against': against,
        **{key: counts[against, key] for key in keys},
    }


@dataclass(frozen=True)
class Case:
    """A pose and its solutions in closed form.

    q, pose : a configuration (n,), and the pose (4, 4) of the tip there
    found : solutions (k, n); `regular` (k,) says which of them are regular
    certain : whether no solution can be missing
    """

    q: Array
    pose: Array
    found: Array
    regular: NDArray[np.bool_]
    certain: bool


def _seconds(solutions: Callable[[Array], Array], pose: Array) -> float:
    """Return the time [s] of the fastest of three calls, after one for warm-up."""
    solutions(pose)
    times = []
    for _ in range(3):
        started = time.perf_counter()
        solutions(pose)
        times.append(time.perf_counter() - started)
    return min(times)


def _error(pose: Array, other: Array) -> float:
    """Return the larger of the distance [m] and the angle [rad] between two poses (4, 4)."""
    chord = float(np.linalg.norm(pose[:3, :3] - other[:3, :3])) / np.sqrt(8.0)
    shift = float(np.linalg.norm(pose[:3, 3] - other[:3, 3]))
    return max(shift, 2.0 * float(np.arcsin(min(chord, 1.0))))


def _judge(robot: Robot, tip: str) -> Callable[[Array], Array]:
    """Return the forward kinematics of a tip by pinocchio; ours if it is not installed."""
    try:
        pin = importlib.import_module('pinocchio')
    except ImportError:
        return lambda q: robot.forward_kinematics(q, tip)
    model = pin.buildModelFromXML(urdf_text(robot))
    data, frame = model.createData(), model.getFrameId(tip)
    joints = {name: model.joints[i] for i, name in enumerate(model.names) if i}
    places = [(joints[name].idx_q, joints[name].nq) for name in robot.joint_names]

    def pose_of(q: Array) -> Array:
        at = np.empty(model.nq)
        for (i, size), value in zip(places, q, strict=True):
            if size == 1:
                at[i] = value
            else:
                at[i : i + 2] = np.cos(value), np.sin(value)
        pin.forwardKinematics(model, data, at)
        pin.updateFramePlacement(model, data, frame)
        return np.array(data.oMf[frame].homogeneous)

    return pose_of


# --- closed forms of others --------------------------------------------------------------------


def peers(robot: Robot, tip: str, chain: Chain) -> Iterator[tuple[str, Solutions]]:
    """Yield the closed forms of other projects, for an arm with six moving revolute joints."""
    if len(chain.rows) != 6 or chain.slides.any():
        return
    made: dict[str, Callable[..., Solutions | None]] = {'EAIK': _eaik, 'ik-geo': _ik_geo}
    if len(robot.chain(tip)) == 6:
        made['ssik'] = _ssik  # it reads the URDF, so it moves all joints
    for name, make in made.items():
        try:
            solutions = make(robot, tip, chain)
        except ImportError:
            continue
        if solutions is not None:
            yield name, solutions


def _axes(chain: Chain) -> tuple[Array, Array, Array]:
    """Return axes (6, 3), offsets (7, 3) between them, and the tip's rotation (3, 3), at zero."""
    home = chain.last @ chain.tool
    points = np.vstack([np.zeros(3), chain.rows[:, 3:], home[:3, 3]])
    return chain.rows[:, :3].copy(), np.diff(points, axis=0), home[:3, :3]


def _eaik(_robot: Robot, _tip: str, chain: Chain) -> Solutions | None:
    module = importlib.import_module('eaik.IK_HP')
    axes, offsets, rotation = _axes(chain)
    arm = module.HPRobot(axes, offsets)
    if not arm.hasKnownDecomposition():
        return None

    def solutions(pose: Array) -> Array:
        found = arm.IK(_unturned(pose, rotation))
        return np.reshape(found.Q, (-1, 6))[~np.array(found.is_LS, bool)]

    return solutions


def _ik_geo(_robot: Robot, _tip: str, chain: Chain) -> Solutions | None:
    module = importlib.import_module('ik_geo')
    family = _rust_family(chain)
    if family is None:
        return None
    rows = chain.rows.copy()  # it wants axes that meet to have one point
    for these in (slice(4, 6),) if family == RUST[0] else (slice(3, 6), slice(0, 2)):
        point, miss = meeting_point(rows[these])
        if miss <= EXACT:
            rows[these, 3:] = point
    axes, offsets, rotation = _axes(replace(chain, rows=rows))
    arm = getattr(module.Robot, family)(axes, offsets)

    def solutions(pose: Array) -> Array:
        turned = _unturned(pose, rotation)
        found = arm.get_ik(turned[:3, :3].T.tolist(), turned[:3, 3].tolist())  # the columns
        return np.array([q for q, inexact in found if not inexact]).reshape(-1, 6)

    return solutions


def _rust_family(chain: Chain) -> str | None:
    """Return ik-geo's name for the family of an arm; None if its first axes do not fit one."""
    found = [one for one in chain.strategies() if one.deviation <= EXACT]
    if not found:
        return None
    if found[0].of == (1, 2, 3):
        return RUST[0]
    if found[0].of != (3, 4, 5):
        return None
    axes, gap = chain.rows[:, :3], chain.rows[1, 3:] - chain.rows[0, 3:]
    if np.linalg.norm(np.cross(axes[1], axes[2])) < 1e-9:
        return RUST[1]
    return RUST[2] if abs(gap @ np.cross(axes[0], axes[1])) < 1e-9 else None


def _ssik(robot: Robot, tip: str, _chain: Chain) -> Solutions | None:
    module = importlib.import_module('ssik')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'arm.urdf'
        path.write_text(urdf_text(robot), encoding='utf-8')
        try:
            arm: Any = module.Manipulator.from_urdf(str(path), base=robot.link_names[0], ee=tip)
        except (RuntimeError, ValueError, NotImplementedError):
            return None

    def solutions(pose: Array) -> Array:
        found = arm.solve(pose, respect_limits=False, enumerate_windings=False)
        return np.array([one.q for one in found]).reshape(-1, 6)

    return solutions


def _unturned(pose: Array, rotation: Array) -> Array:
    """Return the pose (4, 4) for a tip with the root's orientation when all joints are at zero."""
    result = pose.copy()
    result[:3, :3] = pose[:3, :3] @ rotation.T
    return result
