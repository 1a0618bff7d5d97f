# SPDX-License-Identifier: Apache-2.0
"""Mesh files that a URDF names: found in folders that the user named, and nowhere else.

The URDF may come from anybody over a topic, so a name in it opens nothing by itself. It is
followed only below one of the folders: an absolute path, `file://`, `..` or a symbolic link may
lead from one folder to another, but never to a file outside of all. Packages of a sourced ROS
workspace (AMENT_PREFIX_PATH) count as named by the user; links in them lead to the sources of
packages built with --symlink-install, and are followed. So does ik_node itself, wherever it is
installed: its shipped robots have meshes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ..exceptions import MeshError
from ..shared_files import shared_file, workspaces
from .mesh_formats import SUFFIXES

MAX_BYTES = 64_000_000


class MeshFolders:
    """Folders that meshes may be in.

    folder : names without a package are relative to it; None: such names are not followed
    folders : packages, or folders with packages in them
    """

    def __init__(self, folder: Path | None, folders: Sequence[Path]) -> None:
        self._folder = folder
        self._folders = tuple(folders)

    def find(self, name: str) -> Path:
        """Return the file, resolved, that a mesh's name stands for. Raises MeshError."""
        scheme, separator, rest = name.partition('://')
        if separator and scheme not in ('package', 'file'):
            raise MeshError(
                f'{scheme}:// is not supported: use package://, file:// or a relative path'
            )
        if '\\' in name or '\0' in name:
            raise MeshError('the path is outside the mesh folders')
        in_package = scheme == 'package' and bool(separator)
        if separator and not in_package:
            rest = '/' + unquote(rest.removeprefix('localhost')).lstrip('/')
        # Some robots say package:///name: it is looked for below the folders all the same.
        path = PurePosixPath((rest.lstrip('/') if in_package else rest) if separator else name)
        if path.suffix.lower() not in SUFFIXES:
            raise MeshError(f'{", ".join(SUFFIXES)} are supported')
        for start, roots in self._candidates(path, in_package=in_package):
            found = _inside(start, roots)
            if found is not None:
                return found
        if in_package:
            found = _in_workspace(path) or _shipped(path)
            if found is not None:
                return found
        if path.is_absolute() or '..' in path.parts:
            raise MeshError(
                'the path is outside the mesh folders (--mesh-folder, or folders=), or not there'
            )
        raise MeshError('it is not in the mesh folders (--mesh-folder, or folders=)')

    def _candidates(
        self, path: PurePosixPath, *, in_package: bool
    ) -> Iterator[tuple[Path, tuple[Path, ...]]]:
        """Yield (path, the folders that it has to be in one of) in the order of search."""
        beside = () if self._folder is None else (self._folder,)
        everywhere = (*beside, *self._folders)
        if path.is_absolute():
            yield Path(path), everywhere
            return
        if not in_package:
            for folder in beside:
                yield folder / path, everywhere
        for folder in self._folders:
            yield folder / path, (folder,)
            inside = PurePosixPath(*path.parts[1:])
            if in_package and path.parts[0] == folder.resolve().name and inside.parts:
                yield folder / inside, (folder,)


def package_of(file: Path | None) -> tuple[Path, ...]:
    """Return the ROS package that a file is in, () if it is in none.

    Packages that robot_descriptions downloads may lack their package.xml: for a file in its cache
    return every folder from the file's to the cache.
    """
    parents = () if file is None else file.resolve().parents
    cache = descriptions_cache().resolve()
    if cache in parents:
        return tuple(folder for folder in parents if folder.is_relative_to(cache))
    return tuple(folder for folder in parents if (folder / 'package.xml').is_file())[:1]


def descriptions_cache() -> Path:
    """Return the folder into which the package robot_descriptions downloads robots."""
    default = '~/.cache/robot_descriptions'
    return Path(os.environ.get('ROBOT_DESCRIPTIONS_CACHE', default)).expanduser()


def _inside(path: Path, roots: Sequence[Path]) -> Path | None:
    """Return the file, if it is in one of the folders, also after symbolic links are followed."""
    written = Path(os.path.abspath(path))  # without `..`: nothing outside is even looked at
    for root in roots:
        try:
            real = root.resolve(strict=True)
            if not any(written.is_relative_to(top) for top in (Path(os.path.abspath(root)), real)):
                continue
            found = written.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            continue
        if found.is_relative_to(real) and found.is_file():
            return found
    return None


def _in_workspace(path: PurePosixPath) -> Path | None:
    """Return the resolved path of a file in a sourced package (first part of `path`), or None."""
    if '..' in path.parts:  # links may lead anywhere from there
        return None
    for prefix in workspaces():
        try:
            found = (prefix / 'share' / path).resolve(strict=True)
        except (OSError, RuntimeError):
            continue
        if found.is_file() and found.suffix.lower() in SUFFIXES:
            return found
    return None


def _shipped(path: PurePosixPath) -> Path | None:
    """Return the resolved path of a file in package ik_node (first part of `path`), or None."""
    if path.parts[0] != 'ik_node' or '..' in path.parts:
        return None
    try:
        return shared_file(str(PurePosixPath(*path.parts[1:]))).resolve(strict=True)
    except FileNotFoundError:
        return None


def read_bytes(path: Path) -> bytes:
    """Read a resolved file: no link, no device, at most MAX_BYTES. Raises MeshError."""
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
