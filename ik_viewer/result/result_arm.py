# SPDX-License-Identifier: Apache-2.0
"""`ResultArm`: an arm that moves along a path until it is given a goal, and then follows that."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ik_core.collision import World
from ik_core.maths.rotations import Array

from ..arm import Description, GoalKind, Moment, Setting
from ..local.local_arm import LocalArm
from ..play.playhead import Playhead

PLAYING = 'playing'  # Code of an arm on its path, beside those of ~/status


@dataclass(frozen=True, eq=False)
class Result:
    """A robot on a path, and what is drawn beside it.

    path (frames, n) : joint values, at least one frame, also outside of the limits
    period [s] : time from frame to frame
    ghosts (k, n) : more configurations
    world : obstacles; nobody else changes them
    """

    description: Description
    path: Array
    period: float
    ghosts: Array
    world: World

    def has_scene_of(self, other: Result) -> bool:
        """Return whether robot and meshes are those of another result, and neither has a world."""
        own, its = self.description, other.description
        same = own.robot is its.robot and own.mesh_folders == its.mesh_folders
        return same and not len(self.world) and not len(other.world)


class ResultArm:
    """An `Arm` over a `LocalArm`: it shows a path, and follows goals from where that is left.

    A goal of any kind ends the path; `play` returns to it. Raises IkError for unknown tips.
    """

    def __init__(self, result: Result, tips: Sequence[str] = ()) -> None:
        self.result = result
        self._arm = _arm_of(result, tips)
        self._begin()

    def set_result(self, result: Result, tips: Sequence[str] = ()) -> None:
        """Show another result, on its path again. Raises IkError for unknown tips."""
        before, self._arm, self.result = self._arm, _arm_of(result, tips), result
        self._begin()
        before.close()

    def _begin(self) -> None:
        self.playhead = Playhead(len(self.result.path), self.result.period)
        self._on_path, self._left, self._seen = True, -np.inf, time.monotonic()

    @property
    def on_path(self) -> bool:
        """True if it is on the path, not following goals."""
        return self._on_path

    def play(self, playing: bool) -> None:
        """Return to the path, and play it, or stand at its frame."""
        self.playhead.playing, self._on_path = playing, True

    def go_to(self, frame: int) -> None:
        """Return to the path, and stand at a frame."""
        self.playhead.go_to(frame)
        self.play(False)

    def stand_at(self, q: Array) -> None:
        """Leave the path, and stand at q (n,)."""
        self._on_path, self._left = False, time.monotonic()
        self._arm.stand_at(q)

    def _leave(self) -> None:
        if self._on_path:
            self.stand_at(self.result.path[self.playhead.frame])

    @property
    def _code(self) -> str:
        if len(self.result.path) == 1:
            return 'idle'
        return PLAYING if self.playhead.playing else 'paused'

    # The protocol

    @property
    def description(self) -> Description | None:
        """The robot of the result."""
        return self.result.description

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The parameters of the tracker that follows goals."""
        return self._arm.settings

    def read(self) -> Moment | None:
        """Return the frame of the path, or the state of the tracker once the path is left."""
        moment, now = self._arm.read(), time.monotonic()
        passed, self._seen = now - self._seen, now
        if moment is None or (not self._on_path and moment.time > self._left):
            return moment
        frames = len(self.result.path)
        if self._on_path and frames > 1:
            self.playhead.advance(passed)
        frame = self.playhead.frame
        place = f'frame {frame + 1} of {frames}' if frames > 1 else 'the given joint values'
        return Moment(
            now,
            self.result.path[frame],
            tuple(tip._replace(goal=None) for tip in moment.tips),
            self._code,
            f'{place}; drag a tip to leave it',
        )

    def take_notices(self) -> Sequence[str]:
        """Return the tracker's notices."""
        return self._arm.take_notices()

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Leave the path, and follow a goal."""
        self._leave()
        self._arm.set_goal(tip, transform, kind)

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Leave the path, and move a tip."""
        self._leave()
        self._arm.set_twist(tip, linear, angular)

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Leave the path, and move joints."""
        self._leave()
        self._arm.set_joint_goal(positions)

    def home(self) -> None:
        """Return to the first frame of the path."""
        self.go_to(0)

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """Change parameters of the tracker."""
        self._arm.set_settings(values)

    def pause(self, paused: bool) -> None:
        """Stop or resume, on the path or on the way to a goal."""
        if self._on_path:
            self.playhead.playing = not paused
        else:
            self._arm.pause(paused)

    def reset(self) -> None:
        """Drop the goals."""
        self._arm.reset()

    def close(self) -> None:
        """End the tracker's thread."""
        self._arm.close()


def _arm_of(result: Result, tips: Sequence[str]) -> LocalArm:
    return LocalArm(result.description, tips, q0=result.path[0])
