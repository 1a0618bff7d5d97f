# SPDX-License-Identifier: Apache-2.0
"""The three formulas, beside numpy's roots of polynomials and numpy's vectors."""

import numpy as np
import pytest

from ik_core.closed_form import formulas
from ik_core.kernels.jit import kernel
from ik_core.maths import lanes

FREE = np.cos(0.7), np.sin(0.7)
SIGNS = 1.0, -1.0


@kernel
def turn(h, a, b, free):
    return formulas.turn(h, a, b, free, formulas.FINE)


@kernel
def line(x, y, d, gap, free):
    return formulas.line(x, y, d, gap, free, formulas.FINE)


@kernel
def cone(h, a, f, f0, w):
    return formulas.cone(h, a, f, f0, w)


@kernel
def sphere(h, a, g, w):
    return formulas.sphere(h, a, g, w, formulas.FINE)


@kernel
def shift(h, u, w, sign):
    return formulas.line_of_shift(h, u, w, sign)


@kernel
def quartic(p, size, signs, free):
    return formulas.quartic(p, size, signs, free)


@kernel
def angle_of(x, y):
    return lanes.angle_of(x, y)


def vector(rng):
    return tuple(rng.normal(size=3).tolist())


def unit(rng):
    v = rng.normal(size=3)
    return tuple((v / np.linalg.norm(v)).tolist())


def rotation(h, q):
    k = np.cross(h, np.eye(3)).T
    return np.eye(3) + np.sin(q) * k + (1.0 - np.cos(q)) * k @ k


def both(x, y, d, gap):
    """Two angles of a line, and its gap."""
    c, s, dc, ds, gap = line(x, y, d, gap, FREE)
    return [np.arctan2(s + sign * ds, c + sign * dc) for sign in SIGNS], gap


def zeros(f, size=1.0):
    found = [quartic(tuple(f.tolist()), size, (a, b), FREE) for a in SIGNS for b in SIGNS]
    return np.array([np.arctan2(s, c) for c, s, _ in found])


def basis(q):
    return np.array([1.0, np.cos(q), np.sin(q), np.cos(2 * q), np.sin(2 * q)])


def slopes(q):
    return np.array([0.0, -np.sin(q), np.cos(q), -2 * np.sin(2 * q), 2 * np.cos(2 * q)])


def with_zero_of(rows, rng):
    """Random coefficients made to vanish against these rows."""
    f = rng.normal(size=5)
    return f - np.linalg.pinv(rows) @ (rows @ f)


def zeros_by_roots(f):
    """The zeros of a trigonometric polynomial of degree two: its roots z on the unit circle."""
    first, second = 0.5 * (f[1] - 1j * f[2]), 0.5 * (f[3] - 1j * f[4])
    z = np.roots([second, first, f[0], np.conj(first), np.conj(second)])
    return np.angle(z[np.abs(np.abs(z) - 1.0) < 1e-9])


def gap_to(q, others):
    return np.abs((np.asarray(others) - q + np.pi) % (2 * np.pi) - np.pi).min(initial=np.inf)


def test_angle_of_is_atan2_to_the_last_digits():
    rng = np.random.default_rng(60)
    right = np.arange(-8, 9) * 0.125 * np.pi
    for angle in (*rng.uniform(-np.pi, np.pi, 2000), *right, *(right + 1e-9), 1e-15):
        c, s = np.cos(angle), np.sin(angle)
        assert angle_of(c, s) == pytest.approx(np.arctan2(s, c), abs=5e-16)


def test_turn_brings_one_vector_onto_another():
    rng = np.random.default_rng(62)
    for _ in range(50):
        h, a, q = unit(rng), vector(rng), rng.uniform(-3.0, 3.0)
        c, s = turn(h, a, tuple((rotation(h, q) @ a).tolist()), FREE)
        assert np.arctan2(s, c) == pytest.approx(q, abs=1e-12)


def test_turn_of_what_is_on_the_axis_is_free():
    z = (0.0, 0.0, 1.0)
    assert turn(z, z, (1.0, 0.0, 0.0), FREE) == FREE
    assert turn(z, (1e-11, 0.0, 2.0), (0.0, 1e-11, 2.0), FREE) == FREE


