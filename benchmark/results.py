# SPDX-License-Identifier: Apache-2.0
"""The rows and claims of an experiment, as text, CSV and Markdown."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]  # one line of a table by column; all rows have the same columns


class Claim(NamedTuple):
    """A claim of a source, the values at which it is checked, and its verdict.

    claim : the claim in words, with its figure or section
    theirs, ours : the values of the source and of our measurement
    range : the cases: the parameters that the source leaves open, and their values
    criterion : the rule by which the claim holds in a case; one that decides little says `weak`
    held : whether the claim holds, for each case; () if no measurement can decide it
    timed : whether the verdict may change with the processor's speed
    """

    claim: str
    theirs: str
    ours: str
    range: str
    criterion: str
    held: Sequence[bool]
    timed: bool = False

    @property
    def verdict(self) -> str:
        """Return 'yes' if the claim holds in all cases, 'partly' in some, 'no', or 'none'."""
        if not self.held:
            return 'none'
        return 'yes' if all(self.held) else 'partly' if any(self.held) else 'no'


TIMED = 'may change with the processor'  # appended to the criterion of claims that are `timed`


def claim_rows(claims: Iterable[Claim], name: str) -> list[Row]:
    """Return the claims of the experiment `name` as rows, in their order."""
    return [
        {
            'claim': claim.claim,
            'theirs': claim.theirs,
            'ours': claim.ours,
            'verdict': claim.verdict,
            'range': claim.range,
            'criterion': f'{claim.criterion}; {TIMED}' if claim.timed else claim.criterion,
            'command': f'`ik bench {name}`',
        }
        for claim in claims
    ]


def swept(
    claim: str, theirs: str, ours: str, range: str, criterion: str, held: Mapping[float, bool]
) -> Claim:
    """Return a claim that was checked at the values of a parameter, in ascending order.

    ours : the measurement; values at which the claim holds are added, if not all or none
    """
    at = tuple(held.values())
    if any(at) and not all(at):
        ours = f'{ours}; holds at {intervals(tuple(held), at)}'
    return Claim(claim, theirs, ours, range, criterion, at)


def intervals(values: Sequence[float], held: Sequence[bool]) -> str:
    """Return the runs of consecutive values for which `held` is true, as '0.03 to 0.05, 1'."""
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
    """Return p of values = c sizes^p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def table(rows: Sequence[Row]) -> str:
    """Return the rows as aligned text."""
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
    """Return a table in Markdown."""
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


def read_csv(path: Path, text: Collection[str] = ()) -> list[Row]:
    """Return the rows of a CSV file, with numbers converted. Raises OSError.

    text : columns that are never numbers, even if they look like some
    """
    with path.open(encoding='utf-8', newline='') as file:
        rows = csv.DictReader(without_comments(file))
        return [{k: v if k in text else _value(v) for k, v in row.items()} for row in rows]


def rounded(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with their numbers as precise as in a CSV file."""
    return [
        {key: float(_text(v)) if isinstance(v, float) else v for key, v in row.items()}
        for row in rows
    ]


def without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of a CSV file without those that begin with #."""
    return (line for line in lines if not line.startswith('#'))


# A first line of a CSV file with this prefix names the commit of the code that made it.
COMMIT = '# commit '
SOURCES = ('*.py', '*.urdf')  # files that results depend on


def commit_named_in(path: Path) -> str:
    """Return the commit named in a CSV file, or ''. Raises OSError."""
    with path.open(encoding='utf-8') as file:
        first = file.readline()
    return first.removeprefix(COMMIT).strip() if first.startswith(COMMIT) else ''


def code_commit(folder: Path) -> str:
    """Return the commit of a checkout, with a + for changed sources; 'unknown' without git."""

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
