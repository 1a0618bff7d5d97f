# SPDX-License-Identifier: Apache-2.0
"""The context of the parts of a page: its arm, robot, server, notices and requests."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ik_core import Robot
from ik_core.maths.rotations import Array

from ..arm import Arm, Description, Moment, error_text
from .browser import OpenTabs

Callback = Callable[[Any], object]
AsyncCallback = Callable[[Any], Awaitable[None]]

KEPT_NOTICES = 6
QUIET = 3.0  # [s] A notice is not repeated sooner
LONGEST = 400  # Characters of a notice: names in it may come from anybody


class Part(Protocol):
    """A part of the page, for one robot."""

    def show(self, moment: Moment) -> None:
        """Show a moment; called for every frame."""

    def remove(self) -> None:
        """Remove the part from the page."""


class Notices:
    """Notices for users: a bubble in every browser, and a list of the last ones."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.last: deque[tuple[str, str]] = deque(maxlen=KEPT_NOTICES)
        self._said: dict[str, float] = {}
        self.version = 0

    def say(self, text: str) -> None:
        """Show a sentence; of many at the same time, at most KEPT_NOTICES as bubbles."""
        text = text if len(text) <= LONGEST else f'{text[:LONGEST]} ...'
        now = time.monotonic()
        self._said = {said: when for said, when in self._said.items() if now - when < QUIET}
        if text in self._said:
            return
        self._said[text] = now
        self.last.appendleft((time.strftime('%H:%M:%S'), text))
        self.version += 1
        if len(self._said) > KEPT_NOTICES:
            return
        for client in self._server.get_clients().values():
            client.add_notification(title='Notice', body=text, auto_close_seconds=8.0)


class Requests:
    """Requests of users in their browsers, in order, until the next frame handles them.

    viser runs callbacks on the one thread that serves all browsers. There requests are only
    stored, so that a slow one blocks no browser, and none runs during a frame.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._asked: deque[tuple[Callback, Any]] = deque()

    def guarded(self, callback: Callback) -> AsyncCallback:
        """Return a callback for viser that stores the request; exceptions become notices."""

        async def call(event: Any) -> None:
            self._asked.append((callback, event))

        return call

    def by_user(self, callback: Callback) -> AsyncCallback:
        """Guard a callback for changes by a person in a browser, not by this program."""
        return self.guarded(lambda event: None if event.client is None else callback(event))

    def do(self) -> None:
        """Handle all requests."""
        while self._asked:
            callback, event = self._asked.popleft()
            try:
                callback(event)
            except Exception as error:
                self._notices.say(error_text(error))


@dataclass
class Selection:
    """The selections of a user that concern all parts: the tip, and what is shown.

    drag_scale : of displacements and turns of gizmos; 1: the goal is where the gizmo is
    """

    tip: int = 0
    drag_scale: float = 1.0
    robot: bool = True
    gizmos: bool = True


@dataclass(frozen=True, eq=False)
class PageContext:
    """A robot on the page.

    size [m] : how far the robot reaches, about; what is drawn beside it is in proportion
    tabs : the tab group of the panel, for parts with a tab of their own
    open_tabs : those that browsers show
    endings : functions that end what parts run in the background, called when the page closes
    """

    server: Any
    arm: Arm
    description: Description
    notices: Notices
    requests: Requests
    tabs: Any
    size: float
    open_tabs: OpenTabs
    selection: Selection = field(default_factory=Selection)
    endings: list[Callable[[], None]] = field(default_factory=list)

    @property
    def robot(self) -> Robot:
        """The displayed robot."""
        return self.description.robot

    def guarded(self, callback: Callback) -> AsyncCallback:
        """Guard a callback, as `Requests.guarded` does."""
        return self.requests.guarded(callback)

    def by_user(self, callback: Callback) -> AsyncCallback:
        """Guard a callback for changes by a person, as `Requests.by_user` does."""
        return self.requests.by_user(callback)


def tip_poses(robot: Robot, moment: Moment) -> list[Array]:
    """Return the poses (4, 4) of all tool centre points in the root link's frame."""
    frames = robot.frames(moment.q)
    return [robot.link_transform(frames, tip.link) @ tip.tool for tip in moment.tips]


def body_origins(robot: Robot, q: Array) -> Array:
    """Return origins (..., 3) of the root, all bodies and all links, in the root's frame."""
    frames = robot.frames(q)
    links = [robot.link_transform(frames, link)[:3, 3] for link in robot.places]
    return np.array([np.zeros(3), *frames[:, 9:], *links])
