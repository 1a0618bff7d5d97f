# SPDX-License-Identifier: Apache-2.0
"""`Page`: reads an arm's state 60 times a second, and shows it in all browsers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..arm import Arm, Description, Moment, error_text
from ..drawing.colours import LOST
from .browser import OpenTabs
from .goal_panel import Goals
from .jog import Jog
from .joint_panel import Joints
from .page_context import Notices, PageContext, Part, Requests
from .scene import Scene
from .server import Surroundings, start_server, url_of
from .settings_panel import Settings
from .solver_panel import Solver
from .status_panel import Status

FRAME_RATE = 60.0  # [Hz] At most
UNWATCHED = 0.2  # [s] Between two frames while no browser is there
ENDING = 5.0  # [s] How long `close` waits for the frame that is under way

P = TypeVar('P')
MakePart = Callable[[PageContext, Moment], Part]

# The parts of a page, in the order of their tabs
PARTS: tuple[MakePart, ...] = (Goals, Jog, Solver, Joints, Settings, Scene)


class Page:
    """A page that shows and moves an arm, on a server; the caller closes arm and server.

    parts : functions that make its parts, called again for each robot
    """

    def __init__(self, arm: Arm, server: Any, parts: Sequence[MakePart] = PARTS) -> None:
        self._arm, self.server, self._make = arm, server, tuple(parts)
        self.notices = Notices(server)
        self.requests = Requests(self.notices)
        self.status = Status(server, self.notices)
        self._open_tabs = OpenTabs(server)
        self.parts: list[Part] = []
        self._about: tuple[Description, tuple[str, ...]] | None = None
        self._tabs: Any = None
        self._surroundings: Surroundings | None = None
        self._endings: list[Callable[[], None]] = []
        self._last: Moment | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address to open in a browser on this machine."""
        return url_of(self.server)

    def part(self, kind: type[P]) -> P:
        """Return the part of this type. Raises StopIteration while there is none."""
        return next(part for part in self.parts if isinstance(part, kind))

    def start(self) -> None:
        """Show frames from now on, in a thread."""
        self._thread = threading.Thread(target=self._run, name='page', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop showing frames, and end the background work of the parts.

        Open browsers show that there is no server any more.
        """
        self._ended.set()
        if self._thread is not None:
            self._thread.join(ENDING)
        for end in self._endings:
            end()
        if self._last is not None:
            with self.server.atomic():
                self._show(self._last._replace(code=LOST))
            self.server.flush()

    def frame(self) -> None:
        """Handle the users' requests, and show the arm's state; errors become notices."""
        try:
            self._frame()
        except Exception as error:
            self.notices.say(error_text(error))

    def _run(self) -> None:
        wake = time.monotonic()
        while not self._ended.wait(max(wake - time.monotonic(), 0.0)):
            self.frame()
            period = 1.0 / FRAME_RATE if self.server.get_clients() else UNWATCHED
            wake = max(wake + period, time.monotonic())

    def _frame(self) -> None:
        self.requests.do()
        for notice in self._arm.take_notices():
            self.notices.say(notice)
        description, moment = self._arm.description, self._arm.read()
        with self.server.atomic():
            if description is not None and moment is not None:
                self._set_about(description, moment)
            self.status.show(moment)
            if moment is None and self._last is not None:  # it is shown where it was
                self._show(self._last._replace(code=LOST))
            elif moment is not None and moment is not self._last:
                self._show(moment)
            self._last = moment
        self.server.flush()

    def _show(self, moment: Moment) -> None:
        for part in self.parts:
            try:
                part.show(moment)
            except Exception as error:  # the others show it all the same
                self.notices.say(error_text(error))

    def _set_about(self, description: Description, moment: Moment) -> None:
        """Make the parts again if the robot or its tips have changed."""
        links = tuple(tip.link for tip in moment.tips)
        if self._about is not None:
            before, tips = self._about
            if before is description and tips == links:
                return
        self._about = (description, links)
        self._clear()
        self._surroundings = Surroundings(self.server, description, moment.q)
        self._tabs = self.server.gui.add_tab_group()
        self.server.gui.set_panel_label(description.robot.name)
        context = PageContext(
            self.server,
            self._arm,
            description,
            self.notices,
            self.requests,
            self._tabs,
            self._surroundings.size,
            self._open_tabs,
        )
        self._endings = context.endings
        for make in self._make:
            try:
                self.parts.append(make(context, moment))
            except Exception as error:  # the others are of use without it
                self.notices.say(error_text(error))

    def _clear(self) -> None:
        parts, self.parts = self.parts, []
        for part in parts:
            try:
                part.remove()
            except Exception as error:  # the next robot is shown all the same
                self.notices.say(error_text(error))
        if self._tabs is not None:
            self._tabs.remove()


def open_page(arm: Arm, host: str, port: int | None, parts: Sequence[MakePart] = PARTS) -> Page:
    """Open a page on a server of its own, and start it. Raises InvalidOption."""
    page = Page(arm, start_server(host, port), parts)
    page.start()
    return page
