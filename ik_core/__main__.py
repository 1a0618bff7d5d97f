# SPDX-License-Identifier: Apache-2.0
# PYTHON_ARGCOMPLETE_OK
"""The command `ik`, also as `python -m ik_core`."""

import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command; return its exit code. During the imports Ctrl-C ends it silently."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli.main import main as run

    is_python = handler is signal.default_int_handler
    signal.signal(signal.SIGINT, _interrupt if is_python else handler)
    return run()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; but end the process during Python's own import code, whose
    callbacks would print and ignore the exception."""
    if frame is not None and frame.f_code.co_filename.startswith('<frozen importlib'):
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    signal.default_int_handler(number, frame)


if __name__ == '__main__':
    sys.exit(main())
