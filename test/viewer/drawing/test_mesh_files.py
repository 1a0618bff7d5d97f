"""Meshes come from the folders that the user named, whatever a URDF from a stranger names."""

import contextlib
import os
import socket
import sys

import numpy as np
import pytest

trimesh = pytest.importorskip('trimesh')

import ik_core as ik
from ik_viewer.arm import Description
from ik_viewer.drawing import mesh_files
from ik_viewer.drawing.appearance import shapes_of
from ik_viewer.drawing.mesh_files import MeshError, MeshFolders, load_meshes
from ik_viewer.drawing.shapes import Box, Mesh

URDF = """<robot name="r"><link name="base"/><link name="tip">{visuals}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="tip"/>
<origin xyz="0 0 0.5"/><axis xyz="0 0 1"/><limit velocity="1" effort="1"/></joint></robot>"""
VISUAL = '<visual><geometry><mesh filename="{}"/></geometry></visual>'


@pytest.fixture
def folder(tmp_path):
    """own/part.stl, own/meshes/part.stl, and beside the folder secret.stl."""
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    for path in ('own/part.stl', 'own/meshes/part.stl', 'secret.stl'):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        box.export(tmp_path / path)
    return tmp_path / 'own'


def hostile_names(folder):
    secret = folder.parent / 'secret.stl'
    return [
        str(secret),
        f'file://{secret}',
        f'file:{secret}',
        f'package://{secret}',
        '../secret.stl',
        'package://../secret.stl',
        'package://own/../secret.stl',
        'meshes/../../secret.stl',
        'meshes/../part.stl',
        'http://127.0.0.1:9/secret.stl',
        'package:///secret.stl',
        '..\\secret.stl',
        'link.stl',
        'package://own/link.stl',
        'linked/secret.stl',
        'chain.stl',
        '/dev/zero',
        'part.stl/../../secret.stl',
    ]


def plant_links(folder):
    (folder / 'link.stl').symlink_to(folder.parent / 'secret.stl')
    (folder / 'linked').symlink_to(folder.parent, target_is_directory=True)
    (folder / 'chain.stl').symlink_to(folder / 'link.stl')


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


def test_nothing_outside_the_folders_is_opened(folder, monkeypatch):
    plant_links(folder)
    opened = []
    monkeypatch.setattr(mesh_files, 'read_bytes', lambda path: opened.append(path) or b'')
    folders = MeshFolders(folder, [folder])
    for name in hostile_names(folder):
        with pytest.raises(MeshError):
            load_meshes(folders.find(name), (1.0, 1.0, 1.0))
    assert opened == []


def test_a_hostile_description_is_drawn_as_a_skeleton_and_the_page_says_so(folder):
    plant_links(folder)
    names = hostile_names(folder)
    urdf = URDF.format(visuals=''.join(map(VISUAL.format, names)))
    description = Description(ik.load_urdf(urdf), urdf, None, (folder,))
    shapes, notices = shapes_of(description)
    assert shapes
    assert not any(isinstance(shape.solid, Mesh) for shape in shapes)
    assert notices


@pytest.mark.parametrize('name', ['part.stl', 'meshes/part.stl', './part.stl'])
def test_names_below_the_folder_of_the_users_file_are_followed(folder, name):
    assert MeshFolders(folder, ()).find(name).is_relative_to(folder.resolve())


def test_without_a_folder_of_the_users_relative_names_are_looked_for_below_mesh_folders(folder):
    assert MeshFolders(None, [folder]).find('part.stl') == (folder / 'part.stl').resolve()
    with pytest.raises(MeshError, match='--mesh-folder'):
        MeshFolders(None, ()).find('part.stl')


@pytest.mark.parametrize('root', ['.', '..'])
@pytest.mark.parametrize(
    'name', ['package://own/meshes/part.stl', 'package:///own/meshes/part.stl']
)
def test_a_package_is_a_mesh_folder_or_in_one(folder, root, name):
    found = MeshFolders(None, [folder / root]).find(name)
    assert found == (folder / 'meshes' / 'part.stl').resolve()


def test_a_package_is_not_looked_for_beside_the_urdf(folder):
    with pytest.raises(MeshError):
        MeshFolders(folder, ()).find('package://own/part.stl')


def test_links_inside_a_folder_are_followed(folder):
    (folder / 'alias.stl').symlink_to(folder / 'meshes' / 'part.stl')
    assert MeshFolders(folder, ()).find('alias.stl').name == 'part.stl'


