# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels by numba: all of them for the library; users' own, and ours without a library,
when called.

numba keeps what it compiled in `~/.cache/ik_core`, in a folder that only its owner can write to,
one for each state of this package's sources. A kernel of a user's is found there by a hash of its
file and of those of the kernels that it calls.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numba
from llvmlite import ir
from numba.core import codegen, compiler, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic, typeof_impl

from . import library
from .cache_folder import cache_folder
from .sources import sources, stamp

OPTIONS: dict[str, Any] = {
    'nogil': True,
    'error_model': 'numpy',
    'no_cfunc_wrapper': True,
    # No reference counts: kernels make no arrays and keep none, and their callers hold those that
    # they are given. As soon as a kernel hands its arrays on to another, counting costs more than
    # the arithmetic.
    '_nrt': False,
}
REPORTED_AFTER = 5.0  # [s] A compilation that takes longer is reported
FOLDERS = 3  # States of the sources whose folders are kept


class Part(codegen.JITCodeLibrary):
    """A kernel for kernels only: numba optimises and compiles its code as part of each caller."""

    codegen = SimpleNamespace(set_env=lambda name, env: None)
    """numba notes a function's environment beside its machine code: here there is none."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: parts have no machine code."""
        return 0


class PartCompiler(compiler.Compiler):
    """Compiles a kernel for callers that are kernels, in half the time of all as entries."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        self.state.library = Part(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()  # as numba does
        return super().compile_extra(function)


PART = {'no_cpython_wrapper': True, 'pipeline_class': PartCompiler}


def part(kernel: Any) -> Any:
    """Return numba's dispatcher of a kernel that kernels call."""
    _register()
    made = numba.njit(**OPTIONS, **PART, forceinline=kernel.is_inlined)(kernel.py_func)
    _ignore_literals(made)
    return made


def entry(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    """Return numba's dispatcher of a kernel that Python calls, compiled for these arguments and
    cached.

    numba keeps what it compiled.
    """
    _register()
    source, cache = kernel.py_func, folder()
    copy = FunctionType(source.__code__, source.__globals__, source.__name__, source.__defaults__)
    copy.__module__, copy.__qualname__ = source.__module__, source.__qualname__
    digest = hashlib.sha256()
    for file in sorted(_files(source, set())):
        digest.update(file.encode() + b'\0' + Path(file).read_bytes())
    copy.__qualname__ += f'_{digest.hexdigest()[:12]}'  # numba's cache tells them apart by it
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = cache or ''
    try:
        made = numba.njit(cache=cache is not None, **OPTIONS)(copy)
    except RuntimeError:  # numba can't cache what has no file
        made = numba.njit(**OPTIONS)(source)
    finally:
        numba.config.CACHE_DIR = before
    _ignore_literals(made)
    with reported(source.__name__):
        made.compile(tuple(map(numba.typeof, arguments)))
    return made


@contextlib.contextmanager
def reported(name: str) -> Iterator[None]:
    """Report a compilation that takes long, if there is a terminal."""
    text = f'ik: numba compiles {name}, once: a loop of a solver takes one or two minutes'
    timer = threading.Timer(REPORTED_AFTER, print, (text,), {'file': sys.stderr})
    if sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@cache
def _register() -> None:
    for register in library.REGISTRATIONS:
        register()


def type_of(made: Any) -> Any:
    """Return numba's type of a dispatcher or an intrinsic."""
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(made)


@typeof_impl.register(type(len))
def _type_of_builtin(value: Any, _: Any) -> Any:
    kernel = library.KERNELS.get(value)
    return None if kernel is None else kernel._numba_type_


@intrinsic
def call_back(typing_context: Any, address: Any) -> Any:
    """Call the function of a `Callback`; return 1 if it raised, else 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])

    return numba.int64(numba.int64), generate


def _ignore_literals(made: Any) -> None:
    """Compile a kernel once for a type of arguments, not again for each constant."""
    template = made.get_call_template

    def template_of_kinds(arguments: Any, keywords: Any) -> Any:
        kinds = {name: types.unliteral(kind) for name, kind in keywords.items()}
        return template(tuple(map(types.unliteral, arguments)), kinds)

    made.get_call_template = template_of_kinds


# --- the cache -----------------------------------------------------------------------------------


@cache
def folder() -> str | None:
    """Return the folder of numba's cache; None if no safe one is possible."""
    own = cache_folder(f'numba-{stamp(sources())}')
    if own is None:
        return None
    try:
        os.utime(own)
        others = sorted(own.parent.glob('numba-*'), key=lambda path: path.stat().st_mtime)
        for old in others[:-FOLDERS]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        return None
    return str(own)


def _files(source: FunctionType, seen: set[Any]) -> Iterator[str]:
    """Yield the files of a kernel and of those that it calls, except this package's."""
    if source in seen:
        return
    seen.add(source)
    path = Path(source.__code__.co_filename)
    if not source.__module__.startswith('ik_core.') and path.is_file():
        yield str(path)
    names = source.__code__.co_names
    for value in (source.__globals__.get(name) for name in names):
        for one in (value, *_members(value, names)):
            with contextlib.suppress(TypeError):
                below = library.source_of(one)
                if isinstance(below, FunctionType):
                    yield from _files(below, seen)


def _members(value: Any, names: tuple[str, ...]) -> list[Any]:
    """Return the names in a module that a kernel may use."""
    return [vars(value).get(name) for name in names] if isinstance(value, ModuleType) else []
