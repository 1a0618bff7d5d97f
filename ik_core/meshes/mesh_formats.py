# SPDX-License-Identifier: Apache-2.0
"""The formats of meshes: STL and OBJ are read here; DAE, PLY and GLB by trimesh, if installed.

A reader is given the bytes of a file and opens nothing else: no materials, textures or buffers.
"""

from __future__ import annotations

import io
import re
from array import array
from itertools import pairwise
from typing import Any, NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ..exceptions import MeshError

MAX_TRIANGLES = 500_000
SUFFIXES = ('.stl', '.obj', '.dae', '.ply', '.glb')

_TRIANGLE = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('colour', '<u2')])
_HEAD = 84  # Bytes before the first triangle of a binary STL; the last four are their count
_WORDS = re.compile(rb'\b(vertex|endfacet|endsolid)\b', re.IGNORECASE)
_VERTEX = re.compile(rb'\bvertex\s+(\S+)\s+(\S+)\s+(\S+)', re.IGNORECASE)


class TriangleMesh(NamedTuple):
    """Triangles: `faces` (F, 3) are indices of `vertices` (V, 3), in the file's units.

    Vertices may be repeated. `colour` is red, green and blue, 0 to 255; None if the file has none.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    colour: tuple[int, int, int] | None = None


def read_mesh(data: bytes, suffix: str) -> list[TriangleMesh]:
    """Read the meshes of a file's bytes; its suffix, such as '.stl', names the format.

    Raises MeshError for a file that is damaged, without triangles, with more than MAX_TRIANGLES,
    or with numbers that are not finite.
    """
    suffix = suffix.lower()
    readers = {'.stl': _read_stl, '.obj': _read_obj}
    try:
        meshes = [readers[suffix](data)] if suffix in readers else _read_by_trimesh(data, suffix)
    except MeshError:
        raise
    except Exception as error:  # whatever numpy, trimesh and the readers that it calls raise
        raise MeshError(f'it cannot be read: {type(error).__name__}: {error}') from None
    meshes = [mesh for mesh in meshes if len(mesh.faces)]
    if not meshes:
        raise MeshError('it has no triangles')
    _check_count(sum(len(mesh.faces) for mesh in meshes))
    if not all(np.isfinite(mesh.vertices).all() for mesh in meshes):
        raise MeshError('its vertices are not finite')
    return meshes


def _check_count(triangles: int) -> None:
    if triangles > MAX_TRIANGLES:
        raise MeshError(f'it has {triangles:,} triangles: at most {MAX_TRIANGLES:,} are read')


def _check_vertices(count: int) -> None:
    most = 3 * MAX_TRIANGLES
    if count > most:
        raise MeshError(f'it has {count:,} vertices: at most {most:,} are read')


def _read_stl(data: bytes) -> TriangleMesh:
    count = int.from_bytes(data[_HEAD - 4 : _HEAD], 'little')
    is_binary = len(data) >= _HEAD and len(data) == _HEAD + 50 * count
    if not is_binary and data.lstrip()[:5].lower() == b'solid':
        return _read_ascii_stl(data)
    if len(data) < _HEAD:
        raise MeshError('it is truncated: the header of an STL file has 84 bytes')
    if len(data) < _HEAD + 50 * count:
        there = (len(data) - _HEAD) // 50
        raise MeshError(f'it is truncated: {there:,} of its {count:,} triangles are there')
    _check_count(count)
    corners = np.frombuffer(data, _TRIANGLE, count, _HEAD)['corners']
    return TriangleMesh(corners.astype(float).reshape(-1, 3), _in_order(count))


def _read_ascii_stl(data: bytes) -> TriangleMesh:
    words = [word.lower() for word in _WORDS.findall(data)]
    corners, facets = words.count(b'vertex'), words.count(b'endfacet')
    if words[-1:] != [b'endsolid'] or corners != 3 * facets:
        raise MeshError(f'it is truncated: {facets:,} facets are whole, and there is no endsolid')
    _check_count(facets)
    try:
        vertices = np.array(_VERTEX.findall(data), dtype=float)
    except ValueError as error:
        raise MeshError(f'a vertex is not made of numbers: {error}') from None
    if len(vertices) != corners:
        raise MeshError('a vertex has fewer than three numbers')
    return TriangleMesh(vertices.reshape(-1, 3), _in_order(facets))


def _in_order(triangles: int) -> NDArray[np.int64]:
    return np.arange(3 * triangles).reshape(-1, 3)


def _read_obj(data: bytes) -> TriangleMesh:
    """Read vertices and faces of an OBJ; polygons become fans of triangles."""
    vertices, faces = array('d'), array('q')
    if b'\\\n' in data:
        data = data.replace(b'\\\n', b' ')
    if b'\n' not in data:
        data = data.replace(b'\r', b'\n')
    for number, line in enumerate(io.BytesIO(data), 1):  # one at a time: lists take 30 times
        kind = line.split(None, 1)[:1]
        try:
            if kind == [b'v']:
                x, y, z = map(float, line.split(None, 4)[1:4])
                vertices.extend((x, y, z))
                _check_vertices(len(vertices) // 3)
            elif kind == [b'f']:
                words = line.split(None, MAX_TRIANGLES + 4)[1:]
                _check_count(len(faces) // 3 + len(words) - 2)
                polygon = [_index(word, len(vertices) // 3) for word in words]
                for b, c in pairwise(polygon[1:]):
                    faces.extend((polygon[0], b, c))
        except (ValueError, IndexError) as error:
            if isinstance(error, MeshError):
                raise
            shown = line[:40].decode(errors='replace').rstrip('\r\n')
            raise MeshError(f'line {number} is damaged: {shown!r}') from None
    found = np.array(faces, dtype=np.int64).reshape(-1, 3)
    count = len(vertices) // 3
    if len(found) and found.max() >= count:
        raise MeshError(
            f'it is truncated: a face has vertex {found.max() + 1:,}, and {count:,} are there'
        )
    return TriangleMesh(np.array(vertices, dtype=float).reshape(-1, 3), found)


def _index(word: bytes, count: int) -> int:
    """Return a vertex's index from 0; files count from 1, or from the end if it is negative."""
    index = int(word.split(b'/')[0])
    if index == 0 or index < -count:
        raise ValueError
    return index - 1 if index > 0 else count + index


