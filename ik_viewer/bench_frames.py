"""How many frames a second a page sends, and what that costs: `python -m ik_viewer.bench_frames`.

    python -m ik_viewer.bench_frames                   # 7 dof, 16 dof, 60 joints; a table
    python -m ik_viewer.bench_frames --seconds 20

An arm that swings all of its joints is shown on a page, with its ghost and all else that a page
has at first. In place of a browser a process of its own takes what is sent and throws it away,
so that what is measured is the server: frames and kilobytes that arrive in a second, and the share
of one core that the process of the page uses.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ik_core import Robot, linkage
from ik_core.maths.rotations import Array
from ik_core.robot.load import load_robot

from .arm import Description, GoalKind, Moment, Setting, TipState
from .page.page import open_page

CLIENT = """
import sys, time, msgspec, viser
from websockets.sync.client import connect

camera = dict(type='ViewerCameraMessage', wxyz=(1, 0, 0, 0), position=(1, 1, 1), fov=1.0,
              near=0.1, far=10.0, image_height=600, image_width=800, look_at=(0, 0, 0),
              up_direction=(0, 0, 1))
address, seconds = sys.argv[1], float(sys.argv[2])
protocol = f'viser-v{viser.__version__}'
with connect(address, subprotocols=[protocol], max_size=None, compression=None) as socket:
    socket.send(msgspec.msgpack.encode(camera))
    begin = time.monotonic()
    while time.monotonic() - begin < 3.0:  # the scene itself
        socket.recv()
    frames = size = 0
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        size += len(socket.recv())
        frames += 1
    print(frames / (time.monotonic() - begin), size / seconds / 1e3)
"""
"""The process that is sent all of it."""


class Swinging:
    """An `Arm` whose joints all swing, and whose solution is a little ahead."""

    def __init__(self, robot: Robot) -> None:
        self.description: Description | None = Description(robot)
        self.settings: Mapping[str, Setting] = {}
        self._robot, self._middle = robot, robot.middle_configuration
        self._begin = time.monotonic()

    def look(self) -> Moment | None:
        """See `Arm`."""
        now = time.monotonic()
        solution = self._at(now + 0.1)
        tips = tuple(
            TipState(link, np.eye(4), goal=self._robot.forward_kinematics(solution, link))
            for link in self._robot.tips()
        )
        return Moment(now, self._at(now), tips, 'tracking', 'swinging', solution)

    def take_notices(self) -> Sequence[str]:
        """See `Arm`."""
        return ()

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """See `Arm`."""

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """See `Arm`."""

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """See `Arm`."""

    def pause(self, paused: bool) -> None:
        """See `Arm`."""

    def reset(self) -> None:
        """See `Arm`."""

    def close(self) -> None:
        """See `Arm`."""

    def _at(self, now: float) -> Array:
        return self._middle + 0.3 * np.sin(2.0 * (now - self._begin))


class Row(NamedTuple):
    """What was measured for a robot."""

    name: str
    joints: int
    frames: float
    kilobytes: float
    core: float


def measure(robot: Robot, seconds: float) -> Row:
    """Show a robot for so long [s]."""
    page = open_page(Swinging(robot), '127.0.0.1', 0)
    try:
        address = f'ws://127.0.0.1:{page.server.get_port()}'
        command = [sys.executable, '-c', CLIENT, address, str(seconds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            time.sleep(4.0)  # until it has the scene
            begin, used = time.monotonic(), time.process_time()
            time.sleep(0.8 * seconds)
            core = (time.process_time() - used) / (time.monotonic() - begin)
            frames, kilobytes = map(float, client.communicate()[0].split())
    finally:
        page.close()
        page.server.stop()
    return Row(robot.name, robot.n, frames, kilobytes, core)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description='frames a second of the page')
    parser.add_argument('--seconds', type=float, default=10.0, help='for each robot (10)')
    seconds = parser.parse_args(argv).seconds
    print(f'{"robot":20} {"joints":>6} {"frames/s":>9} {"kB/s":>7} {"of a core":>9}')
    for robot in (load_robot('iiwa14'), load_robot('dual_arm'), linkage(60)):
        row = measure(robot, seconds)
        print(
            f'{row.name:20} {row.joints:6} {row.frames:9.1f} {row.kilobytes:7.0f} {row.core:9.0%}'
        )
    return 0


if __name__ == '__main__':
    sys.exit(main())
