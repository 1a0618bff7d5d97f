# SPDX-License-Identifier: Apache-2.0
"""`ik bench load`: the time to load every shipped URDF, and those of example_robot_data."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ik_core.exceptions import UrdfError
from ik_core.progress import bar
from ik_core.robot import load_robot
from ik_core.robot.installed_robots import example_robots
from ik_core.robot.shipped import shipped_robots

from .results import Row

REPEATS = 5


def rows(arguments: argparse.Namespace) -> list[Row]:
    """Return a row for each file, the slowest first."""
    files = [*shipped_robots().values(), *example_robots().values()]
    return sorted(map(_row, bar(files, 'load')), key=lambda row: -row['median_s'])


def _row(path: Path) -> Row:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        try:
            robot = load_robot(path)
        except UrdfError as error:
            return _as_row(path, 0, 0, [time.perf_counter() - started], str(error))
        times.append(time.perf_counter() - started)
    return _as_row(path, len(robot.link_names), robot.n, times, 'ok')


def _as_row(path: Path, links: int, joints: int, times: list[float], outcome: str) -> Row:
    return {
        'file': path.name,
        'kilobytes': path.stat().st_size // 1024,
        'links': links,
        'joints': joints,
        'median_s': sorted(times)[len(times) // 2],
        'outcome': outcome.split('\n')[0],
    }
