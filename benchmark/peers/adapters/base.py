# SPDX-License-Identifier: Apache-2.0
"""Base class of adapters: their inputs and their duties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FULL_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Chain:
    """A serial arm: its URDF as a file, from `base` to `tip`, with limits of every joint."""

    name: str
    path: str
    base: str
    tip: str
    joints: list[str]
    lower: list[float]
    upper: list[float]


class Adapter(ABC):
    """A peer that is set up for one arm.

    `solve` alone is timed: the peer's public call, with goal and start in its own types.
    """

    settings: str
    """Settings in a few words: budget, restarts, tolerances."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.lower, self.upper = np.array(chain.lower), np.array(chain.upper)
        self._rng = np.random.default_rng(0)

    def prepare(self, goal: Array, q0: Array) -> Any:
        """The goal (4, 4) and the start (n,) in the peer's own types: not timed."""
        return goal, q0

    @abstractmethod
    def solve(self, prepared: Any) -> Any:
        """The joint positions (n,) that the peer found last or best; None where it gives none."""

    def answer(self, raw: Any) -> Any:
        """The joint positions (n,) from what `solve` returned, where a choice is left to make."""
        return raw

    def starts(self, q0: Array, restarts: int) -> Iterator[Array]:
        """q0, then uniformly random configurations: for peers that have no restarts."""
        yield q0
        for _ in range(restarts):
            yield self._rng.uniform(self.lower, self.upper)

    def turned_inside(self, q: Any, near: Array) -> Array:
        """q (..., n) by whole turns as near to `near` (n,) as the limits allow, if they do."""
        q = q + FULL_TURN * np.round((near - q) / FULL_TURN)
        q = q - FULL_TURN * np.ceil(np.maximum(q - self.upper, 0.0) / FULL_TURN)
        turned: Array = q + FULL_TURN * np.ceil(np.maximum(self.lower - q, 0.0) / FULL_TURN)
        return turned


class Stepper(Adapter):
    """A peer that makes steps: the loop around them, which its users write, with restarts.

    An attempt ends when it is there, or when `patience` steps have not brought the error down by
    a tenth. `steps` bounds an attempt.
    """

    tolerance = 1e-6
    steps = 100

    def __init__(self, chain: Chain, restarts: int) -> None:
        super().__init__(chain)
        self._restarts = restarts
        self._patience = 4 if restarts else 20
        self.settings = f'{restarts} restarts, {self.steps} steps each, {self.tolerance:g}'

    @abstractmethod
    def reset(self, q: Array) -> None:
        """Start from q."""

    @abstractmethod
    def step(self) -> tuple[float, Array]:
        """Step, unless there; the larger of the two errors before the step, and q after it."""

    def solve(self, prepared: Any) -> Any:
        q = prepared
        for start in self.starts(prepared, self._restarts):
            self.reset(start)
            reached, q = self._attempt()
            if reached:
                break
        return q

    def _attempt(self) -> tuple[bool, Array]:
        mark, stagnant = np.inf, 0
        for _ in range(self.steps):
            error, q = self.step()
            if error <= self.tolerance:
                return True, q
            if error < 0.9 * mark:
                mark, stagnant = error, 0
            else:
                stagnant += 1
                if stagnant >= self._patience:
                    break
        return False, q


class ClosedForm(Adapter):
    """A peer that returns all solutions: the one nearest to the start, within limits, counts.

    `choose`: whether making that choice, in numpy, is timed as well.
    """

    def __init__(self, chain: Chain, choose: bool) -> None:
        super().__init__(chain)
        self._choose = choose
        self.extent = 'all solutions and the choice' if choose else 'all solutions, unchosen'

    @abstractmethod
    def solutions(self, prepared: Any) -> Any:
        """Return value of the peer's call for the goal as `prepare` made it, the last argument but
        q0.
        """

    @abstractmethod
    def as_array(self, found: Any) -> Array:
        """The joint positions (k, n) of all solutions."""

    def solve(self, prepared: Any) -> Any:
        *goal, q0 = prepared
        found = self.solutions(goal)
        return self._nearest(found, q0) if self._choose else (found, q0)

    def answer(self, raw: Any) -> Any:
        return raw if self._choose else self._nearest(*raw)

    def _nearest(self, found: Any, q0: Array) -> Array | None:
        q = self.turned_inside(self.as_array(found), q0)
        q = q[((q >= self.lower) & (q <= self.upper)).all(axis=1)]
        if not len(q):
            return None
        nearest: Array = q[np.abs(q - q0).max(axis=1).argmin()]
        return nearest
