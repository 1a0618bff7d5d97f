# SPDX-License-Identifier: Apache-2.0
"""Durations of paths beside toppra, and branches beside ssik: `python -m benchmark.path_peers`.

    python -m benchmark.path_peers ur5e panda --count 20 --python VENV/bin/python

The interpreter of --python needs numpy, scipy, toppra and `ssik[urdf]`. It gets the random paths
of `ik bench path`: the poses for ssik, and the joint positions of the random motion for toppra.

- `toppra_percent`: median and largest duration from rest to rest along the joint path, without
  jerk limits, over toppra's; `jerk_percent`: with a jerk of 50 times the acceleration
- `ours_ms`, `toppra_ms`: CPU time of these, without jerk, medians
- `solved`, `ssik_solved`: paths along which a sequence of solutions inside the limits is found
- `solve_ms`, `ssik_ms`: CPU time of a call, medians; ours has a motion with its timing, which
  ssik does not make
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from ik_core.maths.rotations import Array
from ik_core.path import solve_path, timing
from ik_core.path.task import Rates
from ik_core.problem import IkProblem
from ik_core.robot.robot import Robot
from ik_core.tasks import PoseTask
from ik_core.tracking import MotionLimits

from .path import POSES, RATES, random_path
from .results import Row
from .robots import arm

WORKER = Path(__file__).with_name('path_worker.py')
JERK = 50.0  # [1/s] of the acceleration


def main() -> int:
    """Print a row for each arm as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('arms', nargs='*', default=['ur5e', 'panda'])
    parser.add_argument('--count', type=int, default=20)
    parser.add_argument('--python', required=True)
    arguments = parser.parse_args()
    for name in arguments.arms:
        print(json.dumps(_row(name, arm(name), arguments.count, arguments.python)), flush=True)
    return 0


def _row(name: str, model: Robot, count: int, python: str) -> Row:
    problem = IkProblem(model, [PoseTask(model.default_tip())])
    paths = [random_path(problem, np.random.default_rng(i)) for i in range(count)]
    poses, q = (np.array(both) for both in zip(*paths, strict=True))
    theirs = _peers(problem, poses, q[:, :, problem.variables], python)
    free, smooth, spent = _durations(problem, q)
    over = 100.0 * free / np.array(theirs['toppra_s'])
    jerk = 100.0 * smooth / np.array(theirs['toppra_s'])
    limits, solved, seconds = MotionLimits.of(model, **RATES), 0, []
    for one in poses:
        started = time.process_time()
        solved += solve_path(problem, one, limits=limits).success
        seconds.append(time.process_time() - started)
    return {
        'robot': name,
        'paths': count,
        'toppra_percent': [float(np.median(over)), float(over.max())],
        'jerk_percent': [float(np.median(jerk)), float(jerk.max())],
        'ours_ms': 1e3 * float(np.median(spent)),
        'toppra_ms': theirs['toppra_ms'],
        'solved': solved,
        'ssik_solved': theirs['ssik_solved'],
        'solve_ms': 1e3 * float(np.median(seconds)),
        'ssik_ms': theirs['ssik_ms'],
    }


def _durations(problem: IkProblem, q: Array) -> tuple[Array, Array, Array]:
    """Durations (P,) along joint paths (P, N, n) without and with jerk limits; CPU times [s]."""
    columns = problem.variables
    velocity, acceleration = _limits(problem)
    found: list[tuple[float, float, float]] = []
    for rows in q:
        spline = CubicSpline(np.linspace(0.0, 1.0, len(rows)), rows[:, columns])
        started = time.process_time()
        without = Rates(velocity, acceleration, np.full(len(columns), np.inf))
        law = timing.fastest(spline, None, without)
        spent = time.process_time() - started
        smooth = timing.fastest(spline, None, Rates(velocity, acceleration, JERK * acceleration))
        found.append((law.duration, smooth.duration, spent))
    free, smooth_s, cpu = np.array(found).T
    return free, smooth_s, cpu


def _limits(problem: IkProblem) -> tuple[Array, Array]:
    """Velocity and acceleration limits (v,)."""
    limits = MotionLimits.of(problem.robot, **RATES)
    return limits.velocity[problem.variables], limits.acceleration[problem.variables]


def _peers(problem: IkProblem, poses: Array, q: Array, python: str) -> Row:
    """Run the worker in the other interpreter; return what it measured."""
    model, (velocity, acceleration) = problem.robot, _limits(problem)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = model.urdf.decode() if isinstance(model.urdf, bytes) else model.urdf
        (folder / 'arm.urdf').write_text(text, encoding='utf-8')
        np.savez(
            folder / 'paths.npz', poses=poses, q=q, velocity=velocity, acceleration=acceleration,
            lower=problem.limits.lower, upper=problem.limits.upper, turns=problem.limits.turns,
            base=model.base_link, tip=problem.goals[0].link,
        )  # fmt: skip
        done = subprocess.run(
            [python, str(WORKER), name], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f'{python} {WORKER.name}: {done.stderr.strip()[-400:]}')
    found: Row = json.loads(done.stdout.splitlines()[-1])
    assert q.shape[1] == POSES
    return found


if __name__ == '__main__':
    sys.exit(main())
