"""A preparation says whether its compiler compiles, or finds all in the cache."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ik_core._compiling import Compiling
from ik_core.solvers import readiness
from ik_core.solvers.readiness import COMPILER, PACKAGE, Kernels, Preparation

PATIENCE = 60.0
TELL = "print('compiling', flush=True)\n"


def prepared(monkeypatch, program):
    """A preparation that is over, by another compiler."""
    made = []
    monkeypatch.setattr(readiness, 'COMPILED', True)
    monkeypatch.setattr(readiness, 'COMPILER', program)
    monkeypatch.setattr(readiness, 'make_ready', made.append)
    preparation = Preparation(Kernels('bfgs'))
    deadline = time.monotonic() + PATIENCE
    while not preparation.done:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return preparation, made


@pytest.mark.parametrize(('program', 'compiles'), [('', False), (TELL, True)])
def test_it_compiles_where_its_compiler_says_so(monkeypatch, program, compiles):
    preparation, made = prepared(monkeypatch, program)
    assert (preparation.compiles, preparation.error) == (compiles, None)
    assert made == [Kernels('bfgs')]


def test_what_goes_wrong_is_told(monkeypatch):
    preparation, made = prepared(monkeypatch, f"{TELL}raise SystemExit('no room')\n")
    assert 'compiling bfgs failed: no room' in str(preparation.error)
    assert made == []


def test_the_first_kernel_that_is_not_in_the_cache_is_told_once():
    said, compiling = [], Compiling()
    compiling.at_first = lambda: said.append('compiling')
    compiling.begin()
    compiling.end()
    assert said == [], 'it was loaded'
    for _ in range(2):
        compiling.not_in_the_cache()
    assert said == ['compiling']


def test_the_events_of_numba_tell_compiling_from_loading(monkeypatch):
    event = pytest.importorskip('numba.core.event')
    from ik_core import _compiling
    from ik_core._jit import LOADING

    said = []
    monkeypatch.setattr(_compiling.compiling, 'at_first', lambda: said.append('compiling'))
    ours = SimpleNamespace(py_func=readiness.two_joints)
    others = SimpleNamespace(py_func=time.sleep)
    for kind, dispatcher in ((LOADING, ours), ('numba:compile', others)):
        with event.trigger_event(kind, data={'dispatcher': dispatcher}):
            assert said == []
    with event.trigger_event('numba:compile', data={'dispatcher': ours}):
        assert said == ['compiling']


@pytest.fixture
def compiler_beside(tmp_path, monkeypatch):
    """Starts the program that compiles, with an empty cache; it ends with the test."""
    pytest.importorskip('numba')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    command = [sys.executable, '-c', COMPILER, str(PACKAGE.parent), 'bfgs', '0']
    started = []

    def start():
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        return started[0]

    yield start
    for compiler in started:
        compiler.kill()
        compiler.communicate()


@pytest.mark.skipif(not Path('/proc/self/task').is_dir(), reason='no threads to be seen here')
def test_what_compiles_gives_way_and_what_loads_does_not(compiler_beside):
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    compiler = compiler_beside()
    threads = Path(f'/proc/{compiler.pid}/task')
    deadline = time.monotonic() + PATIENCE
    while len(list(threads.iterdir())) == 1:  # it has not begun to load
        assert time.monotonic() < deadline
    assert os.getpriority(os.PRIO_PROCESS, compiler.pid) == mine
    assert compiler.stdout.readline() == 'compiling\n'
    assert os.getpriority(os.PRIO_PROCESS, compiler.pid) == min(mine + 10, 19)


@pytest.mark.skipif(not hasattr(os, 'sched_setscheduler'), reason='no real-time priority here')
def test_a_node_with_real_time_priority_does_not_hand_it_on(compiler_beside):
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip('it takes a right that is missing here')
    try:
        compiler = compiler_beside()
    finally:
        os.sched_setscheduler(0, *before)
    assert compiler.stdout.readline() == 'compiling\n'
    assert os.sched_getscheduler(compiler.pid) == os.SCHED_OTHER
