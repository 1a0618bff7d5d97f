"""`njit`, `inner` and their like: numba's where it is installed, else nothing; one source.

`with_kernels` and `variant` make several kernels of one source; `Callback` lets them call Python.

numba's own cache does not notice an edited function in another file that a kernel calls, so
the cache directory is keyed by a hash of every kernel source of this package, and by how many
lanes they have on this machine. Therefore it does
not matter where these sources are installed, nor when: a workspace that is built again, or another
environment, finds what is compiled (`_cache`). The directory is set only while numba decorates:
other users of numba keep theirs. Where no place is writable and safe, kernels are compiled without
a cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

try:
    import numba
    from llvmlite import ir
    from numba.core import event
    from numba.core.options import DefaultOptions
    from numba.extending import intrinsic

    from . import _cache, _parts
except ImportError:  # the same kernels then run as plain Python, about a hundred times slower
    numba = None

F = TypeVar('F', bound=Callable[..., Any])

COMPILED: bool = numba is not None and not numba.config.DISABLE_JIT
"""Whether kernels are compiled in this process."""

LOADING = 'ik_core:load'
"""The event of numba's that a kernel is looked for in the cache, and loaded if it is there."""

_OTHERS = 'others'
"""Where a kernel made of others keeps `_others`."""


_MARKS = (
    b'@njit', b'@small', b'@inner', b'@inlined', b'= inner(', b'@intrinsic', b'(_Library)',
    b'= Layout(',
)  # fmt: skip
"""Strings found in files of kernels, of their records, and of the compiler's own layers."""


def _kernel_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob('*.py')):
        source = path.read_bytes()
        if any(mark in source for mark in _MARKS):
            digest.update(path.name.encode() + b'\0' + source)
    return digest.hexdigest()[:16]


def _cache_key() -> str:
    """Of the sources, and of how many lanes kernels have here: machines may share a cache."""
    lanes = 1
    with contextlib.suppress(ImportError, AttributeError):
        from ._lanes import natural_count

        lanes = natural_count()
    return hashlib.sha256(f'{_kernel_hash()} {lanes}'.encode()).hexdigest()[:16]


_OPTIONS: dict[str, Any] = {'nogil': True, 'error_model': 'numpy', 'no_cfunc_wrapper': True}
if COMPILED and hasattr(DefaultOptions, '_nrt'):
    # No reference counts: kernels make no arrays and keep none, and their callers hold those that
    # they are given. As soon as a kernel hands its arrays on to another, counting costs more than
    # the arithmetic.
    _OPTIONS['_nrt'] = False

_CACHE_DIRECTORY = _cache.cache_directory(_cache_key()) if COMPILED else None


def njit(function: F) -> F:
    """Compile `function` on its first call, without the interpreter lock, cached on disk."""
    return _compiled(function, _OPTIONS)


def small(function: F) -> F:
    """As `njit`, compiled into every kernel that calls it: what is little beside its arguments."""
    return _compiled(function, _OPTIONS | {'forceinline': True})


def inner(function: F) -> F:
    """As `njit`, for kernels that only other kernels call.

    Python must not call one: that would end the process. It is optimised with those that call it
    (`_parts`), which halves the time that compiling takes.
    """
    return _compiled(function, _OPTIONS | {'no_cpython_wrapper': True})


def inlined(function: F) -> F:
    """As `inner`, compiled into every kernel that calls it.

    For what takes many arrays and does little: handing them on would cost more.
    """
    return _compiled(function, _OPTIONS | {'no_cpython_wrapper': True, 'forceinline': True})


def _compiled(function: F, options: dict[str, Any]) -> F:
    if not COMPILED:
        return function
    options = options | _parts.options('no_cpython_wrapper' in options)
    kernel = _cached(function, options)
    _parts.take_no_literals(kernel)
    return kernel


