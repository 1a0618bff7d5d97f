# SPDX-License-Identifier: Apache-2.0
"""Meshes come from the folders that the user named, whatever a URDF from a stranger names."""

import os
import socket

import pytest

from ik_core.exceptions import MeshError
from ik_core.meshes import MeshFolders, mesh_folders, package_of
from ik_core.meshes.mesh_folders import read_bytes


@pytest.fixture
def folder(tmp_path):
    """own/part.stl, own/meshes/part.stl, and beside the folder secret.stl."""
    for path in ('own/part.stl', 'own/meshes/part.stl', 'secret.stl'):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b'a mesh')
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
        f'package://ik_node/../{folder.parent.name}/secret.stl',
        f'package://ik_node/{secret}',
        'meshes/../../secret.stl',
        'file://',
        'file://localhost/dev/zero',
        f'file://{folder}/../secret.stl',
        f'{folder}/link.stl',
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


def test_nothing_outside_the_folders_is_found(folder):
    plant_links(folder)
    folders = MeshFolders(folder, [folder])
    for name in hostile_names(folder):
        with pytest.raises(MeshError):
            folders.find(name)


@pytest.mark.parametrize('name', ['part.stl', 'meshes/part.stl', './part.stl'])
def test_names_below_the_folder_of_the_users_file_are_followed(folder, name):
    assert MeshFolders(folder, ()).find(name).is_relative_to(folder.resolve())


@pytest.mark.parametrize('beside', ['urdf', 'urdf/arm'])
@pytest.mark.parametrize(
    'name', ['{up}meshes/part.stl', 'file://{own}/part.stl', '{own}/part.stl']
)
def test_names_may_lead_from_the_users_file_to_another_folder(folder, beside, name):
    (folder / beside).mkdir(parents=True)
    (folder / 'package.xml').write_text('<package/>')
    up = '../' * len(beside.split('/'))
    package = package_of(folder / beside / 'arm.urdf')
    found = MeshFolders(folder / beside, package).find(name.format(up=up, own=folder))
    assert found.name == 'part.stl'
    with pytest.raises(MeshError, match='outside the mesh folders'):
        MeshFolders(folder / beside, ()).find(name.format(up=up, own=folder))


def test_a_blank_in_file_url_may_be_quoted(folder):
    (folder / 'a b.stl').write_bytes(b'a mesh')
    assert MeshFolders(None, [folder]).find(f'file://{folder}/a%20b.stl').name == 'a b.stl'


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
    monkeypatch.setattr(mesh_folders, 'MAX_BYTES', 5)
    with pytest.raises(MeshError, match='larger than'):
        read_bytes(folder / 'part.stl')


def test_a_huge_file_costs_no_memory(folder):
    with (folder / 'huge.stl').open('wb') as file:
        file.truncate(10**12)  # sparse
    with pytest.raises(MeshError, match='larger than'):
        read_bytes(folder / 'huge.stl')


def test_what_is_no_file_is_not_waited_for(folder):
    os.mkfifo(folder / 'pipe.stl')
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / 'socket.stl'))
        for name in ('pipe.stl', 'socket.stl', 'meshes'):
            with pytest.raises(MeshError):
                MeshFolders(folder, ()).find(name)
            with pytest.raises(MeshError):
                read_bytes(folder / name)


def test_a_link_that_takes_the_place_of_a_found_file_is_not_followed(folder):
    found = MeshFolders(folder, ()).find('part.stl')
    found.unlink()
    found.symlink_to(folder.parent / 'secret.stl')
    with pytest.raises(MeshError):
        read_bytes(found)


def test_packages_of_a_sourced_workspace_are_found_also_as_links(folder, tmp_path, monkeypatch):
    share = tmp_path / 'install' / 'share' / 'arm' / 'meshes'
    share.mkdir(parents=True)
    (share / 'part.stl').symlink_to(folder / 'part.stl')
    (share / 'secret.stl').symlink_to('/dev/zero')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/no/where{os.pathsep}{tmp_path / "install"}')
    folders = MeshFolders(None, ())
    assert folders.find('package://arm/meshes/part.stl') == (folder / 'part.stl').resolve()
    hostile = (
        'arm/meshes/secret.stl',
        'arm/../../../own/part.stl',
        'arm/meshes',
        'other/part.stl',
    )
    for name in hostile:
        with pytest.raises(MeshError):
            folders.find(f'package://{name}')


def test_the_package_of_a_file_is_the_nearest_folder_with_a_package_xml(folder):
    assert package_of(folder / 'meshes' / 'part.stl') == ()
    (folder / 'package.xml').touch()
    assert package_of(folder / 'meshes' / 'part.stl') == (folder.resolve(),)
    assert package_of(None) == ()
