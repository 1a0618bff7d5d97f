# SPDX-License-Identifier: Apache-2.0
"""docs/papers.md, "Every equation, and its test": its names exist, and no test lacks a row.

So do the names in "Named by the documents, without a number".
"""

import ast
import inspect
import re
from typing import NamedTuple

import pytest
from support.places import ROOT

import ik_core as ik
from benchmark import PAPERS
from ik_core.problem import Evaluation

TESTS = ROOT / 'test' / 'papers'
TEXT = (ROOT / 'docs' / 'papers.md').read_text('utf-8')
PAGE = TEXT.partition('## Every equation')[2]
NAMED = TEXT.partition('## Every equation')[0].partition('## Named by the documents')[2]
# Names in the table that are arguments
ARGUMENTS = {
    'tool': ik.PositionTask,
    'secondary': ik.IkProblem,
    'avoid': ik.IkProblem,
    'position_tolerance': ik.IkProblem,
}
# Names in the table that are kinds of joints, and what describes them
KINDS = {'ball': ik.robot.Joint.__doc__, 'two_angle': ik.robot.linkage.__doc__}


class Row(NamedTuple):
    """A row of the table: the file of its tests, and its three columns."""

    file: str
    equation: str
    here: str
    tests: str


def rows():
    """Return all rows, without heads."""
    file, found = '', []
    for line in PAGE.splitlines():
        heading = re.match(r'### .*`(test_\w+\.py)`', line)
        if heading:
            file = heading[1]
        elif line.startswith('| ') and not line.startswith('| equation'):
            found.append(Row(file, *(cell.strip() for cell in line.strip('|').split('|'))))
    return found


ROWS = rows()


def name_of(row):
    return f'{row.file[5:-3]}: {row.equation}'[:60]


def functions(file):
    """The names of the tests in a file."""
    tree = ast.parse((TESTS / file).read_text('utf-8'))
    return [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name[:5] == 'test_']


def quoted(cell):
    return re.findall(r'`([^`]+)`', cell)


def begins(test, name):
    """Return whether a test is one of a row's: eq_1 is not the beginning of eq_14."""
    return re.match(rf'test_{name}(?![0-9a-z])', test) is not None


def options():
    """Return the choices of all options of solvers, by their names."""
    return [
        (field.name, field.metadata.get('choices', ()))
        for solver in ik.SOLVERS.values()
        for field in solver.Options.__dataclass_fields__.values()
    ]


def exists(name):
    """Return whether a name of the second column is one of the package's."""
    option, _, value = name.partition(': ')
    if value:
        return any(option == o and value in choices for o, choices in options())
    if name in ARGUMENTS:
        return name in inspect.signature(ARGUMENTS[name].__init__).parameters
    if name in KINDS:
        return re.search(rf'\b{name}\b', KINDS[name]) is not None
    presets = {preset for solver in ik.SOLVERS.values() for preset in solver.presets}
    if name in ik.SOLVERS or name in presets or name in dict(options()):
        return True
    first, *others = name.removeprefix('ik.').split('.')
    places = [ik, ik.robot, ik.tasks, ik.retargeting]
    at = {'Evaluation': Evaluation}.get(first) or next(
        (getattr(place, first) for place in places if hasattr(place, first)), None
    )
    for other in others:
        if other in getattr(at, '__annotations__', {}):
            return True
        at = getattr(at, other, None)
    return at is not None


def test_table_has_rows_of_all_five_documents():
    assert len(ROWS) > 70
    assert {row.file for row in ROWS} == {path.name for path in TESTS.glob('test_*.py')}
    assert len({row.file for row in ROWS}) == 5


@pytest.mark.parametrize('row', ROWS, ids=name_of)
def test_row_names_code_and_tests_that_exist(row):
    """Or says that there is no test, and why: then it names nothing, or an experiment."""
    if row.tests.startswith('none'):
        experiment = re.fullmatch('`ik bench ([a-z_]+)`', row.here)
        assert row.here == 'none' or (experiment and experiment[1] in PAPERS)
        assert len(row.tests) > len('none: ')
        return
    assert quoted(row.here)
    assert [name for name in quoted(row.here) if not exists(name)] == []
    assert quoted(row.tests)
    tests = functions(row.file)
    for name in quoted(row.tests):
        assert any(begins(test, name) for test in tests), name


@pytest.mark.parametrize('file', sorted({row.file for row in ROWS}))
def test_every_test_of_an_equation_is_in_the_table(file):
    names = [name for row in ROWS if row.file == file for name in quoted(row.tests)]
    for test in functions(file):
        if test != 'test_chains_of_these_tests_move_as_their_matrices_say':
            assert any(begins(test, name) for name in names), test


def test_features_named_without_a_number_exist_or_are_denied():
    """Each row begins with "a feature" or "none"; its names are of the package or the command."""
    lines = [line for line in NAMED.splitlines() if line.startswith('| [')]
    assert len(lines) > 10
    for line in lines:
        here = line.strip('|').split('|')[2].strip()
        assert re.match(r'none: |a feature|features?: ', here), line
        for name in quoted(here):
            if name.startswith('ik view human'):
                assert name.split()[-1] in ('human', *ik.SOLVERS)
            else:
                assert name == 'mimic' or exists(name), name
