"""`ik bench rate`: the joint states of a running `ik_node`, beside a bare rclpy timer.

`ik_core` knows no ROS, so the measurement is a program of `ik_node`, run as one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys

from . import Row


def run(arguments: argparse.Namespace) -> list[Row]:
    """The rows of `python -m ik_node.bench_rate`; none where rclpy is not installed."""
    if importlib.util.find_spec('rclpy') is None:
        print('rate: rclpy is not installed, so there is no node to measure', file=sys.stderr)
        return []
    command = [sys.executable, '-m', 'ik_node.bench_rate']
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
