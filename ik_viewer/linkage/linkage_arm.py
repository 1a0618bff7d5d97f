# SPDX-License-Identifier: Apache-2.0
"""`LinkageArm`: an arm in this process whose robot, a linkage of rods, can be changed.

It moves as in the coursework [Dorta2014]: one step of its method per tick, 60 ticks a second. A
changed linkage keeps the goals, the settings, and the angles of joints that both have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ik_core import SOLVERS, PostureTask, Robot
from ik_core.maths.rotations import Array
from ik_core.robot.linkages import BEND, JointKind, linkage, spring_weights

from ..arm import Description, GoalKind, Moment, Setting, TipState
from ..local.local_arm import LocalArm
from ..presets import preset_settings

RATE = 60.0  # [Hz] ticks
BENT = 0.3  # [rad] angle of new joints, since a straight linkage is singular
GOAL = (0.25, 0.55, 0.3)  # position of the first goal, relative to the length of the linkage
BESIDE = 0.6  # [rad] angle between the first goals of two tips, seen from the base
SOLVER, PRESET = 'jacobian_transpose', 'coursework'
# Solvers with joint weights.
STIFF = tuple(n for n, kind in SOLVERS.items() if hasattr(kind.Options, 'joint_stiffness'))


@dataclass(frozen=True)
class Design:
    """A linkage: arguments of `ik.robot.linkage`, and the stiffness of its first joints.

    lengths : [m] of each rod
    stiff_joints : number of joints, from the base on, with alpha = `stiffness` ([Dorta2014]
        Eq. 3.14)
    rod_stiffness : of rods of several pieces, see `spring_weights`
    """

    joint: JointKind = 'two_angle'
    lengths: tuple[float, ...] = (0.4, 0.4, 0.4)
    limits: tuple[float, float] | None = None
    velocity: float = math.inf
    pitch: float = 0.1
    branches: int = 1
    stiff_joints: int = 1
    stiffness: float = 1.0
    pieces: int = 1
    rod_stiffness: float = 3.0

    @property
    def rods(self) -> int:
        """Number of rods."""
        return len(self.lengths)

    def with_rods(self, rods: int) -> Design:
        """Return the design with rods removed at the end, or added as copies of the last one."""
        lengths = (*self.lengths, *self.lengths[-1:] * rods)[:rods]
        stiff, branches = min(self.stiff_joints, rods), self.branches if rods > 1 else 1
        return replace(self, lengths=lengths, stiff_joints=stiff, branches=branches)

    def with_length(self, length: float, rod: int | None = None) -> Design:
        """Return the design with another length [m] of one rod, by its index, or of all rods."""
        lengths = (length if rod in (None, i) else old for i, old in enumerate(self.lengths))
        return replace(self, lengths=tuple(lengths))

    def first_goal(self, tip: int) -> Array:
        """Return the first goal (4, 4) of a tip, in reach; goals of several are side by side."""
        angle, (x, y, z) = -BESIDE * tip, sum(self.lengths) * np.array(GOAL)
        goal = np.eye(4)
        goal[0, 3] = math.cos(angle) * x - math.sin(angle) * y
        goal[1, 3] = math.sin(angle) * x + math.cos(angle) * y
        goal[2, 3] = 0.0 if self.joint == 'hinge' else z
        return goal

    def robot(self) -> Robot:
        """Make the robot. Raises InvalidOption."""
        return linkage(
            self.rods,
            self.joint,
            lengths=self.lengths,
            limits=self.limits,
            velocity=self.velocity,
            pitch=self.pitch,
            branches=self.branches,
            pieces=self.pieces,
        )

    def springs(self, robot: Robot) -> list[PostureTask]:
        """Return the task that bends rods of several pieces and joints like springs."""
        if self.pieces == 1:
            return []
        weights = spring_weights(robot, self.rod_stiffness)
        return [PostureTask(np.zeros(robot.n), weights=weights)]

    def stiffness_settings(self, robot: Robot) -> dict[str, str]:
        """Return the stiffness as settings of all solvers with joint weights."""
        joints = [group for group in robot.joint_groups if not group.name.startswith(BEND)]
        groups = joints[: self.stiff_joints] if self.stiffness != 1.0 else ()
        stiff = [robot.joint_names[i] for group in groups for i in group.indices]
        text = ', '.join(f'{name}={self.stiffness:g}' for name in stiff)
        return {f'{solver}.joint_stiffness': text for solver in STIFF}


class LinkageArm:
    """An `Arm` over the linkage of a design."""

    def __init__(self, design: Design) -> None:
        self.design = design
        robot = design.robot()
        q = np.clip([_first_angle(j) for j in robot.joint_names], robot.lower, robot.upper)
        values = {
            'solver': SOLVER,
            **preset_settings(SOLVER, PRESET),
            'updates_per_tick': 1,
            'joint_limits.default.velocity': 0.05 * RATE,  # no step of the preset is longer
            'joint_limits.default.acceleration': 60.0,
        }
        self._arm = _arm_of(design, robot, q, values)
        _set_goals(self._arm, design, [])

    def change(self, design: Design) -> None:
        """Change to another linkage; after InvalidOption, the arm is unchanged.

        Call it between frames: afterwards description and moments are those of the new linkage.
        """
        same = replace(self.design, stiff_joints=design.stiff_joints, stiffness=design.stiffness)
        if same == design:
            self.set_settings(design.stiffness_settings(self._robot))
        else:
            before, self._arm = self._arm, self._successor(design)
            before.close()
        self.design = design

    def _successor(self, design: Design) -> LocalArm:
        robot, before, moment = design.robot(), self._robot, self._arm.read()
        assert moment is not None
        angles = dict(zip(before.joint_names, moment.q.tolist(), strict=True))
        q = np.array([angles.get(name, _first_angle(name)) for name in robot.joint_names])
        gone = set(before.joint_names) - set(robot.joint_names)
        same_limits = design.limits == self.design.limits
        values = {
            name: setting.value
            for name, setting in self._arm.settings.items()
            if not any(name.startswith(f'joint_limits.{joint}.') for joint in gone)
            and (same_limits or name.rpartition('.')[2] not in ('lower', 'upper'))
        }
        arm = _arm_of(design, robot, np.clip(q, robot.lower, robot.upper), values)
        _set_goals(arm, design, moment.tips)
        return arm

    @property
    def _robot(self) -> Robot:
        assert self._arm.description is not None
        return self._arm.description.robot

    # The protocol Arm

    @property
    def description(self) -> Description | None:
        """The robot and its drawing; None while there is no robot."""
        return self._arm.description

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The parameters by name."""
        return self._arm.settings

    def read(self) -> Moment | None:
        """Return the present moment; None while nothing is known."""
        return self._arm.read()

    def take_notices(self) -> Sequence[str]:
        """Return the errors and refusals since the last call."""
        return self._arm.take_notices()

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Set a tip's goal (4, 4) in the root link's frame."""
        self._arm.set_goal(tip, transform, kind)

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Move a tip at velocities (3,) [m/s], [rad/s] in the root link's frame."""
        self._arm.set_twist(tip, linear, angular)

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Move joints to positions [rad or m], by name."""
        self._arm.set_joint_goal(positions)

    def home(self) -> None:
        """Move all joints to their home positions."""
        self._arm.home()

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """Change parameters, all or none."""
        self._arm.set_settings(values)

    def pause(self, paused: bool) -> None:
        """Stop and keep the goals, or resume them."""
        self._arm.pause(paused)

    def reset(self) -> None:
        """Drop the goals."""
        self._arm.reset()

    def close(self) -> None:
        """Close the arm."""
        self._arm.close()


def _first_angle(joint: str) -> float:
    """Return the first angle [rad] of a joint; rods are straight."""
    return 0.0 if joint.startswith(BEND) else BENT


def _arm_of(design: Design, robot: Robot, q0: Array, values: Mapping[str, Any]) -> LocalArm:
    values = {**values, **design.stiffness_settings(robot)}
    springs = design.springs(robot)
    return LocalArm(Description(robot), rate=RATE, q0=q0, values=values, secondary=springs)


def _set_goals(arm: LocalArm, design: Design, before: Sequence[TipState]) -> None:
    """Set the previous goals of the tips; new tips get first goals."""
    moment = arm.read()
    assert moment is not None
    for i in range(len(moment.tips)):
        if i < len(before):
            goal, kind = before[i].goal, before[i].kind
        else:
            goal, kind = design.first_goal(i), GoalKind.POSITION
        if goal is not None:
            arm.set_goal(i, goal, kind)
