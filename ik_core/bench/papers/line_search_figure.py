"""The figure of `line_search`, from its rows: above Figs. 9 to 11, below what else it measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...figures import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, new_figure
from ..rows import Row
from .dragged_goal import FLIP, HEIGHTS, LINES, SETTLE, STEP
from .fixed_step import THEIRS, TOO_LONG

COLOURS = {
    'JI': BLUE,
    'transpose': ORANGE,
    'line search': RED,
    'line search, BB': PINK,
    'LM': BLACK,
    'LM, restarts': GREEN,
    'captured': GREY,
}
FLOOR = 1e-5
"""[units^2] No box goes lower: far inside the 1 cm at which methods stop."""


def draw(rows: Sequence[Row]) -> Any:
    """All parts; the boxes are blue, medians and crosses red, as the source's."""
    figure = new_figure(12.5, 7.6)
    above, below = figure.subfigures(2, 1, height_ratios=(1.0, 1.05))
    errors = chosen(rows, 'error')
    cases = list(dict.fromkeys(row['case'] for row in errors))
    for number, (axes, case) in enumerate(
        zip(above.subplots(1, len(cases), sharey=True), cases, strict=True), 9
    ):
        boxes(axes, [row for row in errors if row['case'] == case])
        axes.set_title(f'As Fig. {number}: frames {case} apart')
    above.axes[0].set_ylabel('sum of squared errors [units of 0.2 m, squared]')
    panels = below.subplots(1, 4, width_ratios=(1, 1, 1.2, 1.2))
    for axes, panel in zip(panels, (budgets, steps, jitter, drags), strict=True):
        panel(axes, rows)
    below.legend(*panels[2].get_legend_handles_labels(), loc='outside lower center', ncols=7)
    return figure


def chosen(rows: Sequence[Row], *parts: str) -> list[Row]:
    """The rows of some parts."""
    return [row for row in rows if row['part'] in parts]


def numbers(row: Row) -> list[float]:
    """The values that a row keeps."""
    return [float(word) for word in str(row['values']).split()]


def boxes(axes: Any, rows: Sequence[Row]) -> None:
    """Box plots of the methods, in blue and red, as the source's."""
    stats = [
        {
            'label': row['method'].replace(', ', '\n'),
            'med': row['median'],
            'q1': row['q25'],
            'q3': row['q75'],
            'whislo': max(row['low'], FLOOR),
            'whishi': row['high'],
            'fliers': np.maximum(numbers(row), FLOOR),
        }
        for row in rows
    ]
    axes.bxp(
        stats,
        widths=0.6,
        boxprops={'color': BLUE},
        medianprops={'color': RED},
        whiskerprops={'linestyle': '--'},
        flierprops={'marker': '+', 'markeredgecolor': RED, 'markersize': 4},
    )
    axes.set(yscale='log', ylim=(FLOOR, None))
    axes.tick_params(axis='x', labelsize=7)
    axes.minorticks_off()


def log_axis(axis: Any, ticks: Sequence[float]) -> None:
    """Make an axis logarithmic, with these ticks only."""
    axis.axes.set(**{f'{axis.axis_name}scale': 'log'})
    axis.set_ticks(ticks, [f'{tick:g}' for tick in ticks])
    axis.set_ticks([], minor=True)


def budgets(axes: Any, rows: Sequence[Row]) -> None:
    """The median with less time for a frame."""
    whole = [row for row in chosen(rows, 'error') if row['case'] == '0.7 s']
    own = [*chosen(rows, 'slot'), *({**row, 'case': '15 ms'} for row in whole)]
    for name, colour in COLOURS.items():
        mine = [row for row in own if row['method'] == name]
        slots = [float(str(row['case']).split()[0]) for row in mine]
        axes.plot(slots, [max(row['median'], FLOOR) for row in mine], '.-', color=colour)
    axes.set(yscale='log', xlabel='time for a frame [ms]', ylabel='median [squared units]')
    axes.minorticks_off()
    log_axis(axes.xaxis, (0.15, 0.5, 1.5, 5, 15))
    axes.set_title('Less time, frames 0.7 s apart')


def steps(axes: Any, rows: Sequence[Row]) -> None:
    """Which share of the frames a fixed step of the transpose leaves farther away, or flipping."""
    lines = [
        ('step free', 'low', RED, '-', 'ends farther away'),
        ('step held', 'low', ORANGE, '-', 'the same, pelvis held'),
        ('step held', 'high', BLUE, '--', 'flips, pelvis held'),
    ]
    for part, key, colour, style, label in lines:
        own = chosen(rows, part)
        share = [100.0 * row[key] for row in own]
        axes.plot(
            [float(row['case']) for row in own],
            share,
            style,
            marker='.',
            color=colour,
            label=label,
        )
    (bound,) = chosen(rows, 'bound')
    axes.axvspan(bound['low'], bound['high'], color=SKY, alpha=0.3, linewidth=0, label='2 / s²')
    for step in (THEIRS, TOO_LONG):
        axes.axvline(step, ymax=100 / 150, color='k', linewidth=0.8, linestyle=':')
    axes.set(xlabel="step length in the source's units", ylabel='frames [%]', ylim=(0, 150))
    log_axis(axes.xaxis, (0.001, 0.005, 0.02, 0.05))
    axes.set_yticks(range(0, 101, 20))
    axes.set_title('As Fig. 7: the fixed step')
    axes.legend(loc='upper left', fontsize=7)


def jitter(axes: Any, rows: Sequence[Row]) -> None:
    """How much the joints that have no goal jump, root mean square."""
    own = chosen(rows, 'jitter')
    joints = list(dict.fromkeys(row['case'] for row in own))
    for name, colour in COLOURS.items():
        values = [row['median'] for row in own if row['method'] == name]
        axes.plot(values, range(len(joints)), 'o', color=colour, markersize=4, label=name)
    axes.set_yticks(range(len(joints)), joints, fontsize=7)
    axes.set(xlabel='second difference, r.m.s. [cm]')
    log_axis(axes.xaxis, (2, 5, 10, 20))
    axes.set_title('As Fig. 12: jitter, frames 0.05 s apart')


def drags(axes: Any, rows: Sequence[Row]) -> None:
    """The largest move of a link while the goal goes up by one step."""
    heights = HEIGHTS[SETTLE + 1 :]
    first = f'{LINES[0][0]:g} {LINES[0][1]:g}'
    for row in chosen(rows, 'drag'):
        if row['case'] == first:
            colour = COLOURS[row['method']]
            axes.plot(100.0 * heights, numbers(row), color=colour, linewidth=1.0)
    axes.axhline(100.0 * FLIP, color='k', linewidth=0.8, linestyle=':')
    axes.set(yscale='log', ylim=(0.1, None))
    axes.minorticks_off()
    axes.set_xlabel('height of the goal [cm]')
    axes.set_ylabel(f'move of a link [cm], the goal moves {100.0 * STEP:g}')
    axes.set_title('As Fig. 4: a goal dragged upwards')
