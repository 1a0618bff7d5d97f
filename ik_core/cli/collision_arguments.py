# SPDX-License-Identifier: Apache-2.0
"""Arguments about collisions that are common to several commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..collision import Collisions, load_world
from ..robot.robot import Robot


def add_collisions(group: Any) -> None:
    """Add --avoid and the options of `add_checked`."""
    add = group.add_argument
    add('--avoid', action='store_true', help='avoid collisions of links with one another')
    add_checked(group)


def add_checked(group: Any) -> None:
    """Add the options that select collisions: --world, --srdf, --margin, --mesh-folder."""
    add = group.add_argument
    add('--world', type=Path, metavar='FILE', help='and with the obstacles of a YAML file')
    add('--srdf', type=Path, metavar='FILE', help='leave out the pairs that an SRDF disables')
    add(
        '--margin',
        type=float,
        default=0.01,
        metavar='M',
        help='distance [m] at which a pair is no longer free (default: 0.01)',
    )
    add(
        '--mesh-folder',
        action='append',
        type=Path,
        default=[],
        metavar='FOLDER',
        help='a package that meshes are in, or a folder with packages; may be repeated',
    )


def collisions_of(arguments: argparse.Namespace, robot: Robot) -> Collisions | None:
    """The collisions to avoid; None if none of the arguments requests it."""
    if not (arguments.avoid or arguments.world or arguments.srdf):
        return None
    found = checked_collisions(arguments, robot)
    for warning in found.warnings:
        print(f'warning: {warning}', file=sys.stderr)
    return found


def checked_collisions(
    arguments: argparse.Namespace, robot: Robot, boxes: int | None = None
) -> Collisions:
    """The collisions selected by the options of `add_checked`; `boxes` as in `Collisions`."""
    world = load_world(arguments.world) if arguments.world else None
    margin, folders = arguments.margin, arguments.mesh_folder
    return Collisions(robot, world, margin, arguments.srdf, folders=folders, boxes=boxes)
