# SPDX-License-Identifier: Apache-2.0
"""`ik check`: find faults of a robot description before it drives hardware.

    ik check my_robot.urdf
    ik check my_robot.urdf --tip tool0 --yaml my_robot.yaml     # also writes parameters

Exit codes: 0 no problems, 1 problems found, 2 bad input.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..display import angle, length, time
from ..progress import ProgressLine
from ..robot.shipped import robot_path
from .collision_check import FOLLOWING_ERROR, MARGIN, CollisionReport, check_collisions
from .first_limits import suggested_yaml
from .parser import add_json, add_robot, add_tip, check_writable, limits_of, new_parser
from .self_test import Report, TipReport, check
from .text import as_json, quantity, table

NO_PROBLEMS, PROBLEMS = 0, 1


def add_parser(commands: Any, summary: str) -> None:
    """Add `check` to the subcommands of `ik`."""
    parser = new_parser(commands, 'check', summary, __doc__)
    add_robot(parser)
    add_tip(parser, several=True)
    add = parser.add_argument
    add(
        '--goals',
        type=_count,
        default=200,
        metavar='N',
        help='number of random poses to solve for',
    )
    add(
        '--yaml',
        type=Path,
        metavar='FILE',
        help='write parameters for the first runs of ik_node: slow limits for every joint',
    )
    add(
        '--mesh-folder',
        type=Path,
        action='append',
        default=[],
        metavar='FOLDER',
        help='a package, or a folder with packages, in which meshes are; may be repeated',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the robot, print the report and return the exit code."""
    path = robot_path(arguments.robot)
    if arguments.yaml:
        check_writable(arguments.yaml)
    with ProgressLine('check') as line:
        report = check(path, arguments.tips, arguments.goals, line.show, **limits_of(arguments))
    collisions = check_collisions(report.robot, arguments.mesh_folder)
    if arguments.yaml:
        arguments.yaml.write_text(suggested_yaml(report), encoding='utf-8')
    print(as_json(_data(report, collisions)) if arguments.json else _text(report, collisions))
    return PROBLEMS if report.problems else NO_PROBLEMS


def _count(text: str) -> int:
    """Parse a number of one or more."""
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f'{count}: one or more are needed')
    return count


def _data(report: Report, collisions: CollisionReport) -> dict[str, Any]:
    return {
        'name': report.robot.name,
        'base_link': report.robot.base_link,
        'joints': [asdict(joint) for joint in report.joints],
        'tips': [asdict(tip) for tip in report.tips],
        'collisions': asdict(collisions),
        'problems': report.problems,
        'notes': report.notes,
        'yaml': suggested_yaml(report),
    }


def _text(report: Report, collisions: CollisionReport) -> str:
    robot = report.robot
    head = f'{robot.name}: {len(robot.link_names)} links, {robot.n} joints'
    chosen = [('base', robot.base_link, 'the link without a parent')]
    chosen += [('tip', tip.link, _why(report, tip)) for tip in report.tips]
    found = [f'problem: {problem}' for problem in report.problems]
    found += [f'note: {note}' for note in report.notes]
    count = len(report.problems)
    verdict = {0: 'no problems found', 1: '1 problem found'}.get(count, f'{count} problems found')
    tables = [table(chosen), _joints(report), _tips(report), _collisions(collisions)]
    parts = [head, *tables, '\n'.join(found), verdict]
    return '\n\n'.join(filter(None, parts))


def _why(report: Report, tip: TipReport) -> str:
    others = [link for link in report.robot.tips() if link not in {t.link for t in report.tips}]
    count = len(tip.joints)
    other = f'; other tips: {", ".join(others)}' if others else ''
    return f'{tip.why}: {count} joint{"s" if count > 1 else ""}{other}'


def _joints(report: Report) -> str:
    rows: list[tuple[str, ...]] = [('joint', 'type', 'lower', 'upper', 'velocity', 'effort', '')]
    for joint in report.joints:
        effort_unit = 'N' if joint.unit == 'm' else 'N m'
        remarks = joint.remarks if joint.moves_a_tip else ('moves no tip', *joint.remarks)
        rows.append(
            (
                joint.name,
                joint.kind,
                quantity(joint.lower, joint.unit),
                quantity(joint.upper, joint.unit),
                quantity(joint.velocity, f'{joint.unit}/s'),
                f'{joint.effort:g} {effort_unit}' if math.isfinite(joint.effort) else '-',
                '; '.join(remarks),
            )
        )
    return table(rows) if len(rows) > 1 else ''


def _tips(report: Report) -> str:
    rows: list[tuple[str, ...]] = [
        ('tip', 'goals reached', 'worst error', '', 'mean', 'worst', 'reach')
    ]
    for tip in report.tips:
        rows.append(
            (
                tip.link,
                f'{tip.reached} of {tip.goals}',
                length(tip.worst_position_error),
                angle(tip.worst_orientation_error),
                time(tip.mean_time),
                time(tip.worst_time),
                quantity(tip.reach, 'm'),
            )
        )
    return table(rows) if len(rows) > 1 else ''


def _collisions(report: CollisionReport) -> str:
    if not report.links:
        return f'collisions: {report.why}'
    lines = []
    if any(link.meshes for link in report.links):
        rows: list[tuple[str, ...]] = [('link', 'pieces', 'volume', 'capsule adds')]
        rows += [
            (
                link.link,
                f'{link.pieces} ({", ".join(link.kinds)})',
                '-' if math.isnan(link.volume) else f'{100.0 * link.volume:.0f} % of the mesh',
                '-' if math.isnan(link.excess) else f'{1e3 * link.excess:.0f} mm',
            )
            for link in report.links
        ]
        lines.append(table(rows))
    count = sum(link.pieces for link in report.links)
    lines.append(
        f'collisions: {count} pieces on {len(report.links)} links, which meet in '
        f'{100.0 * report.colliding:.3g} % of {report.poses} random poses'
    )
    if not math.isnan(report.added):
        lines.append(
            f'in {100.0 * report.added:.3g} % of these poses pieces meet and the meshes do not'
        )
    elif report.why:
        lines.append(report.why)
    lines.append(
        f'avoid: ready in {time(report.load_time)}; blocks {100.0 * report.blocked:.3g} % of '
        f'these poses, at {1e3 * MARGIN:g} mm between links; a robot whose joints are '
        f'{FOLLOWING_ERROR:g} rad (following_error) off the commands is up to '
        f'{1e3 * report.off_path:.0f} mm nearer to an obstacle'
    )
    lines += [
        f'{first} and {second} may touch, as fingers of one gripper'
        for first, second in report.fingers
    ]
    return '\n'.join(lines)
