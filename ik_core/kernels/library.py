# SPDX-License-Identifier: Apache-2.0
"""Chooses how kernels run: from the library that was compiled ahead, by numba, or as Python.

The library is used if it suits the processor, is whole, and was made of these sources: their
hash is compared at each load. It is loaded by
ctypes, once; its functions are then builtins of Python, made by `call.c`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .sources import MACH_O, PARTS, SEAL, is_made_of_these, is_sealed

HERE = Path(__file__).parent
# The files of libraries, the best for a processor first
NAMES = (
    ('ik-macos-arm64.so',)
    if sys.platform == 'darwin'
    else ('ik-x86-64-v4.so', 'ik-x86-64-v3.so', 'ik-x86-64-v2.so', 'ik-aarch64.so')
)

MISSING = {
    'linux': 'no library was compiled when this was installed: to have one, install '
    'python3-venv and build-essential, and build again with a network',
    'darwin': 'no library was compiled when this was installed: to have one, install the command '
    'line tools of Xcode, and build again with a network',
}.get(sys.platform, 'there is no library for this system: numba can compile them')


class Refused(Exception):
    """The reason why a library is not used."""


class Row(NamedTuple):
    """An entry in the library's table, with the letters that call.c reads.

    path : of the kernel from which it was compiled
    """

    arguments: str
    results: str
    path: str


class _Method(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('doc', ctypes.c_char_p),
    )


class _Entry(ctypes.Structure):
    """`Entry` of call.c."""

    _fields_ = (
        ('entry', ctypes.c_void_p),
        ('name', ctypes.c_char_p),
        ('arguments', ctypes.c_char_p),
        ('results', ctypes.c_char_p),
        ('types', ctypes.c_void_p * 4),
    )


class Library:
    """A loaded library, and the table of its entries; it makes their builtins."""

    FASTCALL = 0x80
    kept: ClassVar[list[Any]] = []
    """Structures that builtins point at; the process keeps them until it ends."""

    def __init__(self, code: ctypes.CDLL) -> None:
        texts = (ctypes.c_char.in_dll(code, f'ik_entries_{part}') for part in range(PARTS))
        lines = ''.join(ctypes.string_at(ctypes.addressof(text)).decode() for text in texts)
        rows = (line.split(' ') for line in lines.splitlines())
        self.code, self.suits = code, code.ik_suits
        self.rows = {symbol: Row(*row) for symbol, *row in rows}
        self._types: Any = None

    def make(self, symbol: str) -> Any:
        """Return the builtin of an entry."""
        if self._types is None:
            self._types = (ctypes.c_void_p * 4)(*self._numpy_types())
        api = ctypes.pythonapi
        api.PyCapsule_New.restype = api.PyCFunction_NewEx.restype = ctypes.py_object
        api.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        api.PyCFunction_NewEx.argtypes = ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
        address, call = (
            ctypes.cast(function, ctypes.c_void_p)
            for function in (getattr(self.code, symbol), self.code.ik_call)
        )
        name, arguments, results = (text.encode() for text in (symbol, *self.rows[symbol][:2]))
        known = _Entry(address, name, arguments, results, self._types)
        method = _Method(name, call, self.FASTCALL, None)
        self.kept.extend((known, method))
        capsule = api.PyCapsule_New(ctypes.addressof(known), b'ik', None)
        return api.PyCFunction_NewEx(ctypes.addressof(method), capsule, None)

    def _numpy_types(self) -> list[int | None]:
        """Return numpy's types if its arrays are in memory as call.c expects, else None."""
        kinds = [np.dtype(kind) for kind in (np.float64, np.int64, np.bool_)]
        array, trial = np.zeros((2, 3)), self.code.ik_trial
        trial.argtypes = ctypes.py_object, ctypes.c_void_p, ctypes.py_object
        if object.__basicsize__ != 16 or not trial(array, array.ctypes.data, kinds[0]):
            return [None] * 4
        return [id(np.ndarray), *map(id, kinds)]


