# SPDX-License-Identifier: Apache-2.0
"""The viewer as a background process: `ik_node` never imports `ik_viewer`."""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .node_process import running

PATIENCE = 60.0  # [s] longest wait until the viewer serves its page


class Viewer(NamedTuple):
    """A process that serves a page at `url`; '' if it failed, which it prints itself.

    opened : set once a browser has opened the page
    """

    process: subprocess.Popen[bytes]
    url: str
    opened: threading.Event


@contextmanager
def viewing(node: str = 'ik_node') -> Iterator[Viewer]:
    """Run the viewer of a node, until the context is left."""
    with running('ik_viewer.main', node, pipes=True) as process:
        urls: queue.SimpleQueue[str] = queue.SimpleQueue()
        opened = threading.Event()
        threading.Thread(target=_read, args=(process, urls, opened), daemon=True).start()
        yield Viewer(process, _url(urls), opened)


def _url(urls: queue.SimpleQueue[str]) -> str:
    """Return the address of the page; '' if the viewer ends without one, or takes too long."""
    try:
        return urls.get(timeout=PATIENCE)
    except queue.Empty:
        print(f'no page: the viewer is not ready after {PATIENCE:g} s', file=sys.stderr)
        return ''


def _read(
    process: subprocess.Popen[bytes], urls: queue.SimpleQueue[str], opened: threading.Event
) -> None:
    """Read all lines that the viewer prints, so that it never waits for a reader."""
    for line in process.stdout or ():
        found = re.search(rb'https?://\S+', line)
        if found:
            urls.put(found[0].decode())
        if b'opened in a browser' in line:
            opened.set()
    urls.put('')
