# SPDX-License-Identifier: Apache-2.0
"""Output of `ik solve`: tables for people, data for JSON."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..batch.all_solutions import Solutions
from ..display import angle, counted, fixed, length, listed, time
from ..maths.rotations import Array
from ..problem import IkProblem
from ..result import IkResult
from ..robot.robot_sources import base_joints
from .angles import RADIANS, Angles
from .goal_arguments import IN_SHELL
from .text import quantity, table


def result_data(
    problem: IkProblem, solver: str, result: IkResult, angles: Angles
) -> dict[str, Any]:
    """The result as JSON data; errors are in m and rad, whatever the unit of angles."""
    errors = zip(result.position_errors, result.orientation_errors, strict=True)
    return {
        'robot': problem.robot.name,
        'solver': solver,
        'success': result.success,
        'status': result.status.name,
        'message': result.message,
        'angle_unit': angles.unit,
        **_joints(problem, result.q, angles),
        'goals': [
            {'link': task.link, 'position_error': position, 'orientation_error': orientation}
            for task, (position, orientation) in zip(problem.goals, errors, strict=True)
        ],
        'iterations': result.iterations,
        'evaluations': result.evaluations,
        'total_evaluations': result.total_evaluations,
        'restarts': result.restarts,
        'solve_time': result.solve_time,
        'note': result.note or None,
        'gripper_joints': _gripper_joints(problem),
        'position_first': [goal.link for goal in problem.goals if goal.puts_position_first],
        'hints': [] if result.success else robot_hints(problem),
    }


def result_text(problem: IkProblem, solver: str, result: IkResult, angles: Angles) -> str:
    """The joints, the goals' errors, and the effort, as text."""
    effort = (
        f'{time(result.solve_time)}, {result.iterations} iterations, '
        f'{result.restarts} restarts, {solver}'
    )
    tables = _joint_table(problem, result, angles), _goal_table(problem, result)
    grips = _gripper_joints(problem)
    warning = f'this moves a gripper: {listed(grips)}; --tip names another link' if grips else ''
    hints = [] if result.success else robot_hints(problem)
    lines = (result.status.value, effort, result.note, position_first(problem), warning, *hints)
    return '\n\n'.join((*tables, '\n'.join(filter(None, lines))))


def in_shell(problem: IkProblem, result: IkResult) -> IkResult:
    """Replace names of Python in the result's note by options of the command line."""
    errors = result.position_errors, result.orientation_errors
    missed = result.q, *errors, problem.tolerances, problem.points
    if result.success or not (advice := problem.missed.advice(*missed)):
        return result
    note = result.note.replace(advice, problem.missed.advice(*missed, words=IN_SHELL))
    return replace(result, note=note)


def position_first(problem: IkProblem) -> str:
    """A sentence on links whose position has priority over their orientation; '' if none."""
    links = [goal.link for goal in problem.goals if goal.puts_position_first]
    if not links:
        return ''
    return (
        f'the position of {listed(links)} comes first, since fewer than six joints move it: '
        '--equal-weights weighs the orientation alike'
    )


def robot_hints(problem: IkProblem) -> list[str]:
    """Reasons why goals may be missed: frozen bases, frozen joints, and equal limits."""
    robot, bounds = problem.robot, problem.limits
    known = (name for goal in problem.goals for name in base_joints(robot, goal.link))
    moved = {group.name for group in robot.joint_groups}
    bases = [name for name in dict.fromkeys(known) if name not in moved]
    hints = []
    if bases:
        are = 'is' if len(bases) == 1 else 'are'
        hints.append(f'{listed(bases)} {are} frozen at zero: --free-base lets the base move')
    chain = {i for links in problem.goal_chains for i in robot.chain(*links)}
    frozen = sorted(chain & {robot.joint_index(name) for name in problem.frozen_joints})
    if frozen:
        are, them = ('is', 'it') if len(frozen) == 1 else ('are', 'them')
        names = listed(robot.joint_names[i] for i in frozen)
        hints.append(f'{names} {are} frozen: --frozen holds {them}')
    stuck = problem.variables[bounds.upper <= bounds.lower]
    if stuck.size:
        names = listed(robot.joint_names[i] for i in stuck)
        hints.append(f'{names} can not move: lower and upper limits are equal')
    return hints


