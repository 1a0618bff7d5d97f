# SPDX-License-Identifier: Apache-2.0
"""Meshes are drawn as their files say, and only files below the user's folders are opened."""

import contextlib
import sys

import numpy as np
import pytest

trimesh = pytest.importorskip('trimesh')

import ik_core as ik
from ik_viewer.arm import Description
from ik_viewer.drawing import appearance
from ik_viewer.drawing.appearance import load_meshes, shapes_of
from ik_viewer.drawing.shapes import Box, Mesh

URDF = """<robot name="r"><link name="base"/><link name="tip">{visuals}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="tip"/>
<origin xyz="0 0 0.5"/><axis xyz="0 0 1"/><limit velocity="1" effort="1"/></joint></robot>"""
VISUAL = '<visual><geometry><mesh filename="{}"/></geometry></visual>'


@pytest.fixture
def folder(tmp_path):
    """own/part.stl, and beside the folder secret.stl."""
    for path in ('own/part.stl', 'secret.stl'):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / path)
    return tmp_path / 'own'


@contextlib.contextmanager
def opened_files():
    """The paths of all files that are opened meanwhile, by whatever means."""
    paths, listening = [], True

    def hear(event, arguments):
        if listening and event == 'open':
            paths.append(str(arguments[0]))

    sys.addaudithook(hear)  # there is no way to take it off again
    yield paths
    listening = False


def test_a_hostile_description_is_drawn_as_a_skeleton_and_the_page_says_so(folder):
    (folder / 'link.stl').symlink_to(folder.parent / 'secret.stl')
    names = ['../secret.stl', str(folder.parent / 'secret.stl'), 'link.stl', 'package://own/x.stl']
    urdf = URDF.format(visuals=''.join(map(VISUAL.format, names)))
    description = Description(ik.load_robot(urdf), urdf, None, (folder,))
    shapes, notices = shapes_of(description)
    assert shapes
    assert not any(isinstance(shape.solid, Mesh) for shape in shapes)
    assert notices


def test_an_obj_opens_no_materials(folder):
    text = 'mtllib ../secret.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n'
    (folder / 'part.obj').write_text(text)
    (folder.parent / 'secret.mtl').write_text('newmtl m\nKd 1 0 0\n')
    load_meshes(folder / 'part.obj', (1.0, 1.0, 1.0))  # imports what it needs
    with opened_files() as opened:
        ((mesh, _),) = load_meshes(folder / 'part.obj', (1.0, 1.0, 1.0))
    assert len(mesh.faces) == 1
    assert [path for path in opened if '/' in path] == [str(folder / 'part.obj')]


@pytest.mark.parametrize('suffix', ['stl', 'obj', 'ply', 'glb'])
def test_a_mesh_is_what_the_file_says_times_its_scale(folder, suffix):
    trimesh.creation.box((0.1, 0.2, 0.3)).export(folder / f'box.{suffix}')
    pieces = load_meshes(folder / f'box.{suffix}', (2.0, 1.0, -1.0))
    vertices = np.concatenate([mesh.vertices for mesh, _ in pieces])
    np.testing.assert_allclose(np.ptp(vertices, axis=0), [0.2, 0.2, 0.3], atol=1e-6)
    faces = np.concatenate([mesh.vertices[mesh.faces] for mesh, _ in pieces]).astype(float)
    volume = np.einsum('ij,ij->i', faces[:, 0], np.cross(faces[:, 1], faces[:, 2])).sum() / 6.0
    np.testing.assert_allclose(volume, 0.2 * 0.2 * 0.3, rtol=1e-5)  # turned outside in: negative


def test_meshes_are_drawn_in_the_colour_of_the_urdf_and_read_once(folder, monkeypatch):
    reads = []
    real = appearance.read_bytes
    monkeypatch.setattr(appearance, 'read_bytes', lambda path: reads.append(path) or real(path))
    material = '<material name="m"><color rgba="1 0 0 1"/></material></visual>'
    urdf = URDF.format(visuals=2 * VISUAL.format('part.stl').replace('</visual>', material))
    shapes, notices = shapes_of(Description(ik.load_robot(urdf), urdf, folder))
    assert [type(shape.solid) for shape in shapes] == [Mesh, Mesh]
    assert {shape.colour for shape in shapes} == {(255, 0, 0)}
    assert notices == []
    assert len(reads) == 1


def test_bodies_with_shapes_keep_them_where_others_lack_theirs(folder):
    box = '<visual><geometry><box size="1 2 3"/></geometry></visual>'
    urdf = URDF.format(visuals=VISUAL.format('missing.stl')).replace(
        '<link name="base"/>', f'<link name="base">{box}</link>'
    )
    shapes, notices = shapes_of(Description(ik.load_robot(urdf), urdf, folder))
    assert [shape.solid for shape in shapes if shape.body == -1] == [Box((1.0, 2.0, 3.0))]
    assert any(shape.body == 0 for shape in shapes)
    (notice,) = notices
    assert 'missing.stl' in notice
