# SPDX-License-Identifier: Apache-2.0
"""The rows and claims of an experiment, as text, CSV and Markdown."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]  # one line of a table by column; all rows have the same columns


class Claim(NamedTuple):
    """A claim in words, with the figure or section that makes it; both sides; whether it holds.

    `range` : the parameter that was swept, and the values that the source allows; '' if none was
    `partly` : whether the claim holds for some of these values; `holds`: for all of them
    `timed` : whether the verdict may change with the processor's speed
    """

    claim: str
    theirs: str
    ours: str
    holds: bool
    range: str = ''
    partly: bool = False
    timed: bool = False

    @property
    def verdict(self) -> str:
        """'yes', 'partly' or 'no'."""
        return 'yes' if self.holds else 'partly' if self.partly else 'no'


TIMED = 'may change with the processor'  # in the range of claims that are `timed`


def claim_rows(claims: Iterable[Claim], name: str) -> list[Row]:
    """The claims of the experiment `name` as rows, in their order."""
    return [
        {
            'claim': claim.claim,
            'theirs': claim.theirs,
            'ours': claim.ours,
            'verdict': claim.verdict,
            'range': '; '.join(filter(None, (claim.range, TIMED if claim.timed else ''))),
            'command': f'`ik bench {name}`',
        }
        for claim in claims
    ]


def swept(
    claim: str, theirs: str, ours: str, values: Sequence[float], held: Sequence[bool], of: str
) -> Claim:
    """A claim judged at every value of a parameter, in ascending order.

    ours : what was measured; the values at which the claim holds are added, if not all or none
    of : the parameter and its range, as 'threshold 1e-06 to 0.1'
    """
    partly = any(held) and not all(held)
    if partly:
        ours = f'{ours}; holds at {intervals(values, held)}'
    return Claim(claim, theirs, ours, all(held), of, partly)


def intervals(values: Sequence[float], held: Sequence[bool]) -> str:
    """The runs of values at which something holds, as '0.03 to 0.05, 1'."""
    runs: list[list[float]] = []
    before = False
    for value, now in zip(values, held, strict=True):
        if now and before:
            runs[-1].append(value)
        elif now:
            runs.append([value])
        before = now
    return ', '.join(f'{r[0]:g}' if len(r) == 1 else f'{r[0]:g} to {r[-1]:g}' for r in runs)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The p of values = c sizes^p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    if not rows:
        return '(nothing to measure here)'
    head = list(rows[0])
    cells = [head, *([_text(row[key]) for key in head] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    return '\n'.join(
        '  '.join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in cells
    )


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    first, *others = (
        '| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |'
        for cells in (head, *lines)
    )
    return '\n'.join([first, '|---' * len(head) + '|', *others])


def write_csv(rows: Sequence[Row], path: Path, commit: str = '') -> None:
    """Write the rows as CSV, below a line that names the commit of the code, if one is given."""
    with path.open('w', newline='', encoding='utf-8') as file:
        if commit:
            file.write(f'{COMMIT}{commit}\n')
        writer = csv.DictWriter(file, list(rows[0]), lineterminator='\n')
        writer.writeheader()
        writer.writerows({key: _text(value) for key, value in row.items()} for row in rows)


def read_csv(path: Path) -> list[Row]:
    """The rows in a CSV file, numbers as numbers. Raises OSError."""
    with path.open(encoding='utf-8', newline='') as file:
        rows = csv.DictReader(without_comments(file))
        return [{key: _value(text) for key, text in row.items()} for row in rows]


def without_comments(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a CSV file but those that begin with #."""
    return (line for line in lines if not line.startswith('#'))


# The first line of a CSV file begins so, if it names the commit of the code that made it.
COMMIT = '# commit '
SOURCES = ('*.py', '*.urdf')  # files that results depend on


def commit_named_in(path: Path) -> str:
    """The commit that a CSV file names, or ''. Raises OSError."""
    with path.open(encoding='utf-8') as file:
        first = file.readline()
    return first.removeprefix(COMMIT).strip() if first.startswith(COMMIT) else ''


def code_commit(folder: Path) -> str:
    """The commit of a checkout, with a + if sources differ from it; 'unknown' without git."""

    def git(*command: str) -> str:
        found = ['git', '-C', str(folder), *command]
        return subprocess.run(found, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git('status', '--porcelain', '--', *SOURCES)
        return git('rev-parse', '--short=10', 'HEAD') + ('+' if changed else '')
    except (OSError, subprocess.CalledProcessError):
        return 'unknown'


def _value(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _text(value: Any) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)
