# SPDX-License-Identifier: Apache-2.0
"""Motion of mimic joints to the positions that their drivers prescribe.

A mimic joint is in line if it is at multiplier * (position of its driver) + offset. After a change
of the robot description, or a start at the measured state, that may differ from its last command.
The joint then moves there by itself, within its own limits of position, velocity, acceleration
and jerk.
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

# [rad or m] A mimic joint this close to its prescribed position is in line: that is rounding.
IN_LINE = 1e-9


class Alignment:
    """Moves the joints of a robot, each mimic joint on its own, until all are in line.

    An alignment replaces the tracker in ticks, so it has the methods that ticks call.

    tracker : the tracker, which stands still meanwhile and then begins at `goal_q`
    limits : the tracker's limits (5, n); the joints of q keep them during the alignment, too
    positions : positions of all joints at the begin, at rest, by name [rad or m]

    `governor` has a column for each joint: first those in q, then the mimic joints, in the order
    of `robot.mimic_joints`. While the tracker is stopped, the joints brake and then rest.
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
        self._brakes_next = self._brakes_now = False  # in the next tick; in the present one
        self.governor = Governor(
            self._aim(parameters, limits), 1.0 / parameters.node.rate, self._begin
        )

    @property
    def goal_q(self) -> Array:
        """Positions (n,) that the joints of q move to: their first ones, clamped to the limits."""
        return self._goal[: self._robot.n]

    @property
    def positions(self) -> dict[str, float]:
        """Commanded positions of all joints, by name."""
        return dict(zip(self._names, self.governor.q.tolist(), strict=True))

    @property
    def at_rest(self) -> bool:
        """True if no joint is commanded to move."""
        return self.governor.at_rest

    @property
    def stopping_time(self) -> float:
        """Longest time [s] until the joints rest, if they brake from the next tick on."""
        return self.governor.stopping_time

    @property
    def is_done(self) -> bool:
        """True if all joints rest at their goals, so that the tracker can begin."""
        return self.at_rest and bool((self.governor.q == self._goal).all())

    @property
    def is_on(self) -> bool:
        """True if the joints move to their goals; False while the tracker is stopped."""
        return not self._tracker.stopped

    def check(self, joints: Collection[str]) -> None:
        """Raise UrdfError if one of these mimic joints would have to move outside its limits."""
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
        """Use these limits from the next tick on, and clamp the goals to them."""
        self.governor.set_limits(self._aim(parameters, limits))

    def apply(self, instruction: Instruction) -> None:
        """Apply an instruction to the tracker; a Brake brakes these joints, too."""
        self._tracker.apply(instruction)
        if isinstance(instruction, Brake):
            self._brakes_next = True

    def tick(self, now: float, instructions: Iterable[Instruction] = ()) -> Command:
        """Apply instructions and take one step; the tracker keeps its goals for later."""
        refused = []
        for instruction in instructions:
            try:
                self.apply(instruction)
            except IkError as error:
                refused.append((instruction, error))
        self.governor.begin_tick()
        self._brakes_now, self._brakes_next = self._brakes_next, False
        self._step()
        try:
            return self._command(tuple(refused))
        except Exception:
            self.governor.undo_tick()  # the caller takes another step
            raise

    def _command(self, refused: tuple[tuple[Instruction, IkError], ...]) -> Command:
        q, dq = self.governor.q[: self._robot.n].copy(), self.governor.dq[: self._robot.n].copy()
        none = np.zeros(len(self._tracker.goals))
        status = TrackStatus.PAUSED if self._tracker.paused else TrackStatus.IDLE
        solution = self.goal_q.copy()
        return Command(q, dq, status, none, none.copy(), 0, 0.0, solution, 0, refused)

    def skip_tick(self, *, braking: bool) -> None:
        """Take the step of a tick that was skipped.

        braking : take the stop that the last command announced
        """
        if braking:
            self.governor.brake(announced=True)
        else:
            self._step()

    def undo_tick(self) -> None:
        """Undo all steps since the last tick began."""
        self.governor.undo_tick()

    def _step(self) -> None:
        if self._brakes_now or not self.is_on:
            self.governor.brake()
        else:
            self.governor.follow(self._goal, None, synchronized=True)

    def _aim(self, parameters: NodeParameters, limits: MotionLimits) -> MotionLimits:
        """Set the goal (n + m,) of all joints; return their limits, widened to include it."""
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
    """Return the alignment of mimic joints at `positions` [rad or m], by name.

    Returns None if all of them are in line with `tracker.q`.
    """
    in_line = robot.joint_values(tracker.q)
    known = {name: positions[name] for name in robot.mimic_joints.keys() & positions.keys()}
    if all(abs(position - in_line[name]) <= IN_LINE for name, position in known.items()):
        return None
    return Alignment(tracker, robot, parameters, limits, in_line | known)
