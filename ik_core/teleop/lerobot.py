# SPDX-License-Identifier: Apache-2.0
"""An object that lerobot's processors take as `kinematics`, in place of its RobotKinematics.

lerobot is not imported: its processors call the two methods below, with motors in degrees, in the
order of `joint_names`, and further motors (the gripper) after them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..exceptions import InvalidConfiguration, InvalidOption
from ..maths.argument_types import TransformLike, VectorLike
from ..maths.rotations import Array
from ..options import exact_number
from ..problem import IkProblem
from ..robot.robot import Robot, check_robot
from ..robot.robot_sources import load_robot
from ..solvers import make_solver
from ..tasks import PoseTask, PositionTask
from ..tasks.goals import POSE_FREEDOMS, POSITION_FIRST, GoalTask


class LerobotKinematics:
    """Forward and inverse kinematics with the signature of lerobot's RobotKinematics.

    robot : a Robot, or the path or name of one
    tip : the link that poses are of
    joint_names : the motors, in their order; by default the joints that move the tip

    The other joints of the robot stay at 0, or at their nearest limit. Raises FrameNotFound,
    InvalidOption, UrdfError.
    """

    def __init__(
        self,
        robot: Robot | str,
        tip: str = 'gripper_frame_link',
        joint_names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(robot, str):
            robot = load_robot(robot)
        check_robot(robot)
        chain = [robot.joint_names[i] for i in robot.chain(tip)]
        self.joint_names = chain if joint_names is None else list(joint_names)
        self.target_frame_name = tip
        self._robot = robot
        self._columns = [robot.joint_index(name) for name in self.joint_names]
        self._still = [name for name in robot.joint_names if name not in self.joint_names]
        self._joints = len(set(chain) & set(self.joint_names))
        if not self._joints:
            raise InvalidOption(f'joint_names: none of them moves {tip!r}; {", ".join(chain)} do')
        self._rest = np.clip(np.zeros(robot.n), robot.lower, robot.upper)
        self._solver = make_solver('levenberg_marquardt', restarts=0)
        self._problems: dict[tuple[float, float], IkProblem] = {}

    def forward_kinematics(self, joint_pos_deg: VectorLike) -> Array:
        """Return the pose (4, 4) [m] of the tip.

        joint_pos_deg (m,) [deg] : of `joint_names`; further numbers are ignored
        """
        return self._robot.forward_kinematics(self._q(joint_pos_deg), self.target_frame_name)

    def inverse_kinematics(
        self,
        current_joint_pos: VectorLike,
        desired_ee_pose: TransformLike,
        position_weight: float = 1.0,
        orientation_weight: float = 0.01,
    ) -> Array:
        """Return motor positions (m,) [deg] within the limits that reach the pose.

        Where it is out of reach, they come as near as a search from the current ones does.

        current_joint_pos (m,) [deg] : where the search starts; numbers after `joint_names`, such
            as a gripper's, are returned as they are
        desired_ee_pose (4, 4) [m] : of the tip
        position_weight, orientation_weight : 0 leaves the position or the orientation free. Where
            fewer than six joints move the tip and the position has the larger weight, it comes
            first

        Raises InvalidConfiguration, InvalidGoal, InvalidOption.
        """
        current = np.array(current_joint_pos, float)
        problem = self._problem(position_weight, orientation_weight)
        problem.goals[0].set_target(desired_ee_pose)
        found = self._solver.solve(problem, self._q(current)).q
        current[: len(self._columns)] = np.degrees(found[self._columns])
        return current

    def _q(self, degrees: VectorLike) -> Array:
        """Return the robot's q (n,) [rad] for motors in degrees."""
        try:
            motors = np.array(degrees, float)
        except (TypeError, ValueError):
            raise InvalidConfiguration(f'motors have no numbers: {degrees!r}') from None
        count = len(self._columns)
        if motors.ndim != 1 or motors.size < count:
            raise InvalidConfiguration(
                f'motors have shape {motors.shape}; {count} are needed: '
                f'{", ".join(self.joint_names)}'
            )
        q = self._rest.copy()
        q[self._columns] = np.radians(motors[:count])
        return self._robot.checked(q, 'motors')

    def _problem(self, position: float, orientation: float) -> IkProblem:
        """Return the problem for these weights. Raises InvalidOption."""
        weights = []
        for name, weight in (('position', position), ('orientation', orientation)):
            number = exact_number(weight, float)
            if number is None or not 0.0 <= number < np.inf:
                raise InvalidOption(f'{name}_weight = {weight!r}: a number >= 0 is needed')
            weights.append(float(number))
        key = weights[0], weights[1]
        if key not in self._problems:
            self._problems[key] = IkProblem(
                self._robot, [self._goal(*key)], frozen_joints=self._still
            )
        return self._problems[key]

    def _goal(self, position: float, orientation: float) -> GoalTask:
        if orientation == 0.0 and position > 0.0:
            return PositionTask(self.target_frame_name)
        if self._joints < POSE_FREEDOMS and position > orientation:
            position, orientation = 1.0, POSITION_FIRST
        return PoseTask(
            self.target_frame_name,
            position_weights=position,
            orientation_weights=orientation,
        )
