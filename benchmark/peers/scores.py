# SPDX-License-Identifier: Apache-2.0
"""Scores of peers, from their answers and times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..results import Row
from .catalog import OURS
from .problems import Judge, Problems

TOLERANCES = (1e-6, 1e-4, 1e-3)  # Both in metres and in radians
ALL = 'all'


@dataclass
class Score:
    """Score of a peer on one set of one arm, or on all arms together."""

    arm: str
    kind: str
    peer: str
    version: str = ''
    settings: str = ''
    note: str = ''
    errors: list[float] = field(default_factory=list)  # the larger of metres and radians
    seconds: list[float] = field(default_factory=list)

    def add(
        self, judge: Judge, problems: Problems, indices: Sequence[int], answer: dict[str, Any]
    ) -> None:
        """Judge the answers to some problems, and take their times."""
        for i, q in zip(indices, answer['answers'], strict=True):
            self.errors.append(max(judge.errors(q, problems.goals[i])))
        self.seconds += answer['seconds']
        if answer['error'] and not self.note:
            self.note = f'raised {answer["error"]}'[:200]

    def reached(self, tolerance: float) -> float:
        """Percentage of the goals that were reached."""
        return 100.0 * float(np.mean(np.array(self.errors) <= tolerance))

    def milliseconds(self) -> dict[str, float]:
        """Mean, median and 99th percentile."""
        times = 1e3 * np.array(self.seconds)
        median, p99 = np.percentile(times, [50, 99])
        return {'mean_ms': float(times.mean()), 'median_ms': float(median), 'p99_ms': float(p99)}


def score_rows(scores: Sequence[Score]) -> list[Row]:
    """A row for each score, then for each peer and set over all the arms that it ran on.

    Ratios are to our times on the same arms.
    """
    rows = [_row(score, _ours(scores, score.kind, {score.arm})) for score in scores]
    ran = [score for score in scores if score.errors]
    for kind, peer in dict.fromkeys((score.kind, score.peer) for score in ran):
        own = [score for score in ran if (score.kind, score.peer) == (kind, peer)]
        total = _together(own, peer, kind)
        total.note = f'{len(own)} arms' if len(own) > 1 else own[0].arm
        rows.append(_row(total, _ours(ran, kind, {score.arm for score in own})))
    return rows


def _ours(scores: Sequence[Score], kind: str, arms: set[str]) -> Score:
    own = [s for s in scores if s.peer == OURS and s.kind == kind and s.arm in arms]
    return _together(own, OURS, kind)


def _together(scores: Iterable[Score], peer: str, kind: str) -> Score:
    total = Score(ALL, kind, peer)
    for score in scores:
        total.version, total.settings = score.version, score.settings
        total.errors += score.errors
        total.seconds += score.seconds
    return total


def _row(score: Score, ours: Score) -> Row:
    row = absent_row(score.peer, score.note, score.arm, score.kind)
    row |= {'version': score.version, 'settings': score.settings}
    if score.errors:
        times = score.milliseconds()
        row |= {'goals': len(score.errors), **times}
        row |= {column(t): score.reached(t) for t in TOLERANCES}
        if ours.errors:
            for name in ('mean', 'p99'):
                row[f'{name}_to_ours'] = times[f'{name}_ms'] / ours.milliseconds()[f'{name}_ms']
    return row


def column(tolerance: float) -> str:
    """The name of the column of goals reached at a tolerance."""
    return f'reached_at_{tolerance:.0e}_percent'.replace('e-0', 'e-')


def absent_row(peer: str, note: str, arm: str = ALL, kind: str = '') -> Row:
    """A row without figures: of a peer that can't be had, or not on this arm."""
    figures = ('mean_ms', 'median_ms', 'p99_ms', 'mean_to_ours', 'p99_to_ours')
    row: Row = {'arm': arm, 'set': kind, 'peer': peer, 'version': '', 'goals': 0}
    row |= dict.fromkeys([*map(column, TOLERANCES), *figures], '')
    return {**row, 'settings': '', 'note': note}
