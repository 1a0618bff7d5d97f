# SPDX-License-Identifier: Apache-2.0
"""`ik view`, `ik play`, `ik node`, `ik demo`, `ik bench`: programs of higher packages.

Each is imported only if it is called, and gets all arguments after its own name. If its packages
are not installed, an error of one line names the remedy.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .completion import robots
from .parser import UsageError

# entry point and summary of each program
PROGRAMS = {
    'view': ('ik_viewer.view:main', 'show and drag a robot in the browser; needs no ROS'),
    'play': (
        'ik_viewer.play.command:main',
        'show a motion in the browser, and a robot that imitates it',
    ),
    'node': ('ik_node.main:main', 'run the ROS 2 node: goal poses in, joint states out'),
    'demo': ('ik_node.tools.demo:main', 'run a demo: the ROS 2 node drives a Panda through goals'),
    'bench': ('benchmark.runner:main', 'run the experiments, in a clone of the project'),
}

VIEWER = "pip install 'viser~=1.1' pycollada"
VIEWER_FOLDER = '~/viewer'  # of a virtual environment, advised if the system's Python refuses pip
ROS = "source a ROS 2 (source /opt/ros/<distro>/setup.bash) or, in a clone, pip install '.[ros]'"


def add_parsers(commands: Any) -> None:
    """List the programs in `ik --help`; `main` runs them before it parses arguments."""
    for name, (_, summary) in PROGRAMS.items():
        parser = commands.add_parser(name, help=summary, add_help=False)
        argument = parser.add_argument('arguments', nargs='*')
        argument.completer = benchmarks if name == 'bench' else robots


def benchmarks(**more: Any) -> list[str]:
    """Complete the names of experiments; none if they are not installed."""
    try:
        return list(imported('benchmark').NAMES)
    except UsageError:
        return []


def run_program(name: str, arguments: Sequence[str]) -> int:
    """Run a program with its arguments; return its exit code. Raises UsageError."""
    sys.argv = [f'ik {name}', *arguments]
    return call_program(name, PROGRAMS[name][0], list(arguments))


def call_program(name: str, program: str, arguments: Any) -> int:
    """Call `program`, 'module:function', for `ik NAME`; return its exit code.

    Raises UsageError if a module is missing.
    """
    module, _, function = program.partition(':')
    try:
        code: int | None = getattr(imported(module), function)(arguments)
    except ModuleNotFoundError as error:
        missing = error.name or str(error)
        raise UsageError(f'`ik {name}` needs {missing}: {_remedy(name, missing)}') from error
    return code or 0


def imported(name: str) -> ModuleType:
    """Import a module by name, also one of `benchmark`, which is never installed.

    Raises UsageError for `benchmark` outside of a clone of the project.
    """
    if name.partition('.')[0] == 'benchmark':
        from ..shared_files import TREE

        if not (TREE / 'benchmark' / 'runner.py').is_file():
            raise UsageError(
                'this runs in a clone of the project: the experiments are in its folder '
                'benchmark, which is not installed'
            )
        if str(TREE) not in sys.path:
            sys.path.insert(0, str(TREE))
    return importlib.import_module(name)


def _remedy(name: str, module: str) -> str:
    """Return the text that says how to install a missing module of a program."""
    root = module.partition('.')[0]
    if root.startswith('ik_'):
        return 'it is not part of this installation'
    is_of_ros = (
        name not in ('view', 'play', 'linkage') or root == 'rclpy' or root.endswith('_msgs')
    )
    return ROS if is_of_ros else viewer_remedy()


def viewer_remedy() -> str:
    """The command that installs the viewer's packages for this Python."""
    marker = Path(sysconfig.get_path('stdlib'), 'EXTERNALLY-MANAGED')
    if sys.prefix != sys.base_prefix or not marker.is_file():
        return VIEWER
    folder = VIEWER_FOLDER
    return (
        'this Python refuses pip outside of virtual environments, so '
        f'python3 -m venv --system-site-packages {folder} && {folder}/bin/{VIEWER} && '
        f'export PYTHONPATH=$PYTHONPATH:$(echo {folder}/lib/python3*/site-packages)'
    )
