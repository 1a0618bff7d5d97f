"""`ik bench startup`: from the start of a process to its first answer, each in a new process.

Loading the library, or compiling by numba, is part of these times, as far as the fastest of some
starts waits for it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ik_core import SOLVERS
from ik_core.progress import bar

from .results import Row

STARTS = 3

PROBLEM = """
import ik_core as ik
robot = ik.load_urdf('panda')
pose = robot.forward_kinematics([0.3, -0.2, 0.1, -2.0, 0.2, 2.0, 0.5, 0.0], 'panda_hand')
problem = ik.IkProblem(robot, [ik.PoseTask('panda_hand', transform=pose)])
"""
ALL = 'ik.solve_all(ik.IkProblem(robot, problem.goals, frozen_joints=["panda_joint3"]))'
TICK = """
limits = ik.MotionLimits.of(robot, acceleration=10.0)
tracker = ik.Tracker(problem, 1000.0, limits=limits)
tracker.set_goal(0, pose, 0.0)
tracker.tick(0.0)
"""
PROGRAMS = {
    'import ik_core': ['-c', 'import ik_core'],
    'ik --help': ['-m', 'ik_core', '--help'],
    'ik solve': ['-m', 'ik_core', 'solve', 'panda', '--xyz', '0.4', '0.0', '0.5'],
    'first solution': ['-c', f'{PROBLEM}assert ik.solve(problem).success'],
    'first batch': ['-c', f'{PROBLEM}ik.solve_batch(problem, [pose] * 100)'],
    'first solve_all': [
        '-c',
        f'{PROBLEM}{ALL}',
    ],
    'first tick': ['-c', PROBLEM + TICK],
    **{name: ['-c', f'{PROBLEM}ik.solve(problem, solver={name!r})'] for name in SOLVERS},
}


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """One row for each kind of start; the plain start of Python is the first."""
    for name in bar(['python', *PROGRAMS], 'startup'):
        yield {'start': name, 'process_s': _seconds(PROGRAMS.get(name, ['-c', 'pass']))}


def _seconds(arguments: list[str]) -> float:
    """The fastest of some starts of Python [s]; each finds this very package."""
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get('PYTHONPATH')]))
    fastest = float('inf')
    for _ in range(STARTS):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, 'PYTHONPATH': path},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        fastest = min(fastest, time.perf_counter() - started)
    return fastest
