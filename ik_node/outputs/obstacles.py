# SPDX-License-Identifier: Apache-2.0
"""The topic ~/obstacles, for RViz: markers of the obstacles that the motion avoids.

Obstacles that a link carries are in that link's frame and move with it. Latched; published on
changes. A plane is drawn as a thin square.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from geometry_msgs.msg import Point
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ik_core import Collisions
from ik_core.collision import Box, Capsule, Convex, Cylinder, Plane, Sphere
from ik_core.collision.cutting import hull_triangles
from ik_core.collision.world import Obstacle
from ik_core.maths.rotations import Array

from ..conversions import transform_to_pose
from ..robot_model import Model
from .goals_and_solution import Current

PURPLE = ColorRGBA(r=0.5, g=0.35, b=0.7, a=0.6)
PLANE_SIZE, PLANE_HEIGHT = 5.0, 0.001  # [m] of the square


class Obstacles:
    """Publishes ~/obstacles. `current` returns the robot model that is moved, or None."""

    def __init__(self, node: Node, current: Current) -> None:
        self._node, self._current = node, current
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._publisher = node.create_publisher(MarkerArray, '~/obstacles', latched)
        self._published: Collisions | None = None  # its world never changes

    def follow(self) -> None:
        """Publish the obstacles if they have changed; called periodically."""
        model, _ = self._current()
        clearance = None if model is None else model.governor.clearance
        now = None if clearance is None else clearance.collisions
        if now is self._published:
            return
        self._published = now
        found = [] if model is None or now is None else list(markers(now, model))
        stamp = self._node.get_clock().now().to_msg()
        for k, marker in enumerate(found):
            marker.id, marker.header.stamp, marker.color = k, stamp, PURPLE
        self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL), *found]))


def markers(collisions: Collisions, model: Model) -> Iterator[Marker]:
    """Yield the markers of a world's obstacles; their namespaces are the names."""
    prefix = model.parameters.node.frame_prefix
    for obstacle in collisions.world:
        for marker in _markers_of(obstacle):
            marker.ns, marker.frame_locked = obstacle.name, obstacle.link is not None
            marker.header.frame_id = (
                model.root_frame if obstacle.link is None else prefix + obstacle.link
            )
            yield marker


def _markers_of(obstacle: Obstacle) -> Iterator[Marker]:
    pose = obstacle.pose
    match obstacle.shape:
        case Box((x, y, z)):
            yield _solid(Marker.CUBE, pose, x, y, z)
        case Sphere(radius):
            yield _solid(Marker.SPHERE, pose, 2.0 * radius, 2.0 * radius, 2.0 * radius)
        case Cylinder(radius, length):
            yield _solid(Marker.CYLINDER, pose, 2.0 * radius, 2.0 * radius, length)
        case Capsule(radius, length):
            yield _solid(Marker.CYLINDER, pose, 2.0 * radius, 2.0 * radius, length)
            for z in (-0.5 * length, 0.5 * length):
                end = _shifted(pose, z)
                yield _solid(Marker.SPHERE, end, 2.0 * radius, 2.0 * radius, 2.0 * radius)
        case Convex(points):
            marker = _solid(Marker.TRIANGLE_LIST, pose, 1.0, 1.0, 1.0)
            corners = hull_triangles(points).reshape(-1, 3).tolist()
            marker.points = [Point(x=x, y=y, z=z) for x, y, z in corners]
            yield marker
        case Plane():
            top = _shifted(pose, -0.5 * PLANE_HEIGHT)
            yield _solid(Marker.CUBE, top, PLANE_SIZE, PLANE_SIZE, PLANE_HEIGHT)


def _shifted(pose: Array, z: float) -> Array:
    """Return a pose (4, 4) that is moved along its z axis."""
    shift = np.eye(4)
    shift[2, 3] = z
    return pose @ shift


def _solid(kind: int, pose: Array, x: float, y: float, z: float) -> Marker:
    marker = Marker(type=kind, pose=transform_to_pose(pose))
    marker.scale.x, marker.scale.y, marker.scale.z = x, y, z
    return marker
