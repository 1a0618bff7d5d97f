"""A cache of kernels that is neither stale, nor in the way, nor needed."""

import ast
import importlib.util
import os
import shutil

import pytest
from support.fresh_python import copy_of_core, needs_numba, run
from support.places import ROOT

from ik_core import _jit
from ik_core.robot.limits import hash32

CORE = ROOT / 'ik_core'


@pytest.fixture
def copy(tmp_path):
    """A copy of the core, to be edited."""
    return copy_of_core(tmp_path)


def hash_of(copy):
    """The hash that the copy's own `_jit` computes."""
    spec = importlib.util.spec_from_file_location('copied_jit', copy / 'ik_core' / '_jit.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module._kernel_hash()


def append(path):
    path.write_text(path.read_text() + '\n# edited\n')


def test_the_cache_is_keyed_by_all_kernel_sources(copy):
    seen = {hash_of(copy)}
    assert seen == {_jit._kernel_hash()}
    kernels = [path for path in sorted((copy / 'ik_core').rglob('*.py')) if has_kernels(path)]
    assert {'rotations.py', 'kinematics.py', 'kernels.py', 'limits.py', 'linalg.py', 'layouts.py',
            'memory.py', 'decide.py', 'run.py'} <= {p.name for p in kernels}  # fmt: skip
    for path in kernels:
        append(path)
        seen.add(hash_of(copy))
    assert len(seen) == len(kernels) + 1
    append(copy / 'ik_core' / 'result.py')
    assert hash_of(copy) in seen


@needs_numba
def test_an_edited_callee_in_another_file_is_noticed(copy, tmp_path):
    head = 'from ._jit import njit\n'
    callee, caller = copy / 'ik_core' / 'callee.py', copy / 'ik_core' / 'caller.py'
    callee.write_text(f'{head}\n@njit\ndef f(x):\n    return x + 1\n')
    caller.write_text(f'{head}from .callee import f\n\n@njit\ndef g(x):\n    return f(x)\n')
    code = 'from ik_core.caller import g; print(g(1), sum(g.stats.cache_hits.values()))'
    home = {'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    assert run(code, copy, **home) == '2 0'
    assert run(code, copy, **home) == '2 1'
    callee.write_text(callee.read_text().replace('x + 1', 'x + 5'))
    assert run(code, copy, **home) == '6 0'


def names_read(function):
    body = ast.Module(function.body, [])
    return {n.id for n in ast.walk(body) if isinstance(n, ast.Name)}


def is_kernel(node, decorators=('njit', 'small', 'inner', 'inlined')):
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(d, ast.Name) and d.id in decorators for d in node.decorator_list
    )


def has_kernels(path):
    return any(mark.decode() in path.read_text() for mark in _jit._MARKS)


def kernel_files():
    return [path for path in sorted(CORE.rglob('*.py')) if has_kernels(path)]


@pytest.mark.parametrize('path', kernel_files(), ids=lambda p: p.stem)
def test_what_a_kernel_reads_stands_in_a_file_that_the_cache_is_keyed_by(path):
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


def called_from_python(tree, known=frozenset()):
    """The names of the functions that are called outside of kernels, and of `known` templates."""
    names = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            names.add(getattr(node.func, 'id', None))
        if not is_kernel(node) and getattr(node, 'name', None) not in known:
            names |= called_from_python(node, known)
    return names


def imported(tree, inner):
    """The names under which a file has inner kernels of others; `inner` has those of each file."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in inner.get((node.module or '').split('.')[-1], ())
    }


def inner_kernels(tree):
    return {node.name for node in tree.body if is_kernel(node, ('inner', 'inlined'))}


def test_no_inner_kernel_is_called_from_python():
    """It would end the process: an inner kernel has no way in for Python."""
    inner = {}
    for path in kernel_files():
        inner.setdefault(path.stem, set()).update(inner_kernels(ast.parse(path.read_text())))
    assert '_judge' in inner['decide']
    paths = [*sorted(CORE.rglob('*.py')), *sorted((ROOT / 'test').rglob('*.py'))]
    texts = {path: path.read_text() for path in paths}
    made = [ast.parse(text) for text in texts.values() if 'with_kernels' in text]
    of_all = set().union(*map(templates, made))
    for path, text in texts.items():
        tree = ast.parse(text)
        known = inner_kernels(tree) | imported(tree, inner)
        if not known:
            continue
        stored = {n.id for n in ast.walk(tree) if isinstance(getattr(n, 'ctx', None), ast.Store)
                  and isinstance(n, ast.Name)}  # fmt: skip
        assert not called_from_python(tree, of_all) & (known - stored), path


COPIES = """
from ._jit import inner, with_kernels

@inner
def one(x):
    return x + 1

@inner
def two(x):
    return x + 2

def _twice(x):
    return f(f(x))

g = with_kernels(_twice, 'twice_one', f=one)
h = with_kernels(_twice, 'twice_two', f=two)
"""


def files_below(place):
    return {path: path.stat().st_mtime_ns for path in place.rglob('*.nb?')}


@pytest.mark.thorough
@needs_numba
def test_copies_of_a_kernel_are_compiled_once_and_tell_their_kernels_apart(copy, tmp_path):
    """Two loops with the same source, and what each calls: none is taken for the other."""
    source, cache = copy / 'ik_core' / 'copies.py', tmp_path / 'cache'
    source.write_text(COPIES)
    code = (
        'from ik_core.copies import g, h\n'
        'print(g(1), h(1), *(sum(n.values()) for k in (g, h)'
        ' for n in (k.stats.cache_hits, k.stats.cache_misses)))\n'
    )
    home = {'XDG_CACHE_HOME': str(cache)}
    assert run(code, copy, **home) == '3 5 0 1 0 1'
    written = files_below(cache)
    assert run(code, copy, **home) == '3 5 1 0 1 0'
    assert written == files_below(cache)
    source.write_text(COPIES.replace('x + 2', 'x + 20'))
    assert run(code, copy, **home) == '3 41 0 1 0 1'


def test_copies_of_a_kernel_without_numba(copy):
    (copy / 'ik_core' / 'copies.py').write_text(COPIES)
    code = 'from ik_core.copies import g, h; print(g(1), h(1), g.__name__, h.__qualname__)'
    assert run(code, copy, NUMBA_DISABLE_JIT='1') == '3 5 twice_one twice_two'


VARIANTS = """
from ._jit import inner, njit, variant

@inner
def one(x):
    return x + 1

@inner
def two(x):
    return x + 2

@inner
def apart(x):
    return 10 * x

@inner
def between(x):
    return apart(one(x))

@njit
def top(x):
    return between(x) + apart(1)

changed = variant(top, 'by_two', {one: two})
kept = variant(top, 'by_two', {two: one})
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


HITS_AND_MISSES = (
    'import numpy as np\n'
    'from ik_core.robot.limits import random_configuration as f\n'
    'f(1, 2, np.zeros(2), np.ones(2), np.empty(2))\n'
    'print(sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values()))\n'
)


@needs_numba
def test_a_second_process_finds_everything_in_the_cache(copy, tmp_path):
    home = {'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    assert run(HITS_AND_MISSES, copy, **home) == '0 1'
    assert run(HITS_AND_MISSES, copy, **home) == '1 0'
    written = [p for p in copy.rglob('*') if p.suffix in ('.nbi', '.nbc')]
    assert written
    beside_the_sources = [p for p in written if 'cache' not in p.relative_to(copy).parts]
    assert beside_the_sources == []  # an installation may be read-only


@pytest.mark.thorough
@needs_numba
def test_a_copy_installed_elsewhere_and_later_finds_what_is_compiled(copy, tmp_path):
    home = {'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    assert run(HITS_AND_MISSES, copy, **home) == '0 1'
    other = tmp_path / 'another place'
    shutil.copytree(copy / 'ik_core', other / 'ik_core')
    for path in other.rglob('*.py'):
        os.utime(path, (1e9, 1e9))
    assert run(HITS_AND_MISSES, other, **home) == '1 0'


@pytest.mark.thorough
@needs_numba
def test_kernels_of_others_are_found_by_their_own_file(copy, tmp_path):
    text = 'from ik_core._jit import njit\n@njit\ndef f():\n    return {}\n'
    home = {'XDG_CACHE_HOME': str(tmp_path / 'cache')}
    for number in (1, 2):
        (copy / 'ik_core_of_another.py').write_text(text.format(number))
        os.utime(copy / 'ik_core_of_another.py', (number, number))
        assert run('from ik_core_of_another import f; print(f())', copy, **home) == str(number)


@pytest.mark.thorough
@needs_numba
def test_an_edited_kernel_outside_the_package_is_noticed_in_what_is_made_of_it(copy, tmp_path):
    (copy / 'ik_core' / 'template.py').write_text(
        'from ._jit import njit, slot\ndef call():\n    return slot()\n'
    )
    code = (
        'import mine\n'
        'from ik_core._jit import with_kernels\n'
        'from ik_core.template import call\n'
        'once = with_kernels(call, "once", slot=mine.number)\n'
        'print(with_kernels(call, "twice", slot=once)())\n'
    )
    other = 'from ik_core._jit import inner\n@inner\ndef below():\n    return {}\n'
    mine = 'from ik_core._jit import inner\nimport other\nfrom other import below\n'
    (copy / 'mine.py').write_text(mine + '@inner\ndef number():\n    return below()\n')
    for number in ('1', '2'):
        (copy / 'other.py').write_text(other.format(number))
        assert run(code, copy, XDG_CACHE_HOME=str(tmp_path / 'cache')) == number


@needs_numba
def test_a_cache_that_can_not_be_written_any_more_costs_time_only(copy, tmp_path):
    code = (
        'import shutil\n'
        'from pathlib import Path\n'
        'import numpy as np\n'
        'from ik_core import _jit\n'
        'from ik_core.robot.limits import random_configuration as f\n'
        'shutil.rmtree(_jit._CACHE_DIRECTORY)\n'
        'Path(_jit._CACHE_DIRECTORY).write_text("no folder")\n'
        'q = np.empty(2)\n'
        'f(1, 2, np.zeros(2), np.ones(2), q)\n'
        'print(bool((q > 0).all()))\n'
    )
    assert run(code, copy, XDG_CACHE_HOME=str(tmp_path / 'cache')) == 'True'


@needs_numba
def test_where_nothing_can_be_written_it_works_uncached(tmp_path):
    below_a_file = tmp_path / 'file'
    below_a_file.write_text('')
    no = str(below_a_file / 'x')
    code = (
        'import tempfile\n'
        f'tempfile._candidate_tempdir_list = lambda: [{no!r}]  # then gettempdir raises\n'
        'from ik_core import _jit\n'
        'from ik_core.robot.limits import hash32\n'
        'print(_jit.COMPILED, _jit._CACHE_DIRECTORY, hash32(1))\n'
    )
    unwritable = dict.fromkeys(('HOME', 'XDG_CACHE_HOME', 'NUMBA_CACHE_DIR'), no)
    assert run(code, **unwritable) == f'True None {hash32(1)}'


@needs_numba
def test_where_numba_finds_no_place_after_all_it_works_uncached(tmp_path):
    code = (
        'import numba, numba.core.caching as caching\n'
        'def refuse(*_): raise RuntimeError("no locator available")\n'
        'caching.CacheImpl.__init__ = refuse\n'
        'from ik_core.robot.limits import hash32\n'
        'print(hash32(0), numba.config.CACHE_DIR)\n'
    )
    given = str(tmp_path / 'own')
    assert run(code, HOME=str(tmp_path), NUMBA_CACHE_DIR=given) == f'0 {given}'


@needs_numba
@pytest.mark.parametrize('own', [None, 'own'])
def test_other_users_of_numba_keep_their_cache(tmp_path, own):
    environment = {} if own is None else {'NUMBA_CACHE_DIR': str(tmp_path / own)}
    code = (
        'import numba\n'
        'before = numba.config.CACHE_DIR\n'
        'import ik_core\n'
        'from ik_core import _jit\n'
        'after = numba.config.CACHE_DIR\n'
        'print(after == before, after == _jit._CACHE_DIRECTORY)\n'
    )
    home = {'HOME': str(tmp_path), 'XDG_CACHE_HOME': str(tmp_path / 'xdg')}
    assert run(code, **home, **environment) == 'True False'
