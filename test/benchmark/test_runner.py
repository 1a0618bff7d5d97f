# SPDX-License-Identifier: Apache-2.0
"""`ik bench`: what runs, how rows, claims and the page are written, where the peers are."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from support.paper_results import RESULTS, rows_of, table_of
from support.places import ROOT
from support.robots import python_path

from benchmark import BENCHMARKS, GROUP, NAMES, PAPERS, load, runner
from benchmark.results import (
    Claim,
    claim_rows,
    code_commit,
    commit_named_in,
    exponent,
    markdown_table,
    read_csv,
    swept,
    write_csv,
)
from ik_core.cli.main import main

CLAIMS = [
    Claim('a | b (Fig. 1)', '1.5', '2', 'x 1 to 3', 'within 1', [True, True]),
    Claim('c', 'few', 'many', 'a case', 'fewer', [False]),
]


class FakeExperiment:
    """An experiment of two rows, with one claim about them."""

    @staticmethod
    def rows(arguments):
        yield {'x': 1, 'y': 2.0}
        yield {'x': arguments.count, 'y': 4.0}

    @staticmethod
    def claims(rows):
        ours = f'x {rows[1]["y"] / rows[0]["y"]:g}'
        return [Claim('y doubles', 'x 2', ours, 'two rows', 'by 2', [True])]

    @staticmethod
    def draw(rows):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().plot([row['x'] for row in rows], [row['y'] for row in rows])
        return figure


@pytest.fixture
def fake(monkeypatch):
    """There are two experiments: `fake`, and `moving`, which needs motion capture."""
    found = {'fake': 'of nobody', 'moving': 'of bodies'}
    monkeypatch.setattr(runner, 'PAPERS', found)
    monkeypatch.setattr(runner, 'NAMES', {GROUP: 'all', **found})
    monkeypatch.setattr(runner, 'NEED_MOCAP', frozenset({'moving'}))
    monkeypatch.setattr(runner, 'experiment', lambda name: FakeExperiment)
    monkeypatch.setattr(runner, 'code_commit', lambda folder: 'abc+')
    monkeypatch.delenv('IK_MOCAP_DIR', raising=False)


def test_claim_is_a_line_with_its_verdict_range_criterion_and_command():
    assert claim_rows(CLAIMS, 'fake')[1] == {
        'claim': 'c',
        'theirs': 'few',
        'ours': 'many',
        'verdict': 'no',
        'range': 'a case',
        'criterion': 'fewer',
        'command': '`ik bench fake`',
    }


@pytest.mark.parametrize(
    ('held', 'verdict', 'ours'),
    [
        ([True] * 5, 'yes', 'x'),
        ([False] * 5, 'no', 'x'),
        ([True, True, False, True, False], 'partly', 'x; holds at 0.1 to 0.2, 0.8'),
    ],
)
def test_swept_claim_holds_at_all_some_or_no_values(held, verdict, ours):
    at = dict(zip([0.1, 0.2, 0.4, 0.8, 1.6], held, strict=True))
    claim = swept('c', 'few', 'x', 'step 0.1 to 1.6', 'fewer', at)
    assert (claim.verdict, claim.ours) == (verdict, ours)
    assert (claim.range, claim.criterion) == ('step 0.1 to 1.6', 'fewer')


def test_claim_that_no_measurement_can_decide_has_no_verdict():
    assert CLAIMS[0]._replace(held=[]).verdict == 'none'


def test_a_table_in_markdown_has_its_head_and_escapes_bars():
    rows = claim_rows(CLAIMS, 'fake')
    lines = markdown_table(list(rows[0]), [list(row.values()) for row in rows]).splitlines()
    assert lines[0] == '| claim | theirs | ours | verdict | range | criterion | command |'
    assert lines[2:] == [
        '| a \\| b (Fig. 1) | 1.5 | 2 | yes | x 1 to 3 | within 1 | `ik bench fake` |',
        '| c | few | many | no | a case | fewer | `ik bench fake` |',
    ]


def test_the_exponent_is_that_of_a_power():
    sizes = np.array([2.0, 3.0, 5.0, 10.0])
    assert exponent(sizes, 7.0 * sizes**1.5) == pytest.approx(1.5)


def test_tables_go_between_their_marks_and_nowhere_else(tmp_path):
    (tmp_path / 'one_claims.md').write_text('new\n')
    text = (
        'a\n<!-- one: begin -->\nold\n<!-- one: end -->\n'
        'b\n<!-- two: begin -->\nkept\n<!-- two: end -->\n'
    )
    expected = text.replace('old', 'new')
    assert runner.filled(text, tmp_path) == expected
    file = tmp_path / 'page.md'
    file.write_text(text)
    argv = ['bench', 'load', '--redraw', '--out', str(tmp_path), '--page', str(file)]
    assert main(argv) == 0
    assert file.read_text() == expected


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (['--page', 'none.md', '--out', '.'], 'there is no file none.md'),
        (['--page', 'none.md'], '--page, too'),
        (['--redraw'], '--redraw needs --out'),
    ],
)
def test_a_page_or_folder_that_is_not_there_is_refused(argv, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, 'rows', None)
    assert main(['bench', 'load', *argv]) == 2
    assert said in capsys.readouterr().err


def test_the_page_of_the_project_has_the_tables_of_its_results():
    text = (ROOT / 'docs' / 'papers.md').read_text(encoding='utf-8')
    assert runner.filled(text, RESULTS) == text
    assert {block[2] for block in runner.BLOCK.finditer(text)} == set(PAPERS)


@pytest.mark.parametrize('name', sorted(PAPERS))
def test_the_results_in_the_tree_are_whole_and_small(name):
    for suffix in ('.csv', '.svg', '_claims.csv', '_claims.md'):
        assert (RESULTS / f'{name}{suffix}').stat().st_size < 300_000
    ElementTree.parse(RESULTS / f'{name}.svg')
    text = (ROOT / 'docs' / 'papers.md').read_text(encoding='utf-8')
    assert f'../benchmark/papers/{name}.svg' in text


@pytest.mark.parametrize('name', sorted(PAPERS))
def test_the_claims_in_the_tree_follow_from_the_rows_in_the_tree(name):
    said = claim_rows(runner.experiment(name).claims(rows_of(name)), name)
    assert said == table_of(f'{name}_claims')


@pytest.mark.parametrize('name', sorted(PAPERS))
def test_every_claim_has_a_range_and_a_criterion(name):
    for claim in runner.experiment(name).claims(rows_of(name)):
        assert claim.range
        assert claim.criterion.startswith('none: ') == (claim.verdict == 'none')
        assert claim.criterion


@pytest.mark.parametrize('name', sorted(PAPERS))
def test_every_experiment_has_its_three_functions(name):
    module = runner.experiment(name)
    assert callable(module.rows)
    assert callable(module.claims)
    assert callable(module.draw)
    assert name not in BENCHMARKS


@pytest.mark.usefixtures('fake')
def test_an_experiment_prints_its_claims_and_writes_all_of_it(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    assert main(['bench', 'fake', '--count', '3', '--out', str(tmp_path / 'new')]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ['claim', 'theirs', 'ours', 'verdict', 'range', 'criterion', 'command'],
        [
            'y',
            'doubles',
            'x',
            '2',
            'x',
            '2',
            'yes',
            'two',
            'rows',
            'by',
            '2',
            '`ik',
            'bench',
            'fake`',
        ],
    ]
    names = {path.name for path in (tmp_path / 'new').iterdir()}
    assert names == {'fake.csv', 'fake.svg', 'fake.png', 'fake_claims.csv', 'fake_claims.md'}
    with (tmp_path / 'new' / 'fake.csv').open() as file:
        assert list(csv.reader(file)) == [['# commit abc+'], ['x', 'y'], ['1', '2'], ['3', '4']]
    with (tmp_path / 'new' / 'fake_claims.csv').open() as file:
        assert list(csv.reader(file))[2] == [
            'y doubles',
            'x 2',
            'x 2',
            'yes',
            'two rows',
            'by 2',
            '`ik bench fake`',
        ]


@pytest.mark.parametrize('name', sorted(PAPERS))
def test_results_in_the_tree_name_the_commit_of_committed_sources(name):
    named = {commit_named_in(RESULTS / f'{name}{end}.csv') for end in ('', '_claims')}
    assert len(named) == 1
    assert re.fullmatch('[0-9a-f]{7,40}', named.pop())


def test_csv_file_with_a_commit_is_read_as_one_without(tmp_path):
    rows = [{'part': 'a', 'x': 1.5}, {'part': '#b', 'x': 2}]
    for name, commit in (('with', 'abc'), ('without', '')):
        write_csv(rows, tmp_path / name, commit)
        assert read_csv(tmp_path / name)[0] == rows[0]
        assert commit_named_in(tmp_path / name) == commit


def test_commit_of_the_code_marks_changed_and_new_sources_but_not_results(tmp_path):
    if not shutil.which('git'):
        pytest.skip('git is not installed')

    def git(*command):
        own = ['-c', 'user.name=a', '-c', 'user.email=a@b']
        subprocess.run(['git', '-C', str(tmp_path), *own, *command], check=True)

    assert code_commit(tmp_path) == 'unknown'
    git('init', '-q')
    (tmp_path / 'papers').mkdir()
    source, result = tmp_path / 'papers' / 'a.py', tmp_path / 'papers' / 'a.csv'
    source.write_text('1')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    clean = code_commit(tmp_path)
    assert re.fullmatch('[0-9a-f]{10}', clean)
    result.write_text('1')
    assert code_commit(tmp_path) == clean
    (tmp_path / 'b.py').write_text('1')
    assert code_commit(tmp_path) == f'{clean}+'
    (tmp_path / 'b.py').unlink()
    source.write_text('2')
    assert code_commit(tmp_path) == f'{clean}+'


# --- make papers CHECK=1 -----------------------------------------------------------------------


def check_against_record(folder, monkeypatch, now, before=CLAIMS):
    """The exit code of --check: an experiment with claims `now`, `before` on record; no figure."""
    monkeypatch.delattr(FakeExperiment, 'draw')
    monkeypatch.setattr(FakeExperiment, 'claims', staticmethod(lambda rows: before))
    assert main(['bench', 'fake', '--out', str(folder)]) == 0
    monkeypatch.setattr(FakeExperiment, 'claims', staticmethod(lambda rows: now))
    return main(['bench', 'fake', '--check', '--out', str(folder)])


@pytest.mark.usefixtures('fake')
def test_check_passes_when_numbers_differ_and_verdicts_do_not(tmp_path, monkeypatch, capsys):
    other_numbers = [claim._replace(ours='another') for claim in CLAIMS]
    assert check_against_record(tmp_path, monkeypatch, other_numbers) == 0
    assert capsys.readouterr().out.splitlines()[-1] == 'fake: 2 of 2 verdicts of abc+ hold'


@pytest.mark.usefixtures('fake')
@pytest.mark.parametrize(
    ('now', 'said'),
    [
        ([CLAIMS[0]._replace(held=[False]), CLAIMS[1]], 'TURNED: a | b (Fig. 1): yes on record'),
        (
            [CLAIMS[0], CLAIMS[1]._replace(held=[True, False])],
            'TURNED: c: no on record, now partly: many',
        ),
        ([CLAIMS[0], CLAIMS[1]._replace(held=[])], 'TURNED: c: no on record, now none: many'),
        (CLAIMS[:1], 'TURNED: c: no on record, now absent'),
        ([*CLAIMS, CLAIMS[1]._replace(claim='d')], 'TURNED: d: absent on record, now no'),
    ],
)
def test_check_fails_and_names_each_verdict_that_turned(now, said, tmp_path, monkeypatch, capsys):
    assert check_against_record(tmp_path, monkeypatch, now) == 1
    assert f'fake: {said}' in capsys.readouterr().out


@pytest.mark.usefixtures('fake')
def test_check_reports_timed_claims_that_turned_but_passes(tmp_path, monkeypatch, capsys):
    timed = CLAIMS[0]._replace(timed=True)
    now = [timed._replace(held=[False]), CLAIMS[1]]
    assert check_against_record(tmp_path, monkeypatch, now, [timed, CLAIMS[1]]) == 0
    said = 'fake: changes with the processor: a | b (Fig. 1): yes on record, now no: 2'
    assert said in capsys.readouterr().out
    criterion = read_csv(tmp_path / 'fake_claims.csv')[0]['criterion']
    assert criterion == 'within 1; may change with the processor'


@pytest.mark.usefixtures('fake')
def test_check_writes_nothing_and_asks_for_fewer_goals(tmp_path, monkeypatch):
    counts = []
    monkeypatch.setattr(runner, 'CHECK_COUNTS', {'fake': {'count': 7}})
    monkeypatch.setattr(
        FakeExperiment,
        'rows',
        staticmethod(lambda given: counts.append(given.count) or [{'x': 1}]),
    )
    monkeypatch.setattr(FakeExperiment, 'draw', None)
    write_csv(claim_rows(CLAIMS, 'fake'), tmp_path / 'fake_claims.csv')
    before = (tmp_path / 'fake_claims.csv').read_text()
    monkeypatch.setattr(FakeExperiment, 'claims', staticmethod(lambda rows: CLAIMS))
    assert main(['bench', 'fake', '--check', '--out', str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ['fake_claims.csv']
    assert (tmp_path / 'fake_claims.csv').read_text() == before
    assert counts == [7]


@pytest.mark.usefixtures('fake')
@pytest.mark.parametrize('argv', [['--check'], ['--check', '--out', '.']])
def test_check_without_a_record_is_refused(argv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(['bench', 'fake', *argv]) == 2
    assert '--check' in capsys.readouterr().err


@pytest.mark.usefixtures('fake')
def test_a_folder_that_can_not_be_made_is_told_before_anything_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runner, '_measure', None)  # not called
    (tmp_path / 'file').touch()
    assert main(['bench', 'fake', '--out', str(tmp_path / 'file' / 'new')]) == 2
    assert str(tmp_path / 'file') in capsys.readouterr().err


@pytest.mark.usefixtures('fake')
def test_figures_without_matplotlib_are_refused_before_anything_runs(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(runner, '_measure', None)  # not called
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    assert main(['bench', 'fake', '--out', str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert 'figures need matplotlib: ' in error
    assert '-m pip install matplotlib' in error


@pytest.mark.usefixtures('fake')
def test_the_same_rows_are_drawn_as_the_same_file(tmp_path):
    pytest.importorskip('matplotlib')
    for name in ('a', 'b'):
        assert main(['bench', 'fake', '--out', str(tmp_path / name)]) == 0
    first, second = ((tmp_path / name / 'fake.svg').read_bytes() for name in ('a', 'b'))
    assert first == second


@pytest.mark.usefixtures('fake')
def test_as_json_there_are_rows_and_claims(capsys):
    assert main(['bench', 'fake', '--json', '--count', '3']) == 0
    data = json.loads(capsys.readouterr().out)['fake']
    assert data['rows'][1] == {'x': 3, 'y': 4.0}
    assert data['claims'][0]['verdict'] == 'yes'


@pytest.mark.usefixtures('fake')
def test_without_motion_capture_the_group_leaves_out_what_needs_it(capsys):
    assert main(['bench', 'papers']) == 0
    done = capsys.readouterr()
    assert 'moving' not in done.out
    assert done.err.startswith('Left out, since they need motion capture')
    assert done.err.endswith(': moving.\n')


@pytest.mark.usefixtures('fake')
@pytest.mark.parametrize('how', ['option', 'variable'])
def test_with_motion_capture_the_group_runs_all(how, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv('IK_MOCAP_DIR', str(tmp_path if how == 'variable' else ''))
    given = ['--mocap', str(tmp_path)] if how == 'option' else []
    assert main(['bench', 'papers', *given]) == 0
    done = capsys.readouterr()
    assert 'moving' in done.out
    assert done.err == ''


@pytest.mark.usefixtures('fake')
@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (['moving'], 'moving needs motion capture: --mocap DIR or IK_MOCAP_DIR'),
        (['fake', '--mocap', '/no/such/folder'], 'there is no folder /no/such/folder'),
        (['paper'], "unknown benchmark 'paper'"),
    ],
)
def test_what_can_not_be_run_is_refused_in_a_line(argv, said, capsys):
    assert main(['bench', *argv]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1


# --- benchmarks --------------------------------------------------------------------------------


ROWS = [{'file': 'a.urdf', 'median_s': 0.00123456}, {'file': 'b.urdf', 'median_s': 2.0}]


@pytest.fixture
def measured(monkeypatch):
    """`ik bench load` measures ROWS."""
    monkeypatch.setattr(load, 'rows', lambda arguments: ROWS)


def test_papers_and_what_installs_run_only_by_name():
    parser = runner._parser()
    names = parser.parse_args([]).names
    assert not set(names) & {GROUP, *PAPERS}
    assert names == [name for name in BENCHMARKS if name not in ('peers', 'never_hits')]
    assert parser.parse_args(['peers']).names == ['peers']


@pytest.mark.parametrize(
    ('argv', 'said'), [(['no_such'], "'no_such'"), (['load', '--count', '0'], '--count 0')]
)
def test_nonsense_is_refused_before_anything_is_measured(argv, said, capsys, monkeypatch):
    monkeypatch.setattr(load, 'rows', None)
    assert main(['bench', 'load', *argv]) == 2
    assert said in capsys.readouterr().err


def test_every_example_of_the_help_is_understood_and_fits_a_terminal():
    parser = runner._parser()
    text = parser.format_help()
    assert all(action.help for action in parser._actions)
    assert max(map(len, text.splitlines())) <= 99
    lines = text.partition('\nexamples:\n')[2].splitlines()
    found = [shlex.split(line, comments=True) for line in lines if line.startswith('    ik bench')]
    assert len(found) > 3
    for _, _, *words in found:
        assert set(parser.parse_args(words).names) <= {*NAMES}


@pytest.mark.usefixtures('measured')
def test_rows_are_a_table_or_json_and_csv_where_asked(capsys, tmp_path):
    assert main(['bench', 'load']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ['load', '  file  median_s', 'a.urdf  0.001235', 'b.urdf         2', '']
    assert main(['bench', 'load', '--json', '--out', str(tmp_path / 'new')]) == 0
    assert json.loads(capsys.readouterr().out) == {'load': ROWS}
    with (tmp_path / 'new' / 'load.csv').open() as file:
        assert list(csv.reader(file))[1:] == [['a.urdf', '0.001235'], ['b.urdf', '2']]


ARGUMENTS = ('bench', 'peers', '--peers', 'ours', '--count', '2', '--json')


def ik_bench_peers(folder, path):
    """Run as a process in a folder, with the package from a path."""
    return subprocess.run(
        [sys.executable, '-m', 'ik_core', *ARGUMENTS],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': python_path(path), 'NUMBA_DISABLE_JIT': '1'},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_package_says_where_the_experiments_are(tmp_path):
    shutil.copytree(ROOT / 'ik_core', tmp_path / 'ik_core')
    done = ik_bench_peers(tmp_path, tmp_path)
    assert done.returncode == 2
    assert 'runs in a clone' in done.stderr
    assert 'folder benchmark' in done.stderr
    assert done.stderr.count('\n') == 1


def test_the_peers_run_from_any_folder(tmp_path):
    pytest.importorskip('pinocchio')
    if not load.example_robots():
        pytest.skip('example-robot-data is not installed')
    done = ik_bench_peers(tmp_path, ROOT)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)['peers']
    over_all = [row for row in rows if row['arm'] == 'all']
    assert {row['peer'] for row in over_all} == {'ours'}
    assert all(row['reached_at_1e-6_percent'] == 100.0 for row in over_all)
