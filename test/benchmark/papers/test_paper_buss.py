# SPDX-License-Identifier: Apache-2.0
"""The Y and the double Y: their targets, one update a step, the damping that is chosen."""

import numpy as np
import pytest

from benchmark.papers import buss
from benchmark.papers.buss import OneUpdate


def jacobian_and_error(problem, q):
    at = problem.evaluate(q)
    return at.jacobian, -at.residual


@pytest.fixture(params=list(buss.FIGURES))
def moved(request):
    """A figure at rest whose targets have moved on."""
    problem, q0 = buss.problem_of(request.param)
    for i, goal in enumerate(problem.goals):
        goal.set_target(position=goal.target[9:] + buss.target_shift(7, i, 0.3))
    return problem, q0


def test_the_jacobians_have_the_sizes_of_the_source(moved):
    problem, q0 = moved
    jacobian, _ = jacobian_and_error(problem, q0)
    assert jacobian.shape in {(6, 7), (12, 16)}
    assert jacobian.shape[0] == 3 * len(problem.goals)


def test_an_update_is_the_methods_own_step(moved):
    """Buss Eq. 11, and the transpose with his alpha; the goals are read anew in every update."""
    problem, q0 = moved
    damped = OneUpdate(problem, 'damped_least_squares', preset='buss_pure', damping=0.4)
    plain = OneUpdate(problem, 'jacobian_transpose', preset='buss_pure')
    for shift in (0.0, 0.2):
        problem.goals[0].set_target(position=problem.goals[0].target[9:] + shift)
        jacobian, e = jacobian_and_error(problem, q0)
        square = jacobian @ jacobian.T
        step = jacobian.T @ np.linalg.solve(square + 0.16 * np.eye(len(e)), e)
        np.testing.assert_allclose(damped(q0) - q0, step, atol=1e-9)
        pulled = square @ e
        step = (e @ pulled) / (pulled @ pulled) * jacobian.T @ e
        np.testing.assert_allclose(plain(q0) - q0, step, atol=1e-9)


def test_an_update_goes_where_it_leads_though_it_is_worse():
    problem, q0 = buss.problem_of('Y')
    for goal in problem.goals:
        goal.set_target(position=4.0 * goal.target[9:])
    q = OneUpdate(problem, 'pseudoinverse', preset='buss_pure')(q0)
    assert problem.evaluate(q).cost > problem.evaluate(q0).cost


def test_targets_begin_where_the_end_effectors_are_and_move_little_by_little():
    for i in range(4):
        np.testing.assert_array_equal(buss.target_shift(0, i, 1.0), 0.0)
        way = np.array([buss.target_shift(k, i, 1.0) for k in range(buss.STEPS)])
        assert np.linalg.norm(np.diff(way, axis=0), axis=1).max() < 0.04


def test_targets_in_reach_are_followed_to_the_end():
    problem, q0 = buss.problem_of('double Y')
    _, errors = buss.follow(problem, q0, buss.closest(problem, []), 0.15, 60)
    assert errors.max() < 1e-6


def sweep(name, *pairs):
    return [
        {
            'part': 'sweep',
            'figure': 'Y',
            'method': name,
            'damping': d,
            'shaking_percent': s,
        }
        for d, s in pairs
    ]


def test_the_damping_that_is_chosen_is_the_lowest_where_shaking_is_rare():
    rows = sweep('DLS', (0.1, 50.0), (0.2, 0.5), (0.4, 0.0)) + sweep("DLS'", (0.1, 50.0), (2, 3))
    assert buss.chosen(rows, 'Y', 'DLS')['damping'] == 0.2
    assert buss.chosen(rows, 'Y', "DLS'")['damping'] == 2


def test_shaking_is_a_change_of_the_step(monkeypatch):
    """A joint that moves evenly does not shake, however fast; one that turns round does."""
    joints = np.zeros((6, 7))
    joints[:, 0] = 0.3 * np.arange(6)
    joints[:, 1] = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]
    monkeypatch.setattr(buss, 'follow', lambda *arguments: (joints, np.arange(6.0)))
    monkeypatch.setattr(buss, 'time_of', lambda *arguments: 3e-6)
    row, _ = buss.measured('Y', 'in reach', 'any', 'jacobian_transpose', {}, 6)
    assert row['shaking_percent'] == 75.0
    assert row['acceleration'] == pytest.approx((0.1**2 + 0.2**2 + 0.1**2) / 28.0)
    assert (row['error'], row['worst'], row['us']) == (2.5, 5.0, pytest.approx(3.0))


def amplitude_rows(size, **shaking):
    """Rows of both figures at an amplitude: what each method shakes."""
    return [
        {
            'part': 'amplitude',
            'figure': figure,
            'motion': f'{size:g} m',
            'method': name,
            'damping': 0.5,
            'shaking_percent': percent,
        }
        for figure in buss.FIGURES
        for name, percent in shaking.items()
    ]


def test_alternate_jacobian_is_judged_at_every_amplitude():
    names = ('transpose', 'transpose, target')
    rows = []
    for size in buss.AMPLITUDES:
        rows += amplitude_rows(size, **dict(zip(names, (20.0, 10.0), strict=True)))
    assert buss._alternate_claim(rows, 'transpose').verdict == 'yes'
    rows[-1]['shaking_percent'] = 20.0
    claim = buss._alternate_claim(rows, 'transpose')
    assert claim.verdict == 'partly'
    assert claim.ours.endswith('holds at 0.8 to 1.1')


def test_oscillation_at_the_least_error_is_judged_at_every_amplitude():
    rows = []
    for size, percent in zip(buss.AMPLITUDES, (0.0, 0.5, 0.0, 0.9, 0.0), strict=True):
        rows += amplitude_rows(size, **{buss.LEAST: percent})
    assert buss._least_error_claim(rows, 'Y').verdict == 'no'
    rows[2]['shaking_percent'] = 1.0  # the Y's at the second amplitude
    assert buss._least_error_claim(rows, 'Y').verdict == 'partly'
    assert buss._least_error_claim(rows, 'double Y').verdict == 'no'


def test_damping_of_the_least_error_is_found_between_those_of_the_sweep(monkeypatch):
    monkeypatch.setattr(buss, 'follow', lambda *_: (None, np.array([(found[-1] - 0.4567) ** 2])))
    found = []

    def one_update(*_, damping, **__):
        found.append(damping)

    monkeypatch.setattr(buss, 'OneUpdate', one_update)
    assert buss.least_damping('Y', 1.0, 10) == pytest.approx(0.4567, rel=0.005)


def test_the_bones_are_those_of_the_file():
    bones = list(buss.bones(buss.problem_of('Y')[0].robot))
    assert len(bones) == 7 + 2
    assert {child for _, child in bones} >= {'tip_right', 'tip_left'}
