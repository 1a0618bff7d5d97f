# SPDX-License-Identifier: Apache-2.0
"""`ik bench`: run experiments, print their rows, write CSV files, figures and docs/papers.md.

    ik bench                                # all but the papers, peers and never_hits
    ik bench solve hard --count 500
    ik bench peers --peers ours,kdl         # installs 6 GB to compare with
    ik bench solve --out benchmark          # also CSV and figures
    ik bench papers --out benchmark/papers  # the experiments of the papers, all or by name
    ik bench line_search --mocap DIR        # those that need motion capture
    ik bench solve peers --redraw --out benchmark
    ik bench papers --redraw --out benchmark/papers --page docs/papers.md
    ik bench papers --check --out benchmark/papers   # fewer goals: the verdicts on record?

In a page a table of claims stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->`; all
else is written by hand and stays. Exit codes: 0 measured, 1 a verdict is not that on record
(--check), 2 bad input.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from ik_core.cli.parser import NOT_REACHED, REACHED, Parser, add_json, examples
from ik_core.exceptions import InvalidOption
from ik_core.figures import draw_file, require_matplotlib

from . import BENCHMARKS, CHECK_COUNTS, GROUP, INSTALLING, NAMES, NEED_MOCAP, PAPERS
from .results import (
    Row,
    claim_rows,
    code_commit,
    commit_named_in,
    markdown_table,
    read_csv,
    rounded,
    table,
    write_csv,
)

MOCAP_VARIABLE = 'IK_MOCAP_DIR'  # environment variable in place of `--mocap`

CHECKOUT = Path(__file__).parents[1]

ABSENT = 'absent'  # in place of the verdict of a claim that one side does not have

BLOCK = re.compile(r'(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)', re.DOTALL)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ik bench`; return the exit code.

    Raises InvalidOption for an unknown name, a bad count, missing motion capture or page, and for
    figures without matplotlib, and OSError for a folder that can't be made.
    """
    arguments = _parser().parse_args(argv)
    mocap = arguments.mocap or os.environ.get(MOCAP_VARIABLE)
    if mocap and not Path(mocap).is_dir():
        raise InvalidOption(f'motion capture: there is no folder {mocap}')
    arguments.mocap = Path(mocap) if mocap else None
    if arguments.data and not arguments.data.is_dir():
        raise InvalidOption(f'--data: there is no folder {arguments.data}')
    names = _checked_names(arguments)
    folder, page = arguments.out, arguments.page
    if folder is None and (arguments.redraw or arguments.check or page):
        asked = '--check' if arguments.check else '--redraw'
        raise InvalidOption(f'{asked} needs --out DIR: the folder with the CSV files; --page, too')
    if page and not page.is_file():
        raise InvalidOption(f'--page: there is no file {page}')
    if arguments.check:
        wrong = [claim for name in names for claim in turned(name, arguments)]
        return NOT_REACHED if wrong else REACHED
    if folder:  # report missing packages before measuring anything
        folder.mkdir(parents=True, exist_ok=True)
        if any(hasattr(experiment(name), 'draw') for name in names):
            require_matplotlib()
    for name in names:
        if not arguments.redraw:
            _measure(name, arguments)
        elif hasattr(experiment(name), 'draw'):
            commit = commit_named_in(folder / f'{name}.csv')
            _conclude(name, recorded(name, folder), folder, commit)
    if page:
        page.write_text(filled(page.read_text(encoding='utf-8'), folder), encoding='utf-8')
    return REACHED


def experiment(name: str) -> ModuleType:
    """Return the module of an experiment."""
    return importlib.import_module(f'{__package__}{".papers" if name in PAPERS else ""}.{name}')


def recorded(name: str, folder: Path) -> list[Row]:
    """Return the rows of an experiment in its CSV file in the folder. Raises OSError."""
    return read_csv(folder / f'{name}.csv', getattr(experiment(name), 'TEXT', ()))


def filled(page: str, folder: Path) -> str:
    """Return the page with the tables of claims in the folder; missing ones are not changed."""

    def table_of(block: re.Match[str]) -> str:
        source = folder / f'{block[2]}_claims.md'
        if not source.is_file():
            return block[0]
        return f'{block[1]}{source.read_text(encoding="utf-8")}{block[3]}'

    return BLOCK.sub(table_of, page)


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, NAMES)) + 2
    listed = '\n'.join(f'    {name:<{width}}{text}' for name, text in NAMES.items())
    parser = Parser(
        prog='ik bench',
        description='Run experiments.',
        epilog=examples(f'{__doc__}\nWhat can be measured:\n\n{listed}'),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        'names',
        metavar='NAME',
        nargs='*',
        default=[name for name in BENCHMARKS if name not in INSTALLING],
        help='what to measure, see below (default: all but the papers, peers, never_hits)',
    )
    add('--count', type=int, default=2000, help='random goals per robot')
    add('--out', type=Path, metavar='DIR', help='write CSV and figures there')
    text = f'papers: the folder with motion capture (or {MOCAP_VARIABLE})'
    add('--mocap', type=Path, metavar='DIR', help=text)
    text = 'collisions: the folder with problems and robots that others publish'
    add('--data', type=Path, metavar='DIR', help=text)
    text = 'collisions: solve only; leave out the times of judging'
    add('--solve', action='store_true', help=text)
    add('--page', type=Path, metavar='FILE', help='papers: the page to put the claims in')
    add('--beside', type=Path, metavar='DIR', help='warm_solve: a checkout to compare with')
    add('--peers', metavar='NAMES', help='peers, never_hits: only these, with commas between')
    text = 'peers, never_hits: where to keep what is installed'
    add('--peers-venv', type=Path, metavar='DIR', help=text)
    add('--robots', metavar='NAMES', help='path: only these, with commas between')
    text = 'path: a line of JSON for each path; those in the file are not measured again'
    add('--log', type=Path, metavar='FILE', help=text)
    text = 'measure nothing: write claims and figures of the CSV files in --out anew'
    add('--redraw', action='store_true', help=text)
    text = 'papers: write nothing; compare verdicts from a tenth of the goals with those in --out'
    add('--check', action='store_true', help=text)
    add_json(parser)
    return parser


