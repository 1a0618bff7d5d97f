# SPDX-License-Identifier: Apache-2.0
"""Meshes are cut into few convex pieces, and these contain the mesh."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, Delaunay

from ik_core.collision import cutting
from ik_core.collision.cutting import (
    MOST_PIECES,
    MOST_TRIANGLES,
    Part,
    clip,
    convex_pieces,
    corners_of_cut,
    hull_of,
    winding_number,
)
from ik_core.exceptions import MeshError


def surface(points):
    """The surface (T, 3, 3) of the hull of points, turned outwards."""
    hull = ConvexHull(points)
    triangles = hull.points[hull.simplices]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    is_inwards = (normals * hull.equations[:, :3]).sum(1) < 0.0
    triangles[is_inwards] = triangles[is_inwards, ::-1]
    return triangles


def box(lower, upper):
    """The twelve triangles (12, 3, 3) of a box; it may be flat."""
    return np.array(lower) + surface(list(np.ndindex(2, 2, 2))) * np.subtract(upper, lower)


def soup(seed, count=30):
    """Random triangles (count, 3, 3)."""
    return np.random.default_rng(seed).normal(size=(count, 3, 3))


def bracket():
    """Two boxes that meet at a right angle: their hull has 1.5 times their volume."""
    return np.concatenate([box((0, 0, 0), (3, 1, 1)), box((0, 0, 1), (1, 1, 3))])


def ring(count=48):
    """A square tube bent to a ring of radius 1, which no few convex pieces fill."""
    angles = 2.0 * np.pi * np.arange(count + 1) / count
    profile = np.array([[0.9, -0.1], [1.1, -0.1], [1.1, 0.1], [0.9, 0.1]])
    loops = np.stack([[[r * np.cos(a), r * np.sin(a), z] for r, z in profile] for a in angles])
    a, b = loops[:-1], loops[1:]
    c, d = np.roll(b, -1, axis=1), np.roll(a, -1, axis=1)
    return np.concatenate([np.stack([a, b, c], 2), np.stack([a, c, d], 2)]).reshape(-1, 3, 3)


def points_on(triangles, rng, count=20):
    """Random points (n, 3) of the triangles, corners among them."""
    shares = np.concatenate([np.eye(3), rng.dirichlet([0.5] * 3, count)])
    return np.einsum('sk,tkx->tsx', shares, triangles).reshape(-1, 3)


def height_over(points, hulls):
    """Return the distance (n,) [m] of each point outside the nearest of the hulls, made again
    here."""
    heights = []
    for hull in hulls:
        equations = ConvexHull(hull.corners).equations
        heights.append((points @ equations[:, :3].T + equations[:, 3]).max(1))
    return np.min(heights, axis=0)


def area(triangles):
    edges = triangles[:, 1:] - triangles[:, :1]
    return 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum()


@given(seed=st.integers(0, 10**6), snap=st.booleans(), at=st.floats(-1.5, 1.5))
def test_clip_divides_the_surface_at_the_plane(seed, snap, at):
    triangles = np.round(soup(seed)) if snap else soup(seed)  # corners in the plane, too
    axis, at = (np.array([0.0, 0.0, 1.0]), float(round(at))) if snap else (np.ones(3) / 3**0.5, at)
    below, above = clip(triangles, axis, at)
    assert (below @ axis <= at + 1e-12).all()
    assert (above @ axis >= at - 1e-12).all()
    flat = triangles[(triangles @ axis == at).all(1)]  # belongs to both sides
    np.testing.assert_allclose(area(below) + area(above), area(triangles) + area(flat), rtol=1e-12)


def test_both_sides_of_a_cut_have_the_rim():
    """A cube whose corners all lie off the plane: each side's hull has half its volume."""
    below, above = clip(box((0, 0, 0), (1, 1, 1)), np.array([1.0, 0.0, 0.0]), 0.25)
    assert hull_of(below.reshape(-1, 3)).volume == pytest.approx(0.25)
    assert hull_of(above.reshape(-1, 3)).volume == pytest.approx(0.75)


@given(seed=st.integers(0, 10**6))
def test_a_hull_is_that_of_scipy(seed):
    points = soup(seed).reshape(-1, 3)
    hull, truth = hull_of(points), ConvexHull(points)
    assert hull.volume == pytest.approx(truth.volume)
    assert {*map(tuple, hull.corners)} == {*map(tuple, points[truth.vertices])}
    heights = hull.corners @ hull.planes[:, :3].T - hull.planes[:, 3]
    assert heights.max() < 1e-12
    np.testing.assert_allclose(heights.max(0), 0.0, atol=1e-12)  # each plane touches a corner


@pytest.mark.parametrize(
    'mesh', [box((0, 0, 0), (1, 2, 3)), surface(soup(1).reshape(-1, 3))], ids=['box', 'other']
)
def test_a_convex_mesh_is_one_piece(mesh):
    (hull,) = convex_pieces(mesh)
    assert hull.volume == pytest.approx(ConvexHull(mesh.reshape(-1, 3)).volume)


def test_a_bracket_is_cut_at_its_corner():
    first, second = convex_pieces(bracket())
    assert first.volume + second.volume == pytest.approx(5.0, rel=0.02)


@pytest.mark.parametrize('mesh', [bracket(), ring(), soup(3)], ids=['bracket', 'ring', 'soup'])
def test_pieces_contain_the_surface(mesh):
    hulls = convex_pieces(mesh)
    assert 1 <= len(hulls) <= MOST_PIECES
    points = points_on(mesh, np.random.default_rng(0))
    assert height_over(points, hulls).max() < 1e-12


