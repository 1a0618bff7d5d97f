"""The viewer beside a program, as a process of its own: `ik_node` never imports it."""

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

PATIENCE = 60.0
"""[s] How long it may take until it serves the page."""


class Viewer(NamedTuple):
    """A process that serves a page; the URL is '' where it can't, which it says itself."""

    process: subprocess.Popen[bytes]
    url: str


@contextmanager
def viewing(node: str = 'ik_node') -> Iterator[Viewer]:
    """The page about a node, until the context is left."""
    with running('ik_viewer.main', node, pipes=True) as process:
        yield Viewer(process, _url(process))


def _url(process: subprocess.Popen[bytes]) -> str:
    """What the viewer says that it is on; '' where it ends without, or takes too long."""
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process, said), daemon=True).start()
    try:
        return said.get(timeout=PATIENCE)
    except queue.Empty:
        print(f'no page: the viewer is not ready after {PATIENCE:g} s', file=sys.stderr)
        return ''


def _read(process: subprocess.Popen[bytes], said: queue.SimpleQueue[str]) -> None:
    """Read all that it says, so that it never waits for a reader."""
    for line in process.stdout or ():
        found = re.search(rb'https?://\S+', line)
        if found:
            said.put(found[0].decode())
    said.put('')
