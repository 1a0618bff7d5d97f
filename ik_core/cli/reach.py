# SPDX-License-Identifier: Apache-2.0
"""`ik reach`: make a reachability map, and a picture of it.

    ik reach panda --out panda.npz                          # positions, voxels of 5 cm
    ik reach panda --orientations 32 --out panda.npz --figure panda.png
    ik reach panda --orientations 32 --out panda.npz --resume        # continues
    ik reach panda --orientations 200 --out panda.npz --scheduler tcp://10.0.0.1:8786

`ik plot workspace` draws a map in three dimensions.
Exit codes: 0 made, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..progress import ProgressLine
from ..reachability.figure import draw
from ..reachability.maps import Progress, ReachabilityMap, reachability_map
from .parser import (
    REACHED,
    add_json,
    add_robot,
    add_tip,
    check_drawable,
    check_writable,
    new_parser,
    robot_of,
)
from .text import as_json


def add_parser(commands: Any, summary: str) -> None:
    """Add `reach` to the subcommands of `ik`."""
    parser = new_parser(commands, 'reach', summary, __doc__)
    add_robot(parser)
    add = parser.add_argument
    add_tip(parser)
    add('--out', type=Path, metavar='FILE', required=True, help='.npz file for the map')
    _add_grid(parser)
    add('--manipulability', action='store_true', help="map sqrt(det(J J')) too")
    add('--restarts', type=int, default=20, help='random starts before a cell counts as unreached')
    add('--seed', type=int, default=0, help='seed of the random starts')
    add('--resume', action='store_true', help='continue an interrupted map')
    add('--scheduler', metavar='ADDRESS', help='address of a dask cluster whose workers solve')
    add('--figure', type=Path, metavar='FILE', help='draw slices through the map')
    add_json(parser)
    add('--quiet', action='store_true', help='no progress line (shown on terminals only)')
    parser.set_defaults(run=run)


def _add_grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--step', type=float, default=0.05, help='distance of the voxels [m] (default 0.05)'
    )
    parser.add_argument(
        '--orientations',
        type=int,
        default=1,
        metavar='N',
        help='orientations tried in each voxel; 1: any orientation (default)',
    )
    parser.add_argument(
        '--box',
        type=float,
        nargs=6,
        metavar=('X', 'Y', 'Z', 'X2', 'Y2', 'Z2'),
        help='two corners of the mapped box [m] (default: all that may be in reach)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the map and print a summary; exit code 0."""
    check_writable(arguments.out)
    if arguments.figure:
        check_drawable(arguments.figure)
    made = _make_map(arguments)
    if arguments.figure:
        draw(made, arguments.figure)
    data = _data(made, arguments.out)
    print(as_json(data) if arguments.json else _text(data))
    return REACHED


def _make_map(arguments: argparse.Namespace) -> ReachabilityMap:
    with ProgressLine('reach', arguments.quiet) as line:

        def show(progress: Progress) -> None:
            rate = progress.solved / progress.seconds if progress.seconds else 0.0
            line.show(progress.done, progress.voxels, f'{rate:,.0f} solves/s')

        try:
            return _map_of(arguments, show)
        except KeyboardInterrupt:
            line.end()
            print('ik: interrupted; --resume continues the map', file=sys.stderr)
            raise


def _map_of(arguments: argparse.Namespace, show: Callable[[Progress], None]) -> ReachabilityMap:
    return reachability_map(
        robot_of(arguments),
        arguments.tip,
        step=arguments.step,
        orientations=arguments.orientations,
        box=(arguments.box[:3], arguments.box[3:]) if arguments.box else None,
        restarts=arguments.restarts,
        random_seed=arguments.seed,
        manipulability=arguments.manipulability,
        out=arguments.out,
        resume=arguments.resume,
        scheduler=arguments.scheduler,
        progress=show,
    )


def _data(made: ReachabilityMap, path: Path) -> dict[str, Any]:
    reached = made.reached > 0
    return {
        'map': str(path),
        'robot': made.settings['robot'],
        'link': made.settings['link'],
        'step': made.grid.step,
        'shape': made.grid.shape,
        'orientations': made.orientations,
        'cells': made.grid.voxels * made.orientations,
        'solved': int(made.tried.sum()),
        'reached': int(made.reached.sum()),
        'volume': made.volume,
        'mean_fraction': float(made.fraction[reached].mean()) if reached.any() else 0.0,
    }


def _text(data: dict[str, Any]) -> str:
    shape = ' x '.join(map(str, data['shape']))
    lines = [
        f'{data["link"]} of {data["robot"]}: {data["volume"]:.4g} m^3 in reach',
        f'{shape} voxels of {data["step"]:g} m; of {data["cells"]:,} cells {data["solved"]:,} may '
        f'be in reach, {data["reached"]:,} are',
    ]
    if data['orientations'] > 1:
        percent = 100.0 * data['mean_fraction']
        lines.append(
            f'of {data["orientations"]} orientations {percent:.1f} % are reached on average, over '
            'the reached voxels'
        )
    return '\n'.join([*lines, f'written to {data["map"]}'])
