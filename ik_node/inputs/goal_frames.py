# SPDX-License-Identifier: Apache-2.0
"""Frames of goals: the transform from the frame of a header to the robot's root link.

A goal is transformed once. With a zero stamp, the present pose of the frame counts: for a link,
that at the commanded q. Otherwise the pose at the stamp counts: for a link, that at the q of then
(`configuration_history`), for other frames that of tf2 (`tf_frames`). A name that is both a link
and a tf2 frame means the link. Nothing here waits: a frame that may become known soon raises
Pending.
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

# Longest name of a frame: for longer ones, no search for similar names of links, which is slow.
LONGEST_NAME = 256


class Pending(Refused):
    """A frame that is unknown, but may become known soon."""


class NotYet(Pending):
    """A frame whose newest pose is older than the stamp, by `ahead` [ns]; `what` gave it."""

    def __init__(self, ahead: int, what: str) -> None:
        text = f'the stamp is {1e-9 * ahead:.3f} s newer than {what}'
        super().__init__('stamp_too_new', text)


def too_old(age: int, oldest: int) -> Refused:
    """Return the error for a stamp of this age [ns], if the history begins `oldest` [ns] ago."""
    text = f'the stamp is {1e-9 * age:.3f} s old; the frame is known for the last'
    return Refused('stamp_too_old', f'{text} {1e-9 * oldest:.3f} s')


class FrameSource(Protocol):
    """A source of frames outside the robot, such as tf2."""

    def lookup(self, target: str, source: str, stamp: int = 0) -> Array:
        """Return the transform (4, 4) from frame `source` to frame `target`; Refused if unknown.

        stamp : [ns] the time; 0 for the latest transform. NotYet if the latest one is older

        May be called from any thread.
        """


class History(Protocol):
    """A history of joint positions."""

    def at(self, time: int, joints: Sequence[int]) -> Array:
        """Return the positions of these joints at a time [ns]; NaN for joints without a history.

        Raises NotYet for a time after the newest position, and Refused for one before the oldest.
        """


class Frames:
    """The frames of a robot, and those of another source for names that are no links.

    prefix : the prefix of names of links in messages, as the parameter `frame_prefix`
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
        """Return the transform (4, 4) from a frame to the root link's, at joint positions q (n,).

        frame_id : '' is the base link; names of links may begin with the node's tf prefix
        stamp : [ns] a frame that moves is taken at this time; 0: as it is now

        Raises Refused if the frame is unknown.
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
        """Return q (n,) with joints between base and link at their positions of the stamp [ns]."""
        joints = [i for i in self._robot.chain(link) if i not in self._still]
        if stamp == 0 or not joints or self._history is None:
            return q
        then = self._history.at(stamp, joints)
        q = q.copy()
        q[joints] = np.where(np.isnan(then), q[joints], then)
        return q
