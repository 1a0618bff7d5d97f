# SPDX-License-Identifier: Apache-2.0
"""Kernels of one source, and those of users, which numba compiles and keeps."""

import ast

import pytest
from support.fresh_python import copy_of_core, needs_numba, run
from support.places import ROOT

from ik_core.kernels.sources import sources

CORE = ROOT / 'ik_core'
SOURCES = sources(CORE)


@pytest.fixture
def copy(tmp_path):
    """A copy of the core, to be edited."""
    return copy_of_core(tmp_path)


def names_read(function):
    body = ast.Module(function.body, [])
    return {n.id for n in ast.walk(body) if isinstance(n, ast.Name)}


def is_kernel(node):
    names = 'kernel', 'inline_kernel'
    return isinstance(node, ast.FunctionDef) and any(
        getattr(getattr(d, 'func', d), 'id', '') in names for d in node.decorator_list
    )


def has_kernels(path):
    return path.relative_to(CORE).as_posix() in SOURCES


def kernel_files():
    return [path for path in sorted(CORE.rglob('*.py')) if has_kernels(path)]


@pytest.mark.parametrize('path', kernel_files(), ids=lambda p: p.stem)
def test_a_constant_of_a_kernel_is_in_a_file_that_the_library_is_made_of(path):
    """A constant of another file is frozen into the compiled kernel: its file has to count."""
    tree = ast.parse(path.read_text())
    known = templates(tree)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    kernels = [n for n in functions if is_kernel(n) or n.name in known]
    read = set().union(*(names_read(node) for node in kernels))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1]
            for alias in node.names:
                module = base / f'{(node.module or alias.name).replace(".", "/")}.py'
                name = alias.asname or alias.name
                if name in read and name not in ('Array', 'IntArray'):
                    assert has_kernels(module), f'{name} of {module.name}'


def templates(tree):
    """The names of the functions of a file of which `with_kernels` makes kernels."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.args]
    made = [n.args[0] for n in calls if getattr(n.func, 'id', None) == 'with_kernels']
    return {node.id for node in made if isinstance(node, ast.Name)}


COPIES = """
from .kernels.jit import kernel, with_kernels

@kernel
def one(x):
    return x + 1

@kernel
def two(x):
    return x + 2

def _twice(x):
    return f(f(x))

g = with_kernels(_twice, 'twice_one', f=one)
h = with_kernels(_twice, 'twice_two', f=two)
"""


def test_copies_of_a_kernel_without_numba(copy):
    (copy / 'ik_core' / 'copies.py').write_text(COPIES)
    code = 'from ik_core.copies import g, h; print(g(1), h(1), g.__name__, h.__qualname__)'
    assert run(code, copy, NUMBA_DISABLE_JIT='1') == '3 5 twice_one twice_two'


VARIANTS = """
from .kernels.jit import kernel, substitute

@kernel
def one(x):
    return x + 1

@kernel
def two(x):
    return x + 2

@kernel
def apart(x):
    return 10 * x

@kernel
def between(x):
    return apart(one(x))

@kernel
def top(x):
    return between(x) + apart(1)

changed = substitute(top, 'by_two', {one: two})
kept = substitute(top, 'by_two', {two: one})
"""

USE_VARIANTS = """
from ik_core.variants import *
below = getattr(changed, 'py_func', changed).__globals__
print(top(1), changed(1), kept is top, below['apart'] is apart, below['between'] is between)
"""


@pytest.mark.thorough
def test_a_variant_has_other_kernels_also_below_those_that_it_calls(copy):
    (copy / 'ik_core' / 'variants.py').write_text(VARIANTS)
    expected = '30 40 True True False'
    assert run(USE_VARIANTS, copy, NUMBA_DISABLE_JIT='1') == expected
    assert run(USE_VARIANTS, copy) == expected
    assert run(USE_VARIANTS, copy) == expected  # from the cache


USERS = """
from ik_core.kernels.jit import kernel
from ik_core.maths.rotations import is_rigid
from other import below

@kernel
def mine(frame):
    return below() + 10 * is_rigid(frame, 1.0, 1e-6)
"""

CALL = """
import numpy as np
from mine import mine
answer, stats = mine(np.eye(4)), mine._call.stats
print(answer, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@needs_numba
def test_a_kernel_of_a_user_is_kept_until_it_or_one_that_it_calls_is_edited(tmp_path):
    home = {'XDG_CACHE_HOME': str(tmp_path / 'cache'), 'PYTHONPATH': f'{tmp_path}:{ROOT}'}
    other = 'from ik_core.kernels.jit import kernel\n@kernel\ndef below():\n    return {}\n'
    (tmp_path / 'mine.py').write_text(USERS)
    (tmp_path / 'other.py').write_text(other.format(1))
    assert run(CALL, **home) == '11 0 1'
    assert run(CALL, **home) == '11 1 0'
    (tmp_path / 'other.py').write_text(other.format(2))
    assert run(CALL, **home) == '12 0 1'
    folder = tmp_path / 'cache' / 'ik_core'
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())} == {0o700}


@needs_numba
def test_a_home_that_can_not_be_written_costs_time_only(tmp_path):
    home = {'XDG_CACHE_HOME': '/dev/null/x', 'PYTHONPATH': f'{tmp_path}:{ROOT}'}
    (tmp_path / 'mine.py').write_text(USERS)
    other = 'from ik_core.kernels.jit import kernel\n@kernel\ndef below():\n    return 1\n'
    (tmp_path / 'other.py').write_text(other)
    code = 'import numpy as np; from mine import mine; print(mine(np.eye(4)))'
    assert run(code, **home) == '11'


@needs_numba
@pytest.mark.parametrize('own', [None, 'own'])
def test_other_users_of_numba_keep_their_cache(tmp_path, own):
    environment = {} if own is None else {'NUMBA_CACHE_DIR': str(tmp_path / own)}
    code = (
        'import numba\n'
        'def abs_of(x): return abs(x)\n'
        'before = numba.config.CACHE_DIR\n'
        'from ik_core.kernels.jit import kernel\n'
        'f = kernel(abs_of)\n'
        'f(1)\n'
        'print(numba.config.CACHE_DIR == before)\n'
    )
    home = {'HOME': str(tmp_path), 'XDG_CACHE_HOME': str(tmp_path / 'xdg')}
    assert run(code, **home, **environment) == 'True'
