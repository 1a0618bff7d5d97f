"""The sources that the compiled library is made of, and their hash. Imports nothing of ik_core."""

from __future__ import annotations

import hashlib
from pathlib import Path

CORE = Path(__file__).resolve().parents[1]
MARKS = (b'_jit import', b'_records import', b'Layout(', b'"""The table of entries')
"""Strings in the files that the library depends on."""
OTHERS = ('kernels/call.c', 'kernels/build.py', 'kernels/reshape.ll')


def sources(core: Path = CORE) -> dict[str, bytes]:
    """Return the files that a library is made of, by their names."""
    found = {name: (core / name).read_bytes() for name in OTHERS}
    for path in core.rglob('*.py'):
        source = path.read_bytes()
        if any(mark in source for mark in MARKS):
            found[path.relative_to(core).as_posix()] = source
    return found


def stamp(core: Path = CORE) -> str:
    """Return the hash of the sources."""
    digest = hashlib.sha256()
    for name, source in sorted(sources(core).items()):
        digest.update(name.encode() + b'\0' + source)
    return digest.hexdigest()[:16]