def test_files_are_read_up_to_a_limit(folder, monkeypatch):
    monkeypatch.setattr(mesh_files, 'MAX_BYTES', 100)
    with pytest.raises(MeshError, match='larger than'):
        load_meshes(folder / 'part.stl', (1.0, 1.0, 1.0))


def test_a_huge_file_costs_no_memory(folder):
    with (folder / 'huge.stl').open('wb') as file:
        file.truncate(10**12)  # sparse
    with pytest.raises(MeshError, match='larger than'):
        load_meshes(folder / 'huge.stl', (1.0, 1.0, 1.0))


def test_what_is_no_file_is_not_waited_for(folder):
    os.mkfifo(folder / 'pipe.stl')
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / 'socket.stl'))
        for name in ('pipe.stl', 'socket.stl', 'meshes'):
            with pytest.raises(MeshError):
                load_meshes(MeshFolders(folder, ()).find(name), (1.0, 1.0, 1.0))
            with pytest.raises(MeshError):
                mesh_files.read_bytes(folder / name)


def test_a_link_that_takes_the_place_of_a_found_file_is_not_followed(folder):
    found = MeshFolders(folder, ()).find('part.stl')
    found.unlink()
    found.symlink_to(folder.parent / 'secret.stl')
    with pytest.raises(MeshError):
        mesh_files.read_bytes(found)


def test_an_obj_opens_no_materials(folder):
    text = 'mtllib ../secret.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n'
    (folder / 'part.obj').write_text(text)
    (folder.parent / 'secret.mtl').write_text('newmtl m\nKd 1 0 0\n')
    load_meshes(folder / 'part.obj', (1.0, 1.0, 1.0))  # imports what it needs
    with opened_files() as opened:
        ((mesh, _),) = load_meshes(folder / 'part.obj', (1.0, 1.0, 1.0))
    assert len(mesh.faces) == 1
    assert [path for path in opened if '/' in path] == [str(folder / 'part.obj')]


@pytest.mark.parametrize(
    ('encoding', 'complaint'),
    [('utf-8', 'DOCTYPE'), ('utf-16', 'DOCTYPE'), ('utf-7', 'XML'), ('cp500', 'XML')],
)
def test_a_doctype_in_a_dae_is_refused_in_whatever_encoding(folder, encoding, complaint):
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = f'{head}<!DOCTYPE x [<!ENTITY a SYSTEM "../secret.stl">]><COLLADA>&a;</COLLADA>'
    (folder / 'part.dae').write_bytes(text.encode(encoding))
    with pytest.raises(MeshError, match=complaint):
        load_meshes(folder / 'part.dae', (1.0, 1.0, 1.0))


@pytest.mark.parametrize('suffix', ['stl', 'obj', 'dae', 'ply', 'glb'])
@pytest.mark.parametrize('junk', [b'', b'\x00' * 200, b'solid x\nfacet', b'\xff' * 4000])
def test_junk_is_a_mesh_error(folder, suffix, junk):
    path = folder / f'junk.{suffix}'
    path.write_bytes(junk)
    with pytest.raises(MeshError):
        load_meshes(path, (1.0, 1.0, 1.0))


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
    real = mesh_files.read_bytes
    monkeypatch.setattr(mesh_files, 'read_bytes', lambda path: reads.append(path) or real(path))
    material = '<material name="m"><color rgba="1 0 0 1"/></material></visual>'
    urdf = URDF.format(visuals=2 * VISUAL.format('part.stl').replace('</visual>', material))
    shapes, notices = shapes_of(Description(ik.load_urdf(urdf), urdf, folder))
    assert [type(shape.solid) for shape in shapes] == [Mesh, Mesh]
    assert {shape.colour for shape in shapes} == {(255, 0, 0)}
    assert notices == []
    assert len(reads) == 1


def test_bodies_with_shapes_keep_them_where_others_lack_theirs(folder):
    box = '<visual><geometry><box size="1 2 3"/></geometry></visual>'
    urdf = URDF.format(visuals=VISUAL.format('missing.stl')).replace(
        '<link name="base"/>', f'<link name="base">{box}</link>'
    )
    shapes, notices = shapes_of(Description(ik.load_urdf(urdf), urdf, folder))
    assert [shape.solid for shape in shapes if shape.body == -1] == [Box((1.0, 2.0, 3.0))]
    assert any(shape.body == 0 for shape in shapes)
    (notice,) = notices
    assert 'missing.stl' in notice
