# SPDX-License-Identifier: Apache-2.0
"""Limits for numbers that clients of a page send: those of their fields.

viser accepts any number. After an integer beyond 64 bits it can't send its state to any other
browser, and rejects all of them.
"""

from __future__ import annotations

import math
from itertools import cycle
from typing import Any

from ik_core.exceptions import InvalidOption

LARGEST = 2**53  # Whole numbers up to this one are exact in a browser


def keep_numbers_within_ends(server: Any) -> None:
    """Make a viser server clamp numbers from clients to the limits of their fields.

    Raises InvalidOption for a version of viser without the private attributes that this needs:
    viser has no public way.
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
    """Clamp a number, or a list of numbers, to the limits of its field; return other values
    unchanged.

    field : has the previous `value`, and `props`, which may have `min` and `max`

    Raises ValueError for numbers that are not finite, and TypeError or ValueError for a value that
    is no number although one is needed.
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
