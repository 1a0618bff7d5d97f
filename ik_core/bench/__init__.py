"""The experiments that `ik bench NAME` runs; their results live in benchmark/.

A benchmark is a function (arguments) -> rows, a list of flat dicts, so that every one of them
can be printed as a table, as JSON and as CSV. Times are taken side by side in one run: compare
ratios, not times of different days or machines.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ..exceptions import InvalidOption
from ..robot.shipped import TREE

Row = dict[str, Any]

BENCHMARKS = {
    'solve': 'success and time of every solver over random reachable goals',
    'batch': 'rates of many goals at once, one thread and all; all solutions of a UR5e',
    'startup': 'time from starting Python to the first solution, first ever and cached',
    'hard': 'singularities, limits, boundaries, goals out of reach: the default solver',
    'secondary': 'secondary tasks: their extra time, and how low they end beside SLSQP',
    'scaling': 'time an iteration as joints and goals grow; a 60-dof figure in motion',
    'tracking': 'joint drift over closed loops, goals out of reach, lag, time a tick',
    'load': 'time to load every URDF that is at hand',
    'rate': 'rate and jitter of the joint states of the node, beside a bare rclpy timer',
    'peers': 'success and time beside every other solver that PyPI has, on nine arms',
}
INSTALLING = ('peers',)
"""Run only when named: they install what they compare with, gigabytes of it. Not in the wheel."""


def add_parser(commands: Any) -> None:
    """Add `bench` to the subcommands of `ik`."""
    parser = commands.add_parser('bench', help='run a benchmark', allow_abbrev=False)
    listed = '; '.join(f'{name}: {text}' for name, text in BENCHMARKS.items())
    parser.add_argument(
        'names',
        metavar='NAME',
        nargs='*',
        default=[name for name in BENCHMARKS if name not in INSTALLING],
        help=f'{listed}. Without a name all but peers, which installs 6 GB',
    )
    parser.add_argument('--count', type=int, default=2000, help='random goals per robot')
    parser.add_argument('--out', type=Path, metavar='DIR', help='write CSV and figures there')
    parser.add_argument('--peers', metavar='NAMES', help='peers: only these, with commas between')
    parser.add_argument(
        '--peers-venv', type=Path, metavar='DIR', help='peers: where to keep what is installed'
    )
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the named benchmarks and print, and where asked write, their rows; exit code 0.

    Raises InvalidOption for an unknown name or a bad count.
    """
    for name in arguments.names:
        if name not in BENCHMARKS:
            raise InvalidOption(f'unknown benchmark {name!r}; there are: {", ".join(BENCHMARKS)}')
    if arguments.count < 1:
        raise InvalidOption(f'--count {arguments.count} must be positive')
    for name in arguments.names:
        module = _module(name)
        rows: list[Row] = module.run(arguments)
        print(json.dumps({name: rows}) if arguments.json else f'{name}\n{table(rows)}\n')
        if arguments.out and rows:
            arguments.out.mkdir(parents=True, exist_ok=True)
            write_csv(rows, arguments.out / f'{name}.csv')
            if hasattr(module, 'draw'):
                _draw(module.draw, rows, arguments.out / f'{name}.svg')
            if hasattr(module, 'report'):
                module.report(rows, arguments.out)
    return 0


def _module(name: str) -> ModuleType:
    """The module of a benchmark. Raises InvalidOption where it is not here."""
    if name not in INSTALLING:
        return importlib.import_module(f'.{name}', __package__)
    if not (TREE / 'benchmark' / name).is_dir():
        raise InvalidOption(f'`ik bench {name}` runs in a clone of the repository only')
    if str(TREE) not in sys.path:
        sys.path.append(str(TREE))
    return importlib.import_module(f'benchmark.{name}')


def _draw(draw: Callable[[list[Row], Path], None], rows: list[Row], path: Path) -> None:
    try:
        draw(rows, path)
    except ImportError as error:
        print(f'{path} is not drawn: {error}; pip install matplotlib', file=sys.stderr)


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    if not rows:
        return '(nothing to measure here)'
    head = list(rows[0])
    cells = [head, *([_text(row[key]) for key in head] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    lines = ['  '.join(text.rjust(width) for text, width in zip(line, widths, strict=True))
             for line in cells]  # fmt: skip
    return '\n'.join(lines)


def write_csv(rows: list[Row], path: Path) -> None:
    """Write the rows as CSV."""
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator='\n')
        writer.writeheader()
        writer.writerows({key: _text(value) for key, value in row.items()} for row in rows)


def _text(value: Any) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)
