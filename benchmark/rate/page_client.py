# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmark.rate.page_client URL [SECONDS]`: reads a page of viser as a browser does.

It takes all messages and draws none, so it loads the server as a browser on another machine does.
For so many seconds, once it has the scene, it counts: it prints frames and kilobytes in a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# First message of a browser: from then on it counts as one
CAMERA = {
    'type': 'ViewerCameraMessage',
    'wxyz': (1.0, 0.0, 0.0, 0.0),
    'position': (2.0, -2.0, 1.0),
    'fov': 0.8,
    'near': 0.01,
    'far': 100.0,
    'image_height': 720,
    'image_width': 1280,
    'look_at': (0.0, 0.0, 0.0),
    'up_direction': (0.0, 0.0, 1.0),
}
SCENE = 3.0  # [s] In which the scene itself is sent


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection to the page at a URL. Raises ModuleNotFoundError without viser."""
    import msgspec.msgpack
    import viser
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    address = url.replace('http', 'ws', 1)
    version = Subprotocol(f'viser-v{viser.__version__}')
    with connect(address, subprotocols=[version], max_size=None) as connection:
        connection.send(msgspec.msgpack.encode(CAMERA))
        yield connection


def counted(connection: Any, seconds: float) -> tuple[float, float]:
    """Messages and kilobytes in a second, over so many seconds [s]."""
    count, size, begin = 0, 0, time.monotonic()
    while time.monotonic() - begin < seconds:
        size += len(connection.recv())
        count += 1
    return count / (time.monotonic() - begin), size / seconds / 1e3


def main(arguments: list[str] | None = None) -> int:
    """Read until the server ends, or count for a while."""
    url, *seconds = sys.argv[1:] if arguments is None else arguments
    with connected(url) as connection:
        if seconds:
            counted(connection, SCENE)
            print(*counted(connection, float(seconds[0])))
        else:
            for _ in connection:
                pass
    return 0


if __name__ == '__main__':
    sys.exit(main())
