# SPDX-License-Identifier: Apache-2.0
"""`kernel`: kernels run from the compiled library, by numba, or as plain Python.

A kernel that Python calls is an entry, `@kernel(entry='ik_are_within')`: a builtin of the library
that was compiled when this package was built. numba compiles all others, and what they call, when
they are first called: those of users' own solvers and tasks, and ours if there is no library. It
is imported only then. Without either, kernels run as they are written.

`with_kernels` and `substitute` make several kernels of one source; a `Callback` lets them call
Python.
"""

from __future__ import annotations

import ctypes
import hashlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, overload

from . import library
from .library import source_of

F = TypeVar('F', bound=Callable[..., Any])

COMPILED: bool = library.BACKEND != 'python'  # Whether kernels are compiled in this process


class NumbaProxy:
    """A function that numba replaces by `for_numba` in the kernels that it compiles."""

    _made: Any = None

    def for_numba(self) -> Any:
        """Return numba's dispatcher or intrinsic."""
        raise NotImplementedError

    @property
    def _numba_type_(self) -> Any:
        """numba asks a global name of a kernel for this."""
        from . import numba_backend

        return numba_backend.type_of(self.for_numba())


class Kernel(NumbaProxy):
    """A function that numba compiles when Python calls it, and as a part of kernels that call it.

    py_func : its source
    is_inlined : whether it is compiled into all its callers; else LLVM decides
    entry : its symbol in the compiled library; empty: it is none of its entries
    parts : of a copy, by their names in it: the kernels that it was given, and its template
    """

    def __init__(
        self,
        function: Callable[..., Any],
        is_inlined: bool = False,
        entry: str = '',
        parts: Mapping[str, Any] | None = None,
    ) -> None:
        self.py_func, self.is_inlined = function, is_inlined
        self.entry, self.parts = entry, parts or {}
        self._call: Any = None
        self.__module__, self.__doc__ = function.__module__, function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        if self._call is None:
            self._call = library.builtin_of(self) or self._compiled(arguments)
        return self._call(*arguments)

    def _compiled(self, arguments: tuple[Any, ...]) -> Any:
        try:
            from . import numba_backend
        except ImportError as error:
            raise ImportError(
                f'{self.__name__} is not in the compiled library and needs numba ({error}): '
                'pip install numba; or NUMBA_DISABLE_JIT=1 runs all kernels as plain Python'
            ) from None
        return numba_backend.entry(self, arguments)

    @cached_property
    def path(self) -> str:
        """Module and name, and for a copy a hash of its parts: other copies may have its name."""
        own = f'{self.__module__}:{self.__qualname__}'
        if not self.parts:
            return own
        parts = ' '.join(f'{name}={path_of(part)}' for name, part in sorted(self.parts.items()))
        return f'{own}:{hashlib.sha256(parts.encode()).hexdigest()[:16]}'

    def for_numba(self) -> Any:
        """Return numba's dispatcher for callers that are kernels."""
        if self._made is None:
            from . import numba_backend

            self._made = numba_backend.part(self)
        return self._made

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the source, such as its name."""
        return getattr(self.__dict__['py_func'], name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _kernel_named, (self.__module__, self.__qualname__)


def _kernel_named(module: str, name: str) -> Any:
    import importlib

    return getattr(importlib.import_module(module), name)


class Entry(NamedTuple):
    """A kernel that Python calls: a function of the compiled library.

    symbol : its name there, and for programs in C
    kernel : the kernel
    lanes : number of lanes of the libraries that have it; 0: all libraries
    """

    symbol: str
    kernel: Any
    lanes: int = 0


ENTRIES: list[Entry] = []  # The entries that this process has made

# Functions that make those that a process makes only when it needs them; a build calls all
ENTRY_MAKERS: list[Callable[[], Any]] = []


@overload
def kernel(function: F, /) -> F: ...


@overload
def kernel(*, entry: str) -> Callable[[F], F]: ...


def kernel(function: Any = None, /, *, entry: str = '') -> Any:
    """Return a function of arrays and numbers as a kernel; LLVM decides where it is inlined.

    entry : symbol in the compiled library of a kernel that Python calls; its arguments and its
        result then need the types of `kernels.signatures`
    """
    return partial(kernel, entry=entry) if function is None else _kernel(function, False, entry)


@overload
def inline_kernel(function: F, /) -> F: ...


@overload
def inline_kernel(*, entry: str) -> Callable[[F], F]: ...


def inline_kernel(function: Any = None, /, *, entry: str = '') -> Any:
    """Return a kernel that is compiled into all its callers.

    For kernels of lanes with few callers: a call passes lanes through memory, so that batches of
    closed forms take 1.08 times as long where LLVM decides.
    """
    if function is None:
        return partial(inline_kernel, entry=entry)
    return _kernel(function, True, entry)


def _kernel(
    function: Any,
    is_inlined: bool = False,
    entry: str = '',
    lanes: int = 0,
    parts: Mapping[str, Any] | None = None,
) -> Any:
    if entry and not all(map(_is_ours, (function, *(parts or {}).values()))):
        entry = ''  # the library has no kernels of users, nor copies with such parts
    made = Kernel(function, is_inlined, entry, parts) if COMPILED else function
    if entry:
        ENTRIES.append(Entry(entry, made, lanes))
        if COMPILED and parts is None:
            return library.builtin_of(made) or made
    return made


def with_kernels(
    template: Callable[..., Any], name: str, entry: str = '', lanes: int = 0, /, **kernels: Any
) -> Any:
    """Return a kernel: the source of `template` with these `kernels` in place of its global names.

    So one loop serves many methods. entry, lanes : symbol and lanes of the kernel, if it is an
    entry
    """
    source = source_of(template)
    copy = FunctionType(source.__code__, {**source.__globals__, **kernels}, name)
    copy.__qualname__ = name
    copy.__doc__, copy.__annotations__ = source.__doc__, source.__annotations__
    return _kernel(copy, False, entry, lanes, {'': template, **kernels})


def substitute(kernel: Any, suffix: str, instead: Mapping[Any, Any], entry: str = '') -> Any:
    """Copy a kernel and all kernels that it calls, with those in `instead` replaced.

    Kernels that call none of these are not copied. entry : symbol of the copy, if it is an entry
    """
    made = dict(instead)

    def of(one: Any) -> Any:
        if one not in made:
            made[one] = one
            source = source_of(one)
            below = {name: source.__globals__.get(name) for name in source.__code__.co_names}
            other = {name: of(each) for name, each in below.items() if is_kernel(each)}
            if any(other[name] is not below[name] for name in other):
                name, symbol = f'{source.__name__}_{suffix}', entry if one is kernel else ''
                made[one] = with_kernels(one, name, symbol, **other)
        return made[one]

    return of(kernel)


def is_kernel(value: Any) -> bool:
    """Return whether a value is a function of this package, compiled or not."""
    try:
        source = source_of(value)
    except TypeError:  # it has no hash, so it is none
        return False
    return isinstance(source, FunctionType) and _is_ours(source)


def _is_ours(value: Any) -> bool:
    return getattr(source_of(value), '__module__', '').startswith('ik_core.')


def path_of(value: Any) -> str:
    """Return the identifier of a part of a kernel: the path of a kernel or a view, or a name."""
    return getattr(library.KERNELS.get(value, value), 'path', '') or name_of(value)


def name_of(kernel: Any) -> str:
    """Return the module and the name of a kernel."""
    source = source_of(kernel)
    return f'{source.__module__}:{source.__qualname__}'


def placeholder(*arguments: Any) -> Any:
    """Placeholder in a template that `with_kernels` replaces by a kernel."""
    raise NotImplementedError


class Callback:
    """A Python function without arguments that kernels may call: `call_back(callback.address)`.

    What it raises is kept in `error`, and `call_back` then returns 1, else 0: the kernel has to
    end, and its caller to `check`. It lives as long as this object.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self.error: BaseException | None = None
        if COMPILED:
            calls = self._calls()
            next(calls)
            self._pointer = ctypes.CFUNCTYPE(ctypes.c_int64)(calls.__next__)
            self.address = int(ctypes.cast(self._pointer, ctypes.c_void_p).value or 0)
        else:
            self.address = id(self)
            _UNCOMPILED[self.address] = weakref.WeakMethod(self._call)

    def __del__(self) -> None:
        _UNCOMPILED.pop(self.address, None)

    def _call(self) -> int:
        try:
            self._function()
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def _calls(self) -> Iterator[int]:
        """Call the functions in order.

        A Ctrl-C that came while a kernel ran is raised as soon as Python goes on: here, that is
        within `try`; on the way into a function that C calls, it would be lost.
        """
        failed = 0
        while True:
            try:
                while True:
                    yield failed
                    failed = self._call()
            except GeneratorExit:
                return
            except BaseException as error:
                self.error, failed = error, 1

    def check(self) -> None:
        """Raise the exception of the function, once."""
        error, self.error = self.error, None
        if error is not None:
            raise error


# The callbacks by address, where kernels are plain Python
_UNCOMPILED: dict[int, weakref.WeakMethod[Callable[[], int]]] = {}


def _call_back(address: int) -> int:
    call = _UNCOMPILED[address]()
    return 1 if call is None else call()


class _CallBack(NumbaProxy):
    """Call the function of a `Callback`; return 1 if it raised, else 0."""

    def for_numba(self) -> Any:
        from . import numba_backend

        return numba_backend.call_back


call_back: Any = _CallBack() if COMPILED else _call_back
