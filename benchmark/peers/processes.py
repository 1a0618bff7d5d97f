# SPDX-License-Identifier: Apache-2.0
"""The process in which a peer runs, seen from outside."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .adapters.base import Chain
from .catalog import Peer

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name('worker.py')
PATIENCE = 300.0  # Time limit of a peer's answer to one request [s]


class PeerFailed(Exception):
    """A peer that could not be set up for an arm, crashed or hung; says which."""


class Process:
    """A peer in its own process; ended with `close`."""

    def __init__(self, peer: Peer, python: str, patience: float = PATIENCE) -> None:
        self._peer, self._patience = peer, patience
        self._errors = tempfile.TemporaryFile('w+', errors='replace')  # noqa: SIM115
        paths = [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
        # small matrices: more threads only get in each other's way
        environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}
        environment.pop('PYTHONPATH', None)
        if not peer.requirements:
            environment['PYTHONPATH'] = os.pathsep.join(paths)
        self._process = subprocess.Popen(
            [python, str(PROGRAM), peer.adapter, json.dumps(peer.options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
        )

    def load(self, chain: Chain, problems: Path) -> tuple[str, str]:
        """Set the peer up for an arm; its version and settings. Raises PeerFailed."""
        answer = self._ask(
            do='load',
            chain=dataclasses.asdict(chain),
            problems=str(problems),
            distribution=self._peer.distribution,
        )
        return answer['version'], answer['settings']

    def solve(self, name: str, indices: Sequence[int]) -> dict[str, Any]:
        """The peer's answers and times for some problems of a set. Raises PeerFailed."""
        return self._ask(do='solve', name=name, indices=list(indices))

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):  # unsent requests to a dead worker
                    stream.close()

    def _ask(self, **request: Any) -> dict[str, Any]:
        hung = threading.Event()

        def end() -> None:
            hung.set()
            self._process.kill()

        timer = threading.Timer(self._patience, end)
        timer.start()
        try:
            line = self._exchange(json.dumps(request))
        finally:
            timer.cancel()
        if not line:
            raise PeerFailed('no answer in time' if hung.is_set() else self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if 'failed' in answer:
            raise PeerFailed(answer['failed'][:200])
        return answer

    def _exchange(self, request: str) -> str:
        """The answer to a request; empty where the process has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(request + '\n')
            stdin.flush()
            return stdout.readline()
        except OSError:
            return ''

    def _last_words(self) -> str:
        """Exit status of the process, and the last lines of its output."""
        code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f'exit code {code}'
        self._errors.seek(0)
        said = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        return f'crashed ({how}){": " + said[-1][:200] if said else ""}'
