# SPDX-License-Identifier: Apache-2.0
"""`ik info`: show the joints, limits and tips of a robot.

    ik info panda
    ik info my_robot.urdf --json
    ik info panda --tip panda_hand     # for this link, instead of the ends of chains

The order of the joints is that of `ik solve --q0`, and of q in Python.
Exit codes: 0 read, 2 bad input.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..closed_form.chain import expected_family
from ..closed_form.initial_guess import expected_initial_guess
from ..exceptions import UnsupportedProblem
from ..kernels import library
from ..problem import IkProblem
from ..robot.robot import Robot
from ..tasks import PoseTask
from .parser import REACHED, add_json, add_robot, add_tip, new_parser, robot_of
from .text import as_json, quantity, table


def add_parser(commands: Any, summary: str) -> None:
    """Add `info` to the subcommands of `ik`."""
    parser = new_parser(commands, 'info', summary, __doc__)
    add_robot(parser)
    parser.add_argument(
        '--kernels', action=ShowKernels, nargs=0, help='print how kernels run, and why, and exit'
    )
    add_tip(parser, several=True)
    add_json(parser)
    parser.set_defaults(run=run)


class ShowKernels(argparse.Action):
    """Print how kernels run and exit; needs no robot."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(library.report())
        parser.exit()


def run(arguments: argparse.Namespace) -> int:
    """Print the joints, limits and tips of the robot; exit code 0."""
    robot = robot_of(arguments)
    tips = arguments.tips or robot.tips()
    print(as_json(_data(robot, tips)) if arguments.json else _text(robot, tips))
    return REACHED


def _data(robot: Robot, tips: Sequence[str]) -> dict[str, Any]:
    return {
        'name': robot.name,
        'base_link': robot.base_link,
        'links': robot.link_names,
        'joints': [_joint_data(robot, i) for i in range(robot.n)],
        'mimic_joints': [
            {'name': name, 'joint': m.joint, 'multiplier': m.multiplier, 'offset': m.offset}
            for name, m in robot.mimic_joints.items()
        ],
        'tips': [
            {
                'link': tip,
                'joints': [robot.joint_names[i] for i in robot.chain(tip)],
                'closed_form': _closed_form(robot, tip),
                'initial_guess': expected_initial_guess(IkProblem(robot, [PoseTask(tip)])),
            }
            for tip in tips
        ],
        'warnings': robot.warnings,
    }


def _joint_data(robot: Robot, i: int) -> dict[str, Any]:
    return {
        'name': robot.joint_names[i],
        'type': robot.joint_types[i],
        'unit': robot.joint_units[i],
        'lower': robot.lower[i],
        'upper': robot.upper[i],
        'velocity': robot.velocity[i],
        'acceleration': robot.acceleration[i],
        'jerk': robot.jerk[i],
    }


def _text(robot: Robot, tips: Sequence[str]) -> str:
    head = f'{robot.name}: {len(robot.link_names)} links, {robot.n} joints, base {robot.base_link}'
    rows = (_joint_rows(robot), _mimic_rows(robot), _tip_rows(robot, tips))
    warnings = [f'warning: {warning}' for warning in robot.warnings]
    tables = (table(part) for part in rows if len(part) > 1)
    return '\n\n'.join(filter(None, (head, *tables, '\n'.join(warnings))))


def _joint_rows(robot: Robot) -> list[tuple[str, ...]]:
    """Rows of the joints; acceleration and jerk only if the description has any."""
    powers = {'velocity': '', 'acceleration': '^2', 'jerk': '^3'}
    rates = [r for r in powers if r == 'velocity' or np.isfinite(getattr(robot, r)).any()]
    rows: list[tuple[str, ...]] = [('', 'joint', 'type', 'lower', 'upper', *rates)]
    for i, name in enumerate(robot.joint_names):
        unit = robot.joint_units[i]
        limits = [quantity(robot.lower[i], unit), quantity(robot.upper[i], unit)]
        limits += [quantity(getattr(robot, r)[i], f'{unit}/s{powers[r]}') for r in rates]
        rows.append((str(i), name, robot.joint_types[i], *limits))
    return rows


def _mimic_rows(robot: Robot) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [('mimic joint', 'position')]
    for name, m in robot.mimic_joints.items():
        rows.append((name, f'{m.multiplier:g} * {m.joint} + {m.offset:g}'))
    return rows


def _tip_rows(robot: Robot, tips: Sequence[str]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [('tip', 'moved by joints', 'closed form')]
    return rows + [
        (tip, _ranges(robot.chain(tip)), _closed_form_or_why_not(robot, tip)) for tip in tips
    ]


def _closed_form(robot: Robot, tip: str) -> str | None:
    """The closed form of a tip's chain as text; None if there is none."""
    try:
        return expected_family(IkProblem(robot, [PoseTask(tip)]))
    except UnsupportedProblem:
        return None


def _closed_form_or_why_not(robot: Robot, tip: str) -> str:
    """Return text: the closed form of a pose, or why there is none, and the one for initial
    guesses.

    An approximate closed form can give a search its starts where there is no exact one.
    """
    problem = IkProblem(robot, [PoseTask(tip)])
    nearly = expected_initial_guess(problem)
    begun = '' if nearly is None else f'; searches begin at the closed form of {nearly}'
    try:
        return expected_family(problem) + begun
    except UnsupportedProblem as reason:
        return f'- ({reason}){begun}'


def _ranges(numbers: Sequence[int]) -> str:
    """Join consecutive numbers: 0, 1, 2, 5 becomes '0-2, 5'."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ', '.join(f'{r[0]}-{r[-1]}' if len(r) > 1 else str(r[0]) for r in runs)
