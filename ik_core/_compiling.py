"""What compiling the kernels takes, or loading them: told on a terminal, counted by no clock.

The first start of a version compiles for some seconds, method by method; without a sign of life
that looks like a hang.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .kernels import library

LOADING = 'ik_core:load'
COMPILED = library.WAY == 'numba'

PATIENCE = 0.5
"""[s] Of compiling that is not worth a line."""
PACKAGE = __package__
COMPILE = 'numba:compile'
"""The kind of numba's event; a kernel from the cache has none."""


class Compiling:
    """`seconds` spent so far; a line on stderr, where that is a terminal, while it goes on.

    `at_first` is called before the first kernel that is compiled, not loaded.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.at_first: Callable[[], object] | None = None
        self._depth = self._kernels = 0
        self._since = 0.0
        self._is_shown = False

    def begin(self) -> None:
        """A kernel begins to be compiled, perhaps for another one."""
        self._depth += 1
        if self._depth == 1:
            self._since = time.perf_counter()

    def not_in_the_cache(self) -> None:
        """It really is."""
        told, self.at_first = self.at_first, None
        if told is not None:
            told()

    def end(self) -> None:
        """It is compiled."""
        self._depth -= 1
        self._kernels += 1
        now = time.perf_counter() - self._since
        if self._depth == 0:
            self.seconds += now
            self._clear()
        elif self.seconds + now > PATIENCE and sys.stderr is not None and sys.stderr.isatty():
            self._show(f'{self._kernels} so far, {self.seconds + now:.0f} s')

    def _show(self, text: str) -> None:
        self._is_shown = True
        line = f'ik_core: compiling kernels, once for each version: {text}'
        print(f'\r{line:<79}', end='', file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._is_shown:
            print(f'\r{"":79}\r', end='', file=sys.stderr, flush=True)
            self._is_shown = False


compiling = Compiling()
"""Of this process."""

if COMPILED:
    from numba.core import event

    class _Listener(event.Listener):
        """Tells `compiling` of this package's kernels."""

        def on_start(self, event: Any) -> None:
            if _is_ours(event):
                compiling.begin()
                if event.kind == COMPILE:
                    compiling.not_in_the_cache()

        def on_end(self, event: Any) -> None:
            if _is_ours(event):
                compiling.end()

    def _is_ours(event: Any) -> bool:
        function = getattr(event.data['dispatcher'], 'py_func', None)
        module = getattr(function, '__module__', None) or ''  # numba 0.56 has functions of none
        return module.partition('.')[0] == PACKAGE

    for kind in (COMPILE, LOADING):
        event.register(kind, _Listener())
