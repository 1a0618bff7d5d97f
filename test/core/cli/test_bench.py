"""`ik bench`: which benchmarks run, how rows are printed and written, and where the peers are."""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys

import pytest
from support.places import ROOT
from support.robots import python_path

from ik_core.bench import BENCHMARKS, load
from ik_core.cli import bench
from ik_core.cli.main import main

ROWS = [{'file': 'a.urdf', 'median_s': 0.00123456}, {'file': 'b.urdf', 'median_s': 2.0}]


@pytest.fixture
def measured(monkeypatch):
    """`ik bench load` measures ROWS."""
    monkeypatch.setattr(load, 'run', lambda arguments: ROWS)


def test_what_installs_is_measured_only_when_it_is_named():
    parser = argparse.ArgumentParser()
    bench.add_parser(parser.add_subparsers())
    names = parser.parse_args(['bench']).names
    assert names == [name for name in BENCHMARKS if name != 'peers']
    assert parser.parse_args(['bench', 'peers']).names == ['peers']


@pytest.mark.parametrize(
    ('argv', 'said'), [(['no_such'], "'no_such'"), (['load', '--count', '0'], '--count 0')]
)
def test_nonsense_is_refused_before_anything_is_measured(argv, said, capsys, monkeypatch):
    monkeypatch.setattr(load, 'run', None)
    assert main(['bench', 'load', *argv]) == 2
    assert said in capsys.readouterr().err


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


def test_an_installed_package_says_that_the_peers_need_a_clone(tmp_path):
    shutil.copytree(ROOT / 'ik_core', tmp_path / 'ik_core')
    done = ik_bench_peers(tmp_path, tmp_path)
    assert done.returncode == 2
    assert 'runs in a clone' in done.stderr
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
