# SPDX-License-Identifier: Apache-2.0
"""`ik retarget`: transfer a motion of a robot or person to a robot of other proportions.

    ik retarget 124_01.amc 141.asf --out throw.npz \\
        --links lhand=lhand rhand=rhand lfoot=lfoot rfoot=rfoot head=head
    ik retarget 124_01.amc talos.urdf --out throw.csv --floating-base --no-joints \\
        --scale length --rpy 1.5708 0 0 \\
        --links lhand=gripper_left_base_link rhand=gripper_right_base_link \\
        lfoot=left_sole_link rfoot=right_sole_link
    ik retarget demo.csv iiwa14 --out d.csv --source panda --links panda_hand=iiwa_link_ee
    ik retarget walk.bvh panda --out walk.csv --links rHand=panda_hand --rpy 1.5708 0 0 --fit

Exit codes: 0 written, 1 written, but frames have not converged or links are far from their paths,
2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..display import length
from ..maths.rotations import Array, matrix_from_rpy
from ..progress import ProgressLine
from ..retargeting import RetargetResult, retarget
from ..retargeting.fit import fit
from ..retargeting.sources import load_clip
from ..robot.motion import Motion
from ..robot.motion_files import check_suffix, save_motion
from ..robot.robot import Robot
from ..robot.robot_sources import load_robot
from ..solvers import DEFAULT_SOLVER, SOLVERS
from .completion import solvers
from .parser import (
    NOT_REACHED,
    REACHED,
    UsageError,
    add_json,
    add_robot,
    check_writable,
    is_number,
    limits_of,
    new_parser,
)
from .text import as_json

# a link farther from its path than this fraction of the robot's length is warned of
FAR_FROM_PATH = 0.02


def add_parser(commands: Any, summary: str) -> None:
    """Add `retarget` to the subcommands of `ik`."""
    parser = new_parser(commands, 'retarget', summary, __doc__)
    add = parser.add_argument
    add('clip', metavar='CLIP', type=Path, help='the motion: .amc, .bvh, .csv or .npz')
    add_robot(parser)
    add(
        '--out',
        metavar='FILE',
        type=Path,
        required=True,
        help='file for the new motion: .csv or .npz',
    )
    add_source(parser)
    add(
        '--out-rate',
        type=float,
        metavar='HZ',
        help='frames per second of the new motion (default: all)',
    )
    add_maps(parser)
    _add_weights(parser)
    add_conversion(parser)
    add(
        '--fit',
        action='store_true',
        help="choose --scale and --xyz such that the paths are in the robot's reach",
    )
    add_json(parser)
    add('--quiet', action='store_true', help='no progress line (shown on terminals only)')
    parser.set_defaults(run=run)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the options about the motion and its source."""
    add = parser.add_argument
    add('--source', metavar='ROBOT', help='the robot of a .csv or .npz motion (default: ROBOT)')
    add(
        '--skeleton',
        metavar='FILE',
        type=Path,
        help='the .asf of an .amc (default: in the same folder)',
    )
    add(
        '--rate',
        type=float,
        metavar='HZ',
        help="frame rate of a clip, instead of its file's (a .csv without times: 10)",
    )
    add('--floating-base', action='store_true', help='give the robot a floating base')


def add_maps(parser: argparse.ArgumentParser, *, links_needed: bool = True) -> None:
    """Add the options that map links and joints of the source to those of the robot."""
    add = parser.add_argument
    add(
        '--links',
        nargs='+',
        type=_pair,
        required=links_needed,
        metavar='SOURCE=ROBOT',
        help='links of the source, and the links of the robot that follow their paths',
    )
    joints = parser.add_mutually_exclusive_group()
    joints.add_argument(
        '--joints',
        nargs='+',
        type=_pair,
        metavar='SOURCE=ROBOT',
        help='joints of the source, and the joints of the robot that copy them (default: those of '
        'the same name)',
    )
    joints.add_argument('--no-joints', action='store_true', help='follow the links only')


