"""A preparation says whether its compiler compiles, or finds all in the cache."""

import time
from types import SimpleNamespace

import pytest

from ik_core._compiling import Compiling
from ik_core.solvers import readiness
from ik_core.solvers.readiness import Kernels, Preparation

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