def _checked_names(arguments: argparse.Namespace) -> list[str]:
    """Return the given names, with the group of the papers expanded."""
    lacking = NEED_MOCAP if not (arguments.mocap or arguments.redraw) else frozenset()
    names: list[str] = []
    for name in arguments.names:
        if name not in NAMES:
            raise InvalidOption(f'unknown benchmark {name!r}; there are: {", ".join(NAMES)}')
        if name in lacking:
            raise InvalidOption(f'{name} needs motion capture: --mocap DIR or {MOCAP_VARIABLE}')
        names += [one for one in PAPERS if one not in lacking] if name == GROUP else [name]
    if arguments.count < 1:
        raise InvalidOption(f'--count {arguments.count} must be positive')
    if GROUP in arguments.names and lacking:
        print(
            f'Left out, since they need motion capture (--mocap DIR or {MOCAP_VARIABLE}): '
            f'{", ".join(sorted(lacking))}.',
            file=sys.stderr,
        )
    return names


def _measure(name: str, arguments: argparse.Namespace) -> None:
    """Run an experiment, print its claims, or else its rows, and write all results."""
    module, folder = experiment(name), arguments.out
    commit = code_commit(CHECKOUT) if name in PAPERS else ''
    rows: list[Row] = list(module.rows(arguments))
    recordable = rounded(rows)
    claims = _claims(name, recordable)
    if arguments.json:
        print(json.dumps({name: {'rows': rows, 'claims': claims} if claims else rows}))
    else:
        print(f'{name}\n{table(claims or rows)}\n')
    if not folder or not rows:
        return
    write_csv(rows, folder / f'{name}.csv', commit)
    _conclude(name, recordable, folder, commit)
    if hasattr(module, 'report'):
        module.report(rows, folder)


def _conclude(name: str, rows: Sequence[Row], folder: Path, commit: str) -> None:
    """Write the claims and the figure of these rows, measured by the code of a commit."""
    claims = _claims(name, rows)
    if claims:
        write_csv(claims, folder / f'{name}_claims.csv', commit)
        text = markdown_table(list(claims[0]), [list(row.values()) for row in claims])
        (folder / f'{name}_claims.md').write_text(f'{text}\n', encoding='utf-8')
    if hasattr(experiment(name), 'draw'):
        _draw(name, rows, folder)


def _claims(name: str, rows: Sequence[Row]) -> list[Row]:
    """Return the claims of an experiment as rows; [] if it has none."""
    module = experiment(name)
    return claim_rows(module.claims(rows), name) if hasattr(module, 'claims') else []


def turned(name: str, arguments: argparse.Namespace) -> list[str]:
    """Print and return the claims whose verdicts differ from the record, with fewer goals.

    A claim that only one side has counts, too. Those that may change with the processor are only
    printed. Raises InvalidOption for an experiment without claims on record.
    """
    module, record = experiment(name), arguments.out / f'{name}_claims.csv'
    if name not in PAPERS or not record.is_file():
        raise InvalidOption(f'--check: {name} has no {record.name} in {arguments.out}')
    fewer = argparse.Namespace(**{**vars(arguments), **CHECK_COUNTS.get(name, {})})
    found = {claim.claim: claim for claim in module.claims(rounded(module.rows(fewer)))}
    said = {row['claim']: row['verdict'] for row in read_csv(record)}
    wrong = []
    for claim in [*said, *(one for one in found if one not in said)]:
        before, now = said.get(claim, ABSENT), found.get(claim)
        if now is None or now.verdict != before:
            may = now is not None and before != ABSENT and now.timed
            ours = f'{now.verdict}: {now.ours}' if now else ABSENT
            word = 'changes with the processor' if may else 'TURNED'
            print(f'{name}: {word}: {claim}: {before} on record, now {ours}')
            wrong += [] if may else [claim]
    of = commit_named_in(record) or 'an unknown commit'
    print(f'{name}: {len(said) - len(wrong)} of {len(said)} verdicts of {of} hold')
    return wrong


def _draw(name: str, rows: Sequence[Row], folder: Path) -> None:
    for suffix in ('.svg', '.png'):
        draw_file(folder / f'{name}{suffix}', experiment(name).draw, rows)
