# SPDX-License-Identifier: Apache-2.0
"""Plots of errors, with a line in its colour for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ik_core.maths.rotations import Array

from ..drawing.colours import hex_of
from .methods import COLOURS

PERIOD = 0.2  # [s] between two updates of a table and its curves


def add_plot(
    gui: Any,
    title: str,
    names: Sequence[str],
    data: tuple[Array, ...],
    scales: Mapping[str, Any],
    *,
    order: float,
    height: int = 190,
) -> Any:
    """Add a plot; `data` has the updates (k,), then the errors (k,) of each method."""
    from viser import uplot

    lines = [
        uplot.Series(
            label=name,
            stroke=hex_of(colour),
            width=2,
            points=uplot.Series_Points(show=False),
        )
        for name, colour in zip(names, COLOURS, strict=False)
    ]
    grid, ticks = uplot.Axis_Grid(show=False), uplot.Axis_Ticks(show=False)
    return gui.add_uplot(
        data,
        (uplot.Series(label='update'), *lines),
        title=title,
        scales=dict(scales),
        axes=(uplot.Axis(grid=grid, ticks=ticks), uplot.Axis(grid=grid, ticks=ticks, size=58)),
        legend=uplot.Legend(show=False),
        height=height,
        padding=(8, 24, 0, 0),
        order=order,
    )
