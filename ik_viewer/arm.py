# SPDX-License-Identifier: Apache-2.0
"""The protocol of an arm that a page shows and moves, a ROS node or a tracker in this process.

The page uses an arm only through this protocol. It reads the state as one value, a `Moment`. Its
requests are calls that return at once; their effects show in later moments, refusals in notices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ik_core import Robot, World
from ik_core.exceptions import IkError
from ik_core.maths.rotations import Array
from ik_core.robot import ReachCone


class GoalKind(Enum):
    """Parts of a goal's pose that count."""

    POSE = 'pose'
    POSITION = 'position'
    AXIS = 'axis'  # position, and direction of the z axis


@dataclass(frozen=True)
class Description:
    """A robot, and the data to draw it.

    urdf : the URDF's text; empty for robots from motion capture
    folder : the folder of the user's URDF file, for relative paths of meshes; None for a text from
        a message, which may only open meshes in `mesh_folders`
    mesh_folders : folders named by the user; packages of package:// are searched there
    up : the axis of the root link that points up, '+z', or '+y' for motion capture
    cones : reach limits to draw in addition to joint limits; a tracker does not keep them
    """

    robot: Robot
    urdf: str = ''
    folder: Path | None = None
    mesh_folders: tuple[Path, ...] = ()
    up: str = '+z'
    cones: tuple[ReachCone, ...] = ()


class TipState(NamedTuple):
    """The state of a tip.

    tool : pose (4, 4) of the tool centre point in the tip link's frame
    goal : (4, 4) in the root link's frame; None without a goal
    position_error, orientation_error : [m], [rad] from the goal
    """

    link: str
    tool: Array
    kind: GoalKind = GoalKind.POSE
    goal: Array | None = None
    position_error: float = 0.0
    orientation_error: float = 0.0


class Moment(NamedTuple):
    """The state of an arm at a moment. Its arrays never change.

    time : [s] on this machine's monotonic clock
    q : commanded positions (n,)
    code, text : code of ~/status ('reached', 'closest', ...), and its sentence
    solution : the solver's solution (n,); None if unknown
    solve_time, iterations : [s] and number since the last goal
    condition_number : of the goals' Jacobian; 0 while no goal is followed
    world : obstacles that the arm avoids; a new object after each change, None for none
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
    world: World | None = None


@dataclass(frozen=True)
class Setting:
    """A parameter: its value, meaning and range.

    kind : bool, int, float, str, tuple (of names) or list (of three numbers)
    bounds : inclusive
    choices : the allowed texts; empty for any text
    static : whether it can't be changed on the page
    """

    name: str
    kind: type
    value: Any
    doc: str = ''
    bounds: tuple[float, float] = (-np.inf, np.inf)
    choices: tuple[str, ...] = ()
    static: bool = False


class Arm(Protocol):
    """An arm that follows goals. Its methods may be called from any thread and return at once."""

    @property
    def description(self) -> Description | None:
        """The robot; a new object for each new robot, None while there is no robot."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The parameters by name, in the order of display; a new object after each change."""

    def read(self) -> Moment | None:
        """Return its state now; None if nothing is known: no robot yet, or the node is gone."""

    def take_notices(self) -> Sequence[str]:
        """Return the errors and refusals since the last call, each a sentence."""

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Set a goal (4, 4) in the root link's frame, for the tool centre point of a tip."""

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Move a tip at velocities (3,) [m/s] and (3,) [rad/s], in the root link's frame.

        The motion ends unless the call is repeated (within 0.1 s by default).
        """

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Move joints to positions [rad or m], by name; others keep their goals, or stay."""

    def home(self) -> None:
        """Move all joints to their home positions: those of the start, unless others are set."""

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """Change parameters, all of them or none."""

    def pause(self, paused: bool) -> None:
        """Stop and keep the goals; with False, resume them."""

    def reset(self) -> None:
        """Drop the goals."""

    def close(self) -> None:
        """Release the arm, and end all threads that were started for it."""


def error_text(error: Exception) -> str:
    """Return the text of an error for users."""
    return str(error) if isinstance(error, IkError) else f'{type(error).__name__}: {error}'
