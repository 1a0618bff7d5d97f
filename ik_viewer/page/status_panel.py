# SPDX-License-Identifier: Apache-2.0
"""The head of the panel: the arm's status in words, numbers and curves, and the last notices."""

from __future__ import annotations

import html
import time
from collections import deque
from typing import Any

import numpy as np

from ik_core.display import steady, steady_length

from ..arm import Moment, TipState
from ..drawing.colours import BLUE, LOST, ORANGE, colour_of, hex_of
from ..drawing.shapes import Colour
from .page_context import Notices

PERIOD = 0.1  # [s] Numbers that change more often can't be read
CURVE_PERIOD = 0.2  # [s] Curves are much to draw for a browser
SPAN = 10.0  # [s] Time span of the curves
NO_CONNECTION = 'the program behind this page has ended or is out of reach'
SHOWN = (1e-3, 3e3)  # [mm], [ms] What the logarithmic scales of the curves show


class Status:
    """The status, errors, curves and notices of the arm. It stays when the robot changes."""

    def __init__(self, server: Any, notices: Notices) -> None:
        self._notices = notices
        self._head = server.gui.add_html(with_loss(lost('waiting for the arm')))
        with server.gui.add_folder('Curves', expand_by_default=False):
            self.curves = Curves(server.gui)
        self._list = server.gui.add_html('', order=1e6)
        self._shown = -np.inf
        self._version = -1
        self._code = ''

    def show(self, moment: Moment | None) -> None:
        """Show a moment; None if the arm is gone."""
        now, code = time.monotonic(), LOST if moment is None else moment.code
        if moment is not None:
            self.curves.add(moment, now)
        if now - self._shown < PERIOD and code == self._code:
            return
        self._shown, self._code = now, code
        text = with_loss(lost('the arm does not answer') if moment is None else head(moment))
        if text != self._head.content:
            self._head.content = text
        self.curves.draw(now)
        self._show_notices()

    def _show_notices(self) -> None:
        if self._version != self._notices.version:
            self._version = self._notices.version
            self._list.content = listed(self._notices)


class Curves:
    """Curves of the largest position error of a tip and of the solve time, over the last seconds.

    The error is drawn from the time at which the goal came; without a goal there is none.
    """

    def __init__(self, gui: Any) -> None:
        self._samples: deque[tuple[float, float, float]] = deque()
        self._distance = _plot(gui, 'distance to the goal [mm]', BLUE)
        self._followed_since = np.inf
        self._solving = _plot(gui, 'solve time [ms]', ORANGE)
        self._last = self._drawn = -np.inf
        self._is_flat = False

    def add(self, moment: Moment, now: float) -> None:
        """Add the errors and the solve time of a moment; keep at most 30 samples a second."""
        if now - self._last < 1.0 / 30.0:
            return
        self._last = now
        distances = [tip.position_error for tip in moment.tips if tip.goal is not None]
        self._followed_since = min(self._followed_since, now) if distances else np.inf
        sample = (now, 1e3 * max(distances, default=0.0), 1e3 * moment.solve_time)
        self._samples.append(sample)
        while self._samples[0][0] < now - SPAN:
            self._samples.popleft()

    def draw(self, now: float) -> None:
        """Send the curves to the browsers."""
        if len(self._samples) < 2 or now - self._drawn < CURVE_PERIOD:
            return
        self._drawn = now
        times, distances, solving = np.array(self._samples).T
        is_full = now - times[0] > SPAN - 2.0 * CURVE_PERIOD
        followed = times >= self._followed_since
        is_flat = is_full and not any(map(np.ptp, (distances, solving, followed.astype(int))))
        if is_flat and self._is_flat:
            return  # it is drawn already, and drawing is work for a browser
        self._is_flat = is_flat
        self._distance.data = ((times - now)[followed], np.clip(distances[followed], *SHOWN))
        self._solving.data = (times - now, np.clip(solving, *SHOWN))


