# SPDX-License-Identifier: Apache-2.0
"""Log of goals and jogs: one line for each goal that is reached, blocked, or not reached.

A goal that is replaced within STEADY belongs to a stream or to a dragged marker, and is not
logged; the last one is. A goal that is not reached is logged after the search for another
configuration. A jog is logged when it begins, is blocked, and ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
from rclpy.node import Node

from ik_core.display import angle, joined, length
from ik_core.maths.rotations import Array
from ik_core.tracking import Command

from ..robot_model import Model
from ..texts import cut
from .codes import StatusCode
from .diagnostics import Diagnostics
from .goals_and_solution import Current

STEADY = 0.5  # [s] a goal that stays the same for this time is logged: shorter ones are a stream
NEGLIGIBLE = 1e-5  # [m, rad] smaller motion of a tip during a jog is not logged
OUTCOMES = {
    StatusCode.REACHED: ('goal reached', 'is within'),
    StatusCode.BLOCKED: ('the way to the goal is blocked', 'stops short by'),
    StatusCode.OBSTACLE: ('an obstacle is in the way of the goal', 'stops short by'),
    StatusCode.CLOSEST: ('goal not reached', 'is off by'),
    StatusCode.TOO_FEW_JOINTS: ('the arm has fewer joints than the goal asks for', 'is off by'),
    StatusCode.STOPPED_SHORT: ('goal not reached, the solver stopped short', 'is off by'),
    StatusCode.OTHER_CONFIGURATION: ('goal not reached from here', 'is off by'),
}
STOPPED = (StatusCode.BLOCKED, StatusCode.OBSTACLE)  # on the way
# Kinds of goals that an arm of few joints can reach better, by the kind of its goal.
LESS = {'pose': 'auto, position or axis', 'auto': 'position or axis'}


class GoalLog:
    """Logs each outcome of a goal once.

    `current` returns the robot model that is moved and its last command, or None.
    """

    def __init__(
        self,
        node: Node,
        health: Diagnostics,
        current: Current,
    ) -> None:
        self._node, self._health, self._current = node, health, current
        self._goals: tuple[object, ...] = ()
        self._since = 0.0
        self._logged: set[StatusCode] = set()

    def follow(self) -> None:
        """Log new outcomes of the goals; called periodically."""
        model, command = self._current()
        if model is None or command is None or not model.tracker.has_goals:
            self._goals = ()
            return
        tracker = model.tracker
        now, goals = time.monotonic(), tuple(map(_bytes, (*tracker.goals, tracker.joint_goal)))
        if goals != self._goals:
            self._goals, self._since, self._logged = goals, now, set()
        code = self._health.code
        if code not in OUTCOMES or code in self._logged or not self._health.goal_has_ended:
            return
        if now - self._since >= STEADY:
            self._logged.add(code)
            self._log_outcome(code, model, command)

    def _log_outcome(self, code: StatusCode, model: Model, command: Command) -> None:
        what, how = OUTCOMES[code]
        hint = _hint(model, command, code)
        note = joined(hint, model.tracker.solver_note)
        if code is StatusCode.REACHED:
            tips = _distances(model, command, how, missed=False)
            self._node.get_logger().info(_line(f'{what}: {", ".join(tips)}', note))
            return
        tips = _distances(model, command, how, missed=True)
        why = self._health.obstacle_text or self._health.hazards.text
        text = _line(f'{what}: {", ".join(tips)}', why, note)
        if code not in STOPPED:  # no warning: usual while a marker is dragged
            self._node.get_logger().info(text)
        else:
            self._node.get_logger().warning(text)


class JogLog:
    """Logs when a jog begins, is blocked, and ends.

    Twists that pause for less than STEADY are one jog. `current` returns the robot model that is
    moved and its last command, or None.
    """

    def __init__(self, node: Node, health: Diagnostics, current: Current) -> None:
        self._node, self._health, self._current = node, health, current
        self._model: Model | None = None
        self._starts: list[Array] = []  # the tips' poses (4, 4) at the begin of the jog
        self._last_twist = self._last_motion = 0.0
        self._logged_block = False

    def follow(self) -> None:
        """Log changes of the jog; called periodically."""
        model, command = self._current()
        now, log = time.monotonic(), self._node.get_logger()
        if model is None or command is None or model is not self._model:
            self._model, self._starts = model, []
        if model is None or command is None:
            return
        is_blocked = self._health.code in STOPPED and not model.tracker.has_goals
        tips = range(len(model.tip_links))
        if is_blocked or self._health.code is StatusCode.JOGGING:
            if not self._starts:
                self._starts = [model.tip_pose(tip) for tip in tips]
                self._last_motion, self._logged_block = now, False
                log.info('jog begins: twists are followed')
            self._last_twist = now
            if command.dq.any() and not is_blocked:
                self._last_motion, self._logged_block = now, False
            elif not self._logged_block and now - self._last_motion >= STEADY:
                self._logged_block = True
                why = self._health.obstacle_text or self._health.hazards.text
                self._health.warn('jog', _line('the jog is blocked', why))
        elif self._starts and now - self._last_twist >= STEADY:
            moved = (_displacement(model, tip, self._starts[tip]) for tip in tips)
            log.info(_line(f'jog ended: {", ".join(filter(None, moved)) or "nothing moved"}'))
            self._starts = []


def _displacement(model: Model, tip: int, start: Array) -> str:
    """Return 'panda_hand moved by 12.3 mm and 4 deg'; '' for a tip that did not move."""
    pose = model.tip_pose(tip)
    metres = float(np.linalg.norm(pose[:3, 3] - start[:3, 3]))
    turn = pose[:3, :3] @ start[:3, :3].T
    radians = float(np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0)))
    parts = [length(metres)] * (metres > NEGLIGIBLE) + [angle(radians)] * (radians > NEGLIGIBLE)
    return f'{model.tip_links[tip]} moved by {" and ".join(parts)}' if parts else ''


def _line(*parts: str) -> str:
    return cut(joined(*parts))


def _distances(model: Model, command: Command, how: str, *, missed: bool) -> Iterable[str]:
    """Yield texts such as 'panda_hand is off by 12.3 mm, its orientation within tolerance'.

    missed : for all tips that miss their goal, or are held; else for all tips with a goal
    """
    joint_goal = model.tracker.joint_goal
    if joint_goal is not None:
        yield from _joint_distances(model, np.abs(joint_goal - command.q), how)
        return
    node, goals = model.parameters.node, model.tracker.goals
    errors = zip(command.position_errors, command.orientation_errors, strict=True)
    for tip, goal, (metres, radians) in zip(model.tip_links, goals, errors, strict=True):
        far, turned = metres > node.position_tolerance, radians > node.orientation_tolerance
        if not missed and goal is not None:
            yield f'{tip} {how} tolerance'
        elif missed and far and turned:
            yield f'{tip} {how} {length(metres)} and {angle(radians)}'
        elif missed and far:
            counts = model.goal_kind(tip) != 'position'
            turn = ', its orientation within tolerance' if counts else ''
            yield f'{tip} {how} {length(metres)}{turn}'
        elif missed and turned:
            yield f'{tip} {how} {angle(radians)}, its position within tolerance'


def _joint_distances(model: Model, distances: Array, how: str) -> Iterable[str]:
    """Yield 'panda_joint4 is off by 0.12 rad' for each joint that misses its goal."""
    robot = model.robot
    for joint, unit, distance in zip(
        robot.joint_names, robot.joint_units, distances.tolist(), strict=True
    ):
        if distance > 0.0:
            yield f'{joint} {how} {distance:.3g} {unit}'
    if not distances.any():
        yield 'all joints are at their positions'


def _hint(model: Model, command: Command, code: StatusCode) -> str:
    """Return a hint if few or frozen joints keep a tip from its goal, else ''."""
    if code not in (StatusCode.CLOSEST, StatusCode.TOO_FEW_JOINTS):
        return ''
    node, goals = model.parameters.node, model.tracker.goals
    errors = zip(command.position_errors, command.orientation_errors, strict=True)
    for i, (goal, (metres, radians)) in enumerate(zip(goals, errors, strict=True)):
        if goal is not None and metres > node.position_tolerance:
            unmoved = model.why_unmoved(i, goal[:3, 3])
            if unmoved:
                return unmoved
        tip = model.tip_links[i]
        joints, kind = model.joints_of(tip), model.goal_kind(tip)
        misses = radians > node.orientation_tolerance and code is StatusCode.TOO_FEW_JOINTS
        if misses and kind in LESS and joints < 6:
            moves = '1 joint moves' if joints == 1 else f'{joints} joints move'
            return f'only {moves} {tip}: set goal_kind.{tip} to {LESS[kind]}'
    return ''


def _bytes(goal: Array | None) -> bytes:
    return b'' if goal is None else goal.tobytes()
