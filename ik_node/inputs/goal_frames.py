# SPDX-License-Identifier: Apache-2.0
"""Where goals are given: the frame of a header, as a transform to the robot's root link.

A goal is transformed once. If its stamp is zero, by the frame as it is now: that of a moving link
by the commanded q. Otherwise by the frame as it was at the stamp, if it moves: a link with the q
of then (`configuration_history`), other frames as tf2 knows them (`tf_frames`). The robot's own
links come first. Nothing here waits: a frame that may become known in a moment is Pending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ik_core import Robot
from ik_core.exceptions import FrameNotFound
from ik_core.maths.rotations import Array

from ..conversions import Refused
from ..texts import cut

# Characters of a frame; links with similar names are not looked for where there are more.
LONGEST_NAME = 256


class Pending(Refused):
    """A frame that is not known yet, but may be soon."""


class NotYet(Pending):
    """A frame that is known, but only until some ns before the stamp, by `what`."""

    def __init__(self, ahead: int, what: str) -> None:
        text = f'the stamp is {1e-9 * ahead:.3f} s newer than {what}'
        super().__init__('stamp_too_new', text)


def too_old(age: int, oldest: int) -> Refused:
    """What to raise for a stamp of that age [ns], where the history begins that long ago [ns]."""
    text = f'the stamp is {1e-9 * age:.3f} s old; the frame is known for the last'
    return Refused('stamp_too_old', f'{text} {1e-9 * oldest:.3f} s')


class FrameSource(Protocol):
    """Something that knows frames outside the robot."""

    def lookup(self, target: str, source: str, stamp: int = 0) -> Array:
        """The (4, 4) transform from frame `source` to frame `target`; Refused where unknown.

        stamp [ns] : when; 0 stands for the latest that is known. NotYet where that is older

        May be called from any thread.
        """


class History(Protocol):
    """Where the joints were."""

    def at(self, time: int, joints: Sequence[int]) -> Array:
        """The positions of these joints at a time [ns]; NaN where nothing is known of a joint.

        NotYet and Refused where that is too late and too early.
        """


class Frames:
    """The frames of a robot, and those of another source where it does not know one.

    prefix : what others put before the names of the links, see `frame_prefix`
    """

    def __init__(
        self,
        robot: Robot,
        base_link: str,
        others: FrameSource | None = None,
        history: History | None = None,
        prefix: str = '',
    ) -> None:
        self._robot = robot
        self._base_link = base_link
        self._others = others
        self._history = history
        self._prefix = prefix
        self._links = frozenset(robot.link_names)
        self._still = frozenset(robot.chain(base_link))

    def in_root(self, frame_id: str, q: Array, stamp: int = 0) -> Array:
        """The (4, 4) transform from a frame to the root link's, for joint positions q (n,).

        stamp [ns] : of a frame that moves, as it was then, by the history; 0: as it is

        An empty frame is base_link, and links may have the prefix. Refused when nobody knows the
        frame.
        """
        name = frame_id.removeprefix('/')
        if len(name) > LONGEST_NAME:
            raise Refused('unknown_frame', f'unknown frame {cut(name, LONGEST_NAME)!r}')
        link = name if name in self._links else name.removeprefix(self._prefix)
        link = link or self._base_link
        if link == self._robot.base_link:
            return np.eye(4)
        try:
            return self._robot.forward_kinematics(self._then(link, q, stamp), link)
        except FrameNotFound as error:
            text = f'unknown frame {frame_id!r}: {error}'
        if self._others is None:
            raise Refused('unknown_frame', text)
        try:
            return self._others.lookup(self._prefix + self._robot.base_link, name, stamp)
        except Refused as refused:
            if refused.reason == 'unknown_frame':
                raise type(refused)(refused.reason, f'{text}; {refused}') from refused
            raise

    def _then(self, link: str, q: Array, stamp: int) -> Array:
        """q (n,) with the joints between the base and a link where they were at a stamp [ns]."""
        joints = [i for i in self._robot.chain(link) if i not in self._still]
        if stamp == 0 or not joints or self._history is None:
            return q
        then = self._history.at(stamp, joints)
        q = q.copy()
        q[joints] = np.where(np.isnan(then), q[joints], then)
        return q
