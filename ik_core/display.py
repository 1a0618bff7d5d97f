# SPDX-License-Identifier: Apache-2.0
"""Text for `repr` and notebooks: numbers and names in a line, tables in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

LONGEST_LIST = 8  # of more numbers or names only those at both ends are shown
LEAST_LENGTH = 1e-10  # [m] smaller lengths are rounding
LEAST_ANGLE = 1e-10  # [deg] smaller angles are rounding


def numbers(values: ArrayLike) -> str:
    """Numbers in brackets, with four digits: '[0.4, 0, 0.5]'; a single number without brackets."""
    array = np.asarray(values, float)
    if array.ndim == 0:
        return f'{float(array):.4g}'
    if array.ndim > 1:
        return f'{" by ".join(map(str, array.shape))} numbers'
    return f'[{listed(f"{value:.4g}" for value in array)}]'


def listed(names: Iterable[str]) -> str:
    """Names with commas; of more than LONGEST_LIST, the first ones and the last."""
    shown = list(names)
    if len(shown) > LONGEST_LIST:
        shown = [*shown[:3], '...', shown[-1]]
    return ', '.join(shown)


def named(names: Iterable[str], most: int = 40) -> str:
    """Names with commas, at most `most`, and the number of the others."""
    shown = list(names)
    more = f' and {len(shown) - most} more' if len(shown) > most else ''
    return ', '.join(shown[:most]) + more


def joined(*notes: str) -> str:
    """Join notes with semicolons, without empty ones."""
    return '; '.join(filter(None, notes))


def counted(count: int, what: str) -> str:
    """A count with its noun: '1 goal', '2 goals', '1,000 goals'."""
    return f'{count:,} {what}' if count == 1 else f'{count:,} {what}s'


def length(metres: float) -> str:
    """A length, not negative, with four digits or fewer, in nm, um, mm or m."""
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
    """A number with `digits` decimals, without a sign if all are 0."""
    return f'{round(number, digits) + 0.0:.{digits}f}'


def steady(number: float) -> str:
    """Three digits of a number for a live display, without an exponent."""
    if number >= 100.0:
        return f'{number:.0f}'
    return f'{number:.1f}' if number >= 10.0 else f'{number:.3f}'


def steady_length(metres: float) -> str:
    """A length in mm, from 1 m on in m, for a live display."""
    return f'{metres:.4g} m' if metres >= 1.0 else f'{steady(1e3 * metres)} mm'


def time(seconds: float) -> str:
    """A time in us, ms or s."""
    return _in_unit(seconds, ((1e6, 'us'), (1e3, 'ms')), 's')


def _in_unit(value: float, units: Iterable[tuple[float, str]], largest: str) -> str:
    """A number with three digits in the first unit in which it is below 1000, else with four in
    the largest unit.
    """
    for factor, unit in units:
        shown = f'{value * factor:.3g}'
        if float(shown) < 1000.0:
            return f'{shown} {unit}'
    return f'{value:.4g} {largest}'


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table for notebooks; all text is escaped."""
    columns = ''.join(f'<th>{html.escape(name)}</th>' for name in head)
    body = ''.join(
        f'<tr>{"".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)}</tr>' for row in rows
    )
    top = f'<thead><tr>{columns}</tr></thead>' if head else ''
    return f'<table><caption>{html.escape(caption)}</caption>{top}<tbody>{body}</tbody></table>'
