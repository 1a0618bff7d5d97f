# SPDX-License-Identifier: Apache-2.0
"""The numbers of a retargeted clip: a table as HTML, curves for a plot, and beta's slider."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from ik_core.maths.rotations import Array

from ..drawing.colours import hex_of
from .paths import colour_of_link

DECADES = 8.0  # decades of beta on the slider: from 1 down to 1e-8, and 0 at its end
POINTS = 400  # most points of a curve
# [mm] Smaller and larger errors are drawn as these: the scale is logarithmic.
SMALLEST, LARGEST = 1e-3, 1e4
BACKGROUND = '#6b7280'


def beta_of(position: float) -> float:
    """Return beta for a position of the slider, 0 to 1; it is 0 at the lower end."""
    return 0.0 if position <= 0.0 else float(10.0 ** (-DECADES * (1.0 - position)))


def position_of(beta: float) -> float:
    """Return the slider's position for a beta."""
    if beta <= 0.0:
        return 0.0
    return float(np.clip(1.0 + np.log10(beta) / DECADES, 0.0, 1.0))


def weights_text(beta: float, alpha: float | None = None) -> str:
    """Return both weights as text; alpha is 1 - beta by default."""
    if alpha is not None:
        return f'alpha = {alpha:.2g}, beta = {beta:.2g}'
    if beta in (0.0, 1.0):
        what = 'follow the links only' if beta == 0.0 else 'copy the joints'
        return f'alpha = {1.0 - beta:g}, beta = {beta:g}: {what}'
    return f'alpha = 1 - beta, beta = {beta:.2g}'


def error_table(links: Sequence[str], errors: Array, frame: int) -> str:
    """Return a table of each link's present, mean and largest error [mm].

    errors : (frames, links) [m]; nan for unknown frames, which do not count
    """
    heads = ''.join(
        f'<th style="text-align:right;font-weight:500">{head}</th>'
        for head in ('[mm]', 'now', 'mean', 'most')
    )
    rows = ''.join(_row(link, i, errors[:, i], frame) for i, link in enumerate(links))
    return (
        '<table style="width:calc(100% - 1.2rem);margin:0.3rem 0.6rem;font-size:0.8rem;'
        'font-variant-numeric:tabular-nums;border-collapse:collapse">'
        f'<tr style="color:{BACKGROUND}">{heads}</tr>{rows}</table>'
    )


def _row(link: str, index: int, errors: Array, frame: int) -> str:
    known = errors[np.isfinite(errors)]
    mean, most = (known.mean(), known.max()) if known.size else (np.nan, np.nan)
    dot = f'<span style="color:{hex_of(colour_of_link(index))}">&#9679;</span>'
    cells = ''.join(
        f'<td style="text-align:right">{_millimetres(value)}</td>'
        for value in (errors[frame], mean, most)
    )
    return f'<tr><td>{dot} {html.escape(link)}</td>{cells}</tr>'


def _millimetres(distance: float) -> str:
    """Return a distance [m] as text in mm, with three decimals below 10 mm and one above."""
    if not np.isfinite(distance):
        return '&ndash;'
    number = 1e3 * distance
    return f'{number:.1f}' if number >= 10.0 else f'{number:.3f}'


def error_curves(errors: Array, period: float, frame: int) -> tuple[Array, ...]:
    """Return times (k,) [s], each link's errors (k,) [mm], and a curve that marks `frame`."""
    frames = np.unique(np.linspace(0, len(errors) - 1, min(len(errors), POINTS)).astype(int))
    if len(frames) < 2:
        frames = np.array([0, 0])
    known = np.where(np.isfinite(errors), errors, 0.0)
    curves = np.clip(1e3 * known[frames], SMALLEST, LARGEST)
    now = np.full(len(frames), SMALLEST)
    now[np.argmin(np.abs(frames - frame))] = curves.max()
    return (frames * period, *curves.T.copy(), now)
