"""`ik bench startup`: from starting Python to the first solution, each in a new process.

'first ever' has an empty kernel cache, so every kernel is compiled; 'cached' finds what the
first one stored; 'without numba' runs the same kernels as plain Python.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ik_core.progress import bar

from .results import Row

PROGRAM = """
import time
started = time.perf_counter()
import ik_core as ik
imported = time.perf_counter()
from ik_core.robot.robot_sources import load_robot
robot = load_robot('panda')
goal = ik.PoseTask('panda_hand', position=[0.4, 0.0, 0.5], quaternion=[1, 0, 0, 0])
result = ik.solve(ik.IkProblem(robot, [goal]))
assert result.success
print(imported - started, time.perf_counter() - started)
"""


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """One row for each kind of start."""
    with tempfile.TemporaryDirectory() as cache:
        kinds = bar(['first ever', *3 * ['cached']], 'startup')
        yield from (_row(kind, cache) for kind in kinds)
        yield _row('without numba', cache, NUMBA_DISABLE_JIT='1')


def _row(kind: str, cache: str, **environment: str) -> Row:
    """Times of one child, which compiles into `cache` and finds this very package."""
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get('PYTHONPATH')]))
    child = {**os.environ, 'XDG_CACHE_HOME': cache, 'PYTHONPATH': path, **environment}
    started = time.perf_counter()
    output = subprocess.run(
        [sys.executable, '-c', PROGRAM], env=child, check=True, capture_output=True, text=True
    ).stdout
    whole = time.perf_counter() - started
    imported, solved = map(float, output.split())
    return {'start': kind, 'import_s': imported, 'first_solution_s': solved, 'process_s': whole}
