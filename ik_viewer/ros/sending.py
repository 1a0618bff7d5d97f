# SPDX-License-Identifier: Apache-2.0
"""Publishing to the node: goals and twists on the topics of its tips, and joint goals.

A goal waits until the parameter of its kind is set, and until the node subscribes to its topic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ik_core.maths.rotations import Array

from ..arm import GoalKind, Setting
from .messages import goal_message, topic_of, twist_message
from .parameters import Parameters

PATIENCE = 3.0  # [s] a goal that waits for longer is dropped


@dataclass
class Goal:
    """A goal (4, 4) that waits; `asked` : whether its kind was requested."""

    transform: Array
    kind: GoalKind
    since: float
    asked: bool = False


class Sending:
    """Publishes goals and twists of a node's tips; all methods are for the node's thread.

    namespace : of the topics
    report : called with a sentence on a goal that could not be sent
    """

    def __init__(
        self, node: Node, namespace: str, parameters: Parameters, report: Callable[[str], None]
    ) -> None:
        self._node, self._namespace = node, namespace
        self._parameters, self._report = parameters, report
        self._links: tuple[str, ...] = ()
        self._frame = ''
        self._goals: list[Any] = []  # publishers
        self._twists: list[Any] = []
        self._waiting: dict[int, Goal] = {}
        self._joint_goals = node.create_publisher(JointState, f'{namespace}/joint_goal', 10)

    def begin(self, links: tuple[str, ...], frame: str) -> None:
        """Publish for these tips, in this frame, from now on."""
        if (links, frame) == (self._links, self._frame):
            return
        self.drop()
        for publisher in (*self._goals, *self._twists):
            self._node.destroy_publisher(publisher)
        self._links, self._frame = links, frame
        self._goals = [self._publisher(PoseStamped, link, 'goal_pose') for link in links]
        self._twists = [self._publisher(TwistStamped, link, 'delta_twist_cmds') for link in links]

    def drop(self) -> None:
        """Drop the goals that wait."""
        self._waiting.clear()

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Send a goal (4, 4) as soon as possible, in place of one that waits."""
        self._waiting[tip] = Goal(transform, kind, time.monotonic())

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Send a twist [m/s, rad/s]."""
        if tip < len(self._twists):
            linear, angular = _in_units(linear, angular, self._parameters.settings)
            self._twists[tip].publish(twist_message(linear, angular, self._frame))

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Send positions [rad or m] of joints, by name, and drop the goals that wait."""
        self.drop()
        names, values = list(positions), list(positions.values())
        self._joint_goals.publish(JointState(name=names, position=values))

    def poll(self) -> None:
        """Send the goals that need not wait any more, and drop those that waited too long."""
        for tip, goal in list(self._waiting.items()):
            if tip < len(self._goals) and self._counts(tip, goal):
                publisher = self._goals[tip]
                if publisher.get_subscription_count():
                    publisher.publish(goal_message(goal.transform, self._frame))
                    self._waiting.pop(tip, None)
            if time.monotonic() - goal.since > PATIENCE and self._waiting.get(tip) is goal:
                del self._waiting[tip]
                self._report(f'a goal was not sent: the node did not subscribe for {PATIENCE:g} s')

    def _counts(self, tip: int, goal: Goal) -> bool:
        """Return whether the node has the kind of this goal; if not, request it.

        The node's kind for a pose is `auto`: arms of few joints then follow its position first.
        """
        name, kind = f'goal_kind.{self._links[tip]}', goal.kind
        setting = self._parameters.settings.get(name)
        if setting is not None and kind_of(setting.value) is kind:
            return True
        if setting is not None and not goal.asked:
            goal.asked = True
            value = 'auto' if kind is GoalKind.POSE else kind.value
            self._parameters.set({name: value}, partial(self._asked, tip, goal))
        return False

    def _asked(self, tip: int, goal: Goal, success: bool) -> None:
        """Drop a goal whose kind was refused."""
        if not success and self._waiting.get(tip) is goal:
            del self._waiting[tip]

    def _publisher(self, kind: Any, link: str, topic: str) -> Any:
        return self._node.create_publisher(kind, f'{self._namespace}/{topic_of(link, topic)}', 1)


def kind_of(value: Any) -> GoalKind:
    """Return the kind of a goal; an unknown one counts as a pose."""
    return next((kind for kind in GoalKind if kind.value == value), GoalKind.POSE)


def _in_units(
    linear: Array, angular: Array, settings: Mapping[str, Setting]
) -> tuple[Array, Array]:
    """Return a twist in the node's units: m/s and rad/s, or fractions of its full speeds."""
    unit = settings.get('command_in_type')
    if unit is None or unit.value != 'unitless':
        return linear, angular
    full = (settings[name].value for name in ('scale.linear', 'scale.rotational'))
    fractions = (
        np.asarray(v) / speed if speed else np.zeros(3)
        for v, speed in zip((linear, angular), full, strict=True)
    )
    first, second = (vector / max(1.0, np.abs(vector).max()) for vector in fractions)
    return first, second
