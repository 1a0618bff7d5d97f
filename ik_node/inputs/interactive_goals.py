# SPDX-License-Identifier: Apache-2.0
"""Goals dragged in RViz: an interactive marker with six degrees of freedom for every tip.

A marker is at the tip's goal, or at the tip if it has no goal. So it follows the robot until it is
dragged, and stays where it is released. While a client holds it, the node does not move it, and
every pose it is dragged to is a goal, checked like one from a topic. If a goal is refused, the
marker returns to the last one.

Needs the package interactive_markers, which no other module imports.
"""

from __future__ import annotations

import importlib
import math
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Quaternion
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    Marker,
    MenuEntry,
)

from ik_core.exceptions import InvalidGoal
from ik_core.maths.rotations import Array

from ..conversions import Refused, transform_to_pose
from ..outputs.diagnostics import Diagnostics
from ..robot_model import Model
from ..texts import MIDDLEWARE_ERRORS, sentence
from .goal_topics import Goals

TOPIC = '~/interactive_goals'  # RViz's display InteractiveMarkers asks for this as its namespace

# [s] A client that holds a marker and is silent for longer counts as gone: RViz sends feedback
# several times a second.
HOLD_TIMEOUT = 2.0

# Length of the queue: in a shorter one, the last pose before the release could be lost.
FEEDBACK_DEPTH = 10

MARKER_SIZE = 0.25
BALL_SIZE = 0.06
# Markers are not moved by less [m, or element of the rotation matrix]: nobody would see it.
SMALLEST_MOVE = 1e-6

S = math.sqrt(0.5)
# Orientations (xyzw) of the controls: each acts along or about its own x axis.
AXES = {'x': (S, 0.0, 0.0, S), 'y': (0.0, 0.0, S, S), 'z': (0.0, -S, 0.0, S)}


