"""Many arrays as one: a table of where they are.

Python hands a kernel each array by itself, which takes 50 ns: sixteen take as long as many a
solve. Where the same arrays are handed over again and again, `Addresses` looks them up once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._jit import COMPILED
from .maths.rotations import Array, IntArray

if COMPILED:
    import numba
    from numba.core import cgutils
    from numba.extending import intrinsic


class Addresses:
    """Arrays of floats and of integers, (columns,) or (rows, columns) in C order.

    `table` (arrays, 3): of each its address, rows and columns, for `numbers_at` and `integers_at`.
    What a kernel finds there lives as long as this object, which so has to outlive each call.
    """

    def __init__(self, arrays: Sequence[Array | IntArray]) -> None:
        for array in arrays:
            if array.dtype not in (np.float64, np.int64) or not array.flags.c_contiguous:
                raise TypeError(f'{array.dtype} or its order is not what kernels read')
        self._arrays = tuple(arrays)
        places = [(a.ctypes.data, *np.atleast_2d(a).shape) for a in arrays]
        self.table: IntArray = np.array(places, np.int64).reshape(-1, 3)

    def __reduce__(self) -> tuple[Any, ...]:
        return Addresses, (self._arrays,)  # a copy's arrays are elsewhere


def _in_python(kind: Any) -> Any:
    def array_at(table: IntArray, k: int) -> Any:
        address, rows, columns = table[k].tolist()
        return np.ctypeslib.as_array((kind * (rows * columns)).from_address(address)).reshape(
            rows, columns
        )

    return array_at


def _compiled(dtype: Any) -> Any:
    kind = numba.types.Array(dtype, 2, 'C')

    @intrinsic
    def array_at(typing_context: Any, table: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            given = context.make_array(table)(context, builder, arguments[0])
            three, size = (context.get_constant(numba.intp, n) for n in (3, 8))
            first = builder.gep(given.data, [builder.mul(arguments[1], three)])
            place = [builder.gep(first, [context.get_constant(numba.intp, i)]) for i in range(3)]
            address, rows, columns = (builder.load(pointer) for pointer in place)
            made = context.make_array(kind)(context, builder)
            made.data = builder.inttoptr(address, made.data.type)
            made.shape = cgutils.pack_array(builder, [rows, columns])
            made.strides = cgutils.pack_array(builder, [builder.mul(columns, size), size])
            made.itemsize, made.nitems = size, builder.mul(rows, columns)
            made.meminfo = cgutils.get_null_value(made.meminfo.type)
            made.parent = cgutils.get_null_value(made.parent.type)
            return made._getvalue()

        return kind(table, numba.intp), generate

    return array_at


numbers_at = _compiled(numba.float64) if COMPILED else _in_python(ctypes.c_double)
"""The k-th array of a table (rows, columns), of floats; one of one dimension is its first row."""
integers_at = _compiled(numba.int64) if COMPILED else _in_python(ctypes.c_int64)
"""As `numbers_at`, of integers."""