def in_boxes(points, *boxes):
    return np.any([((points >= a) & (points <= b)).all(1) for a, b in boxes], axis=0)


BOXES = {
    'bracket': [((0, 0, 0), (3, 1, 1)), ((0, 0, 1), (1, 1, 3))],
    'cross': [((-3, -1, -1), (3, 1, 1)), ((-1, -3, -1), (1, 3, 1)), ((-1, -1, -3), (1, 1, 3))],
    'stairs': [((k, k % 2, 0), (k + 1, 2 + k % 2, 1 + k)) for k in range(4)],
}


@pytest.mark.parametrize('name', BOXES)
def test_pieces_contain_the_solid(name):
    boxes = BOXES[name]
    points = np.random.default_rng(0).uniform(-3.0, 5.0, (200_000, 3))
    solid = points[in_boxes(points, *boxes)]
    hulls = convex_pieces(np.concatenate([box(*each) for each in boxes]))
    assert len(hulls) > 1
    assert height_over(solid, hulls).max() < 1e-12


def test_corners_of_cells_in_the_solid_belong_to_the_pieces():
    """Three planes through the middle of a cube: nothing of its surface is there."""
    cube = box((0, 0, 0), (1, 1, 1))
    part = Part(
        cube,
        np.empty((0, 3)),
        np.array([[1, 0, 0, 0.5], [0, -1, 0, -0.5]]),
        hull_of(cube.reshape(-1, 3)),
    )
    found = corners_of_cut(cube, part, np.array([0.0, 0.0, 1.0]), 0.25)
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.25]])
    assert corners_of_cut(cube, part, np.array([0.0, 0.0, 1.0]), 1.25).size == 0


def test_the_winding_number_is_one_inside_and_zero_outside():
    mesh = np.concatenate([surface(soup(2).reshape(-1, 3)), box((9, 9, 9), (11, 11, 11))])
    truth = Delaunay(soup(2).reshape(-1, 3))
    points = np.random.default_rng(0).normal(size=(300, 3)) * 2.0
    found = [winding_number(mesh, *point) for point in points]
    np.testing.assert_allclose(found, truth.find_simplex(points) >= 0, atol=1e-9)
    assert winding_number(mesh[:, ::-1].copy(), 10.0, 10.0, 10.0) == pytest.approx(-1.0)


def test_a_ring_becomes_the_most_pieces_and_a_small_part_of_its_hull():
    hulls = convex_pieces(ring())
    assert len(hulls) == MOST_PIECES
    assert sum(hull.volume for hull in hulls) < 0.45 * ConvexHull(ring().reshape(-1, 3)).volume


def test_of_an_open_mesh_the_surface_is_contained():
    mesh = bracket()[1:]  # one of two triangles of a side is missing
    points = points_on(mesh, np.random.default_rng(0))
    assert height_over(points, convex_pieces(mesh)).max() < 1e-12


@pytest.mark.parametrize('change', ['inside out', 'repeated', 'degenerate'])
def test_a_careless_mesh_makes_the_same_pieces(change):
    mesh = bracket()
    careless = {
        'inside out': mesh[:, ::-1],
        'repeated': np.concatenate([mesh, mesh]),
        'degenerate': np.concatenate([mesh, mesh[:, [0, 0, 1]], mesh[:, [0, 0, 0]]]),
    }[change]
    volumes = [sum(hull.volume for hull in convex_pieces(each)) for each in (mesh, careless)]
    assert volumes[1] == pytest.approx(volumes[0], rel=0.03)


@pytest.mark.parametrize(
    'mesh',
    [
        box((0, 0, 0), (1, 1, 0)),
        box((0, 0, 0), (1, 1, 1e-10)),
        np.zeros((5, 3, 3)),
        soup(0)[:1],
        soup(0) * [1.0, 0.0, 0.0],
    ],
    ids=['flat box', 'almost flat', 'a point', 'one triangle', 'a line'],
)
def test_a_flat_mesh_is_refused(mesh):
    with pytest.raises(MeshError, match='flat'):
        convex_pieces(mesh)


def test_many_triangles_are_cut_as_few_are():
    """The sample that planes are searched with does not decide what is contained."""
    fine = ring(450)
    assert len(fine) > 5 * MOST_TRIANGLES
    hulls = convex_pieces(fine)
    assert height_over(fine.reshape(-1, 3)[::7], hulls).max() < 1e-12
    coarse = sum(hull.volume for hull in convex_pieces(ring()))
    assert sum(hull.volume for hull in hulls) == pytest.approx(coarse, rel=0.1)


def test_a_fan_is_contained_and_its_corners_count_once(monkeypatch):
    angles = np.linspace(0.0, 2.0 * np.pi, 3001)
    ring = np.column_stack([np.cos(angles), np.sin(angles), 0.2 * np.sin(3.0 * angles)])
    fan = np.stack([np.tile([0.0, 0.0, 1.0], (3000, 1)), ring[:-1], ring[1:]], axis=1)
    sizes, convex_hull = [], cutting._convex_hull

    def counted(points):
        sizes.append(len(points))
        return convex_hull(points)

    monkeypatch.setattr(cutting, '_convex_hull', counted)
    pieces = convex_pieces(fan)
    assert 2 <= len(pieces) <= MOST_PIECES
    assert sizes[0] < 1.5 * len(fan)  # each corner once, not at each of its triangles
    corners = fan.reshape(-1, 3)
    height = np.stack([(corners @ p.planes[:, :3].T - p.planes[:, 3]).max(axis=1) for p in pieces])
    assert height.min(axis=0).max() < 1e-9
