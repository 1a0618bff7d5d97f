# SPDX-License-Identifier: Apache-2.0
"""`ik bench never_hits`: arms that are sent into each other and into a table, with other solvers.

    ik bench never_hits                        # 200 goals of 2 s; installs what it compares with
    ik bench never_hits --peers ours,pink --count 20
    ik bench never_hits --peers-venv FOLDER    # where to keep what is installed

Two iiwa14 side by side, and a panda at a table, as shipped. The same goals for all, in the same
order: tips are sent to the same place or across each other, and into the table and below it. Each
peer runs in an environment of its own, at the rate of its own example, and is asked to keep the
same pairs of links 20 mm apart. coal judges five points of each step.

- breaches : ticks during whose step a pair is nearer than the margin; deepest_mm : by how much
- no_answer : fraction of ticks without an answer; the arm then stays
- reached : fraction of goals at whose end all tips are within 5 mm and 0.05 rad
- flips : changes of sign of a joint's velocity above 1 mrad/s, per second, of the joint with most
  of them in the last second of a goal, while a pair is within 10 mm of its margin
- p50_ms, p99_ms : CPU time of a step
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ik_core as ik
from ik_core.collision import Collisions
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array

from ..coal_judge import CoalJudge
from ..peers.catalog import OURS, PEERS, Peer
from ..peers.environments import PeerAbsent, default_root, interpreter
from ..results import Row
from .scenes import SCENES, Scene

__all__ = ['rows']

GOALS = 200
NAMES = (OURS, 'pink', 'mink', 'roboplan', 'placo', 'EmbodiK')
PATIENCE = 7200.0  # [s] for a peer in a scene
POINTS = np.linspace(0.2, 1.0, 5)[:, np.newaxis]  # of a step
CHUNK = 2000  # places that are judged at once
ROUNDING = 1e-6  # [m]
BESIDE = 0.01  # [m] beyond its margin a pair is in contact
MOVES = 1e-3  # [rad/s]
AT_GOAL = 5e-3, 0.05  # [m], [rad]
ROOT, PROGRAM = Path(__file__).resolve().parents[2], Path(__file__).with_name('worker.py')


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each scene and peer; one that can't be run has the reason in `note`."""
    try:
        import coal  # noqa: F401
    except ImportError as error:
        print(f'never_hits: {error}: pip install coal', file=sys.stderr)
        return
    names = NAMES if arguments.peers is None else tuple(arguments.peers.split(','))
    if not set(names) <= set(NAMES):
        raise InvalidOption(f'--peers {arguments.peers}: there are: {", ".join(NAMES)}')
    root = arguments.peers_venv or default_root()
    with tempfile.TemporaryDirectory() as folder:
        for title, make in SCENES.items():
            scene = make(Path(folder), min(arguments.count, GOALS))
            judge = Judge(scene)
            for name in names:
                row: Row = {'scene': title, 'peer': name}
                try:
                    yield row | judge.row(_run(PEERS[name], scene, root, Path(folder)))
                except (PeerAbsent, PeerFailed) as reason:
                    yield row | Judge.EMPTY | {'note': str(reason)}
                print(f'never_hits: {title}, {name} done', file=sys.stderr)


class PeerFailed(Exception):
    """A peer that could not be set up for a scene, crashed or hung; says why."""


