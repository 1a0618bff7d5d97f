# SPDX-License-Identifier: Apache-2.0
"""The shapes that panda, ur5e and iiwa14 are drawn with: made by a script, whole and in place."""

import hashlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from support.places import ROOT, URDF
from support.robot_shapes import outside

import ik_core as ik
from ik_core.collision import pieces_of
from ik_core.meshes import MeshFolders, read_mesh
from ik_core.robot.outline import body_poses
from ik_core.robot.urdf_shapes import read_shapes

MESHES = URDF / 'meshes'
ROBOTS = 'panda', 'ur5e', 'iiwa14'
SAMPLES = 5  # Points on an edge, both ends included
GRID = 0.004  # [m] Samples are rounded to multiples of this
NEAR = 0.012  # [m] Parts that touch have rounded samples that are nearer
# [m] How far a drawn shape may stick out of the collision shapes, which contain the real link
NEAR_COLLISION_SHAPES = 0.012
# SHA-256 of the collision elements of all links
COLLISION_ELEMENTS = {
    'panda': '2e82eb984da15af7f07327c1f4711270cc2c6ee3b337e534e9a33598e9f25e4d',
    'ur5e': 'ef2ad8d82db0cfe2f4ec850e040eb9af8d41d2b3472647bc4a36cfde257f411f',
    'iiwa14': 'b49447eab035d41b525ecd984ce19b9da9537f0e746845ada4a56e694f87ee3b',
}


def files_below(folder):
    """The bytes of all files below a folder, by their path in it."""
    files = (path for path in folder.rglob('*') if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def drawn_meshes(robot):
    """Yield the link, vertices (V, 3) [m] in its frame, and faces of every mesh of a robot.

    No folder is named: a URDF that arrives over a topic finds the meshes, too.
    """
    for shape in read_shapes(robot.urdf, robot.places, 'visual')[0]:
        file = MeshFolders(None, ()).find(shape.solid.filename)
        (mesh,) = read_mesh(file.read_bytes(), file.suffix)
        scaled = mesh.vertices * shape.solid.scale
        yield shape.link, scaled @ shape.origin[:3, :3].T + shape.origin[:3, 3], mesh.faces


def test_the_script_reproduces_the_shipped_meshes_bit_for_bit(tmp_path):
    script = ROOT / 'scripts' / 'robot_meshes'
    subprocess.run([sys.executable, script, '--out', tmp_path], check=True, capture_output=True)
    assert files_below(tmp_path) == files_below(MESHES)


def test_the_meshes_are_as_small_as_the_documentation_says():
    (most,) = re.findall(r'(\d+) kB of meshes', (ROOT / 'docs/viewer.md').read_text('utf-8'))
    assert sum(map(len, files_below(MESHES).values())) < 1e3 * int(most)


@pytest.mark.parametrize('name', ROBOTS)
def test_every_mesh_is_drawn_and_every_drawn_mesh_is_shipped(name):
    elements = ElementTree.parse(URDF / f'{name}.urdf').iterfind('link/visual/geometry/mesh')
    start = f'package://ik_node/urdf/meshes/{name}/'
    named = {element.get('filename').removeprefix(start) for element in elements}
    assert named == {*files_below(MESHES / name)}


@pytest.mark.parametrize('name', ROBOTS)
def test_collision_elements_are_unchanged(name):
    links = ElementTree.parse(URDF / f'{name}.urdf').getroot().iter('link')
    elements = [
        ElementTree.canonicalize(ElementTree.tostring(element), strip_text=True)
        for link in links
        for element in [
            ElementTree.Element('link', name=link.get('name')),
            *link.iter('collision'),
        ]
    ]
    digest = hashlib.sha256('\n'.join(elements).encode()).hexdigest()
    assert digest == COLLISION_ELEMENTS[name]


@pytest.mark.parametrize('name', ROBOTS)
def test_drawn_links_stay_near_their_collision_shapes(name):
    robot = ik.load_urdf(name)
    pieces = pieces_of(robot)
    for link, vertices, _ in drawn_meshes(robot):
        heights = [outside(piece, vertices) for piece in pieces if piece.link == link]
        assert np.min(heights, axis=0).max() < NEAR_COLLISION_SHAPES, link


@pytest.mark.parametrize('name', ROBOTS)
def test_meshes_are_closed_and_seen_from_outside(name):
    for link, vertices, faces in drawn_meshes(ik.load_urdf(name)):
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        points = np.unique(vertices, axis=0, return_inverse=True)[1].reshape(-1)
        ways = points[edges]
        assert {*map(tuple, ways)} == {*map(tuple, ways[:, ::-1])}, link
        corners = vertices[faces]
        volume = np.linalg.det(corners).sum() / 6.0
        assert volume > 0.0, link


@pytest.mark.parametrize('name', ROBOTS)
def test_no_part_floats_at_any_configuration(name):
    robot = ik.load_urdf(name)
    rng = np.random.default_rng(0)
    for q in [robot.middle_configuration, *rng.uniform(robot.lower, robot.upper, (4, robot.n))]:
        assert number_of_parts(robot, q) == 1


def number_of_parts(robot, q):
    """The number of parts of a drawn robot at q (n,) that touch no other part."""
    rotations, origins = body_poses(robot, q)
    points, solids, count = [], [], 0
    for link, vertices, faces in drawn_meshes(robot):
        place = robot.places[link]
        moved = vertices @ place.transform[:3, :3].T + place.transform[:3, 3]
        moved = moved @ rotations[place.body + 1].T + origins[place.body + 1]
        ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        solid = connected_components(
            coo_array((np.ones(len(ends)), ends.T), (len(vertices), len(vertices)))
        )[1]
        for share in np.linspace(0.0, 1.0, SAMPLES):
            points.append((1.0 - share) * moved[ends[:, 0]] + share * moved[ends[:, 1]])
            solids.append(count + solid[ends[:, 0]])
        count += solid.max() + 1
    labelled = np.column_stack([np.concatenate(points) / GRID, np.concatenate(solids)])
    cells = np.unique(np.round(labelled).astype(int), axis=0)  # one point of a solid in each
    pairs = cKDTree(cells[:, :3] * GRID).query_pairs(NEAR, output_type='ndarray')
    touching = np.unique(cells[pairs, 3], axis=0).T
    return connected_components(coo_array((np.ones(touching.shape[1]), touching), (count, count)))[
        0
    ]


def test_a_part_that_floats_is_noticed():
    text = (URDF / 'ur5e.urdf').read_text('utf-8').replace('xyz="0 0.0996 0"', 'xyz="0 0.2 0"')
    robot = ik.load_urdf(text)
    assert number_of_parts(robot, robot.middle_configuration) == 2
