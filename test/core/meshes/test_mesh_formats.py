# SPDX-License-Identifier: Apache-2.0
"""Meshes are read as trimesh reads them; damaged files are refused with a sentence."""

import struct
import tracemalloc

import numpy as np
import pytest

from ik_core.exceptions import MeshError
from ik_core.meshes import mesh_formats, read_mesh
from ik_core.meshes.mesh_formats import MAX_TRIANGLES

TRIANGLE = """solid one
  facet normal 0 0 1
    outer loop
      vertex 0 0 0
      vertex 1 0 0
      vertex 0 1e-1 0
    endloop
  endfacet
endsolid one
"""


def binary(*triangles, count=None, head=b''):
    """The bytes of a binary STL."""
    body = b''.join(struct.pack('<12fH', 0, 0, 0, *np.ravel(t), 0) for t in triangles)
    count = len(triangles) if count is None else count
    return head.ljust(80) + struct.pack('<I', count) + body


def corners_of(meshes):
    return np.concatenate([mesh.vertices[mesh.faces] for mesh in meshes])


@pytest.mark.parametrize('kind', ['stl', 'stl_ascii', 'obj', 'ply', 'glb', 'dae'])
def test_meshes_are_those_of_trimesh(kind):
    trimesh = pytest.importorskip('trimesh')
    if kind == 'dae':
        pytest.importorskip('collada')
    truth = trimesh.creation.capsule(0.3, 0.1, count=[12, 16])
    truth.apply_translation([1.0, -2.0, 3.0])
    data = truth.export(file_type=kind)
    data = data.encode() if isinstance(data, str) else data
    found = corners_of(read_mesh(data, '.' + kind.partition('_')[0].upper()))
    np.testing.assert_allclose(found, truth.triangles, atol=1e-6)


def test_a_binary_file_may_begin_with_solid():
    triangle = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    found = corners_of(read_mesh(binary(triangle, triangle, head=b'solid x facet'), '.stl'))
    np.testing.assert_array_equal(found, [triangle, triangle])


def test_an_ascii_file_is_read_in_either_case():
    found = corners_of(read_mesh(TRIANGLE.upper().encode(), '.stl'))
    np.testing.assert_allclose(found, [[[0, 0, 0], [1, 0, 0], [0, 0.1, 0]]])


def test_faces_of_an_obj_may_be_polygons_with_textures_and_negative_indices():
    text = (
        'mtllib ../secret.mtl\nv 0 0 0 1 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n'
        'vn 0 0 1\nf 1/1/1 2//1 \\\n3 4\nf -4 -3 -2\n'
    )
    found = corners_of(read_mesh(text.encode(), '.obj'))
    a, b, c, d = [0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]
    np.testing.assert_array_equal(found, [[a, b, c], [a, c, d], [a, b, c]])


@pytest.mark.parametrize(
    ('data', 'suffix', 'complaint'),
    [
        (binary([[0, 0, 0]] * 3, count=7), '.stl', 'truncated: 1 of its 7 triangles'),
        (binary([[0, 0, 0]] * 3)[:-3], '.stl', 'truncated: 0 of its 1 triangles'),
        (b'', '.stl', 'truncated: the header'),
        (binary(), '.stl', 'no triangles'),
        (binary([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]]), '.stl', 'not finite'),
        (binary([[0, 0, 0], [1, 0, 0], [0, np.inf, 0]]), '.stl', 'not finite'),
        (TRIANGLE[:-20].encode(), '.stl', 'truncated: 0 facets are whole'),
        (TRIANGLE[: -len('endsolid one')].encode(), '.stl', 'no endsolid'),
        (TRIANGLE.replace('1e-1', 'x').encode(), '.stl', 'not made of numbers'),
        (TRIANGLE.replace('1e-1', 'nan').encode(), '.stl', 'not finite'),
        (b'', '.obj', 'no triangles'),
        (b'v 0 0 0\nv 1 0 0\nf 1 2 3\n', '.obj', 'truncated: a face has vertex 3, and 2 are'),
        (b'v 0 0\n', '.obj', "line 1 is damaged: 'v 0 0'"),
        (b'v 0 0 0\nf 0 1 1\n', '.obj', 'line 2 is damaged'),
        (b'v 0 0 0\nf 1 1 -2\n', '.obj', 'line 2 is damaged'),
        (b'v 0 0 0\nv 0 inf 0\nv 1 0 0\nf 1 2 3\n', '.obj', 'not finite'),
    ],
)
def test_a_damaged_file_is_refused_with_a_sentence(data, suffix, complaint):
    with pytest.raises(MeshError, match=complaint) as caught:
        read_mesh(data, suffix)
    assert '\n' not in str(caught.value)


def test_a_million_triangles_are_refused():
    with pytest.raises(MeshError, match='1,000,000 triangles: at most 500,000'):
        read_mesh(binary(count=1_000_000) + bytes(50_000_000), '.stl')


@pytest.mark.parametrize('suffix', ['.stl', '.obj', '.dae', '.ply', '.glb'])
@pytest.mark.parametrize('junk', [b'', b'\x00' * 200, b'solid x\nfacet', b'\xff' * 4000])
def test_junk_is_a_mesh_error(suffix, junk):
    with pytest.raises(MeshError):
        read_mesh(junk, suffix)


@pytest.mark.parametrize('kind', ['binary', 'ascii'])
def test_every_shortened_file_is_refused(kind):
    triangles = np.random.default_rng(0).normal(size=(4, 3, 3))
    whole = binary(*triangles) if kind == 'binary' else TRIANGLE.partition('endsolid')[0].encode()
    for end in range(len(whole)):
        with pytest.raises(MeshError):
            read_mesh(whole[:end], '.stl')


@pytest.mark.parametrize(
    ('encoding', 'complaint'),
    [('utf-8', 'DOCTYPE'), ('utf-16', 'DOCTYPE'), ('utf-7', 'XML'), ('cp500', 'XML')],
)
def test_a_doctype_in_a_dae_is_refused_in_whatever_encoding(encoding, complaint):
    pytest.importorskip('trimesh')
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = f'{head}<!DOCTYPE x [<!ENTITY a SYSTEM "../secret.stl">]><COLLADA>&a;</COLLADA>'
    with pytest.raises(MeshError, match=complaint):
        read_mesh(text.encode(encoding), '.dae')


@pytest.mark.parametrize('ends', [b'\n', b'\r\n', b'\r'])
def test_lines_of_an_obj_may_end_as_in_other_systems(ends):
    data = ends.join([b'# one', b'v 0 0 0', b'v\t1 0 0', b'v 0 1 0', b'', b'f 1 2 3'])
    np.testing.assert_array_equal(
        corners_of(read_mesh(data, '.obj')), [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]
    )


def test_an_obj_with_too_many_vertices_or_corners_is_refused_before_it_fills_the_memory(
    monkeypatch,
):
    most = MAX_TRIANGLES // 10  # tracing memory takes time
    monkeypatch.setattr(mesh_formats, 'MAX_TRIANGLES', most)
    vertices = b'v 0 0 0\n' * (3 * most + 1)
    polygon = b'v 0 0 0\nf' + b' 1' * (most + 100)
    tracemalloc.start()
    try:
        for data, said in ((vertices, 'vertices: at most'), (polygon, 'triangles: at most')):
            tracemalloc.reset_peak()
            with pytest.raises(MeshError, match=said):
                read_mesh(data, '.obj')
            assert tracemalloc.get_traced_memory()[1] < 15e6
    finally:
        tracemalloc.stop()
