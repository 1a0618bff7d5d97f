"""The figure: how many goals each peer reached, against its mean time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import Row
from .catalog import OURS
from .scores import ALL, TOLERANCES, column

CROWDED = 90.0
"""From here on [%] names stand aslant above the points."""


def draw(rows: list[Row], path: Path) -> None:
    """Two panels, goals from random starts and from near ones; a point for each peer."""
    from matplotlib.figure import Figure  # only who draws needs matplotlib

    figure = Figure(figsize=(11.0, 6.4), layout='constrained')
    kinds = {'random': 'from random starts', 'near': 'from starts beside a solution'}
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (kind, title) in zip(panels, kinds.items(), strict=True):
        own = [r for r in rows if r['arm'] == ALL and r['set'] == kind and r['goals']]
        axes.set_xscale('log')
        for row in own:
            _point(axes, row)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel('mean time of a solve [ms]')
        axes.set_ylim(0.0, 148.0)
        axes.set_yticks(range(0, 101, 20))
        axes.grid(alpha=0.3)
        axes.margins(x=0.12)
    panels[0].set_ylabel(f'goals reached to {TOLERANCES[0]:g} m and rad [%]')
    figure.suptitle('Nine arms of 6 to 15 joints; hollow: not all of them', fontsize=11)
    figure.savefig(path, metadata={'Date': None} if path.suffix == '.svg' else None)


def _point(axes: Any, row: Row) -> None:
    reached, time = row[column(TOLERANCES[0])], row['mean_ms']
    ours, partly = row['peer'] == OURS, row['note'] != '9 arms'
    shade = '#cc3311' if ours else '#225588'
    axes.plot(time, reached, 'o', ms=7, color=shade, mfc='white' if partly else shade)
    name = 'ik_core' if ours else row['peer']
    crowded = reached >= CROWDED
    axes.annotate(
        name, (time, reached), (2, 7) if crowded else (7, -3), textcoords='offset points',
        rotation=60 if crowded else 0, rotation_mode='anchor', fontsize=8.5, color=shade,
        fontweight='bold' if ours else 'normal',
    )  # fmt: skip
