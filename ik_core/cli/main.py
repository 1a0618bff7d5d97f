"""The `ik` command: what a robot is, and inverse kinematics from the shell.

    ik info panda
    ik solve panda --tip panda_hand_tcp --xyz 0.4 0 0.5 --rpy 3.14 0 0
    ik solve dual_arm --tip left_palm --xyz 0.4 0.2 1 --tip right_palm --xyz 0.4 -0.2 1
    ik replay recording.npz
    ik reach panda --out panda.npz --figure panda.png
    ik check my_robot.urdf --yaml my_robot.yaml

Exit codes: 0 reached, 1 not reached, 2 bad input, with one line on stderr that says what is wrong.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ..batch.solve_all import Solutions, solve_all
from ..batch.solve_best import CHOICES, solve_best
from ..exceptions import IkError
from ..maths.rotations import matrix_from_rpy, quaternion_from_matrix
from ..optim.search import Budget
from ..problem import IkProblem
from ..result import IkResult
from ..robot.robot import Robot
from ..robot.shipped import load_robot
from ..solvers import DEFAULT_SOLVER, SOLVERS, make_solver
from ..tasks import GoalTask, OrientationTask, PoseTask, PositionTask
from ..tracking.recording import Recording, Replay, draw_replay, read_recording, replay, versions
from .exit_codes import BAD_INPUT, INTERRUPTED, NOT_REACHED, REACHED
from .text import as_json, is_number, quantity, table, unit_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `ik` command; the exit code."""
    try:
        arguments = _parser().parse_args(
            _shield_negative_numbers(sys.argv[1:] if argv is None else argv)
        )
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # as in `ik info panda | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_REACHED
    except (IkError, _UsageError, OSError) as error:
        print(f'ik: {error}', file=sys.stderr)
        return BAD_INPUT
    return code


# --- the command line --------------------------------------------------------------------------


class _UsageError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f'{message} (see `{self.prog} --help`)')


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
            raise _UsageError(f'{other} given twice for one goal: begin another with --tip')
        setattr(goal, field, values)


def _parser() -> _Parser:
    parser = _Parser(prog='ik', description='Inverse kinematics for any URDF.', allow_abbrev=False)
    commands = parser.add_subparsers(metavar='COMMAND', required=True)
    info = commands.add_parser('info', help='joints, limits, tips', allow_abbrev=False)
    info.set_defaults(run=_info)
    solve = commands.add_parser('solve', help='solve for a pose', allow_abbrev=False)
    solve.set_defaults(run=_solve)
    _add_solve_arguments(solve)
    for command in (info, solve):
        command.add_argument('robot', metavar='ROBOT', help='a URDF file, or a shipped robot')
        command.add_argument('--json', action='store_true', help='print JSON')
    _add_replay(commands)
    _add_others(commands)
    return parser


def _add_solve_arguments(solve: argparse.ArgumentParser) -> None:
    def goal(option: str, **more: Any) -> None:
        solve.add_argument(option, action=_GoalAction, dest='goals', **more)

    goal('--tip', metavar='LINK', help='the link to move (default: the end of the longest chain)')
    goal('--xyz', nargs=3, type=float, metavar=('X', 'Y', 'Z'), help='position [m]')
    goal('--rpy', nargs=3, type=float, metavar=('R', 'P', 'Y'), help='orientation [rad], as URDF')
    goal('--quat', nargs=4, type=float, metavar=('X', 'Y', 'Z', 'W'), help='orientation')
    solve.add_argument(
        '--q0', nargs='+', type=float, metavar='Q', help='the start, in the order of `ik info`'
    )
    solve.add_argument('--solver', default=DEFAULT_SOLVER, help=f'one of {", ".join(SOLVERS)}')
    solve.add_argument(
        *('--option', '-o'),
        action='append',
        type=_option,
        default=[],
        dest='options',
        metavar='NAME=VALUE',
        help='an option of the solver, as in restarts=5; may be repeated',
    )
    several = solve.add_mutually_exclusive_group()
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


def _add_others(commands: Any) -> None:
    from .. import bench  # these load robots by name through this module
    from . import check, reach

    for command in (reach, check, bench):
        command.add_parser(commands)


def _add_replay(commands: Any) -> None:
    replay = commands.add_parser(
        'replay', help='run again what a node recorded', allow_abbrev=False
    )
    replay.add_argument('file', metavar='FILE', type=Path, help='what the node recorded')
    replay.add_argument('--plot', metavar='FILE', type=Path, help='draw the joints over time')
    replay.add_argument('--json', action='store_true', help='print JSON')
    replay.set_defaults(run=_replay)


