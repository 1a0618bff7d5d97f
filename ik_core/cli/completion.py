# SPDX-License-Identifier: Apache-2.0
"""Completion of `ik` in a shell, by argcomplete where it is installed (extra `complete`).

eval "$(register-python-argcomplete ik)"        # in ~/.bashrc or ~/.zshrc

Modules are imported only where they are needed, because a shell waits for the answer.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..exceptions import IkError


def asked_by_a_shell() -> list[str]:
    """The words so far of the command line that a shell completes; none otherwise."""
    return os.environ.get('COMP_LINE', '').split() if '_ARGCOMPLETE' in os.environ else []


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and exit; do nothing otherwise."""
    if '_ARGCOMPLETE' not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)


def robots(prefix: str = '', **more: Any) -> list[str]:
    """Names of robots, and the files and folders that begin with the prefix."""
    from argcomplete.completers import FilesCompleter  # it called this

    from ..robot.installed_robots import installed_robots
    from ..robot.shipped import shipped_robots

    return [
        *shipped_robots(),
        *installed_robots(),
        *FilesCompleter(('urdf', 'asf', 'bvh'))(prefix),
    ]


def links(parsed_args: argparse.Namespace, **more: Any) -> list[str]:
    """The links of the robot that is named before."""
    robot = _robot(parsed_args)
    return list(robot.link_names) if robot else []


def joints(parsed_args: argparse.Namespace, **more: Any) -> list[str]:
    """The joints of the robot that is named before."""
    robot = _robot(parsed_args)
    return list(robot.joint_names) if robot else []


def solvers(**more: Any) -> list[str]:
    """All solvers."""
    from ..solvers import SOLVERS

    return list(SOLVERS)


def _robot(parsed_args: argparse.Namespace) -> Any:
    from ..robot.robot_sources import load_robot

    try:
        return load_robot(parsed_args.robot)
    except (AttributeError, TypeError, IkError, OSError):
        return None
