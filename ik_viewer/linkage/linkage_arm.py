# SPDX-License-Identifier: Apache-2.0
"""`LinkageArm`: an arm in this process whose robot, a linkage of rods, can be replaced.

It moves as in the coursework [Dorta2014]: one step of its method in each tick, 60 ticks a second.
A new linkage keeps the goals, the settings, and the angles of the joints that it has as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ik_core import SOLVERS, Robot
from ik_core.maths.rotations import Array
from ik_core.robot.linkages import JointKind, linkage

from ..arm import Description, GoalKind, Moment, Setting, TipState
from ..local.local_arm import LocalArm
from ..presets import preset_settings

RATE = 60.0
"""[Hz] Ticks."""
BENT = 0.3
"""[rad] Angle of new joints: a straight linkage is singular."""
GOAL = (0.25, 0.55, 0.3)
"""The first goal, relative to the length of the linkage."""
BESIDE = 0.6
"""[rad] Angle between the first goals of two tips, seen from the base."""
SOLVER, PRESET = 'jacobian_transpose', 'coursework'
STIFF = tuple(n for n, kind in SOLVERS.items() if hasattr(kind.Options, 'joint_stiffness'))
"""Solvers with joint weights."""


@dataclass(frozen=True)
class Design:
    """A linkage: arguments of `ik.robot.linkage`, and the stiffness of its first joints.

    lengths [m] : of each rod
    stiff_joints : number of joints, from the base on, with alpha = `stiffness` ([Dorta2014]
        Eq. 3.14)
    """

    joint: JointKind = 'two_angle'
    lengths: tuple[float, ...] = (0.4, 0.4, 0.4)
    limits: tuple[float, float] | None = None
    velocity: float = math.inf
    pitch: float = 0.1
    branches: int = 1
    stiff_joints: int = 1
    stiffness: float = 1.0

    @property
    def rods(self) -> int:
        """Number of rods."""
        return len(self.lengths)

    def with_rods(self, rods: int) -> Design:
        """Take rods off the end, or add some as long as the last one."""
        lengths = (*self.lengths, *self.lengths[-1:] * rods)[:rods]
        stiff, branches = min(self.stiff_joints, rods), self.branches if rods > 1 else 1
        return replace(self, lengths=lengths, stiff_joints=stiff, branches=branches)

    def with_length(self, length: float, rod: int | None = None) -> Design:
        """Set the length [m] of one rod by its index, or of all."""
        lengths = (length if rod in (None, i) else old for i, old in enumerate(self.lengths))
        return replace(self, lengths=tuple(lengths))

    def first_goal(self, tip: int) -> Array:
        """The first goal (4, 4) of a tip, in reach; those of several are beside each other."""
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
        )

    def stiffness_settings(self, robot: Robot) -> dict[str, str]:
        """The stiffness as settings of all solvers that have joint weights."""
        groups = robot.joint_groups[: self.stiff_joints] if self.stiffness != 1.0 else ()
        stiff = [robot.joint_names[i] for group in groups for i in group.indices]
        text = ', '.join(f'{name}={self.stiffness:g}' for name in stiff)
        return {f'{solver}.joint_stiffness': text for solver in STIFF}


class LinkageArm:
    """An `Arm` over the linkage of a design."""

    def __init__(self, design: Design) -> None:
        self.design = design
        robot = design.robot()
        q = np.clip(np.full(robot.n, BENT), robot.lower, robot.upper)
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
        """Become another linkage; raises InvalidOption, and stays what it was.

        To be called between frames: the description and the moments are of the new one then.
        """
        same = replace(self.design, stiff_joints=design.stiff_joints, stiffness=design.stiffness)
        if same == design:
            self.set_settings(design.stiffness_settings(self._robot))
        else:
            before, self._arm = self._arm, self._successor(design)
            before.close()
        self.design = design

    def _successor(self, design: Design) -> LocalArm:
        robot, before, moment = design.robot(), self._robot, self._arm.look()
        assert moment is not None
        angles = dict(zip(before.joint_names, moment.q.tolist(), strict=True))
        q = np.array([angles.get(name, BENT) for name in robot.joint_names])
        gone = set(before.joint_names) - set(robot.joint_names)
        values = {
            name: setting.value
            for name, setting in self._arm.settings.items()
            if not any(name.startswith(f'joint_limits.{joint}.') for joint in gone)
        }
        arm = _arm_of(design, robot, np.clip(q, robot.lower, robot.upper), values)
        _set_goals(arm, design, moment.tips)
        return arm

    @property
    def _robot(self) -> Robot:
        assert self._arm.description is not None
        return self._arm.description.robot

    # The protocol

    @property
    def description(self) -> Description | None:
        """See `Arm`."""
        return self._arm.description

    @property
    def settings(self) -> Mapping[str, Setting]:
        """See `Arm`."""
        return self._arm.settings

    def look(self) -> Moment | None:
        """See `Arm`."""
        return self._arm.look()

    def take_notices(self) -> Sequence[str]:
        """See `Arm`."""
        return self._arm.take_notices()

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """See `Arm`."""
        self._arm.set_goal(tip, transform, kind)

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """See `Arm`."""
        self._arm.set_twist(tip, linear, angular)

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """See `Arm`."""
        self._arm.set_joint_goal(positions)

    def home(self) -> None:
        """See `Arm`."""
        self._arm.home()

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """See `Arm`."""
        self._arm.set_settings(values)

    def pause(self, paused: bool) -> None:
        """See `Arm`."""
        self._arm.pause(paused)

    def reset(self) -> None:
        """See `Arm`."""
        self._arm.reset()

    def close(self) -> None:
        """See `Arm`."""
        self._arm.close()


def _arm_of(design: Design, robot: Robot, q0: Array, values: Mapping[str, Any]) -> LocalArm:
    values = {**values, **design.stiffness_settings(robot)}
    return LocalArm(Description(robot), rate=RATE, q0=q0, values=values)


def _set_goals(arm: LocalArm, design: Design, before: Sequence[TipState]) -> None:
    """Give the tips the goals that they had before, and other tips goals beside each other."""
    moment = arm.look()
    assert moment is not None
    for i in range(len(moment.tips)):
        if i < len(before):
            goal, kind = before[i].goal, before[i].kind
        else:
            goal, kind = design.first_goal(i), GoalKind.POSITION
        if goal is not None:
            arm.set_goal(i, goal, kind)
