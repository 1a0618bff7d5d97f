# SPDX-License-Identifier: Apache-2.0
"""Work on many of something, shared out to threads in chunks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Any

from .options import check_function, whole_number

Progress = Callable[[int, int], object]
"""Is called with (done, count)."""
Work = Callable[[int, int], Iterable[Any] | None]
"""Is called with (first, last), and does first..last-1: at once, or while what it returns is
iterated over."""

SHARES = 2
"""A chunk is half of what each thread has left: the last one is not waited for long."""


def chunk_ends(count: int, threads: int, most: int, least: int) -> Iterator[tuple[int, int]]:
    """(first, last) of the chunks: `most` at a time, towards the end fewer, down to `least`.

    Kernels solve a chunk without returning to the interpreter. In small chunks Ctrl-C ends the
    work soon; in large ones their beginnings and ends cost less.
    """
    first = 0
    while first < count:
        size = max(least, min(most, -(-(count - first) // (SHARES * threads))))
        yield first, min(first + size, count)
        first += size


def share_out(
    count: int,
    chunk: int,
    threads: int,
    worker: Callable[[int], Work],
    progress: Progress | None = None,
    *,
    least: int | None = None,
) -> None:
    """Do `count` things, `chunk` at a time, in this thread and in others beside it.

    least : towards the end fewer at a time, down to so many; by default always `chunk`
    worker : what worker(k) returns does chunks in thread k, which is this one for k = 0; it is
        called in that thread, once, for no more threads than there are chunks
    progress : called after every chunk of this thread, in it

    An exception of a worker or of `progress` ends the other threads, after a chunk or wherever a
    chunk that is iterated over yields, and is raised again.
    """
    chunks = deque(chunk_ends(count, threads, chunk, chunk if least is None else least))
    helpers = min(threads, len(chunks)) - 1
    stopped = Event()

    def stop() -> None:
        stopped.set()
        chunks.clear()

    def left() -> Iterator[tuple[int, int]]:
        """The chunks that no thread has taken."""
        with suppress(IndexError):
            while True:
                yield chunks.popleft()

    def begun() -> int:
        """How many of the things threads have taken."""
        with suppress(IndexError):
            return chunks[0][0]
        return count

    def work(k: int, report: Progress | None = None) -> None:
        try:
            do = worker(k)
            for first, last in left():
                for _ in do(first, last) or ():
                    if stopped.is_set():
                        return
                if report is not None:
                    report(max(0, begun() - chunk * helpers), count)
        except BaseException:
            stop()  # the others, too
            raise

    if helpers < 1:
        for only in range(helpers + 1):
            work(only, progress)
        return
    _run_alongside(helpers, work, partial(work, 0, progress), stop)


def check_progress(progress: Progress | None) -> None:
    """InvalidOption where it is none: before anything is solved."""
    check_function(progress, 'progress', '(done, count)')


def _run_alongside(
    helpers: int,
    helper: Callable[[int], Any],
    own: Callable[[], Any],
    stop: Callable[[], Any],
) -> None:
    """Do `own` in this thread, and helper(k) in threads k = 1..helpers beside it.

    What one of them raises is raised once all have ended, that of this thread first; where it is
    this thread, `stop` has told the others to. A pool does the same, but takes several times as
    long to begin and to end.
    """
    raised: list[BaseException] = []

    def work(k: int) -> None:
        try:
            helper(k)
        except BaseException as error:
            raised.append(error)

    threads = [Thread(target=work, args=(k,)) for k in range(1, helpers + 1)]
    begun = []
    try:
        for thread in threads:
            thread.start()
            begun.append(thread)
        own()
        for thread in begun:
            thread.join()
    except BaseException:
        stop()  # also where not all could be started, before `own` began
        raise
    finally:
        for thread in begun:  # where Ctrl-C came, too, also while waiting for them
            thread.join()
    if raised:
        raise raised[0]


def rising(progress: Progress | None) -> Progress | None:
    """Report progress only if it is more than was reported before."""
    check_progress(progress)
    if progress is None:
        return None
    most = -1

    def report(done: int, count: int) -> None:
        nonlocal most
        if done > most:
            most = done
            progress(done, count)

    return report


def checked_threads(threads: int | None) -> int:
    """How many threads to use, None: one for each core; InvalidOption where that is no number."""
    return available_threads() if threads is None else whole_number(threads, 'threads')


def available_threads() -> int:
    """How many cores this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
