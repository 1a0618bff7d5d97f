# SPDX-License-Identifier: Apache-2.0
"""`ik play`: show a motion in the browser, and a robot that imitates it, solved live.

    ik play joints.csv panda                          # joint values, of `ik solve --poses` too
    ik play 124_01.amc                                # a clip of the CMU database alone
    ik play 124_01.amc 141.asf --scale length --ignore-limits
    ik play wave.csv iiwa14 --source panda --links panda_hand_tcp=iiwa_link_ee
    ik play 124_01.amc talos.urdf --floating-base --no-joints --scale length \\
        --links lhand=gripper_left_base_link rhand=gripper_right_base_link

A .csv is played by ROBOT itself, unless --source or --links is given. Its columns are found by
the names of the joints; those that it lacks stay in the middle of their limits.

When the slider of beta moves, the page solves again, from the displayed frame on. `ik retarget`
writes the same motion into a file. Exit codes: 0 ended by Ctrl-C, 2 bad input.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ik_core import Robot
from ik_core.cli.parser import UsageError
from ik_core.cli.retarget import add_conversion, add_maps, add_source, mapping_of, transform_of
from ik_core.display import listed
from ik_core.exceptions import IkError
from ik_core.motion import Motion
from ik_core.retargeting.frame_solver import Weights
from ik_core.retargeting.sources import CAPTURED, load_clip

from ..arm import Description
from ..drawing.description import (
    MOTION_CAPTURE,
    check_mesh_folders,
    describe,
    description_of,
)
from ..page.program import (
    BAD_INPUT,
    INTERRUPTED,
    add_address,
    add_mesh_folders,
    ended_by_signals,
    show_until,
)
from ..page.server import start_server
from .clip import Clip, Imitator, imitator_of, usual_links
from .live import LiveRetargeting, Wish
from .play_page import PlayPage


def main(argv: Sequence[str] | None = None) -> int:
    """Play until Ctrl-C; return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return _run(arguments)
    except (IkError, UsageError, OSError) as error:
        print(f'ik: {error}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:  # before there was a page
        return INTERRUPTED


def page_of(arguments: argparse.Namespace) -> PlayPage:
    """Make the page that the arguments describe. Raises IkError, UsageError, OSError."""
    Weights(beta=arguments.beta, alpha=arguments.alpha)  # raises InvalidOption
    source, motion = load_clip(
        arguments.clip,
        skeleton=arguments.skeleton,
        rate=arguments.rate,
        robot=arguments.source or arguments.robot,
        degrees=arguments.degrees,
    )
    captured = arguments.clip.suffix.lower() in CAPTURED
    imitates = arguments.robot is not None and bool(
        captured or arguments.source or arguments.links
    )
    if imitates:
        description = describe(
            arguments.robot, arguments.mesh_folder, floating_base=arguments.floating_base
        )
    elif captured:
        description = Description(source, up='+y')
    else:
        check_mesh_folders(arguments.mesh_folder)
        description = description_of(source, arguments.mesh_folder)
    motion = _of_all_joints(motion, source)
    clip = Clip.of(source, motion, _transform(arguments, captured))
    live = None
    if imitates:
        imitator = _imitator(arguments, clip, motion, description.robot)
        wish = Wish(arguments.beta, not arguments.ignore_limits, alpha=arguments.alpha)
        live = LiveRetargeting(imitator, wish)
    server = start_server(arguments.host, arguments.port)
    return PlayPage(server, _title(arguments), clip, description, live)


def _of_all_joints(motion: Motion, robot: Robot) -> Motion:
    """Complete a motion by the robot's other joints, in the middle; print which."""
    lacking = [joint for joint in robot.joint_names if joint not in motion.joint_names]
    if not lacking:
        return motion
    print(f'ik: the motion lacks {listed(lacking)}: in the middle of the limits', file=sys.stderr)
    middle = [robot.middle_configuration[robot.joint_index(joint)] for joint in lacking]
    still = np.tile(middle, (motion.n_frames, 1))
    return Motion(
        (*motion.joint_names, *lacking), np.hstack([motion.positions, still]), motion.period
    )


def _imitator(arguments: argparse.Namespace, clip: Clip, motion: Motion, robot: Robot) -> Imitator:
    return imitator_of(
        clip,
        motion,
        robot,
        mapping_of(arguments.links, '--links') or usual_links(clip.source, robot),
        joints={} if arguments.no_joints else mapping_of(arguments.joints, '--joints'),
        scale=arguments.scale,
        base_link=arguments.base_link,
    )


def _transform(arguments: argparse.Namespace, captured: bool) -> np.ndarray:
    """Return the pose (4, 4) of the clip; that of a captured one turns its y up to a robot's z."""
    rpy = arguments.rpy
    standing = arguments.robot is not None and not _is_figure(arguments.robot)
    if captured and standing and not any(rpy):
        rpy = (math.pi / 2.0, 0.0, 0.0)
    return transform_of(arguments.xyz, rpy)


def _is_figure(robot: str) -> bool:
    return Path(robot).suffix.lower() in MOTION_CAPTURE


def _title(arguments: argparse.Namespace) -> str:
    robots = dict.fromkeys(filter(None, (arguments.source, arguments.robot)))
    return ' and '.join((arguments.clip.stem, *(Path(robot).stem for robot in robots)))


def _run(arguments: argparse.Namespace) -> int:
    page = page_of(arguments)
    page.start()
    show_until(ended_by_signals(), page, _title(arguments))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='ik play',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add('clip', metavar='CLIP', type=Path, help='the motion: .amc, .bvh, .csv or .npz')
    add(
        'robot',
        metavar='ROBOT',
        nargs='?',
        help='robot that plays a .csv, or imitates a clip: a URDF file, the name of a robot, or a '
        'skeleton: .asf, .bvh',
    )
    add_source(parser)
    add('--degrees', action='store_true', help='angles of a .csv are in degrees, not in radians')
    add_maps(parser, links_needed=False)
    add('--beta', type=float, default=1e-5, help='initial value; 0: links, 1: joints')
    add('--alpha', type=float, help='weight of the links beside beta (default 1 - beta)')
    add('--ignore-limits', action='store_true', help='begin without joint limits')
    add_conversion(parser)
    add_mesh_folders(parser)
    add_address(parser)
    return parser


if __name__ == '__main__':
    sys.exit(main())
