# SPDX-License-Identifier: Apache-2.0
"""Output of commands: tables, numbers with units, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..display import fixed
from .parser import is_number


def quantity(value: float, unit: str) -> str:
    """A number with its unit; a dash if it is not finite."""
    return f'{fixed(value, 4)} {unit}' if math.isfinite(value) else '-'


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """A table with columns of minimal width; numbers are right-aligned, others left-aligned."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [any(map(_is_quantity, column)) for column in columns]
    return '\n'.join(
        '  '.join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )


def _is_quantity(cell: str) -> bool:
    """Return whether a cell is a number with a unit, or '< ' and one."""
    return cell[-1:].isalpha() and is_number(cell.removeprefix('< ').split()[0])


def as_json(data: Any) -> str:
    """The data as JSON; infinity and NaN, which JSON lacks, become null."""
    return json.dumps(_plain(data), indent=2, allow_nan=False)


def _plain(data: Any) -> Any:
    """Convert arrays to lists, and infinite numbers and NaN to None."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple, np.ndarray)):
        return [_plain(value) for value in data]
    if isinstance(data, float):  # numpy's included
        return float(data) if math.isfinite(data) else None
    return data
