# SPDX-License-Identifier: Apache-2.0
"""Problems as the arguments of their constructors, for every kind of task of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...exceptions import InvalidOption
from ...problem import IkProblem
from ...robot.reach_cones import ReachCone
from ...robot.robot import Robot
from ...tasks import (
    AxisTask,
    CentreOfMassTask,
    CoupledTask,
    EndEffectorPatternTask,
    JointPatternTask,
    LimitAvoidanceTask,
    ManipulabilityTask,
    OrientationPatternTask,
    OrientationTask,
    PoseTask,
    PositionAxisTask,
    PositionTask,
    PostureTask,
    ReachConeTask,
    SmoothnessTask,
    Task,
    TwoAxisTask,
)
from ...tasks.goals import GoalTask
from ...tasks.kernels import GOAL_AXES
from ...tasks.manipulability import ROWS
from ...tasks.reference_motion import ReferenceMotionTask

Arguments = dict[str, Any]


def describe_problem(problem: IkProblem) -> Arguments:
    """Return the arguments of `make_problem`. Raises InvalidOption for tasks of other types."""
    return {
        'tasks': [describe_task(task) for task in (*problem.goals, *problem.other_tasks)],
        'secondary': [[describe_task(task) for task in level] for level in problem.levels],
        'frozen_joints': list(problem.frozen_joints),
        'position_tolerance': problem.position_tolerance,
        'orientation_tolerance': problem.orientation_tolerance,
        'orientation_length': problem.orientation_length,
    }


def make_problem(robot: Robot, described: Arguments) -> IkProblem:
    """Return the problem that was described, for the robot; its limits are the tracker's."""
    rest = {**described}
    tasks = [make_task(task) for task in rest.pop('tasks')]
    secondary = [[make_task(task) for task in level] for level in rest.pop('secondary')]
    return IkProblem(robot, tasks, secondary=secondary, **rest)


def describe_task(task: Task) -> Arguments:
    """Return the `kind` of a task and its arguments. Raises InvalidOption for other types."""
    kind = type(task)
    if kind not in DESCRIBED_BY:
        raise InvalidOption(f"a {kind.__name__} can't be recorded")
    arguments = {'kind': kind.__name__, **DESCRIBED_BY[kind](task)}
    if isinstance(task, GoalTask):  # its target may be unset
        transform = task.transform
        if task.relative_to is not None:
            arguments['relative_to'] = task.relative_to
        arguments['target'] = np.where(np.isnan(transform), np.eye(4), transform)
    if isinstance(task, ReferenceMotionTask):
        arguments['examples'], arguments['achieved'] = task.history
    return arguments


def make_task(described: Arguments) -> Task:
    """Return the task that was described."""
    arguments = {**described}
    if 'tasks' in arguments:
        arguments['tasks'] = [make_task(task) for task in arguments['tasks']]
    if 'cone' in arguments and isinstance(arguments['cone'], dict):
        arguments['cone'] = ReachCone(**arguments['cone'])
    kind = KINDS[arguments.pop('kind')]
    target, tool = arguments.pop('target', None), None
    history = arguments.pop('examples', None), arguments.pop('achieved', None)
    if kind is AxisTask:
        tool = arguments.pop('tool')
        arguments['axis'] = tool[:3, 2]
    task = kind(**arguments)
    if target is not None:
        task.set_target(target)
    if tool is not None:
        task.tool[:] = tool  # as it was, to the last bit
    if history[0] is not None:
        task.set_history(*history)
    return task


def _pose(task: PoseTask) -> Arguments:
    return {
        'link': task.link,
        'position_weights': _weights(task, 0),
        'orientation_weights': _weights(task, 1),
        'position_axes': _axes(task),
        'tool': task.tool,
        'position_box': task.position_box,
        'orientation_box': task.orientation_box,
    }


def _position(task: PositionTask) -> Arguments:
    return {
        'link': task.link,
        'weights': _weights(task, 0),
        'position_axes': _axes(task),
        'tool': task.tool,
        'box': task.position_box,
    }


def _orientation(task: OrientationTask) -> Arguments:
    return {
        'link': task.link,
        'weights': _weights(task, 1),
        'tool': task.tool,
        'box': task.orientation_box,
    }


def _two_axes(task: TwoAxisTask) -> Arguments:
    return {'link': task.link, 'weight': task.rotation_weights[::2], 'tool': task.tool}


def _axis(task: AxisTask) -> Arguments:
    return {
        'link': task.link,
        'weight': task.rotation_weights,
        'cone': task.cone,
        'tool': task.tool,
    }


def _position_axis(task: PositionAxisTask) -> Arguments:
    return {
        'link': task.link,
        'position_weight': task.position_weights,
        'axis_weight': task.rotation_weights,
        'cone': task.cone,
        'tool': task.tool,
    }


def _centre_of_mass(task: CentreOfMassTask) -> Arguments:
    return {'position': task.position, 'weights': task.weights}


def _coupled(task: CoupledTask) -> Arguments:
    return {
        'tasks': [describe_task(one) for one in task.tasks],
        'weights': task.weights,
        'tolerance': task.tolerance,
    }


def _posture(task: PostureTask) -> Arguments:
    return {'rest': task.rest, 'weights': task.weights}


def _smoothness(task: SmoothnessTask) -> Arguments:
    return {'previous': task.previous, 'stiffness': task.weights}


def _limit_avoidance(task: LimitAvoidanceTask) -> Arguments:
    return {'weight': task.weight}


def _manipulability(task: ManipulabilityTask) -> Arguments:
    return {
        'link': task.link,
        'weight': task.weight,
        'rows': next(name for name, rows in ROWS.items() if rows == task.rows),
        'reference': task.reference,
        'length': float(task.scale[-1]),
    }


def _reach_cone(task: ReachConeTask) -> Arguments:
    cone = task.cone
    names = ('link', 'relative_to', 'axis', 'corners', 'inner')
    return {'cone': {name: getattr(cone, name) for name in names}, 'weight': task.weight}


def _pattern(task: ReferenceMotionTask) -> Arguments:
    return {
        'weights': task.weights,
        'velocity_weight': task.velocity_weight,
        'acceleration_weight': task.acceleration_weight,
        'period': task.period,
    }


def _joint_pattern(task: JointPatternTask) -> Arguments:
    return {'length': task.length, **_pattern(task)}


def _link_pattern(task: EndEffectorPatternTask | OrientationPatternTask) -> Arguments:
    return {'link': task.link, **_pattern(task)}


def _weights(task: GoalTask, which: int) -> np.ndarray:
    """Return the weights of the position (0) or the orientation (1), as they were given."""
    return task.given_weights[which]


def _axes(task: GoalTask) -> str:
    return 'goal' if task.position_axes == GOAL_AXES else 'root'


DESCRIBED_BY: dict[type[Task], Callable[[Any], Arguments]] = {
    PoseTask: _pose,
    PositionTask: _position,
    OrientationTask: _orientation,
    TwoAxisTask: _two_axes,
    AxisTask: _axis,
    PositionAxisTask: _position_axis,
    CentreOfMassTask: _centre_of_mass,
    CoupledTask: _coupled,
    PostureTask: _posture,
    SmoothnessTask: _smoothness,
    LimitAvoidanceTask: _limit_avoidance,
    ManipulabilityTask: _manipulability,
    ReachConeTask: _reach_cone,
    EndEffectorPatternTask: _link_pattern,
    OrientationPatternTask: _link_pattern,
    JointPatternTask: _joint_pattern,
}
KINDS: dict[str, Any] = {kind.__name__: kind for kind in DESCRIBED_BY}
