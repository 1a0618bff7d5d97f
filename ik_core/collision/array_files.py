"""Arrays kept in a folder of the user's own, by a hash of all that they are made of."""

from __future__ import annotations

import contextlib
import os
import tempfile

import numpy as np

from ..kernels.cache_folder import cache_folder
from ..maths.rotations import Array

MOST_FILES = 2000
"""Files that are kept in a folder; the oldest are deleted."""


def load(name: str, key: str) -> Array | None:
    """Return the array that was kept in a folder by that key, None if there is none."""
    folder = cache_folder(name)
    if folder is None:
        return None
    try:
        path = folder / f'{key}.npy'
        array = np.load(path, allow_pickle=False)
        os.utime(path)
    except (OSError, ValueError, EOFError):
        return None
    return array if isinstance(array, np.ndarray) and array.dtype == float else None


def store(name: str, key: str, array: Array) -> None:
    """Keep an array, unless there is no folder for it."""
    folder = cache_folder(name)
    if folder is None:
        return
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(dir=folder, suffix='.part', delete=False) as file:
            np.save(file, array)
        os.replace(file.name, folder / f'{key}.npy')
        files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in files[:-MOST_FILES]:
            old.unlink(missing_ok=True)
