# SPDX-License-Identifier: Apache-2.0
"""Cache of arrays in the user's cache folder, by a hash of everything they depend on."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from pathlib import Path

import numpy as np

from ..kernels.cache_folder import cache_folder
from ..maths.rotations import Array

MOST_FILES = 2000  # in a folder; the oldest are deleted


def load(name: str, key: str) -> Array | None:
    """Load the array stored under a key in the folder `name`; None if there is none."""
    folder = cache_folder(name)
    if folder is None:
        return None
    try:
        path = folder / f'{key}.npy'
        array = _read(path)
        os.utime(path)
    except (OSError, ValueError, EOFError):
        return None
    return array


def _read(path: Path) -> Array:
    """Read an array from a file. Raises OSError, and ValueError for files that `store` did not
    write; a damaged header is not trusted beyond the length of the file."""
    with path.open('rb') as file:
        head = np.lib.format.read_magic(file)
        if head != (1, 0):
            raise ValueError(f'version {head} of the format')
        try:
            shape, by_columns, kind = np.lib.format.read_array_header_1_0(file)
        except Exception as error:  # whatever Python's parser raises for the header
            raise ValueError(f'the header is damaged: {error}') from None
        size = os.fstat(file.fileno()).st_size - file.tell()
        if kind != np.dtype(float) or by_columns or size != 8 * math.prod(shape):
            raise ValueError('the header does not fit the file')
        return np.fromfile(file, float).reshape(shape)


def store(name: str, key: str, array: Array) -> None:
    """Store an array; does nothing if there is no cache folder."""
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
