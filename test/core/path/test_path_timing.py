# SPDX-License-Identifier: Apache-2.0
"""Motions along a path of the joints: limits, and how fast they are."""

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import linprog

from ik_core.path import checked, timing
from ik_core.path.kernels import fastest_squares
from ik_core.path.task import Rates

STEPS = 2000  # of differences over a motion


def no_tip(u):
    return 0.0 * u


def random_spline(seed, joints=4, knots=6):
    rng = np.random.default_rng(seed)
    base = CubicSpline(np.linspace(0.0, 1.0, knots), rng.normal(size=(knots, joints)))
    u = np.linspace(0.0, 1.0, 120)
    return CubicSpline(u, base(u))


def rates(velocity, acceleration, jerk, joints=4):
    return Rates(*(np.full(joints, float(value)) for value in (velocity, acceleration, jerk)))


def differences(spline, law):
    """Largest differences of orders one to three, over the time."""
    t, step = np.linspace(0.0, law.duration, STEPS, retstep=True)
    q = spline(law.place(t)[0])
    return [np.abs(np.diff(q, k, axis=0)).max() / step**k for k in (1, 2, 3)]


@pytest.mark.parametrize('jerk', [250.0, 50.0, 15.0])
@pytest.mark.parametrize('seed', range(4))
def test_limits_of_all_orders_are_kept(seed, jerk):
    spline, limits = random_spline(seed), rates(2.0, 5.0, jerk)
    law = timing.fastest(spline, None, limits)
    for found, most in zip(differences(spline, law), (2.0, 5.0, jerk), strict=True):
        assert found <= 1.02 * most
    ends = law.place(np.array([0.0, law.duration]))
    np.testing.assert_allclose(ends[0], [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(ends[1:3], 0.0, atol=1e-6)


def test_jerk_is_checked_on_both_sides_of_all_knots():
    places = np.union1d(np.linspace(0.0, 1.0, 60), [0.3, 0.3001])
    x = random_spline(1)(places)
    x[places == 0.3001] += 1e-7  # third derivatives leap here
    spline, limits = CubicSpline(places, x), rates(2.0, 5.0, 250.0)
    law = timing.fastest(random_spline(1), None, limits)
    _, use = checked.uses(spline, None, limits, law)
    fine = law.place(np.linspace(0.0, law.duration, 400_001))
    most = timing.use_of_limits(spline, None, limits, fine)[2].max()
    assert most > 2.0
    assert most <= use[2].max() <= 1.01 * most
    kept = checked.fastest(spline, None, limits)
    fine = kept.place(np.linspace(0.0, kept.duration, 400_001))
    assert timing.use_of_limits(spline, None, limits, fine).max() <= 1.0


@pytest.mark.parametrize('seed', range(4))
def test_high_jerk_limits_cost_little_time(seed):
    spline = random_spline(seed)
    without = timing.fastest(spline, None, rates(2.0, 5.0, math.inf)).duration
    with_jerk = timing.fastest(spline, None, rates(2.0, 5.0, 250.0)).duration
    assert without <= with_jerk <= 1.15 * without


def test_straight_joint_path_takes_the_time_of_a_trapezoid():
    u = np.linspace(0.0, 1.0, 20)
    spline = CubicSpline(u, np.column_stack([3.0 * u, -u]))
    law = timing.fastest(spline, None, rates(2.0, 4.0, math.inf, 2))
    assert math.isclose(law.duration, 3.0 / 2.0 + 2.0 / 4.0, rel_tol=2e-3)


def test_straight_joint_path_takes_the_time_of_seven_phases():
    u = np.linspace(0.0, 1.0, 20)
    spline = CubicSpline(u, np.column_stack([3.0 * u, -u]))
    law = timing.fastest(spline, None, rates(2.0, 4.0, 20.0, 2))
    assert math.isclose(law.duration, 3.0 / 2.0 + 2.0 / 4.0 + 4.0 / 20.0, rel_tol=0.02)


@pytest.mark.parametrize('seed', range(3))
def test_duration_without_jerk_is_that_of_a_linear_programme(seed):
    spline, count = random_spline(seed, joints=2, knots=4), 40
    grid = np.linspace(0.0, 1.0, count)
    one, two = spline(grid, 1) / 5.0, spline(grid, 2) / 5.0
    most = (2.0 / np.abs(spline(grid, 1)).max(axis=1)) ** 2
    square = np.empty(count)
    fastest_squares(grid, one.copy(), two.copy(), most, square)
    rows, right = [], []
    slope = np.zeros((count - 1, count))
    step = np.diff(grid)
    for i in range(count - 1):
        slope[i, i], slope[i, i + 1] = -0.5 / step[i], 0.5 / step[i]
        for at in (i, i + 1):
            for j in range(2):
                row = one[at, j] * slope[i]
                row[at] += two[at, j]
                rows += [row, -row]
                right += [1.0, 1.0]
    bounds = [(0.0, 0.0 if i in (0, count - 1) else most[i]) for i in range(count)]
    best = linprog(-np.ones(count), np.array(rows), np.array(right), bounds=bounds)

    def seconds(squares):
        speed = np.sqrt(np.maximum(squares, 0.0))
        return (2.0 * step / (speed[:-1] + speed[1:])).sum()

    assert seconds(square) <= 1.002 * seconds(best.x)


def test_long_motion_keeps_its_limits():
    spline, limits = random_spline(2), rates(0.05, 1.0, 50.0)
    law = timing.fastest(spline, None, limits)
    assert law.duration > 100.0
    t = np.linspace(0.0, law.duration, 200_001)
    motion = law.place(t)
    use = timing.use_of_limits(spline, None, limits, motion)
    assert use.max() <= 1.01
    without = timing.fastest(spline, None, rates(0.05, 1.0, math.inf)).duration
    assert law.duration <= 1.02 * without


def test_tip_speed_is_kept():
    spline = random_spline(0)
    law = timing.fastest(spline, lambda u: 0.0 * u + 2.0 / 0.1, rates(2.0, 5.0, 250.0))
    speed = 2.0 * law.place(np.linspace(0.0, law.duration, 500))[1]
    assert 0.0999 <= speed.max() <= 0.1002
    assert math.isclose(law.duration, 20.0, rel_tol=0.05)


def test_slower_motion_passes_the_same_places():
    spline = random_spline(1)
    law = timing.fastest(spline, None, rates(2.0, 5.0, 250.0))
    slow, t = law.slowed(2.0), np.linspace(0.0, law.duration, 50)
    motion, other = law.place(t), slow.place(2.0 * t)
    np.testing.assert_allclose(other, motion / np.array([1.0, 2.0, 4.0, 8.0])[:, None], rtol=1e-9)
