# SPDX-License-Identifier: Apache-2.0
"""Quadratic programs between planes: the conditions of their optimum, and scipy."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from ik_core.maths import dual_active_set as programs
from ik_core.maths.dual_active_set import CONTRADICTION, NOT_CONVEX, SOLVED

INF = np.inf


def solved(hessian, gradient, x, box, rows):
    """(answer, step, sides, multipliers), by a matrix with nothing above its diagonal."""
    n, rows = len(x), np.reshape(rows, (-1, len(x) + 2))
    size = max(programs.program_size(n, len(rows)), programs.program_size(n, 1))
    arrays = programs.program_arrays(np.full(size, np.nan), n, len(rows))
    arrays.rows[:] = rows
    model = np.where(np.tri(n, dtype=bool), hessian, np.nan)
    step, normal = np.full(n, np.nan), np.empty((n, n))
    answer = programs.constrained_program(
        model, np.array(gradient, float), np.array(x, float), box, normal, step, arrays
    )
    return answer, step, arrays.sides, arrays.multipliers


def normalised(normals, lower, upper):
    sizes = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.hstack([normals, np.array([lower, upper], float).T]) / sizes


def box_of(n, size=1.0):
    return np.array([np.full(n, -size), np.full(n, size)])


def is_possible(box, rows):
    """Return whether any point fulfils the constraints, by scipy's linear programs."""
    n = box.shape[1]
    matrix = np.vstack([rows[:, :n], -rows[:, :n]])
    right = np.concatenate([rows[:, n + 1], -rows[:, n]])
    kept = np.isfinite(right)
    return linprog(np.zeros(n), matrix[kept], right[kept], bounds=box.T).status == 0


def assert_optimal(hessian, gradient, x, box, rows, step, multipliers, atol=1e-8):
    """Inside, no slope but that of the multipliers, and those only where and as a side is met."""
    n, end = len(x), x + step
    values = np.concatenate([end, rows[:, :n] @ end])
    lower = np.concatenate([box[0], rows[:, n]])
    upper = np.concatenate([box[1], rows[:, n + 1]])
    assert (values >= lower - 1e-12 * (1.0 + np.abs(values))).all()
    assert (values <= upper + 1e-12 * (1.0 + np.abs(values))).all()
    pull = multipliers[:n] + rows[:, :n].T @ multipliers[n:]
    np.testing.assert_allclose(gradient + hessian @ step + pull, 0.0, atol=atol)
    different = lower < upper
    assert (np.abs(values - upper)[different & (multipliers > 0.0)] < 1e-10).all()
    assert (np.abs(values - lower)[different & (multipliers < 0.0)] < 1e-10).all()


