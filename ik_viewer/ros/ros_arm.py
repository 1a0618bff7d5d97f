# SPDX-License-Identifier: Apache-2.0
"""`RosArm`: a running node as an `Arm`, over topics, services and parameters only."""

from __future__ import annotations

import math
import operator
import queue
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.context import Context
from std_srvs.srv import SetBool, Trigger

from ik_core import Robot, World
from ik_core.exceptions import IkError
from ik_core.maths.rotations import Array, matrix_from_rpy

from ..arm import Description, GoalKind, Moment, Setting, TipState, error_text
from .calls import Calls
from .connection import Connection
from .messages import Status, world_of
from .parameters import Parameters
from .presence import Presence
from .robot_loader import Robots
from .sending import Sending, kind_of
from .watch import Watch

MOST_NOTICES = 100
DISCOVERY = 2.0  # [s] longest time to discover a running node
STOP_PATIENCE = 60.0  # [s] timeout of pause and reset, which respond once the joints rest
# Codes of a node without a robot.
WITHOUT_ROBOT = ('no_model', 'unconfigured')


class RosArm:
    """An `Arm` over the topics, services and parameters of a node.

    name : the node's name; without a namespace, in the namespace of this process
    context : of rclpy; by default that of rclpy.init
    mesh_folders : the only folders in which meshes are searched

    The node may appear, disappear, and change its robot. `q` is that of joint_states: commanded
    positions if the node publishes them there, else measured ones.
    """

    def __init__(
        self,
        name: str = 'ik_node',
        *,
        context: Context | None = None,
        mesh_folders: Sequence[Path] = (),
    ) -> None:
        self._connection = Connection(context, 'ik_viewer')
        node = self._connection.node
        self.name = name if name.startswith('/') else f'{node.get_namespace().rstrip("/")}/{name}'
        self._notices: deque[str] = deque(maxlen=MOST_NOTICES)
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._moment: Moment | None = None
        self._default_tip: tuple[str, ...] = ()
        self._drawn: tuple[tuple[object, ...], World] | None = None
        report = self._notices.append
        self._calls = Calls(node)
        self._parameters = Parameters(node, self.name, self._calls, report)
        self._robots = Robots(tuple(mesh_folders), report)
        self._watch = Watch(node, self.name, self._on_status, self._robots.take)
        self._sending = Sending(node, self.name.rpartition('/')[0], self._parameters, report)
        self._presence = Presence(node, self.name, self._on_appeared, self._on_vanished)
        self._missed_at = time.monotonic() + DISCOVERY
        self._connection.start(self._frame, self._on_error)

    # The protocol Arm

    @property
    def description(self) -> Description | None:
        """The robot and its drawing; None while there is no robot."""
        return self._robots.description

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The parameters by name."""
        return self._parameters.settings

    def read(self) -> Moment | None:
        """Return the present moment; None while nothing is known."""
        return self._moment

    def take_notices(self) -> Sequence[str]:
        """Return the errors and refusals since the last call."""
        notices = []
        while self._notices:
            notices.append(self._notices.popleft())
        return notices

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Set a tip's goal (4, 4) in the root link's frame."""
        self._asked.put(partial(self._sending.set_goal, tip, transform.copy(), kind))

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Move a tip at velocities (3,) [m/s], [rad/s] in the root link's frame."""
        self._asked.put(partial(self._sending.set_twist, tip, linear, angular))

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Move joints to positions [rad or m], by name."""
        self._asked.put(partial(self._sending.set_joint_goal, dict(positions)))

    def home(self) -> None:
        """Move all joints to their home positions."""
        self._asked.put(self._sending.drop)
        self._ask(Trigger, 'home', Trigger.Request())

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """Change parameters, all or none."""
        self._asked.put(partial(self._parameters.set, dict(values)))

    def pause(self, paused: bool) -> None:
        """Stop and keep the goals, or resume them."""
        self._ask(SetBool, 'pause', SetBool.Request(data=paused))

    def reset(self) -> None:
        """Drop the goals."""
        self._asked.put(self._sending.drop)
        self._ask(Trigger, 'reset', Trigger.Request())

    def close(self) -> None:
        """Leave the node, which continues with its goals."""
        self._moment = None
        self._connection.close()
        self._robots.close()

    # On the thread of the node

    def _frame(self) -> None:
        self._presence.poll()
        self._warn_of_missing_nodes()
        self._calls.poll()
        while not self._asked.empty():
            self._asked.get()()
        self._parameters.poll()
        if self._robots.poll():
            self._take_robot()
        self._sending.poll()
        if not self._presence.is_there:
            self._moment = None
        elif self._watch.poll() or self._moment is None:
            self._moment = self._new_moment()

    def _warn_of_missing_nodes(self) -> None:
        if time.monotonic() > self._missed_at:
            self._missed_at = math.inf
            if not self._presence.is_there:
                self._notices.append(f'{self.name} is not available; waiting for it')

    def _take_robot(self) -> None:
        """Change to another robot, and reset the state."""
        self._moment = None
        description, self._default_tip = self.description, ()
        if description is not None:
            self._watch.begin(description.robot)
            with suppress(IkError):  # without a single longest chain, the parameter names the tips
                self._default_tip = (description.robot.default_tip(),)
        self._parameters.read()

    def _new_moment(self) -> Moment | None:
        description, watch = self.description, self._watch
        status, links = watch.status, self._links(description)
        if description is None or not links or not self._robots.is_known:
            return None
        if status.code in ('', *WITHOUT_ROBOT):
            return None
        self._sending.begin(links, description.robot.base_link)
        return Moment(
            time=time.monotonic(),
            q=watch.q,
            tips=tuple(self._tip(i, link) for i, link in enumerate(links)),
            code=status.code,
            text=status.text,
            solution=watch.solution,
            solve_time=1e-6 * status.number('solve_time_since_goal [us]'),
            iterations=status.count('iterations_since_goal'),
            condition_number=status.number('condition_number'),
            world=self._world_of(description.robot),
        )

    def _world_of(self, robot: Robot) -> World | None:
        """Return the obstacles that the node avoids; the same object until they change."""
        message, prefix = self._watch.obstacles, self.settings.get('frame_prefix')
        now = message, robot, prefix
        if message is None:
            return None
        if self._drawn is None or any(map(operator.is_not, now, self._drawn[0])):
            names = '' if prefix is None else str(prefix.value)
            self._drawn = now, world_of(message, robot, names)
        return self._drawn[1]

    def _links(self, description: Description | None) -> tuple[str, ...]:
        """Return the tips of the node; () while they are unknown."""
        named = self.settings.get('tip_links')
        if description is None or named is None:
            return ()
        links = tuple(named.value) or self._default_tip
        return links if set(links) <= set(description.robot.link_names) else ()

    def _tip(self, index: int, link: str) -> TipState:
        watch, settings = self._watch, self.settings
        kind = settings.get(f'goal_kind.{link}')
        return TipState(
            link,
            _tool(settings, link),
            kind_of(None if kind is None else kind.value),
            watch.goals[index] if index < len(watch.goals) else None,
            watch.status.number(f'{link}.position_error [m]'),
            watch.status.number(f'{link}.orientation_error [rad]'),
        )

    def _ask(self, kind: Any, service: str, request: Any) -> None:
        """Call a service whose response has `success` and `message`."""

        def answered(answer: Any) -> None:
            if not answer.success:
                self._notices.append(f'{service}: {answer.message}')

        name, failed = f'{self.name}/{service}', self._notices.append
        self._asked.put(
            lambda: self._calls.make(kind, name, request, answered, failed, STOP_PATIENCE)
        )

    def _on_status(self, status: Status) -> None:
        """Report messages that the node refused, and a missing robot, which no moment shows."""
        self._presence.note_message()
        before = self._watch.status
        if before.code:
            for reason, count in status.refused.items():
                if count > before.refused.get(reason, 0):
                    self._notices.append(f'{self.name} refused a message: {reason}')
        if status.code != before.code and status.code in WITHOUT_ROBOT:
            self._notices.append(f'{self.name}: {status.text}')

    def _on_appeared(self) -> None:
        if self._missed_at == math.inf:
            self._notices.append(f'{self.name} is available')
        self._calls.drop()
        self._parameters.forget()
        self._parameters.read()

    def _on_vanished(self) -> None:
        self._notices.append(f'{self.name} is no longer available; waiting for it')
        self._calls.drop()
        self._parameters.forget()
        self._watch.forget()
        self._sending.drop()

    def _on_error(self, error: Exception) -> None:
        self._notices.append(error_text(error))


def _tool(settings: Mapping[str, Setting], link: str) -> Array:
    """Return the pose (4, 4) of the tool centre point in the tip link's frame."""
    tool = np.eye(4)
    xyz, rpy = (settings.get(f'tools.{link}.{part}') for part in ('xyz', 'rpy'))
    if xyz is not None and rpy is not None:
        tool[:3, 3], tool[:3, :3] = xyz.value, matrix_from_rpy(rpy.value)
    return tool
