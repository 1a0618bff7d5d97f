"""How `repr` and notebooks show things: numbers and names in a line, tables in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

FEW = 8
"""So many numbers or names are shown all; of more, those at both ends."""
LEAST_LENGTH = 1e-10
"""[m] Lengths and"""
LEAST_ANGLE = 1e-10
"""[deg] angles below these are rounding, whose digits say nothing."""


def numbers(values: ArrayLike) -> str:
    """Numbers in brackets, with four digits: '[0.4, 0, 0.5]'; a single one without."""
    array = np.asarray(values, float)
    if array.ndim == 0:
        return f'{float(array):.4g}'
    if array.ndim > 1:
        return f'{" by ".join(map(str, array.shape))} numbers'
    return f'[{listed(f"{value:.4g}" for value in array)}]'


def listed(names: Iterable[str]) -> str:
    """Names with commas: all of a few, else the first ones and the last."""
    shown = list(names)
    if len(shown) > FEW:
        shown = [*shown[:3], '...', shown[-1]]
    return ', '.join(shown)


def counted(count: int, what: str) -> str:
    """'1 goal', '2 goals', '1,000 goals'."""
    return f'{count:,} {what}' if count == 1 else f'{count:,} {what}s'


def length(metres: float) -> str:
    """A small length with the unit that suits it."""
    for factor, unit in ((1.0, 'm'), (1e3, 'mm'), (1e6, 'um')):
        if metres * factor >= 1.0:
            return f'{metres * factor:.3g} {unit}'
    if 0.0 < metres < LEAST_LENGTH:
        return f'< {1e9 * LEAST_LENGTH:g} nm'
    return f'{metres * 1e9:.3g} nm' if metres else '0 mm'


def angle(radians: float) -> str:
    """An angle in degrees."""
    degrees = float(np.degrees(radians))
    return f'< {LEAST_ANGLE:g} deg' if 0.0 < degrees < LEAST_ANGLE else f'{degrees:.3g} deg'


def time(seconds: float) -> str:
    """A time with the unit that suits it."""
    for factor, unit in ((1.0, 's'), (1e3, 'ms')):
        if seconds * factor >= 1.0:
            return f'{seconds * factor:.3g} {unit}'
    return f'{seconds * 1e6:.3g} us'


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as notebooks show it; all text is escaped."""
    columns = ''.join(f'<th>{html.escape(name)}</th>' for name in head)
    body = ''.join(
        f'<tr>{"".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)}</tr>' for row in rows
    )
    top = f'<thead><tr>{columns}</tr></thead>' if head else ''
    return f'<table><caption>{html.escape(caption)}</caption>{top}<tbody>{body}</tbody></table>'
