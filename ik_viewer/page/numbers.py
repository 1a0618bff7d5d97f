# SPDX-License-Identifier: Apache-2.0
"""Numbers that clients of a page send are kept within the ends of their fields.

viser takes what comes. A whole number beyond 64 bits can't be sent to any other browser, so that
from then on all of them were turned away.
"""

from __future__ import annotations

import math
from itertools import cycle
from typing import Any

from ik_core.exceptions import InvalidOption

LARGEST = 2**53
"""Whole numbers up to this one are exact in a browser."""


def keep_numbers_within_ends(server: Any) -> None:
    """Have a viser server put numbers of clients within the ends of their fields.

    Raises InvalidOption where this viser has not what it takes: it has no public way for that.
    """
    try:
        from viser._messages import GuiUpdateMessage

        fields = server.gui._gui_input_handle_from_uuid
        handlers = server.gui._websock_interface._incoming_handlers[GuiUpdateMessage]
    except (ImportError, AttributeError, KeyError):
        message = 'this viser takes any number from clients: pip install "viser~=1.1.1"'
        raise InvalidOption(message) from None

    def check(_: Any, message: Any) -> None:
        field = fields.get(message.uuid)
        if field is None or 'value' not in message.updates:
            return
        try:
            message.updates['value'] = within_ends(message.updates['value'], field._impl)
        except (TypeError, ValueError, OverflowError):
            message.updates.pop('value')

    handlers.insert(0, check)


def within_ends(value: Any, field: Any) -> Any:
    """Return the number, or the list of numbers, of a field within its ends; all else as it is.

    field : with the `value` before and `props`, which may have `min` and `max`

    Raises ValueError for what is not finite, or no number where one is needed.
    """
    before = field.value
    is_list = isinstance(before, (tuple, list))
    kept = before[0] if is_list and before else before
    if isinstance(kept, bool) or not isinstance(kept, (int, float)):
        return value
    if is_list and len(value) != len(before):
        raise ValueError(f'{len(value)} numbers instead of {len(before)}')
    ends = [_ends(getattr(field.props, name, None)) for name in ('min', 'max')]
    numbers = [_within(*one) for one in zip(value if is_list else [value], *ends, strict=False)]
    return numbers if is_list else numbers[0]


def _ends(end: Any) -> Any:
    return end if isinstance(end, (tuple, list)) else cycle([end])


def _within(value: Any, low: float | None, high: float | None) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f'{number} is not finite')
    low, high = -LARGEST if low is None else low, LARGEST if high is None else high
    return low if number < low else high if number > high else value
