"""The rows and claims of an experiment, as text, CSV and Markdown."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]
"""One line of a table by column; all rows have the same columns."""


class Claim(NamedTuple):
    """A claim in words, with the figure or section that makes it; both sides; whether it holds."""

    claim: str
    theirs: str
    ours: str
    holds: bool


def claim_rows(claims: Iterable[Claim]) -> list[Row]:
    """The claims as rows, in their order."""
    return [{**claim._asdict(), 'holds': 'yes' if claim.holds else 'no'} for claim in claims]


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


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as CSV."""
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator='\n')
        writer.writeheader()
        writer.writerows({key: _text(value) for key, value in row.items()} for row in rows)


def read_csv(path: Path) -> list[Row]:
    """The rows in a CSV file, numbers as numbers. Raises OSError."""
    with path.open(encoding='utf-8', newline='') as file:
        rows = csv.DictReader(file)
        return [{key: _value(text) for key, text in row.items()} for row in rows]


def _value(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _text(value: Any) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)
