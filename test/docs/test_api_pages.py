# SPDX-License-Identifier: Apache-2.0
"""The public names of ik_core: the same in the code and on the API pages, each in one place."""

import dataclasses
import importlib
import re
import types
import typing

import pytest
from support.fresh_python import run
from support.places import ROOT

import ik_core as ik
import ik_viewer
from ik_core.solvers import DEFAULT_SOLVER, Solver
from ik_core.solvers.names import AllSolutionsOptions, BatchOptions

FOLDER = ROOT / 'docs' / 'api'
MODULES = ('robot', 'tasks', 'solvers', 'closed_form', 'batch', 'tracking', 'teleop',
           'collision', 'reachability', 'path', 'motion', 'retargeting')  # fmt: skip


def exported():
    """{module: its public names}, those on top left out of the others."""
    on_top = set(ik.__all__) - set(MODULES)
    names = {module: set(getattr(ik, module).__all__) - on_top for module in MODULES}
    return {'ik': on_top, **names, 'ik_viewer': set(ik_viewer.__all__)}


def listed():
    """{module: names} of the tables of the overview."""
    _, *sections = re.split(r'^## ', (FOLDER / 'index.md').read_text('utf-8'), flags=re.M)
    rows = {}
    for section in sections:
        module = section.split('\n')[0].removeprefix('ik.')
        rows[module] = re.findall(r'^\| `(\w+)` \| \S.* \|$', section, re.M)
    return rows


def described():
    """(module, name) of all that the pages describe in full."""
    for path in FOLDER.glob('*.rst'):
        module = None
        for what, name in re.findall(r'^\.\. (\w+):: ([\w.]+)$', path.read_text('utf-8'), re.M):
            if what == 'currentmodule':
                module = name.removeprefix('ik_core').removeprefix('.') or 'ik'
            else:
                yield module, name


def test_the_overview_lists_every_public_name_once_in_its_module():
    rows = listed()
    assert {module: sorted(names) for module, names in rows.items()} == {
        module: sorted(names) for module, names in exported().items()
    }


def test_the_pages_describe_every_public_name_once_in_its_module():
    names = exported()
    assert sorted(described()) == sorted(
        (module, name) for module in names for name in names[module]
    )


def test_the_names_on_top_are_few_and_the_rest_is_in_modules():
    assert len(exported()['ik'] - {'__version__'}) <= 36
    for module in MODULES:
        assert isinstance(getattr(ik, module), types.ModuleType)


def test_no_name_is_public_in_two_modules():
    names = [name for names in exported().values() for name in names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize('module', MODULES)
def test_a_name_that_is_also_on_top_is_the_same_there(module):
    own = getattr(ik, module)
    for name in set(own.__all__) & set(ik.__all__):
        assert getattr(own, name) is getattr(ik, name)


def test_dir_shows_the_public_names():
    assert dir(ik) == sorted(ik.__all__)


@pytest.mark.parametrize('name', ['exceptions', 'problem', 'options', 'solvers', 'tracking'])
def test_a_module_is_an_attribute_before_anything_has_imported_it(name):
    code = f'import ik_core as ik; print(ik.{name}.__name__, hasattr(ik, "{name}_"))'
    assert run(code) == f'ik_core.{name} False'


def test_names_for_type_checkers_are_those_of_the_solvers():
    files = (ROOT / 'ik_core' / 'solvers').glob('*.py')
    modules = [importlib.import_module(f'ik_core.solvers.{file.stem}') for file in files]
    kinds = {
        kind for module in modules for kind in vars(module).values() if isinstance(kind, type)
    }
    own = {kind for kind in kinds if issubclass(kind, Solver) and hasattr(kind, 'name')}
    assert {kind.name: kind for kind in own} == ik.SOLVERS
    assert typing.get_args(ik.solvers.SolverName) == tuple(ik.SOLVERS)
    presets = {name for kind in ik.SOLVERS.values() for name in kind.presets}
    assert set(typing.get_args(ik.solvers.PresetName)) == presets


def test_options_for_type_checkers_are_those_of_the_solvers():
    options = {}
    for kind in ik.SOLVERS.values():
        for field in dataclasses.fields(kind.Options):
            choices = field.metadata['choices']
            of = typing.Literal[choices] if choices else type(field.default)
            assert options.setdefault(field.name, of) == of
    assert typing.get_type_hints(ik.solvers.SolverOptions) == options
    own = options.keys() - {'random_seed'}
    assert typing.get_type_hints(BatchOptions).keys() == own
    default = {field.name for field in dataclasses.fields(ik.SOLVERS[DEFAULT_SOLVER].Options)}
    own = default - {'random_seed', 'closed_form'}
    assert typing.get_type_hints(AllSolutionsOptions).keys() == own