def _shield_negative_numbers(argv: Iterable[str]) -> list[str]:
    """Put a blank before -1e-3, -inf and the like, which argparse takes for options."""
    return [f' {text}' if text[:1] == '-' and is_number(text) else text for text in argv]


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition('=')
    if not name or not equals:
        raise argparse.ArgumentTypeError(f'{text!r} should be NAME=VALUE, as in restarts=5')
    words: dict[str, Any] = {'true': True, 'false': False}
    if value in words:
        return name, words[value]
    return name, float(value) if is_number(value) else value


# --- ik info -----------------------------------------------------------------------------------


def _info(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments.robot)
    print(as_json(_info_data(robot)) if arguments.json else _info_text(robot))
    return REACHED


def _info_data(robot: Robot) -> dict[str, Any]:
    return {
        'name': robot.name,
        'base_link': robot.base_link,
        'links': robot.link_names,
        'joints': [
            {
                'name': name,
                'type': robot.joint_types[i],
                'unit': unit_of(robot, i),
                'lower': robot.lower[i],
                'upper': robot.upper[i],
                'velocity': robot.velocity[i],
            }
            for i, name in enumerate(robot.joint_names)
        ],
        'mimic_joints': [
            {'name': name, 'joint': m.joint, 'multiplier': m.multiplier, 'offset': m.offset}
            for name, m in robot.mimic_joints.items()
        ],
        'tips': [
            {'link': tip, 'joints': [robot.joint_names[i] for i in robot.chain(tip)]}
            for tip in robot.tips()
        ],
        'warnings': robot.warnings,
    }


def _info_text(robot: Robot) -> str:
    joints: list[tuple[str, ...]] = [('', 'joint', 'type', 'lower', 'upper', 'velocity')]
    for i, name in enumerate(robot.joint_names):
        unit = unit_of(robot, i)
        limits = (quantity(robot.lower[i], unit), quantity(robot.upper[i], unit))
        speed = quantity(robot.velocity[i], f'{unit}/s')
        joints.append((str(i), name, robot.joint_types[i], *limits, speed))
    mimics = [('mimic joint', 'stands at')]
    for name, m in robot.mimic_joints.items():
        mimics.append((name, f'{m.multiplier:g} * {m.joint} + {m.offset:g}'))
    tips = [('tip', 'moved by joints')]
    for tip in robot.tips():
        tips.append((tip, _ranges(robot.chain(tip))))
    head = f'{robot.name}: {len(robot.link_names)} links, {robot.n} joints, base {robot.base_link}'
    tables = (table(rows) for rows in (joints, mimics, tips) if len(rows) > 1)
    warnings = [f'warning: {warning}' for warning in robot.warnings]
    return '\n\n'.join(filter(None, (head, *tables, '\n'.join(warnings))))


