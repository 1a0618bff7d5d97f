# SPDX-License-Identifier: Apache-2.0
"""Run tests in a copy of the tree; write a line of JSON for each, as soon as it has ended.

python run_tests.py JOB.json      # a `Job`; started in the copy by `__main__`
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from reached import REACHED

WAITING = 5.0


class TookTooLong(BaseException):
    """A test took longer than it may; no product code catches this."""


class Judge:
    """The plugin: chooses and orders tests, ends those that take too long, writes reports."""

    def __init__(self, out: str, seconds: float, whole: float, tests: dict[str, float]) -> None:
        """Run `tests` only, in their order, each for at most so long; none: all, for `seconds`.

        All times are those of the processor [s], so that they count on a busy machine too; tests
        that wait may take WAITING times as long.
        whole : after which no other test begins
        """
        self.out = Path(out)
        self.seconds, self.tests = seconds, tests
        self.order = {test: place for place, test in enumerate(tests)}
        self.whole, self.end = whole, time.monotonic() + WAITING * whole
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
        """Report a test with its time and the places that it reached."""
        started = time.process_time()
        self.result = {'test': item.nodeid, 'outcome': 'passed'}
        done = yield
        seconds = time.process_time() - started
        self._write(**self.result, seconds=round(seconds, 3), reached=sorted(REACHED))
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
        seconds = self.tests.get(item.nodeid, self.seconds)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, WAITING * seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first phase of a test that did not pass."""
        if not report.passed and self.result['outcome'] == 'passed':
            is_late = 'TookTooLong' in str(report.longrepr)
            self.result['outcome'] = 'timed out' if is_late else report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report a file that can't be imported."""
        if report.failed:
            self._write(test=report.nodeid, outcome='failed', seconds=0.0, reached=[])

    def _write(self, **line: Any) -> None:
        with self.out.open('a') as file:
            print(json.dumps(line), file=file)


def main() -> None:
    """Run the tests of a job."""
    job = json.loads(Path(sys.argv[1]).read_text())
    files = job.pop('files')
    options = ['-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', *job.pop('options')]
    sys.exit(pytest.main([*options, *files], plugins=[Judge(**job)]))


if __name__ == '__main__':
    main()
