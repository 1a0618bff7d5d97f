"""What a source says, what was measured here, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..rows import Row


@dataclass(frozen=True)
class Claim:
    """One line: the claim in words, with the figure or section that makes it; both sides."""

    claim: str
    theirs: str
    ours: str
    holds: bool

    @property
    def row(self) -> Row:
        """As a row of a table."""
        holds = 'yes' if self.holds else 'no'
        return {'claim': self.claim, 'theirs': self.theirs, 'ours': self.ours, 'holds': holds}


def claim_rows(claims: Iterable[Claim]) -> list[Row]:
    """The claims as rows, in their order."""
    return [claim.row for claim in claims]


def markdown(claims: Sequence[Claim]) -> str:
    """The claims as a table in Markdown, which ends with a line break."""
    lines = ['| claim | theirs | ours | holds |', '|---|---|---|---|']
    for row in claim_rows(claims):
        cells = (str(cell).replace('|', '\\|') for cell in row.values())
        lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join(lines) + '\n'


def rises(values: Sequence[float], by: float = 0.0) -> bool:
    """Whether any value is larger than the one before it, by more than this share of it."""
    return any(after > before * (1.0 + by) for before, after in pairwise(values))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The p of values = c sizes^p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
