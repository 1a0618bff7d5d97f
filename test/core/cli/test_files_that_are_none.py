# SPDX-License-Identifier: Apache-2.0
"""Folders, and files that are not there, in the place of robots, recordings and outputs."""

import re

import pytest

from ik_core.cli.main import main


@pytest.mark.parametrize('command', [['info'], ['check'], ['solve', '--xyz', '1', '0', '0'],
                                     ['reach', '--out', 'map.npz']])  # fmt: skip
@pytest.mark.parametrize('name', ['arms', 'arms/', './arms', '.'])
def test_a_folder_in_the_place_of_a_robot(command, name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'arms').mkdir()
    assert main([command[0], name, *command[1:]]) == 2
    error = capsys.readouterr().err
    assert re.fullmatch(r"ik: '.*' is a directory: give the URDF file in it\n", error)


def test_a_folder_named_as_a_shipped_robot_does_not_hide_it(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'panda').mkdir()
    assert main(['info', 'panda']) == 0
    (tmp_path / 'scara').write_text('no robot')
    assert main(['info', 'scara']) == 2


FILES = {
    'check': ['check', 'scara', '--goals', '1', '--yaml'],
    'linkage': ['linkage', '3', '--out'],
    'poses': ['solve', 'scara', '--poses', 'poses.csv', '--out'],
    'reach': ['reach', 'scara', '--step', '0.3', '--out'],
}


@pytest.mark.parametrize('command', FILES)
def test_where_nothing_can_be_written_is_told_before_any_work(
    command, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'poses.csv').write_text('x,y,z\n0.3,0.2,0.1\n')
    (tmp_path / 'there').mkdir()
    assert main([*FILES[command], 'there']) == 2
    assert capsys.readouterr().err == 'ik: there is a folder: give the file to be written\n'
    assert main([*FILES[command], 'no/x.csv']) == 2
    captured = capsys.readouterr()
    assert captured.err == 'ik: no/x.csv: there is no folder no\n'
    assert not captured.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ['poses.csv', 'there']


def test_a_file_that_is_not_there_is_told_by_its_name(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(['replay', 'gone.npz']) == 2
    assert capsys.readouterr().err == "ik: 'gone.npz': No such file or directory\n"
    (tmp_path / 'text.npz').write_text('no archive')
    assert main(['replay', 'text.npz']) == 2
    assert 'text.npz is not a recording' in capsys.readouterr().err