def _add_weights(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        '--beta',
        type=float,
        default=1e-5,
        help='0: follow the links only; 1: copy the joints only (default 1e-5)',
    )
    add(
        '--alpha',
        type=float,
        help='weight of the links beside beta, that of the joints (default 1 - beta)',
    )
    add(
        '--orientation-weight',
        type=float,
        default=0.0,
        metavar='W',
        help='weight of the orientations of the links [m^2/rad^2] (default 0: positions only)',
    )
    add(
        '--velocity-weight',
        type=float,
        default=0.0,
        metavar='KV',
        help='weight of the velocities of links and joints [s^2]',
    )
    add(
        '--acceleration-weight',
        type=float,
        default=0.0,
        metavar='KA',
        help='weight of their accelerations [s^4]',
    )
    add(
        '--stiffness',
        type=float,
        default=0.0,
        help='weight of keeping the joints at their positions',
    )
    add(
        '--balance',
        type=float,
        default=0.0,
        metavar='W',
        help='weight of the centre of mass above the --feet (default 0)',
    )
    add('--feet', nargs='+', default=[], metavar='LINK', help='links that the robot stands on')
    solver = add(
        '--solver', metavar='NAME', default=DEFAULT_SOLVER, help=f'one of {", ".join(SOLVERS)}'
    )
    solver.completer = solvers  # type: ignore[attr-defined]
    add('--ignore-limits', action='store_true', help='let joints leave their limits')


def add_conversion(parser: argparse.ArgumentParser) -> None:
    """Add the options that convert the paths to the robot's frame."""
    add = parser.add_argument
    add(
        '--scale',
        type=_scale,
        default=1.0,
        help="scale of the paths; 'length': ratio of the limb lengths",
    )
    add(
        '--xyz',
        nargs=3,
        type=float,
        default=(0, 0, 0),
        metavar=('X', 'Y', 'Z'),
        help='move the paths [m]',
    )
    add(
        '--rpy',
        nargs=3,
        type=float,
        default=(0, 0, 0),
        metavar=('R', 'P', 'Y'),
        help='rotate the paths [rad]',
    )
    add('--base-link', metavar='LINK', help='paths relative to this link of the source')


def run(arguments: argparse.Namespace) -> int:
    """Retarget, write the motion and print its errors; return the exit code."""
    check_suffix(arguments.out)
    check_writable(arguments.out)
    source, motion = load_clip(
        arguments.clip,
        skeleton=arguments.skeleton,
        rate=arguments.rate,
        robot=arguments.source or arguments.robot,
    )
    robot = load_robot(
        arguments.robot, floating_base=arguments.floating_base, **limits_of(arguments)
    )
    if arguments.out_rate is not None:
        motion = motion.resampled(_period(arguments.out_rate))
    links, options = mapping_of(arguments.links, '--links'), _options(arguments)
    if arguments.fit:
        _fit(arguments, motion, robot, links, source, options)
    with ProgressLine('retarget', arguments.quiet) as line:
        made = retarget(motion, robot, links, source=source, **options, progress=line.show)
    save_motion(made.motion, arguments.out)
    data = _data(made, arguments.out, options)
    print(as_json(data) if arguments.json else _text(data))
    is_far = made.link_errors.max() > FAR_FROM_PATH * made.length
    if is_far:
        print(f'ik: {_advice(arguments)}', file=sys.stderr)
    return REACHED if made.converged.all() and not is_far else NOT_REACHED


def _fit(
    arguments: argparse.Namespace,
    motion: Motion,
    robot: Robot,
    links: Mapping[str, str],
    source: Robot,
    options: dict[str, Any],
) -> None:
    """Replace the scale and the translation in `options` by those in the robot's reach."""
    if arguments.scale != 1.0 or any(arguments.xyz):
        raise UsageError('--fit chooses --scale and --xyz: leave them out')
    same = {name: options[name] for name in ('base_link', 'keep_limits', 'solver')}
    found = fit(motion, robot, links, source=source, turn=options['transform'], **same)
    options['scale'], options['transform'][:3, 3] = found


