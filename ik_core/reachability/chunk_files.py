# SPDX-License-Identifier: Apache-2.0
"""The chunks of a map as files, so that a killed run can be continued.

A folder beside the map has `manifest.json` with the settings, and a file for each finished chunk.
Every file is written completely, then renamed. Once all exist, they are joined into the map, an
.npz file, with one chunk in memory at a time, and the folder is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..exceptions import InvalidOption
from .cells import Chunk

Settings = dict[str, Any]

CHUNK_FORMAT = 1
UNREADABLE = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error)
EPOCH = (1980, 1, 1, 0, 0, 0)  # date of all archive members: equal maps are equal files


class Parts:
    """The finished chunks of the map `path` with these settings, in a folder beside it.

    If `resume` is set, an earlier run is continued, with its `chunk_voxels`. Raises
    InvalidOption if there is an earlier run but `resume` is not set, if it had other settings, or
    if another process is making the map.
    """

    def __init__(self, path: Path, settings: Settings, chunk_voxels: int, resume: bool) -> None:
        self.path = path
        self.folder = path.with_name(path.name + '.parts')
        self.settings = json.loads(json.dumps({'format': CHUNK_FORMAT, **settings}))
        self.chunk_voxels = chunk_voxels
        self.finished = path.exists()
        self._lock: IO[bytes] | None = None
        manifest = self.folder / 'manifest.json'
        there = path if self.finished else manifest
        if there.exists() and not resume:
            raise InvalidOption(
                f'{there} exists: continue it with `resume` (--resume), remove '
                f'{path if self.finished else self.folder}, or name another file'
            )
        if self.finished:
            self._check_same(stored_settings(path))
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        if manifest.exists():
            self._continue(json.loads(manifest.read_text(encoding='utf-8')))
        else:
            text = json.dumps({'settings': self.settings, 'chunk_voxels': chunk_voxels}, indent=2)
            _write(manifest, lambda file: file.write(text.encode()))

    def done(self) -> set[int]:
        """The numbers of the complete chunks; damaged files are removed."""
        found = set()
        for path in self.folder.glob('chunk-*.npz'):
            try:
                self.read(int(path.stem.removeprefix('chunk-')))
            except UNREADABLE:
                path.unlink()
            else:
                found.add(int(path.stem.removeprefix('chunk-')))
        return found

    def read(self, chunk: int) -> Chunk:
        """The results of a chunk."""
        with np.load(self._file(chunk), allow_pickle=False) as arrays:
            return dict(arrays)

    def write(self, chunk: int, answers: Chunk) -> None:
        """Store the results of a chunk, atomically."""

        def fill(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, 'w') as archive:
                for name, array in answers.items():
                    _add(archive, name, array.dtype, array.shape, [array])

        # Not synced: a file lost in a crash of the machine is found damaged and made again.
        _write(self._file(chunk), fill, sync=False)

    def join(self, chunks: int, shape: tuple[int, ...]) -> None:
        """Write the map from all chunks."""
        kinds = {name: array.dtype for name, array in self.read(0).items()}

        def fill(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, 'w') as archive:
                settings = np.array(json.dumps(self.settings))
                _add(archive, 'settings', settings.dtype, (), [settings])
                for name, kind in kinds.items():
                    parts = (self.read(chunk)[name] for chunk in range(chunks))
                    _add(archive, name, kind, shape, parts)

        _write(self.path, fill)
        self.finished = True

    def close(self) -> None:
        """Release the lock, and remove the parts of a finished map."""
        if self.finished:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()

    def _file(self, chunk: int) -> Path:
        return self.folder / f'chunk-{chunk:09d}.npz'

    def _take_lock(self) -> None:
        """Lock the folder for this process; the lock ends with it."""
        with contextlib.suppress(ImportError):  # not on Windows
            import fcntl

            self._lock = (self.folder / 'lock').open('wb')
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidOption(f'another process is making {self.path}') from None

    def _continue(self, manifest: dict[str, Any]) -> None:
        """Continue an earlier run. Raises InvalidOption if its settings differ."""
        self._check_same(manifest['settings'])
        self.chunk_voxels = int(manifest['chunk_voxels'])
        for path in self.folder.glob('*.tmp'):  # unfinished files of a killed process
            path.unlink()

    def _check_same(self, stored: Settings) -> None:
        names = self.settings.keys() | stored.keys()
        other = sorted(n for n in names if self.settings.get(n) != stored.get(n))
        if other:
            shown = ', '.join(
                f'{name} {stored.get(name)} (now {self.settings.get(name)})' for name in other
            )
            raise InvalidOption(f'{self.path} was begun with other settings: {shown}')


def stored_settings(path: Path) -> Settings:
    """The settings of a finished map; raises InvalidOption if the file is not a map."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            settings: Settings = json.loads(str(arrays['settings']))
            return settings
    except (KeyError, *UNREADABLE) as error:
        # numpy's message for a file that is not an archive would suggest unsafe loading
        is_archive = not path.is_file() or zipfile.is_zipfile(path)
        why = error if is_archive else 'not a numpy archive (.npz)'
        raise InvalidOption(f'{path} is not a reachability map: {why}') from None


def _write(path: Path, fill: Callable[[IO[bytes]], object], sync: bool = True) -> None:
    """Write a file atomically: it is complete, or absent, whenever the process stops.

    sync : guarantee this if the machine stops, too
    """
    temporary = path.with_name(f'{path.name}.tmp')
    with temporary.open('wb') as file:
        fill(file)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, path)


def _add(
    archive: zipfile.ZipFile,
    name: str,
    kind: np.dtype[Any],
    shape: tuple[int, ...],
    parts: Iterator[np.ndarray] | list[np.ndarray],
) -> None:
    """Add an array to an archive, with one of its parts in memory at a time."""
    entry = zipfile.ZipInfo(f'{name}.npy', EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    head = {'descr': np.lib.format.dtype_to_descr(kind), 'fortran_order': False, 'shape': shape}
    with archive.open(entry, 'w', force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, head)
        for part in parts:
            file.write(part.tobytes())
