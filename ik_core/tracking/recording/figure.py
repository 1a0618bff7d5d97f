# SPDX-License-Identifier: Apache-2.0
"""The figure of a recorded run: errors, solve times, and joints relative to their limits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    log_scale,
    new_figure,
    nth_style,
)
from ..status import TrackStatus
from .history import History
from .reading import Recording

STATUS_COLOURS = {
    TrackStatus.IDLE: '#DDDDDD',
    TrackStatus.TRACKING: SKY,
    TrackStatus.REACHED: GREEN,
    TrackStatus.CLOSEST: ORANGE,
    TrackStatus.STOPPED_SHORT: ORANGE,
    TrackStatus.OTHER_CONFIGURATION: ORANGE,
    TrackStatus.TOO_FEW_JOINTS: '#F0E442',
    TrackStatus.SEARCHING: PINK,
    TrackStatus.BLOCKED: RED,
    TrackStatus.OBSTACLE: '#882255',
    TrackStatus.STALE: BLACK,
    TrackStatus.PAUSED: GREY,
}
# [mm or deg] Smaller errors are drawn as this: the axis is logarithmic.
LEAST_ERROR = 1e-9


def draw_errors(recording: Recording, runs: Sequence[History]) -> Any:
    """Return the figure: panels over the same time, one below the other."""
    robot, tips = recording.robot, runs[0].tips
    figure = new_figure(10.0, 10.0)
    panels = figure.subplots(6, 1, sharex=True, height_ratios=(0.22, 1, 1, 1, 1.4, 1.4))
    status, position, orientation, times, places, speeds = panels
    for run in runs:
        _draw_statuses(status, run)
        for tip in range(len(tips)):
            _log(position, run, 1e3 * run.position_errors[:, tip], tip)
            _log(orientation, run, np.degrees(run.orientation_errors[:, tip]), tip)
        times.plot(run.seconds, 1e6 * run.solve_times, color=BLUE, linewidth=0.8)
        for joint in range(robot.n):
            places.plot(run.seconds, run.place_in_range[:, joint], **nth_style(joint))
            speeds.plot(run.seconds, run.fraction_of_speed[:, joint], **nth_style(joint))
    _name_panels(panels)
    lines = places.get_lines()[: robot.n]
    figure.legend(
        position.get_lines()[: len(tips)], tips, loc='outside right center', title='tips'
    )
    figure.legend(lines, robot.joint_names, loc='outside right lower', title='joints')
    shown = dict.fromkeys(state for run in runs for state in run.statuses)
    patches = [_patch(state) for state in shown]
    figure.legend(handles=patches, loc='outside right upper', title='status')
    figure.suptitle(f'{robot.name}: a recorded run')
    return figure


def _log(axes: Any, run: History, values: Any, tip: int) -> None:
    shown = np.maximum(values, LEAST_ERROR)
    axes.plot(run.seconds, shown, **nth_style(tip))


def _draw_statuses(axes: Any, run: History) -> None:
    """Draw a band in the colour of its status for every stretch of time with one status."""
    pairs = enumerate(itertools.pairwise(run.statuses), 1)
    changes = [i for i, (before, after) in pairs if before is not after]
    for first, last in itertools.pairwise([0, *changes, len(run.statuses) - 1]):
        colour = STATUS_COLOURS[run.statuses[first]]
        axes.axvspan(run.seconds[first], run.seconds[last], color=colour, linewidth=0.0)


def _patch(status: TrackStatus) -> Any:
    from matplotlib.patches import Patch

    return Patch(color=STATUS_COLOURS[status], label=status.value)


def _name_panels(panels: Sequence[Any]) -> None:
    status, position, orientation, times, places, speeds = panels
    status.set(yticks=[], ylabel='')
    status.grid(False)
    for axes in (position, orientation):
        log_scale(axes, 'y')
    position.set(ylabel='position\nerror [mm]')
    orientation.set(ylabel='orientation\nerror [deg]')
    times.set(ylabel='solve time [µs]', ylim=(0.0, None))
    places.set(ylabel='position between the limits\n(−1 lower, 1 upper)')
    speeds.set(ylabel='velocity over its limit', xlabel='time [s]')
    for axes in (places, speeds):
        axes.set_ylim(-1.1, 1.1)
        for limit in (-1.0, 1.0):
            axes.axhline(limit, color=BLACK, linewidth=0.8, linestyle=':')
