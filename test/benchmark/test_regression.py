# SPDX-License-Identifier: Apache-2.0
"""`benchmark/regression.py` writes answers, finds what differs in them, and times checkouts."""

import csv
import os
import subprocess
import sys

import numpy as np
import pytest
from support.places import ROOT

from benchmark import regression


def command(*words):
    """Run the program; its exit code and what it printed."""
    program = [sys.executable, str(ROOT / 'benchmark' / 'regression.py'), *map(str, words)]
    done = subprocess.run(program, capture_output=True, text=True, cwd=os.sep)
    return done.returncode, done.stdout + done.stderr


def altered(folder, tmp_path, part, key, change):
    """A copy of the answers in a folder, one column of which is changed."""
    with np.load(folder / f'{part}.npz') as arrays:
        columns = dict(arrays)
    columns[key] = change(columns[key].copy())
    np.savez(tmp_path / f'{part}.npz', **columns)
    return tmp_path


def by(size):
    """Add so much to the last row."""

    def change(column):
        column[-1] += size
        return column

    return change


@pytest.fixture(scope='module')
def answers(tmp_path_factory):
    """A few answers of this very checkout."""
    folder = tmp_path_factory.mktemp('answers')
    code, text = command(
        'write', ROOT, '--out', folder, '--share', 1e-4, '--parts', 'solves', 'governor'
    )
    assert code == 0, text
    return folder


def test_answers_hold_joints_status_and_iterations(answers):
    _, solves = regression.read_answers(answers / 'solves.npz')
    statuses = {str(status) for group in solves.values() for status in group['status']}
    assert statuses & {'REACHED', 'CLOSEST', 'STALLED', 'ITERATION_LIMIT'}
    for group in solves.values():
        solved = group['iterations'] > 0
        assert np.isfinite(group['q'][solved]).all()
    _, motion = regression.read_answers(answers / 'governor.npz')
    assert np.abs(np.diff(motion['governor']['q'], axis=1)).max() > 0.0


def test_asking_again_gives_the_same_bits(answers, tmp_path):
    command('write', ROOT, '--out', tmp_path, '--share', 1e-4, '--parts', 'governor')
    code, text = command('compare', answers, tmp_path, '--parts', 'governor')
    assert (code, text.splitlines()[-1]) == (0, 'no exceptions')


@pytest.mark.parametrize(
    ('size', 'within', 'text'),
    [
        (1e-15, None, 'q differs'),
        (1e-10, 1e-9, 'no exceptions'),
        (1e-8, 1e-9, 'q differs by 1e-08'),
        (0.5, 1e-9, 'q is another branch by 0.5'),
        (np.nan, 1e-9, 'q is another branch by inf'),
    ],
)
def test_a_changed_number_is_an_exception_beyond_what_is_allowed(
    answers, tmp_path, size, within, text
):
    other = altered(answers, tmp_path, 'governor', 'governor/q', by(size))
    options = [] if within is None else ['--within', within]
    code, printed = command('compare', answers, other, '--parts', 'governor', *options)
    assert text in printed
    assert code == (text != 'no exceptions')


def test_another_status_is_always_an_exception_but_other_iterations_only_by_bits(
    answers, tmp_path, capsys
):
    _, groups = regression.read_answers(answers / 'solves.npz')
    group = min(groups)

    def renamed(column):
        column[0] = 'OTHER'
        return column

    more = altered(answers, tmp_path, 'solves', f'{group}/iterations', by(1))
    assert not regression.compare(answers, more, ['solves'], None)
    assert regression.compare(answers, more, ['solves'], 1e-9)
    other = altered(answers, tmp_path, 'solves', f'{group}/status', renamed)
    assert not regression.compare(answers, other, ['solves'], 1e-9)
    assert '-> OTHER' in capsys.readouterr().out


def test_rows_that_only_one_checkout_has_are_exceptions(answers, tmp_path, capsys):
    with np.load(answers / 'governor.npz') as arrays:
        columns = dict(arrays)
    columns['governor/label'] = np.array(['life of another name'])
    np.savez(tmp_path / 'governor.npz', **columns)
    assert not regression.compare(answers, tmp_path, ['governor'], 1e-9)
    printed = capsys.readouterr().out
    assert 'only in the old answers' in printed
    assert 'only in the new answers' in printed
    (tmp_path / 'governor.npz').unlink()
    assert not regression.compare(answers, tmp_path, ['governor'], None)


def test_a_folder_without_the_package_is_refused(tmp_path):
    code, text = command('write', tmp_path, '--out', tmp_path / 'out', '--parts', 'governor')
    assert code != 0
    assert 'ik_core' in text
    assert not (tmp_path / 'out').exists()


class Steady:
    """A worker whose blocks take a time that its checkout tells, but for every fourth one."""

    def __init__(self, checkout):
        self.time = float(checkout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def seconds(self, what, name, block):
        return self.time * (5.0 if block % 4 == 3 else 1.0)


@pytest.mark.parametrize(('new', 'is_fast'), [('1.04', True), ('1.06', False), ('nan', False)])
def test_times_are_judged_by_the_median_of_their_ratios(monkeypatch, capsys, new, is_fast):
    monkeypatch.setattr(regression, 'Worker', Steady)
    assert regression.time_both('1.0', new, 8, 0, 1.05) == is_fast
    assert ('slower' in capsys.readouterr().out) != is_fast


def test_a_worker_times_blocks_of_goals():
    with regression.Worker(ROOT) as worker:
        for what in regression.TIMED:
            assert 1e-8 < worker.seconds(what, 'ur5e', 1) < 1.0


def test_rows_of_the_history_have_the_same_columns(tmp_path):
    with regression.HISTORY.open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 2
    for row in rows:
        regression.append_row(tmp_path / 'history.csv', row)
        assert float(row['warm_solve_us']) > float(row['batch_us']) > 0.0
    assert (tmp_path / 'history.csv').read_text() == regression.HISTORY.read_text()
