# SPDX-License-Identifier: Apache-2.0
"""Shipped robots have collision shapes that contain their links and leave most poses free."""

import numpy as np
import pytest
from support.example_robot_data import URDFS
from support.places import URDF
from support.robot_shapes import outside

import ik_core as ik
from ik_core.collision import Collisions, pieces_of
from ik_core.meshes import read_mesh
from ik_core.robot.urdf_shapes import read_shapes

# The figure of a person is drawn only
ROBOTS = sorted(path.stem for path in URDF.glob('*.urdf') if path.stem != 'human')
# Least share of random poses that are free. Bones that turn by 180 degrees fold on others.
LEAST_FREE = {
    'arm5': 0.55,
    'buss_double_y': 0.15,
    'buss_y': 0.6,
    'chains5': 0.08,
    'dual_arm': 0.15,
    'iiwa14': 0.98,
    'panda': 0.85,
    'pr2_like': 0.25,
    'scara': 0.98,
    'so101_like': 0.7,
    'two_so101_like': 0.3,
    'ur5e': 0.75,
}


def random_poses(robot, count):
    """Random configurations (count, n); joints without limits make a turn."""
    lower = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    upper = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (count, robot.n))


@pytest.fixture(scope='module', params=ROBOTS)
def collisions(request):
    return Collisions(ik.load_urdf(request.param), margin=0)


def test_every_shipped_robot_has_a_share_of_free_poses_here():
    assert sorted(LEAST_FREE) == ROBOTS


def test_collision_elements_are_plain_primitives(collisions):
    """Ordinary ROS tools know no <capsule>."""
    assert {piece.kind for piece in collisions.pieces} <= {'box', 'cylinder', 'sphere'}


def test_every_drawn_link_has_collision_elements(collisions):
    robot = collisions.robot
    drawn = {shape.link for shape in read_shapes(robot.urdf, robot.places, 'visual')[0]}
    assert drawn
    assert drawn <= {piece.link for piece in collisions.pieces}


def test_no_pair_collides_in_all_poses(collisions):
    assert collisions.warnings == ()


@pytest.mark.parametrize('margin', [0, 0.01])
def test_the_middle_configuration_is_free(collisions, margin):
    robot = collisions.robot
    checked = Collisions(robot, margin=margin, pieces=collisions.pieces)
    assert checked.free(robot.middle_configuration), checked.distances(robot.middle_configuration)


def test_most_random_poses_are_free(collisions):
    robot = collisions.robot
    free = collisions.free(random_poses(robot, 2000)).mean()
    assert LEAST_FREE[robot.name] <= free


def test_panda_is_free_in_its_ready_pose():
    ready = [0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4, 0.02]
    assert Collisions(ik.load_urdf('panda')).free(ready)


# --- the real links ------------------------------------------------------------------------------


PANDA_MESHES = [path.parents[1] / 'meshes' for path in URDFS if path.name == 'panda.urdf'][:1]
MESHES = {f'panda_link{k}': f'link{k}' for k in range(8)} | {
    'panda_hand': 'hand',
    'panda_leftfinger': 'finger',
    'panda_rightfinger': 'finger',
}


def on_surface(triangles, count=5):
    """Points (n, 3) of triangles: corners, and the same random shares of each."""
    shares = np.concatenate([np.eye(3), np.random.default_rng(0).dirichlet([0.7] * 3, count)])
    return np.einsum('sk,tkx->tsx', shares, triangles).reshape(-1, 3)


@pytest.mark.skipif(not PANDA_MESHES, reason='example-robot-data is not installed')
@pytest.mark.parametrize('link', MESHES)
def test_shapes_of_panda_contain_its_meshes(link):
    """The surface of the visual mesh, and the corners of the collision mesh, which is its hull."""
    pytest.importorskip('collada')
    points = []
    for kind, suffix in (('visual', '.dae'), ('collision', '.stl')):
        file = PANDA_MESHES[0] / kind / f'{MESHES[link]}{suffix}'
        for mesh in read_mesh(file.read_bytes(), suffix):
            corners = mesh.vertices[mesh.faces]
            points.append(on_surface(corners) if kind == 'visual' else corners.reshape(-1, 3))
    found = np.concatenate(points)
    if link == 'panda_rightfinger':
        found = found * [-1.0, -1.0, 1.0]
    pieces = [piece for piece in pieces_of(ik.load_urdf('panda')) if piece.link == link]
    assert np.min([outside(piece, found) for piece in pieces], axis=0).max() < 1e-6