def _gripper_joints(problem: IkProblem) -> list[str]:
    """The joints moved by the problem that look like a gripper's."""
    robot = problem.robot
    moved = {robot.joint_names[j] for j in problem.variables}
    found = (name for goal in problem.goals for name in robot.gripper_joints(goal.link))
    return [name for name in dict.fromkeys(found) if name in moved]


def _joints(problem: IkProblem, q: Array, angles: Angles) -> dict[str, Any]:
    robot = problem.robot
    return {'q': angles.of_joints(robot, q), 'joints': angles.by_name(robot, q)}


def _joint_table(problem: IkProblem, result: IkResult, angles: Angles) -> str:
    robot = problem.robot
    rows: list[tuple[str, ...]] = [('joint', 'position', '', 'lower', 'upper', '')]
    columns = [angles.of_joints(robot, q) for q in (result.q, robot.lower, robot.upper)]
    for i, name in enumerate(robot.joint_names):
        shown = [quantity(column[i], angles.unit_of(robot, i)) for column in columns]
        also = '' if robot.joint_units[i] == 'm' else _other_unit(result.q[i], angles)
        rows.append((name, shown[0], also, *shown[1:], _note(problem, result, i)))
    return table(rows)


def _other_unit(radians: float, angles: Angles) -> str:
    """Return an angle as text in the unit that is not shown, degrees or radians."""
    if angles is not RADIANS:
        return quantity(radians, 'rad')
    return f'{fixed(math.degrees(radians), 2)} deg'


def _goal_table(problem: IkProblem, result: IkResult) -> str:
    rows = [('goal', 'position error', 'orientation error')]
    errors = zip(result.position_errors, result.orientation_errors, strict=True)
    for task, (p, r) in zip(problem.goals, errors, strict=True):
        position = length(p) if task.position_weights.any() else '-'
        orientation = angle(r) if task.rotation_weights.any() else '-'
        rows.append((task.link, position, orientation))
    return table(rows)


def _note(problem: IkProblem, result: IkResult, i: int) -> str:
    if i not in problem.variables:
        return 'not moved'
    robot = problem.robot
    at_limit = min(result.q[i] - robot.lower[i], robot.upper[i] - result.q[i]) < 1e-9
    return 'at its limit' if at_limit else ''


def solutions_data(problem: IkProblem, found: Solutions, angles: Angles) -> dict[str, Any]:
    """The solutions as JSON data."""
    return {
        'robot': problem.robot.name,
        'angle_unit': angles.unit,
        'complete': found.complete,
        'searches': found.searches,
        'closed_form': found.family or None,
        'solve_time': found.solve_time,
        'hints': [] if len(found) else robot_hints(problem),
        'solutions': [
            {**_joints(problem, q, angles), 'singular': bool(singular), 'branch': branch}
            for q, singular, branch in zip(found, found.singular, found.branches, strict=True)
        ],
    }


def solutions_text(problem: IkProblem, found: Solutions, angles: Angles) -> str:
    """A table with a column for each solution, the nearest to the start first."""
    robot = problem.robot
    numbers = range(1, len(found) + 1)
    columns = [angles.of_joints(robot, q) for q in found]
    joints: list[tuple[str, ...]] = [('joint', *map(str, numbers))]
    for i, name in enumerate(robot.joint_names):
        unit = angles.unit_of(robot, i)
        joints.append((name, *(quantity(q[i], unit) for q in columns)))
    names = [branch.split(', ') for branch in found.branches]
    if any(found.branches):
        rows = zip(*names, strict=True)
        joints += [('branch' if k == 0 else '', *words) for k, words in enumerate(rows)]
    said = 'complete' if found.complete else 'there may be more'
    if found.singular.any():
        said += f', {found.singular.sum()} at a singularity'
    count = f'{counted(len(found), "solution")}, {said}'
    by = f'closed form: {found.family}' if found.family else f'{found.searches} searches'
    effort = f'{time(found.solve_time)}, {by}'
    hints = [] if len(found) else robot_hints(problem)
    return '\n\n'.join((table(joints), '\n'.join((count, effort, *hints))))
