"""`ik bench rate`: the joint states of a running `ik_node`, beside a bare rclpy timer.

With `--out` the table of benchmark/README.md goes to stderr. `ik_core` knows no ROS, so the
measurement is a program of `ik_node`, run as one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys

from .rows import Row


def run(arguments: argparse.Namespace) -> list[Row]:
    """The rows of `python -m ik_node.tools.bench_rate`; none where rclpy is not installed."""
    if importlib.util.find_spec('rclpy') is None:
        print('rate: rclpy is not installed, so there is no node to measure', file=sys.stderr)
        return []
    command = [sys.executable, '-m', 'ik_node.tools.bench_rate']
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    lines = (json.loads(line) for line in done.stdout.splitlines() if line.startswith('{'))
    rows = [{key: '' if value != value else value for key, value in row.items()} for row in lines]
    if arguments.out:
        print(markdown(rows), file=sys.stderr)
    return rows


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


def markdown(rows: list[Row]) -> str:
    """The table of benchmark/README.md."""
    lines = ['| ' + ' | '.join(COLUMNS.values()) + ' |', '|---' * len(COLUMNS) + '|']
    for row in rows:
        cells = [_cell(row[key]) for key in COLUMNS]
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def _cell(value: object) -> str:
    return f'{value:.3g}' if isinstance(value, float) else str(value)
