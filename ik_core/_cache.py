"""The cache folder of compiled kernels.

Programs execute the files in it. Therefore a folder is used only if no user but its owner and root
can change its contents or the meaning of its path. Each file ends with a checksum, so that a
damaged one is compiled again.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    from numba.core.caching import IndexDataCacheFile
except ImportError:  # then nothing is compiled
    IndexDataCacheFile = object

VERSIONS_KEPT = 8
"""Versions of the kernels whose compiled code stays in the cache,"""
IN_USE = 3600.0
"""and those that were used in the last so many seconds: somebody may still work with them."""

MOST_LINKS = 40
"""Symbolic links on the way to a folder, as in Linux."""
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
CHECKSUM = 4
"""Bytes."""


def cache_directory(key: str) -> str | None:
    """The folder for a version of the kernels, or None: the first that is safe and writable."""
    kernels = f'kernels-{key}'
    for place in candidates():
        directory = place / kernels
        try:
            make_own(directory)
            with tempfile.TemporaryFile(dir=directory):
                os.utime(directory)
        except OSError:
            continue
        _prune(place, directory)
        return str(directory)
    return None


def candidates() -> list[Path]:
    """Places for the cache, best first."""
    uid = os.getuid() if hasattr(os, 'getuid') else 'user'
    places = []
    with contextlib.suppress(OSError):  # no temporary directory can be written
        places.append(Path(tempfile.gettempdir()) / f'ik_core-cache-{uid}')
    with contextlib.suppress(RuntimeError):  # no home directory is known
        places.insert(0, Path.home() / '.cache' / 'ik_core')
    for variable, below in (('XDG_CACHE_HOME', 'ik_core'), ('NUMBA_CACHE_DIR', '')):
        if os.environ.get(variable):
            places.insert(0, Path(os.environ[variable]) / below)
    return places


def make_own(directory: Path) -> None:
    """Make a folder, and those above it, where they are missing; for its owner alone.

    Raises PermissionError where another user could change what is in it, now or later: it or a
    folder above it, or a link on the way, belongs to somebody else than this user and root, or
    others may write there. Above it, they may in a sticky folder such as /tmp: they can neither
    rename nor replace what they do not own. Nothing is made below what is refused.
    """
    if not hasattr(os, 'getuid'):
        directory.mkdir(parents=True, exist_ok=True)
        return
    here, *parts = directory.absolute().parts
    ahead, links = parts[::-1], 0
    while ahead:
        path = os.path.join(here, ahead.pop())
        found = _made(path)
        if found.st_uid not in (os.getuid(), 0):
            raise PermissionError(errno.EPERM, 'belongs to another user', path)
        if not stat.S_ISLNK(found.st_mode):
            allowed = bool(ahead) and found.st_mode & stat.S_ISVTX
            if found.st_mode & OTHERS_WRITE and not allowed:
                raise PermissionError(errno.EPERM, 'others can write there', path)
            here = path
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = Path(os.readlink(path))
        ahead += target.parts[::-1]  # joined to `here`, which an absolute one replaces


def _made(path: str) -> os.stat_result:
    """Return the status of a path, without following links; make a folder if there is none."""
    with contextlib.suppress(FileNotFoundError):
        return os.lstat(path)
    with contextlib.suppress(FileExistsError):  # made meanwhile, by whom lstat says
        os.mkdir(path, 0o700)
    return os.lstat(path)


def _prune(place: Path, used: Path) -> None:
    """Delete what was compiled for all versions but this one and those used last.

    Other processes may do the same meanwhile. One that still uses what is deleted loses nothing
    but time: numba compiles what it misses, and makes its directory again.
    """
    ages = {}
    for path in place.glob(f'kernels-{16 * "[0-9a-f]"}'):
        with contextlib.suppress(OSError):  # gone meanwhile
            ages[path] = path.stat().st_mtime
    ages.pop(used, None)
    for path in sorted(ages, key=ages.__getitem__, reverse=True)[VERSIONS_KEPT - 1 :]:
        if ages[path] < time.time() - IN_USE:
            shutil.rmtree(path, ignore_errors=True)


class CheckedFiles(IndexDataCacheFile):
    """numba's files for one kernel: an index, and data for each signature.

    Each ends with a checksum, which numba does not read. ValueError where it does not fit.
    """

    def forget(self) -> None:
        """Delete the index: all that it names is compiled again, and replaced."""
        with contextlib.suppress(OSError):
            os.unlink(self._index_path)

    def _load_index(self) -> Any:
        _check(self._index_path)
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check(self._data_path(name))
        return super()._load_data(name)

    @contextlib.contextmanager
    def _open_for_write(self, path: str) -> Iterator[Any]:
        whole = io.BytesIO()
        with super()._open_for_write(path) as file:
            yield whole
            file.write(whole.getvalue() + _checksum(whole.getbuffer()))


def _check(path: str) -> None:
    """ValueError where a file is damaged; nothing where there is none."""
    with contextlib.suppress(FileNotFoundError):
        data = memoryview(Path(path).read_bytes())
        if data[-CHECKSUM:] != _checksum(data[:-CHECKSUM]):
            raise ValueError(f'{path} is damaged')


def _checksum(data: memoryview) -> bytes:
    return zlib.crc32(data).to_bytes(CHECKSUM, 'little')


def if_possible(access: Callable[..., Any], files: CheckedFiles) -> Callable[..., Any]:
    """As `access`, which reads or writes files; None where that fails, which costs time only.

    A full disk, a folder deleted meanwhile, a file that was damaged, or half written when the
    power failed: whatever it is, the next compilation replaces the files.
    """

    def access_if_possible(*arguments: Any) -> Any:
        try:
            return access(*arguments)
        except Exception:
            files.forget()
            return None

    return access_if_possible
