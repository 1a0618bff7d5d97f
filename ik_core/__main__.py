# PYTHON_ARGCOMPLETE_OK
"""The command `ik`, also as `python -m ik_core`."""

import signal
import sys


def main() -> int:
    """Run the command; return its exit code. Ctrl-C ends it silently while it imports, too."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli.main import main as run

    signal.signal(signal.SIGINT, handler)
    return run()


if __name__ == '__main__':
    sys.exit(main())
