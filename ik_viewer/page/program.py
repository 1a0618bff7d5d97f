# SPDX-License-Identifier: Apache-2.0
"""Parts shared by the programs that show a page: their arguments, and how they end."""

from __future__ import annotations

import argparse
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from .server import HOST, PORT, stop_server, url_of

BAD_INPUT, INTERRUPTED = 2, 130  # Exit codes
SIGNALS = signal.SIGINT, signal.SIGTERM
POLL_PERIOD = 0.1


def add_address(parser: argparse.ArgumentParser) -> None:
    """Add --host and --port."""
    parser.add_argument('--host', default=HOST, help=f'address to listen on ({HOST})')
    parser.add_argument(
        '--port',
        type=int,
        default=None,
        help=f'port of the page (default: the first free one from {PORT})',
    )


def add_mesh_folders(parser: argparse.ArgumentParser) -> None:
    """Add --mesh-folder, a list of paths `mesh_folder`."""
    parser.add_argument(
        '--mesh-folder',
        action='append',
        default=[],
        type=Path,
        metavar='DIR',
        help='folder with meshes: a package, or a folder of packages; may be repeated',
    )


def ended_by_signals() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set from now on; call it in the main thread."""
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        for other in SIGNALS:  # one that came now would wait for a lock that this one holds
            signal.signal(other, lambda *_: None)
        ended.set()

    for number in SIGNALS:
        signal.signal(number, end)
    return ended


def show_until(ended: threading.Event, page: Any, name: str) -> None:
    """Print a page's address, and when browsers open it; at the end close its server."""
    print(f'{name} is on {url_of(page.server)} (Ctrl-C ends)', flush=True)
    before = 0
    while not ended.is_set():  # to wait takes its lock, and a signal that finds it taken hangs
        browsers = len(page.server.get_clients())
        if browsers > before:
            print(f'{name}: opened in a browser', flush=True)
        before = browsers
        time.sleep(POLL_PERIOD)
    page.close()
    stop_server(page.server)
