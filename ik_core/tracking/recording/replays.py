# SPDX-License-Identifier: Apache-2.0
"""Replay of a recording, and comparison of both runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...figures import BLUE, SKY, draw_file, new_figure
from ...maths.rotations import Array
from ...optim.search import Clock
from ...robot.robot import Robot
from ..state import Snapshot
from ..status import Command
from ..tracker import Tracker
from .reading import Recording
from .recorder import STATUSES
from .values import Decoder


class ReplayedClock:
    """A clock with the recorded readings, in order; it stops after the last."""

    def __init__(self, readings: Array) -> None:
        self._readings = iter(readings.tolist())
        self._last = 0.0

    def __call__(self) -> float:
        """Return the next reading."""
        self._last = next(self._readings, self._last)
        return self._last


@dataclass(frozen=True)
class Replay:
    """One segment, run again.

    `now` [s], `recorded` and `replayed` (ticks, n), `statuses`, as recorded and as replayed.
    `first_difference`: the first tick that differs in any bit of q, in its status, or in its
    iterations; None where none does. `failure`: why it ended early, or empty.
    """

    now: Array
    recorded: Array
    replayed: Array
    statuses: tuple[tuple[str, str], ...]
    first_difference: int | None
    failure: str = ''

    @property
    def is_same(self) -> bool:
        """True if the replay is the same as the recording, to its end."""
        return self.first_difference is None and not self.failure

    @property
    def largest_difference(self) -> float:
        """The largest difference of all joints and ticks that were run [rad or m]."""
        ran = len(self.replayed)
        return float(np.abs(self.recorded[:ran] - self.replayed).max(initial=0.0))


def replay(recording: Recording) -> list[Replay]:
    """Run the segments again. The reason why a segment can't be run is in its `failure`."""
    return [_replay_segment(recording.robot, *segment) for segment in recording.segments]


def _replay_segment(robot: Robot, segment: dict[str, Any], columns: dict[str, Array]) -> Replay:
    clock = ReplayedClock(columns['clock'])
    commands: list[Command] = []
    ran: list[str] = []
    failure = ''
    try:
        for _, command in run_segment(robot, segment, columns, clock):
            ran.append(command.status.value)  # raises for a damaged state
            commands.append(command)
    except Exception as error:  # what a damaged segment holds may fail anywhere
        failure = ' '.join(f'{type(error).__name__}: {error}'.split())
    replayed = np.array([command.q for command in commands]).reshape(-1, robot.n)
    recorded = columns['q'].reshape(-1, robot.n)
    statuses = [STATUSES[i].value for i in columns['status'].tolist()]
    differs = (recorded[: len(replayed)] != replayed).any(axis=1)
    pairs = tuple(zip(statuses, ran, strict=False))
    differs |= np.array([before != again for before, again in pairs], bool)  # there may be none
    differs |= columns['iterations'][: len(commands)] != [c.iterations for c in commands]
    first = int(np.argmax(differs)) if differs.any() else None
    return Replay(
        now=columns['now'],
        recorded=recorded,
        replayed=replayed,
        statuses=pairs,
        first_difference=len(commands) if failure and first is None else first,
        failure=failure,
    )


def run_segment(
    robot: Robot, segment: dict[str, Any], columns: dict[str, Array], clock: Clock
) -> Iterator[tuple[Tracker, Command]]:
    """Yield a tracker with the recorded instructions at the same ticks, and each command."""
    decoder = Decoder(robot, columns['numbers'])
    snapshot = Snapshot(*(decoder.decode(segment[name]) for name in Snapshot._fields))
    tracker = Tracker.from_snapshot(snapshot, clock, background=None)
    instructions = deque(segment['instructions'])
    for tick, now in enumerate(columns['now'].tolist()):
        due = []
        while instructions and instructions[0][0] <= tick:
            due.append(decoder.instruction(*instructions.popleft()[1:]))
        command = tracker.tick(now, due)
        for _, error in command.refused:
            raise error
        yield tracker, command


def draw_replay(recording: Recording, replays: list[Replay], path: Path) -> None:
    """Draw every joint over time, as recorded and as replayed. Raises InvalidOption."""
    draw_file(path, _joint_panels, recording.robot, replays)


def _joint_panels(robot: Robot, replays: list[Replay]) -> Any:
    figure = new_figure(9.0, 0.6 + 1.3 * robot.n)
    panels = figure.subplots(robot.n, 1, sharex=True, squeeze=False)[:, 0]
    first = min((run.now[0] for run in replays if len(run.now)), default=0.0)
    for run in replays:
        now = run.now - first
        for i, axes in enumerate(panels):
            axes.plot(now, run.recorded[:, i], color=SKY, linewidth=4.0, label='recorded')
            replayed = run.replayed[:, i]
            axes.plot(now[: len(replayed)], replayed, color=BLUE, label='replayed')
    for i, axes in enumerate(panels):
        axes.set_ylabel(f'[{robot.joint_units[i]}]')
        axes.set_title(robot.joint_names[i], loc='left', fontsize=8)
    panels[-1].set_xlabel('time [s]')
    figure.legend(handles=panels[0].get_lines()[:2], loc='outside upper right', ncols=2)
    return figure
