"""`ik view`, `ik play`, `ik node`, `ik demo`: programs of the packages above, never imported here.

Each is looked up by its name when it is called, and gets all arguments behind its own. What it
needs may be missing, since it is an extra: one line says which.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from .command import UsageError
from .completion import robots

PROGRAMS = {
    'view': ('ik_viewer.view:main', 'a robot in the browser, to drag and to watch; needs no ROS'),
    'play': (
        'ik_viewer.play.command:main',
        'a motion in the browser, and a robot that imitates it',
    ),
    'node': ('ik_node.main:main', 'the ROS 2 node: goal poses in, joint states out'),
    'demo': ('ik_node.tools.demo:main', 'the ROS 2 node drives a Panda through goals'),
}
"""Where the program of each word is, and what it does."""

VIEWER = "pip install 'ik_node[viewer]'"
ROS = "source a ROS 2 (source /opt/ros/<distro>/setup.bash) or pip install 'ik_node[ros]'"


def add_parsers(commands: Any) -> None:
    """List the programs in `ik --help`; they are run before any argument is parsed."""
    for name, (_, summary) in PROGRAMS.items():
        parser = commands.add_parser(name, help=summary, add_help=False)
        argument = parser.add_argument('arguments', nargs='*')
        argument.completer = robots


def run_program(name: str, arguments: Sequence[str]) -> int:
    """Run one with its arguments; its exit code. Raises UsageError where something is missing."""
    module, _, function = PROGRAMS[name][0].partition(':')
    sys.argv = [f'ik {name}', *arguments]
    try:
        program = getattr(importlib.import_module(module), function)
        code: int | None = program(list(arguments))
    except ModuleNotFoundError as error:
        missing = error.name or str(error)
        raise UsageError(f'`ik {name}` needs {missing}: {_remedy(name, missing)}') from error
    return code or 0


def _remedy(name: str, module: str) -> str:
    """How to get a module that a program misses."""
    root = module.partition('.')[0]
    if root.startswith('ik_'):
        return 'it is not part of this installation'
    is_of_ros = name not in ('view', 'play') or root == 'rclpy' or root.endswith('_msgs')
    return ROS if is_of_ros else VIEWER
