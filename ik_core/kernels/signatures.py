# SPDX-License-Identifier: Apache-2.0
"""The signature of an entry, a kernel that Python calls: the annotations where it stands.

    @kernel(entry='ik_are_within')
    def are_within(errors: Array2, position_tolerance: float, rotation_tolerance: float) -> bool:

An entry is a function of the compiled library, `int ik_are_within(int64_t *table)`. The table has
the arguments in order, then room for the results, eight bytes each: an integer, a bool, the bits
of a double; the address of an array, then its lengths; the members of a tuple. The function
returns 0 when it is done.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from . import jit
from .sources import CORE, sources

Array1 = Annotated[NDArray[np.float64], 1]
Array2 = Annotated[NDArray[np.float64], 2]
Array3 = Annotated[NDArray[np.float64], 3]
Array4 = Annotated[NDArray[np.float64], 4]
IntArray1 = Annotated[NDArray[np.int64], 1]
IntArray2 = Annotated[NDArray[np.int64], 2]
# Arrays of an entry with their number of dimensions, in C order
BoolArray1 = Annotated[NDArray[np.bool_], 1]

NUMBERS: dict[Any, str] = {int: 'i', float: 'd', bool: 'b'}
# Letters of types, as call.c reads them
ARRAYS: dict[Any, str] = {
    NDArray[np.int64]: 'I', NDArray[np.float64]: 'D', NDArray[np.bool_]: 'B'
}  # fmt: skip


def entries() -> list[jit.Entry]:
    """Return all entries, sorted by their symbols: import every module of this package.

    A module without kernels may need a package that is not installed. Raises ImportError if
    another one can't be imported, TypeError if two entries have the same symbol.
    """
    needed = sources()
    for path in sorted(CORE.rglob('*.py')):
        file = path.relative_to(CORE).as_posix()
        name = '.'.join(path.relative_to(CORE.parent).with_suffix('').parts)
        if path.stem != '__main__':
            with nullcontext() if file in needed else suppress(ImportError):
                import_module(name.removesuffix('.__init__'))
    for make in jit.ENTRY_MAKERS:
        make()
    found: dict[str, jit.Entry] = {}
    for entry in jit.ENTRIES:
        other = found.setdefault(entry.symbol, entry)
        if other is not entry:
            names = ' and '.join(jit.name_of(each.kernel) for each in (other, entry))
            raise TypeError(f'{names} are both {entry.symbol}')
    return [found[symbol] for symbol in sorted(found)]


def signature_of(kernel: Any) -> tuple[dict[str, Any], Any]:
    """Return the types of an entry's arguments by their names, and of its result.

    Raises TypeError for an argument or a result without a type.
    """
    source = jit.source_of(kernel)
    hints = get_type_hints(source, include_extras=True)
    names = source.__code__.co_varnames[: source.__code__.co_argcount]
    missing = [name for name in (*names, 'return') if name not in hints]
    if missing:
        raise TypeError(f'{jit.name_of(kernel)}, an entry, has no type of {", ".join(missing)}')
    return {name: hints[name] for name in names}, hints['return']


def members_of(kind: Any) -> list[Any] | None:
    """Return the types of a tuple's members; None for another type."""
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, '_fields'):
        hints = get_type_hints(kind, include_extras=True)
        return [hints[name] for name in kind._fields]
    return [*get_args(kind)] if get_origin(kind) is tuple else None


def array_of(kind: Any) -> tuple[str, int] | None:
    """Return the letter and the number of dimensions of an array; None for another type."""
    if get_origin(kind) is not Annotated:
        return None
    return ARRAYS[kind.__origin__], kind.__metadata__[0]


def letters_of(kind: Any) -> str:
    """Return the letters of a type; raises TypeError for a type that no entry may have."""
    members, array = members_of(kind), array_of(kind)
    if members is not None:
        return f'({"".join(map(letters_of, members))})'
    if array is not None:
        return f'{array[0]}{array[1]}'
    if kind is type(None):
        return ''
    if kind not in NUMBERS:
        raise TypeError(
            f'{kind} can not be passed to an entry: int, float, bool, tuples, and arrays with '
            'their number of dimensions, such as Array2, can'
        )
    return NUMBERS[kind]


def letters(kernel: Any) -> tuple[str, str]:
    """Return the letters of an entry's arguments, and those of its results."""
    arguments, result = signature_of(kernel)
    try:
        results = letters_of(result).strip('()')
        return ''.join(map(letters_of, arguments.values())), results
    except TypeError as error:
        raise TypeError(f'{jit.name_of(kernel)}: {error}') from None
