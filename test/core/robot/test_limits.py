# SPDX-License-Identifier: Apache-2.0
"""The box of joint limits, and random configurations: uniform and pure."""

import math

import numpy as np
import pytest
from scipy import stats

from ik_core.robot.limits import JointLimits, hash32, random_configuration

INF = math.inf
LIMITS = JointLimits([-1.0, -INF, 0.5, -INF, 2.0, -INF], [1.0, INF, INF, -0.5, 2.0, 5.0])


def sample(seed, attempt, lower, upper):
    out = np.full(len(lower), np.nan)
    random_configuration(seed, attempt, np.array(lower, float), np.array(upper, float), out)
    return out


def test_project_is_the_nearest_point_of_the_box():
    x = np.array([-3.0, 1e9, 0.0, 0.0, 2.5, 4.0])
    assert LIMITS.project(x).tolist() == [-1.0, 1e9, 0.5, -0.5, 2.0, 4.0]
    assert x[0] == -3.0
    inside = np.array([0.25, -7.0, 0.5, -0.5, 2.0, 5.0])
    assert LIMITS.project(inside).tolist() == inside.tolist()


def test_violation_is_signed():
    x = np.array([-3.0, 1e9, 0.0, 0.0, 2.5, 4.0])
    assert LIMITS.violation(x).tolist() == [-2.0, 0.0, -0.5, 0.5, 0.5, 0.0]


def test_active_needs_both_the_limit_and_the_direction():
    limits = JointLimits([-1.0] * 6, [1.0] * 6)
    x = np.array([-1.0, -1.0, 1.0, 1.0, 0.0, -1.5])
    direction = np.array([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0])
    assert limits.active(x, direction).tolist() == [True, False, True, False, False, True]
    assert not limits.active(x, np.zeros(6)).any()


def test_sampling_bounds_are_finite_and_inside_the_limits():
    low, high = LIMITS.sample_lower, LIMITS.sample_upper
    pi = math.pi
    assert low.tolist() == [-1.0, -pi, 0.5, -0.5 - pi, 2.0, -pi]
    assert high.tolist() == [1.0, pi, 0.5 + pi, -0.5, 2.0, 5.0]
    assert (LIMITS.packed[:4] == [LIMITS.lower, LIMITS.upper, low, high]).all()


def test_turns_are_marked_where_there_is_room_for_one():
    turn = 2.0 * math.pi
    lower, upper = [0.0, 0.0, -INF, 0.0, 0.0], [turn, turn - 1e-9, INF, 100.0, INF]
    limits = JointLimits(lower, upper, turns=[True, True, True, False, True])
    assert limits.turns.tolist() == limits.packed[4].tolist() == [1, 0, 1, 0, 1]
    assert not JointLimits(lower, upper).turns.any()


def test_far_one_sided_limits_have_sampling_bounds_in_order():
    limits = JointLimits([100.0, -INF], [INF, -100.0])
    assert (limits.sample_lower <= limits.sample_upper).all()
    assert limits.sample_lower[0] == 100.0
    assert limits.sample_upper[1] == -100.0


def test_limits_as_far_apart_as_numbers_go_are_sampled_as_if_open():
    limits = JointLimits([-1e308, -1e308, 1.0], [1e308, 1.0, 1e308], turns=True)
    points = sample(0, 1, limits.sample_lower, limits.sample_upper)
    assert (np.abs(points) <= 1.0 + math.pi).all()
    assert limits.turns.all()
    assert (limits.upper == [1e308, 1.0, 1e308]).all()


def test_limits_are_copied_and_not_to_be_written():
    lower = np.zeros(2)
    limits = JointLimits(lower, np.ones(2))
    lower[0] = 0.5
    assert limits.lower[0] == 0.0
    with pytest.raises(ValueError, match='read-only'):
        limits.lower[0] = 0.5


def test_random_configurations_stay_in_the_box():
    lower, upper = [-1.0, 3.0, 2.0, -1e9], [1.0, 3.0 + 1e-12, 2.0, 1e9]
    points = np.array([sample(1, i, lower, upper) for i in range(2000)])
    assert (points >= lower).all()
    assert (points <= upper).all()
    assert (points[:, 2] == 2.0).all()


def test_random_configurations_are_pure():
    first = sample(7, 3, [0.0] * 5, [1.0] * 5)
    np.random.seed(1)  # noqa: NPY002  numpy's global state has no say
    sample(8, 1, [0.0], [1.0])
    assert sample(7, 3, [0.0] * 5, [1.0] * 5).tolist() == first.tolist()
    # a joint's value does not depend on how many there are, nor on the box of the others
    assert sample(7, 3, [0.0, -9.0], [1.0, 9.0])[0] == first[0]


@pytest.mark.parametrize('by', ['attempt', 'seed', 'joint'])
def test_random_configurations_are_uniform(by):
    """Along each of the three ways, single and in pairs of neighbours."""
    draws = {
        'attempt': lambda i: sample(5, i, [0.0] * 2, [1.0] * 2),
        'seed': lambda i: sample(i, 1, [0.0] * 2, [1.0] * 2),
        'joint': lambda i: sample(5, 1, [0.0] * (i + 2), [1.0] * (i + 2))[-2:],
    }
    count = 1500
    points = np.array([draws[by](i) for i in range(count)])
    for column in points.T:
        assert stats.kstest(column, 'uniform').pvalue > 1e-3
    assert abs(stats.spearmanr(points[:-1, 0], points[1:, 0]).statistic) < 4 / math.sqrt(count)
    if by != 'joint':
        assert abs(stats.spearmanr(*points.T).statistic) < 4 / math.sqrt(count)
    cells = np.histogram2d(points[:-1, 0], points[1:, 0], bins=5, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(cells.ravel()).pvalue > 1e-3


def test_different_seeds_and_attempts_do_not_share_points():
    points = {
        sample(seed, attempt, [0.0], [1.0])[0] for seed in range(60) for attempt in range(60)
    }
    assert len(points) >= 3600 - 2


def test_seeds_use_all_their_32_bits():
    seeds = [0, 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1]
    assert len({sample(seed, 1, [0.0], [1.0])[0] for seed in seeds}) == len(seeds)


def test_hash32_keeps_to_32_bits_and_is_one_to_one_there():
    values = [*range(3000), 2**31 - 1, 2**31, 2**32 - 1]
    hashed = [int(hash32(value)) for value in values]
    assert len(set(hashed)) == len(values)
    assert min(hashed) >= 0
    assert max(hashed) < 2**32
    assert np.mean([bin(h).count('1') for h in hashed]) == pytest.approx(16.0, abs=0.3)


def test_hash32_is_the_same_in_exact_arithmetic():
    def exact(value):
        value = ((value ^ (value >> 16)) * 0x7FEB352D) % 2**32
        value = ((value ^ (value >> 15)) * 0x46CA68B5) % 2**32
        return value ^ (value >> 16)

    for value in [0, 1, 0xFFFF, 2**31, 2**32 - 1, 0xDEADBEEF, 123456789]:
        assert hash32(value) == exact(value)
