# SPDX-License-Identifier: Apache-2.0
"""The end of a process that has nothing left to do."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def end_process(code: int) -> NoReturn:
    """End this process immediately with an exit code, after flushing its output.

    Python's own shutdown destroys the functions compiled by numba: that takes half a second, and
    on a busy machine more than the five seconds after which `ros2 launch` kills.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or none
            stream.flush()
    os._exit(code)
