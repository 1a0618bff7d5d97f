# SPDX-License-Identifier: Apache-2.0
"""The records of methods: options by their names, and layouts that suit the kernels."""

from collections.abc import Hashable
from dataclasses import fields

import pytest
from support.solver_cases import reachable

import ik_core as ik
from ik_core import make_solver
from ik_core.kernels.jit import is_kernel
from ik_core.kernels.library import source_of
from ik_core.optim import avoiding, limit_terms, line_search, quasi_newton
from ik_core.solvers import jacobian_method
from ik_core.solvers.base import KernelSolver

METHODS = {name: kind for name, kind in ik.SOLVERS.items() if issubclass(kind, KernelSolver)}
every_method = pytest.mark.parametrize('name', METHODS)
# Layouts that others extend, by the views that shared kernels have of them
SHARED = {
    line_search.line_search_at: line_search.LINE_SEARCH,
    quasi_newton.quasi_newton_at: quasi_newton.QUASI_NEWTON,
    limit_terms.limit_terms_at: limit_terms.LIMIT_TERMS,
    jacobian_method.jacobian_method_at: jacobian_method.JACOBIAN_METHOD,
}


def record_of(name, **options):
    """The method's record in a search for a problem."""
    return make_solver(name, **options).workspace(reachable('panda').problem).own


def values_of(option):
    """Values of an option, with what the record has for each."""
    choices, (low, high) = option.metadata['choices'], option.metadata['bounds']
    if choices:
        return list(zip(choices, range(len(choices)), strict=True))
    if isinstance(option.default, bool):
        return [(False, 0), (True, 1)]
    return [(value, value) for value in (option.default, 0.5) if low <= value <= high]


@every_method
def test_fields_with_names_of_options_have_their_values(name):
    layout = METHODS[name].layout
    options = [option for option in fields(METHODS[name].Options) if option.name in layout.fields]
    for option in options:
        for value, expected in values_of(option):
            assert record_of(name, **{option.name: value})[option.name] == expected, option.name
    assert options or name != 'bfgs'


def views_below(kernel, seen):
    """The views of shared layouts that a kernel and all that it calls have."""
    if kernel in seen:
        return
    seen.add(kernel)
    source = source_of(kernel)
    for value in (source.__globals__.get(name) for name in source.__code__.co_names):
        if is_kernel(value) and value not in SHARED:
            yield from views_below(value, seen)
        elif isinstance(value, Hashable) and value in SHARED:
            yield value


@every_method
def test_the_record_has_the_fields_that_shared_kernels_read(name):
    kind = METHODS[name]
    kernels = [kind.start, kind.step]
    kernels += [kind.constrained_step] if kind.constrained_step is not None else []
    kernels += [avoiding.step_free] if kind.avoids else []
    own = list(kind.layout.fields.items())
    views = {view for kernel in kernels for view in views_below(kernel, set())}
    assert views or name != 'bfgs'
    for view in views:
        shared = list(SHARED[view].fields.items())
        assert own[: len(shared)] == shared, SHARED[view].name


def test_an_extended_layout_keeps_the_places_of_its_fields():
    extended = line_search.LINE_SEARCH.extended('more', gain=('float',), last=('float', 'joints'))
    places, _ = extended.offsets(1)
    before, _ = line_search.LINE_SEARCH.offsets(1)
    assert {name: places[name] for name in before} == before
    with pytest.raises(TypeError, match='alpha'):
        line_search.LINE_SEARCH.extended('twice', alpha=('float',))
