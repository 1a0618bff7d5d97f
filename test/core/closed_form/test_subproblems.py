"""Angles that fulfil one equation, beside numpy's roots of polynomials."""

import numpy as np
import pytest

from ik_core.closed_form.subproblems import angle_onto, circle_angles, line_angles

ANGLES = np.empty(8)


def zeros_by_roots(f):
    """The zeros of a trigonometric polynomial of degree two: its roots z on the unit circle."""
    first, second = 0.5 * (f[1] - 1j * f[2]), 0.5 * (f[3] - 1j * f[4])
    z = np.roots([second, first, f[0], np.conj(first), np.conj(second)])
    return np.angle(z[np.abs(np.abs(z) - 1.0) < 1e-9])


def basis(q):
    return np.array([1.0, np.cos(q), np.sin(q), np.cos(2 * q), np.sin(2 * q)])


def slopes(q):
    return np.array([0.0, -np.sin(q), np.cos(q), -2 * np.sin(2 * q), 2 * np.cos(2 * q)])


def with_zero_of(rows, rng):
    """Random coefficients made to vanish against these rows."""
    f = rng.normal(size=5)
    return f - np.linalg.pinv(rows) @ (rows @ f)


def found(f):
    return ANGLES[: circle_angles(tuple(f.tolist()), 1.0, 0.0, ANGLES)].copy()


def gap(q, others):
    return np.abs((others - q + np.pi) % (2 * np.pi) - np.pi).min(initial=np.inf)


@pytest.mark.parametrize('missing', [(), (1,), (2,), (1, 2), (1, 4), (2, 4), (3, 4), (0, 1, 2)])
def test_all_zeros_are_found_that_the_roots_have(missing):
    rng = np.random.default_rng(1)
    for _ in range(300):
        f = rng.normal(size=5)
        f[list(missing)] = 0.0
        angles = found(f)
        assert all(gap(q, angles) < 1e-7 for q in zeros_by_roots(f))
        # angles that are none are proposed only where a line nearly touches the circle
        assert sum(abs(basis(q) @ f) > 1e-9 for q in angles) == 0 or len(zeros_by_roots(f)) < 4


def test_a_double_zero_is_not_lost_to_rounding():
    rng = np.random.default_rng(2)
    for _ in range(300):
        q = rng.uniform(-np.pi, np.pi)
        f = with_zero_of(np.array([basis(q), slopes(q)]), rng)
        assert gap(q, found(f)) < 1e-6


def test_two_zeros_close_together_are_both_found():
    rng = np.random.default_rng(3)
    for _ in range(300):
        one = rng.uniform(-np.pi, np.pi)
        two = one + 1e-3
        f = with_zero_of(np.array([basis(one), basis(two)]), rng)
        angles = found(f)
        assert gap(one, angles) < 1e-7
        assert gap(two, angles) < 1e-7


def test_where_all_angles_are_zeros_the_free_one_is_given():
    assert circle_angles((0.0, 0.0, 1e-17, 0.0, 0.0), 1.0, 0.7, ANGLES) == 1
    assert ANGLES[0] == 0.7
    assert line_angles(0.0, 0.0, 0.0, 0.3, ANGLES, 0) == 1
    assert ANGLES[0] == 0.3


def test_a_line_meets_the_circle_twice_touches_it_or_misses():
    assert line_angles(3.0, 4.0, 1.0, 0.0, ANGLES, 0) == 2
    for q in ANGLES[:2]:
        assert 3.0 * np.cos(q) + 4.0 * np.sin(q) == pytest.approx(1.0, abs=1e-14)
    assert line_angles(3.0, 4.0, 5.0, 0.0, ANGLES, 0) == 1
    assert ANGLES[0] == pytest.approx(np.arctan2(4.0, 3.0))
    assert line_angles(3.0, 4.0, 5.2, 0.0, ANGLES, 0) == 0


def test_a_turn_brings_one_vector_onto_another():
    rng = np.random.default_rng(4)
    for _ in range(50):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        a, angle = rng.normal(size=3), rng.uniform(-3.0, 3.0)
        c, s = np.cos(angle), np.sin(angle)
        b = c * a + s * np.cross(axis, a) + (1 - c) * (axis @ a) * axis
        vectors = (tuple(v.tolist()) for v in (axis, a, b))
        assert angle_onto(*vectors, 9.0) == pytest.approx(angle, abs=1e-12)
    z = (0.0, 0.0, 1.0)
    assert angle_onto(z, z, (1.0, 0.0, 0.0), 9.0) == 9.0
