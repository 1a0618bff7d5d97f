"""The rows of a benchmark, as text and as CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""What one line of a benchmark's table says, by column; all rows have the same columns."""


def table(rows: list[Row]) -> str:
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


def write_csv(rows: list[Row], path: Path) -> None:
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
