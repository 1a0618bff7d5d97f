# SPDX-License-Identifier: Apache-2.0
"""Spheres and capsules contain their pieces, and their excess is as small as can be found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution
from scipy.spatial import ConvexHull

from ik_core.collision.covers import (
    cover_of_box,
    cover_of_cylinder,
    cover_of_hull,
    distances,
    excess_of,
)
from ik_core.collision.cutting import hull_of


def directions(count):
    """Unit vectors (count, 3), evenly spread."""
    i = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * i / count, np.pi * (1.0 + 5.0**0.5) * i
    across = np.sqrt(1.0 - z * z)
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), z])


SPREAD = directions(20_000)


def sampled_excess(cover, points):
    """The largest difference of supports in 20,000 directions: a little below the excess [m]."""
    ends = cover[:-1].reshape(-1, 3)
    return float(((SPREAD @ ends.T).max(1) + cover[-1] - (SPREAD @ points.T).max(1)).max())


def contains(cover, points):
    return (distances(points, cover[:-1].reshape(-1, 3)) <= cover[-1]).all()


def cloud(seed, shape):
    """Points whose hull is more or less long or flat."""
    return np.random.default_rng(seed).normal(size=(30, 3)) * shape


def corners_of_box(half):
    return half * (2.0 * np.array(list(np.ndindex(2, 2, 2))) - 1.0)


def rim_of_cylinder(radius, length):
    turn = np.linspace(0.0, 2.0 * np.pi, 720, endpoint=False)
    ring = radius * np.column_stack([np.cos(turn), np.sin(turn)])
    return np.concatenate(
        [np.column_stack([ring, 0 * turn + z]) for z in (-length / 2, length / 2)]
    )


sizes = st.tuples(*[st.floats(0.01, 2.0)] * 3).map(np.array)


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), shape=sizes)
def test_covers_of_hulls_contain_them_and_the_excess_is_the_sampled_one(seed, shape):
    hull = hull_of(cloud(seed, shape))
    sphere, capsule = cover_of_hull(hull.corners, hull.planes)
    for cover in (sphere, capsule):
        assert contains(cover, hull.corners)
        truth = sampled_excess(cover, hull.corners)
        assert truth - 1e-9 <= excess_of(cover, hull.corners, hull.planes) <= 1.05 * truth
    assert excess_of(capsule, hull.corners, hull.planes) <= excess_of(
        sphere, hull.corners, hull.planes
    ) * (1.0 + 1e-9)


@pytest.mark.parametrize('shape', [(1, 1, 1), (0.2, 1, 0.3), (1, 1, 0.1)])
def test_no_global_search_finds_a_much_better_capsule(shape):
    hull = hull_of(cloud(7, shape))
    _, capsule = cover_of_hull(hull.corners, hull.planes)
    planes = ConvexHull(hull.corners).equations

    def excess(x):
        ends = x.reshape(2, 3)
        depth = -(ends @ planes[:, :3].T + planes[:, 3]).max()
        return distances(hull.corners, ends).max() - depth

    bounds = [*zip(hull.corners.min(0), hull.corners.max(0), strict=True)] * 2
    best = differential_evolution(excess, bounds, seed=1, maxiter=100, tol=1e-6).fun
    assert excess_of(capsule, hull.corners, hull.planes) <= 1.02 * best


@given(half=sizes)
def test_the_capsule_of_a_box_is_that_of_its_hull(half):
    points = corners_of_box(half)
    hull = hull_of(points)
    sphere, capsule = cover_of_box(half)
    found = cover_of_hull(hull.corners, hull.planes)
    for cover, best in zip((sphere, capsule), found, strict=True):
        assert contains(cover, points)
        assert excess_of(cover, points, hull.planes) <= (
            excess_of(best, points, hull.planes) * 1.001 + 1e-9
        )


@settings(max_examples=25)
@given(radius=st.floats(0.01, 1.0), length=st.floats(0.01, 3.0))
def test_the_covers_of_a_cylinder_contain_it(radius, length):
    points = rim_of_cylinder(radius, length)
    for cover in cover_of_cylinder(radius, length):
        assert contains(cover, points)
    if length >= 2.0 * radius:
        _, capsule = cover_of_cylinder(radius, length)
        assert capsule[6] == pytest.approx(2.0**0.5 * radius)
        assert sampled_excess(capsule, points) == pytest.approx(
            (2.0**0.5 - 1.0) * radius, rel=0.01
        )


def test_a_flat_box_and_a_thin_one_have_covers():
    for half in (np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.zeros(3)):
        for cover in cover_of_box(half):
            assert contains(cover, corners_of_box(half))
