# SPDX-License-Identifier: Apache-2.0
"""The command `ik_node`.

Signal handlers are set before anything else is imported. `main` imports rclpy, not this module,
so that a missing rclpy is reported in one line.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from types import FrameType

NO_ROS = (
    "ik_node: {missing} can't be imported; source a ROS 2 (source /opt/ros/<distro>/setup.bash) "
    "or install the wheels: pip install '.[fast,ros]'"
)


SIGNALS = signal.SIGINT, signal.SIGTERM


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM.

    Returns the exit code: 0, or 1 if the node can't start, or 2 for bad arguments.
    """
    stopping = threading.Event()
    stop_on_signals(stopping)
    # The first line of the log says so.
    warnings.filterwarnings('ignore', 'kernels run as plain Python')
    try:
        args = _with_robot(sys.argv[1:] if args is None else args)
        if args is None:
            return 2
        from .run import run
    except ModuleNotFoundError as error:
        print(NO_ROS.format(missing=error.name), file=sys.stderr)
        return 1
    return run(args, stopping)


def _with_robot(args: list[str]) -> list[str] | None:
    """Return the arguments for rclpy, with the robot as the parameter `urdf_path`.

    Prints an error and returns None for an unknown robot.
    """
    from ik_core.exceptions import UrdfError

    from .arguments import with_robot

    try:
        return with_robot(args)
    except UrdfError as error:
        print(f'ik_node: {error}', file=sys.stderr)
        return None


def stop_on_signals(stopping: threading.Event) -> None:
    """Set `stopping` at the first SIGINT or SIGTERM; ignore later ones.

    These handlers replace rclpy's, which would shut down the context before the joints rest.

    The main thread runs the handlers, so it must poll `stopping` and never wait for it: a handler
    that interrupts a wait would wait itself, for ever, for the lock of the event.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for other in SIGNALS:  # a second signal would wait for the lock that stopping.set holds
            signal.signal(other, _change_nothing)
        stopping.set()

    for number in SIGNALS:
        signal.signal(number, stop)


def _change_nothing(number: int, frame: FrameType | None) -> None:
    pass


if __name__ == '__main__':
    sys.exit(main())
