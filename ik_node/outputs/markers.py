# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: goals, and the paths of the tips.

Each goal has an axis triad, and a ball in the colour of its state. A line of bounded length shows
the path of each tip. Nothing is computed without subscribers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ik_core.maths.rotations import Array
from ik_core.tracking import Command, TrackStatus

from ..conversions import transform_to_pose
from ..robot_model import Model
from ..texts import MIDDLEWARE_ERRORS

AXIS_LENGTH = 0.1
BALL_DIAMETER = 0.03
TRACE_WIDTH = 0.004
TRACE_COLOUR = (0.2, 0.6, 1.0)
TRACE_STEP = 0.002  # [m] least distance between points of a trace
TRACE_POINTS = 300  # longest trace: older points are dropped
SAMPLING_PERIOD = 0.04
SAMPLES_PER_MESSAGE = 5
DELIVERY = Duration(seconds=0.2)  # longest wait until the last message has been received
Colour = tuple[float, float, float]
RED, GREEN, BLUE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
MOVING = (1.0, 0.8, 0.0)
COLOURS = {
    TrackStatus.BLOCKED: (1.0, 0.4, 0.0),
    TrackStatus.OBSTACLE: (1.0, 0.4, 0.0),
    TrackStatus.REACHED: GREEN,
    TrackStatus.CLOSEST: RED,
    TrackStatus.TOO_FEW_JOINTS: (1.0, 0.6, 0.0),
    TrackStatus.STOPPED_SHORT: RED,
    TrackStatus.OTHER_CONFIGURATION: RED,
    TrackStatus.STALE: (0.5, 0.5, 0.5),
}


class Markers:
    """Publishes ~/markers.

    `current` returns the robot model that is moved and its last command, or None.
    """

    def __init__(
        self, node: Node, current: Callable[[], tuple[Model | None, Command | None]]
    ) -> None:
        self._node = node
        self._current = current
        self._publisher = node.create_publisher(MarkerArray, '~/markers', 1)
        self._model: Model | None = None
        self._traces: list[Trace] = []
        self._samples = 0

    def sample(self) -> None:
        """Add points to the traces, and publish every fifth time; called every SAMPLING_PERIOD."""
        model, command = self._current()
        if model is None or command is None or not self._publisher.get_subscription_count():
            self.clear()
            return
        if model is not self._model:
            self._delete_all()
            self._model, self._traces = model, [Trace() for _ in model.tip_links]
        for tip, trace in enumerate(self._traces):
            trace.add(*model.tip_pose(tip)[:3, 3].tolist())
        self._samples += 1
        if self._samples % SAMPLES_PER_MESSAGE == 0:
            self._publish(model, command)

    def clear(self) -> None:
        """Remove the markers, if there are any: RViz would keep them after the node has ended."""
        if self._model is not None:
            self._model = None
            self._delete_all()
            with suppress(*MIDDLEWARE_ERRORS):  # not every middleware supports it
                self._publisher.wait_for_all_acked(DELIVERY)

    def _delete_all(self) -> None:
        self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))

    def _publish(self, model: Model, command: Command) -> None:
        root, stamp = model.root_frame, self._node.get_clock().now().to_msg()
        message = goal_markers(model.tracker.goals, colours(model, command), root, stamp)
        for tip, trace in enumerate(self._traces):
            message.markers.append(_placed(trace.marker(), tip, root, stamp))
        self._publisher.publish(message)


class Trace:
    """The last points [m] of a tip's path."""

    def __init__(self) -> None:
        self.points: deque[Point] = deque(maxlen=TRACE_POINTS)

    def add(self, x: float, y: float, z: float) -> None:
        """Add a point [m], unless it is closer than TRACE_STEP to the last one."""
        last = self.points[-1] if self.points else None
        if last is None or math.dist((last.x, last.y, last.z), (x, y, z)) >= TRACE_STEP:
            self.points.append(Point(x=x, y=y, z=z))

    def marker(self) -> Marker:
        """Return the marker of the line; with fewer than two points it deletes the line."""
        marker = Marker(ns='trace', type=Marker.LINE_STRIP, color=_rgba(TRACE_COLOUR))
        marker.scale.x = TRACE_WIDTH
        marker.points = list(self.points)
        marker.action = Marker.ADD if len(self.points) > 1 else Marker.DELETE
        return marker


def colours(model: Model, command: Command) -> list[Colour]:
    """Return the colour of each tip's goal: green if reached, else by the tracker's status."""
    node = model.parameters.node
    reached = (command.position_errors <= node.position_tolerance) & (
        command.orientation_errors <= node.orientation_tolerance
    )
    others = COLOURS.get(command.status, MOVING)
    resting = command.status in (TrackStatus.IDLE, TrackStatus.STALE)  # errors are not known
    return [GREEN if there and not resting else others for there in reached]


def goal_markers(
    goals: Sequence[Array | None], colours: Sequence[Colour], root_link: str, stamp: Time
) -> MarkerArray:
    """Return markers of the goals (4, 4) of all tips, in the root link's frame; None: no goal."""
    message = MarkerArray()
    for tip, (goal, colour) in enumerate(zip(goals, colours, strict=True)):
        for marker in (_triad(), _ball(colour)):
            marker.action = Marker.DELETE if goal is None else Marker.ADD
            if goal is not None:
                marker.pose = transform_to_pose(goal)
            message.markers.append(_placed(marker, tip, root_link, stamp))
    return message


def _placed(marker: Marker, tip: int, root_link: str, stamp: Time) -> Marker:
    marker.header.frame_id = root_link
    marker.header.stamp = stamp
    marker.id = tip
    return marker


def _triad() -> Marker:
    marker = Marker(ns='goal_axes', type=Marker.LINE_LIST)
    marker.scale.x = 0.1 * AXIS_LENGTH
    for axis in (RED, GREEN, BLUE):  # the colours (r, g, b) equal the directions (x, y, z)
        x, y, z = (AXIS_LENGTH * part for part in axis)
        marker.points += [Point(), Point(x=x, y=y, z=z)]
        marker.colors += [_rgba(axis), _rgba(axis)]
    return marker


def _ball(colour: Colour) -> Marker:
    marker = Marker(ns='goal_state', type=Marker.SPHERE, color=_rgba(colour))
    marker.scale.x = marker.scale.y = marker.scale.z = BALL_DIAMETER
    return marker


def _rgba(colour: Colour) -> ColorRGBA:
    r, g, b = colour
    return ColorRGBA(r=r, g=g, b=b, a=1.0)
