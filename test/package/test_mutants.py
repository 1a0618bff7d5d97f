# SPDX-License-Identifier: Apache-2.0
"""The generator of mutants: each changes one place, where behaviour may depend on it."""

import ast
import sys

import pytest
from support.places import ROOT

sys.path.insert(0, str(ROOT / 'scripts' / 'mutants'))

import mutations

BODY = 'def f(a, b):\n    {}\n'


def mutants_of(source):
    """(operator, mutated source) of all candidates."""
    found = mutations.candidates(ast.parse(source))
    return {(operator, ast.unparse(other)) for _, operator, other in found}


@pytest.mark.parametrize(
    ('line', 'mutants'),
    [
        ('return a < b', {('boundary', 'a <= b'), ('comparison', 'a >= b')}),
        ('return a is b', {('comparison', 'a is not b')}),
        ('return a - b', {('sign', 'a + b'), ('swapped', 'b - a')}),
        ('return -a', {('sign', 'a')}),
        ('return a and b', {('and/or', 'a or b'), ('and/or', 'a')}),
        ('return 0.5', {('constant', '1.0')}),
        ('return a[0]', {('index', '1')}),
        ('return a[b, 1:]', {('index', 'a[1:, b]'), ('index', '2')}),
        ('return max(a, b)', {('min/max', 'min(a, b)')}),
        ('return np.abs(a)', {('dropped call', 'a')}),
        ('return a.copy()', {('dropped call', 'a')}),
        ('return f(a, b)', {('swapped', 'f(b, a)')}),
        ('a.b = b', {('dropped statement', 'pass')}),
        ('a += b', {('sign', 'a -= b'), ('dropped statement', 'pass')}),
        ('return a if b else b', {('swapped', 'b if b else a')}),
    ],
)
def test_a_place_becomes_what_its_operators_make_of_it(line, mutants):
    assert mutants_of(BODY.format(line)) == mutants


@pytest.mark.parametrize(
    'source',
    [
        'LIMIT = 3\n',
        'class A:\n    x: int = 3\n',
        BODY.format('"""Of 3 or -1."""'),
        BODY.format("raise ValueError(f'{a - b} < 3')"),
        BODY.format('c: Annotated[int, 3] = a'),
        BODY.format('return 1e-12'),
        'def f(a=3):\n    return a\n',
    ],
)
def test_what_no_behaviour_depends_on_is_left_alone(source):
    assert mutants_of(source) == set()


@pytest.fixture
def root(tmp_path):
    """A folder with two sources."""
    (tmp_path / 'one.py').write_text(
        'def one(a, b):\n    if a < b:\n        return a - b\n    return max(a, b)\n'
    )
    (tmp_path / 'two.py').write_text('def two(a):\n    return abs(a) + 1\n')
    return tmp_path


def test_a_file_that_changes_leaves_the_mutants_of_others_drawn(root):
    def drawn():
        found = mutations.draw('group', root, ['one.py', 'two.py'], 4, seed=1)
        return {mutant for mutant in found if mutant.file == 'one.py'}

    before = drawn()
    assert len(before) >= 2
    (root / 'two.py').write_text('def two(a):\n    return abs(a) + 2\n')
    assert drawn() == before


def test_a_mutant_differs_in_its_place_alone(root):
    source = ast.unparse(mutations.parse(root / 'one.py')).splitlines()
    for mutant in mutations.draw('group', root, ['one.py'], 9, seed=1):
        lines = mutations.mutated(root / 'one.py', mutant).splitlines()
        assert lines[: mutant.line - 1] == source[: mutant.line - 1]
        assert lines[mutant.line - 1] != source[mutant.line - 1]
        assert mutant.becomes in lines[mutant.line - 1]


def test_instrumented_sources_note_what_they_execute(root):
    places = {m.place: m.line for m in mutations.draw('group', root, ['one.py'], 9, seed=1)}
    names = {}
    exec(mutations.instrumented(root / 'one.py', places), names)
    for arguments, expected, reached in (((1, 2), -1, {2, 3}), ((2, 1), 2, {2, 4})):
        names['REACHED'].clear()
        assert names['one'](*arguments) == expected
        assert names['REACHED'] == reached & {*places.values()}
