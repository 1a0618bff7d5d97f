"""How kernels that only other kernels call, `@inner` and `@inlined`, are compiled: as their parts.

numba links all that a kernel calls into it, optimises the whole and makes machine code of it, for
each kernel of a chain of calls anew. A part is kept as it was lowered, and optimised once, where
it ends up: in a kernel that Python calls. All solvers then compile in half the time, to the same
results.

With a numba that is newer than those known (0.56 to 0.68), or built otherwise, there are no parts.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numba
from numba.core import codegen, compiler, types

FIRST, BEHIND = (0, 56), (0, 69)
"""The versions of numba whose libraries are known: from the first on, before the other."""

_Library: Any = getattr(codegen, 'JITCodeLibrary', object)
_REPLACED = (
    '_optimize_final_module',
    '_finalize_final_module',
    '_finalize_dynamic_globals',
    'get_pointer_to_function',
    'serialize_using_object_code',
    'serialize_using_bitcode',
)


class _Part(_Library):
    """Code that waits for its callers: not optimised, and no machine code is made of it."""

    codegen = SimpleNamespace(set_env=lambda name, env: None)
    """numba notes a function's environment beside its machine code: here there is none."""

    def _optimize_final_module(self) -> None:
        """Nothing: its callers do."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Nothing can be called."""
        return 0

    def serialize_using_object_code(self) -> tuple[Any, ...]:
        """What the cache keeps."""
        kept: tuple[Any, ...] = self.serialize_using_bitcode()
        return kept


class _Compiler(compiler.Compiler):
    """Compiles a part."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


def is_known(version: tuple[int | None, ...]) -> bool:
    """Whether libraries of a numba (major, minor) are; None stands for what is no number."""
    numbers = tuple(number for number in version if number is not None)
    return len(numbers) == len(version) and FIRST <= numbers < BEHIND


KNOWN = is_known(numba.version_info.short) and all(hasattr(_Library, name) for name in _REPLACED)
"""Whether this numba can have parts."""
OPTIONS: dict[str, Any] = {'pipeline_class': _Compiler} if KNOWN else {}
"""Of `numba.njit`, for a part."""


def is_part(kernel: Any) -> bool:
    """Whether a compiled function is one."""
    return KNOWN and 'no_cpython_wrapper' in kernel.targetoptions


def loads_parts(load: Callable[..., Any]) -> Callable[..., Any]:
    """As `load`, which takes something from numba's cache, where that is a part."""

    def load_part(signature: Any, target_context: Any) -> Any:
        maker = target_context.codegen()
        maker._library_class = _Part
        try:
            return load(signature, target_context)
        finally:
            del maker._library_class  # which hid that of all others, in its class

    return load_part


def take_no_literals(kernel: Any) -> None:
    """Compile a kernel once for a kind of arguments, not once more for each constant."""
    template = kernel.get_call_template

    def template_of_kinds(arguments: Any, keywords: Any) -> Any:
        kinds = {name: types.unliteral(kind) for name, kind in keywords.items()}
        return template(tuple(map(types.unliteral, arguments)), kinds)

    kernel.get_call_template = template_of_kinds
