# SPDX-License-Identifier: Apache-2.0
"""`ik bench frames`: the frames per second that a page sends, and their cost.

A page shows an arm that swings all of its joints, with its ghost and all else that a page has at
first. A client process in place of the browser receives and drops all messages, so only the
server is measured: frames and kilobytes received per second, and the fraction of one core that
the process of the page uses.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.progress import bar
from ik_core.robot.linkages import linkage
from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_viewer.arm import Description, GoalKind, Moment, Setting, TipState

from .rate.page_client import SCENE
from .results import Row

SECONDS = 10.0  # [s] each robot is shown for this time


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each robot, of 7, 15 and 60 joints; none if viser is not installed."""
    if importlib.util.find_spec('viser') is None:
        print('frames: viser is not installed, so there is no page', file=sys.stderr)
        return
    for robot in bar([load_robot('iiwa14'), load_robot('dual_arm'), linkage(60)], 'frames'):
        yield measured(robot)


def measured(robot: Robot) -> Row:
    """Show a robot, and return the row of what the client received."""
    from ik_viewer.page.page import open_page  # needs viser

    page = open_page(Swinging(robot), '127.0.0.1', 0)
    try:
        url = f'http://127.0.0.1:{page.server.get_port()}'
        command = [sys.executable, '-m', 'benchmark.rate.page_client', url, str(SECONDS)]
        root = Path(__file__).resolve().parents[1]
        with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as client:
            time.sleep(SCENE + 1.0)
            begin, used = time.monotonic(), time.process_time()
            time.sleep(0.8 * SECONDS)
            core = (time.process_time() - used) / (time.monotonic() - begin)
            frames, kilobytes = map(float, client.communicate()[0].split())
    finally:
        page.close()
        page.server.stop()
    return {
        'robot': robot.name,
        'joints': robot.n,
        'frames_per_second': frames,
        'kilobytes_per_second': kilobytes,
        'core_percent': 100.0 * core,
    }


class Swinging:
    """An `Arm` whose joints all swing, and whose solution is 0.1 s ahead."""

    def __init__(self, robot: Robot) -> None:
        self.description: Description | None = Description(robot)
        self.settings: Mapping[str, Setting] = {}
        self._robot, self._middle = robot, robot.middle_configuration
        self._begin = time.monotonic()

    def read(self) -> Moment | None:
        """Return the swinging joints at this moment."""
        now = time.monotonic()
        solution = self._at(now + 0.1)
        tips = tuple(
            TipState(link, np.eye(4), goal=self._robot.forward_kinematics(solution, link))
            for link in self._robot.tips()
        )
        return Moment(now, self._at(now), tips, 'tracking', 'swinging', solution)

    def take_notices(self) -> Sequence[str]:
        """Return no notices."""
        return ()

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Ignore the goal."""

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Ignore the twist."""

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Ignore the joint goal."""

    def home(self) -> None:
        """Ignore the request."""

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """Ignore the settings."""

    def pause(self, paused: bool) -> None:
        """Ignore the pause."""

    def reset(self) -> None:
        """Ignore the reset."""

    def close(self) -> None:
        """Do nothing."""

    def _at(self, now: float) -> Array:
        return self._middle + 0.3 * np.sin(2.0 * (now - self._begin))
