# SPDX-License-Identifier: Apache-2.0
"""Records: blocks of memory with named fields, passed to kernels by their address.

A `Layout` is a list of fields, written once. Numpy's views, the two views of kernels and those of
plain Python without numba come from it. A field is (kind, *shape); a shape names sizes, which are
numbers of the record, or has constants:

    LANES = Layout('lanes', ('joints',), here=(INT,), nu=(LANE,), x=(LANE, 2, 'joints'))
    record = LANES.make({'joints': 7}, width=8)

A field of kind LANE has a value for each of the `width` lanes; its arrays are aligned and padded
to whole registers. Kernels have two views of the same memory: in `LANES.vector_view(8)` x[0, j] is
eight numbers in a register, in `LANES.scalar_view(8)` x[0, j, w] is the number of lane w. With one
lane the former are floats.

Numbers, and arrays of constant shape, are in the record itself. It has the addresses of the other
arrays, which may be anywhere and have exactly the length that they need. Passing a record costs
one integer; a tuple of the same arrays takes 1.6 to 2 times as long, unless inlined.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import COMPILED, NumbaProxy

INT, FLOAT, LANE, RECORD = 'int', 'float', 'lane', 'record'
WIDTH = 'width'  # Stands for the number of lanes in a shape
LINE = 64  # [bytes] A line of the cache, and the largest register

Field = tuple[Any, ...]


class Plan(NamedTuple):
    """The memory layout of records with the same sizes.

    spans : offset [bytes] and shape of each field; length : of a record with its arrays [bytes];
    words : of a new record; addresses : indices of the words that are offsets, and become
    addresses
    """

    spans: dict[str, tuple[int, tuple[int, ...]]]
    length: int
    words: NDArray[np.int64]
    addresses: NDArray[np.int64]


class Layout:
    """Names, kinds and shapes of the fields of a record."""

    def __init__(self, name: str, sizes: tuple[str, ...], **fields: Field) -> None:
        self.name, self.sizes = name, sizes
        self.fields: dict[str, Field] = dict.fromkeys(sizes, (INT,)) | fields
        self.inside = {name for name, field in self.fields.items() if is_inside([*field[1:]])}
        self._views: dict[tuple[bool, int], Any] = {}
        self._offsets: dict[int, tuple[dict[str, int], int]] = {}
        self._plans: dict[tuple[Any, ...], Plan] = {}

    def extended(self, name: str, **fields: Field) -> Layout:
        """Return a layout with further fields after these, none of lanes.

        Views of this layout also suit its records, so a kernel can serve all that extend it.
        """
        own = {field: kind for field, kind in self.fields.items() if field not in self.sizes}
        return Layout(name, self.sizes, **own, **fields)

    def offsets(self, width: int) -> tuple[dict[str, int], int]:
        """Return the offset [bytes] of each field, or of its address, and the record's length."""
        if width not in self._offsets:
            self._offsets[width] = self._find_offsets(width)
        return self._offsets[width]

    def _find_offsets(self, width: int) -> tuple[dict[str, int], int]:
        offsets: dict[str, int] = {}
        offset = 0
        # those of lanes first: their registers are aligned
        for name in sorted(self.fields, key=lambda name: self.fields[name][0] != LANE):
            kind, *shape = self.fields[name]
            if kind == LANE:
                shape = [*shape, WIDTH]
            count = math.prod(_shape(shape, {WIDTH: width})) if name in self.inside else 1
            offsets[name] = offset
            offset += 8 * count
        return offsets, offset

    def plan(self, width: int, sizes: dict[str, int], given: frozenset[str]) -> Plan:
        """Return the offsets of a record of these sizes, without the arrays that are given."""
        key = width, given, *sizes.items()
        if key not in self._plans:
            self._plans[key] = self._make_plan(width, sizes, given)
        return self._plans[key]

    def _make_plan(self, width: int, sizes: dict[str, int], given: frozenset[str]) -> Plan:
        sizes = {**sizes, WIDTH: width}
        offsets, length = self.offsets(width)
        words, spans, end = np.zeros(length // 8, np.int64), {}, _padded(length)
        outside = []
        for name, (kind, *shape) in self.fields.items():
            if kind == RECORD:
                continue
            whole = _shape([*shape, WIDTH] if kind == LANE else shape, sizes)
            if name in self.inside or name in given:
                spans[name] = offsets[name], whole
                continue
            end = _padded(end) if kind == LANE else end
            spans[name] = end, whole
            words[offsets[name] // 8] = end
            outside.append(offsets[name] // 8)
            end += 8 * math.prod(whole)
            end = _padded(end) if kind == LANE else end
        for size in self.sizes:
            words[offsets[size] // 8] = sizes[size]
        return Plan(spans, end, words, np.array(outside, np.int64))

    def make(
        self,
        sizes: dict[str, int],
        width: int = 1,
        arrays: dict[str, NDArray[Any]] | None = None,
    ) -> Record:
        """Return a record of zeros for this number of lanes; arrays that are given (C order) are
        not copied."""
        return Record(self, width, sizes, arrays or {})

    def vector_view(self, width: int = 1) -> Any:
        """Return the view of a record at an address for kernels: its lanes side by side."""
        return self._view(True, width)

    def scalar_view(self, width: int = 1) -> Any:
        """Return the view of a record at an address for kernels: a number for each lane."""
        return self._view(False, width)

    def _view(self, is_vector: bool, width: int) -> Any:
        key = is_vector, width
        if key not in self._views:
            make = View if COMPILED else _plain_view
            self._views[key] = make(self, is_vector, width)
        return self._views[key]


def is_inside(shape: list[Any]) -> bool:
    """Return whether a field is in the record itself."""
    return all(size == WIDTH or isinstance(size, int) for size in shape)


def _shape(shape: list[Any], sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else sizes[size] for size in shape)


class Record:
    """A record, as Python sees it: `record['x']` is an array, with the lanes as its last axis."""

    def __init__(
        self, layout: Layout, width: int, sizes: dict[str, int], given: dict[str, NDArray[Any]]
    ) -> None:
        self.layout, self.width = layout, width
        self._arrays: dict[str, NDArray[Any]] = {}
        self._kept: dict[str, Record] = {}
        plan = layout.plan(width, sizes, frozenset(given))
        self._spans = plan.spans
        block = np.zeros(plan.length + LINE, np.uint8)
        first = -block.ctypes.data % LINE
        self._block = block = block[first : first + plan.length]
        self.address: int = block.ctypes.data
        self._words = block[: 8 * len(plan.words)].view(np.int64)
        self._words[:] = plan.words
        self._words[plan.addresses] += self.address
        for name, array in given.items():
            self.point(name, array, plan.spans[name][1])
        _RECORDS[self.address] = self

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:  # of dozens, Python reads a few
            offset, shape = self._spans[name]
            dtype = np.int64 if self.layout.fields[name][0] == INT else np.float64
            part = self._block[offset : offset + 8 * math.prod(shape)]
            self._arrays[name] = part.view(dtype).reshape(shape)
        return self._arrays[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Fill a field, or point it at another record."""
        if isinstance(value, Record):
            self._words[self.layout.offsets(self.width)[0][name] // 8] = value.address
            self._kept[name] = value
        else:
            self[name][...] = value

    def words(self, first: str, last: str) -> NDArray[np.int64]:
        """A view of the words in the record from field `first` to field `last`."""
        offsets, _ = self.layout.offsets(self.width)
        return self._words[offsets[first] // 8 : offsets[last] // 8 + 1]

    def point(self, name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
        """Use an array, in C order, as a field of this shape, without a copy."""
        dtype = np.int64 if self.layout.fields[name][0] == INT else np.float64
        if array.dtype != dtype or not array.flags.c_contiguous:
            raise TypeError(f'{name}: {array.dtype} or its order is not what kernels read')
        self._arrays[name] = array.reshape(shape)
        self._words[self.layout.offsets(self.width)[0][name] // 8] = array.ctypes.data

    def copy(self) -> Record:
        """Another record with the same numbers, of one without given arrays and parts."""
        sizes = {size: self[size].item() for size in self.layout.sizes}
        other = Record(self.layout, self.width, sizes, {})
        for name, (kind, *_) in self.layout.fields.items():
            if kind != RECORD:
                other[name] = self[name]
        return other

    def part(self, name: str) -> Record:
        """The record that a field points at."""
        return self._kept[name]

    def __reduce__(self) -> str:
        raise TypeError('a record has addresses: it can be neither copied nor pickled')


def _padded(size: int) -> int:
    return -(-size // LINE) * LINE


# Records by address, for plain Python
_RECORDS: weakref.WeakValueDictionary[int, Record] = weakref.WeakValueDictionary()


# --- without numba -------------------------------------------------------------------------------


class _Plain:
    """The fields of a record as attributes, for kernels that run as plain Python."""

    def __init__(self, record: Record, is_vector: bool) -> None:
        own = self.__dict__
        own['_record'] = record
        for name, (kind, *shape) in record.layout.fields.items():
            if kind == RECORD:
                own[name] = _Plain(record.part(name), True)
            elif kind == LANE and is_vector:
                if shape:
                    own[name] = _side_by_side(record[name])
            elif shape or kind == LANE:
                own[name] = record[name]

    def __getattr__(self, name: str) -> Any:
        """A number, or one for each lane."""
        value = self._record[name]
        return value.item() if value.size == 1 else value.copy()

    def __setattr__(self, name: str, value: Any) -> None:
        self._record[name] = value


def _side_by_side(array: NDArray[Any]) -> Any:
    """View an array (..., width) as an array (...) of lanes, or of numbers for one lane."""
    return array[..., 0] if array.shape[-1] == 1 else Rows(array)


class Rows:
    """A float array (..., L) as an array (...) of lanes, in plain Python."""

    def __init__(self, array: NDArray[np.float64]) -> None:
        self.array, self.shape = array, array.shape[:-1]

    def __getitem__(self, index: Any) -> Any:
        found = self.array[index]
        return found.copy() if found.ndim == 1 else Rows(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = value

    def reshape(self, *shape: int) -> Rows:
        """View lanes in another shape."""
        return Rows(self.array.reshape(*shape, self.array.shape[-1]))


def _plain_view(layout: Layout, is_vector: bool, width: int) -> Any:
    def view(address: int) -> Any:
        return _Plain(_RECORDS[address], is_vector)

    return view


class View(NumbaProxy):
    """The record at an address, for compiled kernels."""

    def __init__(self, layout: Layout, is_vector: bool, width: int) -> None:
        self.path = f'{layout.name}, {width} {"vector" if is_vector else "scalar"}'
        self.fields = tuple(fields_of(layout, is_vector, width))

    def for_numba(self) -> Any:
        """Return numba's intrinsic."""
        if self._made is None:
            from . import numba_records

            self._made = numba_records.view(self.path, self.fields)
        return self._made


class _Eights(NumbaProxy):
    def for_numba(self) -> Any:
        """Return numba's intrinsic."""
        from . import numba_records

        return numba_records.as_vectors8


def _as_it_is(array: Any) -> Any:
    return array


# All numbers of an array of lanes, eight in a register, whatever the number of lanes; in plain
# Python the array itself.
as_vectors8: Any = _Eights() if COMPILED else _as_it_is


def fields_of(layout: Layout, is_vector: bool, width: int) -> Iterator[tuple[Any, ...]]:
    """Yield the name, offset, kind and shape of each field, and whether it is in the record
    itself.

    Sizes in a shape are given by their offsets.
    """
    offsets, _ = layout.offsets(width)
    for name, (kind, *shape) in layout.fields.items():
        if kind == RECORD:
            part = shape[0]
            yield name, offsets[name], RECORD, tuple(fields_of(part, True, 1)), part.name
            continue
        inside = name in layout.inside
        sizes = [
            width if size == WIDTH else size if isinstance(size, int) else str(offsets[size])
            for size in shape
        ]
        lanes = 0
        if kind == LANE:
            lanes = width if is_vector and width > 1 else 0
            if not is_vector:
                sizes.append(width)
        yield name, offsets[name], (INT if kind == INT else FLOAT, lanes), tuple(sizes), inside
