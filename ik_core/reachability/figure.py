# SPDX-License-Identifier: Apache-2.0
"""A picture of a reachability map: slices through it, one across each axis."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..figures import RED, draw_file, new_figure
from ..maths.rotations import Array
from .maps import ReachabilityMap

AXES = 'xyz'
FRACTION = 'fraction of orientations reached'
MANIPULABILITY = 'mean manipulability $\\sqrt{\\det JJ^T}$ [m³]'


def draw(map_: ReachabilityMap, path: str | os.PathLike[str]) -> None:
    """Draw slices through the middle of the reached voxels; the suffix of `path` is the format.

    The upper row shows the fraction of orientations that is reached, or for a single orientation
    the reached voxels; the lower row the manipulability, if the map has it. Raises InvalidOption
    without matplotlib, or for an unknown format.
    """
    draw_file(os.fspath(path), _slices, map_)


def _slices(map_: ReachabilityMap) -> Any:
    shown = [(map_.fraction, FRACTION if map_.orientations > 1 else '', 1.0)]
    if map_.manipulability is not None:
        best = float(map_.manipulability.max(initial=0.0)) or 1.0
        shown.append((map_.manipulability, MANIPULABILITY, best))
    figure = new_figure(12.0, 0.6 + 3.9 * len(shown))
    rows = figure.subplots(len(shown), 3, squeeze=False)
    middle = _middle(map_)
    for row, (values, label, most) in zip(rows, shown, strict=True):
        for normal, axes in zip((2, 1, 0), row, strict=True):
            image = _slice(axes, map_, values, normal, middle[normal], most)
        if label:  # else all reached voxels have one colour
            figure.colorbar(image, ax=list(row), label=label)
    figure.suptitle(_title(map_))
    return figure


def _slice(
    axes: Any, map_: ReachabilityMap, values: Array, normal: int, at: int, most: float
) -> Any:
    """Draw a slice across the axis `normal`; voxels that are not reached stay white."""
    across, up = [i for i in range(3) if i != normal]
    part = np.take(values, at, axis=normal)
    reached = np.take(map_.reached, at, axis=normal) > 0
    half = 0.5 * map_.grid.step
    x, y = map_.grid.axis(across), map_.grid.axis(up)
    image = axes.imshow(
        np.ma.masked_where(~reached, part).T,
        origin='lower',
        extent=(x[0] - half, x[-1] + half, y[0] - half, y[-1] + half),
        vmin=0.0,
        vmax=most,
        cmap='viridis',
    )
    axes.set_title(f'{AXES[normal]} = {map_.grid.axis(normal)[at]:.3g} m')
    axes.set_xlabel(f'{AXES[across]} [m]')
    axes.set_ylabel(f'{AXES[up]} [m]')
    axes.plot(0.0, 0.0, '+', color=RED)  # the root link
    return image


def _middle(map_: ReachabilityMap) -> tuple[int, ...]:
    """The index of the middle of the reached voxels, or of the grid if there are none."""
    reached = np.argwhere(map_.reached)
    if not len(reached):
        return tuple(n // 2 for n in map_.grid.shape)
    return tuple(int(i) for i in np.round(reached.mean(axis=0)))


def _title(map_: ReachabilityMap) -> str:
    settings = map_.settings
    per_voxel = '' if map_.orientations == 1 else f', {map_.orientations} orientations each'
    return (
        f'{settings["link"]} of {settings["robot"]}: {map_.volume:.3g} m$^3$ in reach '
        f'(voxels of {map_.grid.step:g} m{per_voxel})'
    )
