# SPDX-License-Identifier: Apache-2.0
"""`ik solve`: inverse kinematics for goals given as arguments, or for a file of poses.

    ik solve panda --xyz 0.4 0 0.5 --rpy 3.14 0 0
    ik solve panda --xyz 0.4 0 0.5 --rpy 180 0 45 --degrees
    ik solve dual_arm --tip left_palm --xyz 0.4 0.2 1 --tip right_palm --xyz 0.4 -0.2 1
    ik solve panda --xyz 0.4 0 0.5 --near panda_joint1=0.5 --frozen panda_joint3
    ik solve ur5e --xyz 0.4 0 0.5 --rpy 3.14 0 0 --all
    ik solve panda --poses poses.csv --out joints.csv
    ik solve panda --xyz 0.4 0 0.5 --avoid --world table.yaml

    ik solve scara --xyz 0.3 0.2 0.1 --axis 0 0 -1 --tool 0 0 0.05

Goals are in the root link's frame. Without --rpy, --quat and --axis the orientation is free. A
second --tip begins a second goal; the options of a goal follow its --tip.

If fewer than six joints move a link, they reach few poses: then the position comes first, and the
link turns as near to the orientation as it can. --couple 100 weighs the differences between the
errors of positions 100 times as much as their mean: hands that can't reach keep their distance.
--axis asks for the direction of its z axis alone,
as for a pen or a drill; --equal-weights for position and orientation alike.

A file of poses has a pose in each line: x,y,z, or x,y,z,roll,pitch,yaw, or x,y,z,qx,qy,qz,qw.
With a header line the columns may have any order. The joint values are written as CSV, a line for
each pose, with its status and its errors. After Ctrl-C the file has the poses solved so far.

With --avoid, --world or --srdf answers are free of collisions of the robot's links with one
another, and with the obstacles of a YAML file (docs/collisions.md).

Exit codes: 0 reached (for a file: all poses), 1 not reached, 2 bad input.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..batch.all_solutions import solve_all
from ..batch.best_solution import CHOICES, solve_best
from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.robot import Robot
from ..solvers import DEFAULT_SOLVER, SOLVERS, make_solver
from ..solvers.base import Solver
from ..tasks import CoupledTask, PositionTask
from ..tasks.coupled import DIFFERENCE_WEIGHTS
from .angles import DEGREES, RADIANS, configuration, joint_value
from .collision_arguments import add_collisions, collisions_of
from .completion import joints, links, solvers
from .goal_arguments import Goal, add_goals, add_tolerances, maker_of, tolerances_of
from .parser import (
    NOT_REACHED,
    REACHED,
    UsageError,
    add_json,
    add_robot,
    is_number,
    new_parser,
    robot_of,
)
from .solve_poses import solve_poses
from .solved import in_shell, result_data, result_text, solutions_data, solutions_text
from .text import as_json

OF_ALL = 'closed_form', DEFAULT_SOLVER  # --all uses closed forms if there are any, else searches


def add_parser(commands: Any, summary: str) -> None:
    """Add `solve` to the subcommands of `ik`."""
    parser = new_parser(commands, 'solve', summary, __doc__)
    parser.usage = 'ik solve ROBOT --xyz X Y Z [--rpy R P Y | --axis X Y Z] [options]'
    add_robot(parser)
    add_goals(parser.add_argument_group('goals'), links)
    _add_file(parser.add_argument_group('many goals'))
    _add_start(parser)
    _add_choice(parser)
    add_tolerances(parser.add_argument_group('tolerances'))
    _add_solver(parser.add_argument_group('solver'))
    add_collisions(parser.add_argument_group('collisions'))
    parser.add_argument(
        '--degrees',
        action='store_true',
        help='angles of input and output in degrees, not in radians',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Solve and print the result; exit code 0 if the goals are reached, else 1."""
    robot = robot_of(arguments)
    arguments.angles = DEGREES if arguments.degrees else RADIANS
    start = _start(arguments, robot)
    if arguments.poses is not None and arguments.couple is not None:
        raise UsageError('--couple is for goals of --tip and --xyz: leave out --poses')
    if arguments.poses is not None:
        return solve_poses(arguments, robot, start, _solver(arguments))
    if arguments.warm_start or arguments.out:
        raise UsageError('--warm-start and --out go with --poses FILE')
    avoid = collisions_of(arguments, robot)
    make = maker_of(arguments, robot)
    problem = IkProblem(
        robot,
        [make.task(goal) for goal in arguments.goals or [Goal()]],
        frozen_joints=arguments.frozen,
        avoid=avoid,
        **tolerances_of(arguments, arguments.angles),
    )
    if arguments.couple is not None and (arguments.all or arguments.choose != 'first'):
        raise UsageError('--couple is for a single solve: leave out --all, --near and --choose')
    find = _print_all if arguments.all else _print_one
    return find(arguments, problem, start)


