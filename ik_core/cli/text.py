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
    """A number with its unit, or a dash where there is none."""
    return f'{fixed(value, 4)} {unit}' if math.isfinite(value) else '-'


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns of the width they need; numbers to the right, all else to the left."""
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
    """Whether it is a number with a unit, or one that it is less than."""
    return cell[-1:].isalpha() and is_number(cell.removeprefix('< ').split()[0])


def as_json(data: Any) -> str:
    """The data as JSON, which has no infinity and no NaN: null stands for both."""
    return json.dumps(_plain(data), indent=2, allow_nan=False)


def _plain(data: Any) -> Any:
    """`data` with what JSON has: lists for arrays, null for 'no limit'."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple, np.ndarray)):
        return [_plain(value) for value in data]
    if isinstance(data, float):  # numpy's included
        return float(data) if math.isfinite(data) else None
    return data
