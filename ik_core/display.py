# SPDX-License-Identifier: Apache-2.0
"""How `repr` and notebooks show things: numbers and names in a line, tables in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

FEW = 8
"""Up to this many numbers or names are shown; of more, those at both ends."""
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


def named(names: Iterable[str], most: int = 40) -> str:
    """Names with commas: all of them, but `most` at most, and how many more there are."""
    shown = list(names)
    more = f' and {len(shown) - most} more' if len(shown) > most else ''
    return ', '.join(shown[:most]) + more


def joined(*notes: str) -> str:
    """Notes with semicolons, without empty ones."""
    return '; '.join(filter(None, notes))


def counted(count: int, what: str) -> str:
    """'1 goal', '2 goals', '1,000 goals'."""
    return f'{count:,} {what}' if count == 1 else f'{count:,} {what}s'


def length(metres: float) -> str:
    """A length, not negative, in the unit that suits it."""
    if metres == 0.0:
        return '0 mm'
    if metres < LEAST_LENGTH:
        return f'< {1e9 * LEAST_LENGTH:g} nm'
    return _in_unit(metres, ((1e9, 'nm'), (1e6, 'um'), (1e3, 'mm')), 'm')


def angle(radians: float) -> str:
    """An angle in degrees."""
    degrees = float(np.degrees(radians))
    if 0.0 < degrees < LEAST_ANGLE:
        return f'< {LEAST_ANGLE:g} deg'
    return f'{degrees:.3g} deg'


def fixed(number: float, digits: int) -> str:
    """A number with so many decimals; where these are 0, without a sign."""
    return f'{round(number, digits) + 0.0:.{digits}f}'


def steady(number: float) -> str:
    """Three digits of a number that changes while one looks, none of which is an exponent."""
    if number >= 100.0:
        return f'{number:.0f}'
    return f'{number:.1f}' if number >= 10.0 else f'{number:.3f}'


def steady_length(metres: float) -> str:
    """A length as text in mm, from 1 m on in m: the unit does not change while it grows."""
    return f'{metres:.4g} m' if metres >= 1.0 else f'{steady(1e3 * metres)} mm'


def time(seconds: float) -> str:
    """A time in the unit that suits it."""
    return _in_unit(seconds, ((1e6, 'us'), (1e3, 'ms')), 's')


def _in_unit(value: float, units: Iterable[tuple[float, str]], largest: str) -> str:
    """A number with three digits in the first unit that needs no more, else with four in the
    largest.
    """
    for factor, unit in units:
        shown = f'{value * factor:.3g}'
        if float(shown) < 1000.0:
            return f'{shown} {unit}'
    return f'{value:.4g} {largest}'


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as notebooks show it; all text is escaped."""
    columns = ''.join(f'<th>{html.escape(name)}</th>' for name in head)
    body = ''.join(
        f'<tr>{"".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)}</tr>' for row in rows
    )
    top = f'<thead><tr>{columns}</tr></thead>' if head else ''
    return f'<table><caption>{html.escape(caption)}</caption>{top}<tbody>{body}</tbody></table>'
