# SPDX-License-Identifier: Apache-2.0
"""The `ik` command: robots and inverse kinematics from the shell.

    ik info panda
    ik solve panda --tip panda_hand_tcp --xyz 0.4 0 0.5 --rpy 3.14 0 0
    ik solve dual_arm --tip left_palm --xyz 0.4 0.2 1 --tip right_palm --xyz 0.4 -0.2 1
    ik path ur5e poses.csv --out motion.csv
    ik replay recording.npz
    ik retarget 124_01.amc 141.asf --links lhand=lhand rhand=rhand head=head --out throw.csv
    ik reach panda --out panda.npz --figure panda.png
    ik plot workspace panda
    ik check my_robot.urdf --yaml my_robot.yaml
    ik collisions panda --srdf panda.srdf
    ik mocap 124_01.amc
    ik linkage 3 --joint ball --length 0.4
    ik human --stature 1.8 --out human.urdf
    ik view panda
    ik node panda --ros-args -p rate:=250.0
    ik goal panda_hand_tcp --xyz 0.4 0 0.5
    ik demo
    ik bench solve

Exit codes: 0 reached, 1 not reached, 2 bad input, with one line on stderr that names the fault.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from importlib import import_module

from ..exceptions import IkError
from ..version import __version__
from .completion import asked_by_a_shell, complete
from .parser import BAD_INPUT, INTERRUPTED, NOT_REACHED, Parser, UsageError, examples, is_number
from .programs import PROGRAMS, add_parsers, run_program

# summaries by subcommand; each is a module, imported only if it is called
COMMANDS = {
    'info': 'show the joints, limits and tips of a robot',
    'solve': 'find joint values that reach goals',
    'path': 'make a motion along a path of poses, or say why there is none',
    'plot': 'draw a workspace, a recorded run, or solvers',
    'replay': 'repeat a recording of a node',
    'reach': 'map the space that a link reaches',
    'check': 'test a robot description before it drives hardware',
    'collisions': 'show which links can collide, and the nearest at a configuration',
    'mocap': 'show the contents of a motion capture file',
    'linkage': 'write a linkage of rods as a URDF',
    'human': 'write a human figure as a URDF or ASF',
    'retarget': 'transfer a motion to a robot of other proportions',
    'goal': 'send a goal to a running ROS 2 node, and watch until it is reached',
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `ik` command; return the exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # as in `ik info panda | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_REACHED
    except (IkError, UsageError, OSError) as error:
        print(f'ik: {_error_text(error)}', file=sys.stderr)
        return BAD_INPUT


def _run(argv: Sequence[str]) -> int:
    if argv and argv[0] in PROGRAMS:
        return run_program(argv[0], argv[1:])
    parser = _parser(asked_by_a_shell() or argv[:1])
    complete(parser)
    arguments = parser.parse_args(_shield_negative_numbers(argv))
    code: int = arguments.run(arguments)
    if sys.stdout is not None:  # closed, as by `>&-`: the exit code is the answer
        sys.stdout.flush()
    return code


def _error_text(error: Exception) -> str:
    """The text of an error; without the error number if a file can't be opened."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        name = os.fsdecode(error.filename)
        return f'{name!r}: {error.strerror}'
    return str(error)


def _parser(chosen: Collection[str] = COMMANDS.keys()) -> Parser:
    """Make the parser of `ik`; subcommands that are not chosen only have their summary."""
    parser = Parser(
        prog='ik',
        description='Inverse kinematics for any URDF. `ik COMMAND --help` has examples of each.',
        epilog=examples(__doc__),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument('--version', action='version', version=f'ik_node {__version__}')
    commands = parser.add_subparsers(metavar='COMMAND', required=True)
    for name, summary in COMMANDS.items():
        if name in chosen:
            import_module(f'.{name}', __package__).add_parser(commands, summary)
        else:
            commands.add_parser(name, help=summary)
    add_parsers(commands)
    return parser


def _shield_negative_numbers(argv: Iterable[str]) -> list[str]:
    """Put a blank before -1e-3, -inf and the like, which argparse would read as options."""
    return [f' {text}' if text[:1] == '-' and is_number(text) else text for text in argv]