def _read_by_trimesh(data: bytes, suffix: str) -> list[TriangleMesh]:
    try:
        import trimesh
    except ImportError:
        raise MeshError(f'{suffix} is read by trimesh: pip install trimesh pycollada') from None
    if suffix == '.dae':
        _refuse_doctype(data)
    try:
        loaded = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:])
    except ImportError as error:  # trimesh reads .dae by another package
        raise MeshError(f'{suffix} needs pip install pycollada: {error}') from None
    return [
        TriangleMesh(
            np.asarray(piece.vertices, float), np.asarray(piece.faces, np.int64), _colour(piece)
        )
        for piece in loaded.dump()
        if isinstance(piece, trimesh.Trimesh)
    ]


def _refuse_doctype(data: bytes) -> None:
    """Raise MeshError for XML with entities of its own, or none that expat can decode.

    Whatever then reads it finds nothing to expand and no other file to open.
    """

    def refuse(*_: object) -> None:
        raise MeshError('a DOCTYPE is not allowed in it')

    xml = expat.ParserCreate()
    xml.StartDoctypeDeclHandler = refuse
    try:
        xml.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, MeshError):
            raise
        raise MeshError(f'it is not well-formed XML: {error}') from None


def _colour(piece: Any) -> tuple[int, int, int] | None:
    """Return the main colour of a trimesh mesh, None if it has none."""
    if not piece.visual.defined:
        return None
    try:
        red, green, blue = (int(value) for value in piece.visual.main_color[:3])
    except (AttributeError, TypeError, ValueError):
        try:
            red, green, blue = (int(v) for v in piece.visual.material.main_color[:3])
        except (AttributeError, TypeError, ValueError):
            return None
    return red, green, blue
