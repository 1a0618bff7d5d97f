# SPDX-License-Identifier: Apache-2.0
"""The type of lanes for numba: a vector of numbers in a register. Users are `maths.lanes`.

numba computes with a `Lanes` as with a float: the operators below, and the functions that
`maths.lanes` names, become one instruction each over all lanes. An array of lanes is a float
array, seen without its last axis. Raises ImportError where numba is not there or has changed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing import signature
from numba.extending import intrinsic, models, register_model, type_callable

DOUBLE, BIT = ir.DoubleType(), ir.IntType(1)
COMPARED = {
    operator.lt: '<',
    operator.le: '<=',
    operator.gt: '>',
    operator.ge: '>=',
    operator.eq: '==',
    operator.ne: '!=',
}
COMPUTED = {
    'fadd': (operator.add, operator.iadd),
    'fsub': (operator.sub, operator.isub),
    'fmul': (operator.mul, operator.imul),
    'fdiv': (operator.truediv, operator.itruediv),
}
JOINED = {operator.and_: 'and_', operator.or_: 'or_'}


class Lanes(types.Type):
    """A vector of floats, one for each lane."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f'Lanes({count})')

    def can_convert_from(self, typing_context: Any, other: Any) -> Any:
        """Convert a number to lanes: it is copied to every lane."""
        return Conversion.safe if isinstance(other, NUMBERS) else None


class Mask(types.Type):
    """A vector of results of comparisons, one for each lane."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f'Mask({count})')

    def can_convert_from(self, typing_context: Any, other: Any) -> Any:
        """Convert a scalar condition to a mask: it is copied to every lane."""
        return Conversion.safe if isinstance(other, types.Boolean) else None


NUMBERS = (types.Float, types.Integer)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, ir.VectorType(DOUBLE, kind.count))


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Mask) -> None:
        super().__init__(manager, kind, ir.VectorType(BIT, kind.count))


def _count(*kinds: Any) -> int:
    """Return the number of lanes of operands; 0 if none has several, or one is no number."""
    known = all(isinstance(kind, (Lanes, *NUMBERS)) for kind in kinds)
    return max((kind.count for kind in kinds if isinstance(kind, Lanes)), default=0) * known


def _splat(builder: Any, value: Any, count: int) -> Any:
    """Return a value, copied to every lane."""
    vector = ir.VectorType(value.type, count)
    if isinstance(value, ir.Constant):
        return ir.Constant(vector, [value] * count)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), count), [ir.IntType(32)(0)] * count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _number(context: Any, builder: Any, kind: Any, value: Any, count: int) -> Any:
    """Convert an operand to `count` lanes, or to a float if `count` is 0."""
    if isinstance(kind, Lanes):
        return value
    value = context.cast(builder, value, kind, types.float64)
    return _splat(builder, value, count) if count else value


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def _cast(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    return _number(context, builder, source, value, target.count)


def _lanes(*kinds: Any) -> Any:
    """Return the type of an arithmetic result if an operand is lanes, else None."""
    count = _count(*kinds)
    return Lanes(count) if count else None


def _mask(*kinds: Any) -> Any:
    """Return the type of a comparison's result if an operand is lanes, else None."""
    count = _count(*kinds)
    return Mask(count) if count else None


def _either(*kinds: Any) -> Any:
    """Return the type of a function's result, also for numbers, for which numba has none."""
    known = all(isinstance(kind, NUMBERS) for kind in kinds)
    return types.float64 if known else _lanes(*kinds)


@lower_cast(types.Boolean, Mask)
def _cast_answer(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    return _splat(builder, value, target.count)


def _operation(
    function: Any, operands: int, answer: Callable[..., Any], emit: Callable[..., Any]
) -> None:
    """Register with numba a function of one or two numbers or lanes."""

    @type_callable(function)
    def typed(context: Any) -> Any:
        return (lambda a: answer(a)) if operands == 1 else (lambda a, b: answer(a, b))

    def lowered(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        count = _count(*sig.args)
        pairs = zip(sig.args, arguments)  # noqa: B905 (numba 0.55 runs on Python 3.9)
        return emit(builder, *(_number(context, builder, kind, one, count) for kind, one in pairs))

    for kinds in product((Lanes, *NUMBERS), repeat=operands):
        if Lanes in kinds or answer is _either:
            lower_builtin(function, *kinds)(lowered)


def _called(name: str) -> Callable[..., Any]:
    """Return an emitter of a call of LLVM's vector function `name`."""

    def emit(builder: Any, value: Any) -> Any:
        kind = value.type
        suffix = f'v{kind.count}f64' if isinstance(kind, ir.VectorType) else 'f64'
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), f'llvm.{name}.{suffix}'
        )
        return builder.call(function, [value])

    return emit


