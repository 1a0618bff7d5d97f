# SPDX-License-Identifier: Apache-2.0
"""The command `ik_node`.

Signals are waited for before anything else is imported. rclpy is imported when the process starts
and not with this module, so that its absence can be reported in one line.
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
    """Run the node until SIGINT or SIGTERM; 0 then, 1 if it can't start, 2 for bad arguments."""
    stopping = threading.Event()
    stop_on_signals(stopping)
    warnings.filterwarnings('ignore', 'kernels run as plain Python')  # the first line of the log
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
    """Arguments for rclpy (see `arguments`); None, with an error printed, for an unknown robot."""
    from ik_core.exceptions import UrdfError

    from .arguments import with_robot

    try:
        return with_robot(args)
    except UrdfError as error:
        print(f'ik_node: {error}', file=sys.stderr)
        return None


def stop_on_signals(stopping: threading.Event) -> None:
    """Set `stopping` at SIGINT or SIGTERM; more of them change nothing: stopping ends soon.

    The main thread, where signals are seen to, has to look at it without waiting: a signal that
    finds the event's lock taken by what it interrupts waits for ever.

    rclpy's own handlers would end the context first, so that the joints could not come to rest.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for other in SIGNALS:  # one that came now would wait for a lock that this one holds
            signal.signal(other, _change_nothing)
        stopping.set()

    for number in SIGNALS:
        signal.signal(number, stop)


def _change_nothing(number: int, frame: FrameType | None) -> None:
    pass


if __name__ == '__main__':
    sys.exit(main())