def _print_one(arguments: argparse.Namespace, problem: IkProblem, q0: Array | None) -> int:
    solver = _solver(arguments)
    solved = problem if arguments.couple is None else _coupled(arguments, problem)
    search = partial(solver.solve, solved, q0)
    if arguments.choose != 'first':
        choose = {'choose': arguments.choose, 'solver': arguments.solver, **_options(arguments)}
        search = partial(solve_best, problem, q0, **choose)
    result = search()
    if solved is not problem:
        position, orientation = problem.errors(result.q)
        result = replace(result, position_errors=position, orientation_errors=orientation)
    result = in_shell(problem, result)
    found = (problem, solver.name, result, arguments.angles)
    print(as_json(result_data(*found)) if arguments.json else result_text(*found))
    return REACHED if result.success else NOT_REACHED


def _coupled(arguments: argparse.Namespace, problem: IkProblem) -> IkProblem:
    """The problem with its goals coupled by --couple. Raises UsageError."""
    goals, weight = problem.goals, arguments.couple
    if len(goals) < 2 or not all(isinstance(goal, PositionTask) for goal in goals):
        raise UsageError('--couple needs two goals at least, each of --tip and --xyz alone')
    least, most = DIFFERENCE_WEIGHTS
    if not least <= weight <= most:
        raise UsageError(f'--couple {weight:g}: a number from {least:g} to {most:g} is needed')
    task = CoupledTask.of_differences(goals, weight, tolerance=problem.position_tolerance)
    return IkProblem(
        problem.robot, [task], frozen_joints=problem.frozen_joints, avoid=problem.avoid
    )


def _print_all(arguments: argparse.Namespace, problem: IkProblem, q0: Array | None) -> int:
    if arguments.solver not in OF_ALL:
        raise UsageError(f'--all works by {" and ".join(OF_ALL)}; leave out --solver')
    solutions = solve_all(problem, q0, **dict(arguments.options))
    found = (problem, solutions, arguments.angles)
    print(as_json(solutions_data(*found)) if arguments.json else solutions_text(*found))
    return REACHED if len(solutions) else NOT_REACHED


def _start(arguments: argparse.Namespace, robot: Robot) -> Array | None:
    """The start (n,); None if none is given. With `--near`, the nearest solution is chosen."""
    if arguments.near is not None and arguments.choose not in ('first', 'nearest'):
        raise UsageError(f'--near chooses the nearest solution, --choose {arguments.choose} not')
    if arguments.near is not None:
        arguments.choose = 'nearest'
    given = arguments.q0 if arguments.near is None else arguments.near
    if given is None:
        return None
    middle = robot.middle_configuration
    return configuration(robot, given, middle, arguments.angles)


def _solver(arguments: argparse.Namespace) -> Solver:
    return make_solver(arguments.solver, **_options(arguments))


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    preset = {} if arguments.preset is None else {'preset': arguments.preset}
    return {**dict(arguments.options), **preset}


# --- arguments ---------------------------------------------------------------------------------


def _add_file(group: Any) -> None:
    add = group.add_argument
    add('--poses', type=Path, metavar='FILE', help='a CSV file of poses for one tip, see below')
    add('--out', type=Path, metavar='FILE', help='file for the joint values (default: printed)')
    add(
        '--warm-start',
        action='store_true',
        help='start each pose at the solution before it',
    )


def _add_start(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('start')
    several = group.add_mutually_exclusive_group()

    def start(option: str, text: str) -> None:
        several.add_argument(option, nargs='+', type=joint_value, metavar='Q', help=text)

    start(
        '--q0',
        'start: a number for each joint in the order of `ik info`, or JOINT=VALUE for some; '
        'the others start in the middle of their limits',
    )
    start('--near', 'start there, and return the nearest of many solutions')
    frozen = group.add_argument(
        '--frozen',
        nargs='+',
        default=[],
        metavar='JOINT',
        help='joints that keep their start value',
    )
    frozen.completer = joints  # type: ignore[attr-defined]
    group.add_argument(
        '--free-base',
        action='store_true',
        help='let the planar and floating joints of the description move, which are frozen at '
        'zero; without any, add a floating base',
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('choice of solution')
    several = group.add_mutually_exclusive_group()
    several.add_argument(
        '--choose',
        choices=CHOICES,
        default='first',
        help='choice among many solutions: the first found, the nearest to the start, the '
        'farthest from the limits, the most manipulable',
    )
    several.add_argument(
        '--all', action='store_true', help='all solutions, if there are finitely many'
    )


def _add_solver(group: Any) -> None:
    solver = group.add_argument(
        '--solver', metavar='NAME', default=DEFAULT_SOLVER, help=f'one of {", ".join(SOLVERS)}'
    )
    solver.completer = solvers
    group.add_argument(
        '--preset',
        metavar='NAME',
        help='options of the solver as in a paper, for example buss_pure',
    )
    group.add_argument(
        '--option',
        '-o',
        action='append',
        type=_option,
        default=[],
        dest='options',
        metavar='NAME=VALUE',
        help='an option of the solver, such as restarts=5; may be repeated',
    )


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition('=')
    if not name or not equals:
        raise argparse.ArgumentTypeError(f'{text!r} should be NAME=VALUE, as in restarts=5')
    words: dict[str, Any] = {'true': True, 'false': False}
    if value in words:
        return name, words[value]
    return name, float(value) if is_number(value) else value
