# SPDX-License-Identifier: Apache-2.0
"""Limits of a motion, checked by its positions alone: finite differences of its own, numpy only.

Positions q (ticks, n) [rad or m], a period apart; `allowed` (ticks, 5, n) holds the limits of each
tick, see `limits.Allowance`. A joint outside its position limits goes no farther out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .expected_limits import ACCELERATION, JERK, LOWER, UPPER, VELOCITY, Allowance, Array

ROUNDING = 2e-11  # [of max(1, |q|)] What landing exactly on a target or a limit may move a joint
RELATIVE = 1e-9
KINDS = ('not finite', 'position', 'velocity', 'acceleration', 'jerk', 'dq', 'distance')
HISTORY = 3  # Ticks before a position that its third difference takes


@dataclass
class Verdict:
    """Violations of each kind of limit: their number, and the worst case (value, allowed,
    where)."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    worst: dict[str, tuple[float, float, int, int]] = field(default_factory=dict)

    @property
    def violations(self) -> int:
        return sum(self.counts.values())

    def take(self, kind: str, values: Array, bound: Array, tick: int) -> None:
        """Note where values (m, n), of ticks from `tick` on, are above a bound (m, n)."""
        over = ~(values <= bound)
        count = int(np.count_nonzero(over))
        if not count:
            return
        self.counts[kind] += count
        with np.errstate(invalid='ignore', divide='ignore'):
            excess = np.where(over, np.nan_to_num(values - bound, nan=np.inf), -np.inf)
        k, joint = np.unravel_index(int(np.argmax(excess)), values.shape)
        case = float(values[k, joint]), float(bound[k, joint]), tick + int(k), int(joint)
        if kind not in self.worst or case[0] - case[1] > np.subtract(*self.worst[kind][:2]):
            self.worst[kind] = case

    def __str__(self) -> str:
        parts = [
            f'{self.counts[kind]} x {kind} (worst: {value:.9g}, allowed {bound:.9g}, '
            f'joint {joint}, tick {tick})'
            for kind, (value, bound, tick, joint) in self.worst.items()
        ]
        return '; '.join(parts) or 'no violation'


def judge(
    q: Array, dq: Array | None, allowed: Array, period: float, verdict: Verdict, first: int = 0
) -> None:
    """Judge all ticks but the first HISTORY, which are those before; `first` counts the others."""
    rows = allowed[HISTORY:]
    size = ROUNDING * np.maximum(1.0, np.abs(q[HISTORY:]))
    everything = q if dq is None else np.concatenate([q, dq])
    if not np.isfinite(everything).all():
        verdict.take('not finite', np.where(np.isfinite(q), 0.0, np.inf), np.ones_like(q), first)
        return
    _judge_positions(q, allowed, size, verdict, first)
    difference = q
    for order, row in enumerate((VELOCITY, ACCELERATION, JERK), 1):
        difference = np.diff(difference, axis=0) / period
        values = np.abs(difference[HISTORY - order :])
        slack = 2.0**order * size / period**order
        verdict.take(KINDS[order + 1], values, rows[:, row] * (1 + RELATIVE) + slack, first)
    if dq is not None:
        _judge_velocities(q, dq, rows, period, verdict, first)


def _judge_positions(q: Array, allowed: Array, size: Array, verdict: Verdict, first: int) -> None:
    """Outside are only joints that were so before, and they do not go farther out."""
    lower, upper = allowed[HISTORY:, LOWER], allowed[HISTORY:, UPPER]
    now, before = q[HISTORY:], q[HISTORY - 1 : -1]
    out = np.maximum(np.maximum(lower - now, now - upper), 0.0)
    was_out = np.maximum(np.maximum(lower - before, before - upper), 0.0)
    verdict.take('position', out, was_out + size, first)


def _judge_velocities(
    q: Array, dq: Array, rows: Array, period: float, verdict: Verdict, first: int
) -> None:
    """A published dq is what q did: over the period, or at its end where the jerk is limited."""
    mean = np.diff(q, axis=0)[HISTORY - 1 :] / period
    now, before = dq[HISTORY:], dq[HISTORY - 1 : -1]
    slack = 2.0 * ROUNDING * np.maximum(1.0, np.abs(q[HISTORY:])) / period
    bend = np.minimum(rows[:, JERK] * period**2 / 12.0, rows[:, ACCELERATION] * period / 4.0)
    at_the_end = np.abs(0.5 * (now + before) - mean) - bend
    verdict.take('dq', np.minimum(np.abs(now - mean), at_the_end), slack + RELATIVE, first)


class Checker:
    """Judges a motion that comes tick by tick, in blocks.

    limits (5, n) : lower, upper, velocity, acceleration, jerk
    """

    def __init__(self, limits: Array, period: float, block: int = 500) -> None:
        self.period, self._block = period, block
        self.allowance = Allowance(limits, period)
        self.verdict = Verdict()
        self.tick = 0
        self.q: list[Array] = []
        self.dq: list[Array] = []
        self._allowed: list[Array] = []

    @property
    def allowed(self) -> Array:
        """The limits (5, n) that the next tick has to keep."""
        return self.allowance.at(self.tick)

    def change(self, limits: Array) -> None:
        """Other limits are asked for from the next tick on."""
        self.allowance.change(limits, self.tick)

    def begin(self, q: Array) -> None:
        """The joints are at rest at q (n,): what came before does not count any more."""
        self.finish()
        rows = self.allowance.at(self.tick)
        self.q, self.dq = [q.copy()] * HISTORY, [np.zeros(q.size)] * HISTORY
        self._allowed = [rows] * HISTORY

    def remember(self, rows: Array) -> None:
        """The positions in `q` are those of the ticks before, under these limits (5, n)."""
        self._allowed = [rows] * len(self.q)

    def forget(self, ticks: int) -> None:
        """Skip this number of unknown ticks: differences begin anew after them."""
        self.finish()
        self.q, self.dq, self._allowed = [], [], []
        self.tick += ticks

    def see(self, q: Array, dq: Array | None = None) -> None:
        """The next tick. Without `begin`, the first ones are only remembered."""
        self.q.append(q.copy())
        if dq is not None:
            self.dq.append(dq.copy())
        self._allowed.append(self.allowance.at(self.tick))
        self.tick += 1
        if len(self.q) >= self._block + HISTORY:
            self.finish()

    def finish(self) -> Verdict:
        """Judge what has come."""
        if len(self.q) > HISTORY:
            q, allowed = np.array(self.q), np.array(self._allowed)
            dq = np.array(self.dq) if len(self.dq) == len(self.q) else None
            judge(q, dq, allowed, self.period, self.verdict, self.tick - len(q) + HISTORY)
        for rows in (self.q, self.dq, self._allowed):
            del rows[:-HISTORY]
        return self.verdict
