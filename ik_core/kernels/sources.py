# SPDX-License-Identifier: Apache-2.0
"""The sources of the compiled library and their hash; the hash of the library's own code.

Imports nothing of ik_core.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

CORE = Path(__file__).resolve().parents[1]
# Strings in the files that the library depends on
MARKS = b'jit import', b'kernels.records import', b'Layout('
# Files without a mark that it depends on, too
OTHERS = (
    'kernels/build.py', 'kernels/call.c', 'kernels/jit.py', 'kernels/numba_backend.py',
    'kernels/numba_lanes.py', 'kernels/numba_records.py', 'kernels/reshape.ll',
    'kernels/signatures.py',
)  # fmt: skip
# The stamp in a library: the hash of its sources, and the names of the files
MADE_OF = re.compile(rb'ik_core ([0-9a-f]{16}):([\w./ -]+)')
PARTS = 2  # Parts of a library, each with a table of its entries
# Begins the seal in a library: the hash of its other sections that are loaded
SEAL = b'ik_core seal:'
DIGITS = 32
UNSEALED = '0' * DIGITS
NOT_CODE, LOADED = (7, 8), 2  # Kinds and a flag of sections of ELF: notes, zeros; reaches memory
# The first bytes of a library of macOS, and the command that lists sections
MACH_O, SEGMENT = b'\xcf\xfa\xed\xfe', 0x19


def sources(core: Path = CORE) -> list[str]:
    """Return the names of the files from which the library is compiled."""
    paths = (path for path in core.rglob('*.py') if _is_marked(path.read_bytes()))
    return sorted({*OTHERS, *(path.relative_to(core).as_posix() for path in paths)})


def _is_marked(source: bytes) -> bool:
    return any(mark in source for mark in MARKS)


def stamp(names: Iterable[str], core: Path = CORE) -> str:
    """Return the hash of files."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b'\0' + (core / name).read_bytes())
    return digest.hexdigest()[:16]


def description(core: Path = CORE) -> str:
    """Return the stamp of a library compiled now: hash and names of its sources."""
    names = sources(core)
    return f'ik_core {stamp(names, core)}:{" ".join(names)}'


def is_of_these(library: Path, core: Path = CORE) -> bool:
    """Return whether a file is a complete library, compiled from all sources as they are now."""
    code = library.read_bytes()
    return description(core).encode() in code and is_sealed(code)  # new files count, too


def is_made_of_these(library: bytes, core: Path = CORE) -> bool:
    """Return whether a library's sources are unchanged; new files do not count."""
    found = MADE_OF.search(library)
    try:
        return found is not None and stamp(found[2].decode().split(), core) == found[1].decode()
    except OSError:  # a file is gone
        return False


def is_sealed(library: bytes) -> bool:
    """Return whether the code and data of a library, 64-bit ELF or Mach-O, are those that were
    sealed.

    Sections that are not loaded may have been stripped.
    """
    at = library.find(SEAL) + len(SEAL)
    try:
        return library[at : at + DIGITS].decode() == hash_of(library)
    except (struct.error, UnicodeDecodeError):
        return False


def hash_of(library: bytes) -> str:
    """Return the hash of the loaded sections, without notes and the section with the seal."""
    digest = hashlib.sha256()
    for first, length in _mach_o(library) if library.startswith(MACH_O) else _elf(library):
        content = memoryview(library)[first : first + length]
        if bytes(content[: len(SEAL)]) != SEAL:
            digest.update(content)
    return digest.hexdigest()[:DIGITS]


def _elf(library: bytes) -> Iterator[tuple[int, int]]:
    """Yield offset and length of the sections that are loaded."""
    (start,) = struct.unpack_from('<Q', library, 40)
    size, count = struct.unpack_from('<HH', library, 58)
    for k in range(count):
        _, kind, flags, _, first, length = struct.unpack_from('<IIQQQQ', library, start + k * size)
        if kind not in NOT_CODE and flags & LOADED:
            yield first, length


def _mach_o(library: bytes) -> Iterator[tuple[int, int]]:
    """Yield offset and length of the sections that have content."""
    (count,) = struct.unpack_from('<I', library, 16)
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from('<II', library, at)
        if command == SEGMENT:
            (sections,) = struct.unpack_from('<I', library, at + 64)
            for k in range(sections):
                length, first = struct.unpack_from('<QI', library, at + 72 + 80 * k + 40)
                if first:  # others are zeros, of which the file has nothing
                    yield first, length
        at += size


def assembly(core: Path = CORE) -> Path | None:
    """Return the folder of a release with the assembly of these sources; None for a checkout."""
    index = core / 'kernels' / 'assembly' / 'index'
    is_of_these = index.exists() and index.read_text().partition('\n')[0] == description(core)
    return index.parent if is_of_these else None
