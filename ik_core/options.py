# SPDX-License-Identifier: Apache-2.0
"""Options: frozen dataclasses whose fields have a meaning, a unit and bounds.

The constructor, the command line and the node's parameters use this metadata to show and to check
options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .exceptions import InvalidOption


def option(
    default: Any,
    doc: str,
    *,
    unit: str = '',
    bounds: tuple[float, float] = (-math.inf, math.inf),
    choices: Sequence[str] = (),
    static: bool = False,
) -> Any:
    """A field of an OptionSet with its metadata.

    doc : meaning
    bounds : inclusive, for numbers
    choices : allowed texts; () allows any
    static : True if the value can't change while the program runs
    """
    metadata = {
        'doc': doc,
        'unit': unit,
        'bounds': bounds,
        'choices': tuple(choices),
        'static': static,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class OptionSet:
    """Base of all options: checks every field on construction and raises InvalidOption."""

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, check_option(f, getattr(self, f.name)))


def check_option(f: Any, value: Any) -> Any:
    """Return `value` in the type of the field's default; raises InvalidOption."""
    kind = type(f.default)
    unit = f' [{f.metadata["unit"]}]' if f.metadata['unit'] else ''
    if kind is str:
        choices = f.metadata['choices']
        if not isinstance(value, str) or (choices and value not in choices):
            expected = f'one of {", ".join(choices)}' if choices else 'text'
            raise InvalidOption(f'{f.name} = {value!r}: {expected}')
        return value
    if kind is bool:
        if not isinstance(value, bool):
            raise InvalidOption(f'{f.name} = {value!r}: true or false')
        return value
    number = exact_number(value, kind)
    if number is None:
        noun = 'a whole number' if kind is int else 'a number'
        raise InvalidOption(f'{f.name} = {value!r}: {noun}{unit} is needed')
    low, high = f.metadata['bounds']
    if not low <= number <= high:
        raise InvalidOption(f'{f.name} = {value!r}{unit}: must be within [{low:g}, {high:g}]')
    return number


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return `value` as an int of at least `least`; raises InvalidOption."""
    number = exact_number(value, int)
    if number is None or number < least:
        raise InvalidOption(f'{name} = {value!r}: a whole number >= {least} is needed')
    return int(number)


def check_function(value: Any, name: str, of: str) -> None:
    """Raise InvalidOption if an optional function can't be called."""
    if not (value is None or callable(value)):
        raise InvalidOption(f'{name} = {value!r}: a function of {of} is needed, or None')


def measured(function: Callable[[Any], Any], name: str) -> Callable[[Any], float]:
    """Wrap a function of q: the wrapper raises InvalidOption for results that are not numbers."""

    def measure(q: Any) -> float:
        value = function(q)
        number = exact_number(value, float)
        if number is None or math.isnan(number):
            raise InvalidOption(
                f'{name}(q) = {value!r}: a number is needed, the least for the best q, inf for '
                'one that is not to be chosen'
            )
        return float(number)

    return measure


def exact_number(value: Any, kind: type[int] | type[float]) -> Any:
    """`value` as an int or a float if it is exactly one; else None, also for bool and text."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)):
        return None
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if kind is float or number == value else None
