# SPDX-License-Identifier: Apache-2.0
"""`ik bench warm_solve`: a warm solve repeated, and after other work has used the caches.

The time of a goal is the least of four whole calls of `solver.solve`, to 1e-6 m and 1e-6 rad.
Starts are random, or near: up to 0.1 rad (or m) away in every joint. Rows have medians and means
over the goals. All goals are solved with warm caches; a quarter and a twentieth of them also after
writing 4 MB and 64 MB of other memory before each call: more than the caches of a core, and than
all caches of most machines.

`--beside DIR` also measures another checkout: each has a process, and both get the same blocks of
goals in turns. `ratio` is the median over the blocks of the time of this checkout over that of the
other one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

ROBOTS = ('panda', 'ur5e')
STARTS = ('random', 'near')
# [MB] memory written before each call, and the divisor of the number of goals.
TOUCHED = {0: 1, 4: 4, 64: 20}
BLOCK, CALLS = 50, 4
TOLERANCE, NEAR = 1e-6, 0.1
HERE = Path(__file__).resolve()


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each robot, kind of start and amount of memory."""
    checkouts = [HERE.parents[1], *([arguments.beside] if arguments.beside else [])]
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(checkout)) for checkout in checkouts]
        for name in ROBOTS:
            for start in STARTS:
                for megabytes, fewer in TOUCHED.items():
                    blocks = max(1, arguments.count // fewer // BLOCK)
                    yield _row(workers, (name, start, megabytes), blocks)


def _row(workers: list[Worker], what: tuple[str, str, int], blocks: int) -> dict[str, Any]:
    times: list[list[list[float]]] = [[] for _ in workers]
    reached = 0
    for block in range(1 + blocks):
        for k in range(len(workers)):
            k = (k + block) % len(workers)
            found = workers[k].measure(*what, block)
            if block:  # the first block is a warm-up
                times[k].append(found['times'])
                reached += found['reached'] if k == 0 else 0
    own = 1e6 * np.array(times[0])
    row = dict(zip(('robot', 'start', 'touched_mb'), what, strict=True)) | {
        'goals': own.size,
        'reached': reached,
        'median_us': np.median(own),
        'mean_us': own.mean(),
    }
    if len(workers) > 1:
        other = 1e6 * np.array(times[1])
        row['beside_median_us'] = np.median(other)
        row['ratio'] = np.median(np.median(own, axis=1) / np.median(other, axis=1))
    return row


class Worker:
    """A process that imports a checkout and measures blocks."""

    def __init__(self, checkout: Path) -> None:
        path = os.pathsep.join(filter(None, [str(checkout), os.environ.get('PYTHONPATH')]))
        self._process = subprocess.Popen(
            [sys.executable, str(HERE), str(checkout)],
            env={**os.environ, 'PYTHONPATH': path, 'OPENBLAS_NUM_THREADS': '1'},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.communicate()

    def measure(self, *block: str | int) -> dict[str, Any]:
        """Return the result of `Blocks.measure` in the process."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(block), file=self._process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


class Blocks:
    """Blocks of goals in a worker's process; it uses only names that every checkout exports."""

    def __init__(self) -> None:
        import ik_core

        self._ik = ik_core
        self._problems: dict[str, Any] = {}
        self._other = np.zeros(8 << 20)

    def measure(self, name: str, start: str, megabytes: int, block: int) -> dict[str, Any]:
        """Return the least time [s] of each goal of a block, and the number of goals reached."""
        if name not in self._problems:
            robot = self._ik.load_urdf(name)
            goal = self._ik.PoseTask(robot.default_tip())
            problem = self._ik.IkProblem(
                robot, [goal], position_tolerance=TOLERANCE, orientation_tolerance=TOLERANCE
            )
            self._problems[name] = problem, goal, self._ik.make_solver('levenberg_marquardt')
        problem, goal, solver = self._problems[name]
        rng, limits = np.random.default_rng(block), problem.limits
        ends = np.tile(problem.default_configuration, (BLOCK, 1))
        starts = ends.copy()
        shape = BLOCK, len(problem.variables)
        x = rng.uniform(limits.sample_lower, limits.sample_upper, shape)
        ends[:, problem.variables] = x
        near = limits.project(x + rng.uniform(-NEAR, NEAR, shape))
        far = rng.uniform(limits.sample_lower, limits.sample_upper, shape)
        starts[:, problem.variables] = near if start == 'near' else far
        targets = [problem.robot.forward_kinematics(q, goal.link) for q in ends]
        other, least, reached = self._other[: megabytes << 17], np.full(BLOCK, np.inf), 0
        for call in range(CALLS):
            for i in range(BLOCK):
                goal.set_target(targets[i])
                if megabytes:
                    other += 1.0
                began = time.perf_counter()
                result = solver.solve(problem, starts[i])
                least[i] = min(least[i], time.perf_counter() - began)
                reached += result.success if call == 0 else 0
        return {'times': least.tolist(), 'reached': int(reached)}


if __name__ == '__main__':
    sys.path[0] = sys.argv[1]  # in the place of this folder
    blocks = Blocks()
    for line in sys.stdin:
        print(json.dumps(blocks.measure(*json.loads(line))), flush=True)
