"""Goals for RViz: an axis triad where each goal is, and a ball in the colour of its state."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ik_core.rotations import Array
from ik_core.tracking import TrackStatus

from .conversions import transform_to_pose

AXIS_LENGTH = 0.1
BALL_DIAMETER = 0.03
RED, GREEN, BLUE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
MOVING = (1.0, 0.8, 0.0)
COLOURS = {
    TrackStatus.REACHED: GREEN,
    TrackStatus.CLOSEST: RED,
    TrackStatus.STALE: (0.5, 0.5, 0.5),
}


def goal_markers(
    goals: Sequence[Array | None], status: TrackStatus, root_link: str, stamp: Time
) -> MarkerArray:
    """Markers of the goals (4, 4) of all tips [m] in the root link's frame; none for None."""
    colour = COLOURS.get(status, MOVING)
    message = MarkerArray()
    for tip, goal in enumerate(goals):
        for marker in (_triad(), _ball(colour)):
            marker.header.frame_id = root_link
            marker.header.stamp = stamp
            marker.id = tip
            marker.action = Marker.DELETE if goal is None else Marker.ADD
            if goal is not None:
                marker.pose = transform_to_pose(goal)
            message.markers.append(marker)
    return message


def _triad() -> Marker:
    marker = Marker(ns='goal_axes', type=Marker.LINE_LIST)
    marker.scale.x = 0.1 * AXIS_LENGTH
    for axis in (RED, GREEN, BLUE):  # the axes' directions are their colours
        x, y, z = (AXIS_LENGTH * part for part in axis)
        marker.points += [Point(), Point(x=x, y=y, z=z)]
        marker.colors += [_rgba(axis), _rgba(axis)]
    return marker


def _ball(colour: tuple[float, float, float]) -> Marker:
    marker = Marker(ns='goal_state', type=Marker.SPHERE, color=_rgba(colour))
    marker.scale.x = marker.scale.y = marker.scale.z = BALL_DIAMETER
    return marker


def _rgba(colour: tuple[float, float, float]) -> ColorRGBA:
    r, g, b = colour
    return ColorRGBA(r=r, g=g, b=b, a=1.0)
