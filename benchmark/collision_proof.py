# SPDX-License-Identifier: Apache-2.0
"""Rate at which `prove_collisions` proves that no solution of an arm of seven joints is free.

    python -m benchmark.collision_proof panda iiwa14 --count 1000

Goals are poses at random colliding configurations, in the scenes of `ik bench collisions`. Most of
them have free solutions; `--count` per scene, for which `closed_form` finds none, are examined:

- settled : the goal alone decides, without a proof
- proved : proved, among the others
- found : the proof came across a free solution
- open : neither
- median_s, max_s : the time of the proof
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import ik_core as ik
from ik_core.closed_form import form
from ik_core.closed_form.infeasibility_proof import InfeasibilityProof
from ik_core.collision import Collisions

from .collisions import SCENES
from .results import table

TIPS = {'panda': 'panda_hand_tcp', 'iiwa14': 'iiwa_link_ee'}


def main() -> None:
    """Print a row for each robot and scene."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('robots', nargs='+', choices=TIPS)
    parser.add_argument('--count', type=int, default=1000, help='poses of each scene')
    arguments = parser.parse_args()
    rows = []
    for name in arguments.robots:
        for scene in SCENES:
            rows.append(_row(name, scene, arguments.count))
    print(table(rows))


def _row(name: str, scene: str, count: int) -> dict[str, Any]:
    robot = ik.load_robot(name)
    collisions = Collisions(robot, SCENES[scene](), margin=0.0)
    task = ik.PoseTask(TIPS[name])
    problem = ik.IkProblem(robot, [task], avoid=collisions)
    arm, solver = form(problem), ik.make_solver('closed_form')
    counts = dict.fromkeys(('settled', 'proved', 'found', 'open'), 0)
    seconds = []
    for q in _colliding(collisions):
        task.set_target(robot.forward_kinematics(q, task.link))
        result = solver.solve(problem, q)
        if result.success:
            continue
        if 'for certain' in result.note:
            verdict = 'settled'
        else:
            problem.evaluator.load(q)
            began = time.perf_counter()
            cover = InfeasibilityProof(problem, arm, q)
            while not cover.is_over:
                cover.refine()
            seconds.append(time.perf_counter() - began)
            verdict = 'found' if cover.found is not None else 'open'
            verdict = 'proved' if cover.is_proved else verdict
        counts[verdict] += 1
        if sum(counts.values()) == count:
            break
    times = {'median_s': float(np.median(seconds or [0.0])), 'max_s': max(seconds, default=0.0)}
    return {'robot': name, 'scene': scene, **counts, **times}


def _colliding(collisions: Collisions) -> Iterator[np.ndarray]:
    """Yield random colliding configurations (n,)."""
    robot, rng = collisions.robot, np.random.default_rng(0)
    low, high = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    while True:
        q = low + rng.random(robot.n) * (high - low)
        if not collisions.free(q):
            yield q


if __name__ == '__main__':
    main()
