# SPDX-License-Identifier: Apache-2.0
"""The program that runs one peer in the peer's own environment: `python worker.py ADAPTER`.

It reads requests as lines of JSON and answers each with one: `load` sets the peer up for an arm,
`solve` solves some of its problems and times each call. What a peer prints goes to stderr.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time
from typing import Any

import numpy as np
from adapters.base import Adapter, Chain  # beside this file: the package is not installed here

WARM_UP = 5


class Worker:
    """Answers requests with the adapter of one peer."""

    def __init__(self, adapter: str, options: dict[str, Any]) -> None:
        self._make = importlib.import_module(f'adapters.{adapter}').Peer
        self._options = options
        self._adapter: Adapter | None = None
        self._problems: Any = {}

    def load(self, chain: dict[str, Any], problems: str, distribution: str) -> dict[str, Any]:
        """Set the peer up for an arm, and warm it up."""
        with np.load(problems) as file:
            self._problems = dict(file)
        self._adapter = self._make(Chain(**chain), **self._options)
        self.solve('random', range(min(WARM_UP, len(self._problems['random_goals']))))
        version = importlib.metadata.version(distribution) if distribution else 'this tree'
        return {'version': version, 'settings': self._adapter.settings}

    def solve(self, name: str, indices: Any) -> dict[str, Any]:
        """The answers and the time [s] of each problem of a set, and what a solve raised.

        The last problem is solved before, without counting: while other peers had their turn,
        caches were filled with what is theirs.
        """
        goals, starts = self._problems[f'{name}_goals'], self._problems[f'{name}_starts']
        answers, seconds, error = [], [], ''
        for i in indices[-1:]:
            self._timed(goals[i].copy(), starts[i].copy())
        for i in indices:
            q, spent, raised = self._timed(goals[i].copy(), starts[i].copy())
            answers.append(q)
            seconds.append(spent)
            error = error or raised
        return {'answers': answers, 'seconds': seconds, 'error': error}

    def _timed(self, goal: Any, q0: Any) -> tuple[list[float] | None, float, str]:
        assert self._adapter is not None
        prepared = self._adapter.prepare(goal, q0)
        q, error = None, ''
        started = time.perf_counter()
        try:
            q = self._adapter.solve(prepared)
        except Exception as raised:  # a failed solve, which is reported
            error = f'{type(raised).__name__}: {raised}'
        spent = time.perf_counter() - started
        q = None if q is None else self._adapter.answer(q)
        return None if q is None else np.asarray(q, float).ravel().tolist(), spent, error


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)  # peers print, some of them from C++
    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            worker = worker or Worker(sys.argv[1], json.loads(sys.argv[2]))
            answer = getattr(worker, request.pop('do'))(**request)
        except Exception as error:
            answer = {'failed': f'{type(error).__name__}: {error}'}
        answers.write(json.dumps(answer) + '\n')
        answers.flush()


if __name__ == '__main__':
    main()
