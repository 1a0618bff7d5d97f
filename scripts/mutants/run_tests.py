# SPDX-License-Identifier: Apache-2.0
"""Run tests in a copy of the tree, a job for each line of the input: the path of a JSON file.

Each job is a fork of this process, which has imported what is never mutated, so that it begins at
once. It writes a line of JSON for each test that ends; this process prints how the job ended:
pytest's exit code, or -9 if it took too long. `__main__` starts it, in the copy.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from reached import REACHED

NEVER_MUTATED = (
    'numpy', 'scipy.optimize', 'scipy.spatial.transform', 'scipy.stats', 'hypothesis.stateful',
    'yaml', 'rclpy.node', 'rclpy.lifecycle', 'sensor_msgs.msg', 'geometry_msgs.msg',
)  # fmt: skip
WAITED = 600.0  # [s] After which no other test of a job begins, however little it has computed


class TookTooLong(BaseException):
    """A test took longer than it may; no product code catches this."""


class Judge:
    """The plugin: chooses and orders tests, ends those that take too long, writes reports."""

    def __init__(
        self,
        out: str,
        most: tuple[float, float],
        whole: float,
        tests: dict[str, tuple[float, float]],
    ) -> None:
        """Run these tests only, in their order; none: all.

        tests : how long each may compute, and wait besides [s]; most : the same for any other
        whole : the time of the processor [s] after which no other test begins
        """
        self.out, self.most, self.tests = Path(out), most, tests
        self.order = {test: place for place, test in enumerate(tests)}
        self.whole, self.end = whole + time.process_time(), time.monotonic() + WAITED
        self.result: dict[str, Any] = {}
        self.shared: set[int] = set()  # reached by imports and fixtures, on behalf of all tests
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self._end_test)

    def _end_test(self, *_: object) -> None:
        raise TookTooLong

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that are wanted, in their order."""
        if self.order:
            items[:] = [item for item in items if item.nodeid in self.order]
            items.sort(key=lambda item: self.order[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Report a test with its times and the places that it reached."""
        computed, began = time.process_time(), time.monotonic()
        self.result = {'test': item.nodeid, 'outcome': 'passed'}
        done = yield
        self._write(
            **self.result,
            computed=round(time.process_time() - computed, 3),
            waited=round(time.monotonic() - began, 3),
            reached=sorted(REACHED),
        )
        REACHED.clear()
        REACHED.update(self.shared)
        if time.process_time() > self.whole or time.monotonic() > self.end:
            item.session.shouldstop = 'out of time'
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Any:
        """End the setup of a test if it takes too long."""
        done = yield from self._in_time(item)
        self.shared.update(REACHED)
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """End a test if it takes too long."""
        return (yield from self._in_time(item))

    def _in_time(self, item: pytest.Item) -> Any:
        timers = (signal.ITIMER_PROF, signal.ITIMER_REAL)
        for timer, seconds in zip(timers, self.tests.get(item.nodeid, self.most), strict=True):
            signal.setitimer(timer, seconds)
        try:
            return (yield)
        finally:
            for timer in timers:
                signal.setitimer(timer, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first phase of a test that did not pass."""
        if not report.passed and self.result['outcome'] == 'passed':
            is_late = 'TookTooLong' in str(report.longrepr)
            self.result['outcome'] = 'timed out' if is_late else report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report a file that can't be imported."""
        if report.failed:
            self._write(test=report.nodeid, outcome='failed', computed=0.0, waited=0.0, reached=[])

    def _write(self, **line: Any) -> None:
        with self.out.open('a') as file:
            print(json.dumps(line), file=file)


def run(job: dict[str, Any]) -> int:
    """Run the tests of a job; return pytest's exit code."""
    files = job.pop('files')
    options = ['-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', *job.pop('options')]
    return int(pytest.main([*options, *files], plugins=[Judge(**job)]))


def fork(path: str) -> int:
    """Run a job in a fork of this process; return its exit code, -9 if it took too long."""
    child = os.fork()
    if child == 0:
        os.setsid()
        code = 3
        try:
            code = run(json.loads(Path(path).read_text()))
        finally:
            os._exit(code)
    deadline = time.monotonic() + 1.5 * WAITED
    ended = status = 0
    while not ended and time.monotonic() < deadline:
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):  # also what it has started
        os.killpg(child, signal.SIGKILL)
    if not ended:
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Run jobs until the input ends."""
    answers = os.fdopen(os.dup(1), 'w')
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(null, stream)
    for module in NEVER_MUTATED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()
    for line in sys.stdin:
        print(fork(line.strip()), file=answers, flush=True)


if __name__ == '__main__':
    main()