def _plot(gui: Any, title: str, colour: Colour) -> Any:
    from viser import uplot

    grid, ticks = uplot.Axis_Grid(show=False), uplot.Axis_Ticks(show=False)
    return gui.add_uplot(
        (np.empty(0), np.empty(0)),
        (
            uplot.Series(label='s'),
            uplot.Series(
                label=title, stroke=hex_of(colour), width=2, points=uplot.Series_Points(show=False)
            ),
        ),
        title=title,
        scales={
            'x': uplot.Scale(time=False, auto=False, range=(-SPAN, 0.0)),
            'y': uplot.Scale(distr=3, log=10, auto=False, range=SHOWN),
        },
        legend=uplot.Legend(show=False),
        axes=(uplot.Axis(), uplot.Axis(grid=grid, ticks=ticks, size=44)),
        height=110,
    )


def head(moment: Moment) -> str:
    """Return the state and the errors of all tips, as HTML."""
    dot = hex_of(colour_of(moment.code))
    rows = ''.join(_row(tip, moment.code) for tip in moment.tips)
    numbers = (
        f'solved in {1e3 * moment.solve_time:.2f} ms'
        f', {moment.iterations} iterations'
        f' &middot; condition {_condition(moment.condition_number)}'
    )
    return (
        f'<div style="padding:0 0.6rem">{_sentence(dot, moment.code, moment.text)}'
        '<table style="width:100%;font-size:0.8rem;margin:0 0 0.3rem;'
        f'font-variant-numeric:tabular-nums;border-collapse:collapse">{rows}</table>'
        f'<div style="font-size:0.75rem;color:#6b7280;font-variant-numeric:tabular-nums">'
        f'{numbers}</div></div>'
    )


def lost(text: str) -> str:
    """Return the heading for an arm that is gone."""
    return f'<div style="padding:0 0.6rem">{_sentence(hex_of(colour_of(LOST)), LOST, text)}</div>'


def with_loss(state: str) -> str:
    """Return a heading that a browser replaces by a grey sentence if it loses its server."""
    gone = _sentence(hex_of(colour_of(LOST)), 'no connection', NO_CONNECTION)
    return (
        f'<div class="ik-state">{state}</div>'
        f'<div class="ik-gone" style="padding:0 0.6rem">{gone}</div>'
    )


def _sentence(dot: str, code: str, text: str) -> str:
    return (
        '<div style="display:flex;gap:0.5rem;align-items:center;margin:0.2rem 0 0.3rem">'
        f'<span style="background:{dot};color:white;border-radius:0.8rem;font-weight:600;'
        f'padding:0.05rem 0.6rem;font-size:0.85rem">{html.escape(code)}</span>'
        f'<span style="font-size:0.85rem">{html.escape(text)}</span></div>'
    )


def _row(tip: TipState, code: str) -> str:
    errors = (
        f'<td style="text-align:right">{steady_length(tip.position_error)}</td>'
        f'<td style="text-align:right">{steady(np.degrees(tip.orientation_error))}&deg;</td>'
    )
    if tip.goal is None or code == 'reached':
        text = 'no goal' if tip.goal is None else 'within tolerance'
        errors = f'<td colspan="2" style="text-align:right;color:#9ca3af">{text}</td>'
    return f'<tr><td>{html.escape(tip.link)}</td>{errors}</tr>'


def _condition(number: float) -> str:
    if number == 0.0:
        return '&ndash;'
    return f'{number:.3g}' if np.isfinite(number) else '&infin;'


def listed(notices: Notices) -> str:
    """Return the last notices, as HTML."""
    rows = ''.join(
        f'<div style="margin-top:0.25rem"><span style="color:#9ca3af">{when}</span> '
        f'{html.escape(text)}</div>'
        for when, text in notices.last
    )
    return f'<div style="font-size:0.75rem;color:#4b5563;padding:0 0.6rem">{rows}</div>'
