# SPDX-License-Identifier: Apache-2.0
"""Parallel loops: work in chunks, distributed to threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Any

from .options import check_function, whole_number

Progress = Callable[[int, int], object]  # called with (done, count)
# called with (first, last) to do first..last-1: at once, or while its result is iterated over
Work = Callable[[int, int], Iterable[Any] | None]

CHUNKS_LEFT = 2  # per thread, of the remaining work: threads end at nearly the same time


def chunk_ends(count: int, threads: int, most: int, least: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of chunks: `most` at a time, fewer towards the end, down to `least`.

    Kernels solve a chunk without returning to the interpreter. With small chunks Ctrl-C ends the
    work soon; large chunks have less overhead.
    """
    first = 0
    while first < count:
        size = max(least, min(most, -(-(count - first) // (CHUNKS_LEFT * threads))))
        yield first, min(first + size, count)
        first += size


def parallel_for(
    count: int,
    chunk: int,
    threads: int,
    worker: Callable[[int], Work],
    progress: Progress | None = None,
    *,
    least: int | None = None,
) -> None:
    """Process the items 0..count-1 in chunks, in this thread and in others.

    chunk : largest number of items in a chunk
    least : smallest number of items in a chunk, as chunks shrink towards the end; by default all
        chunks have `chunk` items
    worker : worker(k) is called once in each thread k and returns the function that processes the
        chunks of that thread. Thread 0 is this thread. There are no more threads than chunks
    progress : called in this thread after each of its chunks

    If a worker, its function or `progress` raises, the other threads stop after their present
    chunk, or where its function yields next. Then the exception is raised again.
    """
    chunks = deque(chunk_ends(count, threads, chunk, chunk if least is None else least))
    helpers = min(threads, len(chunks)) - 1
    stopped = Event()

    def stop() -> None:
        stopped.set()
        chunks.clear()

    def left() -> Iterator[tuple[int, int]]:
        """The chunks that no thread has started."""
        with suppress(IndexError):
            while True:
                yield chunks.popleft()

    def begun() -> int:
        """The number of items in chunks that have started."""
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
            stop()  # the other threads, too
            raise

    if helpers < 1:
        for only in range(helpers + 1):
            work(only, progress)
        return
    _run_alongside(helpers, work, partial(work, 0, progress), stop)


def check_progress(progress: Progress | None) -> None:
    """Raise InvalidOption if `progress` is not callable, before anything is solved."""
    check_function(progress, 'progress', '(done, count)')


def _run_alongside(
    helpers: int,
    helper: Callable[[int], Any],
    own: Callable[[], Any],
    stop: Callable[[], Any],
) -> None:
    """Call `own` in this thread, and helper(k) in other threads k = 1..helpers.

    Exceptions are raised once all threads have ended, that of this thread first, after `stop` has
    made the others end. A thread pool does the same, but takes several times as long to start and
    to end.
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
        stop()  # also if not all threads could be started
        raise
    finally:
        for thread in begun:  # also if Ctrl-C came while waiting for them
            thread.join()
    if raised:
        raise raised[0]


def rising(progress: Progress | None) -> Progress | None:
    """Wrap a progress function: call it only with more than before."""
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
    """The number of threads, for None that of the cores; raises InvalidOption."""
    return available_threads() if threads is None else whole_number(threads, 'threads')


def available_threads() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
