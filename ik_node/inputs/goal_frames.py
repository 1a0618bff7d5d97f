"""Where goals are given: the frame of a header, as a transform to the robot's root link.

The robot's own links come first, and a goal in a moving link's frame is transformed once, on
receipt, with the commanded q. Other frames are looked up elsewhere (`tf_frames`). Nothing here
waits: a frame that may become known in a moment is Pending.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ik_core import Robot
from ik_core.exceptions import FrameNotFound
from ik_core.maths.rotations import Array

from ..conversions import Refused
from ..texts import cut

LONGEST_NAME = 256
"""Characters of a frame; links with similar names are not looked for where there are more."""


class Pending(Refused):
    """A frame that is not known yet, but may be soon."""


class FrameSource(Protocol):
    """Something that knows frames outside the robot."""

    def lookup(self, target: str, source: str) -> Array:
        """The (4, 4) transform from frame `source` to frame `target`; Refused where unknown.

        May be called from any thread.
        """


class Frames:
    """The frames of a robot, and those of another source where it does not know one."""

    def __init__(self, robot: Robot, base_link: str, others: FrameSource | None = None) -> None:
        self._robot = robot
        self._base_link = base_link
        self._others = others

    def in_root(self, frame_id: str, q: Array) -> Array:
        """The (4, 4) transform from a frame to the root link's, for joint positions q (n,).

        An empty frame is base_link. Refused when nobody knows the frame.
        """
        name = frame_id.removeprefix('/') or self._base_link
        if len(name) > LONGEST_NAME:
            raise Refused('unknown_frame', f'unknown frame {cut(name, LONGEST_NAME)!r}')
        if name == self._robot.base_link:
            return np.eye(4)
        try:
            return self._robot.forward_kinematics(q, name)
        except FrameNotFound as error:
            text = f'unknown frame {frame_id!r}: {error}'
        if self._others is None:
            raise Refused('unknown_frame', text)
        try:
            return self._others.lookup(self._robot.base_link, name)
        except Refused as refused:
            raise type(refused)(refused.reason, f'{text}; {refused}') from refused
