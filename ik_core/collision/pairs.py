"""Which pairs of links may come near each other, and how near they may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..options import exact_number
from ..robot.robot import Robot
from .piece import Piece

DEFAULT_MARGIN = 0.01
"""[m] Of pairs that no mapping names."""


@dataclass(frozen=True, eq=False)
class LinkPair:
    """What is known of two links with joints between them."""

    first: str
    second: str
    verdict: str
    margin: float
    share: float = 0.0
    q: Array | None = None

    @property
    def is_checked(self) -> bool:
        """Whether its distance is computed."""
        return self.verdict in ('sometimes', 'inside', 'open')


class Margins:
    """The margin [m] of each pair: one number, or numbers by pairs of names."""

    def __init__(self, margin: float | Mapping[tuple[str, str], float]) -> None:
        self.named: dict[frozenset[str], float] = {}
        if isinstance(margin, Mapping):
            self.default = DEFAULT_MARGIN
            for names, value in margin.items():
                if isinstance(names, str) or len(names) != 2:
                    raise InvalidOption(f'margin of {names!r}: a pair of names is needed')
                self.named[frozenset(names)] = _margin(value, f'margin of {names!r}')
        else:
            self.default = _margin(margin, 'margin')

    def of(self, first: str, second: str) -> float:
        """The margin of a pair."""
        return self.named.get(frozenset((first, second)), self.default)


def _margin(value: Any, name: str) -> float:
    number = exact_number(value, float)
    if number is None or not 0.0 <= number <= 10.0:
        raise InvalidOption(f'{name} = {value!r}: a length from 0 to 10 m is needed')
    return float(number)


def link_pairs(
    robot: Robot,
    pieces: Sequence[Piece],
    margins: Margins,
    srdf: str | PathLike[str] | None = None,
    boxes: int | None = None,
) -> tuple[tuple[LinkPair, ...], tuple[str, ...]]:
    """All pairs of links, and warnings."""
    links = list(dict.fromkeys(piece.link for piece in pieces))
    return tuple(
        LinkPair(a, b, 'sometimes', margins.of(a, b))
        for i, a in enumerate(links)
        for b in links[i + 1 :]
        if robot.placement(a).body != robot.placement(b).body
    ), ()
