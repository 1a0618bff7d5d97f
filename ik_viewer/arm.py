# SPDX-License-Identifier: Apache-2.0
"""The protocol of an arm that a page shows and steers, behind ROS or in this process.

The page knows this protocol and nothing of what is behind it. What it sees of a moment is one
value, `Moment`; what it asks for are calls that return at once. What came of them is in later
moments, and in the notices where something was refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ik_core import Robot
from ik_core.exceptions import IkError
from ik_core.maths.rotations import Array
from ik_core.robot import ReachCone


class GoalKind(Enum):
    """Parts of a goal's pose that count."""

    POSE = 'pose'
    POSITION = 'position'
    AXIS = 'axis'
    """Position, and direction of the z axis."""


@dataclass(frozen=True)
class Description:
    """A robot, and what is needed to draw it.

    urdf : its URDF's text; empty where it comes from motion capture
    folder : of the URDF file that the user named: meshes are found relative to it. None where the
        text came by a message, whose mesh names open nothing but what is in `mesh_folders`
    mesh_folders : named by the user; the packages of package:// are looked for in them
    up : the axis of the root link that points up, '+z', or '+y' for motion capture
    cones : limits to draw beside those of the joints; a tracker does not keep them
    """

    robot: Robot
    urdf: str = ''
    folder: Path | None = None
    mesh_folders: tuple[Path, ...] = ()
    up: str = '+z'
    cones: tuple[ReachCone, ...] = ()


class TipState(NamedTuple):
    """One tip at a moment; the goal (4, 4) in the root link's frame is None where there is none.

    `tool` (4, 4) is the tool centre point in the tip link's frame.
    """

    link: str
    tool: Array
    kind: GoalKind = GoalKind.POSE
    goal: Array | None = None
    position_error: float = 0.0
    orientation_error: float = 0.0


class Moment(NamedTuple):
    """An arm at a moment. Arrays are not changed after.

    `time` [s] of this machine's monotonic clock; `q` (n,) is what is commanded; `solution` (n,)
    is where the solver wants the joints, None where that is not known; `code` is that of
    ~/status ('reached', 'closest', ...), `text` its sentence. `solve_time` [s] and `iterations`
    are what was needed since the goal came, `condition_number` is 0 where no goal is followed.
    """

    time: float
    q: Array
    tips: tuple[TipState, ...]
    code: str
    text: str
    solution: Array | None = None
    solve_time: float = 0.0
    iterations: int = 0
    condition_number: float = 0.0


@dataclass(frozen=True)
class Setting:
    """A parameter: what it means, what it is, and what it may be.

    `kind` is bool, int, float, str, tuple (of names) or list (of three numbers); `bounds` are
    inclusive, `choices` empty where any text will do. A `static` one can't be changed here.
    """

    name: str
    kind: type
    value: Any
    doc: str = ''
    bounds: tuple[float, float] = (-np.inf, np.inf)
    choices: tuple[str, ...] = ()
    static: bool = False


class Arm(Protocol):
    """An arm that follows goals. All may be called from any thread and return at once."""

    @property
    def description(self) -> Description | None:
        """The robot; another object once it is another robot. None while there is none."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The parameters by name, in an order to show; a new object where one has changed."""

    def look(self) -> Moment | None:
        """Return its state now; None if nothing is known: no robot yet, or the node is gone."""

    def take_notices(self) -> Sequence[str]:
        """Return the errors and refusals since the last call, each a sentence."""

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Give a tip a goal (4, 4), in the root link's frame, for its tool centre point."""

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Carry a tip on by a velocity (3,) [m/s] and (3,) [rad/s], in the root link's frame.

        It ends unless it is given again (after 0.1 s by default).
        """

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Move joints to positions [rad or m] by name; the others keep their goal, or stay."""

    def home(self) -> None:
        """Move all joints to where they were in the beginning, or to a home that was set."""

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """Change parameters, all of them or none."""

    def pause(self, paused: bool) -> None:
        """Stop and keep the goals; or, with False, go on with them."""

    def reset(self) -> None:
        """Drop the goals."""

    def close(self) -> None:
        """Leave it alone: ends what was started for it."""


def error_text(error: Exception) -> str:
    """An error as text for people."""
    return str(error) if isinstance(error, IkError) else f'{type(error).__name__}: {error}'
