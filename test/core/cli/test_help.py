# SPDX-License-Identifier: Apache-2.0
"""Help: every command has examples, every example is understood, and shells complete them."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig

import pytest
from support.places import ROOT
from support.robots import python_path

from ik_core.cli.main import COMMANDS, _parser, _shield_negative_numbers, main
from ik_core.cli.programs import PROGRAMS, VIEWER, viewer_remedy
from ik_core.solvers import SOLVERS

NAMES = list(COMMANDS)


def help_of(capsys, *argv):
    with pytest.raises(SystemExit) as ended:
        main([*argv, '--help'])
    assert ended.value.code == 0
    return capsys.readouterr().out


def examples(text):
    """The arguments of the examples in a help text."""
    lines = text.partition('\nexamples:\n')[2].replace('\\\n', ' ').splitlines()
    found = [line.partition('#')[0].partition(' > ')[0] for line in lines]
    return [shlex.split(line)[1:] for line in found if line.startswith('    ik ')]


@pytest.mark.parametrize('argv', [(), *((name,) for name in NAMES)], ids=['ik', *NAMES])
def test_every_example_of_the_help_is_understood(argv, capsys):
    found = examples(help_of(capsys, *argv))
    assert found
    for arguments in found:
        if arguments[0] not in PROGRAMS:
            assert argv in ((), (arguments[0],))
            parsed = _parser().parse_args(_shield_negative_numbers(arguments))
            assert callable(parsed.run)


@pytest.mark.parametrize('name', NAMES)
def test_every_option_is_explained_and_fits_a_terminal(name, capsys):
    (commands,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    for action in commands.choices[name]._actions:
        assert action.help, action.option_strings
    assert max(map(len, help_of(capsys, name).splitlines())) <= 99


CASES = {
    'ik so': {'solve'},
    'ik info sca': {'scara'},
    'ik view iiw': {'iiwa14'},
    'ik solve panda --tip panda_hand': {'panda_hand', 'panda_hand_tcp'},
    'ik solve ur5e --xyz 1 2 3 --frozen wrist_1': {'wrist_1_joint'},
    'ik solve panda --solver penal': {'penalty'},
    'ik bench scaling': {'scaling', 'scaling_papers'},
    'ik solve no_such.urdf --tip ': set(),
}


# What shells ask for, line after line: one process for all
PROGRAM = """
import io, json, os, sys
import argcomplete
from ik_core.cli.main import _parser

class Answers(io.StringIO):
    def write(self, text):  # bytes before argcomplete 3
        super().write(text if isinstance(text, str) else text.decode())

for line in json.loads(sys.argv[1]):
    os.environ.update(COMP_LINE=line, COMP_POINT=str(len(line)))
    answers = Answers()
    try:
        argcomplete.autocomplete(_parser(), exit_method=sys.exit, output_stream=answers)
    except SystemExit:
        print(json.dumps(answers.getvalue().split(os.environ['_ARGCOMPLETE_IFS'])))
"""


def asked(line, **more):
    """The environment in which argcomplete answers a shell."""
    return {
        **os.environ,
        '_ARGCOMPLETE': '1',
        '_ARGCOMPLETE_IFS': '|',
        'COMP_LINE': line,
        'COMP_POINT': str(len(line)),
        'NUMBA_DISABLE_JIT': '1',
        'PYTHONPATH': python_path(ROOT),
        **more,
    }


def test_a_shell_completes_robots_links_joints_and_solvers(tmp_path):
    pytest.importorskip('argcomplete')
    command = [sys.executable, '-c', PROGRAM, json.dumps(list(CASES))]
    done = subprocess.run(
        command, env=asked(''), cwd=tmp_path, timeout=300, capture_output=True, text=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    stripped = [{answer.strip() for answer in answers if answer.strip()} for answers in found]
    assert dict(zip(CASES, stripped, strict=True)) == CASES


def test_the_command_itself_answers_the_shell(tmp_path):
    pytest.importorskip('argcomplete')
    file = tmp_path / 'answers'
    environment = asked('ik check iiw', _ARGCOMPLETE_STDOUT_FILENAME=str(file))
    command = [sys.executable, '-m', 'ik_core']
    subprocess.run(command, env=environment, cwd=tmp_path, timeout=300, check=False)
    assert 'iiwa14' in re.split(r'[\s|]+', file.read_text())
    marked = (ROOT / 'ik_core' / '__main__.py').read_text()[:100]
    assert 'PYTHON_ARGCOMPLETE_OK' in marked  # for global completion


def test_the_solvers_are_all_named_in_the_help(capsys):
    text = ' '.join(help_of(capsys, 'solve').split())
    assert ', '.join(SOLVERS) in text


def test_where_python_refuses_pip_the_viewer_is_advised_in_a_virtual_environment(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(sysconfig, 'get_path', lambda name: str(tmp_path))
    monkeypatch.setattr(sys, 'base_prefix', sys.prefix)
    assert viewer_remedy() == VIEWER
    (tmp_path / 'EXTERNALLY-MANAGED').touch()
    assert viewer_remedy().startswith('this Python refuses pip')
    assert f'~/viewer/bin/{VIEWER}' in viewer_remedy()
    monkeypatch.setattr(sys, 'base_prefix', '/elsewhere')
    assert viewer_remedy() == VIEWER
