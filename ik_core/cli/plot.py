# SPDX-License-Identifier: Apache-2.0
"""`ik plot`: draw a robot's reach, a recorded run, or a comparison of the solvers.

    ik plot workspace panda                         # the reach of the tip, cut open
    ik plot workspace ur5e --step 0.05 --orientations 16 --out ur5e.svg
    ik plot workspace panda --map panda.npz         # from a map of `ik reach`
    ik plot errors ik_node_panda_20261121_120000.npz
    ik plot solvers                                 # measures them, for a minute
    ik plot solvers benchmark/solve.csv             # rows of `ik bench solve`

Without --out the picture is WHAT.png in the current folder. Drawing needs matplotlib (extra
`figures`).
Exit codes: 0 drawn, 2 bad input.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..figures import draw_file
from ..problem import IkProblem
from ..progress import ProgressLine
from ..reachability.bounds import reach_bounds
from ..reachability.figure3d import draw_workspace
from ..reachability.maps import Progress, ReachabilityMap, reachability_map
from ..robot.robot import Robot
from ..tasks import PositionTask
from ..tracking.recording import read_recording
from ..tracking.recording.figure import draw_errors
from ..tracking.recording.history import histories
from .parser import REACHED, UsageError, add_robot, add_tip, check_drawable, new_parser, robot_of
from .programs import imported

VOXELS = 12.0  # per radius, if no step is given: a picture then takes seconds
GOALS = 200  # per robot, if solvers are measured for a picture


def add_parser(commands: Any, summary: str) -> None:
    """Add `plot` to the subcommands of `ik`."""
    parser = new_parser(commands, 'plot', summary, __doc__)
    text = '`ik plot WHAT --help` lists the options of each'
    kinds = parser.add_subparsers(metavar='WHAT', required=True, help=text)
    _add_workspace(kinds)
    _add_errors(kinds)
    _add_solvers(kinds)


def _add(kinds: Any, name: str, summary: str, run: Callable[[argparse.Namespace], None]) -> Any:
    """Add a kind of picture: its parser, --out, and a run that draws."""
    parser = new_parser(kinds, name, summary)

    def run_and_say(arguments: argparse.Namespace) -> int:
        check_drawable(arguments.out)
        run(arguments)
        print(f'written to {arguments.out}')
        return REACHED

    out = Path(f'{name}.png')
    text = f'the picture, .png, .svg or .pdf (default: {out})'
    parser.add_argument('--out', type=Path, metavar='FILE', default=out, help=text)
    parser.set_defaults(run=run_and_say)
    return parser


def _add_workspace(kinds: Any) -> None:
    parser = _add(kinds, 'workspace', 'the workspace of a link', _workspace)
    add_robot(parser)
    add_tip(parser)
    add = parser.add_argument
    add('--step', type=float, help=f'edge of a voxel [m] (default: the reach / {VOXELS:g})')
    add(
        '--orientations',
        type=int,
        default=1,
        metavar='N',
        help='orientations tried in each voxel; 1: any orientation (default)',
    )
    add('--map', type=Path, metavar='FILE', help='a map of `ik reach` instead of a new one')


def _add_errors(kinds: Any) -> None:
    parser = _add(kinds, 'errors', 'errors, solve times and joints of a recorded run', _errors)
    parser.add_argument(
        'file', metavar='RECORDING', type=Path, help='a recording of the node, .npz'
    )


def _add_solvers(kinds: Any) -> None:
    parser = _add(kinds, 'solvers', 'success and time of every solver', _solvers)
    add = parser.add_argument
    add('file', metavar='CSV', type=Path, nargs='?', help='rows of `ik bench solve`')
    text = f'without CSV: number of random goals per robot (default {GOALS})'
    add('--count', type=int, default=GOALS, help=text)


def _workspace(arguments: argparse.Namespace) -> None:
    robot = robot_of(arguments)
    made = _map(arguments, robot)
    if not made.reached.any():
        raise UsageError(f'no voxel of {made.grid.step:g} m is in reach: take a smaller --step')
    draw_file(arguments.out, draw_workspace, robot, made)


def _map(arguments: argparse.Namespace, robot: Robot) -> ReachabilityMap:
    """Load the given map, or make one. Raises UsageError for a map of another robot."""
    if arguments.map is None:
        with ProgressLine('reach') as line:

            def show(progress: Progress) -> None:
                line.show(progress.done, progress.voxels, 'voxels')

            return reachability_map(
                robot,
                arguments.tip,
                step=arguments.step or _step(robot, arguments.tip),
                orientations=arguments.orientations,
                manipulability=True,
                progress=show,
            )
    made = ReachabilityMap.load(arguments.map)
    of = made.settings['robot']
    if of != robot.name:
        raise UsageError(f'{arguments.map} is a map of {of!r}, not of {robot.name!r}')
    return made


def _step(robot: Robot, tip: str | None) -> float:
    """Return a step [m] for a map of the tip's reach, rounded to two digits."""
    problem = IkProblem(robot, [PositionTask(tip or robot.default_tip())])
    reach = reach_bounds(problem, problem.default_configuration).workspace
    return float(f'{reach / VOXELS:.2g}') if 0.0 < reach < math.inf else 0.1


def _errors(arguments: argparse.Namespace) -> None:
    recording = read_recording(arguments.file)
    runs = histories(recording)
    if not runs:
        raise UsageError(f'{arguments.file}: no ticks were recorded')
    draw_file(arguments.out, draw_errors, recording, runs)


def _solvers(arguments: argparse.Namespace) -> None:
    if arguments.count < 4:
        raise UsageError(f'--count {arguments.count}: 4 or more are needed')
    solve = imported('benchmark.solve')
    if arguments.file is None:
        rows = list(solve.rows(arguments))
    else:
        rows = imported('benchmark.results').read_csv(arguments.file)
        if not rows or not {'solver', 'success_percent', 'mean_us'} <= set(rows[0]):
            raise UsageError(f'{arguments.file} has no rows of `ik bench solve`')
    draw_file(arguments.out, solve.draw, rows)
