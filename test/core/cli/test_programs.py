# SPDX-License-Identifier: Apache-2.0
"""`ik view`, `ik node`, `ik demo`: arguments go through, and what is missing is said in a line."""

import ast
import sys
from types import ModuleType

import pytest
from support.places import ROOT

from ik_core.cli import programs
from ik_core.cli.main import main


@pytest.fixture
def program(monkeypatch):
    """`ik view` is a function here; its list has the arguments that it got."""
    got = []
    module = ModuleType('fake_program')
    module.main = lambda arguments: got.append((arguments, sys.argv[0])) or module.code
    module.code = 3
    monkeypatch.setitem(sys.modules, 'fake_program', module)
    monkeypatch.setitem(programs.PROGRAMS, 'view', ('fake_program:main', 'a test'))
    monkeypatch.setattr(sys, 'argv', ['ik'])
    return module, got


@pytest.mark.parametrize('given', [[], ['--help'], ['panda', '-p', 'x:=-1e-3', '--', '--json']])
def test_arguments_go_through_as_they_are(program, given):
    assert main(['view', *given]) == 3
    assert program[1] == [(given, 'ik view')]


def test_a_program_that_returns_nothing_has_ended_well(program):
    program[0].code = None
    assert main(['view']) == 0


@pytest.mark.parametrize(
    ('name', 'missing', 'remedy'),
    [
        ('view', 'viser.uplot', "pip install 'viser~=1.1' pycollada"),
        ('view', 'rclpy', 'source a ROS 2'),
        ('view', 'sensor_msgs', 'source a ROS 2'),
        ('view', 'ik_viewer', 'it is not part of this installation'),
        ('node', 'rclpy', 'source a ROS 2'),
        ('demo', 'yaml', 'source a ROS 2'),
    ],
)
def test_what_is_missing_is_said_in_a_line(name, missing, remedy, monkeypatch, capsys):
    monkeypatch.setitem(programs.PROGRAMS, name, (f'{missing}.nowhere:main', 'a test'))
    for module in (missing, missing.partition('.')[0]):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, 'argv', ['ik'])
    assert main([name]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f'ik: `ik {name}` needs {missing.partition(".")[0]}')
    assert remedy in error
    assert error.count('\n') == 1


def test_help_lists_every_program_with_a_line(capsys):
    with pytest.raises(SystemExit):
        main(['--help'])
    text = ' '.join(capsys.readouterr().out.split())
    for name, (_, summary) in programs.PROGRAMS.items():
        assert f'{name} {summary}' in text


@pytest.mark.parametrize('name', programs.PROGRAMS)
def test_every_program_is_where_the_table_says(name):
    module, _, function = programs.PROGRAMS[name][0].partition(':')
    source = (ROOT / f'{module.replace(".", "/")}.py').read_text(encoding='utf-8')
    (found,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    assert len(found.args.args) == 1
