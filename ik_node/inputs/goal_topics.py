# SPDX-License-Identifier: Apache-2.0
"""Goals by topic: callbacks turn messages into instructions for the tracker.

All conversions of frames and units, and all checks, are here. The next tick takes the instructions
from the inbox (`take`); of several goals for a tip it gets the last one. A message that can't be
used is refused on receipt, and the previous goal stays. A goal whose frame is not known yet, or
not yet at its stamp, waits (`waiting_goals`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped, TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ik_core.maths.rotations import Array
from ik_core.tracking import Command
from ik_core.tracking.instructions import Instruction, MoveTo, SetGoal, SetTwist

from ..conversions import (
    Refused,
    point_to_position,
    pose_to_transform,
    read_joint_state,
    stamp_of,
    time_to_seconds,
    twist_to_vectors,
)
from ..outputs.diagnostics import Diagnostics
from ..parameters.node_options import NodeParameters
from ..robot_model import Model, twist_topic
from .configuration_history import ConfigurationHistory
from .goal_frames import Frames, FrameSource, NotYet, Pending
from .hands import Hands
from .joint_goals import check_joint_goal, requested_positions
from .planar import complete
from .subscriptions import LARGEST, Inputs, survived
from .waiting_goals import Arrival, WaitingGoals

# Keys of joint goals in the inbox: those that replace the goals of tips, and those for joints that
# move no tip.
ALL_JOINTS, AUXILIARY_JOINTS = -1, -2
# Largest message [bytes] with goals for all tips: a thousand poses or joints.
LARGEST_ARRAY = 64_000
JOINT_GOALS = 10  # length of the queue of joint goals, since each may name other joints


Goal = SetGoal | SetTwist | MoveTo


class Goals:
    """The goals of a node: its subscriptions, and an inbox of instructions for the next tick.

    `ready` returns the robot model that goals are for, or raises Refused; `seconds` the time
    [s] of the ticks' clock.
    """

    def __init__(
        self,
        node: Node,
        health: Diagnostics,
        ready: Callable[[], Model],
        seconds: Callable[[], float],
        others: FrameSource,
        history: ConfigurationHistory,
    ) -> None:
        self._node = node
        self._health = health
        self._ready = ready
        self._seconds = seconds
        self._others = others
        self._history = history
        self._common = Inputs(node, health, overridable=True)
        self._by_tip = Inputs(node, health, overridable=True)
        self._inbox: dict[int, Goal] = {}  # by tip
        self._waiting = WaitingGoals()
        self._hands = Hands(node, health, seconds)
        self._tips: frozenset[int] = frozenset()
        self._followed: dict[int, Array] = {}  # last poses (4, 4) of frames, by tip
        self._count = self._handled = 0  # goals received; number of the one in hand

    def open(self) -> None:
        """Subscribe to the topics that do not depend on the robot."""
        listen = partial(self._listen, self._common)
        listen(PoseStamped, 'goal_pose', partial(self.on_pose, 0))
        listen(PoseStamped, 'goal_pose_2d', self._on_planar_pose)
        listen(PoseArray, 'goal_poses', self._on_poses, tip=None, largest=LARGEST_ARRAY)
        listen(PointStamped, 'clicked_point', self._on_point)
        listen(TwistStamped, '~/delta_twist_cmds', partial(self._on_twist, 0), waits=False)
        self._common.listen(JointState, 'joint_goal', self._on_joints, JOINT_GOALS, LARGEST_ARRAY)

    def subscribe_tips(self, model: Model) -> None:
        """Subscribe to the topics of this model's tips, in place of the previous ones."""
        self.unsubscribe_tips()
        commanded = model.parameters.node.output == 'joint_state'
        self._history.begin(model.robot.n, commanded=commanded)
        prefix = model.parameters.node.frame_prefix
        self._frames = Frames(model.robot, model.base_link, self._others, self._history, prefix)
        self._tips = frozenset(range(len(model.tip_links)))
        listen = partial(self._listen, self._by_tip)
        for tip, topic in enumerate(model.goal_topics):
            listen(PoseStamped, topic, partial(self.on_pose, tip), tip)
        for tip, link in enumerate(model.tip_links):
            handler = partial(self._on_twist, tip)
            listen(TwistStamped, twist_topic(link), handler, tip, waits=False)
        self._hands.open(model, self._frames)

    def unsubscribe_tips(self) -> None:
        """Unsubscribe from the topics of the tips."""
        self._by_tip.close()
        self._hands.close()
        self._followed.clear()
        self.drop()

    def close(self) -> None:
        """Unsubscribe from all topics."""
        self._common.close()
        self.unsubscribe_tips()

    def poll(self) -> None:
        """Handle the received messages, and retry the goals that wait for their frames."""
        self._common.poll()
        self._by_tip.poll()
        self._hands.poll()
        self._follow_frames()
        for arrival in self._waiting.newest_first():
            with survived(self._health, arrival.topic):
                if self._handle(arrival):
                    self._waiting.remove(arrival)

    def _follow_frames(self) -> None:
        """Make the poses of frames that tips follow (`goal_frame.<tip>`) their goals."""
        if not self._tips:
            return
        try:
            model = self._ready()
        except Refused:
            return
        for tip, link in enumerate(model.tip_links):
            frame = model.parameters.goal_frames.get(link, '')
            if not frame:
                self._followed.pop(tip, None)
                continue
            try:
                pose = self._frames.in_root(frame, model.tracker.q)
            except Refused as refused:
                self._health.warn(f'goal_frame:{link}', f'goal_frame.{link}: {refused}')
                continue
            last = self._followed.get(tip)
            if last is None or (pose != last).any():  # one that is lost does not change
                self._followed[tip] = pose
                self.put(tip, pose)

    def receive(
        self,
        topic: str,
        handler: Callable[[Any], object],
        tip: int | None,
        message: Any,
        *,
        waits: bool = True,
    ) -> bool:
        """Handle a received goal for a tip, or None for all; return False if it has to wait.

        waits : whether it may wait until its frame is known

        Raises the errors of `handler`.
        """
        self._count += 1
        tips = self._tips if tip is None else frozenset((tip,))
        handle = partial(handler, message)
        arrival = Arrival(self._count, tips, topic, self._seconds(), handle)
        if not waits:
            self._handled = arrival.number
            handle()
        elif not self._handle(arrival):
            self._waiting.add(arrival)
            return False
        return True

    def _handle(self, arrival: Arrival) -> bool:
        """Handle a goal; return False if it has to wait."""
        self._handled = arrival.number
        try:
            arrival.handle()
        except NotYet as late:
            model = self._ready()
            patience = model.parameters.node.frame_patience
            longest = max(patience, 2.0 * model.tracker.period)  # the next command is a period off
            if self._seconds() - arrival.since <= longest:
                return False
            self._waiting.remove(arrival)
            text = f'{late}, which did not change within frame_patience, {patience:g} s'
            raise Refused(late.reason, text) from late
        except Pending:
            return False
        except Exception:
            self._waiting.remove(arrival)
            raise
        return True

    def drop(self) -> None:
        """Drop the goals that no tick has taken yet, and let all hands go."""
        self._inbox.clear()
        self._hands.lose()
        self._waiting.clear()

    def take(self, now: float) -> Iterator[Instruction]:
        """Remove and yield the instructions received since the last tick; then those of hands.

        now [s] : the time of this tick
        """
        if self._inbox:
            self._health.note_goal()
        while self._inbox:
            yield self._inbox.pop(next(iter(self._inbox)))
        yield from self._hands.instructions(now)

    def follow_up(self, command: Command) -> None:
        """Pass the command of the tick to the hands, which adapt their goals to it."""
        self._hands.see(command)

    def lose_hands(self) -> None:
        """Stop following the hands, since something else moves or stops the robot."""
        self._hands.lose()

    def report_hands(self) -> None:
        """Put the hands' states into the status, and log their changes; called periodically."""
        self._hands.report()

    def refuse_older_than(self, seconds: float, refused: Refused) -> None:
        """Refuse the goals in the inbox that are older than `seconds`."""
        now = self._seconds()
        for tip, goal in list(self._inbox.items()):
            if goal.now is not None and now - goal.now >= seconds:
                del self._inbox[tip]
                self._health.refuse('goals', refused)

    def put(self, tip: int, goal: Array) -> None:
        """Store a tip's goal (4, 4), in the root link's frame. Raises InvalidGoal."""
        self._store(tip, SetGoal(tip, goal, self._seconds()))

    def put_joints(self, positions: Mapping[str, float]) -> None:
        """Store a joint goal, positions [rad or m] by name, in place of all goals of tips.

        A goal that only names joints that move no tip is stored in addition to them.
        """
        model = self._ready()
        check_joint_goal(model, positions)
        if positions.keys() <= model.tracker.auxiliary_joints:
            self._store_joints(AUXILIARY_JOINTS, positions)
            return
        self._waiting.drop(self._handled, self._tips)
        for tip in self._tips & self._inbox.keys():
            del self._inbox[tip]
        self._store_joints(ALL_JOINTS, positions)

    def go_home(self) -> None:
        """Store the home positions as a joint goal."""
        self._count += 1
        self._handled = self._count
        self.put_joints(self._ready().home)

    def _store_joints(self, key: int, positions: Mapping[str, float]) -> None:
        """Store a joint goal; previous joint goals keep the positions of other joints."""
        for each in (ALL_JOINTS, AUXILIARY_JOINTS):
            before = self._inbox.get(each)
            if not (isinstance(before, MoveTo) and isinstance(before.q, Mapping)):
                continue
            others = {joint: q for joint, q in before.q.items() if joint not in positions}
            if each == key or not others:
                del self._inbox[each]
            else:
                self._inbox[each] = MoveTo(others, before.now)
            if each == key:
                positions = {**others, **positions}
        self._inbox[key] = MoveTo(positions, self._seconds())

    def _store(self, tip: int, goal: Goal) -> None:
        """Store the goal of a tip; a previous joint goal keeps the joints that move no tip."""
        self._waiting.drop(self._handled, [tip])
        before = self._inbox.pop(ALL_JOINTS, None)
        if isinstance(before, MoveTo) and isinstance(before.q, Mapping):
            auxiliary = self._ready().tracker.auxiliary_joints
            positions = {joint: q for joint, q in before.q.items() if joint in auxiliary}
            if positions:
                self._store_joints(AUXILIARY_JOINTS, positions)
        self._inbox[tip] = goal

    def last(self, model: Model, tip: int) -> Array:
        """Return a tip's last goal (4, 4); without one, its commanded pose."""
        new = self._inbox.get(tip)
        if isinstance(new, SetGoal):
            return new.target
        before = model.tracker.goals[tip]
        return model.tip_pose(tip) if before is None else before

    def on_pose(self, tip: int, message: PoseStamped) -> Array:
        """Store the goal of a message; return it (4, 4) in the root link's frame."""
        goal = self._frame_of(self._ready(), message) @ pose_to_transform(message.pose)
        self.put(tip, goal)
        return goal

    def _listen(
        self,
        inputs: Inputs,
        kind: Any,
        topic: str,
        handler: Callable[[Any], object],
        tip: int | None = 0,
        *,
        waits: bool = True,
        largest: int = LARGEST,
    ) -> None:
        """Subscribe to goals of a tip, or None for all; `receive` handles them."""
        receive = partial(self.receive, topic, handler, tip, waits=waits)
        inputs.listen(kind, topic, receive, largest=largest)

    def _on_planar_pose(self, message: PoseStamped) -> None:
        """Store a goal for the first tip: x, y and yaw, with the rest of the previous goal."""
        model = self._ready()
        frame = self._frame_of(model, message)
        current = np.linalg.inv(frame) @ self.last(model, 0)
        keep = model.parameters.node.planar_goals
        self.put(0, frame @ complete(pose_to_transform(message.pose), current, keep))

    def _on_poses(self, message: PoseArray) -> None:
        model = self._ready()
        if len(message.poses) != len(model.tip_links):
            tips = ', '.join(model.tip_links)
            text = f'{len(message.poses)} poses; {len(model.tip_links)} are needed, for {tips}'
            raise Refused('wrong_length', text)
        frame = self._frame_of(model, message)
        goals = [frame @ pose_to_transform(pose) for pose in message.poses]
        for tip, goal in enumerate(goals):  # stored only after all were read: all or none
            self.put(tip, goal)

    def _on_point(self, message: PointStamped) -> None:
        """Store a position for the first tip, with the orientation of its goal or of the tip."""
        model = self._ready()
        frame = self._frame_of(model, message)
        goal = self.last(model, 0).copy()
        goal[:3, 3] = frame[:3, :3] @ point_to_position(message.point) + frame[:3, 3]
        self.put(0, goal)

    def _on_twist(self, tip: int, message: TwistStamped) -> None:
        """Store a twist of a tip: velocities of its origin, in the axes of the frame."""
        model = self._ready()
        self._check_stamp(model, message.header)  # a twist refers to the frame's present pose
        turn = self._frames.in_root(message.header.frame_id, model.tracker.q)[:3, :3]
        linear, angular = _speeds(*twist_to_vectors(message.twist), model.parameters)
        self._store(tip, SetTwist(tip, turn @ linear, turn @ angular, self._seconds()))

    def _on_joints(self, message: JointState) -> None:
        model = self._ready()
        self._check_stamp(model, message.header)
        self._count += 1
        self._handled = self._count
        positions = read_joint_state(message, set(message.name))
        self.put_joints(requested_positions(model, positions))

    def _frame_of(self, model: Model, message: Any) -> Array:
        """Return the pose (4, 4) of a message's frame in the root's, at its stamp.

        Refused if goals time out and the stamp is too old.
        """
        self._check_stamp(model, message.header)
        frame = message.header.frame_id
        return self._frames.in_root(frame, model.tracker.q, stamp_of(message))

    def _check_stamp(self, model: Model, header: Header) -> None:
        timeout = model.parameters.tracker.goal_timeout
        stamp = time_to_seconds(header.stamp)
        if timeout > 0.0 and stamp > 0.0:
            age = 1e-9 * self._node.get_clock().now().nanoseconds - stamp
            if abs(age) > timeout:
                raise Refused(
                    'stale', f'the stamp is {age:.3f} s old; goal_timeout is {timeout} s'
                )


def _speeds(linear: Array, angular: Array, parameters: NodeParameters) -> tuple[Array, Array]:
    """Return velocities [m/s], [rad/s]; unitless twists are fractions of the full speeds."""
    if parameters.node.command_in_type == 'speed_units':
        return linear, angular
    if max(np.abs(linear).max(), np.abs(angular).max()) > 1.0:
        text = 'command_in_type is unitless: no component may be outside [-1, 1]'
        raise Refused('not_unitless', text)
    return parameters.scale.linear * linear, parameters.scale.rotational * angular
