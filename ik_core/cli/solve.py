"""`ik solve`: inverse kinematics for goals given as arguments.

    ik solve panda --tip panda_hand_tcp --xyz 0.4 0 0.5 --rpy 3.14 0 0
    ik solve panda --xyz 0.4 0 0.5 --choose nearest
    ik solve ur5e --xyz 0.4 0 0.5 --rpy 3.14 0 0 --all

Exit codes: 0 reached, 1 not reached, 2 bad input.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..batch.solve_all import Solutions, solve_all
from ..batch.solve_best import CHOICES, solve_best
from ..maths.rotations import matrix_from_rpy, quaternion_from_matrix
from ..optim.search import Budget
from ..problem import IkProblem
from ..result import IkResult
from ..robot.load import load_robot
from ..robot.robot import Robot
from ..solvers import DEFAULT_SOLVER, SOLVERS, make_solver
from ..tasks import GoalTask, OrientationTask, PoseTask, PositionTask
from .command import NOT_REACHED, REACHED, UsageError, add_json, add_robot, new_parser
from .text import as_json, is_number, quantity, table


def add_parser(commands: Any) -> None:
    """Add `solve` to the subcommands of `ik`."""
    parser = new_parser(commands, 'solve', 'solve for a pose')
    _add_goals(parser)
    _add_solver(parser)
    _add_choice(parser)
    add_robot(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Solve and print what was found; exit code 0 where the goals are reached, 1 where not."""
    robot = load_robot(arguments.robot)
    problem = IkProblem(robot, [_task(robot, goal) for goal in arguments.goals or [_Goal()]])
    return _print_all(arguments, problem) if arguments.all else _print_one(arguments, problem)


def _print_one(arguments: argparse.Namespace, problem: IkProblem) -> int:
    options = dict(arguments.options)
    if arguments.preset is not None:
        options['preset'] = arguments.preset
    solver = make_solver(arguments.solver, **options)
    search = partial(solver.solve, problem, arguments.q0)
    if arguments.choose != 'first':
        choose = {'choose': arguments.choose, 'solver': arguments.solver, **options}
        search = partial(solve_best, problem, arguments.q0, **choose)
    search(budget=Budget(iterations=1))  # compiles, so that the time below is that of solving
    result = search()
    text = (
        as_json(_result_data(problem, solver.name, result))
        if arguments.json
        else _result_text(problem, solver.name, result)
    )
    print(text)
    return REACHED if result.success else NOT_REACHED


def _print_all(arguments: argparse.Namespace, problem: IkProblem) -> int:
    if arguments.solver != DEFAULT_SOLVER:
        raise UsageError(f'--all works by {DEFAULT_SOLVER}; leave out --solver')
    found = solve_all(problem, arguments.q0, **dict(arguments.options))
    print(
        as_json(_solutions_data(problem, found))
        if arguments.json
        else _solutions_text(problem, found)
    )
    return REACHED if len(found) else NOT_REACHED


# --- arguments ---------------------------------------------------------------------------------


