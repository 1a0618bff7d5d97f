"""What compiling takes: on a terminal it is told, and no clock of ours counts it."""

import io
import os
import subprocess
import sys
import time
from types import FunctionType

import pytest
from support import robots
from support.fresh_python import needs_numba
from support.places import ROOT

from ik_core import _compiling, _jit
from ik_core._compiling import Compiling, compiling
from ik_core.optim.search import default_clock


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def now(monkeypatch):
    """The time, to be set: now[0] [s]."""
    time_now = [100.0]
    monkeypatch.setattr(_compiling.time, 'perf_counter', lambda: time_now[0])
    return time_now


def compile_two(it, now, seconds):
    """One kernel that needs another one, each for so long."""
    it.begin()
    it.begin()
    now[0] += seconds
    it.end()
    now[0] += seconds
    it.end()


def test_nested_kernels_count_once(now):
    it = Compiling()
    compile_two(it, now, 2.0)
    compile_two(it, now, 1.0)
    assert it.seconds == pytest.approx(6.0)


def test_a_terminal_sees_how_far_it_is_and_then_nothing_more(now, monkeypatch):
    monkeypatch.setattr(sys, 'stderr', Terminal())
    compile_two(Compiling(), now, 3.0)
    first, last = sys.stderr.getvalue().split('\r')[1:3]
    assert first.rstrip() == 'ik_core: compiling kernels, once for each version: 1 so far, 3 s'
    assert last == ' ' * 79


@pytest.mark.parametrize(
    ('stderr', 'seconds'), [(io.StringIO(), 9.0), (Terminal(), 0.1), (None, 9)]
)
def test_files_and_short_waits_see_nothing(now, monkeypatch, stderr, seconds):
    monkeypatch.setattr(sys, 'stderr', stderr)
    compile_two(Compiling(), now, seconds)
    assert stderr is None or stderr.getvalue() == ''


def kernel_of(module):
    """A new kernel that was never compiled, as if it stood in that module."""
    code = compile(f'def kernel_{time.perf_counter_ns()}(x): return x + 1.0', __file__, 'exec')
    return _jit.numba.njit(FunctionType(code.co_consts[0], {'__name__': module}))


@needs_numba
@pytest.mark.parametrize(('module', 'counts'), [('ik_core.maths', True), ('someone_else', False)])
def test_the_clock_stands_still_while_our_kernels_are_compiled(module, counts):
    kernel, before = kernel_of(module), compiling.seconds
    real, clock = time.perf_counter(), default_clock()
    assert kernel(1.0) == 2.0
    real, clock = time.perf_counter() - real, default_clock() - clock
    spent = compiling.seconds - before
    assert (spent > 0.0) == counts
    assert real - clock == pytest.approx(spent, abs=1e-3)


LOADED = """
import time
import ik_core as ik
from ik_core._compiling import compiling
goal = ik.PoseTask('tool0', [0.4, 0.1, 0.4], rpy=[0, 0, 0])
problem = ik.IkProblem(ik.load_urdf('ur5e'), [goal])
solver = ik.make_solver()
results = [solver.solve(problem) for _ in range(2)]
print(compiling.seconds, *(result.solve_time for result in results))
"""


def test_a_first_solve_does_not_count_what_loads_its_kernels():
    path = robots.python_path(ROOT)
    for _ in range(2):  # the first one may compile
        child = subprocess.run(
            [sys.executable, '-c', LOADED],
            env=os.environ | {'PYTHONPATH': path},
            capture_output=True,
            text=True,
            check=True,
        )
    loading, first, again = map(float, child.stdout.split())
    assert loading > 10.0 * first or loading == 0.0  # 0: nothing is compiled
    assert again <= first
