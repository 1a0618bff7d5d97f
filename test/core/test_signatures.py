# SPDX-License-Identifier: Apache-2.0
"""Entries of the compiled library: their signatures, and that a build finds them."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from support.fresh_python import copy_of_core, run

from ik_core.kernels import jit
from ik_core.kernels.signatures import (
    Array1,
    Array3,
    BoolArray1,
    IntArray2,
    entries,
    letters,
)
from ik_core.maths.vectors import Vector
from ik_core.tasks.kernels import Packed


class Pair(NamedTuple):
    first: int
    second: Array1


def with_types(result, **arguments):
    def source(a, b, c, d):
        """Never called."""

    source.__annotations__ = {**arguments, 'return': result}
    return source


@pytest.mark.parametrize(
    ('result', 'kinds', 'expected'),
    [
        (None, (int, float, bool, Array3), ('idbD3', '')),
        (float, (IntArray2, BoolArray1, Vector, int), ('I2B1(ddd)i', 'd')),
        (tuple[bool, int], (Pair, int, int, int), ('(iD1)iii', 'bi')),
        (int, (Packed, int, int, int), ('(I2D2I2D2D2D2D2D2D2D2)iii', 'i')),
    ],
)
def test_signature_comes_from_annotations(result, kinds, expected):
    kernel = with_types(result, **dict(zip('abcd', kinds, strict=True)))
    assert letters(kernel) == expected


@pytest.mark.parametrize('wrong', [NDArray[np.float64], str, Any, list[int], complex])
def test_entry_with_a_type_that_no_entry_may_have_is_refused(wrong):
    kernel = with_types(None, a=int, b=wrong, c=int, d=int)
    with pytest.raises(TypeError, match=r'source: .*Array2'):
        letters(kernel)


def test_entry_without_annotations_is_refused():
    kernel = with_types(None, a=int, c=int)
    with pytest.raises(TypeError, match=r'source.* b, d'):
        letters(kernel)
    del kernel.__annotations__['return']
    with pytest.raises(TypeError, match='return'):
        letters(kernel)


def test_every_entry_has_a_signature():
    found = {entry.symbol: letters(entry.kernel) for entry in entries()}
    assert list(found) == sorted(found)
    assert found['ik_solve'] == ('iiD1D2', 'idiiii')
    assert found['ik_solve_batch_8'] == ('iibi', 'b')
    assert found['ik_run_sqp_free'] == found['ik_run_trust_region'] == ('ii', '')


def test_two_entries_of_the_same_symbol_are_refused(monkeypatch):
    monkeypatch.setattr(jit, 'ENTRIES', [*jit.ENTRIES])
    other = with_types(None)
    other.__module__ = 'ik_core.other'
    jit.kernel(entry='ik_solve')(other)
    with pytest.raises(TypeError, match=r'run:solve and .*source are both ik_solve'):
        entries()


SOLVER = """
from typing import ClassVar
from ..kernels.jit import kernel
from ..optim.layouts import Record
from ..optim.search import SearchOptions
from .base import KernelSolver

@kernel
def start(search: Record) -> None:
    pass

@kernel
def step(search: Record) -> bool:
    return False

class Mine(KernelSolver):
    name: ClassVar[str] = 'mine'
    Options: ClassVar = SearchOptions
    start, step = start, step
"""

FIND = """
from ik_core.kernels.signatures import entries
print(*(entry.symbol for entry in entries() if 'mine' in entry.symbol))
"""


def test_build_finds_a_solver_in_a_new_file(tmp_path):
    solvers = copy_of_core(tmp_path) / 'ik_core' / 'solvers'
    (solvers / 'mine.py').write_text(SOLVER)
    (solvers / 'other.py').write_text('import no_such_package\n')  # it has no kernels
    assert run(FIND, tmp_path, NUMBA_DISABLE_JIT='1') == 'ik_run_mine'


def test_build_fails_if_a_file_with_kernels_can_not_be_imported(tmp_path):
    solvers = copy_of_core(tmp_path) / 'ik_core' / 'solvers'
    (solvers / 'mine.py').write_text(f'import no_such_package\n{SOLVER}')
    with pytest.raises(AssertionError, match='no_such_package'):
        run(FIND, tmp_path, NUMBA_DISABLE_JIT='1')
