# SPDX-License-Identifier: Apache-2.0
"""The other interpreter of `path_peers`: toppra along joint paths, ssik along poses.

VENV/bin/python path_worker.py FOLDER     # with arm.urdf and paths.npz; prints JSON
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Print durations, successes and CPU times."""
    folder = Path(sys.argv[1])
    given = np.load(folder / 'paths.npz')
    found = _toppra(given)
    try:
        found |= _ssik(folder / 'arm.urdf', given)
    except NotImplementedError as error:
        found |= {'ssik_solved': str(error), 'ssik_ms': None}
    print(json.dumps(found))


def _toppra(given: Any) -> dict[str, Any]:
    """Durations from rest to rest without jerk limits."""
    import toppra
    from toppra import algorithm, constraint

    toppra.setup_logging('ERROR')
    rates = [
        constraint.JointVelocityConstraint(
            np.column_stack([-given['velocity'], given['velocity']])
        ),
        constraint.JointAccelerationConstraint(
            np.column_stack([-given['acceleration'], given['acceleration']])
        ),
    ]
    seconds, spent = [], []
    for q in given['q']:
        path = toppra.SplineInterpolator(np.linspace(0.0, 1.0, len(q)), q)
        started = time.process_time()
        grid = np.linspace(0.0, 1.0, 2 * len(q) - 1)
        planner = algorithm.TOPPRA(rates, path, gridpoints=grid, parametrizer='ParametrizeSpline')
        seconds.append(float(planner.compute_trajectory(0.0, 0.0).duration))
        spent.append(time.process_time() - started)
    return {'toppra_s': seconds, 'toppra_ms': 1e3 * float(np.median(spent))}


def _ssik(urdf: Path, given: Any) -> dict[str, Any]:
    """Paths along which a branch stays inside the limits, in steps of at most 0.5 rad."""
    import ssik

    chain = ssik.Manipulator.from_urdf(urdf, base=str(given['base']), ee=str(given['tip']))
    lower, upper, turns = given['lower'], given['upper'], given['turns']
    solved, spent = 0, []
    for poses in given['poses']:
        started = time.process_time()
        tracks = chain.solve_path(poses).tracks.values()
        spent.append(time.process_time() - started)
        for track in tracks:
            if len(track) < len(poses):
                continue
            q = np.array([step.q for step in track], float)
            if not np.isfinite(q).all():
                continue
            q = np.where(turns, np.unwrap(q, axis=0), q)
            middle = 0.5 * (lower + upper)
            shift = np.where(turns, np.round((middle - q[0]) / (2.0 * np.pi)), 0.0)
            q = q + 2.0 * np.pi * shift
            is_smooth = np.abs(np.diff(q, axis=0)).max() < 0.5
            if is_smooth and (q >= lower - 1e-6).all() and (q <= upper + 1e-6).all():
                solved += 1
                break
    return {'ssik_solved': solved, 'ssik_ms': 1e3 * float(np.median(spent))}


if __name__ == '__main__':
    main()
