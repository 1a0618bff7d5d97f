"""What the papers' experiments share: claims, tables, the page, what `ik bench` does with them."""

import argparse
import csv
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from support.paper_results import RESULTS, rows_of, table_of
from support.places import ROOT

from ik_core.bench import BENCHMARKS, papers
from ik_core.bench.papers import page
from ik_core.bench.papers.claims import Claim, claim_rows, exponent, markdown, rises
from ik_core.cli import bench as command
from ik_core.cli.main import main

CLAIMS = [Claim('a | b (Fig. 1)', '1.5', '2', True), Claim('c', 'few', 'many', False)]


class FakeExperiment:
    """An experiment of two rows, with one claim about them."""

    @staticmethod
    def run(arguments):
        return [{'x': 1, 'y': 2.0}, {'x': arguments.count, 'y': 4.0}]

    @staticmethod
    def claims(rows):
        return [Claim('y doubles', 'x 2', f'x {rows[1]["y"] / rows[0]["y"]:g}', True)]

    @staticmethod
    def draw(rows):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().plot([row['x'] for row in rows], [row['y'] for row in rows])
        return figure


@pytest.fixture
def fake(monkeypatch):
    """There are two experiments: `fake`, and `moving`, which needs motion capture."""
    monkeypatch.setattr(papers, 'EXPERIMENTS', {'fake': 'of nobody', 'moving': 'of bodies'})
    monkeypatch.setattr(papers, 'NEED_MOCAP', frozenset({'moving'}))
    monkeypatch.setattr(command, '_experiment', lambda name: FakeExperiment)
    monkeypatch.delenv('IK_MOCAP_DIR', raising=False)


def test_a_claim_is_a_line_of_four_columns():
    assert claim_rows(CLAIMS)[1] == {
        'claim': 'c',
        'theirs': 'few',
        'ours': 'many',
        'holds': 'no',
    }
    lines = markdown(CLAIMS).splitlines()
    assert lines[0] == '| claim | theirs | ours | holds |'
    assert lines[2:] == ['| a \\| b (Fig. 1) | 1.5 | 2 | yes |', '| c | few | many | no |']


@pytest.mark.parametrize(
    ('values', 'by', 'answer'),
    [
        ([3, 2, 2, 1], 0.0, False),
        ([3, 2, 2.1, 1], 0.0, True),
        ([3, 2, 2.1, 1], 0.1, False),
        ([1], 0.0, False),
    ],
)
def test_rises_sees_any_rise(values, by, answer):
    assert rises(values, by) is answer


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
    assert page.filled(text, tmp_path) == expected
    file = tmp_path / 'page.md'
    file.write_text(text)
    assert page.main([str(file), str(tmp_path)]) == 0
    assert file.read_text() == expected


def test_a_page_that_is_not_there_is_refused(tmp_path, capsys):
    assert page.main([str(tmp_path / 'none.md'), str(tmp_path)]) == 2
    assert 'usage' in capsys.readouterr().err


def test_the_page_of_the_project_has_the_tables_of_its_results():
    text = (ROOT / 'docs' / 'papers.md').read_text(encoding='utf-8')
    assert page.filled(text, RESULTS) == text
    assert {block[2] for block in page.BLOCK.finditer(text)} == set(papers.EXPERIMENTS)


@pytest.mark.parametrize('name', sorted(papers.EXPERIMENTS))
def test_the_results_in_the_tree_are_whole_and_small(name):
    for suffix in ('.csv', '.svg', '_claims.csv', '_claims.md'):
        assert (RESULTS / f'{name}{suffix}').stat().st_size < 300_000
    ElementTree.parse(RESULTS / f'{name}.svg')
    text = (ROOT / 'docs' / 'papers.md').read_text(encoding='utf-8')
    assert f'../benchmark/papers/{name}.svg' in text


@pytest.mark.parametrize('name', sorted(papers.EXPERIMENTS))
def test_the_claims_in_the_tree_follow_from_the_rows_in_the_tree(name):
    """What is said, and whether it holds; our numbers were said before the rows were rounded."""
    said = claim_rows(command._experiment(name).claims(rows_of(name)))
    for line, written in zip(said, table_of(f'{name}_claims'), strict=True):
        for column in ('claim', 'theirs', 'holds'):
            assert line[column] == written[column]


@pytest.mark.parametrize('name', sorted(papers.EXPERIMENTS))
def test_every_experiment_has_its_three_functions(name):
    module = command._experiment(name)
    assert callable(module.run)
    assert callable(module.claims)
    assert callable(module.draw)
    assert name not in BENCHMARKS


@pytest.mark.usefixtures('fake')
def test_an_experiment_prints_its_claims_and_writes_all_of_it(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    assert main(['bench', 'fake', '--count', '3', '--out', str(tmp_path / 'new')]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ['claim', 'theirs', 'ours', 'holds'],
        ['y', 'doubles', 'x', '2', 'x', '2', 'yes'],
    ]
    names = {path.name for path in (tmp_path / 'new').iterdir()}
    assert names == {'fake.csv', 'fake.svg', 'fake.png', 'fake_claims.csv', 'fake_claims.md'}
    with (tmp_path / 'new' / 'fake.csv').open() as file:
        assert list(csv.reader(file)) == [['x', 'y'], ['1', '2'], ['3', '4']]
    with (tmp_path / 'new' / 'fake_claims.csv').open() as file:
        assert list(csv.reader(file))[1] == ['y doubles', 'x 2', 'x 2', 'yes']


@pytest.mark.usefixtures('fake')
def test_a_folder_that_can_not_be_made_is_told_before_anything_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, '_run_experiment', None)  # not called
    (tmp_path / 'file').touch()
    assert main(['bench', 'fake', '--out', str(tmp_path / 'file' / 'new')]) == 2
    assert str(tmp_path / 'file') in capsys.readouterr().err


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
    assert data['claims'][0]['holds'] == 'yes'


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


def test_the_papers_run_only_by_name():
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    names = parser.parse_args(['bench']).names
    assert not set(names) & {papers.GROUP, *papers.EXPERIMENTS}
