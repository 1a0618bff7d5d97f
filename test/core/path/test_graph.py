# SPDX-License-Identifier: Apache-2.0
"""The best sequence of candidates, beside all sequences of small graphs."""

import itertools
import math

import numpy as np
import pytest

from ik_core.path.graph import Candidates, best_sequence
from ik_core.robot.limits import FULL_TURN, JointLimits

MOST, RATE = 0.5, np.array([1.0, 2.0])


def candidates_of(layers):
    first = np.concatenate([[0], np.cumsum([len(layer) for layer in layers])])
    return Candidates(np.concatenate(layers), first, np.zeros(first[-1]))


def solved(layers, limits, **options):
    steps = len(layers) - 1
    most, rates = np.full((steps, 2), MOST), np.tile(RATE, (steps, 1))
    return best_sequence(candidates_of(layers), limits, most, rates, **options)


def cost_of(rows, limits):
    """Reconfigurations, largest speed and travel of a sequence; turns of a run as they fit."""
    count, speed, travel = 0, 0.0, 0.0
    for a, b in itertools.pairwise(rows):
        gap = np.where(limits.turns, (b - a + np.pi) % FULL_TURN - np.pi, b - a)
        if (np.abs(gap) > MOST).any():
            count += 1
            continue
        speed = max(speed, float((np.abs(gap) * RATE).max()))
        travel += float(np.linalg.norm(gap))
    return count, speed, travel


def random_layers(rng, samples=6, most=4):
    return [rng.uniform(-0.6, 0.6, (rng.integers(1, most), 2)) for _ in range(samples)]


@pytest.mark.parametrize('seed', range(60))
def test_sequence_is_the_best_of_all(seed):
    layers, limits = random_layers(np.random.default_rng(seed)), JointLimits([-1, -1], [1, 1])
    best = min(cost_of(rows, limits) for rows in itertools.product(*layers))
    found = solved(layers, limits)
    np.testing.assert_allclose(cost_of(found.x, limits), best, rtol=1e-8, atol=1e-12)
    assert len(found.breaks) == best[0]


@pytest.mark.parametrize('seed', range(20))
def test_samples_are_reached_by_the_fewest_reconfigurations(seed):
    layers, limits = random_layers(np.random.default_rng(seed)), JointLimits([-1, -1], [1, 1])
    found = solved(layers, limits)
    for i in range(1, len(layers) + 1):
        fewest = min(cost_of(rows, limits)[0] for rows in itertools.product(*layers[:i]))
        assert found.done[i - 1] == fewest


@pytest.mark.parametrize('seed', range(40))
def test_whole_turns_are_continued_inside_the_limits(seed):
    rng, limits = np.random.default_rng(seed), JointLimits([-5.0, -9.0], [4.0, 9.0], True)
    walk = np.cumsum(rng.uniform(-0.3, 0.3, (30, 2)) + np.array([0.1, -0.2]), axis=0)
    walk = np.clip(walk, limits.lower, limits.upper)
    wrapped = (walk + np.pi) % FULL_TURN - np.pi
    found = solved([row[np.newaxis] for row in wrapped], limits)
    assert not len(found.breaks)
    np.testing.assert_allclose(np.diff(found.x, axis=0), np.diff(walk, axis=0), atol=1e-12)
    np.testing.assert_allclose(np.clip(found.x, limits.lower, limits.upper), found.x, atol=1e-9)


def test_walk_of_more_turns_than_the_limits_allow_is_unwound():
    limits = JointLimits([-4.0, -1.0], [4.0, 1.0], [True, False])
    walk = np.column_stack([np.arange(0.0, 14.0, 0.4), np.zeros(35)])
    wrapped = (walk + np.pi) % FULL_TURN - np.pi
    found = solved([row[np.newaxis] for row in wrapped], limits)
    assert len(found.breaks) == 2
    assert (np.abs(found.x[:, 0]) <= 4.0 + 1e-9).all()
    steps = np.delete(np.diff(found.x[:, 0]), found.breaks - 1)
    np.testing.assert_allclose(steps, 0.4, atol=1e-12)


def test_fixed_candidates_keep_their_turns():
    limits = JointLimits([-7.0, -1.0], [7.0, 1.0], [True, False])
    layers = [np.array([[x, 0.0]]) for x in (5.0, 5.3 - FULL_TURN, 5.6 - FULL_TURN)]
    found = solved(layers, limits, fixed=np.array([True, False, False]))
    np.testing.assert_allclose(found.x[:, 0], [5.0, 5.3, 5.6], atol=1e-12)
    far = solved(layers, limits, fixed=np.array([True, False, True]))
    assert len(far.breaks) == 1  # the last candidate is a whole turn away


def test_sequence_begins_nearest_to_a_configuration():
    layers = [np.array([[0.0, 0.0], [0.4, 0.0]]), np.array([[0.2, 0.0]])]
    limits = JointLimits([-1, -1], [1, 1])
    for near, first in ((-0.5, 0.0), (0.9, 0.4)):
        assert solved(layers, limits, near=np.array([near, 0.0])).x[0, 0] == first
    layers[1] = np.array([[0.85, 0.0]])  # which only the candidate that is farther away leads to
    assert solved(layers, limits, near=np.array([-0.5, 0.0])).x[0, 0] == 0.4


def test_pairs_that_are_kept_apart_are_not_joined():
    layers = [np.array([[0.0, 0.0], [0.1, 0.0]]), np.array([[0.0, 0.0]])]
    limits = JointLimits([-1, -1], [1, 1])
    assert solved(layers, limits).nodes.tolist() == [0, 2]
    assert solved(layers, limits, apart=np.array([[0, 2]])).nodes.tolist() == [1, 2]
    assert len(solved(layers, limits, apart=np.array([[0, 2], [1, 2]])).breaks) == 1


def test_candidates_of_distant_bands_are_not_joined():
    layers = [np.zeros((1, 2)), np.array([[0.0, 0.0], [0.3, 0.0]])]
    base = candidates_of(layers)
    bands = Candidates(base.x, base.first, np.array([1.0, 0.0, 1.05]))
    most, rates = np.full((1, 2), MOST), np.ones((1, 2))
    found = best_sequence(bands, JointLimits([-1, -1], [1, 1]), most, rates, reach=0.1)
    assert found.nodes.tolist() == [0, 2]
    assert math.isclose(found.x[1, 0], 0.3)


def test_replaced_candidate_joins_all_bands():
    layers = [np.zeros((2, 2)), np.array([[0.0, 0.0], [0.3, 0.0]])]
    base = candidates_of(layers)
    bands = Candidates(base.x, base.first, np.array([0.0, 1.0, 0.0, 1.0]))
    given = bands.replaced(0, np.array([0.25, 0.0]))
    assert given.counts.tolist() == [1, 2]
    most, rates = np.full((1, 2), MOST), np.ones((1, 2))
    found = best_sequence(given, JointLimits([-1, -1], [1, 1]), most, rates, reach=0.1)
    assert found.nodes.tolist() == [0, 2]
    assert not len(found.breaks)
