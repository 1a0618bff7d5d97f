"""Inverse kinematics for robots described by a URDF; no ROS needed.

    import ik_core as ik

    robot = ik.load_urdf('panda.urdf')
    goal = ik.PoseTask('panda_hand', position=[0.4, 0.0, 0.5], quaternion=[1, 0, 0, 0])
    result = ik.solve(ik.IkProblem(robot, [goal]))

Joint vectors q (n,) are the whole robot's; lengths are in metres, angles in radians,
quaternions (x, y, z, w), and poses in the root link's frame.

This module has the names that most programs need. The others are in `ik.robot` (joints,
linkages, constraints), `ik.tasks`, `ik.solvers`, `ik.closed_form`, `ik.batch`, `ik.tracking`,
`ik.reachability`, `ik.motion` and `ik.retargeting`.
"""

from . import (
    batch,
    closed_form,
    motion,
    reachability,
    retargeting,
    robot,
    solvers,
    tasks,
    tracking,
)
from .batch import solve_all, solve_batch
from .exceptions import (
    FrameNotFound,
    IkError,
    InvalidConfiguration,
    InvalidGoal,
    InvalidOption,
    UnsupportedProblem,
    UrdfError,
)
from .maths.transforms import transform
from .optim.search import Budget
from .problem import IkProblem
from .result import IkResult, IkStatus
from .robot import Robot, load_urdf
from .solvers import SOLVERS, make_solver, solve
from .tasks import (
    AxisTask,
    OrientationTask,
    PoseTask,
    PositionAxisTask,
    PositionTask,
    PostureTask,
    TwoAxisTask,
)
from .tracking import MotionLimits, Tracker
from .version import __version__

__all__ = [
    'SOLVERS',
    'AxisTask',
    'Budget',
    'FrameNotFound',
    'IkError',
    'IkProblem',
    'IkResult',
    'IkStatus',
    'InvalidConfiguration',
    'InvalidGoal',
    'InvalidOption',
    'MotionLimits',
    'OrientationTask',
    'PoseTask',
    'PositionAxisTask',
    'PositionTask',
    'PostureTask',
    'Robot',
    'Tracker',
    'TwoAxisTask',
    'UnsupportedProblem',
    'UrdfError',
    '__version__',
    'batch',
    'closed_form',
    'load_urdf',
    'make_solver',
    'motion',
    'reachability',
    'retargeting',
    'robot',
    'solve',
    'solve_all',
    'solve_batch',
    'solvers',
    'tasks',
    'tracking',
    'transform',
]


def __dir__() -> list[str]:
    return __all__
