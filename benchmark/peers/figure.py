# SPDX-License-Identifier: Apache-2.0
"""The figure: how many goals each peer reached, against its mean time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ik_core.figures import BLUE, GREY, RED, new_figure

from ..results import Row
from .catalog import OURS
from .scores import ALL, TOLERANCES, column

TIGHT = column(TOLERANCES[0])
CROWDED = 90.0  # Percentage from which names stand in a row above the points


def draw(rows: Sequence[Row]) -> Any:
    """Two panels, goals from random starts and from near ones; a point for each peer."""
    figure = new_figure(11.0, 6.4)
    kinds = {'random': 'from random starts', 'near': 'from starts beside a solution'}
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (kind, title) in zip(panels, kinds.items(), strict=True):
        own = [r for r in rows if r['arm'] == ALL and r['set'] == kind and r['goals']]
        axes.set_xscale('log')
        for row in own:
            fill = _shade(row) if row['note'] == '9 arms' else 'white'
            above = 3 if row['peer'] == OURS else 2
            axes.plot(
                row['mean_ms'], row[TIGHT], 'o', ms=7, color=_shade(row), mfc=fill, zorder=above
            )
        axes.set_title(title)
        axes.set_xlabel('mean time of a solve [ms]')
        axes.set_ylim(0.0, 142.0)
        axes.set_yticks(range(0, 101, 20))
        axes.margins(x=0.22)
        _names(axes, own)
    panels[0].set_ylabel(f'goals reached to {TOLERANCES[0]:g} m and rad [%]')
    figure.suptitle('Nine arms of 6 to 15 joints; hollow: not all of them')
    return figure


def _names(axes: Any, rows: list[Row]) -> None:
    """The name of each point: crowded ones in a row above, each with a line to its point."""
    low, high = axes.get_xlim()
    width = math.log10(high / low)
    upper = sorted((r for r in rows if r[TIGHT] >= CROWDED), key=lambda row: row['mean_ms'])
    lower = sorted((r for r in rows if r[TIGHT] < CROWDED), key=lambda row: row[TIGHT])
    places = _spread([math.log10(row['mean_ms']) for row in upper], 0.042 * width)
    foot, side = (0.5, 0.0), (0.0, 0.5)
    for row, place in zip(upper, places, strict=True):
        at = (10.0**place, 109.0)
        _name(axes, row, at, foot, rotation=90, ha='center', va='bottom')
    for row, place in zip(lower, _spread([row[TIGHT] for row in lower], 5.0), strict=True):
        at = (row['mean_ms'] * 10.0 ** (0.03 * width), place)
        _name(axes, row, at, side, ha='left', va='center')


def _name(
    axes: Any, row: Row, place: tuple[float, float], foot: tuple[float, float], **style: Any
) -> None:
    """A name, with a line from its `foot`, a point of its box, to the point that it names."""
    ours = row['peer'] == OURS
    line = {'arrowstyle': '-', 'color': GREY, 'lw': 0.6, 'shrinkA': 1, 'shrinkB': 4}
    axes.annotate(
        'ik_core' if ours else row['peer'],
        (row['mean_ms'], row[TIGHT]),
        place,
        fontsize=8.5,
        color=_shade(row),
        fontweight='bold' if ours else 'normal',
        arrowprops={**line, 'relpos': foot},
        **style,
    )


def _spread(values: list[float], gap: float) -> list[float]:
    """Sorted values moved apart to a gap at least; those that touch, about their middle."""
    placed: list[float] = []
    runs: list[list[float]] = []
    for value in values:
        runs.append([value])
        while len(runs) > 1 and _end(runs[-2], gap) + gap > _begin(runs[-1], gap):
            last = runs.pop()
            runs[-1] += last
    for run in runs:
        placed += [_begin(run, gap) + gap * i for i in range(len(run))]
    return placed


def _begin(run: list[float], gap: float) -> float:
    """Begin of a run of labels that is centred on its points."""
    return sum(run) / len(run) - 0.5 * gap * (len(run) - 1)


def _end(run: list[float], gap: float) -> float:
    return _begin(run, gap) + gap * (len(run) - 1)


def _shade(row: Row) -> str:
    return RED if row['peer'] == OURS else BLUE
