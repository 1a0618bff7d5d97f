# SPDX-License-Identifier: Apache-2.0
"""Completion of `ik` in a shell by argcomplete, if it is installed (extra `complete`).

eval "$(register-python-argcomplete ik)"        # in ~/.bashrc or ~/.zshrc

Modules are imported only if needed, because the shell waits for the answer.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..exceptions import IkError


def asked_by_a_shell() -> list[str]:
    """The words of the command line that a shell completes; [] if no shell asks."""
    return os.environ.get('COMP_LINE', '').split() if '_ARGCOMPLETE' in os.environ else []


def complete(parser: argparse.ArgumentParser) -> None:
    """Print completions and exit if a shell asks for them; otherwise do nothing."""
    if '_ARGCOMPLETE' not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)


def robots(prefix: str = '', **more: Any) -> list[str]:
    """Complete the names of robots, files and folders."""
    # argcomplete is installed if this is called
    from argcomplete.completers import FilesCompleter

    from ..robot.installed_robots import installed_robots
    from ..robot.shipped import shipped_robots

    return [
        *shipped_robots(),
        *installed_robots(),
        *FilesCompleter(('urdf', 'asf', 'bvh'))(prefix),
    ]


def links(parsed_args: argparse.Namespace, **more: Any) -> list[str]:
    """Complete the links of the robot named before."""
    robot = _robot(parsed_args)
    return list(robot.link_names) if robot else []


def joints(parsed_args: argparse.Namespace, **more: Any) -> list[str]:
    """Complete the joints of the robot named before."""
    robot = _robot(parsed_args)
    return list(robot.joint_names) if robot else []


def solvers(**more: Any) -> list[str]:
    """Complete the names of solvers."""
    from ..solvers import SOLVERS

    return list(SOLVERS)


def _robot(parsed_args: argparse.Namespace) -> Any:
    """Load the robot named before; None if that fails."""
    from ..robot.robot_sources import load_robot

    try:
        return load_robot(parsed_args.robot)
    except (AttributeError, TypeError, IkError, OSError):
        return None
