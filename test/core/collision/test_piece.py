# SPDX-License-Identifier: Apache-2.0
"""Pieces of robots: elements as the URDF has them, meshes cut, and a sentence where that fails."""

import struct

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core.collision import array_files, piece, pieces_of
from ik_core.collision.covers import distances
from ik_core.exceptions import InvalidOption, MeshError, UrdfError

HEAD = """<robot name="arm"><link name="base"/><link name="turned">{turned}</link>
<link name="flange">{flange}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="turned"/>
<origin xyz="0 0 0.5" rpy="0 1 0"/><axis xyz="1 0 0"/></joint>
<joint name="f" type="fixed"><parent link="turned"/><child link="flange"/>
<origin xyz="0 0.1 0" rpy="1 0 0"/></joint></robot>"""
ORIGIN = '<origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/>'
TRANSFORM = robots.transform(Rotation.from_euler('xyz', [0.4, 0.5, -0.6]), (0.1, -0.2, 0.3))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """An empty folder for what is kept."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))


def element(geometry, kind='collision', origin=ORIGIN):
    return f'<{kind}>{origin}<geometry>{geometry}</geometry></{kind}>'


def arm(turned='', flange=''):
    return ik.load_robot(HEAD.format(turned=turned, flange=flange))


def one_piece(geometry, **more):
    (found,) = pieces_of(arm(flange=element(geometry)), **more)
    return found


def stl(triangles):
    """The bytes of a binary STL."""
    body = b''.join(struct.pack('<12fH', 0, 0, 0, *np.ravel(t), 0) for t in triangles)
    return bytes(80) + struct.pack('<I', len(triangles)) + body


def cube(lower=(0, 0, 0), upper=(1, 1, 1)):
    hull = ConvexHull(list(np.ndindex(2, 2, 2)))
    triangles = hull.points[hull.simplices] * np.subtract(upper, lower)
    return np.array(lower) + triangles


def bracket():
    return np.concatenate([cube((0, 0, 0), (3, 1, 1)), cube((0, 0, 1), (1, 1, 3))])


@pytest.fixture
def meshes(tmp_path):
    """A folder with cube.stl and bracket.stl."""
    folder = tmp_path / 'meshes'
    folder.mkdir()
    (folder / 'cube.stl').write_bytes(stl(cube()))
    (folder / 'bracket.stl').write_bytes(stl(bracket()))
    return folder


def moved(points):
    return points @ TRANSFORM[:3, :3].T + TRANSFORM[:3, 3]


ENDS = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ('geometry', 'kind', 'corners', 'radius'),
    [
        ('<sphere radius="0.5"/>', 'sphere', np.zeros((1, 3)), 0.5),
        ('<capsule radius="0.5" length="2"/>', 'capsule', ENDS, 0.5),
        ('<cylinder radius="0.5" length="2"/>', 'cylinder', ENDS, 0.5),
        (
            '<box size="2 4 6"/>',
            'box',
            [1, 2, 3] * (2.0 * np.array([*np.ndindex(2, 2, 2)]) - 1),
            0,
        ),
    ],
)
def test_primitives_are_pieces_as_they_are(geometry, kind, corners, radius):
    found = one_piece(geometry)
    assert (found.link, found.kind, found.radius) == ('flange', kind, radius)
    assert found.round is (kind in ('sphere', 'capsule'))
    np.testing.assert_allclose(found.corners, moved(corners), atol=1e-15)
    thickness = radius if found.round else 0.0  # the rim of a cylinder: test_covers
    for cover in (found.sphere, found.capsule):
        reach = distances(found.corners, cover[:-1].reshape(-1, 3)) + thickness
        assert (reach <= cover[-1] * (1.0 + 1e-15)).all()


def test_links_keep_their_names_and_order():
    two = element('<sphere radius="1"/>') + element('<box size="1 1 1"/>')
    found = pieces_of(arm(turned=two, flange=element('<sphere radius="2"/>')))
    assert [(each.link, each.kind) for each in found] == [
        ('turned', 'sphere'),
        ('turned', 'box'),
        ('flange', 'sphere'),
    ]


def test_a_mesh_is_cut_scaled_and_placed(meshes):
    robot = arm(flange=element('<mesh filename="bracket.stl" scale="0.1 0.1 -0.2"/>'))
    found = pieces_of(robot, folders=[meshes])
    assert [each.kind for each in found] == ['hull', 'hull']
    truth = moved(bracket().reshape(-1, 3) * [0.1, 0.1, -0.2])
    corners = np.concatenate([each.corners for each in found])
    np.testing.assert_allclose(corners.min(0), truth.min(0), atol=1e-7)
    np.testing.assert_allclose(corners.max(0), truth.max(0), atol=1e-7)
    for each in found:
        for cover in (each.sphere, each.capsule):
            assert (distances(each.corners, cover[:-1].reshape(-1, 3)) <= cover[-1]).all()


def test_meshes_are_found_beside_the_file_of_the_robot(meshes):
    path = meshes / 'arm.urdf'
    path.write_text(HEAD.format(turned='', flange=element('<mesh filename="cube.stl"/>')))
    assert len(pieces_of(ik.load_robot(path))) == 1
    with pytest.raises(MeshError, match=r"link 'flange': mesh 'cube.stl': .*folders="):
        pieces_of(ik.load_robot(path.read_text()))


def test_the_package_of_the_file_is_found(meshes):
    (meshes.parent / 'package.xml').touch()
    path = meshes / 'arm.urdf'
    name = f'package://{meshes.parent.name}/meshes/cube.stl'
    path.write_text(HEAD.format(turned='', flange=element(f'<mesh filename="{name}"/>')))
    assert len(pieces_of(ik.load_robot(path))) == 1


def test_visuals_can_be_taken_instead():
    robot = arm(turned=element('<sphere radius="1"/>', 'visual'))
    (found,) = pieces_of(robot, 'visual')
    assert found.kind == 'sphere'


def test_a_robot_without_collision_elements_gets_one_warning_that_names_the_visuals():
    robot = arm(turned=element('<sphere radius="1"/>', 'visual'))
    with pytest.warns(UserWarning, match="geometry='visual'") as caught:
        assert pieces_of(robot) == ()
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_robot_without_a_urdf_gets_the_warning():
    with pytest.warns(UserWarning, match='collides with nothing'):
        assert pieces_of(ik.robot.linkage(3, 'two_angle')) == ()


@pytest.mark.parametrize(
    ('geometry', 'complaint'),
    [
        ('<torus/>', "link 'flange': its <collision> can not be used: its geometry"),
        ('<box size="1 2"/>', '<box> needs size'),
        ('<sphere radius="nan"/>', '<sphere> needs radius'),
    ],
)
def test_an_invalid_element_is_an_error(geometry, complaint):
    with pytest.raises(UrdfError, match=complaint):
        one_piece(geometry)


HOSTILE = {
    'flat': (stl(cube(upper=(1, 1, 0))), 'it is flat'),
    'empty': (stl([]), 'no triangles'),
    'no bytes': (b'', 'truncated'),
    'truncated': (stl(cube())[:-10], 'truncated: 11 of its 12 triangles'),
    'not finite': (stl(cube() * [np.nan, 1, 1]), 'not finite'),
    'a million triangles': (
        stl([])[:80] + struct.pack('<I', 10**6) + bytes(50 * 10**6),
        '1,000,0',
    ),
    'huge': (stl(cube() * 1e6), 'larger than 10000 m'),
}


@pytest.mark.parametrize('fault', HOSTILE)
def test_a_hostile_mesh_is_one_sentence_that_names_link_and_file(meshes, fault):
    data, complaint = HOSTILE[fault]
    (meshes / 'bad.stl').write_bytes(data)
    with pytest.raises(MeshError, match=complaint) as caught:
        one_piece('<mesh filename="bad.stl"/>', folders=[meshes])
    text = str(caught.value)
    assert text.startswith("link 'flange': mesh 'bad.stl': it")
    assert '\n' not in text


@pytest.mark.parametrize('name', ['../secret.stl', '/etc/passwd', 'file:///x.stl', 'missing.stl'])
def test_files_outside_the_folders_are_refused(meshes, name):
    (meshes.parent / 'secret.stl').write_bytes(stl(cube()))
    with pytest.raises(MeshError, match="link 'flange': mesh"):
        one_piece(f'<mesh filename="{name}"/>', folders=[meshes])


def test_a_folder_that_is_not_there_is_an_error():
    with pytest.raises(InvalidOption, match='/no/where'):
        one_piece('<mesh filename="a.stl"/>', folders=['/no/where'])


def test_all_meshes_of_a_robot_are_capped_together(meshes, monkeypatch):
    monkeypatch.setattr(piece, 'MAX_BYTES', 1000)
    two = ''.join(element(f'<mesh filename="{name}.stl"/>') for name in ('cube', 'bracket'))
    with pytest.raises(MeshError, match='the meshes of the robot are larger'):
        pieces_of(arm(turned=two), folders=[meshes])


# --- what is kept --------------------------------------------------------------------------------


def refuse_to_cut(*_):
    raise AssertionError('it is cut again')


def same(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert (a.link, a.kind, a.radius) == (b.link, b.kind, b.radius)
        for name in ('corners', 'sphere', 'capsule'):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_pieces_of_meshes_are_kept_by_content(meshes, monkeypatch):
    robot = arm(flange=element('<mesh filename="bracket.stl"/>'))
    first = pieces_of(robot, folders=[meshes])
    (meshes / 'copy.stl').write_bytes((meshes / 'bracket.stl').read_bytes())
    monkeypatch.setattr(piece, 'covered_hulls', refuse_to_cut)
    same(first, pieces_of(robot, folders=[meshes]))
    same(
        first,
        pieces_of(arm(flange=element('<mesh filename="copy.stl"/>')), folders=[meshes]),
    )
    for changed in ('<mesh filename="bracket.stl" scale="1 1 2"/>', '<mesh filename="cube.stl"/>'):
        with pytest.raises(AssertionError, match='cut again'):
            one_piece(changed, folders=[meshes])


@pytest.mark.parametrize('damage', [b'', b'junk', b'\x93NUMPY', np.nan, np.inf, [[2.0, 3.0]]])
def test_a_damaged_file_is_made_again(meshes, tmp_path, damage):
    robot = arm(flange=element('<mesh filename="bracket.stl"/>'))
    first = pieces_of(robot, folders=[meshes])
    (kept,) = (tmp_path / 'cache' / 'ik_core' / 'pieces').iterdir()
    if isinstance(damage, bytes):
        kept.write_bytes(damage)
    else:
        np.save(kept, np.full((len(np.load(kept)), *np.shape(damage)[1:]), damage))
    same(first, pieces_of(robot, folders=[meshes]))
    assert np.isfinite(np.load(kept)).all()


def test_only_the_owner_can_read_what_is_kept(meshes, tmp_path):
    one_piece('<mesh filename="cube.stl"/>', folders=[meshes])
    folder = tmp_path / 'cache' / 'ik_core' / 'pieces'
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]
    assert [path.suffix for path in folder.iterdir()] == ['.npy']


def test_without_a_folder_nothing_is_kept(meshes, tmp_path, monkeypatch):
    (tmp_path / 'file').touch()
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'file'))
    assert one_piece('<mesh filename="cube.stl"/>', folders=[meshes]).kind == 'hull'


def test_the_oldest_files_are_deleted(meshes, monkeypatch, tmp_path):
    monkeypatch.setattr(array_files, 'MOST_FILES', 1)
    for name in ('cube', 'bracket'):
        pieces_of(arm(flange=element(f'<mesh filename="{name}.stl"/>')), folders=[meshes])
    assert len([*(tmp_path / 'cache' / 'ik_core' / 'pieces').iterdir()]) == 1
