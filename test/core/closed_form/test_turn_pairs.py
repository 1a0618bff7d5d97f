"""The subproblems by cosines and sines, beside those by angles."""

import numpy as np
import pytest

from ik_core._jit import njit
from ik_core.closed_form import turns
from ik_core.closed_form.subproblems import angle_onto, line_angles
from ik_core.maths import lanes

LOST, MISSED, NO, UNCLEAR, YES = (
    getattr(turns, name) for name in ('LOST', 'MISSED', 'NO', 'UNCLEAR', 'YES')
)


@njit
def on_line(x, y, d):
    return turns.on_line(x, y, d)


@njit
def onto(axis, a, b):
    return turns.onto(axis, a, b)


@njit
def angle_of(x, y):
    return lanes.angle_of(x, y)


def test_angles_of_cosines_and_sines_are_atan2_to_the_last_digits():
    rng = np.random.default_rng(60)
    right = np.arange(-8, 9) * 0.125 * np.pi
    for angle in (*rng.uniform(-np.pi, np.pi, 2000), *right, *(right + 1e-9), 1e-15):
        c, s = np.cos(angle), np.sin(angle)
        assert angle_of(c, s) == pytest.approx(np.arctan2(s, c), abs=5e-16)


def test_both_angles_on_a_line_are_found_and_how_sure_they_are():
    rng, angles = np.random.default_rng(61), np.empty(2)
    for _ in range(300):
        x, y, d = rng.normal(size=3)
        c, s, dc, ds, sure, gap = on_line(x, y, d)
        assert gap == pytest.approx(1.0 - d**2 / (x**2 + y**2))
        if abs(d) > np.hypot(x, y):
            assert sure in (NO, MISSED)
            continue
        assert sure == YES
        assert line_angles(x, y, d, 0.0, angles, 0) == 2
        for sign, angle in zip((1.0, -1.0), angles, strict=True):
            there = np.arctan2(s + sign * ds, c + sign * dc)
            assert abs((there - angle + np.pi) % (2 * np.pi) - np.pi) < 1e-12


@pytest.mark.parametrize(
    ('d', 'sure'), [(5.0, UNCLEAR), (4.9, YES), (5.0 + 1e-8, UNCLEAR), (5.01, MISSED), (5.2, NO)]
)
def test_a_line_that_touches_is_unclear_and_one_that_just_misses_is_told(d, sure):
    for sign in (1.0, -1.0):
        c, s, _, _, found, _ = on_line(3.0, 4.0, sign * d)
        assert found == sure
        if sure != YES:
            assert [c, s] == pytest.approx([sign * 0.6, sign * 0.8], abs=1e-3)


def test_where_all_angles_would_do_one_is_taken_and_it_is_told():
    assert on_line(0.0, 0.0, 0.0)[4] == LOST
    c, s, *_ = on_line(1e-12, 0.0, 0.0)
    assert (c, s) == (1.0, 0.0)
    z = (0.0, 0.0, 1.0)
    assert onto(z, z, (1.0, 0.0, 0.0)) == (1.0, 0.0, LOST)


def test_a_turn_brings_one_vector_onto_another():
    rng = np.random.default_rng(62)
    for _ in range(50):
        axis, a, b = rng.normal(size=(3, 3))
        axis /= np.linalg.norm(axis)
        vectors = [tuple(v.tolist()) for v in (axis, a, b)]
        c, s, sure = onto(*vectors)
        assert sure == YES
        assert np.arctan2(s, c) == pytest.approx(angle_onto(*vectors, 9.0), abs=1e-12)
