# SPDX-License-Identifier: Apache-2.0
"""Tasks: each is a residual, its exact Jacobian and weights."""

from .base import Task
from .centre_of_mass import CentreOfMassTask
from .coupled import CoupledTask
from .goals import (
    AxisTask,
    OrientationTask,
    PoseTask,
    PositionAxisTask,
    PositionTask,
    TwoAxisTask,
)
from .jacobian_check import check_task
from .joint_tasks import LimitAvoidanceTask, PostureTask, SmoothnessTask
from .manipulability import ManipulabilityTask
from .reach_cone import ReachConeTask
from .reference_motion import (
    EndEffectorPatternTask,
    JointPatternTask,
    OrientationPatternTask,
    example_guided_tasks,
    total_link_length,
)

__all__ = [
    'AxisTask',
    'CentreOfMassTask',
    'CoupledTask',
    'EndEffectorPatternTask',
    'JointPatternTask',
    'LimitAvoidanceTask',
    'ManipulabilityTask',
    'OrientationPatternTask',
    'OrientationTask',
    'PoseTask',
    'PositionAxisTask',
    'PositionTask',
    'PostureTask',
    'ReachConeTask',
    'SmoothnessTask',
    'Task',
    'TwoAxisTask',
    'check_task',
    'example_guided_tasks',
    'total_link_length',
]
