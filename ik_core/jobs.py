# SPDX-License-Identifier: Apache-2.0
"""Slow calls in background threads."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar('T')


class Job(Generic[T]):
    """A call in a background thread, which ends with a result or an exception.

    The process does not wait for it when it ends, since the call can't be interrupted.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: T
        self._error: BaseException | None = None
        self._done = threading.Event()
        # `Thread.start` waits until the thread runs: on a busy machine longer than a tick
        _thread.start_new_thread(self._run, ())

    @property
    def done(self) -> bool:
        """True if there is a result, or an exception."""
        return self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for at most this time [s]; return whether the job is done."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """The result of a job that is done; raises the exception of the call."""
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # raised by `result`
            self._error = error
        self._done.set()
