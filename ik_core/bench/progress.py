"""A bar on stderr that says how far a long run is, where stderr is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar('T')

WIDTH = 30
"""Of the bar, in characters."""


def bar(items: Sequence[T], label: str) -> Iterator[T]:
    """The items one by one, and behind them a bar that grows."""
    if not sys.stderr.isatty():
        yield from items
        return
    begun = time.monotonic()
    for done, item in enumerate(items):
        _show(label, done, len(items), time.monotonic() - begun)
        yield item
    _show(label, len(items), len(items), time.monotonic() - begun)
    print(file=sys.stderr)


def _show(label: str, done: int, total: int, seconds: float) -> None:
    full = WIDTH * done // max(total, 1)
    left = f'{seconds * (total - done) / done:.0f} s left' if done else ''
    text = f'{label} [{"#" * full}{"." * (WIDTH - full)}] {done}/{total} {left}'
    print(f'\r{text:<79}', end='', file=sys.stderr, flush=True)
