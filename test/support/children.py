# SPDX-License-Identifier: Apache-2.0
"""Programs that tests start: none outlives its test, and none is waited for without an end."""

import threading
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 300.0  # [s] Longer than any program here takes on a busy machine


@contextmanager
def supervised(process):
    """The process (of subprocess.Popen), which is killed at the end, or after PATIENCE.

    So what waits for its output, or for its end, gets that by then.
    """
    giving_up = threading.Timer(PATIENCE, process.kill)
    giving_up.daemon = True
    giving_up.start()
    try:
        yield process
    finally:
        giving_up.cancel()
        process.kill()
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()


def children_of(process):
    """The numbers of the processes that its main thread has started."""
    listed = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text(encoding='ascii')
    return list(map(int, listed.split()))


def is_running(number):
    """Return whether there is such a process, which has not ended."""
    try:
        text = Path(f'/proc/{number}/stat').read_text(encoding='utf-8')
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(')')[2].split()[0] not in 'ZX'  # ended, and nobody has asked how


def lines_until(part, lines):
    """The lines up to the one with this part."""
    found = []
    while not found or part not in found[-1]:
        found.append(next(lines))
    return found