def test_line_has_both_angles():
    rng = np.random.default_rng(61)
    for _ in range(300):
        x, y, d = rng.normal(size=3)
        angles, gap = both(x, y, d, x * x + y * y - d * d)
        assert gap == pytest.approx(1.0 - d**2 / (x**2 + y**2))
        if gap > 0.0:
            for q in angles:
                assert x * np.cos(q) + y * np.sin(q) == pytest.approx(d, abs=1e-13)
            assert np.sin(0.5 * (angles[0] - angles[1])) ** 2 == pytest.approx(gap)


@pytest.mark.parametrize('d', [5.0, -5.0, 5.0 + 1e-9, 7.0])
def test_line_that_does_not_meet_the_circle_touches_it(d):
    angles, gap = both(3.0, 4.0, d, 25.0 - d * d)
    assert gap <= 0.0
    assert angles[0] == angles[1]
    assert (np.cos(angles[0]), np.sin(angles[0])) == pytest.approx(
        (np.copysign(0.6, d), np.copysign(0.8, d))
    )


def test_line_without_direction_is_free():
    c, s, dc, ds, gap = line(1e-12, 0.0, 0.0, 1e-24, FREE)
    assert ((c, s), dc, ds, gap) == (FREE, 0.0, 0.0, 1.0)


@pytest.mark.parametrize('aside', [1.0, 1e-6, 1e-9])
def test_cone_of_a_direction_that_is_nearly_on_the_axis_keeps_its_digits(aside):
    rng, (f, h, a) = np.random.default_rng(63), np.eye(3).tolist()
    a = f  # as an aligned wrist's: with q = 0 it is on f
    for _ in range(20):
        q = aside * rng.uniform(0.1, 1.0)
        w = rotation(f, rng.uniform(-3.0, 3.0)) @ rotation(h, q) @ a
        x, y, d, gap = cone(tuple(h), tuple(a), tuple(f), tuple(f), tuple(w.tolist()))
        angles, _ = both(x, y, d, gap)
        assert gap_to(q, angles) < 1e-9 * aside


@pytest.mark.parametrize('aside', [1.0, 1e-6, 1e-9])
def test_sphere_of_a_folded_arm_keeps_its_digits(aside):
    rng, h = np.random.default_rng(64), (0.0, 0.0, 1.0)
    a, g = (0.5, 0.0, 0.2), (0.5, 0.0, 0.2)
    for _ in range(20):
        q = aside * rng.uniform(0.1, 1.0)
        w = rotation(unit(rng), 0.3) @ (rotation(h, q) @ a - np.array(g))
        angles, _ = both(*sphere(h, a, g, tuple(w.tolist())))
        assert gap_to(q, angles) < 1e-8 * aside


def test_shifts_lead_onto_a_sphere():
    rng = np.random.default_rng(65)
    for _ in range(100):
        h, u, w = unit(rng), vector(rng), vector(rng)
        for sign in SIGNS:
            d, gap = shift(h, u, w, sign)
            length = np.linalg.norm(np.array(u) + d * np.array(h))
            assert (gap > 0.0) == (abs(length - np.linalg.norm(w)) < 1e-12)


@pytest.mark.parametrize('missing', [(), (1,), (2,), (1, 2), (1, 4), (2, 4), (3, 4), (0, 1, 2)])
def test_quartic_has_all_zeros_that_the_roots_have(missing):
    rng = np.random.default_rng(1)
    for _ in range(300):
        f = rng.normal(size=5)
        f[list(missing)] = 0.0
        found = zeros(f)
        assert all(gap_to(q, found) < 1e-7 for q in zeros_by_roots(f))


def test_quartic_does_not_lose_a_double_zero_to_rounding():
    rng = np.random.default_rng(2)
    for _ in range(300):
        q = rng.uniform(-np.pi, np.pi)
        f = with_zero_of(np.array([basis(q), slopes(q)]), rng)
        assert gap_to(q, zeros(f)) < 3e-6


def test_quartic_finds_two_zeros_close_together():
    rng = np.random.default_rng(3)
    for _ in range(300):
        one = rng.uniform(-np.pi, np.pi)
        two = one + 1e-3
        found = zeros(with_zero_of(np.array([basis(one), basis(two)]), rng))
        assert gap_to(one, found) < 1e-7
        assert gap_to(two, found) < 1e-7


def test_quartic_that_is_zero_is_free():
    found = zeros(np.array([0.0, 0.0, 1e-17, 0.0, 0.0]))
    np.testing.assert_allclose(found, 0.7)
