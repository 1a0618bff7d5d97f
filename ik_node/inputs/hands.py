# SPDX-License-Identifier: Apache-2.0
"""Hands by topic: poses of hands move the tips while their switch is closed (`input: teleop`).

The poses of a hand come on `hand_pose` (PoseStamped), in any fixed frame that tf2 knows. Its dead
man's switch is a button on `joy` (`teleop.button`), or a Bool on `hand_engaged`. A switch that has
not been heard of for `teleop.switch_timeout` is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Joy
from std_msgs.msg import Bool

from ik_core.maths.rotations import Array, frame_of
from ik_core.teleop import HandOptions, HandState
from ik_core.teleop.hand import Hand, Received
from ik_core.tracking import Command
from ik_core.tracking.instructions import Instruction

from ..conversions import Refused, pose_to_transform, stamp_of
from ..outputs.diagnostics import Diagnostics
from ..parameters.node_options import TeleopOptions
from ..robot_model import Model, token
from .goal_frames import Frames
from .subscriptions import Inputs

POSE, ENGAGED, JOY = 'hand_pose', 'hand_engaged', 'joy'
# A burst of samples after a gap counts as a whole. Best effort matches all publishers.
SAMPLES = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
SWITCHES = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
MIRRORS = {'x': 0, 'y': 1, 'z': 2}


class Hands:
    """The hands of a node: their subscriptions, and the instructions of each tick.

    `seconds` returns the time [s] of the ticks' clock.
    """

    def __init__(self, node: Node, health: Diagnostics, seconds: Callable[[], float]) -> None:
        self._node, self._health, self._seconds = node, health, seconds
        self._inputs = Inputs(node, health, overridable=True)
        self._hands: list[Hand] = []
        self._closed: list[bool] = []
        self._heard: list[float] = []  # [s] when the switch was last heard of
        self._logged: list[HandState] = []

    def open(self, model: Model, frames: Frames) -> None:
        """Subscribe for the tips of a model, in place of the previous ones, with `input: teleop`.

        frames : of the poses
        """
        self.close()
        if model.parameters.node.input != 'teleop':
            return
        self._model, self._frames = model, frames
        options = model.parameters.teleop
        hand_options = _hand_options(options)
        chains = [set(model.robot.chain(tip)) & set(model.moved_joints) for tip in model.tip_links]
        for tip, chain in enumerate(chains):
            others = set().union(*(other for other in chains if other is not chain))
            self._hands.append(
                Hand(
                    model.tracker,
                    tip,
                    sorted(chain),
                    chain & others,
                    partial(_tip_frame, model, tip),
                    hand_options,
                    position_first=len(chain) < 6,
                )
            )
        count = len(self._hands)
        self._closed, self._heard = [False] * count, [-math.inf] * count
        self._logged = [HandState.RELEASED] * count
        listen = self._inputs.listen
        topics = [(tip, f'{token(link)}/') for tip, link in enumerate(model.tip_links)]
        for tip, prefix in [(0, ''), *topics]:
            listen(PoseStamped, f'{prefix}{POSE}', partial(self._on_pose, tip), SAMPLES)
            if options.button < 0:
                listen(Bool, f'{prefix}{ENGAGED}', partial(self._on_switch, tip), SWITCHES)
        if options.button >= 0:
            listen(Joy, JOY, self._on_joy, SWITCHES)

    def close(self) -> None:
        """Unsubscribe, and stop following the hands."""
        self._inputs.close()
        self._hands = []
        self._health.hands = {}

    def poll(self) -> None:
        """Handle the received messages."""
        self._inputs.poll()

    def instructions(self, now: float) -> Iterator[Instruction]:
        """Yield the instructions of a tick at the time `now` [s]."""
        if not self._hands:
            return
        timeout = self._model.parameters.teleop.switch_timeout
        for tip, hand in enumerate(self._hands):
            if now - self._heard[tip] > timeout:
                self._set_switch(tip, closed=False)
            yield from hand.move(now)

    def see(self, command: Command) -> None:
        """Pass the command of a tick to the hands, which adapt their goals to it."""
        for hand in self._hands:
            hand.see(command)

    def lose(self) -> None:
        """Stop following the hands until their switches open: something else moves the robot."""
        for hand in self._hands:
            hand.lose()

    def report(self) -> None:
        """Put the hands' states into the status, and log their changes; called periodically."""
        if not self._hands:
            return
        links = self._model.tip_links
        states = [HandState.FOLLOWING if h.is_followed else h.state for h in self._hands]
        self._health.hands = {k: state.value for k, state in zip(links, states, strict=True)}
        for link, state, before in zip(links, states, self._logged, strict=True):
            if state is not before:
                self._node.get_logger().info(f'hand of {link}: {state.text}')
        self._logged = states

    def _on_pose(self, tip: int, message: PoseStamped) -> None:
        model = self._model
        frame = self._frames.in_root(message.header.frame_id, model.tracker.q)
        pose = frame @ pose_to_transform(message.pose)
        stamp = stamp_of(message)
        self._hands[tip].push(
            Received(
                stamp=1e-9 * stamp if stamp else None,
                received=self._seconds(),
                frame=frame_of(pose),
                gripper=None,
                engaged=self._closed[tip],
            )
        )

    def _on_switch(self, tip: int, message: Bool) -> None:
        self._heard[tip] = self._seconds()
        self._set_switch(tip, closed=message.data)

    def _on_joy(self, message: Joy) -> None:
        button = self._model.parameters.teleop.button
        if button >= len(message.buttons):
            text = f'there are {len(message.buttons)} buttons; teleop.button is {button}'
            raise Refused('no_button', text)
        for tip in range(len(self._hands)):
            self._heard[tip] = self._seconds()
            self._set_switch(tip, closed=bool(message.buttons[button]))

    def _set_switch(self, tip: int, *, closed: bool) -> None:
        self._closed[tip] = closed
        if not closed:
            self._hands[tip].release()


def _tip_frame(model: Model, tip: int, q: Array) -> Array:
    """Return the frame (12,) of a tip's tool centre point at q (n,)."""
    link = model.tip_links[tip]
    return frame_of(model.robot.forward_kinematics(q, link) @ model.tool(link))


def _hand_options(options: TeleopOptions) -> HandOptions:
    axes = np.eye(3)
    if options.mirror in MIRRORS:
        axis = MIRRORS[options.mirror]
        axes[axis, axis] = -1.0
    return HandOptions(
        scale=options.scale,
        rotation_scale=options.rotation_scale,
        axes=axes,
        box=(options.box_lower, options.box_upper),
        linear_velocity=options.linear_velocity,
        angular_velocity=options.angular_velocity,
        latency=options.latency or None,
    )
