# SPDX-License-Identifier: Apache-2.0
"""`ik collisions`: which links of a robot can collide, and how far apart they are.

    ik collisions panda                                    # verdicts of all pairs, and reasons
    ik collisions panda --margin 0.02 --srdf panda.srdf    # and what the SRDF says wrongly
    ik collisions my_robot.urdf --prove                    # minutes, to decide what is open
    ik collisions panda --q 0 0.5 0 -1.5 0 2 0.8 --world table.yaml
    ik collisions panda --q panda_joint4=-2.5              # the others in the middle

Verdicts of pairs of links, for all configurations inside the limits:

    sometimes   there are configurations in which they are nearer than the margin
    open        none was found, but that there is none is not proved: the pair is checked
    inside      always nearer than the margin: only contact counts
    touching    proved to touch in every configuration: not checked
    never       proved to stay farther apart than the margin: not checked
    disabled    an SRDF disables the pair: not checked

With --q the nearest pairs there are listed, of links and of obstacles; negative distances are
depths. Exit codes: 0 free (without --q: verdicts were found), 1 not free, 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..collision import Collisions, LinkPair, PairDistance
from ..collision.pairs import Verdict
from ..display import counted, length
from ..maths.rotations import Array
from .angles import DEGREES, RADIANS, Angles, configuration, joint_value
from .collision_arguments import add_checked, checked_collisions
from .parser import add_json, add_robot, new_parser, robot_of
from .text import as_json, table

FREE, NOT_FREE = 0, 1
BOXES = 30_000  # of a proof with --prove
NEAREST = 10  # pairs listed with --q, unless more are within their margins
# order of verdicts in the table: checked pairs first
ORDER: tuple[Verdict, ...] = (
    'sometimes', 'open', 'inside', 'fingers', 'touching', 'never', 'disabled'
)  # fmt: skip


def add_parser(commands: Any, summary: str) -> None:
    """Add `collisions` to the subcommands of `ik`."""
    parser = new_parser(commands, 'collisions', summary, __doc__)
    add_robot(parser)
    add = parser.add_argument
    add(
        '--q',
        nargs='+',
        type=joint_value,
        metavar='Q',
        help='list the nearest pairs at a configuration: a number for each joint in the order of '
        '`ik info`, or JOINT=VALUE for some; the others are in the middle of their limits',
    )
    add('--degrees', action='store_true', help='angles of --q in degrees, not in radians')
    add(
        '--prove',
        action='store_true',
        help=f'up to {BOXES:,} boxes a proof, instead of some hundreds: for open pairs',
    )
    add_checked(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print verdicts, or with --q distances; exit code 1 if a configuration is not free."""
    robot = robot_of(arguments)
    angles = DEGREES if arguments.degrees else RADIANS
    q = None
    if arguments.q is not None:
        q = configuration(robot, arguments.q, robot.middle_configuration, angles, 'q')
    collisions = checked_collisions(arguments, robot, BOXES if arguments.prove else None)
    if not arguments.json:
        for warning in collisions.warnings:
            print(f'warning: {warning}', file=sys.stderr)
    if q is None:
        print(as_json(_data(collisions)) if arguments.json else _text(collisions))
        return FREE
    nearest, is_free = _nearest(collisions, q), collisions.free(q)
    if arguments.json:
        print(as_json(_data_at(collisions, q, nearest, is_free, angles)))
    else:
        print(_text_at(nearest, is_free))
    return FREE if is_free else NOT_FREE


def _in_order(collisions: Collisions) -> list[LinkPair]:
    """All pairs of links, ordered by verdict, then by how often they are near."""
    return sorted(collisions.pairs, key=lambda pair: (ORDER.index(pair.verdict), -pair.fraction))


def _counts(collisions: Collisions) -> dict[str, int]:
    """The number of pairs of each verdict."""
    verdicts = [pair.verdict for pair in collisions.pairs]
    return {verdict: verdicts.count(verdict) for verdict in ORDER}


def _nearest(collisions: Collisions, q: Array) -> list[PairDistance]:
    """The nearest pairs at a configuration, and all others within their margins."""
    pairs = collisions.distances(q, float('inf'))
    inside = [pair for pair in pairs if pair.distance <= pair.margin]
    return inside if len(inside) >= NEAREST else pairs[:NEAREST]


# --- text ----------------------------------------------------------------------------------------


def _text(collisions: Collisions) -> str:
    checked = sum(pair.is_checked for pair in collisions.pairs)
    count = counted(len(collisions.pairs), 'pair')
    head = f'{collisions.robot.name}: {checked} of {count} of links are checked'
    rows: list[tuple[str, ...]] = [('first', 'second', 'verdict', 'reason')]
    rows += [(pair.first, pair.second, pair.verdict, pair.why()) for pair in _in_order(collisions)]
    found = [f'{number} {verdict}' for verdict, number in _counts(collisions).items() if number]
    parts = [head, table(rows) if len(rows) > 1 else '', ', '.join(found), _obstacles(collisions)]
    return '\n\n'.join(filter(None, parts))


def _obstacles(collisions: Collisions) -> str:
    """A sentence on the pairs of links and obstacles; '' without obstacles."""
    if not len(collisions.world):
        return ''
    names, world = collisions.piece_names, collisions.world
    pairs = {
        (names[i], names[j])
        for i, j in collisions.model['pairs'][:, :2].tolist()
        if names[i] in world or names[j] in world
    }
    count = counted(len(pairs), 'pair')
    return f'{counted(len(world), "obstacle")}: {count} with links, or of obstacles, are checked'


def _text_at(nearest: list[PairDistance], is_free: bool) -> str:
    rows: list[tuple[str, ...]] = [('first', 'second', 'distance', 'margin', '')]
    for pair in nearest:
        sign = '-' if pair.distance < 0.0 else ''
        verdict = 'collide' if pair.distance <= 0.0 else 'inside the margin'
        rows.append(
            (
                pair.first,
                pair.second,
                f'{sign}{length(abs(pair.distance))}',
                length(pair.margin),
                verdict if pair.distance <= pair.margin else '',
            )
        )
    parts = [table(rows) if nearest else 'no pair can meet', 'free' if is_free else 'not free']
    return '\n\n'.join(parts)


# --- JSON ----------------------------------------------------------------------------------------


def _data(collisions: Collisions) -> dict[str, Any]:
    return {
        'robot': collisions.robot.name,
        'pairs': [
            {
                'first': pair.first,
                'second': pair.second,
                'verdict': pair.verdict,
                'reason': pair.why(),
                'is_checked': pair.is_checked,
                'margin': pair.margin,
                'joints': pair.joints,
                'nearest': pair.nearest,
                'farthest': pair.farthest,
                'fraction': pair.fraction,
                'boxes': pair.boxes,
                'q': pair.q,
            }
            for pair in _in_order(collisions)
        ],
        'counts': _counts(collisions),
        'obstacles': [each.name for each in collisions.world],
        'warnings': list(collisions.warnings),
    }


def _data_at(
    collisions: Collisions, q: Array, nearest: list[PairDistance], is_free: bool, angles: Angles
) -> dict[str, Any]:
    return {
        'robot': collisions.robot.name,
        'q': angles.of_joints(collisions.robot, q),
        'free': is_free,
        'pairs': [
            {
                'first': pair.first,
                'second': pair.second,
                'distance': pair.distance,
                'margin': pair.margin,
                'points': pair.points,
                'normal': pair.normal,
            }
            for pair in nearest
        ],
        'warnings': list(collisions.warnings),
    }
