"""`ik compile`: each solver once, by processes that fill the cache."""

import re

from support.fresh_python import needs_numba

from ik_core.cli import compile as command
from ik_core.cli.main import main


@needs_numba
def test_each_named_solver_is_compiled_and_its_time_told(capfd):
    assert main(['compile', 'jacobian_transpose', 'projected_gradient']) == 0
    lines = capfd.readouterr().out.splitlines()
    told = [re.fullmatch(r'(\d)/2 (\w+): [\d.]+ s', line).groups() for line in lines]
    assert [number for number, _ in told] == ['1', '2']
    assert {name for _, name in told} == {'jacobian_transpose', 'projected_gradient'}


def test_without_numba_there_is_nothing_to_compile(monkeypatch, capsys):
    monkeypatch.setattr(command, 'COMPILED', False)
    assert main(['compile']) == 0
    assert 'nothing to compile' in capsys.readouterr().out


def test_an_unknown_solver_is_bad_input(capsys):
    assert main(['compile', 'gauss']) == 2
    assert "unknown solver 'gauss'" in capsys.readouterr().err