def _run(peer: Peer, scene: Scene, root: Path, folder: Path) -> dict[str, Any]:
    """Move a peer through a scene in its own process."""
    python = interpreter(peer, root)
    file, out = folder / 'scene.json', folder / 'out.npz'
    scene.write(file)
    environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}
    environment.pop('PYTHONPATH', None)
    if not peer.requirements:
        environment['PYTHONPATH'] = str(ROOT)
    try:
        done = subprocess.run(
            [python, str(PROGRAM), peer.adapter, str(file), str(out)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PeerFailed(f'not done after {PATIENCE:g} s') from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f'exit code {done.returncode}']
        raise PeerFailed(lines[-1][:200])
    with np.load(out) as found:
        return dict(found)


class Judge:
    """Measures how a peer moved: distances by coal, poses by this package's kinematics."""

    EMPTY = dict.fromkeys(
        ('goals', 'ticks', 'breaches', 'deepest_mm', 'no_answer', 'reached', 'flips', 'p50_ms',
         'p99_ms', 'rate_hz', 'note'), ''
    )  # fmt: skip

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._robot = ik.load_robot(Path(scene.urdf))
        collisions = Collisions(self._robot, margin=scene.margin, srdf=scene.srdf)
        self._coal = CoalJudge(collisions)
        names, wanted = collisions.piece_names, {frozenset(pair) for pair in scene.pairs}
        self._counts = np.array(
            [
                frozenset((names[i], names[j])) in wanted
                for i, j in collisions.model['pairs'][:, :2].tolist()
            ]
        )

    def row(self, found: dict[str, Any]) -> Row:
        """Return what is measured of the ticks that a worker wrote."""
        places, rate = found['places'], float(found['rate'])
        nearest = self._nearest(places)
        beyond = nearest - self._scene.margin
        p50, p99 = np.percentile(1e3 * found['seconds'], (50, 99))
        return {
            'goals': len(self._scene.goals),
            'ticks': len(nearest),
            'breaches': int((beyond < -ROUNDING).sum()),
            'deepest_mm': 1e3 * max(0.0, -float(beyond.min())),
            'no_answer': float(found['unanswered'].mean()),
            'reached': self._reached(places),
            'flips': self._flips(places, rate, beyond < BESIDE),
            'p50_ms': float(p50),
            'p99_ms': float(p99),
            'rate_hz': rate,
            'note': '; '.join(filter(None, (str(found['settings']), str(found['error'])))),
        }

    def _nearest(self, places: Array) -> Array:
        """Return the least distance [m] during each step."""
        between = places[:-1, np.newaxis] + POINTS * (places[1:] - places[:-1])[:, np.newaxis]
        between = between.reshape(-1, places.shape[1])
        within = self._scene.margin + BESIDE
        least = [
            self._coal.distances_within(between[k : k + CHUNK], within)[:, self._counts].min(
                axis=1
            )
            for k in range(0, len(between), CHUNK)
        ]
        return np.concatenate(least).reshape(-1, len(POINTS)).min(axis=1)

    def _reached(self, places: Array) -> float:
        """Return the fraction of goals that are reached at their end."""
        goals = np.array(self._scene.goals)
        ends = places[1:].reshape(len(goals), -1, places.shape[1])[:, -1]
        is_reached = np.ones(len(goals), bool)
        for k, tip in enumerate(self._scene.tips):
            pose, goal = self._robot.forward_kinematics(ends, tip), goals[:, k]
            apart = np.linalg.norm(pose[:, :3, 3] - goal[:, :3, 3], axis=1)
            cosine = 0.5 * (np.einsum('kij,kij->k', pose[:, :3, :3], goal[:, :3, :3]) - 1.0)
            is_reached &= (apart < AT_GOAL[0]) & (cosine > np.cos(AT_GOAL[1]))
        return float(is_reached.mean())

    def _flips(self, places: Array, rate: float, is_near: NDArray[np.bool_]) -> float:
        """Return the mean over goals that end in contact; 0 if none does."""
        goals, last, counts = len(self._scene.goals), round(rate), []
        steps = (places[1:] - places[:-1]).reshape(goals, -1, places.shape[1])[:, -last:]
        near = is_near.reshape(goals, -1)[:, -last:]
        for step, contact in zip(steps[near.any(axis=1)], near[near.any(axis=1)], strict=True):
            flips = []
            for joint in step.T:
                signs = np.sign(joint[contact & (np.abs(joint) * rate > MOVES)])
                flips.append(np.count_nonzero(np.diff(signs)))
            counts.append(max(flips))
        return float(np.mean(counts)) if counts else 0.0
