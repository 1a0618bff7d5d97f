# SPDX-License-Identifier: Apache-2.0
"""`ik mocap`: show the contents of a motion capture file, and write its skeleton as a URDF.

    ik mocap 124_01.amc                       # with 124.asf in the same folder
    ik mocap walk.amc --skeleton 02.asf --rate 60
    ik mocap 124.asf --urdf figure.urdf       # for `ik solve figure.urdf`, RViz, ...

Exit codes: 0 read, 2 bad input.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ..retargeting.example import link_paths
from ..robot.mocap.mocap_files import load_mocap, load_skeleton
from ..robot.motion import Motion
from ..robot.robot import Robot
from ..robot.urdf_text import urdf_text
from .parser import REACHED, add_json, check_writable, new_parser
from .text import as_json


def add_parser(commands: Any, summary: str) -> None:
    """Add `mocap` to the subcommands of `ik`."""
    parser = new_parser(commands, 'mocap', summary, __doc__)
    parser.add_argument('file', metavar='FILE', type=Path, help='AMC or BVH, or ASF: no motion')
    parser.add_argument(
        '--skeleton',
        type=Path,
        metavar='ASF',
        help='the skeleton of an AMC file (default: found by name)',
    )
    parser.add_argument('--rate', type=float, metavar='HZ', help='frames per second')
    parser.add_argument('--scale', type=float, metavar='M', help='metres per unit of length')
    parser.add_argument('--urdf', type=Path, metavar='OUT', help='write the skeleton as a URDF')
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the contents of the file, and write its skeleton if requested; exit code 0."""
    if arguments.urdf:
        check_writable(arguments.urdf)
    robot, motion = _load(arguments)
    data = {**_figure(robot), **(_motion(robot, motion) if motion else {})}
    if arguments.urdf:
        arguments.urdf.write_text(urdf_text(robot), encoding='utf-8')
    print(as_json(data) if arguments.json else _text(robot, data, arguments.urdf))
    return REACHED


def _load(arguments: argparse.Namespace) -> tuple[Robot, Motion | None]:
    if arguments.file.suffix.lower() == '.asf':
        return load_skeleton(arguments.file, scale=arguments.scale), None
    options = {'rate': arguments.rate, 'scale': arguments.scale}
    return load_mocap(arguments.file, arguments.skeleton, **options)


def _figure(robot: Robot) -> dict[str, Any]:
    """The skeleton, and its size [m] at rest, with all joints at 0."""
    (points,) = link_paths(robot, np.zeros((1, robot.n)), robot.link_names[1:])
    return {
        'name': robot.name,
        'joints': robot.n,
        'joint_names': robot.joint_names,
        'joint_groups': [[group.name, group.kind] for group in robot.joint_groups],
        'links': [link for link in robot.link_names if not link.endswith('_near')],
        'tips': robot.tips(),
        'size': np.ptp(points, axis=0),
    }


def _motion(robot: Robot, motion: Motion) -> dict[str, Any]:
    """The motion's duration and extent, and the fraction of positions beyond the limits."""
    q = motion.positions_of(robot)
    limited = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    beyond = ((q < robot.lower - 1e-9) | (q > robot.upper + 1e-9))[:, limited]
    points = link_paths(robot, q, robot.link_names[1:])
    return {
        'frames': motion.n_frames,
        'rate': motion.rate,
        'duration': motion.duration,
        'from': points.min(axis=(0, 1)),
        'to': points.max(axis=(0, 1)),
        'beyond_limits': float(beyond.mean()) if limited.any() else 0.0,
    }


def _text(robot: Robot, data: dict[str, Any], urdf: Path | None) -> str:
    kinds = [kind for _, kind in data['joint_groups']]
    counts = ', '.join(f'{kinds.count(kind)} {kind}' for kind in dict.fromkeys(kinds))
    lines = [
        f'{robot.name}: {robot.n} joints ({counts}), {len(data["links"])} links',
        f'size at rest: {_triple(data["size"])} m',
        f'links: {", ".join(data["links"])}',
    ]
    if 'frames' in data:
        lines += [
            f'motion: {data["frames"]} frames at {data["rate"]:g} Hz, {data["duration"]:.2f} s',
            f'root positions: from {_triple(data["from"])} to {_triple(data["to"])} m',
            f'joint positions beyond the limits: {100 * data["beyond_limits"]:.1f} %',
        ]
    return '\n'.join(lines + ([f'written: {urdf}'] if urdf else []))


def _triple(vector: np.ndarray) -> str:
    return ' '.join(f'{number:.3f}' for number in vector)
