"""Kernels that only kernels call are parts of those, with the same results as without parts; those
that Python calls are loaded without what only others would link."""

import shutil

import pytest
from support.fresh_python import copy_of_core, needs_numba, run


@pytest.fixture
def copy(tmp_path):
    """A copy of the core, to be added to."""
    return copy_of_core(tmp_path)


CHAIN = """
from ._jit import inlined, inner, njit

THREE = 3

@inner
def lowest(x, n):
    return 10 * x + n

@inlined
def low(x, n):
    return lowest(x, n) + lowest(x, 2)

@inner
def above(x):
    return low(x, THREE) + low(x, 4)

@njit
def top(x):
    return above(x) - lowest(x, 5)

@njit
def other(x):
    return low(x, 7)

@njit
def whole(x):
    return top(x) + 100
"""

USE_CHAIN = """
from ik_core import _parts
from ik_core.chain import *
from ik_core.chain import above, low, lowest
print(top(1), {more}*(len(k.signatures) for k in (lowest, low, above)))
print(_parts.KNOWN, *(sum(k.stats.cache_hits.values()) for k in (top, lowest, low)))
for k in (top, lowest, low):
    print(*(type(one.library).__name__ for one in k.overloads.values()))
"""


@needs_numba
def test_inner_kernels_are_parts_of_their_callers_also_from_the_cache(copy, tmp_path):
    source, home = copy / 'ik_core' / 'chain.py', {'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    source.write_text(CHAIN)
    kinds = '_Entry\n_Part\n_Part'
    # each was compiled for one kind of arguments, though constants are handed on
    assert run(USE_CHAIN.format(more=''), copy, **home) == f'36 1 1 1\nTrue 0 0 0\n{kinds}'
    assert run(USE_CHAIN.format(more=''), copy, **home) == '36 0 0 0\nTrue 1 0 0\n_Entry'
    # what `other` calls comes from the cache, with what that calls in it
    last = run(USE_CHAIN.format(more='other(1), '), copy, **home)
    assert last == '36 29 0 1 0\nTrue 1 0 1\n_Entry\n\n_Part'


LINK = """
from ik_core.chain import top, whole
print(top(1))
(library,) = (one.library for one in top.overloads.values())
print(library._unread is not None, *({more}))
print(library._unread is not None, sum(top.stats.cache_hits.values()))
"""


@pytest.mark.thorough
@needs_numba
def test_what_others_link_of_an_entry_is_read_from_the_cache_when_one_does(copy, tmp_path):
    source, home = copy / 'ik_core' / 'chain.py', {'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    source.write_text(CHAIN)
    assert run(LINK.format(more=''), copy, **home) == '36\nFalse\nFalse 0'
    assert run(LINK.format(more=''), copy, **home) == '36\nTrue\nTrue 1'
    assert run(LINK.format(more='whole(1), whole(2)'), copy, **home) == '36\nTrue 136 166\nFalse 1'


USE_TOP = 'from ik_core.chain import top; print(top(1))'


@pytest.fixture(scope='module')
def compiled(tmp_path_factory):
    """A copy of the core with kernels beside its own, and the cache of these."""
    place = copy_of_core(tmp_path_factory.mktemp('compiled'))
    (place / 'ik_core' / 'chain.py').write_text(CHAIN)
    assert run(USE_TOP, place, XDG_CACHE_HOME=str(place / 'cache')) == '36'
    return place


@pytest.mark.thorough
@needs_numba
@pytest.mark.parametrize('suffix', ['.nbi', '.nbc'])
@pytest.mark.parametrize('size', [0, 100])
def test_files_of_the_cache_that_are_cut_off_cost_time_only(compiled, tmp_path, suffix, size):
    cache = shutil.copytree(compiled / 'cache', tmp_path / 'cache')
    files = [path for path in cache.rglob('*' + suffix) if 'chain' in str(path)]
    assert len(files) == 4
    for path in files:
        path.write_bytes(path.read_bytes()[:size])
    assert run(USE_TOP, compiled, XDG_CACHE_HOME=str(cache)) == '36'


UNKNOWN_NUMBA = """
from numba.core.codegen import CPUCodeLibrary
kept = CPUCodeLibrary.serialize_using_object_code
del CPUCodeLibrary.serialize_using_object_code
import ik_core._jit
CPUCodeLibrary.serialize_using_object_code = kept
"""


NEWER_NUMBA = """
import numba
numba.version_info = numba.version_info._replace(short=(0, 69))
"""


@pytest.mark.thorough
@needs_numba
@pytest.mark.parametrize('unknown', [UNKNOWN_NUMBA, NEWER_NUMBA], ids=['otherwise', 'newer'])
def test_without_parts_kernels_are_the_same(copy, tmp_path, unknown):
    """As with a numba that is built otherwise, or newer than those that parts are made for."""
    (copy / 'ik_core' / 'chain.py').write_text(CHAIN)
    home = {'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    code = unknown + USE_CHAIN.format(more='')
    assert run(code, copy, **home).splitlines() == [
        '36 1 1 1', 'False 0 0 0', *3 * ['JITCodeLibrary']
    ]  # fmt: skip


@needs_numba
def test_versions_of_numba_that_have_parts():
    from ik_core._parts import is_known

    known = {
        version: is_known(version) for version in [(0, 55), (0, 56), (0, 68), (0, 69), (1, 0)]
    }
    assert list(known.values()) == [False, True, True, False, False], known
    assert not is_known((0, None))  # a build without a tag tells no version
