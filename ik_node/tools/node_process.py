# SPDX-License-Identifier: Apache-2.0
"""Start of `ik_node`, or of another module of this package, as a process."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

STOP_PATIENCE = 5.0
LIBC = ctypes.CDLL(None) if sys.platform == 'linux' else None
# Option of Linux' prctl: the signal for a process whose parent thread ends.
PR_SET_PDEATHSIG = 1


@contextmanager
def running(
    module: str,
    *arguments: str,
    parameters: Mapping[str, object] | None = None,
    namespace: str = '',
    environment: Mapping[str, str] = MappingProxyType({}),
    pipes: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python -m module arguments` with ROS parameters, until the context is left.

    environment : variables in addition to this process's
    pipes : whether stdin and stdout of the child are pipes

    The child imports the package from the same place as this process, installed or not. It does
    not get Ctrl-C, which ends this process; the context then ends the child. On Linux the child
    also ends if this process is killed, or if the thread that started it ends, so start it in the
    main thread.
    """
    ros = [part for k, v in (parameters or {}).items() for part in ('-p', f'{k}:={v}')]
    ros += ['-r', f'__ns:={namespace}'] if namespace else []
    variables = {**os.environ, **environment}
    path = [str(Path(__file__).resolve().parents[2]), variables.get('PYTHONPATH', '')]
    process = subprocess.Popen(
        [sys.executable, '-m', module, *arguments, *(['--ros-args', *ros] if ros else [])],
        env={**variables, 'PYTHONPATH': os.pathsep.join(filter(None, path))},
        start_new_session=True,
        preexec_fn=end_with_starter,
        stdin=subprocess.PIPE if pipes else None,
        stdout=subprocess.PIPE if pipes else None,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_with_starter() -> None:
    """Request SIGTERM for this new process when the thread that started it ends. Linux only."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
