# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics for robots described by a URDF; no ROS needed.

    import ik_core as ik

    robot = ik.load_robot('panda.urdf')
    goal = ik.PoseTask('panda_hand', position=[0.4, 0.0, 0.5], quaternion=[1, 0, 0, 0])
    result = ik.solve(ik.IkProblem(robot, [goal]))

Joint vectors q (n,) are the whole robot's; lengths are in metres, angles in radians,
quaternions (x, y, z, w), and poses in the root link's frame.

This module has the names that most programs need. The others are in `ik.robot` (joints,
linkages, constraints), `ik.tasks`, `ik.solvers`, `ik.closed_form`, `ik.batch`, `ik.tracking`,
`ik.teleop`, `ik.collision`, `ik.reachability`, `ik.path`, `ik.motion` and `ik.retargeting`. Each
is imported at its first use.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .locks import Lock
from .version import __version__

if TYPE_CHECKING:
    from . import (
        batch,
        closed_form,
        collision,
        motion,
        path,
        reachability,
        retargeting,
        robot,
        solvers,
        tasks,
        teleop,
        tracking,
    )
    from .batch import solve_all, solve_batch
    from .collision import Collisions, World
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
    from .path import solve_path
    from .problem import IkProblem
    from .result import IkResult, IkStatus
    from .retargeting import KeyFrames
    from .robot import Robot, load_robot
    from .showing import plot, show
    from .solvers import SOLVERS, make_solver, solve, solver_name
    from .tasks import (
        AxisTask,
        OrientationTask,
        PoseTask,
        PositionAxisTask,
        PositionTask,
        PostureTask,
        TwoAxisTask,
    )
    from .teleop import Teleop
    from .tracking import MotionLimits, Tracker

__all__ = [
    'SOLVERS',
    'AxisTask',
    'Budget',
    'Collisions',
    'FrameNotFound',
    'IkError',
    'IkProblem',
    'IkResult',
    'IkStatus',
    'InvalidConfiguration',
    'InvalidGoal',
    'InvalidOption',
    'KeyFrames',
    'MotionLimits',
    'OrientationTask',
    'PoseTask',
    'PositionAxisTask',
    'PositionTask',
    'PostureTask',
    'Robot',
    'Teleop',
    'Tracker',
    'TwoAxisTask',
    'UnsupportedProblem',
    'UrdfError',
    'World',
    '__version__',
    'batch',
    'closed_form',
    'collision',
    'load_robot',
    'make_solver',
    'motion',
    'path',
    'plot',
    'reachability',
    'retargeting',
    'robot',
    'show',
    'solve',
    'solve_all',
    'solve_batch',
    'solve_path',
    'solver_name',
    'solvers',
    'tasks',
    'teleop',
    'tracking',
    'transform',
]

# the modules of the names above
_MODULES = {
    'batch': 'solve_all solve_batch',
    'collision': 'Collisions World',
    'exceptions': 'FrameNotFound IkError InvalidConfiguration InvalidGoal InvalidOption '
    'UnsupportedProblem UrdfError',
    'maths.transforms': 'transform',
    'optim.search': 'Budget',
    'path': 'solve_path',
    'problem': 'IkProblem',
    'result': 'IkResult IkStatus',
    'retargeting': 'KeyFrames',
    'robot': 'Robot load_robot',
    'showing': 'plot show',
    'solvers': 'SOLVERS make_solver solve solver_name',
    'tasks': 'AxisTask OrientationTask PoseTask PositionAxisTask PositionTask PostureTask '
    'TwoAxisTask',
    'teleop': 'Teleop',
    'tracking': 'MotionLimits Tracker',
}
# serialises lazy imports: two threads importing different names could deadlock on half-imported
# modules
_LOCK = Lock()


if not TYPE_CHECKING:  # with it, checkers would accept any name

    def __getattr__(name):
        """Import a name of `__all__` or a public module, at first use. Raises AttributeError."""
        with _LOCK:
            for module, names in _MODULES.items():
                if name in names.split():
                    value = globals()[name] = getattr(import_module(f'.{module}', __name__), name)
                    return value
            if not name.startswith('_') and find_spec(f'.{name}', __name__) is not None:
                return import_module(f'.{name}', __name__)
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
    return __all__
