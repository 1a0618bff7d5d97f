"""`ik compile`: each solver once, by processes that fill the cache."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.fresh_python import needs_numba

from ik_core.batch.rows import put_answers
from ik_core.cli import compile as command
from ik_core.cli.main import main
from ik_core.solvers import SOLVERS
from ik_core.solvers.damped_search.schedule import solve_many
from ik_core.tracking.governor import advance


@needs_numba
def test_each_named_solver_is_compiled_and_its_time_told(capfd):
    assert main(['compile', 'jacobian_transpose', 'projected_gradient']) == 0
    lines = capfd.readouterr().out.splitlines()
    told = [re.fullmatch(r'(\d)/2 (\w+): [\d.]+ s', line).groups() for line in lines]
    assert [number for number, _ in told] == ['1', '2']
    assert {name for _, name in told} == {'jacobian_transpose', 'projected_gradient'}


def test_all_solvers_batches_and_the_tracker_are_compiled_the_slowest_first(monkeypatch, capsys):
    submitted = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, processes, mp_context):
            super().__init__(1)

        def submit(self, function, name, constraints):
            submitted.append(name)
            return super().submit(lambda: (name, 0.0))

    monkeypatch.setattr(command, 'ProcessPoolExecutor', Pool)
    monkeypatch.setattr(command, 'COMPILED', True)
    assert main(['compile']) == 0
    assert sorted(submitted) == sorted([*SOLVERS, 'batches', 'tracker'])
    assert submitted[0] == 'levenberg_marquardt'
    assert submitted[-2:] == ['closed_form', 'tracker']
    assert f'{len(submitted)}/{len(submitted)} ' in capsys.readouterr().out


@needs_numba
@pytest.mark.parametrize(
    ('name', 'kernel'), [('tracker', advance), ('batches', solve_many), ('batches', put_answers)]
)
def test_once_they_are_compiled_nothing_more_is(name, kernel):
    command._compile(name, False)
    compiled = len(kernel.signatures)
    assert compiled > 0
    command._compile(name, False)
    assert len(kernel.signatures) == compiled


def test_without_numba_there_is_nothing_to_compile(monkeypatch, capsys):
    monkeypatch.setattr(command, 'COMPILED', False)
    assert main(['compile']) == 0
    assert 'nothing to compile' in capsys.readouterr().out


def test_an_unknown_solver_is_bad_input(capsys):
    assert main(['compile', 'gauss']) == 2
    assert "unknown solver 'gauss'" in capsys.readouterr().err