@st.composite
def some_programs(draw):
    """Programs of up to eight variables and five planes, flat, pinned, repeated, opposed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(1, 8)), draw(st.integers(0, 5))
    root = rng.normal(size=(n, max(1, n // 2)))
    hessian = root @ root.T + draw(st.sampled_from([1e-3, 1.0])) * np.eye(n)
    gradient, x = 3.0 * rng.normal(size=n), rng.normal(size=n)
    box = np.array([-rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)])
    if draw(st.booleans()):
        box[0, 0], box[1, -1] = -INF, INF
    if draw(st.booleans()):
        box[:, n // 2] = 0.2  # pinned
    normals = rng.normal(size=(k, n)) * (rng.random((k, n)) < 0.7)
    normals[~normals.any(axis=1), 0] = 1.0
    if k > 1 and draw(st.booleans()):
        normals[1] = draw(st.sampled_from([1.0, -1.0])) * normals[0]
    lower = 0.7 * rng.normal(size=k)
    upper = lower + rng.choice([0.0, 0.3, 1.0, INF], k)
    return hessian, gradient, x, box, normalised(normals, lower, upper)


@settings(max_examples=400)
@given(some_programs())
def test_a_program_is_solved_to_its_optimum_or_found_to_be_impossible(program):
    hessian, gradient, x, box, rows = program
    answer, step, sides, multipliers = solved(hessian, gradient, x, box, rows)
    assert answer == (SOLVED if is_possible(box, rows) else CONTRADICTION)
    if answer == SOLVED:
        assert_optimal(hessian, gradient, x, box, rows, step, multipliers)
        assert ((multipliers != 0.0) <= (sides != 0.0)).all()
    else:
        assert not step.any()


@settings(max_examples=200)
@given(some_programs())
def test_a_contradiction_is_one_among_those_named_alone(program):
    *_, box, rows = program
    n = box.shape[1]
    answer, _, sides, _ = solved(np.eye(n), np.zeros(n), np.zeros(n), box, rows)
    if answer == CONTRADICTION:
        named = np.where(sides[:n] != 0.0, box, np.array([[-INF], [INF]]))
        assert not is_possible(named, rows[sides[n:] != 0.0])


@pytest.mark.parametrize('seed', range(20))
def test_scipys_slsqp_has_the_same_minimum(seed):
    rng = np.random.default_rng(seed)
    n, k = 7, 3
    root = rng.normal(size=(n, n))
    hessian, gradient = root @ root.T + 0.1 * np.eye(n), 3.0 * rng.normal(size=n)
    box, normals = box_of(n), rng.normal(size=(k, n))
    middle = normals @ rng.uniform(-0.3, 0.3, n)
    lower, upper = middle - np.array([0.0, 0.3, 1.0]), middle + np.array([0.0, 0.1, INF])
    rows = normalised(normals, lower, upper)
    answer, step, *_ = solved(hessian, gradient, np.zeros(n), box, rows)
    assert answer == SOLVED
    constraints = [
        {'type': 'eq', 'fun': lambda p: normals[0] @ p - lower[0]},
        {'type': 'ineq', 'fun': lambda p: normals[1:] @ p - lower[1:]},
        {'type': 'ineq', 'fun': lambda p: upper[1] - normals[1] @ p},
    ]
    found = minimize(
        lambda p: gradient @ p + 0.5 * p @ hessian @ p,
        np.zeros(n), jac=lambda p: gradient + hessian @ p, method='SLSQP',
        bounds=box.T, constraints=constraints, options={'ftol': 1e-15, 'maxiter': 500},
    )  # fmt: skip
    np.testing.assert_allclose(step, found.x, atol=1e-6)
    assert gradient @ step + 0.5 * step @ hessian @ step <= found.fun + 1e-9


def test_more_planes_than_variables_may_meet_in_the_minimum():
    """A corner at (1, 1) of five planes and the box, each of which alone would do with others."""
    normals = np.array([[1, 1], [2, 1], [1, 2], [1, 0], [0, 1]], float)
    rows = normalised(normals, np.full(5, -INF), normals @ [1.0, 1.0])
    for pull in ([-1.0, -1.0], [-3.0, -1.0], [-1.0, -9.0]):
        answer, step, _, multipliers = solved(
            np.eye(2), 5.0 * np.array(pull), [0, 0], box_of(2), rows
        )
        assert answer == SOLVED
        np.testing.assert_allclose(step, [1.0, 1.0], atol=1e-13)
        assert (multipliers >= 0.0).all()


def test_equalities_that_say_the_same_are_one():
    normals = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [1.0, 1.0, 0.0]])
    rows = normalised(normals, [0.5, 1.0, -1.0], [0.5, 1.0, 1.0])
    answer, step, sides, _ = solved(np.eye(3), [0, 0, -0.3], [0.9, 0.9, 0], box_of(3), rows)
    assert answer == SOLVED
    np.testing.assert_allclose(step, [-0.65, -0.65, 0.3], atol=1e-14)
    assert np.count_nonzero(sides) == 1


def test_equalities_that_differ_are_a_contradiction():
    rows = normalised(np.array([[1.0, 1.0], [2.0, 2.0]]), [0.5, 1.1], [0.5, 1.1])
    answer, step, sides, _ = solved(np.eye(2), [1, 0], [0, 0], box_of(2), rows)
    assert answer == CONTRADICTION
    assert not step.any()
    assert (sides != 0.0).tolist() == [False, False, True, True]


def test_a_plane_that_the_box_never_reaches_changes_nothing():
    rows = normalised(np.array([[1.0, 1.0]]), [-INF], [2.5])
    answer, step, *_ = solved(np.eye(2), [-0.5, -3.0], [0, 0], box_of(2), rows)
    assert answer == SOLVED
    np.testing.assert_allclose(step, [0.5, 1.0], rtol=1e-14)


@pytest.mark.parametrize('seed', range(40))
def test_the_minimum_is_exact_where_the_hessian_is_ill_conditioned(seed):
    rng = np.random.default_rng(seed)
    n, k = 8, 3
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
    hessian = turn @ np.diag(np.geomspace(1e-4, 1e4, n)) @ turn.T
    hessian, gradient = 0.5 * (hessian + hessian.T), 3.0 * rng.normal(size=n)
    normals = rng.normal(size=(k, n))
    middle = normals @ rng.uniform(-0.5, 0.5, n)
    rows = normalised(normals, middle, middle + np.array([0.0, 0.2, 0.4]))
    x = rng.uniform(-1.0, 1.0, n)
    answer, step, _, multipliers = solved(hessian, gradient, x, box_of(n), rows)
    assert answer == SOLVED
    assert_optimal(hessian, gradient, x, box_of(n), rows, step, multipliers, atol=1e-6)


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
@pytest.mark.parametrize('lost', [-1.0, 0.0, np.nan])
def test_where_the_hessian_is_not_positive_definite_there_is_no_step(lost):
    rows = normalised(np.ones((1, 3)), [-1.0], [1.0])
    answer, step, *_ = solved(np.diag([1.0, lost, 1.0]), [1, 1, 1], [0, 0, 0], box_of(3), rows)
    assert answer == NOT_CONVEX
    assert not step.any()


@example(size=1e-9)
@given(st.floats(1e-12, 1.0))
def test_what_is_missing_to_a_possible_program_is_a_contradiction(size):
    """x + y >= 2 + size in the unit box: impossible by that much, and named with both limits;
    z >= 0.9, active too, has no part in it."""
    rows = normalised(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), [2.0 + size, 0.9], [INF, INF])
    answer, _, sides, _ = solved(np.eye(3), [0, 0, 0], [0, 0, 0], box_of(3), rows)
    assert answer == CONTRADICTION
    assert sides.tolist() == [-1.0, -1.0, 0.0, 1.0, 0.0]
