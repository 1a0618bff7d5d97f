"""What numba keeps of a kernel, so that it compiles in half the time and loads in a third of it.

numba links all that a kernel calls into it, optimises the whole and makes machine code of it, for
each kernel of a chain of calls anew. Those that only other kernels call, `@inner` and `@inlined`,
are their parts here: kept as they were lowered, and optimised once, where they end up, in a kernel
that Python calls. The results are the same.

Of one that Python calls, an entry, the cache has machine code, and the code of LLVM that it was
made of, which others may link. numba reads both; here the latter waits until somebody does.

With a numba that is newer than those known (0.56 to 0.68), or built otherwise, all is as numba
does it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numba
from llvmlite import binding
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
    'enable_object_caching',
    '_set_compiled_object',
    '_get_module_for_linking',
    '_unserialize',
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


class _Entry(_Library):
    """Code that Python calls: machine code, and what others may link as long as nobody does."""

    _unread: bytes | None = None

    def serialize_using_object_code(self) -> tuple[Any, ...]:
        """What the cache keeps: as numba does, and the names that are defined."""
        name, kind, kept = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        defined = [
            each.name
            for group in (module.functions, module.global_variables)
            for each in group
            if not each.is_declaration
        ]
        return name, kind, (*kept, defined)

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[Any, ...]) -> Any:
        """The code of what the cache kept."""
        name, _, (machine_code, code, defined) = state
        library = codegen.create_library(name)
        library.enable_object_caching()
        library._set_compiled_object(machine_code)
        library._unread = code
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(defined)
        return library

    def _get_module_for_linking(self) -> Any:
        """The code that another library links."""
        if self._unread is not None:
            self._shared_module = binding.parse_bitcode(self._unread)
            self._unread = None
        return super()._get_module_for_linking()


class _Compiler(compiler.Compiler):
    """Compiles to a library of a class of ours."""

    library: Any

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        library.enable_object_caching()  # as numba does, for its cache
        self.state.library = library
        return super().compile_extra(func)


class _PartCompiler(_Compiler):
    library = _Part


class _EntryCompiler(_Compiler):
    library = _Entry


def is_known(version: tuple[int | None, ...]) -> bool:
    """Whether libraries of a numba (major, minor) are; None stands for what is no number."""
    numbers = tuple(number for number in version if number is not None)
    return len(numbers) == len(version) and FIRST <= numbers < BEHIND


KNOWN = is_known(numba.version_info.short) and all(hasattr(_Library, name) for name in _REPLACED)
"""Whether this numba can have parts and entries."""
PART_OPTIONS, ENTRY_OPTIONS = {'pipeline_class': _PartCompiler}, {'pipeline_class': _EntryCompiler}


def options(is_part: bool) -> dict[str, Any]:
    """Of `numba.njit`, for a part or an entry."""
    return (PART_OPTIONS if is_part else ENTRY_OPTIONS) if KNOWN else {}


def loads(kernel: Any, load: Callable[..., Any]) -> Callable[..., Any]:
    """As `load`, which takes a kernel of ours from numba's cache."""
    if not KNOWN:
        return load
    library = _Part if 'no_cpython_wrapper' in kernel.targetoptions else _Entry

    def load_library(signature: Any, target_context: Any) -> Any:
        maker = target_context.codegen()
        maker._library_class = library
        try:
            return load(signature, target_context)
        finally:
            del maker._library_class  # which hid that of all others, in its class

    return load_library


def take_no_literals(kernel: Any) -> None:
    """Compile a kernel once for a kind of arguments, not once more for each constant."""
    template = kernel.get_call_template

    def template_of_kinds(arguments: Any, keywords: Any) -> Any:
        kinds = {name: types.unliteral(kind) for name, kind in keywords.items()}
        return template(tuple(map(types.unliteral, arguments)), kinds)

    kernel.get_call_template = template_of_kinds