def _add_goals(parser: argparse.ArgumentParser) -> None:
    def goal(option: str, **more: Any) -> None:
        parser.add_argument(option, action=_GoalAction, dest='goals', **more)

    goal('--tip', metavar='LINK', help='the link to move (default: the end of the longest chain)')
    goal('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'), help='position [m]')
    goal('--rpy', nargs=3, type=float, metavar=('R', 'P', 'Y'), help='orientation [rad], as URDF')
    goal('--quat', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'), help='orientation')


def _add_solver(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--q0', nargs='+', type=float, metavar='Q', help='the start, in the order of `ik info`'
    )
    parser.add_argument('--solver', default=DEFAULT_SOLVER, help=f'one of {", ".join(SOLVERS)}')
    parser.add_argument(
        '--preset', metavar='NAME', help="a paper's own options of the solver, as in buss_pure"
    )
    parser.add_argument(
        '--option',
        '-o',
        action='append',
        type=_option,
        default=[],
        dest='options',
        metavar='NAME=VALUE',
        help='an option of the solver, as in restarts=5; may be repeated',
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    several = parser.add_mutually_exclusive_group()
    several.add_argument(
        '--choose',
        choices=CHOICES,
        default='first',
        help='which of many solutions: the first found, the nearest to the start, the farthest '
        'from the limits, the most manipulable',
    )
    several.add_argument(
        '--all', action='store_true', help='all solutions, where there are finitely many'
    )


@dataclass
class _Goal:
    """What the command line asks of one link; `link` None is the robot's default tip."""

    link: str | None = None
    xyz: list[float] | None = None
    quaternion: list[float] | None = None


class _GoalAction(argparse.Action):
    """A second --tip begins a second goal; --xyz, --rpy, --quat belong to the last one begun."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        goals = namespace.goals = namespace.goals or []
        if not goals or (option == '--tip' and goals[-1].link is not None):
            goals.append(_Goal())
        goal = goals[-1]
        if option == '--rpy':
            values = quaternion_from_matrix(matrix_from_rpy(values)).tolist()
        field = {'--tip': 'link', '--xyz': 'xyz'}.get(option, 'quaternion')
        if getattr(goal, field) is not None:
            other = '--rpy or --quat is' if field == 'quaternion' else f'{option} is'
            raise UsageError(f'{other} given twice for one goal: begin another with --tip')
        setattr(goal, field, values)


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition('=')
    if not name or not equals:
        raise argparse.ArgumentTypeError(f'{text!r} should be NAME=VALUE, as in restarts=5')
    words: dict[str, Any] = {'true': True, 'false': False}
    if value in words:
        return name, words[value]
    return name, float(value) if is_number(value) else value


def _task(robot: Robot, goal: _Goal) -> GoalTask:
    link = robot.default_tip() if goal.link is None else goal.link
    if goal.xyz is None and goal.quaternion is None:
        raise UsageError(f'no goal for {link!r}: give --xyz X Y Z, or --rpy R P Y, or both')
    if goal.quaternion is None:
        return PositionTask(link, goal.xyz)
    if goal.xyz is None:
        return OrientationTask(link, goal.quaternion)
    return PoseTask(link, goal.xyz, goal.quaternion)


# --- output ------------------------------------------------------------------------------------


def _result_data(problem: IkProblem, solver: str, result: IkResult) -> dict[str, Any]:
    errors = zip(result.position_errors, result.orientation_errors, strict=True)
    return {
        'robot': problem.robot.name,
        'solver': solver,
        'success': result.success,
        'status': result.status.name,
        'message': result.message,
        'q': result.q,
        'joints': problem.robot.joint_values(result.q),
        'goals': [
            {'link': task.link, 'position_error': position, 'orientation_error': orientation}
            for task, (position, orientation) in zip(problem.goals, errors, strict=True)
        ],
        'iterations': result.iterations,
        'evaluations': result.evaluations,
        'restarts': result.restarts,
        'solve_time': result.solve_time,
    }


def _result_text(problem: IkProblem, solver: str, result: IkResult) -> str:
    effort = (
        f'{1e3 * result.solve_time:.3g} ms, {result.iterations} iterations, '
        f'{result.restarts} restarts, {solver}'
    )
    tables = _joint_table(problem, result), _goal_table(problem, result)
    return '\n\n'.join((*tables, f'{result.status.value}\n{effort}'))


def _joint_table(problem: IkProblem, result: IkResult) -> str:
    robot = problem.robot
    rows: list[tuple[str, ...]] = [('joint', 'position', '', 'lower', 'upper', '')]
    for i, name in enumerate(robot.joint_names):
        unit = robot.joint_units[i]
        shown = [quantity(value, unit) for value in (result.q[i], robot.lower[i], robot.upper[i])]
        degrees = '' if unit == 'm' else f'{math.degrees(result.q[i]):.2f} deg'
        rows.append((name, shown[0], degrees, *shown[1:], _note(problem, result, i)))
    return table(rows)


def _goal_table(problem: IkProblem, result: IkResult) -> str:
    rows = [('goal', 'position error', 'orientation error')]
    errors = zip(result.position_errors, result.orientation_errors, strict=True)
    for task, (p, r) in zip(problem.goals, errors, strict=True):
        position = f'{1e3 * p:.3g} mm' if task.position_weights.any() else '-'
        orientation = f'{math.degrees(r):.3g} deg' if task.rotation_weights.any() else '-'
        rows.append((task.link, position, orientation))
    return table(rows)


def _note(problem: IkProblem, result: IkResult, i: int) -> str:
    if i not in problem.variables:
        return 'not moved'
    robot = problem.robot
    at_limit = min(result.q[i] - robot.lower[i], robot.upper[i] - result.q[i]) < 1e-9
    return 'at its limit' if at_limit else ''


def _solutions_data(problem: IkProblem, found: Solutions) -> dict[str, Any]:
    return {
        'robot': problem.robot.name,
        'complete': found.complete,
        'searches': found.searches,
        'solve_time': found.solve_time,
        'solutions': [
            {'q': q, 'joints': problem.robot.joint_values(q), 'singular': bool(singular)}
            for q, singular in zip(found, found.singular, strict=True)
        ],
    }


def _solutions_text(problem: IkProblem, found: Solutions) -> str:
    """One column for each solution, the nearest to the start first."""
    robot = problem.robot
    numbers = range(1, len(found) + 1)
    joints: list[tuple[str, ...]] = [('joint', *map(str, numbers))]
    for i, name in enumerate(robot.joint_names):
        unit = robot.joint_units[i]
        joints.append((name, *(quantity(q[i], unit) for q in found)))
    said = 'complete' if found.complete else 'there may be more'
    if found.singular.any():
        said += f', {found.singular.sum()} at a singularity'
    count = f'{len(found)} solution{"" if len(found) == 1 else "s"}, {said}'
    effort = f'{1e3 * found.solve_time:.3g} ms, {found.searches} searches'
    return '\n\n'.join((table(joints), f'{count}\n{effort}'))