def _load(path: Path) -> Library:
    """Return a library that suits this processor and was made of these sources."""
    code = path.read_bytes()
    _check_sound(path.name, code)
    if not is_made_of_these(code):
        raise Refused(f'{path.name} was compiled of other sources than these: build again')
    try:
        found = Library(ctypes.CDLL(str(path)))
    except (OSError, AttributeError, ValueError) as error:
        raise Refused(f'{path.name} is not a library of ik_core ({error})') from None
    if not found.suits():
        raise Refused(f'{path.name} has instructions that this processor lacks')
    return found


def _check_sound(name: str, code: bytes) -> None:
    """Raise Refused unless a file is a complete library of ours: others could crash."""
    is_elf = code.startswith(b'\x7fELF\x02')
    if len(code) < 64 or not (is_elf or code.startswith(MACH_O)):
        raise Refused(f'{name} is not a library')
    (start,), (size, count) = (
        struct.unpack_from('<Q', code, 40),
        struct.unpack_from('<HH', code, 58),
    )
    if is_elf and len(code) < start + size * count:
        raise Refused(f'{name} is truncated')
    if SEAL not in code:
        raise Refused(f'{name} is not a library of ik_core')
    if not is_sealed(code):
        raise Refused(f'{name} is damaged: build again')


def _choose() -> tuple[Library | None, str, str]:
    """Return the library or None, the backend, and the reason for it."""
    if os.environ.get('NUMBA_DISABLE_JIT', '0') not in ('', '0'):
        return None, 'python', 'NUMBA_DISABLE_JIT is set'
    reasons = []
    if os.environ.get('IK_KERNELS') == 'off':
        reasons.append('IK_KERNELS=off')
    else:
        for path in (HERE / name for name in NAMES):
            try:
                if path.is_file():
                    return _load(path), 'library', path.name
            except (Refused, OSError) as error:
                reasons.append(str(error))
        reasons = reasons or [MISSING]
    try:
        import numba  # noqa: F401
    except ImportError as error:
        return None, 'python', f'{"; ".join(reasons)}; no numba ({error})'
    return None, 'numba', '; '.join(reasons)


_LIBRARY, BACKEND, BACKEND_REASON = _choose()
# Whether kernels run as plain Python since there is nothing that compiles them
IS_UNINTENDED = BACKEND == 'python' and os.environ.get('NUMBA_DISABLE_JIT', '0') in ('', '0')


def report() -> str:
    """Return one sentence on how kernels run, why, and what would compile them if nothing does."""
    how = {
        'library': 'kernels were compiled ahead',
        'numba': 'kernels are compiled by numba when they are first called',
        'python': 'kernels run as plain Python, about a hundred times slower',
    }[BACKEND]
    mend = '. To mend it: pip install numba' if IS_UNINTENDED else ''
    return f'{how}: {BACKEND_REASON}{mend}'


if IS_UNINTENDED:
    warnings.warn(report(), RuntimeWarning, stacklevel=2)


KERNELS: dict[Any, Any] = {}  # The kernel of each builtin

# Functions that register the types of kernels with numba, before it compiles the first one
REGISTRATIONS: list[Callable[[], None]] = []


def source_of(kernel: Any) -> Any:
    """Return the Python function of a kernel."""
    return getattr(KERNELS.get(kernel, kernel), 'py_func', kernel)


def lanes() -> int:
    """Return how many lanes the library computes at once."""
    return ctypes.c_int.in_dll(_LIBRARY.code, 'ik_lanes').value if _LIBRARY else 1


def builtin_of(kernel: Any) -> Any:
    """Return the library's builtin for a kernel; None if it was not compiled from this kernel.

    A user's kernel, or one that is newer than the library, may have a symbol of the library, but
    has another path.
    """
    row = None if _LIBRARY is None else _LIBRARY.rows.get(kernel.entry)
    if _LIBRARY is None or row is None or row.path != kernel.path:
        return None
    builtin = _LIBRARY.make(kernel.entry)
    KERNELS[builtin] = kernel
    return builtin
