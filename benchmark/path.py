# SPDX-License-Identifier: Apache-2.0
"""`ik bench path`: paths of 200 poses, each known to have a solution without reconfigurations.

A path is that of a smooth random motion of the joints, which stays inside their limits and away
from singularities (sigma_min of the Jacobian at least 0.02), with poses so dense that the chords
between them are within a quarter of `keep_within` of the motion's own path. Nothing of the motion
but its poses is given to `solve_path`.

Motions are judged by pinocchio's forward kinematics, at about BETWEEN moments from pose to pose,
and by differences of their joint positions.

- `solved_percent`: paths for which a motion was found
- `flips`: motions with a step of a joint above 0.5 rad, or above the limit of its velocity
- `outside`: motions that are farther from the straight lines and slerp between their poses than
  `keep_within`; `position_um`, `orientation_mrad`: the largest distances
- `velocity`, `acceleration`, `jerk`: largest differences, as fractions of the limits
- `duration_s`: median; `given_percent`: median of the duration over that of the random motion, as
  fast as the same limits allow
- `solve_ms`, `timing_ms`: CPU time of a call, medians: all but the timing, and that

Paths are numbered by their random seeds. With `--log FILE` each has a line of JSON there as soon
as it is judged, and those that the file has already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array
from ik_core.path import PathResult, solve_path, timing
from ik_core.path.task import Rates
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.robot import Robot
from ik_core.tasks import PoseTask
from ik_core.tracking import MotionLimits

from .results import Row
from .robots import arm, fixed, joint, kr, robot, six

POSES = 200
BETWEEN = 50
KEEP_WITHIN = 1e-4, 1e-3  # [m, rad]
LEAST_SINGULAR = 0.02
KNOTS = 6  # of the random motions
REACH = 0.6  # [rad or m] standard deviation of their knots from the middle one
FLIP = 0.5
RATES = {'velocity': 2.0, 'acceleration': 5.0, 'jerk': 250.0}
NOISE = 0.01  # relative excess of third differences that is rounding
SMALL = 1e-4  # relative excess of differences that is rounding


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each arm; without `--robots` fewer paths for those that are slower."""
    robots: dict[str, tuple[Callable[[], Robot], int]] = {
        'ur5e': (lambda: arm('ur5e'), 1),
        'panda': (lambda: arm('panda'), 1),
        'iiwa14': (lambda: arm('iiwa14'), 10),
        'kr': (kr, 10),
        'six': (six, 10),
        'gantry9': (gantry9, 20),
    }
    names = arguments.robots.split(',') if arguments.robots else list(robots)
    if unknown := set(names) - set(robots):
        raise InvalidOption(f'--robots: no {", ".join(unknown)}; there are {", ".join(robots)}')
    for name in bar(names, 'path'):
        make, share = robots[name]
        count = arguments.count if arguments.robots else max(arguments.count // share, 1)
        yield _row(name, make(), count, arguments.log)


def gantry9() -> Robot:
    """Return an arm of six joints with a spherical wrist that hangs from a gantry of three."""
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    links = [
        ('x', (0.0, 0.0, 2.0), x, 'prismatic'),
        ('y', (0.0, 0.0, 0.0), y, 'prismatic'),
        ('z', (0.0, 0.0, 0.0), z, 'prismatic'),
        ('a1', (0.0, 0.0, -0.2), z, 'revolute'),
        ('a2', (0.1, 0.0, -0.2), y, 'revolute'),
        ('a3', (0.0, 0.0, -0.5), y, 'revolute'),
        ('a4', (0.0, 0.0, -0.2), z, 'revolute'),
        ('a5', (0.0, 0.0, -0.3), y, 'revolute'),
        ('a6', (0.0, 0.0, -0.05), z, 'revolute'),
    ]
    parts, parent = [], 'base'
    for name, at, axis, kind in links:
        limits = (-1.5, 1.5) if kind == 'prismatic' else (-2.9, 2.9)
        parts.append(joint(parent, name, at, axis, limits, kind))
        parent = name
    return robot('gantry9', [*parts, fixed(parent, 'tip', (0.0, 0.0, -0.1))])


def _row(name: str, model: Robot, count: int, log: Path | None) -> Row:
    """The row of an arm, of the paths of seeds 0 to `count` - 1."""
    problem = IkProblem(model, [PoseTask(model.default_tip())])
    limits = MotionLimits.of(model, **RATES)
    checker = Checker(model, model.default_tip())
    known = _logged(name, log)
    for seed in range(count):
        if seed not in known:
            known[seed] = _judged(problem, limits, checker, seed)
            if log:
                with log.open('a', encoding='utf-8') as file:
                    file.write(f'{json.dumps({"robot": name, "seed": seed, **known[seed]})}\n')
        row = known[seed]
        if not row['solved'] or row['flips'] or row['outside'] or row['jerk'] > 1.0 + NOISE:
            print(f'{name}, seed {seed}: {row}', file=sys.stderr)
    judged = [known[seed] for seed in range(count)]
    solved = [row for row in judged if row['solved']]

    def largest(key: str) -> float:
        return max((row[key] for row in solved), default=np.nan)

    def median(key: str) -> float:
        return float(np.median([row[key] for row in solved])) if solved else np.nan

    return {
        'robot': name,
        'paths': count,
        'solved_percent': 100.0 * len(solved) / count,
        'flips': sum(row['flips'] for row in solved),
        'outside': sum(row['outside'] for row in solved),
        'position_um': 1e6 * largest('position'),
        'orientation_mrad': 1e3 * largest('orientation'),
        'velocity': largest('velocity'),
        'acceleration': largest('acceleration'),
        'jerk': largest('jerk'),
        'duration_s': median('duration'),
        'given_percent': 100.0 * median('given'),
        'solve_ms': median('solve_ms'),
        'timing_ms': median('timing_ms'),
    }


def _logged(name: str, log: Path | None) -> dict[int, Row]:
    """The paths of an arm in a file of `--log`, by seed."""
    if log is None or not log.exists():
        return {}
    lines = map(json.loads, log.read_text(encoding='utf-8').splitlines())
    return {line['seed']: line for line in lines if line['robot'] == name}


def _judged(problem: IkProblem, limits: MotionLimits, checker: Checker, seed: int) -> Row:
    """Solve the path of a seed, and judge the motion."""
    poses, given = random_path(problem, np.random.default_rng(seed))
    usual = duration_of(problem, given, limits)
    period = usual / (BETWEEN * POSES)
    with measured() as spent:
        result = solve_path(problem, poses, limits=limits, keep_within=KEEP_WITHIN, period=period)
    row: Row = {'solved': result.success, **spent}
    if result.motion is None:
        return row | {'message': result.message}
    return row | checker.judge(result, poses, limits) | {'given': result.motion.duration / usual}


def random_path(problem: IkProblem, rng: np.random.Generator) -> tuple[Array, Array]:
    """Poses (POSES, 4, 4) of a random motion, and its configurations there (POSES, n)."""
    model, columns = problem.robot, problem.variables
    lower, upper = problem.limits.sample_lower, problem.limits.sample_upper
    tip = problem.goals[0].link
    while True:
        middle = lower + (upper - lower) * rng.uniform(0.1, 0.9, len(columns))
        knots = middle + rng.normal(scale=REACH, size=(KNOTS, len(columns)))
        spline = CubicSpline(np.linspace(0.0, 1.0, KNOTS), knots)
        for _ in range(4):  # a part of it, where the whole is too long for dense poses
            part = np.linspace(0.0, 1.0, 2 * POSES - 1)
            q = np.tile(problem.default_configuration, (len(part), 1))
            q[:, columns] = spline(part)
            if (q[:, columns] < lower).any() or (q[:, columns] > upper).any():
                break
            poses = np.asarray(model.forward_kinematics(q, tip))
            if _chord_error(poses) <= 0.25:
                singular = np.linalg.svd(model.jacobian(q, tip)[:, :, columns], compute_uv=False)
                if singular[:, 5].min() < LEAST_SINGULAR:
                    break
                return poses[::2].copy(), q[::2].copy()
            spline = CubicSpline(spline.x, spline(0.5 * spline.x))


def _chord_error(poses: Array) -> float:
    """How far every second pose (2 N - 1, 4, 4) is from the chord of its neighbours, relative to
    KEEP_WITHIN."""
    middle, chords = poses[1::2], 0.5 * (poses[:-1:2] + poses[2::2])
    gap = middle - chords
    shift = np.linalg.norm(gap[:, :3, 3], axis=1).max()
    turn = np.linalg.norm(gap[:, :3, :3], axis=(1, 2)).max() / np.sqrt(2.0)
    return float(max(shift / KEEP_WITHIN[0], turn / KEEP_WITHIN[1]))


def duration_of(problem: IkProblem, q: Array, limits: MotionLimits) -> float:
    """How long the random motion itself takes, as fast as the limits allow [s]."""
    columns = problem.variables
    rates = Rates(*(getattr(limits, name)[columns] for name in RATES))
    spline = CubicSpline(np.linspace(0.0, 1.0, len(q)), q[:, columns])
    return timing.fastest(spline, None, rates).duration


@contextmanager
def measured() -> Iterator[Row]:
    """CPU times of a call of `solve_path` [ms], and of the timing in it."""
    spent: Row = {'timing_ms': 0.0}
    own = timing.fastest

    def timed(*arguments: Any) -> timing.TimeLaw:
        started = time.process_time()
        law = own(*arguments)
        spent['timing_ms'] += 1e3 * (time.process_time() - started)
        return law

    timing.fastest = timed  # type: ignore[assignment]
    started = time.process_time()
    try:
        yield spent
    finally:
        timing.fastest = own
        spent['solve_ms'] = 1e3 * (time.process_time() - started) - spent['timing_ms']


class Checker:
    """Judges motions by pinocchio's forward kinematics of a robot's URDF."""

    def __init__(self, model: Robot, tip: str) -> None:
        import pinocchio

        self._pin = pinocchio
        text = model.urdf.decode() if isinstance(model.urdf, bytes) else model.urdf
        if 'effort=' not in text:  # which pinocchio asks for
            text = text.replace('<limit ', '<limit effort="1" velocity="1" ')
        self._model = pinocchio.buildModelFromXML(text)
        self._data = self._model.createData()
        self._frame = self._model.getFrameId(tip, pinocchio.FrameType.BODY)
        self._joints = [self._model.joints[self._model.getJointId(n)] for n in model.joint_names]

    def poses(self, q: Array) -> Array:
        """Poses (M, 4, 4) of the tip at q (M, n)."""
        vector, found = self._pin.neutral(self._model), np.empty((len(q), 4, 4))
        for i, row in enumerate(q):
            for position, joint_model in zip(row, self._joints, strict=True):
                at = joint_model.idx_q
                if joint_model.nq == 2:  # a continuous joint
                    vector[at], vector[at + 1] = np.cos(position), np.sin(position)
                else:
                    vector[at] = position
            self._pin.framesForwardKinematics(self._model, self._data, vector)
            found[i] = self._data.oMf[self._frame].homogeneous
        return found

    def judge(self, result: PathResult, poses: Array, limits: MotionLimits) -> Row:
        """Distances from the path, differences over limits, and flips of a motion."""
        motion = result.motion
        assert motion is not None
        q, period = motion.positions, motion.period
        position, orientation = self.distances(q, period, result.pose_times, poses)
        uses = []
        for order, name in enumerate(RATES, 1):
            steps = np.abs(np.diff(q, order, axis=0)).max(axis=0, initial=0.0) / period**order
            uses.append(float((steps / getattr(limits, name)).max()))
        step = np.abs(np.diff(result.q, axis=0)).max()
        return {
            'position': position,
            'orientation': orientation,
            'outside': position > KEEP_WITHIN[0] or orientation > KEEP_WITHIN[1],
            **dict(zip(RATES, uses, strict=True)),
            'flips': bool(step > FLIP or uses[0] > 1.0 + SMALL),
            'duration': motion.duration,
        }

    def distances(
        self, q: Array, period: float, times: Array, poses: Array
    ) -> tuple[float, float]:
        """Largest distance [m] and angle [rad] of frames q (M, n) from the lines and slerp between
        the poses (N, 4, 4), which are passed at these times (N,) [s]."""
        from scipy.spatial.transform import Rotation

        tips = self.poses(q)
        i = np.clip(
            np.searchsorted(times, period * np.arange(len(q)), 'right') - 1, 0, len(poses) - 2
        )
        start, end = poses[i], poses[i + 1]
        line = end[:, :3, 3] - start[:, :3, 3]
        along = ((tips[:, :3, 3] - start[:, :3, 3]) * line).sum(axis=1)
        length = np.maximum((line * line).sum(axis=1), 1e-30)
        part = np.clip(along / length, 0.0, 1.0)[:, np.newaxis]
        shift = np.linalg.norm(tips[:, :3, 3] - start[:, :3, 3] - part * line, axis=1)
        first, last = (Rotation.from_matrix(x[:, :3, :3]) for x in (start, end))
        turn = (first.inv() * last).as_rotvec()
        tip = first.inv() * Rotation.from_matrix(tips[:, :3, :3])
        square = np.maximum((turn * turn).sum(axis=1), 1e-30)
        part = np.clip((tip.as_rotvec() * turn).sum(axis=1) / square, 0.0, 1.0)
        slerp = Rotation.from_rotvec(part[:, np.newaxis] * turn)
        return float(shift.max()), float((slerp.inv() * tip).magnitude().max())
