# SPDX-License-Identifier: Apache-2.0
"""A progress line on stderr for long runs, if stderr is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TypeVar

T = TypeVar('T')

BAR_WIDTH = 24  # [characters] of the bar
TERMINAL_COLUMNS = 79  # of a terminal: a longer line could not be overwritten
REFRESH = 0.1  # [s] between updates, so that they take no time


_quiet: ContextVar[bool] = ContextVar('quiet', default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Context, of this thread, in which no progress is shown: work that nobody waits for."""
    before = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(before)


class ProgressLine:
    """A line that is overwritten until `end`, or the end of a `with`.

    The time left is estimated from the work done in this run.
    """

    def __init__(self, label: str, silent: bool = False) -> None:
        self.label = label
        self.silent = silent or _quiet.get() or sys.stderr is None or not sys.stderr.isatty()
        self._first: int | None = None
        self._begun = self._shown = 0.0
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def show(self, done: int, total: int, note: str = '') -> None:
        """Show the fraction done / total; `note` is appended."""
        now = time.monotonic()
        if self._first is None:
            self._first, self._begun = done, now
        elif self.silent or (done < total and 0.0 <= now - self._shown < REFRESH):
            return
        self._shown = now
        fraction = done / total if total else 1.0
        full = int(BAR_WIDTH * fraction)
        bar = f'[{"#" * full}{"." * (BAR_WIDTH - full)}] {done:,}/{total:,}'
        own = done - self._first
        left = duration((now - self._begun) * (total - done) / own) if own else '?'
        self._write(f'{self.label} {bar} {", ".join(filter(None, (note, f"{left} left")))}')

    def end(self) -> None:
        """Finish the line."""
        if self._width:
            print(file=sys.stderr)
        self._width = 0

    def _write(self, text: str) -> None:
        if not self.silent:
            text = text[:TERMINAL_COLUMNS]
            print(f'\r{text:<{self._width}}', end='', file=sys.stderr, flush=True)
            self._width = len(text)


def bar(items: Sequence[T], label: str) -> Iterator[T]:
    """Yield the items, with a progress line."""
    with ProgressLine(label) as line:
        for done, item in enumerate(items):
            line.show(done, len(items))
            yield item
        line.show(len(items), len(items))


def duration(seconds: float) -> str:
    """A duration as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    return f'{minutes // 60}:{minutes % 60:02d}:{rest:02d}'
