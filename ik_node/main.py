"""The command `ik_node`.

rclpy is imported when the process starts and not with this module, so that its absence can be
said in one line.
"""

from __future__ import annotations

import sys

NO_ROS = (
    "ik_node: {missing} can't be imported; source a ROS 2 (source /opt/ros/<distro>/setup.bash) "
    "or install the wheels: pip install '.[fast,ros]'"
)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; 0 then, 1 if it can't start, 2 for bad parameters."""
    try:
        from .run import run
    except ModuleNotFoundError as error:
        print(NO_ROS.format(missing=error.name), file=sys.stderr)
        return 1
    return run(args)


if __name__ == '__main__':
    sys.exit(main())
