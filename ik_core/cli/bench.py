"""`ik bench`: run benchmarks and print their rows.

    ik bench                                # all that need nothing but this package
    ik bench solve hard --count 500
    ik bench peers --peers ours,kdl         # from a clone; installs what it compares with
    ik bench solve --out benchmark          # also CSV and figures

Exit codes: 0 measured, 2 bad input.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from ..bench import BENCHMARKS, PEERS
from ..bench.rows import Row, table, write_csv
from ..exceptions import InvalidOption
from ..robot.shipped import TREE
from .command import REACHED, add_json, new_parser


def add_parser(commands: Any) -> None:
    """Add `bench` to the subcommands of `ik`."""
    parser = new_parser(commands, 'bench', 'run a benchmark')
    listed = '; '.join(f'{name}: {text}' for name, text in BENCHMARKS.items())
    parser.add_argument(
        'names',
        metavar='NAME',
        nargs='*',
        default=[name for name in BENCHMARKS if name != PEERS],
        help=f'{listed}. Without a name all but peers, which installs 6 GB',
    )
    parser.add_argument('--count', type=int, default=2000, help='random goals per robot')
    parser.add_argument('--out', type=Path, metavar='DIR', help='write CSV and figures there')
    parser.add_argument('--peers', metavar='NAMES', help='peers: only these, with commas between')
    parser.add_argument(
        '--peers-venv', type=Path, metavar='DIR', help='peers: where to keep what is installed'
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the named benchmarks and print, and where asked write, their rows; exit code 0.

    Raises InvalidOption for an unknown name or a bad count.
    """
    _check(arguments)
    for name in arguments.names:
        module = _module(name)
        rows: list[Row] = module.run(arguments)
        print(json.dumps({name: rows}) if arguments.json else f'{name}\n{table(rows)}\n')
        if arguments.out and rows:
            _write(module, rows, name, arguments.out)
    return REACHED


def _check(arguments: argparse.Namespace) -> None:
    for name in arguments.names:
        if name not in BENCHMARKS:
            raise InvalidOption(f'unknown benchmark {name!r}; there are: {", ".join(BENCHMARKS)}')
    if arguments.count < 1:
        raise InvalidOption(f'--count {arguments.count} must be positive')


def _module(name: str) -> ModuleType:
    """The module of a benchmark. Raises InvalidOption where it is not here."""
    if name != PEERS:
        return importlib.import_module(f'ik_core.bench.{name}')
    if not (TREE / 'benchmark' / name).is_dir():
        raise InvalidOption(
            f'`ik bench {name}` is not installed: it runs in a clone of the project'
        )
    if str(TREE) not in sys.path:
        sys.path.append(str(TREE))
    return importlib.import_module(f'benchmark.{name}')


def _write(module: ModuleType, rows: list[Row], name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / f'{name}.csv')
    if hasattr(module, 'draw'):
        _draw(module, rows, folder / f'{name}.svg')
    if hasattr(module, 'report'):
        module.report(rows, folder)


def _draw(module: ModuleType, rows: list[Row], path: Path) -> None:
    try:
        module.draw(rows, path)
    except ImportError as error:
        print(f'{path} is not drawn: {error}; pip install matplotlib', file=sys.stderr)
