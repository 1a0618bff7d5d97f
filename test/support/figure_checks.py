# SPDX-License-Identifier: Apache-2.0
"""Faults of figures that can be computed: texts on each other or cut off, lines under legends."""

import itertools
import re

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text

from ik_core import figures

TOUCH = 1.0
"""[pixels] By which texts may overlap: their boxes have some air."""
PALETTE = {colour.lower() for colour in figures.COLOURS}
UNIT = re.compile(r'\[[^]]+\]')


def faults(figure):
    """All that is wrong with a figure, as sentences."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    return [
        *_overlaps(figure, renderer),
        *_cut_off(figure, renderer),
        *_hidden_lines(figure),
        *_odd_texts(figure),
    ]


def axis_labels(figure):
    """What stands at the axes."""
    return [
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis, getattr(axes, 'zaxis', axes.xaxis))
        if (label := axis.get_label_text())
    ]


def odd_colours(figure):
    """The colours of lines that are not of the palette, nor grey."""
    lines = [line for axes in figure.axes for line in axes.get_lines() if len(line.get_xdata())]
    used = {to_hex(line.get_color()).lower() for line in lines}
    return {c for c in used - PALETTE if not c[1:3] == c[3:5] == c[5:7]}


def texts(figure, renderer):
    """The texts that are seen, with their boxes."""
    unseen = {id(label) for axes in figure.axes for label in _unseen_tick_labels(axes)}
    found = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in unseen:
            box = Text.get_window_extent(text, renderer)  # without the arrow of an annotation
            if box.width > TOUCH and box.height > TOUCH:
                found.append((text, box))
    return found


def _unseen_tick_labels(axes):
    """Ticks exist beyond the ends of their axis too."""
    for axis in axes._axis_map.values():
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def _overlaps(figure, renderer):
    for (one, a), (other, b) in itertools.combinations(texts(figure, renderer), 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > TOUCH and high > TOUCH:
            yield f'{one.get_text()!r} lies on {other.get_text()!r}'


def _cut_off(figure, renderer):
    width, height = figure.canvas.get_width_height()
    for text, box in texts(figure, renderer):
        if min(box.x0, box.y0) < -TOUCH or box.x1 > width + TOUCH or box.y1 > height + TOUCH:
            yield f'{text.get_text()!r} is cut off'


def _hidden_lines(figure):
    for axes in (axes for axes in figure.axes if axes.get_legend()):
        box = axes.get_legend().get_window_extent()
        for line in axes.get_lines():
            path = line.get_transform().transform_path(line.get_path())
            if path.intersects_bbox(box, filled=False):
                yield f'a legend lies over {line.get_label()!r} in {axes.get_title()!r}'


def _odd_texts(figure):
    for text in figure.findobj(Text):
        if re.search(r'\bus\b|\[us', text.get_text()):
            yield f'{text.get_text()!r} says us for µs'
