# SPDX-License-Identifier: Apache-2.0
"""Goals that wait until their frame is known at their stamp.

Two goals of each tip wait: the oldest one, and the newest one. So if goals come faster than the
transforms they need, the tip still follows some of them, and a tick retries at most two. A goal is
dropped as soon as a newer one is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Arrival:
    """A received goal.

    number : its number, counting all goals
    tips : the tips that it is for
    since : [s] when it was received
    handle : stores the goal for the next tick; raises Pending if it has to wait
    """

    number: int
    tips: frozenset[int]
    topic: str
    since: float
    handle: Callable[[], object]


class WaitingGoals:
    """Goals that wait for the transform of their frame, oldest first."""

    def __init__(self) -> None:
        self._arrivals: list[Arrival] = []

    def add(self, arrival: Arrival) -> None:
        """Add a goal; it replaces the newest of two that wait for the same tips."""
        same = [other for other in self._arrivals if other.tips == arrival.tips]
        if len(same) > 1:
            self._arrivals.remove(same[-1])
        self._arrivals.append(arrival)

    def newest_first(self) -> Iterator[Arrival]:
        """Yield the waiting goals, without those that are dropped during the iteration."""
        for arrival in reversed(list(self._arrivals)):
            if arrival in self._arrivals:
                yield arrival

    def remove(self, arrival: Arrival) -> None:
        """Remove a goal, if it still waits."""
        if arrival in self._arrivals:
            self._arrivals.remove(arrival)

    def drop(self, number: int, tips: Iterable[int]) -> None:
        """Remove the goals up to this number that are for any of these tips."""
        tips = frozenset(tips)
        self._arrivals = [
            other for other in self._arrivals if other.number > number or not tips & other.tips
        ]

    def clear(self) -> None:
        """Remove all goals."""
        self._arrivals.clear()
