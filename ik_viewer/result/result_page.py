# SPDX-License-Identifier: Apache-2.0
"""The page that `ik.show` opens: a program holds it, and may show other results on it."""

from __future__ import annotations

import atexit
import copy
import html
import math
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ik_core import Robot, World
from ik_core.exceptions import InvalidConfiguration, InvalidOption
from ik_core.maths.argument_types import MatrixLike, Names, VectorLike
from ik_core.maths.rotations import Array
from ik_core.motion import Motion
from ik_core.options import exact_number
from ik_core.showing import configurations

from ..arm import Moment
from ..collisions.panel import CollisionsPanel
from ..drawing.description import check_mesh_folders, description_of
from ..page.page import MakePart, Page, open_page
from ..page.page_context import PageContext
from ..page.server import stop_server
from ..parts import ALL_PARTS
from .result_arm import Result, ResultArm
from .result_panel import ResultPanel

HEIGHT = 560  # [pixels] In a notebook
POLL_PERIOD = 0.1

# The open pages by the address that was asked for
_pages: dict[tuple[str, int | None], ResultPage] = {}


class ResultPage:
    """A page with a result, which is served while the program does something else.

    As the last value of a notebook's cell it is displayed inline.
    """

    def __init__(self, arm: ResultArm, page: Page) -> None:
        self._arm, self._page = arm, page
        self._closed = threading.Event()
        atexit.register(self.close)

    @property
    def url(self) -> str:
        """The address to open in a browser on this machine."""
        return self._page.url

    def wait(self) -> None:
        """Serve the page until Ctrl-C, then close it."""
        try:
            while not self._closed.wait(POLL_PERIOD):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Close the page, and end its threads; a second call does nothing."""
        if self._closed.is_set():
            return
        atexit.unregister(self.close)
        for address in [address for address, page in _pages.items() if page is self]:
            del _pages[address]
        self._closed.set()
        self._page.close()
        self._arm.close()
        stop_server(self._page.server)

    def set_result(self, result: Result, tips: Sequence[str] = ()) -> None:
        """Show another result. Raises IkError for unknown tips."""
        before = self._arm.result
        if result.has_scene_of(before):  # the page keeps its view, and what is switched on
            result = replace(result, description=before.description)
        self._arm.set_result(result, tips)

    def __repr__(self) -> str:
        description = self._arm.description
        return f'<page of {description and description.robot.name} at {self.url}>'

    def _repr_html_(self) -> str:
        url = html.escape(self.url)
        return f'<iframe src="{url}" style="width:100%;height:{HEIGHT}px;border:0"></iframe>'


def show(
    robot: Robot,
    q: VectorLike | MatrixLike | Motion | None,
    *,
    ghosts: MatrixLike,
    world: World | None,
    period: float,
    tips: Names,
    mesh_folders: Sequence[str | os.PathLike[str]],
    host: str,
    port: int | None,
) -> ResultPage:
    """Show a robot on the page of this address, opened at need; see `ik.show`."""
    if world is not None and not isinstance(world, World):
        raise InvalidOption(f'world = {world!r}: an ik.World is needed')
    folders = [Path(folder) for folder in mesh_folders]
    check_mesh_folders(folders)
    path, period = _path(robot, q, period)
    result = Result(
        description_of(robot, folders),
        path,
        period,
        configurations(robot, ghosts, 'ghosts'),
        World() if world is None else copy.deepcopy(world),
    )
    page = _pages.get((host, port))
    if page is not None:
        page.set_result(result, tuple(tips))
        return page
    arm = ResultArm(result, tuple(tips))
    try:
        page = ResultPage(arm, open_page(arm, host, port, _parts(arm)))
    except BaseException:
        arm.close()
        raise
    _pages[host, port] = page
    print(f'{robot.name} is on {page.url}', flush=True)
    return page


def _path(
    robot: Robot, q: VectorLike | MatrixLike | Motion | None, period: float
) -> tuple[Array, float]:
    """Convert the argument of `show` to a path (frames, n) and the time between frames [s]."""
    if isinstance(q, Motion):
        return q.positions_of(robot), q.period
    path = configurations(robot, q, 'q')
    if not len(path):
        raise InvalidConfiguration('q is a path without frames; at least one is needed')
    seconds: float | None = exact_number(period, float)
    if seconds is None or not 0.0 < seconds < math.inf:
        raise InvalidOption(f'period = {period!r}: the time between frames [s] is positive')
    return path, seconds


def _parts(arm: ResultArm) -> tuple[MakePart, ...]:
    """Return the makers of a page's parts; the collision tab gets the result's world."""

    def collisions(context: PageContext, moment: Moment) -> CollisionsPanel:
        return CollisionsPanel(context, moment, arm.result.world)

    others = (collisions if part is CollisionsPanel else part for part in ALL_PARTS)
    return (partial(ResultPanel, arm=arm), *others)
