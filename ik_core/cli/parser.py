# SPDX-License-Identifier: Apache-2.0
"""Exit codes, arguments and usage errors of the subcommands of `ik`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..figures import HOW_TO_INSTALL
from .completion import links, robots

if TYPE_CHECKING:
    from ..robot.robot import Robot

# exit codes; with BAD_INPUT one line on stderr says what is wrong
REACHED, NOT_REACHED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """Invalid arguments; the text is printed to the user."""


class Parser(argparse.ArgumentParser):
    """A parser with errors of one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f'{message} (see `{self.prog} --help`)')


def new_parser(
    commands: Any, name: str, summary: str, doc: str | None = None
) -> argparse.ArgumentParser:
    """Add the parser of a subcommand to those of `ik`.

    Its help ends with the examples and explanations of `doc`, a module's docstring without its
    first line.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f'{summary[:1].upper()}{summary[1:]}.',
        epilog=examples(doc),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def examples(doc: str | None) -> str:
    """The docstring after its first line, if it begins with examples."""
    text = (doc or '').partition('\n\n')[2]
    return f'examples:\n{text}' if text.startswith('    ik ') else text


def is_number(text: str) -> bool:
    """Return whether a text is a number as Python prints it, without underscores."""
    try:
        float(text)
    except ValueError:
        return False
    return '_' not in text


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add the argument ROBOT."""
    robot = parser.add_argument(
        'robot',
        metavar='ROBOT',
        help='a URDF, .xacro, MJCF, ASF or BVH file, or the name of a shipped or installed robot',
    )
    robot.completer = robots  # type: ignore[attr-defined]
    add = parser.add_argument
    add(
        '--joint-limits',
        type=Path,
        metavar='FILE',
        help='joint_limits.yaml of MoveIt or ros2_control; it can tighten the limits of the URDF',
    )
    add(
        '--no-soft-limits',
        action='store_true',
        help='ignore the soft limits of <safety_controller>',
    )


def robot_of(arguments: argparse.Namespace) -> Robot:
    """Load the robot of the options of `add_robot`. Raises UrdfError or MocapError."""
    from ..robot.robot_sources import load_robot  # not needed by `ik --help`

    free_base = getattr(arguments, 'free_base', False)  # some subcommands have it
    return load_robot(arguments.robot, free_base=free_base, **limits_of(arguments))


def limits_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options on limits, as arguments of `load_robot`."""
    return {
        'soft_limits': not arguments.no_soft_limits,
        'joint_limits': arguments.joint_limits,
    }


def add_tip(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """Add --tip: one link `tip`, or with `several` a list `tips`."""
    text = 'the link to move (default: the end of the longest chain)'
    more: dict[str, Any] = {'help': text}
    if several:
        more = {'help': f'{text}; may be repeated', 'action': 'append', 'default': []}
        more['dest'] = 'tips'
    tip = parser.add_argument('--tip', metavar='LINK', **more)
    tip.completer = links  # type: ignore[attr-defined]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument('--json', action='store_true', help='print JSON')


def check_drawable(path: Path) -> None:
    """Raise UsageError if a figure can't be drawn to a path; call it before long computations."""
    try:
        from matplotlib.figure import Figure  # only figures need matplotlib
    except ImportError:
        raise UsageError(f'{path}: drawing needs matplotlib: {HOW_TO_INSTALL}') from None
    formats = Figure().canvas.get_supported_filetypes()
    if path.suffix and path.suffix[1:].lower() not in formats:
        raise UsageError(f'{path}: the suffix should be one of {", ".join(sorted(formats))}')
    check_writable(path)


def check_writable(path: Path) -> None:
    """Raise UsageError if a file can't be written, since it is a folder or its folder is missing.

    Call it before long computations.
    """
    if not path.parent.is_dir():
        raise UsageError(f'{path}: there is no folder {path.parent}')
    if path.is_dir():
        raise UsageError(f'{path} is a folder: give the file to be written')
