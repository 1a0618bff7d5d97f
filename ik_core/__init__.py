"""Inverse kinematics for robots described by a URDF; no ROS needed.

    import ik_core as ik

    robot = ik.load_urdf('panda.urdf')
    goal = ik.PoseTask('panda_hand', position=[0.4, 0.0, 0.5], quaternion=[1, 0, 0, 0])
    result = ik.solve(ik.IkProblem(robot, [goal]))

Joint vectors q (n,) are the whole robot's; lengths are in metres, angles in radians,
quaternions (x, y, z, w), and poses in the root link's frame.
"""

from .analysis.reachability import ReachabilityMap, reachability_map
from .batch.solve_all import Solutions, solve_all
from .batch.solve_batch import BatchResult, solve_batch
from .batch.solve_best import solve_best
from .closed_forms.form import ClosedForm, closed_form
from .closed_forms.many import ManySolutions
from .closed_forms.redundancy import best_solution, held_intervals
from .exceptions import (
    FrameNotFound,
    IkError,
    InvalidConfiguration,
    InvalidGoal,
    InvalidMotion,
    InvalidOption,
    MocapError,
    UnsupportedProblem,
    UrdfError,
)
from .maths.transforms import transform
from .optim.search import Budget
from .problem import IkProblem
from .result import IkResult, IkStatus
from .retargeting import (
    Demonstration,
    ExampleGuide,
    LibraryMotion,
    MotionLibrary,
    Nearest,
    Retargeted,
    retarget,
)
from .robot.linear_constraints import LinearConstraint
from .robot.linkage import linkage
from .robot.mocap.load import load_mocap, load_skeleton
from .robot.motion import Motion
from .robot.motion_files import load_motion, save_motion
from .robot.robot import Joint, Mimic, Robot
from .robot.urdf import load_urdf
from .solvers import SOLVERS, Solver, make_solver, solve
from .tasks import (
    AxisTask,
    CentreOfMassTask,
    EndEffectorPatternTask,
    JointPatternTask,
    LimitAvoidanceTask,
    ManipulabilityTask,
    OrientationTask,
    PoseTask,
    PositionAxisTask,
    PositionTask,
    PostureTask,
    SmoothnessTask,
    Task,
    TwoAxisTask,
    example_guided_tasks,
    total_link_length,
)
from .tasks.check import check_task
from .tracking import Command, MotionLimits, Tracker, TrackerOptions, TrackStatus
from .version import __version__

__all__ = [
    'SOLVERS',
    'AxisTask',
    'BatchResult',
    'Budget',
    'CentreOfMassTask',
    'ClosedForm',
    'Command',
    'Demonstration',
    'EndEffectorPatternTask',
    'ExampleGuide',
    'FrameNotFound',
    'IkError',
    'IkProblem',
    'IkResult',
    'IkStatus',
    'InvalidConfiguration',
    'InvalidGoal',
    'InvalidMotion',
    'InvalidOption',
    'Joint',
    'JointPatternTask',
    'LibraryMotion',
    'LimitAvoidanceTask',
    'LinearConstraint',
    'ManipulabilityTask',
    'ManySolutions',
    'Mimic',
    'MocapError',
    'Motion',
    'MotionLibrary',
    'MotionLimits',
    'Nearest',
    'OrientationTask',
    'PoseTask',
    'PositionAxisTask',
    'PositionTask',
    'PostureTask',
    'ReachabilityMap',
    'Retargeted',
    'Robot',
    'SmoothnessTask',
    'Solutions',
    'Solver',
    'Task',
    'TrackStatus',
    'Tracker',
    'TrackerOptions',
    'TwoAxisTask',
    'UnsupportedProblem',
    'UrdfError',
    '__version__',
    'best_solution',
    'check_task',
    'closed_form',
    'example_guided_tasks',
    'held_intervals',
    'linkage',
    'load_mocap',
    'load_motion',
    'load_skeleton',
    'load_urdf',
    'make_solver',
    'reachability_map',
    'retarget',
    'save_motion',
    'solve',
    'solve_all',
    'solve_batch',
    'solve_best',
    'total_link_length',
    'transform',
]