def _compared(builder: Any, sign: str, a: Any, b: Any) -> Any:
    """Emit an IEEE comparison: with NaN only != is true."""
    compare = builder.fcmp_unordered if sign == '!=' else builder.fcmp_ordered
    return compare(sign, a, b)


def _register_operators() -> None:
    for name, functions in COMPUTED.items():
        for function in functions:
            _operation(
                function, 2, _lanes, lambda builder, a, b, n=name: getattr(builder, n)(a, b)
            )
    for function, sign in COMPARED.items():
        _operation(function, 2, _mask, lambda builder, a, b, s=sign: _compared(builder, s, a, b))
    _operation(operator.neg, 1, _lanes, lambda builder, a: builder.fneg(a))
    _operation(abs, 1, _lanes, _called('fabs'))
    for function, name in JOINED.items():

        @type_callable(function)
        def typed(context: Any) -> Any:
            return lambda a, b: a if isinstance(a, Mask) and a == b else None

        lower_builtin(function, Mask, Mask)(
            lambda context, builder, sig, pair, n=name: getattr(builder, n)(*pair)
        )


def _register_choice(function: Any, sign: str) -> None:
    """Register `least` or `most`, which choose the first of two equal numbers."""

    def choose(builder: Any, a: Any, b: Any) -> Any:
        return builder.select(builder.fcmp_ordered(sign, b, a), b, a)

    _operation(function, 2, _either, choose)


def _register_select(function: Any) -> None:
    @type_callable(function)
    def typed(context: Any) -> Any:
        def typer(condition: Any, a: Any, b: Any) -> Any:
            known = isinstance(condition, (Mask, types.Boolean)) and all(
                isinstance(kind, (Lanes, *NUMBERS)) for kind in (a, b)
            )
            if not known:
                return None
            count = condition.count if isinstance(condition, Mask) else _count(a, b)
            return Lanes(count) if count else types.float64

        return typer

    def lowered(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        count = sig.return_type.count if isinstance(sig.return_type, Lanes) else 0
        a, b = (_number(context, builder, sig.args[i], arguments[i], count) for i in (1, 2))
        return builder.select(arguments[0], a, b)

    for condition in (Mask, types.Boolean):
        lower_builtin(function, condition, types.Any, types.Any)(lowered)


def register(root: Any, floor: Any, least: Any, most: Any, select: Any, bits: Any) -> None:
    """Register with numba the operators and these functions of `maths.lanes`, for lanes."""
    _register_operators()
    _operation(root, 1, _either, _called('sqrt'))
    _operation(floor, 1, _either, _called('floor'))
    _register_choice(least, '<')
    _register_choice(most, '>')
    _register_select(select)

    @type_callable(bits)
    def typed(context: Any) -> Any:
        return lambda mask: types.int64 if isinstance(mask, (Mask, types.Boolean)) else None

    @lower_builtin(bits, Mask)
    @lower_builtin(bits, types.Boolean)
    def lowered(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        value = arguments[0]
        count = getattr(sig.args[0], 'count', 1)
        return builder.zext(builder.bitcast(value, ir.IntType(count)), ir.IntType(64))


def in_lanes(count: int) -> Any:
    """Return an intrinsic that views a float array (..., count) as an array (...) of lanes."""
    dtype = Lanes(count) if count > 1 else types.float64

    @intrinsic
    def lanes_of(typing_context: Any, array: Any) -> Any:
        if not isinstance(array, types.Array) or array.dtype != types.float64:
            return None
        seen = types.Array(dtype, array.ndim - 1, 'C', aligned=False)

        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            given = context.make_array(array)(context, builder, arguments[0])
            shape = cgutils.unpack_tuple(builder, given.shape)[:-1]
            strides = cgutils.unpack_tuple(builder, given.strides)[:-1]
            return _seen(context, builder, seen, given, shape, strides)

        return signature(seen, array), generate

    return lanes_of


def _seen(
    context: Any, builder: Any, kind: Any, given: Any, shape: list[Any], strides: list[Any]
) -> Any:
    """Return an array of another type with the memory of a given one."""
    made = context.make_array(kind)(context, builder)
    whole = context.get_constant(types.intp, 1)
    for length in shape:
        whole = builder.mul(whole, length)
    made.data = builder.bitcast(given.data, made.data.type)
    made.shape = cgutils.pack_array(builder, shape, ty=whole.type)
    made.strides = cgutils.pack_array(builder, strides, ty=whole.type)
    made.itemsize = context.get_constant(types.intp, 8 * getattr(kind.dtype, 'count', 1))
    made.nitems = whole
    made.meminfo, made.parent = given.meminfo, given.parent
    return made._getvalue()


def natural_count() -> int:
    """Return the number of lanes for this processor: one register, or two of 128 bits."""
    return 8 if llvmlite.binding.get_host_cpu_features().get('avx512f') else 4
