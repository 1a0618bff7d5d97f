"""Mesh files that a URDF names: found in folders that the user named, and nowhere else.

The URDF may come from anybody over a topic, so a name in it opens nothing by itself. It is
followed only below one of the folders: never an absolute path, a URL, a `..`, nor a symbolic link
that leads out of the folder. A file is read in one go, up to a limit, and given to trimesh as
bytes, so that it can't make it open others (materials, textures, buffers).
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ik_core.maths.rotations import Array

from .shapes import Colour, Mesh

SUFFIXES = ('.stl', '.obj', '.dae', '.ply', '.glb')
MAX_BYTES = 64_000_000
MAX_TRIANGLES = 500_000
SHARP = np.radians(35.0)
"""Edges with a sharper bend look like edges."""
MOST_TO_SMOOTH = 60_000
"""Triangles of a mesh whose edges are looked at: it takes long."""


class MeshError(Exception):
    """A mesh that can't be had; the message is a sentence's end."""


class MeshFolders:
    """Where meshes may be.

    folder : what a URDF names without a package is relative to it; None: such names are not
        followed
    folders : of packages, or with folders of packages in them
    """

    def __init__(self, folder: Path | None, folders: Sequence[Path]) -> None:
        self._folder = folder
        self._folders = tuple(folders)

    def find(self, name: str) -> Path:
        """The file, resolved, that a mesh's name stands for. Raises MeshError."""
        scheme, separator, rest = name.partition('://')
        if separator and scheme != 'package':
            raise MeshError(f'{scheme}:// is not supported: use package:// or a relative path')
        # Some robots say package:///name: it is looked for below the folders all the same.
        path = PurePosixPath(rest.lstrip('/') if separator else name)
        if path.is_absolute() or '..' in path.parts or '\\' in name or '\0' in name:
            raise MeshError('the path is outside the mesh folders')
        if path.suffix.lower() not in SUFFIXES:
            raise MeshError(f'{", ".join(SUFFIXES)} are supported')
        for root, below in self._places(path, in_package=bool(separator)):
            found = _inside(root, below)
            if found is not None:
                return found
        raise MeshError('it is not in the mesh folders (--mesh-folder)')

    def _places(
        self, path: PurePosixPath, *, in_package: bool
    ) -> Iterator[tuple[Path, PurePosixPath]]:
        """(folder, path below it): where to look, in order."""
        if self._folder is not None and not in_package:
            yield self._folder, path
        for folder in self._folders:
            yield folder, path
            inside = PurePosixPath(*path.parts[1:])
            if in_package and path.parts[0] == folder.resolve().name and inside.parts:
                yield folder, inside


def _inside(folder: Path, below: PurePosixPath) -> Path | None:
    """The file below a folder, if it is there, also after symbolic links are followed."""
    try:
        root = folder.resolve(strict=True)
        path = (root / below).resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    return path if path.is_relative_to(root) and path.is_file() else None


def read_bytes(path: Path) -> bytes:
    """The content of a resolved file; no link, no device, no more than MAX_BYTES. MeshError."""
    flags = os.O_RDONLY | getattr(os, 'O_NOFOLLOW', 0) | getattr(os, 'O_NONBLOCK', 0)
    try:
        with os.fdopen(os.open(path, flags | getattr(os, 'O_BINARY', 0)), 'rb') as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise MeshError('it is not a file')
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise MeshError(f'it cannot be read: {error.strerror}') from None
    if len(data) > MAX_BYTES:
        raise MeshError(f'it is larger than {MAX_BYTES / 1e6:.0f} MB')
    return data


def load_meshes(path: Path, scale: Sequence[float]) -> list[tuple[Mesh, Colour | None]]:
    """The meshes of a file, with the colours that it gives them. Raises MeshError.

    scale (3,) : they are so much larger along x, y and z
    """
    data = read_bytes(path)
    if path.suffix.lower() == '.dae':
        _refuse_doctype(data)
    try:
        pieces = [_mesh(piece, scale) for piece in _pieces(data, path.suffix.lower()[1:])]
    except MeshError:
        raise
    except Exception as error:  # whatever trimesh, and what it reads the format with, raises
        raise MeshError(f'it cannot be read: {type(error).__name__}: {error}') from None
    if not pieces:
        raise MeshError('it has no triangles')
    return pieces


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
        raise MeshError(f'it is not well-formed XML: {error}') from None


def _pieces(data: bytes, suffix: str) -> list[Any]:
    """Its triangle meshes, in the file's own frame. Raises MeshError where these are too many."""
    import trimesh

    loaded = trimesh.load_scene(io.BytesIO(data), file_type=suffix)
    pieces = [piece for piece in loaded.dump() if isinstance(piece, trimesh.Trimesh)]
    pieces = [piece for piece in pieces if len(piece.faces)]
    if sum(len(piece.faces) for piece in pieces) > MAX_TRIANGLES:
        raise MeshError(f'it has more than {MAX_TRIANGLES} triangles')
    return pieces


def _mesh(piece: Any, scale: Sequence[float]) -> tuple[Mesh, Colour | None]:
    colour = _main_colour(piece)
    if len(piece.faces) <= MOST_TO_SMOOTH:
        import trimesh

        bare = trimesh.Trimesh(piece.vertices, piece.faces)  # a material slows it tenfold
        piece = trimesh.graph.smooth_shade(bare, angle=SHARP)
    vertices: Array = np.asarray(piece.vertices, float) * np.asarray(scale, float)
    if not np.isfinite(vertices).all():
        raise MeshError('its vertices are not finite')
    faces: NDArray[np.uint32] = np.asarray(piece.faces, np.uint32)
    if np.prod(scale) < 0.0:
        faces = faces[:, ::-1]
    return Mesh(vertices.astype(np.float32), np.ascontiguousarray(faces)), colour


def _main_colour(piece: Any) -> Colour | None:
    """The colour of its material; None where it says none."""
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
