# SPDX-License-Identifier: Apache-2.0
"""The numbers of a comparison: a table as HTML, and curves for a plot."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from ik_core.display import steady, steady_length
from ik_core.maths.rotations import Array

from ..drawing.colours import hex_of
from ..drawing.shapes import Colour
from .stepped_solve import Curve, MethodState, Phase, SteppedSolve

POINTS = 160  # most points of a curve, approximately
SMALLEST = 1e-3  # [mm or deg] smaller errors are drawn as this: the scale is logarithmic
HEADS = ('', 'error', 'updates', 'an update', 'the solve')
REACHED, SHORT = '&#10003;', '&#10007;'
UNKNOWN = '<span style="color:#9ca3af">&ndash;</span>'


def table(solves: Sequence[SteppedSolve], colours: Sequence[Colour]) -> str:
    """Return a table with a row for each method, as HTML."""
    rows = ''.join(_rows(solve, colour) for solve, colour in zip(solves, colours, strict=True))
    return framed(HEADS, rows)


def framed(names: Sequence[str], rows: str) -> str:
    """Return an HTML table: the names of its columns above `rows`, which are HTML."""
    heads = ''.join(f'<th style="text-align:right;font-weight:500">{name}</th>' for name in names)
    return (
        '<table style="width:calc(100% - 1.2rem);margin:0.3rem 0.6rem;font-size:0.75rem;'
        'font-variant-numeric:tabular-nums;border-collapse:collapse">'
        f'<tr style="color:#6b7280">{heads}</tr>{rows}</table>'
    )


def _rows(solve: SteppedSolve, colour: Colour) -> str:
    """Return two rows: the method's name and status, unless it succeeded, and its numbers."""
    state, dot = solve.state, dot_of(colour)
    name = f'<b>{html.escape(solve.method.name)}</b>'
    cells = ''.join(
        f'<td style="text-align:right;white-space:nowrap">{cell}</td>' for cell in cells_of(state)
    )
    return (
        f'<tr style="border-top:1px solid #e5e7eb"><td colspan="{len(HEADS)}">{dot} {name} '
        f'<span style="color:#6b7280">{html.escape(remark(state))}</span></td></tr>'
        f'<tr>{cells}</tr>'
    )


def dot_of(colour: Colour) -> str:
    """Return a square in the colour of a method, as HTML."""
    return f'<span style="color:{hex_of(colour)}">&#9632;</span>'


def remark(state: MethodState) -> str:
    """Return a remark on a state: its failure, why it fell short, or its phase."""
    if state.phase is Phase.FAILED:
        return f'failed: {state.text}'
    if state.text:
        return state.text.partition(':')[2].strip() or ''
    return '' if state.phase is Phase.RUNNING else state.phase.value


def cells_of(state: MethodState) -> list[str]:
    """Return the cells of a row: mark, errors, updates, time of an update and of the solve."""
    if state.phase is Phase.WAITING:
        return ['', *[UNKNOWN] * (len(HEADS) - 1)]
    mark = '' if not state.text else REACHED if state.reached else SHORT
    known = state.time > 0.0
    return [
        mark,
        _errors(state),
        f'{state.iterations}',
        f'{1e6 * state.update_time:.1f} &micro;s' if known else UNKNOWN,
        _duration(state.time) if known else UNKNOWN,
    ]


def _errors(state: MethodState) -> str:
    """Return the position error, and the orientation error in degrees if there is one."""
    position = steady_length(state.position_error)
    if state.orientation_error == 0.0:
        return position
    return f'{position} {steady(np.degrees(state.orientation_error))}&deg;'


def _duration(seconds: float) -> str:
    return f'{1e3 * seconds:.3f} ms' if seconds < 0.1 else f'{seconds:.2f} s'


def plotted(curves: Sequence[Curve], turned: bool = False) -> tuple[Array, ...]:
    """Return the updates (k,), and each curve's errors (k,) [mm], or [deg] if `turned`.

    A curve that has ended stays at its last error. Curves may grow during the call.
    """
    counts = [len(curve.orientation) for curve in curves]
    longest = max([3, *counts]) - 1
    spread = np.round(np.geomspace(1.0, longest, POINTS)).astype(int).tolist()
    updates = np.unique([*spread, *(count - 1 for count in counts if count > 1)])
    errors = [
        _errors_at(curve, count, updates, turned)
        for curve, count in zip(curves, counts, strict=True)
    ]
    return (updates.astype(float), *errors)


def _errors_at(curve: Curve, count: int, updates: Array, turned: bool) -> Array:
    if not count:
        return np.full(len(updates), SMALLEST)
    if turned:
        errors = np.degrees(curve.orientation[:count])
    else:
        errors = 1e3 * np.array(curve.position[:count])
    return np.maximum(errors[np.minimum(updates, count - 1)], SMALLEST)
