"""What is asked of a robot: each task is a residual, its exact Jacobian and weights."""

from .base import Task
from .goals import AxisTask, GoalTask, OrientationTask, PoseTask, PositionTask

__all__ = ['AxisTask', 'GoalTask', 'OrientationTask', 'PoseTask', 'PositionTask', 'Task']
