# PYTHON_ARGCOMPLETE_OK
"""The command `ik`: Ctrl-C ends it without a traceback, also while `ik_core` is imported.

A module outside of `ik_core`, since Python imports a package before any of its modules.
"""

import signal


def main() -> int:
    """Run the `ik` command; the exit code."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ik_core.cli.main import main as run

    signal.signal(signal.SIGINT, handler)
    return run()
