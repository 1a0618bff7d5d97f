# SPDX-License-Identifier: Apache-2.0
"""The line of long runs: what it says, when it is silent, and what it leaves behind."""

import io
from types import SimpleNamespace

import pytest

from ik_core import progress
from ik_core.progress import TERMINAL_COLUMNS, ProgressLine, bar, duration


class Terminal(io.StringIO):
    """A stderr that is a terminal; `lines` are what stood there one after the other."""

    def isatty(self):
        return True

    @property
    def lines(self):
        return [line.rstrip() for line in self.getvalue().split('\r')[1:]]


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress, 'sys', SimpleNamespace(stderr=Terminal()))
    monkeypatch.setattr(progress, 'REFRESH', 0.0)
    return progress.sys.stderr


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""
    now = [100.0]
    monkeypatch.setattr(progress.time, 'monotonic', lambda: now[0])
    return now


def test_a_bar_yields_all_and_grows(terminal):
    assert list(bar('abcd', 'loud')) == list('abcd')
    assert [line.count('#') for line in terminal.lines] == [0, 6, 12, 18, 24]
    assert terminal.lines[1].startswith('loud [######..................] 1/4 ')
    assert terminal.getvalue().endswith('0:00:00 left\n')


def test_where_stderr_is_no_terminal_or_quiet_is_asked_for_nothing_is_written(terminal):
    with ProgressLine('quiet', silent=True) as line:
        line.show(1, 2)
    assert terminal.getvalue() == ''
    progress.sys.stderr = io.StringIO()  # the fixture's
    assert list(bar([1, 2], 'silent')) == [1, 2]
    assert progress.sys.stderr.getvalue() == ''


def test_the_time_left_is_at_the_speed_of_this_run(terminal, clock):
    with ProgressLine('x') as line:
        line.show(40, 100)  # of an earlier run
        clock[0] += 10.0
        line.show(50, 100, '7 solves/s')
    first, second = terminal.lines
    assert first.endswith('40/100 ? left')
    assert second.endswith('50/100 7 solves/s, 0:00:50 left')


def test_it_is_looked_at_ten_times_a_second_at_most_and_at_the_end(terminal, clock, monkeypatch):
    monkeypatch.setattr(progress, 'REFRESH', 0.1)
    with ProgressLine('x') as line:
        for i in range(101):
            line.show(i, 100)
            clock[0] += 0.03
    assert 25 < len(terminal.lines) < 35
    assert '100/100' in terminal.lines[-1]


def test_a_line_never_wraps_and_covers_the_one_before(terminal):
    with ProgressLine('x') as line:
        line.show(0, 1, 'n' * 200)
        line.show(1, 1)
    long, short = terminal.getvalue().rstrip('\n').split('\r')[1:]
    assert len(long) == len(short) == TERMINAL_COLUMNS


def test_an_interrupted_line_is_left(terminal):
    def interrupted():
        with ProgressLine('x') as line:
            line.show(0, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue().endswith('\n')


@pytest.mark.parametrize(
    ('seconds', 'text'), [(0, '0:00:00'), (59.6, '0:01:00'), (7261, '2:01:01')]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_nothing_is_shown_in_a_quiet_context(terminal):
    with progress.quiet():
        assert list(bar('ab', 'hidden')) == list('ab')
    assert terminal.lines == []
    assert list(bar('ab', 'shown')) == list('ab')
    assert terminal.lines
