"""Work on many of something, shared out to threads in chunks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from .options import whole_number

Progress = Callable[[int, int], Any]
"""Is called with (done, count)."""
Work = Callable[[int, int], Any]
"""Is called with (first, last), and does first..last-1."""

SHARES = 4
"""So many chunks for each thread, so that the last one is not waited for long."""


def chunk_size(count: int, threads: int, least: int, most: int) -> int:
    """How many of `count` make a chunk: enough for all threads, but between `least` and `most`.

    A chunk is done without a look at the interpreter. With few Ctrl-C ends the work soon; of many
    its beginning and end cost less.
    """
    return min(most, max(least, -(-count // (SHARES * threads))))


def share_out(
    count: int,
    chunk: int,
    threads: int,
    worker: Callable[[int], Work],
    progress: Progress | None = None,
) -> None:
    """Do `count` things, `chunk` at a time, in this thread and in others beside it.

    worker : what worker(k) returns does chunks in thread k, which is this one for k = 0; it is
        called in this one, no more often than there are chunks
    progress : called after every chunk of this thread, in it

    What a worker or `progress` raises ends the other threads after a chunk, and is raised.
    """
    firsts = deque(range(0, count, chunk))
    workers = [worker(k) for k in range(min(threads, len(firsts)))]
    helpers = len(workers) - 1

    def left() -> Iterator[int]:
        """The chunks that no thread has taken."""
        with suppress(IndexError):
            while True:
                yield firsts.popleft()

    def work(do: Work, report: Progress | None = None) -> None:
        try:
            for first in left():
                do(first, min(first + chunk, count))
                if report is not None:
                    report(max(0, count - chunk * (len(firsts) + helpers)), count)
        finally:
            firsts.clear()  # the others end, too, where Ctrl-C or an error came

    if helpers < 1:
        for only in workers:
            work(only, progress)
        return
    with ThreadPoolExecutor(helpers) as pool:
        helping = [pool.submit(work, do) for do in workers[1:]]
        work(workers[0], progress)
        for helper in helping:
            helper.result()


def checked_threads(threads: int | None) -> int:
    """How many threads to use, None: one for each core; InvalidOption where that is no number."""
    return available_threads() if threads is None else whole_number(threads, 'threads')


def available_threads() -> int:
    """How many cores this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