def _ranges(numbers: Sequence[int]) -> str:
    """0, 1, 2, 5 as '0-2, 5'."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ', '.join(f'{r[0]}-{r[-1]}' if len(r) > 1 else str(r[0]) for r in runs)


# --- ik solve ----------------------------------------------------------------------------------


def _solve(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments.robot)
    goals = [_task(robot, goal) for goal in arguments.goals or [_Goal()]]
    problem = IkProblem(robot, goals)
    if arguments.all:
        return _solve_all(arguments, problem)
    options = dict(arguments.options)
    solver = make_solver(arguments.solver, **options)
    run = partial(solver.solve, problem, arguments.q0)
    if arguments.choose != 'first':
        choose = {'choose': arguments.choose, 'solver': arguments.solver, **options}
        run = partial(solve_best, problem, arguments.q0, **choose)
    # Compiles what is needed, so that the time below is that of solving.
    run(budget=Budget(iterations=1))
    result = run()
    if arguments.json:
        print(as_json(_result_data(problem, solver.name, result)))
    else:
        print(_result_text(problem, solver.name, result))
    return REACHED if result.success else NOT_REACHED


def _solve_all(arguments: argparse.Namespace, problem: IkProblem) -> int:
    if arguments.solver != DEFAULT_SOLVER:
        raise _UsageError(f'--all works by {DEFAULT_SOLVER}; leave out --solver')
    found = solve_all(problem, arguments.q0, **dict(arguments.options))
    if arguments.json:
        data = {
            'robot': problem.robot.name,
            'complete': found.complete,
            'searches': found.searches,
            'solve_time': found.solve_time,
            'solutions': [
                {'q': q, 'joints': problem.robot.joint_values(q), 'singular': bool(singular)}
                for q, singular in zip(found, found.singular, strict=True)
            ],
        }
        print(as_json(data))
    else:
        print(_solutions_text(problem, found))
    return REACHED if len(found) else NOT_REACHED


def _solutions_text(problem: IkProblem, found: Solutions) -> str:
    """One column for each solution, the nearest to the start first."""
    robot = problem.robot
    numbers = range(1, len(found) + 1)
    joints: list[tuple[str, ...]] = [('joint', *map(str, numbers))]
    for i, name in enumerate(robot.joint_names):
        unit = unit_of(robot, i)
        joints.append((name, *(quantity(q[i], unit) for q in found)))
    said = 'complete' if found.complete else 'there may be more'
    if found.singular.any():
        said += f', {found.singular.sum()} at a singularity'
    count = f'{len(found)} solution{"" if len(found) == 1 else "s"}, {said}'
    effort = f'{1e3 * found.solve_time:.3g} ms, {found.searches} searches'
    return '\n\n'.join((table(joints), f'{count}\n{effort}'))


def _task(robot: Robot, goal: _Goal) -> GoalTask:
    link = robot.default_tip() if goal.link is None else goal.link
    if goal.xyz is None and goal.quaternion is None:
        raise _UsageError(f'no goal for {link!r}: give --xyz X Y Z, or --rpy R P Y, or both')
    if goal.quaternion is None:
        return PositionTask(link, goal.xyz)
    if goal.xyz is None:
        return OrientationTask(link, goal.quaternion)
    return PoseTask(link, goal.xyz, goal.quaternion)


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
    robot = problem.robot
    joints: list[tuple[str, ...]] = [('joint', 'position', '', 'lower', 'upper', '')]
    for i, name in enumerate(robot.joint_names):
        unit = unit_of(robot, i)
        shown = [quantity(value, unit) for value in (result.q[i], robot.lower[i], robot.upper[i])]
        degrees = '' if unit == 'm' else f'{math.degrees(result.q[i]):.2f} deg'
        joints.append((name, shown[0], degrees, *shown[1:], _note(problem, result, i)))
    goals = [('goal', 'position error', 'orientation error')]
    for task, p, r in zip(
        problem.goals, result.position_errors, result.orientation_errors, strict=True
    ):
        position = f'{1e3 * p:.3g} mm' if task.position_weights.any() else '-'
        orientation = f'{math.degrees(r):.3g} deg' if task.rotation_weights.any() else '-'
        goals.append((task.link, position, orientation))
    effort = (
        f'{1e3 * result.solve_time:.3g} ms, {result.iterations} iterations, '
        f'{result.restarts} restarts, {solver}'
    )
    return '\n\n'.join((table(joints), table(goals), f'{result.status.value}\n{effort}'))


def _note(problem: IkProblem, result: IkResult, i: int) -> str:
    if i not in problem.variables:
        return 'not moved'
    robot = problem.robot
    at_limit = min(result.q[i] - robot.lower[i], robot.upper[i] - result.q[i]) < 1e-9
    return 'at its limit' if at_limit else ''


# --- ik replay ---------------------------------------------------------------------------------


def _replay(arguments: argparse.Namespace) -> int:
    """Run a recording again; REACHED where it does the same."""
    recording = read_recording(arguments.file)
    replays = replay(recording)
    rows = [_replay_data(number, run) for number, run in enumerate(replays)]
    if arguments.json:
        print(as_json({**_recording_data(recording), 'segments': rows}))
    else:
        print(_replay_text(recording, rows))
    if arguments.plot:
        draw_replay(recording, replays, arguments.plot)
    return REACHED if all(run.is_same for run in replays) else NOT_REACHED


def _recording_data(recording: Recording) -> dict[str, Any]:
    now = versions()
    others = {k: v for k, v in recording.versions.items() if now.get(k) != v}
    return {'robot': recording.robot.name, 'notes': recording.notes, 'other_versions': others}


def _replay_data(number: int, run: Replay) -> dict[str, Any]:
    first = run.first_difference
    at = None if first is None or first >= len(run.now) else run.now[first] - run.now[0]
    return {
        'segment': number,
        'ticks': len(run.now),
        'seconds': run.now[-1] - run.now[0],
        'largest_difference': run.largest_difference,
        'first_difference': first,
        'after_seconds': at,
        'failure': run.failure,
    }


def _replay_text(recording: Recording, rows: Sequence[dict[str, Any]]) -> str:
    lines: list[tuple[str, ...]] = [('segment', 'ticks', 'seconds', 'largest difference', '')]
    for row in rows:
        verdict = 'the same'
        if row['first_difference'] is not None:
            verdict = f'differs from tick {row["first_difference"]} on'
        if row['failure']:
            verdict += f': {row["failure"]}'
        counts = (str(row['segment']), str(row['ticks']), f'{row["seconds"]:.2f}')
        lines.append((*counts, f'{row["largest_difference"]:.3g}', verdict))
    data = _recording_data(recording)
    others = [f'{name} was {version}' for name, version in data['other_versions'].items()]
    notes = ', '.join(others) or 'the same versions of python, numpy and numba'
    return '\n\n'.join((f'{data["robot"]}; {notes}', table(lines)))
