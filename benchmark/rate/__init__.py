# SPDX-License-Identifier: Apache-2.0
"""`ik bench rate`: the joint states of a running `ik_node`, beside a bare rclpy timer.

With `--out` the table of benchmark/README.md goes to stderr. The program that measures,
`python -m benchmark.rate`, has further options.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..results import Row, markdown_table

# Columns of the table, and their heads
COLUMNS = {
    'robot': 'robot',
    'asked_hz': 'asked [Hz]',
    'publisher': 'publisher',
    'jitter_p50_ms': 'jitter p50 [ms]',
    'jitter_p99_ms': 'p99',
    'jitter_max_ms': 'max',
    'cpu_percent': 'CPU [%]',
    'tick_p50_us': 'tick p50 [µs]',
    'solve_p99_us': 'its solve, p99',
    'latency_least_ms': 'latency, least [ms]',
    'latency_p50_ms': 'p50',
    'latency_p99_ms': 'p99',
}


def rows(arguments: argparse.Namespace) -> list[Row]:
    """The rows of the program; none where rclpy is not installed."""
    if importlib.util.find_spec('rclpy') is None:
        print('rate: rclpy is not installed, so there is no node to measure', file=sys.stderr)
        return []
    command, root = [sys.executable, '-m', __name__], Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    found = (json.loads(line) for line in done.stdout.splitlines() if line.startswith('{'))
    return [{key: '' if value != value else value for key, value in row.items()} for row in found]


def report(rows: Sequence[Row], folder: Path) -> None:
    """Print the table of benchmark/README.md."""
    lines = [[_cell(row[key]) for key in COLUMNS] for row in rows]
    print(markdown_table(list(COLUMNS.values()), lines), file=sys.stderr)


def _cell(value: object) -> str:
    return f'{value:.3g}' if isinstance(value, float) else str(value)
