# SPDX-License-Identifier: Apache-2.0
"""Goals that wait until their frame is known at their stamp.

Of each tip two wait: the first one, and the last one that came since. So where goals come faster
than the transforms that they need, the tip still follows those whose turn has come, and no more
than two are tried again in a tick. A goal is dropped as soon as one that came after it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Arrival:
    """A goal as it came.

    number : counts all of them
    tips : whom it is for
    since [s] : when it came
    handle : stores the goal for the next tick; raises Pending where it has to wait
    """

    number: int
    tips: frozenset[int]
    topic: str
    since: float
    handle: Callable[[], object]


class WaitingGoals:
    """Those that wait, oldest first."""

    def __init__(self) -> None:
        self._arrivals: list[Arrival] = []

    def add(self, arrival: Arrival) -> None:
        """Wait, in place of the last one for the same tips, but for the first one."""
        same = [other for other in self._arrivals if other.tips == arrival.tips]
        if len(same) > 1:
            self._arrivals.remove(same[-1])
        self._arrivals.append(arrival)

    def newest_first(self) -> Iterator[Arrival]:
        """All that wait now; those that are dropped on the way are left out."""
        for arrival in reversed(list(self._arrivals)):
            if arrival in self._arrivals:
                yield arrival

    def remove(self, arrival: Arrival) -> None:
        """Forget one, if it still waits."""
        if arrival in self._arrivals:
            self._arrivals.remove(arrival)

    def drop(self, number: int, tips: Iterable[int]) -> None:
        """Forget those that came before the goal of this number, for any of the same tips."""
        tips = frozenset(tips)
        self._arrivals = [
            other for other in self._arrivals if other.number > number or not tips & other.tips
        ]

    def clear(self) -> None:
        """Forget all."""
        self._arrivals.clear()
