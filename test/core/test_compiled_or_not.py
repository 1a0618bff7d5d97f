# SPDX-License-Identifier: Apache-2.0
"""Compiled, uncompiled and without numba: the same results."""

import json

import pytest
from support.fresh_python import needs_numba, run

CASES = ('panda', 'ur5e', 'scara out of reach', 'behind a limit', 'two arms', 'Y',
         'axis and position', 'mimic', 'frozen', 'pinned', 'masked out of reach')  # fmt: skip

SOLVE = """
import json, sys
{prepare}
import ik_core as ik
from ik_core.kernels import jit
from support.solver_cases import CASES
results = {{'compiled': jit.COMPILED}}
for solver in ik.SOLVERS:
    for name in {cases!r}:
        case = CASES[name]()
        options = dict(restarts=2, max_iterations=60, random_seed=4)
        result = ik.solve(case.problem, case.q0, solver=solver, **options)
        results[solver + ' ' + name] = [
            result.q.tolist(), result.cost, result.status.name, result.restarts]
print(json.dumps(results))
"""


def solves(prepare='', *, cases, **environment):
    return json.loads(run(SOLVE.format(prepare=prepare, cases=cases), **environment))


@needs_numba
@pytest.mark.parametrize(
    'cases', [CASES[:3], pytest.param(CASES[3:], marks=pytest.mark.thorough)], ids=', '.join
)
def test_whole_solves_are_the_same_compiled_uncompiled_and_without_numba(cases):
    compiled = solves(cases=cases)
    assert compiled.pop('compiled')
    plain = solves(cases=cases, NUMBA_DISABLE_JIT='1')
    assert not plain.pop('compiled')
    assert plain.keys() == compiled.keys()
    for name, (q, cost, status, restarts) in compiled.items():
        assert plain[name][0] == pytest.approx(q, abs=1e-9), name
        assert plain[name][1] == pytest.approx(cost, rel=1e-6, abs=1e-12), name
        assert plain[name][2:] == [status, restarts], name
    # the same functions once more: a few cases show that all of them are there
    missing = solves('sys.modules["numba"] = None', cases=cases[:3], IK_KERNELS='off')
    assert not missing.pop('compiled')
    assert len(missing) >= 3 * 10
    assert missing == {name: plain[name] for name in missing}


def test_without_numba_a_kernel_is_the_plain_function():
    code = (
        'import sys; sys.modules["numba"] = None\n'
        'from ik_core.kernels import jit\n'
        'f = lambda x: x\n'
        'print(jit.COMPILED, jit.kernel(f) is f)\n'
    )
    assert run(code, IK_KERNELS='off') == 'False True'
    assert run(code.split('\n', 1)[1], NUMBA_DISABLE_JIT='1') == 'False True'


@needs_numba
def test_a_long_compilation_is_reported_at_a_terminal():
    code = """
import io, sys, threading
from ik_core.kernels import numba_backend

class Terminal(io.StringIO):
    written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.written.set()
        return super().write(text)

numba_backend.REPORTED_AFTER = 0.0
sys.stderr = Terminal()
with numba_backend.reported('run_new'):
    Terminal.written.wait(60.0)
said, sys.stderr = sys.stderr.getvalue(), io.StringIO()
with numba_backend.reported('run_new'):
    assert threading.active_count() == 1  # nothing waits to report
print(said)
"""
    assert run(code).startswith('ik: numba compiles run_new, once')
