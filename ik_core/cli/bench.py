"""`ik bench`: run benchmarks and print their rows.

    ik bench                                # all but the papers and peers
    ik bench solve hard --count 500
    ik bench peers --peers ours,kdl         # in a clone; installs 6 GB to compare with
    ik bench solve --out benchmark          # also CSV and figures
    ik bench papers --out benchmark/papers  # the experiments of the papers, all or by name
    ik bench line_search --mocap DIR        # those that need motion capture
    ik bench solve peers --redraw --out benchmark

Exit codes: 0 measured, 2 bad input.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..bench import BENCHMARKS, PEERS, papers
from ..bench.papers.claims import claim_rows
from ..bench.papers.results import write
from ..bench.rows import Row, read_csv, table, write_csv
from ..exceptions import InvalidOption
from ..figures import draw_file
from ..robot.shipped import TREE
from .command import REACHED, add_json, new_parser
from .completion import benchmarks

MOCAP_VARIABLE = 'IK_MOCAP_DIR'
"""The environment's word for `--mocap`."""


def add_parser(commands: Any) -> None:
    """Add `bench` to the subcommands of `ik`."""
    parser = new_parser(commands, 'bench', 'run benchmarks', f'{__doc__}\n{_listed()}')
    names = parser.add_argument(
        'names',
        metavar='NAME',
        nargs='*',
        default=[name for name in BENCHMARKS if name != PEERS],
        help='what to measure, see below (default: all but the papers and peers)',
    )
    names.completer = benchmarks  # type: ignore[attr-defined]
    parser.add_argument('--count', type=int, default=2000, help='random goals per robot')
    parser.add_argument('--out', type=Path, metavar='DIR', help='write CSV and figures there')
    parser.add_argument(
        '--mocap',
        type=Path,
        metavar='DIR',
        help=f'papers: the folder with motion capture (or {MOCAP_VARIABLE})',
    )
    parser.add_argument('--peers', metavar='NAMES', help='peers: only these, with commas between')
    parser.add_argument(
        '--peers-venv', type=Path, metavar='DIR', help='peers: where to keep what is installed'
    )
    parser.add_argument(
        '--redraw',
        action='store_true',
        help='measure nothing: draw the figures of the CSV files in --out anew',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the named benchmarks and print, and where asked write, their rows; exit code 0.

    Raises InvalidOption for an unknown name, a bad count, or motion capture that is not there, and
    OSError for a folder that can't be made.
    """
    if arguments.redraw:
        return _redraw(arguments)
    arguments.mocap = _mocap_folder(arguments)
    names = _checked_names(arguments)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)  # refused before it all ran, not after
    for name in names:
        if name in papers.EXPERIMENTS:
            _run_experiment(arguments, name)
            continue
        module = _module(name)
        rows: list[Row] = module.run(arguments)
        print(json.dumps({name: rows}) if arguments.json else f'{name}\n{table(rows)}\n')
        if arguments.out and rows:
            _write(module, rows, name, arguments.out)
    return REACHED


def _listed() -> str:
    """All benchmarks with what they measure."""
    width = max(map(len, _all_names())) + 2
    lines = [f'    {name:<{width}}{text}' for name, text in _all_names().items()]
    return '\n'.join(['What can be measured:', '', *lines])


def _all_names() -> dict[str, str]:
    """What each name that can be given measures."""
    return {**BENCHMARKS, papers.GROUP: 'all that follow', **papers.EXPERIMENTS}


def _checked_names(arguments: argparse.Namespace) -> list[str]:
    """The names given, with those of the papers in the place of their group."""
    _check_known(arguments.names)
    for name in arguments.names:
        if name in papers.NEED_MOCAP and not arguments.mocap:
            raise InvalidOption(f'{name} needs motion capture: --mocap DIR or {MOCAP_VARIABLE}')
    if arguments.count < 1:
        raise InvalidOption(f'--count {arguments.count} must be positive')
    names: list[str] = []
    for name in arguments.names:
        names += _possible_experiments(arguments) if name == papers.GROUP else [name]
    return names


def _check_known(names: Sequence[str]) -> None:
    known = _all_names()
    for name in names:
        if name not in known:
            raise InvalidOption(f'unknown benchmark {name!r}; there are: {", ".join(known)}')


def _possible_experiments(arguments: argparse.Namespace) -> list[str]:
    """All of the papers' experiments; without motion capture those that need none."""
    left_out = sorted(papers.NEED_MOCAP) if not arguments.mocap else []
    if left_out:
        print(
            f'Left out, since they need motion capture (--mocap DIR or {MOCAP_VARIABLE}): '
            f'{", ".join(left_out)}.',
            file=sys.stderr,
        )
    return [name for name in papers.EXPERIMENTS if name not in left_out]


def _mocap_folder(arguments: argparse.Namespace) -> Path | None:
    """The folder with motion capture, if there is one."""
    named = arguments.mocap or os.environ.get(MOCAP_VARIABLE)
    if named and not Path(named).is_dir():
        raise InvalidOption(f'motion capture: there is no folder {named}')
    return Path(named) if named else None


def _run_experiment(arguments: argparse.Namespace, name: str) -> None:
    """Run an experiment of a paper: print what it claims, and write all of it where asked."""
    module = _experiment(name)
    rows: list[Row] = module.run(arguments)
    claims = module.claims(rows)
    said = claim_rows(claims)
    if arguments.json:
        print(json.dumps({name: {'rows': rows, 'claims': said}}))
    else:
        print(f'{name}\n{table(said)}\n')
    if arguments.out:
        write(module, name, rows, claims, arguments.out)


def _experiment(name: str) -> ModuleType:
    """The module of a paper's experiment."""
    return importlib.import_module(f'{papers.__name__}.{name}')


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


def _redraw(arguments: argparse.Namespace) -> int:
    """Draw figures from the rows that were written before; exit code 0."""
    if arguments.out is None:
        raise InvalidOption('--redraw needs --out DIR: the folder with the CSV files')
    _check_known(arguments.names)
    for name in arguments.names:
        for part in papers.EXPERIMENTS if name == papers.GROUP else [name]:
            module = _experiment(part) if part in papers.EXPERIMENTS else _module(part)
            if hasattr(module, 'draw'):
                rows = read_csv(arguments.out / f'{part}.csv')
                draw_file(arguments.out / f'{part}.svg', module.draw, rows)
    return REACHED


def _write(module: ModuleType, rows: list[Row], name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / f'{name}.csv')
    if hasattr(module, 'draw'):
        _draw(module, rows, folder / f'{name}.svg')
    if hasattr(module, 'report'):
        module.report(rows, folder)


def _draw(module: ModuleType, rows: list[Row], path: Path) -> None:
    try:
        draw_file(path, module.draw, rows)
    except InvalidOption as error:
        print(f'{path} is not drawn: {error}', file=sys.stderr)