def _advice(arguments: argparse.Namespace) -> str:
    """Advice for links that are far from their paths."""
    if arguments.fit:
        return 'links are far from their paths: follow fewer --links, or use --no-joints'
    return (
        "the paths leave the robot's reach: --fit scales and moves them into it; --rpy 1.5708 0 0 "
        'turns motion capture with y up; --base-link LINK follows paths relative to a link'
    )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The retargeting options given on the command line."""
    return {
        'joints': {} if arguments.no_joints else mapping_of(arguments.joints, '--joints'),
        'beta': arguments.beta,
        'alpha': arguments.alpha,
        'orientation_weights': arguments.orientation_weight,
        'velocity_weights': arguments.velocity_weight,
        'acceleration_weights': arguments.acceleration_weight,
        'stiffness': arguments.stiffness,
        'balance': arguments.balance,
        'feet': arguments.feet,
        'scale': arguments.scale,
        'transform': transform_of(arguments.xyz, arguments.rpy),
        'base_link': arguments.base_link,
        'keep_limits': not arguments.ignore_limits,
        'solver': arguments.solver,
    }


def _period(rate: float) -> float:
    if not 1e-6 <= rate <= 1e6:
        raise UsageError(f'--out-rate {rate:g} [Hz] must be a number from 1e-6 to 1e6')
    return 1.0 / rate


def _pair(text: str) -> tuple[str, str]:
    name, equals, other = text.partition('=')
    if not (name and equals and other):
        raise argparse.ArgumentTypeError(f'{text!r} should be SOURCE=ROBOT, as in rhand=tool0')
    return name, other


def _scale(text: str) -> Any:
    if text != 'length' and not is_number(text):
        raise argparse.ArgumentTypeError(f"{text!r} should be a number or 'length'")
    return text if text == 'length' else float(text)


def mapping_of(pairs: Sequence[tuple[str, str]] | None, option: str) -> Any:
    """The pairs as a mapping; None if there are none. Raises UsageError."""
    if pairs is None:
        return None
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise UsageError(f'{option}: the same name of the source is given twice')
    return mapping


def transform_of(xyz: Sequence[float], rpy: Sequence[float]) -> Array:
    """The transform (4, 4) of a translation [m] and roll, pitch, yaw [rad]."""
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = matrix_from_rpy(rpy), xyz
    return transform


def _data(made: RetargetResult, path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        'scale': options['scale'],
        'xyz': options['transform'][:3, 3],
        'motion': str(path),
        'frames': len(made.motion),
        'rate': made.motion.rate,
        'length': made.length,
        'links': {
            link: {'mean_error': errors.mean(), 'max_error': errors.max()}
            for link, errors in zip(made.links, made.link_errors.T, strict=True)
        },
        'joints': len(made.joints),
        'mean_joint_error': np.abs(made.joint_errors).mean() if made.joints else None,
        'not_converged': int((~made.converged).sum()),
        'frames_per_second': made.frames_per_second,
    }


def _text(data: dict[str, Any]) -> str:
    lines = [
        f'{link}: {length(errors["mean_error"])} from its path on average, at most '
        f'{length(errors["max_error"])}'
        for link, errors in data['links'].items()
    ]
    if data['mean_joint_error'] is not None:
        lines.append(
            f'{data["joints"]} joints: {data["mean_joint_error"]:.3g} rad (or m) from the '
            'example on average'
        )
    if data['not_converged']:
        lines.append(f'in {data["not_converged"]} frames no minimum was found')
    x, y, z = data['xyz']
    scale = data['scale'] if data['scale'] == 'length' else f'{data["scale"]:.6g}'
    lines.append(f'paths placed by --scale {scale} --xyz {x:.3f} {y:.3f} {z:.3f}')
    rate, speed = data['rate'], data['frames_per_second']
    lines.append(f'{data["frames"]} frames at {rate:g} Hz, solved at {speed:.0f} frames a second')
    return '\n'.join([*lines, f'written to {data["motion"]}'])
