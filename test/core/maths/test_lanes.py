# SPDX-License-Identifier: Apache-2.0
"""Lanes compute what numbers do: every lane, to the last bit, and plain Python nearly so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ik_core.kernels.jit import COMPILED, kernel
from ik_core.maths.lanes import (
    HAS_LANES,
    Rows,
    angle_of,
    bits,
    cos_sin,
    in_lanes,
    least,
    most,
    root,
    select,
)

pytestmark = pytest.mark.skipif(not (COMPILED and HAS_LANES), reason='kernels are not compiled')

as_lanes = in_lanes[8]  # numba has to find it as a global of its own


@kernel
def _functions(x, y, out):
    out[0], out[1] = cos_sin(x[0])
    out[2] = angle_of(x[0], y[0])
    out[3] = root(abs(x[0])) / (1.0 + y[0] * y[0]) - x[0]
    out[4] = select((x[0] < y[0]) | (x[0] > 2.0), least(x[0], 0.5), most(y[0], -x[0]))
    total = 0.0
    for i in range(3):
        total += x[0] * i
    out[5] = total
    out[6] = 7.0


@kernel
def _in_lanes(x, y, out):
    _functions(as_lanes(x), as_lanes(y), as_lanes(out))


@kernel
def _bits(x):
    lanes = as_lanes(x)
    return bits(lanes[0] > 0.0), bits((lanes[0] != lanes[0]) & (lanes[0] == lanes[0]))


@pytest.mark.parametrize('scale', [1e-9, 1.0, 30.0, 1e5])
def test_every_lane_is_as_a_number_to_the_last_bit(scale):
    rng = np.random.default_rng(3)
    x, y = rng.normal(scale=scale, size=(2, 1, 8))
    out, alone = np.zeros((7, 8)), np.zeros((7, 8))
    _in_lanes(x, y, out)
    for lane in range(8):
        one = np.zeros(7)
        _functions(x[:, lane].copy(), y[:, lane].copy(), one)
        alone[:, lane] = one
    np.testing.assert_array_equal(out, alone)


def test_plain_python_gives_nearly_the_same():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 1, 8))
    out, plain = np.zeros((7, 8)), np.zeros((7, 8))
    _in_lanes(x, y, out)
    source = _functions.py_func
    here = source.__globals__ | {
        'cos_sin': cos_sin.py_func,
        'angle_of': angle_of.py_func,
    }
    type(source)(source.__code__, here)(Rows(x), Rows(y), Rows(plain))
    np.testing.assert_allclose(out, plain, rtol=0, atol=1e-12)


def test_functions_are_those_of_the_library():
    rng = np.random.default_rng(5)
    for scale in (1e-6, 1.0, 10.0, 1e4):
        x, y = rng.normal(scale=scale, size=(2, 1, 8))
        out = np.zeros((7, 8))
        _in_lanes(x, y, out)
        np.testing.assert_allclose(out[0], np.cos(x[0]), rtol=0, atol=3e-16)
        np.testing.assert_allclose(out[1], np.sin(x[0]), rtol=0, atol=3e-16)
        np.testing.assert_allclose(out[2], np.arctan2(y[0], x[0]), rtol=1e-15)


@pytest.mark.parametrize('quarters', range(-9, 10))
def test_waves_at_quarter_turns(quarters):
    x = quarters * 0.5 * math.pi
    out = np.zeros((7, 8))
    _in_lanes(np.full((1, 8), x), np.ones((1, 8)), out)
    np.testing.assert_allclose(out[0], math.cos(x), rtol=0, atol=1e-16)
    np.testing.assert_allclose(out[1], math.sin(x), rtol=0, atol=1e-16)


@pytest.mark.parametrize(
    ('x', 'y'), [(0.0, 0.0), (-1.0, 0.0), (0.0, 2.0), (0.0, -2.0), (1.0, 1.0), (-3.0, 3.0)]
)
def test_angles_on_the_axes_and_between(x, y):
    out = np.zeros((7, 8))
    _in_lanes(np.full((1, 8), x), np.full((1, 8), y), out)
    np.testing.assert_allclose(out[2], math.atan2(y, x), rtol=2e-16, atol=0)


def test_bits_are_those_of_the_lanes():
    x = np.array([[1.0, -1.0, 2.0, 0.0, np.nan, 3.0, -0.0, 1e-300]])
    assert _bits(x) == (0b10100101, 0)


def test_numbers_alone_where_numba_has_no_vectors():
    """Nothing but time is lost where numba's inside is another one."""
    from ik_core.maths import one_lane

    for value in (-2.5, -0.0, 0.3, 7.0):
        assert one_lane.floor.py_func(value) == np.floor(value)
        assert one_lane.least.py_func(value, 1.0) == min(value, 1.0)
        assert one_lane.most.py_func(value, 1.0) == max(value, 1.0)
        assert one_lane.select.py_func(value > 0.0, value, -value) == abs(value)
    assert one_lane.root.py_func(9.0) == 3.0


@pytest.mark.parametrize('angle', [1e7, 1e12, 1e16, -1e20, 1e60, 1e300])
def test_waves_of_angles_without_digits_stay_on_the_circle(angle):
    """Else frames would be no rotations, and errors not numbers."""
    out = np.zeros((7, 8))
    _in_lanes(np.full((1, 8), angle), np.ones((1, 8)), out)
    np.testing.assert_allclose(out[0] ** 2 + out[1] ** 2, 1.0, rtol=0, atol=1e-15)