def _cached(function: F, options: dict[str, Any]) -> F:
    if _CACHE_DIRECTORY is None:
        return numba.njit(**options)(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _CACHE_DIRECTORY
    try:
        return _kept_by_content(numba.njit(cache=True, **options)(function))
    except RuntimeError:  # numba found no place to cache in after all
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = before


def _kept_by_content(kernel: Any) -> Any:
    """The kernel; what it is compiled to is found again wherever its sources are the same.

    numba looks by the path and the date of the file, and so compiles for every copy of it. Where
    a version of numba keeps its cache otherwise than those known, that is what it does.
    """
    source = kernel.py_func
    stamp = hashlib.sha256(b'\0'.join(_others([source]).values())).hexdigest()
    with contextlib.suppress(AttributeError, TypeError):
        cache = kernel._cache
        folder = cache._cache_path
        if _is_kernel(source):
            folder = f'{_CACHE_DIRECTORY}/{source.__module__}'
        files = _cache.CheckedFiles(folder, cache._impl.filename_base, source_stamp=stamp)
        cache._impl.locator._cache_path = cache._cache_path = folder
        cache._cache_file = files
        load = _parts.loads(kernel, cache.load_overload)
        cache.load_overload = _cache.if_possible(_telling(kernel, load), files)
        cache.save_overload = _cache.if_possible(cache.save_overload, files)
    return kernel


def _telling(kernel: Any, load: Callable[..., Any]) -> Callable[..., Any]:
    """As `load`, as an event LOADING of numba's."""

    def load_telling(*arguments: Any) -> Any:
        with event.trigger_event(LOADING, data={'dispatcher': kernel}):
            return load(*arguments)

    return load_telling


def with_kernels(
    template: Callable[..., Any], name: str, *, entry: bool = False, **kernels: Any
) -> Any:
    """A kernel with the source of `template`, whose global names `kernels` are these instead.

    So one loop serves many methods, each compiled on its first call. (A kernel that takes others
    as arguments, or in a closure, never hits numba's cache.) `entry`: Python may call it.
    """
    copy = FunctionType(template.__code__, {**template.__globals__, **kernels}, name)
    copy.__qualname__ = name  # the cache tells them apart by it
    copy.__dict__[_OTHERS] = _others(kernels.values())
    copy.__doc__ = template.__doc__
    return njit(copy) if entry else inner(copy)


def _others(kernels: Iterable[Any]) -> dict[str, bytes]:
    """The files, with what is in them, of kernels that are not of this package.

    The package's hash does not know them.
    """
    files: dict[str, bytes] = {}

    def look(kernel: Any) -> None:
        source = getattr(kernel, 'py_func', kernel)
        if not isinstance(source, FunctionType):
            return
        files.update(source.__dict__.get(_OTHERS, {}))
        file = source.__code__.co_filename
        if not _is_kernel(source) and file not in files:
            files[file] = Path(file).read_bytes() if Path(file).is_file() else b''
            for name in source.__code__.co_names:
                look(source.__globals__.get(name))

    for kernel in kernels:
        look(kernel)
    return files


def variant(kernel: Any, suffix: str, instead: Mapping[Any, Any], *, entry: bool = False) -> Any:
    """A kernel where, in it and in all that it calls, other kernels stand: `instead` of these.

    What calls none of them is not copied. `entry`: Python may call it.
    """
    made = dict(instead)

    def of(kernel: Any, entry: bool = False) -> Any:
        if kernel not in made:
            made[kernel] = kernel
            source = getattr(kernel, 'py_func', kernel)
            below = {name: source.__globals__.get(name) for name in source.__code__.co_names}
            other = {name: of(one) for name, one in below.items() if _is_kernel(one)}
            if any(other[name] is not below[name] for name in other):
                name = f'{source.__name__}_{suffix}'
                made[kernel] = with_kernels(source, name, entry=entry, **other)
        return made[kernel]

    return of(kernel, entry)


def _is_kernel(value: Any) -> bool:
    """Whether that is a function of this package, compiled or not."""
    source = getattr(value, 'py_func', value)
    return isinstance(source, FunctionType) and source.__module__.startswith(f'{__package__}.')


def slot(*arguments: Any) -> Any:
    """What stands in a template where `with_kernels` puts a kernel."""
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
        """One call after the other.

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
        """Raise what the function raised, once."""
        error, self.error = self.error, None
        if error is not None:
            raise error


_UNCOMPILED: dict[int, weakref.WeakMethod[Callable[[], int]]] = {}
"""The callbacks by address, where kernels are plain Python."""


def _call_back(address: int) -> int:
    """Call the function of a `Callback`; 1 where it raised, else 0."""
    call = _UNCOMPILED[address]()
    return 1 if call is None else call()


if COMPILED:

    @intrinsic
    def call_back(typing_context: Any, address: Any) -> Any:
        """Call the function of a `Callback`; 1 where it raised, else 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(ir.IntType(64), [])
            return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])

        return numba.int64(numba.int64), generate

else:
    call_back = _call_back
