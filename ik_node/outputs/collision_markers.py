# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz of links that are close to each other or collide.

A line joins the nearest points of each pair of links; the closest pair also has its distance as
text. Colliding links are covered in red. A background thread computes the markers, while they have
subscribers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from geometry_msgs.msg import Point
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ik_core import Collisions
from ik_core.collision import PairDistance, Piece
from ik_core.jobs import Job
from ik_core.maths.rotations import Array, matrix_onto_axis

from ..conversions import transform_to_pose
from ..known_collisions import KnownCollisions
from ..robot_model import Model
from ..texts import explanation
from .diagnostics import Diagnostics
from .goals_and_solution import Current

PERIOD = 0.2  # [s] between two updates
REACH = 0.1  # [m] pairs at a smaller distance are shown
LINE_WIDTH, TEXT_HEIGHT = 0.004, 0.03
RED, ORANGE, GREEN, WHITE = (
    (1.0, 0.1, 0.1, 1.0), (1.0, 0.6, 0.0, 1.0), (0.2, 0.8, 0.2, 1.0), (1.0, 1.0, 1.0, 1.0),
)  # fmt: skip
COVER = (1.0, 0.1, 0.1, 0.5)
NEAR = 0.3  # fraction of REACH below which a pair is orange


class CollisionMarkers:
    """Publishes ~/collision_markers. `current` returns the robot model that is moved, or None."""

    def __init__(
        self, node: Node, health: Diagnostics, current: Current, collisions: KnownCollisions
    ) -> None:
        self._node, self._health, self._current, self._known = node, health, current, collisions
        self._publisher = node.create_publisher(MarkerArray, '~/collision_markers', 1)
        self._job: Job[list[Marker]] | None = None
        self._model: Model | None = None
        self._refused: Model | None = None

    def follow(self) -> None:
        """Publish the markers of the last job, and start the next one; called every PERIOD."""
        model, _ = self._current()
        if model is None or not self._publisher.get_subscription_count():
            self.clear()
            return
        if model is self._refused or (self._job is not None and not self._job.done):
            return
        job, self._job = self._job, None
        if job is not None and model is self._model:
            self._publish(job, model)
        self._model, q = model, model.q
        margin = model.parameters.node.collision_margin
        self._job = Job(lambda: list(markers(self._known.of(model.robot, margin), q)))

    def clear(self) -> None:
        """Remove the markers, if there are any."""
        if self._model is not None:
            self._model = self._job = None
            self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))

    def _publish(self, job: Job[list[Marker]], model: Model) -> None:
        try:
            found = job.result()
        except Exception as error:  # warned once per robot: the next job would fail, too
            self._refused = model
            self._health.warn('collision_markers', f'~/collision_markers: {explanation(error)}')
            return
        stamp = self._node.get_clock().now().to_msg()
        for k, marker in enumerate(found):
            marker.header.frame_id, marker.header.stamp = model.root_frame, stamp
            marker.id = k
        self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL), *found]))


def markers(collisions: Collisions, q: Array) -> Iterator[Marker]:
    """Yield the markers of a robot at q (n,), in the root link's frame."""
    pairs = collisions.distances(q, REACH)
    if pairs:
        yield _lines(pairs)
        yield _text(pairs[0])
    touching = [pair for pair in pairs if pair.distance <= pair.margin]
    colliding = {link for pair in touching for link in (pair.first, pair.second)}
    robot = collisions.robot
    for piece in collisions.pieces:
        if piece.link in colliding:
            yield from _cover(piece, robot.forward_kinematics(q, piece.link))


def _lines(pairs: Sequence[PairDistance]) -> Marker:
    marker = Marker(ns='distances', type=Marker.LINE_LIST)
    marker.scale.x = LINE_WIDTH
    for pair in pairs:
        is_near = pair.distance < NEAR * REACH
        colour = RED if pair.distance <= pair.margin else ORANGE if is_near else GREEN
        marker.points += [_point(point) for point in pair.points]
        marker.colors += [_rgba(colour), _rgba(colour)]
    return marker


def _text(pair: PairDistance) -> Marker:
    """Return a text marker of a pair's names and distance, above the middle of its line."""
    text = f'{pair.first} - {pair.second}: {1e3 * pair.distance:.1f} mm'
    marker = Marker(ns='nearest', type=Marker.TEXT_VIEW_FACING, color=_rgba(WHITE), text=text)
    marker.scale.z = TEXT_HEIGHT
    x, y, z = pair.points.mean(axis=0)
    marker.pose.position = Point(x=x, y=y, z=z + 1.5 * TEXT_HEIGHT)
    return marker


def _cover(piece: Piece, link: Array) -> Iterator[Marker]:
    """Yield markers that cover a piece of a link; `link` is the link's pose (4, 4)."""
    if piece.kind in ('box', 'hull'):
        marker = Marker(ns='colliding', type=Marker.TRIANGLE_LIST, color=_rgba(COVER))
        marker.pose = transform_to_pose(link)
        marker.scale.x = marker.scale.y = marker.scale.z = 1.0
        marker.points = [_point(corner) for corner in piece.triangles().reshape(-1, 3)]
        yield marker
        return
    if piece.round:
        for end in piece.corners:
            yield _solid(Marker.SPHERE, link, end, np.eye(3), [2.0 * piece.radius] * 3)
    if len(piece.corners) == 2:
        start, end = piece.corners
        length = float(np.linalg.norm(end - start))
        sizes = [2.0 * piece.radius, 2.0 * piece.radius, length]
        turn = matrix_onto_axis((end - start) / length)
        yield _solid(Marker.CYLINDER, link, 0.5 * (start + end), turn, sizes)


def _solid(kind: int, link: Array, centre: Array, turn: Array, sizes: Sequence[float]) -> Marker:
    marker, pose = Marker(ns='colliding', type=kind, color=_rgba(COVER)), np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, centre
    marker.pose = transform_to_pose(link @ pose)
    marker.scale.x, marker.scale.y, marker.scale.z = sizes
    return marker


def _point(position: Array) -> Point:
    x, y, z = position.tolist()
    return Point(x=x, y=y, z=z)


def _rgba(colour: tuple[float, float, float, float]) -> ColorRGBA:
    r, g, b, a = colour
    return ColorRGBA(r=r, g=g, b=b, a=a)
