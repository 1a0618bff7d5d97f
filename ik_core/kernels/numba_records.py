# SPDX-License-Identifier: Apache-2.0
"""numba types of the records in `records`: kernels read and write their fields by address."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, models, register_model

INT, RECORD = 'int', 'record'  # Kinds of fields, as in `_records`
BYTE, WORD = ir.IntType(8), ir.IntType(64)


class RecordType(types.Type):
    """A record at an address; `fields` as `fields_of` has them."""

    def __init__(self, name: str, fields: tuple[Any, ...]) -> None:
        self.fields = {field[0]: field[1:] for field in fields}
        super().__init__(name=f'Record({name})')

    def type_of(self, name: str) -> Any:
        """numba's type of a field."""
        if name not in self.fields:
            return None
        _, kind, shape, inside = self.fields[name]
        if kind == RECORD:
            return RecordType(f'{inside}, 1 vector', shape)
        number = _number_type(*kind)
        return types.Array(number, len(shape), 'C', aligned=kind[1] == 0) if shape else number


def _number_type(kind: str, lanes: int) -> Any:
    if lanes:
        from .numba_lanes import Lanes

        return Lanes(lanes)
    return types.int64 if kind == INT else types.float64


@register_model(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: RecordType) -> None:
        super().__init__(manager, kind, BYTE.as_pointer())


@infer_getattr
class _Attributes(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> Any:
        return record.type_of(name)


def _at(builder: Any, record: Any, offset: int, kind: Any) -> Any:
    """Return a pointer of a type to an offset in a record."""
    return builder.bitcast(builder.gep(record, [WORD(offset)]), kind.as_pointer())


@lower_getattr_generic(RecordType)
def _get(context: Any, builder: Any, kind: RecordType, record: Any, name: str) -> Any:
    offset, field, shape, inside = kind.fields[name]
    if field == RECORD:
        return builder.inttoptr(
            builder.load(_at(builder, record, offset, WORD)), BYTE.as_pointer()
        )
    found = kind.type_of(name)
    if not shape:
        pointer = _at(builder, record, offset, context.get_value_type(found))
        return builder.load(pointer, align=8)
    made = context.make_array(found)(context, builder)
    sizes = [
        WORD(size)
        if isinstance(size, int)
        else builder.load(_at(builder, record, int(size), WORD))
        for size in shape
    ]
    item = 8 * max(field[1], 1)
    strides: list[Any] = []
    count = WORD(item)
    for size in reversed(sizes):
        strides.insert(0, count)
        count = builder.mul(count, size)
    if inside:
        first = _at(builder, record, offset, BYTE)
    else:
        address = builder.load(_at(builder, record, offset, WORD))
        first = builder.inttoptr(address, BYTE.as_pointer())
    made.data = builder.bitcast(first, made.data.type)
    made.shape = cgutils.pack_array(builder, sizes, ty=WORD)
    made.strides = cgutils.pack_array(builder, strides, ty=WORD)
    made.itemsize = WORD(item)
    made.nitems = builder.udiv(count, WORD(item))
    made.meminfo = cgutils.get_null_value(made.meminfo.type)
    made.parent = cgutils.get_null_value(made.parent.type)
    return made._getvalue()


@lower_setattr_generic(RecordType)
def _set(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    kind = signature.args[0]
    offset = kind.fields[name][0]
    found = context.get_value_type(kind.type_of(name))
    builder.store(arguments[1], _at(builder, arguments[0], offset, found), align=8)


def view(name: str, fields: tuple[Any, ...]) -> Any:
    """Return numba's intrinsic for the record at an address; fields as `fields_of` has them."""
    record = RecordType(name, fields)

    @intrinsic
    def record_at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], BYTE.as_pointer())

        return record(types.int64), generate

    return record_at


def _as_vectors8() -> Any:
    from .numba_lanes import Lanes

    kind = types.Array(Lanes(8), 1, 'C', aligned=False)

    @intrinsic
    def view(typing_context: Any, array: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            given = context.make_array(array)(context, builder, arguments[0])
            made = context.make_array(kind)(context, builder)
            numbers = getattr(array.dtype, 'count', 1)
            count = builder.mul(given.nitems, WORD(numbers))
            count = builder.lshr(builder.add(count, WORD(7)), WORD(3))
            made.data = builder.bitcast(given.data, made.data.type)
            made.shape = cgutils.pack_array(builder, [count], ty=WORD)
            made.strides = cgutils.pack_array(builder, [WORD(64)], ty=WORD)
            made.itemsize, made.nitems = WORD(64), count
            made.meminfo, made.parent = given.meminfo, given.parent
            return made._getvalue()

        return kind(array), generate

    return view


try:
    as_vectors8 = _as_vectors8()
except (ImportError, AttributeError):  # then there are no lanes
    as_vectors8 = intrinsic(
        lambda typing_context, array: (array(array), lambda c, b, s, arguments: arguments[0])
    )
