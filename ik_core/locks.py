# SPDX-License-Identifier: Apache-2.0
"""Locks that a forked child can acquire.

`fork` copies a lock in its current state: a lock acquired by another thread of the parent would
never be released, since that thread does not exist in the child. So the child replaces its locks.
Before Python 3.12 each `cached_property` has a lock, too, for all objects of its class.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from functools import cached_property
from types import TracebackType
from typing import Any

PACKAGES = ('ik_core', 'ik_node', 'ik_viewer')


class Lock:
    """A reentrant lock that is replaced in a forked child."""

    __slots__ = ('__weakref__', '_own')

    def __init__(self) -> None:
        self._own = threading.RLock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._own.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._own.release()


_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew() -> None:
    """Replace all locks, in a forked child."""
    for lock in list(_LOCKS):
        lock._own = threading.RLock()
    for each in _cached_properties():
        if hasattr(each, 'lock'):
            each.lock = threading.RLock()


def _cached_properties() -> Iterator[Any]:
    """Yield the cached properties of all imported classes of this project."""
    for name, module in list(sys.modules.items()):
        if name.partition('.')[0] in PACKAGES:
            for one in list(vars(module).values()):
                if isinstance(one, type) and one.__module__ == name:
                    yield from (x for x in vars(one).values() if isinstance(x, cached_property))


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_renew)
