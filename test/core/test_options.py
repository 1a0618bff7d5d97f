# SPDX-License-Identifier: Apache-2.0
"""Options: every field says what it means, takes what it says, and refuses the rest."""

import dataclasses
import math

import numpy as np
import pytest

import ik_core as ik
from ik_core import Budget, InvalidOption
from ik_core.options import OptionSet, option


@dataclasses.dataclass(frozen=True)
class Sample(OptionSet):
    length: float = option(0.5, 'a length', unit='m', bounds=(0.0, 2.0))
    open_ended: float = option(1.0, 'no bounds')
    count: int = option(3, 'a number of things', bounds=(1, 10))
    flag: bool = option(False, 'yes or no')
    kind: str = option('a', 'which', choices=('a', 'b'))
    text: str = option('', 'any text')


def test_metadata_says_what_a_field_means():
    length, open_ended, *_, kind, text = dataclasses.fields(Sample)
    assert dict(length.metadata) == {
        'doc': 'a length', 'unit': 'm', 'bounds': (0.0, 2.0), 'choices': (), 'static': False,
    }  # fmt: skip
    assert open_ended.metadata['bounds'] == (-math.inf, math.inf)
    assert kind.metadata['choices'] == ('a', 'b')
    assert text.metadata['choices'] == ()


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({'length': 1}, 1.0),
        ({'length': 0}, 0.0),
        ({'length': 2}, 2.0),
        ({'length': np.float32(0.5)}, 0.5),
        ({'length': np.int64(1)}, 1.0),
        ({'count': 10.0}, 10),
        ({'count': np.int32(1)}, 1),
        ({'flag': True}, True),
        ({'kind': 'b'}, 'b'),
        ({'text': 'a=1, b=2'}, 'a=1, b=2'),
    ],
)
def test_values_are_taken_in_the_type_of_the_default(given, expected):
    ((name, _),) = given.items()
    value = getattr(Sample(**given), name)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ('given', 'match'),
    [
        ({'length': -1e-9}, r'length = -1e-09 \[m\]: must be within \[0, 2\]'),
        ({'length': 2.1}, r'within \[0, 2\]'),
        ({'length': math.nan}, 'length'),
        ({'open_ended': math.nan}, 'open_ended'),
        ({'length': '1'}, r'a number \[m\] is needed'),
        ({'length': True}, 'a number'),
        ({'length': None}, 'a number'),
        ({'length': [1.0, 2.0]}, 'a number'),
        ({'length': b'1'}, 'a number'),
        ({'count': 0}, 'within'),
        ({'count': 11}, 'within'),
        ({'count': 2.5}, 'a whole number'),
        ({'count': math.inf}, 'a whole number'),
        ({'count': math.nan}, 'a whole number'),
        ({'count': '3'}, 'a whole number'),
        ({'count': True}, 'a whole number'),
        ({'flag': 1}, 'true or false'),
        ({'flag': 'true'}, 'true or false'),
        ({'kind': 'c'}, "kind = 'c': one of a, b"),
        ({'kind': 1}, 'one of a, b'),
        ({'text': 1}, 'text = 1: text'),
    ],
)
def test_bad_values_are_refused_by_name(given, match):
    with pytest.raises(InvalidOption, match=match):
        Sample(**given)


@pytest.mark.parametrize('name', ik.SOLVERS)
def test_every_option_of_a_solver_is_described(name):
    for field in dataclasses.fields(ik.SOLVERS[name].Options):
        assert field.metadata['doc'], field.name
        low, high = field.metadata['bounds']
        assert low < high
        if isinstance(field.default, (int, float)) and not isinstance(field.default, bool):
            assert low <= field.default <= high
        if field.metadata['choices']:
            assert field.default in field.metadata['choices']


@pytest.mark.parametrize('name', ik.SOLVERS)
def test_options_of_a_solver_are_checked_and_frozen(name):
    options = ik.make_solver(name, max_iterations=7.0).options
    assert options.max_iterations == 7
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.max_iterations = 8
    with pytest.raises(InvalidOption, match='max_iterations'):
        ik.make_solver(name, max_iterations=0)
    with pytest.raises(InvalidOption, match=f'{name} has no option .colour.*max_iterations'):
        ik.make_solver(name, colour='red')


def test_an_unknown_solver_is_answered_with_the_known_ones():
    with pytest.raises(InvalidOption, match=r'damped_least_squares.*did you mean .lev'):
        ik.make_solver('levenberg_marquard')


def test_an_error_of_options_is_a_value_error_and_one_of_this_package():
    assert issubclass(InvalidOption, ValueError)
    assert issubclass(InvalidOption, ik.IkError)


@pytest.mark.parametrize(
    'given',
    [
        {'seconds': -1e-9},
        {'seconds': math.nan},
        {'seconds': '1'},
        {'seconds': True},
        {'iterations': -1},
        {'iterations': 2.5},
        {'iterations': math.nan},
        {'iterations': '3'},
        {'iterations': True},
    ],
)
def test_a_budget_must_make_sense(given):
    with pytest.raises(InvalidOption, match=next(iter(given))):
        Budget(**given)


def test_a_budget_takes_numbers_of_all_kinds():
    assert Budget() == Budget(None, None)
    assert Budget(seconds=0, iterations=0).iterations == 0
    budget = Budget(seconds=np.float32(0.5), iterations=np.int64(3))
    assert (budget.seconds, budget.iterations) == (0.5, 3)
    assert type(Budget(iterations=4.0).iterations) is int  # kernels are compiled for ints alone
