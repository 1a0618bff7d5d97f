# SPDX-License-Identifier: Apache-2.0
"""`ik bench closed_form_proof` notices what is missing, wrong or lost."""

import numpy as np
import pytest

from benchmark import closed_form_proof
from benchmark.closed_form_proof import ARMS, Proof

COUNT = 12


def proof(spoil=None, name='puma'):
    """The row of the search, after all answers went through `spoil`."""
    made = Proof(name, ARMS[name]())
    solve = made.solve
    if spoil is not None:
        made.solve = lambda q, poses: spoiled(spoil, *solve(q, poses))
    return made.rows(COUNT)[0]


def spoiled(spoil, found, certain):
    return [spoil(one) for one in found], certain


def test_a_closed_form_that_is_right_is_found_to_be():
    row = proof()
    assert row['against'] == 'search'
    assert row['solutions'] > 1.0
    assert row['poses'] == 1
    assert row['theirs'] > 0
    faults = ('wrong', 'lost', 'lost_certain', 'missing', 'missing_certain', 'extra')
    assert [row[key] for key in faults] == [0] * 6


def test_a_solution_that_is_dropped_is_missing_and_the_pose_s_own_one_is_lost():
    row = proof(lambda found: found[1:])
    assert row['missing'] == row['missing_certain'] == 1
    assert row['lost'] > 3
    assert row['wrong'] == 0
    assert proof(lambda found: found[:0])['missing'] == row['theirs']


@pytest.mark.parametrize('shift', [1e-6, 10.0])
def test_a_solution_that_is_off_or_outside_the_limits_is_wrong(shift):
    row = proof(lambda found: found + np.array([0.0, shift, 0.0, 0.0, 0.0, 0.0]))
    assert row['wrong'] == round(COUNT * row['solutions'])


@pytest.mark.parametrize('name', ['pr2_like', 'gantry'])
def test_arms_of_seven_and_more_joints_and_slides_are_judged_too(name):
    row = proof(name=name)
    assert row['wrong'] == row['lost_certain'] == 0
    assert row['solutions'] > 0.5


@pytest.mark.parametrize(('name', 'i'), [('pr2_like', 323), ('panda', 9489), ('crx', 3883)])
def test_singular_solutions_on_a_limit_are_as_exact_as_others(monkeypatch, name, i):
    """Poses where following it to the limit by cut steps ended 1e-8 to 1e-6 away from it."""
    monkeypatch.setattr(closed_form_proof, 'peers', lambda *_: ())
    made = Proof(name, ARMS[name]())
    counts = made.judged(i - 1, i + 1)
    assert counts['solutions'] > 0
    assert counts['wrong'] == 0
