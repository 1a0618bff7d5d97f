# SPDX-License-Identifier: Apache-2.0
"""Mimic joints on their way to where the joints that they mimic put them.

A mimic joint is at multiplier * (position of its driver) + offset. A new robot description, or
the measured state, may put it elsewhere than it was commanded to be last. Until it is in line, it
moves on its own: within its own limits of position, velocity, acceleration and jerk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from ik_core import Robot
from ik_core.exceptions import IkError, UrdfError
from ik_core.maths.rotations import Array
from ik_core.tracking import Command, MotionLimits, Tracker, TrackStatus
from ik_core.tracking.governor import Governor
from ik_core.tracking.instructions import Brake, Instruction

from .joint_limits import limits_with_mimics, mimic_unit
from .parameters.node_options import NodeParameters

IN_LINE = 1e-9
"""[rad or m] A mimic joint this close to where its driver puts it need not move to it."""


class Alignment:
    """Moves the joints of a robot, each mimic joint on its own, until all are in line.

    Takes the place of the tracker in ticks, and has the methods that ticks call.

    tracker : does not move meanwhile; `goal_q` is where it is to begin afterwards
    limits : of the tracker, of which the joints that it moves have theirs here, too
    positions : where all joints begin, at rest, by name

    `governor` has a column for each joint: first those in q, then the mimic joints, in the order
    of `robot.mimic_joints`. While the tracker is stopped, the joints brake, and rest where that
    ends.
    """

    def __init__(
        self,
        tracker: Tracker,
        robot: Robot,
        parameters: NodeParameters,
        limits: MotionLimits,
        positions: Mapping[str, float],
    ) -> None:
        self._tracker, self._robot = tracker, robot
        self._names = (*robot.joint_names, *robot.mimic_joints)
        self._begin = np.array([positions[name] for name in self._names])
        self._brakes = self._braked = False  # in the next tick; in the last one
        self.governor = Governor(
            self._aim(parameters, limits), 1.0 / parameters.node.rate, self._begin
        )

    @property
    def goal_q(self) -> Array:
        """Positions (n,) that the joints move to: where they began, clamped to the limits."""
        return self._goal[: self._robot.n]

    @property
    def positions(self) -> dict[str, float]:
        """Commanded positions of all joints, by name."""
        return dict(zip(self._names, self.governor.q.tolist(), strict=True))

    @property
    def at_rest(self) -> bool:
        """Whether no joint is commanded to move."""
        return self.governor.at_rest

    @property
    def stopping_time(self) -> float:
        """[s] How long the joints take at most to rest, if they brake from the next tick on."""
        return self.governor.stopping_time

    @property
    def is_done(self) -> bool:
        """Whether all joints rest where the tracker is to begin."""
        return self.at_rest and bool((self.governor.q == self._goal).all())

    @property
    def is_on(self) -> bool:
        """Whether it drives the joints; False while they brake or rest."""
        return not self._tracker.stopped

    def check(self, joints: Collection[str]) -> None:
        """Raise UrdfError where a mimic joint of these must move to a place outside its limits."""
        for joint, own in self._robot.mimic_limits.items():
            if joint not in joints:
                continue
            k = self._names.index(joint)
            begin, goal = float(self._begin[k]), float(self._goal[k])
            beyond = max(own.lower - goal, goal - own.upper)
            if beyond > IN_LINE and abs(goal - begin) > IN_LINE:
                unit, driver = (
                    mimic_unit(self._robot, joint),
                    self._robot.mimic_joints[joint].joint,
                )
                raise UrdfError(
                    f'joint {joint!r} is at {begin:.4g} {unit} and can not move to {goal:.4g} '
                    f'{unit}, where it mimics {driver!r}: its limits are '
                    f'[{own.lower:.4g}, {own.upper:.4g}]'
                )

    def set_limits(self, parameters: NodeParameters, limits: MotionLimits) -> None:
        """Move within these limits from the next tick on, and to a place inside them."""
        self.governor.set_limits(self._aim(parameters, limits))

    def apply(self, instruction: Instruction) -> None:
        """Apply an instruction to the tracker; a Brake brakes these joints, too."""
        self._tracker.apply(instruction)
        if isinstance(instruction, Brake):
            self._brakes = True

    def tick(self, now: float, instructions: Iterable[Instruction] = ()) -> Command:
        """Apply instructions and move on by one period; the goals of the tracker wait."""
        refused = []
        for instruction in instructions:
            try:
                self.apply(instruction)
            except IkError as error:
                refused.append((instruction, error))
        self.governor.begin_tick()
        self._braked, self._brakes = self._brakes, False
        self._step()
        try:
            return self._command(tuple(refused))
        except Exception:
            self.governor.undo_tick()  # the caller takes another one
            raise

    def _command(self, refused: tuple[tuple[Instruction, IkError], ...]) -> Command:
        q, dq = self.governor.q[: self._robot.n].copy(), self.governor.dq[: self._robot.n].copy()
        none = np.zeros(len(self._tracker.goals))
        status = TrackStatus.PAUSED if self._tracker.paused else TrackStatus.IDLE
        solution = self.goal_q.copy()
        return Command(q, dq, status, none, none.copy(), 0, 0.0, solution, 0, refused)

    def skip_tick(self, *, braking: bool) -> None:
        """Move on by one period for a tick that did not come; braking: as the last tick told."""
        if braking:
            self.governor.brake(announced=True)
        else:
            self._step()

    def undo_tick(self) -> None:
        """Undo all steps since the last tick began."""
        self.governor.undo_tick()

    def _step(self) -> None:
        if self._braked or not self.is_on:
            self.governor.brake()
        else:
            self.governor.follow(self._goal, None, synchronized=True)

    def _aim(self, parameters: NodeParameters, limits: MotionLimits) -> MotionLimits:
        """Set where all joints go; returns the limits of all, within which that is."""
        robot = self._robot
        q = np.clip(self._begin[: robot.n], limits.lower, limits.upper)
        values = robot.joint_values(q)
        self._goal = np.array([values[name] for name in self._names])
        rows = limits_with_mimics(robot, parameters, limits)
        return MotionLimits(
            np.minimum(rows[0], self._goal), np.maximum(rows[1], self._goal), *rows[2:]
        )


def align(
    tracker: Tracker,
    robot: Robot,
    parameters: NodeParameters,
    limits: MotionLimits,
    positions: Mapping[str, float],
) -> Alignment | None:
    """Lead mimic joints from `positions`, by name, into line; None where they are there."""
    in_line = robot.joint_values(tracker.q)
    known = {name: positions[name] for name in robot.mimic_joints.keys() & positions.keys()}
    if all(abs(position - in_line[name]) <= IN_LINE for name, position in known.items()):
        return None
    return Alignment(tracker, robot, parameters, limits, in_line | known)
