# SPDX-License-Identifier: Apache-2.0
"""The limits, problem and options of a tracker, made of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ik_core import (
    SOLVERS,
    IkProblem,
    PoseTask,
    PositionAxisTask,
    PositionTask,
    Robot,
    solver_name,
)
from ik_core.maths.rotations import Array
from ik_core.solvers import SolverName
from ik_core.tasks import Task
from ik_core.tasks.goals import GoalTask
from ik_core.tracking import MotionLimits, TrackerOptions

from ..arm import GoalKind, Setting
from .settings import options_of

Settings = Mapping[str, Setting]

GOALS: dict[GoalKind, type[PoseTask] | type[PositionTask] | type[PositionAxisTask]] = {
    GoalKind.POSE: PoseTask,
    GoalKind.POSITION: PositionTask,
    GoalKind.AXIS: PositionAxisTask,
}


def problem_of(
    robot: Robot,
    tips: Sequence[str],
    kinds: Sequence[GoalKind],
    settings: Settings,
    secondary: Sequence[Task] = (),
) -> IkProblem:
    """Return a problem with one goal for each tip, which the tracker sets."""
    limits, q = limits_of(robot, settings), robot.middle_configuration
    goals: list[GoalTask] = []
    for tip, kind in zip(tips, kinds, strict=True):
        goal = _goal(robot, tip, kind)
        goal.set_target(robot.forward_kinematics(q, tip))
        goals.append(goal)
    return IkProblem(
        robot,
        goals,
        lower=limits.lower,
        upper=limits.upper,
        position_tolerance=settings['position_tolerance'].value,
        orientation_tolerance=settings['orientation_tolerance'].value,
        orientation_length=settings['orientation_length'].value,
        secondary=secondary,
    )


def _goal(robot: Robot, tip: str, kind: GoalKind) -> GoalTask:
    if kind is GoalKind.POSE:
        return PoseTask.for_joints(len(robot.chain(tip)), tip)
    return GOALS[kind](tip)


def limits_of(robot: Robot, settings: Settings) -> MotionLimits:
    """Return the limits of every step: those of the joints, and defaults for missing ones."""
    return MotionLimits(
        lower=np.maximum(robot.lower, _row(robot, settings, 'lower', robot.lower)),
        upper=np.minimum(robot.upper, _row(robot, settings, 'upper', robot.upper)),
        velocity=_rates(robot, settings, 'velocity'),
        acceleration=_rates(robot, settings, 'acceleration'),
        jerk=_rates(robot, settings, 'jerk'),
    )


def tracker_options(settings: Settings) -> TrackerOptions:
    """Return the options of the tracker."""
    return TrackerOptions(**options_of(TrackerOptions, settings))


def solver_of(settings: Settings) -> tuple[SolverName, dict[str, Any]]:
    """Return the name of the solver, and its options."""
    name = solver_name(settings['solver'].value)
    return name, options_of(SOLVERS[name].Options, settings, f'{name}.')


def _row(robot: Robot, settings: Settings, kind: str, default: Array) -> Array:
    """Return one kind of limit (n,); the default for joints without such a setting."""
    names = [f'joint_limits.{joint}.{kind}' for joint in robot.joint_names]
    return np.array(
        [
            settings[name].value if name in settings else d
            for name, d in zip(names, default.tolist(), strict=True)
        ]
    )


def _rates(robot: Robot, settings: Settings, kind: str) -> Array:
    """Return one kind of rate limit (n,), so low that mimic joints keep theirs."""
    default = settings[f'joint_limits.default.{kind}'].value
    stated: Array = getattr(robot, kind)
    rates = np.minimum(stated, _row(robot, settings, kind, stated))
    rates[np.isposinf(rates)] = default
    free = [j for j, own in robot.mimic_limits.items() if np.isinf(getattr(own, kind))]
    return robot.fold_mimic_limits(rates, dict.fromkeys(free, default))
