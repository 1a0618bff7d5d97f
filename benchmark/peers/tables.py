# SPDX-License-Identifier: Apache-2.0
"""The tables of benchmark/README.md, between two marks, from the rows."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..results import Row, markdown_table
from .catalog import OURS
from .problems import NEAR
from .scores import ALL, TOLERANCES, column

BEGIN, END = '<!-- ik bench peers: begin -->', '<!-- ik bench peers: end -->'
TIGHT = column(TOLERANCES[0])


def report(rows: list[Row], folder: Path) -> None:
    """Put the tables between the marks of README.md in the folder; without marks, in peers.md."""
    readme, block = folder / 'README.md', f'{BEGIN}\n{markdown(rows)}\n{END}'
    text = readme.read_text(encoding='utf-8') if readme.is_file() else ''
    if BEGIN in text and END in text:
        before, after = text.split(BEGIN)[0], text.split(END, 1)[1]
        readme.write_text(f'{before}{block}{after}', encoding='utf-8')
    else:
        (folder / 'peers.md').write_text(block + '\n', encoding='utf-8')


def markdown(rows: Sequence[Row]) -> str:
    """All tables, as text."""
    overall = [row for row in rows if row['arm'] == ALL and row['goals']]
    parts = [f'Measured on {datetime.date.today()}: {machine()}.']
    if any(row['peer'] == OURS for row in overall):
        parts.append('`ratio`: the time to that of `ours` on the same arms in the same run.')
    for kind, title in (
        ('random', 'Random reachable goals from random starts, over all arms'),
        ('near', f'The same goals from starts within {NEAR:g} rad of a solution, over all arms'),
    ):
        own = sorted((r for r in overall if r['set'] == kind), key=_rank)
        parts += [f'{title}:', _summary(own)]
    parts += ['Each arm: goals reached to 1e-6 [%] / mean / p99 [ms], random starts:', _arms(rows)]
    parts += ['Settings:', _settings(overall)]
    missing = [f'- {r["peer"]}: {_where(r)}{r["note"]}' for r in rows if _is_remark(r)]
    if missing:
        parts += ['Not measured, or not without errors:', '\n'.join(dict.fromkeys(missing))]
    return '\n\n'.join(parts)


def machine() -> str:
    """Cores, processor, system and Python of this machine."""
    model = platform.processor()
    cpuinfo = Path('/proc/cpuinfo')
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding='utf-8').splitlines()
        names = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
        model = (names or [model])[0]
    return f'{os.cpu_count()} cores of {model}, {platform.system()}, Python {_python()}'


def _python() -> str:
    return '.'.join(platform.python_version_tuple()[:2])


def _rank(row: Row) -> tuple[bool, float]:
    """Peers by mean time, those that ran on all arms first."""
    return row['note'] != '9 arms', row['mean_ms']


def _summary(rows: Iterable[Row]) -> str:
    head = ['peer', 'arms', 'goals', *(f'{t:.0e}'.replace('e-0', 'e-') for t in TOLERANCES)]
    head = [*head[:3], *(f'at {text} [%]' for text in head[3:])]
    head += ['mean [ms]', 'median [ms]', 'p99 [ms]', 'ratio of means', 'ratio of p99']
    lines = [
        [
            row['peer'],
            row['note'].removesuffix(' arms'),
            str(row['goals']),
            *(_percent(row[column(t)]) for t in TOLERANCES),
            *(_time(row[key]) for key in ('mean_ms', 'median_ms', 'p99_ms')),
            *(_time(row[key], 3) for key in ('mean_to_ours', 'p99_to_ours')),
        ]
        for row in rows
    ]
    return markdown_table(head, lines)


def _arms(rows: Sequence[Row]) -> str:
    own = [row for row in rows if row['set'] == 'random' and row['arm'] != ALL and row['goals']]
    arms = list(dict.fromkeys(row['arm'] for row in own))
    cells = {
        (row['peer'], row['arm']): f'{_percent(row[TIGHT])} / {_time(row["mean_ms"], 3)} / '
        f'{_time(row["p99_ms"], 3)}'
        for row in own
    }
    peers = dict.fromkeys(row['peer'] for row in own)
    return markdown_table(
        ['peer', *arms], [[p, *(cells.get((p, arm), '-') for arm in arms)] for p in peers]
    )


def _settings(rows: Sequence[Row]) -> str:
    lines = {r['peer']: [r['peer'], r['version'], r['settings']] for r in rows}
    return markdown_table(['peer', 'version', 'settings'], list(lines.values()))


def _is_remark(row: Row) -> bool:
    return bool(row['note']) and not (row['arm'] == ALL and row['goals'])


def _where(row: Row) -> str:
    return '' if row['arm'] == ALL else f'{row["arm"]}: '


def _percent(value: float) -> str:
    return f'{value:.4g}'


def _time(value: float | str, digits: int = 4) -> str:
    return value if isinstance(value, str) else f'{value:.{digits}g}'
