# SPDX-License-Identifier: Apache-2.0
"""Engines that solve the chunks of a map: this process, or the workers of a dask cluster.

Both yield the results of chunks as they finish, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ..exceptions import IkError, InvalidOption
from .cells import Cells, Chunk

CONNECT_TIMEOUT = '10s'
AHEAD = 3  # chunks queued per thread of the cluster: none idles, and few are in memory


def solve_here(cells: Cells, chunks: Iterable[int]) -> Iterator[tuple[int, Chunk]]:
    """Yield the results of chunks, solved one after the other, each on all cores."""
    for chunk in chunks:
        yield chunk, cells.solve(chunk)


def solve_on_cluster(
    cells: Cells, chunks: Iterable[int], scheduler: str
) -> Iterator[tuple[int, Chunk]]:
    """Yield the results of chunks, solved by the workers of the dask scheduler at this address.

    Workers may come and go: the chunks of a lost worker are given to another. Workers need this
    package, but no files. Raises InvalidOption without dask.distributed, and ConnectionError if
    no scheduler answers or the cluster gives up.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise InvalidOption(
            'scheduler= is the address of a dask cluster: pip install distributed first'
        ) from None
    if not re.search(r':\d+$|^inproc://', scheduler):
        raise InvalidOption(f'scheduler {scheduler!r}: an address such as tcp://10.0.0.1:8786')
    waiting = iter(chunks)
    try:
        with Client(scheduler, set_as_default=False, timeout=CONNECT_TIMEOUT) as client:
            running = as_completed(loop=client.loop, with_results=True)
            while True:
                # The limit falls if a worker is lost.
                for chunk in islice(waiting, max(0, _most(client) - running.count())):
                    running.add(client.submit(_solve, cells, chunk, pure=False))
                if running.is_empty():
                    return
                yield next(running)[1]
    except IkError:
        raise
    except Exception as error:  # of many types, with messages that do not help
        raise ConnectionError(f'dask at {scheduler}: {type(error).__name__}: {error}') from error


def _most(client: Any) -> int:
    """The number of chunks to have queued or running."""
    return AHEAD * max(1, sum(client.nthreads().values()))


def _solve(cells: Cells, chunk: int) -> tuple[int, Chunk]:
    return chunk, cells.solve(chunk)
