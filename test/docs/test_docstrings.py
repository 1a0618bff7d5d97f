# SPDX-License-Identifier: Apache-2.0
"""Docstrings as reStructuredText: what they mean stays as it was written."""

import sys

import pytest
from support.places import ROOT

sys.path.insert(0, str(ROOT / 'docs'))
import docstrings

sys.path.remove(str(ROOT / 'docs'))


def rest(text):
    return '\n'.join(docstrings.rest(text.split('\n'))).strip()


def test_signs_of_formulas_are_no_markup():
    assert rest('minimise |r + J dx|^2, J* and x_') == r'minimise \|r + J dx\|^2, J\* and x\_'


def test_code_stays_code_and_may_have_a_plural():
    assert rest('other `now`s of a*b in `a*b`') == r'other `now`\ s of a\*b in `a*b`'


def test_parameters_are_a_list_of_definitions():
    text = 'Solve.\n\nq0 (n,) : where to start,\n    or None\nrate [Hz] : ticks'
    expected = (
        'Solve.\n\n``q0 (n,)``\n    where to start,\n    or None\n\n``rate [Hz]``\n    ticks'
    )
    assert rest(text) == expected


def test_what_is_indented_stays_as_it_is():
    assert (
        rest('The step:\n\n    dq = J* e\n      |e|')
        == 'The step:\n\n::\n\n    dq = J* e\n      |e|'
    )


def test_a_list_begins_a_paragraph():
    assert rest('Rules:\n- one\n  more\n- two') == 'Rules:\n\n- one\n  more\n\n- two'


@pytest.mark.parametrize(
    ('text', 'expected'),
    [("(q: TypeAliasForwardRef('VectorLike'))", '(q: VectorLike)'), (None, None), ('', '')],
)
def test_types_are_called_as_in_the_source(text, expected):
    assert docstrings.short_types(text) == expected