class InteractiveGoals:
    """The interactive markers of a node, and the goals they are dragged to.

    `menu` has the actions of the context menu, by title.
    """

    def __init__(
        self,
        node: Node,
        health: Diagnostics,
        goals: Goals,
        menu: Mapping[str, Callable[[], object]],
    ) -> None:
        self._node = node
        self._health = health
        self._goals = goals
        self._menu = dict(menu)
        self._server: Any = None
        self._has_logged = False
        self._shown: list[Array] = []
        self._held_until: dict[int, float] = {}
        self._dragged: set[int] = set()

    def open(self, model: Model) -> None:
        """Show markers for the tips of this model, in place of the previous ones."""
        self.close()
        package = self._package(model.parameters.node.interactive_markers)
        if package is None:
            return
        try:
            self._server = package.InteractiveMarkerServer(
                self._node, TOPIC, feedback_sub_qos=QoSProfile(depth=FEEDBACK_DEPTH)
            )
        except MIDDLEWARE_ERRORS as error:
            self._node.get_logger().error(f'no markers to drag: {sentence(error)}')
            return
        self._fill(model)

    def _fill(self, model: Model) -> None:
        self._model = model
        self._tips = {link: tip for tip, link in enumerate(model.tip_links)}
        self._shown = [self._goals.last(model, tip) for tip in self._tips.values()]
        for link, pose in zip(self._tips, self._shown, strict=True):
            marker = six_dof_marker(link, model.root_frame, pose, list(self._menu))
            self._server.insert(marker, feedback_callback=self._on_feedback)
        self._server.applyChanges()

    def follow(self) -> None:
        """Move each marker that no client holds to its tip's goal; called periodically."""
        if self._server is None:
            return
        now = time.monotonic()
        for link, tip in self._tips.items():
            pose = self._goals.last(self._model, tip)
            moved = np.abs(pose - self._shown[tip]).max() > SMALLEST_MOVE
            if moved and now > self._held_until.get(tip, 0.0):
                self._show(link, tip, pose)
        self._server.applyChanges()

    def close(self) -> None:
        """Remove the markers."""
        if self._server is not None:
            self._server.shutdown()
            self._server = None
        self._held_until.clear()
        self._dragged.clear()

    def _package(self, wanted: str) -> Any:
        """Return the package interactive_markers; None if it is not wanted, or not installed."""
        if wanted == 'false':
            return None
        try:
            return importlib.import_module('interactive_markers')
        except ImportError:
            if not self._has_logged:
                self._has_logged, log = True, self._node.get_logger()
                say = log.warning if wanted == 'true' else log.info
                say('no markers to drag: the package interactive_markers is not installed')
            return None

    def _show(self, link: str, tip: int, pose: Array) -> None:
        self._shown[tip] = pose
        self._server.setPose(link, transform_to_pose(pose))

    def _on_feedback(self, feedback: InteractiveMarkerFeedback) -> None:
        """Handle feedback of a client; count or log its errors."""
        try:
            self._handle(feedback)
        except Refused as refused:
            self._health.refuse(TOPIC, refused)
        except InvalidGoal as error:
            self._health.refuse(TOPIC, Refused('invalid', str(error)))
        except Exception:
            self._health.error(TOPIC, f'{TOPIC}: {traceback.format_exc()}')

    def _handle(self, feedback: InteractiveMarkerFeedback) -> None:
        if feedback.marker_name not in self._tips:
            raise Refused('unknown_marker', f'there is no marker {feedback.marker_name!r}')
        tip, event = self._tips[feedback.marker_name], feedback.event_type
        if event == InteractiveMarkerFeedback.MENU_SELECT:
            self._select(feedback.menu_entry_id)
            return
        released = event == InteractiveMarkerFeedback.MOUSE_UP
        if event == InteractiveMarkerFeedback.POSE_UPDATE:
            self._dragged.add(tip)
        elif not released and event != InteractiveMarkerFeedback.KEEP_ALIVE:  # a new drag begins
            self._dragged.discard(tip)
        self._held_until[tip] = 0.0 if released else time.monotonic() + HOLD_TIMEOUT
        try:
            if tip in self._dragged:
                self._drag(tip, feedback)
        finally:
            if released:  # a release has the last pose of the drag
                self._dragged.discard(tip)

    def _drag(self, tip: int, feedback: InteractiveMarkerFeedback) -> None:
        """Store the pose of the feedback as a goal, and show the marker at the goal in force.

        The server has moved the marker already, ignoring the frame of the feedback.
        """
        message = PoseStamped(header=feedback.header, pose=feedback.pose)
        goal = self._shown[tip]
        try:
            if self._goals.receive(TOPIC, partial(self._goals.on_pose, tip), tip, message):
                goal = self._goals.last(self._model, tip)
        finally:
            self._show(feedback.marker_name, tip, goal)

    def _select(self, entry: int) -> None:
        actions = list(self._menu.values())
        if 1 <= entry <= len(actions):
            actions[entry - 1]()


def six_dof_marker(link: str, root_link: str, pose: Array, menu: list[str]) -> InteractiveMarker:
    """Return a marker that moves along and turns about all axes.

    pose : (4, 4) in the frame of root_link

    Its stamp is zero, so that clients give poses in the same frame, even if that moves.
    """
    marker = InteractiveMarker(name=link, description=link, scale=MARKER_SIZE)
    marker.header.frame_id = root_link
    marker.pose = transform_to_pose(pose)
    marker.menu_entries = [MenuEntry(id=i, title=title) for i, title in enumerate(menu, start=1)]
    marker.controls = [_ball()]
    for axis, (x, y, z, w) in AXES.items():
        for name, mode in (
            ('move', InteractiveMarkerControl.MOVE_AXIS),
            ('rotate', InteractiveMarkerControl.ROTATE_AXIS),
        ):
            turn = Quaternion(x=x, y=y, z=z, w=w)
            control = InteractiveMarkerControl(name=f'{name}_{axis}', orientation=turn)
            control.interaction_mode = mode
            marker.controls.append(control)
    return marker


def _ball() -> InteractiveMarkerControl:
    """Return the handle in the middle: moves in the screen plane, turns with the Ctrl key."""
    ball = Marker(type=Marker.SPHERE, color=ColorRGBA(r=1.0, g=1.0, b=1.0, a=0.5))
    ball.scale.x = ball.scale.y = ball.scale.z = BALL_SIZE
    return InteractiveMarkerControl(
        name='move_3d',
        interaction_mode=InteractiveMarkerControl.MOVE_ROTATE_3D,
        always_visible=True,
        markers=[ball],
    )
