# SPDX-License-Identifier: Apache-2.0
"""`ik bench startup`: a row for each program, with the least of its starts."""

import argparse

import pytest

from benchmark import startup


@pytest.fixture
def starts(monkeypatch):
    """Only some programs, which are started twice, and no nodes."""
    monkeypatch.setattr(startup, 'STARTS', 2)
    monkeypatch.setattr(startup, 'find_spec', lambda name: None)
    names = ('python', 'completion', 'ik --help')
    monkeypatch.setattr(startup, 'PROGRAMS', {name: startup.PROGRAMS[name] for name in names})
    return names


def test_each_program_is_a_row_with_its_times_and_its_aim(starts):
    rows = list(startup.rows(argparse.Namespace()))
    assert [row['start'] for row in rows] == list(starts)
    assert [row['aim_s'] for row in rows] == ['', 0.15, 0.15]
    assert all(row['cpu_s'] > 0.0 and row['s'] > 0.0 for row in rows)


def test_a_program_that_fails_is_reported(starts, monkeypatch):
    monkeypatch.setitem(startup.PROGRAMS, 'python', ['-c', 'raise SystemExit(3)'])
    with pytest.raises(RuntimeError, match='python ended with 3'):
        list(startup.rows(argparse.Namespace()))


def test_every_solver_is_started():
    assert set(startup.SOLVERS) < set(startup.PROGRAMS)
