# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz of links that are near each other, and of those that collide.

A line joins the nearest points of each pair, with the distance of the nearest one as text; links
that collide are covered in red. All is found in a thread beside the ticks, while somebody listens.
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
from .goals_and_solution import Look

PERIOD = 0.2  # [s] between two looks
REACH = 0.1  # [m] pairs that are nearer are shown
LINE_WIDTH, TEXT_HEIGHT = 0.004, 0.03
RED, ORANGE, GREEN, WHITE = (
    (1.0, 0.1, 0.1, 1.0), (1.0, 0.6, 0.0, 1.0), (0.2, 0.8, 0.2, 1.0), (1.0, 1.0, 1.0, 1.0),
)  # fmt: skip
COVER = (1.0, 0.1, 0.1, 0.5)
NEAR = 0.3  # share of REACH below which a pair is orange


class CollisionMarkers:
    """Publishes ~/collision_markers. `look` gives what is moved, None for nothing."""

    def __init__(
        self, node: Node, health: Diagnostics, look: Look, collisions: KnownCollisions
    ) -> None:
        self._node, self._health, self._look, self._known = node, health, look, collisions
        self._publisher = node.create_publisher(MarkerArray, '~/collision_markers', 1)
        self._job: Job[list[Marker]] | None = None
        self._model: Model | None = None
        self._refused: Model | None = None

    def follow(self) -> None:
        """Publish what was found since the last look, and look again; every PERIOD."""
        model, _ = self._look()
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
        """Take the markers away, if there are any."""
        if self._model is not None:
            self._model = self._job = None
            self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))

    def _publish(self, job: Job[list[Marker]], model: Model) -> None:
        try:
            found = job.result()
        except Exception as error:  # once for each robot: the next look would end the same way
            self._refused = model
            self._health.warn('collision_markers', f'~/collision_markers: {explanation(error)}')
            return
        stamp = self._node.get_clock().now().to_msg()
        for k, marker in enumerate(found):
            marker.header.frame_id, marker.header.stamp = model.root_frame, stamp
            marker.id = k
        self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL), *found]))


def markers(collisions: Collisions, q: Array) -> Iterator[Marker]:
    """Markers in the root link's frame for a robot at q (n,)."""
    pairs = collisions.distances(q, REACH)
    if pairs:
        yield _lines(pairs)
        yield _text(pairs[0])
    colliding = {link for pair in pairs if pair.distance <= pair.margin for link in _links(pair)}
    robot = collisions.robot
    for piece in collisions.pieces:
        if piece.link in colliding:
            yield from _cover(piece, robot.forward_kinematics(q, piece.link))


def _links(pair: PairDistance) -> tuple[str, str]:
    return pair.first, pair.second


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
    """The names and the distance of a pair, above the middle of its line."""
    text = f'{pair.first} - {pair.second}: {1e3 * pair.distance:.1f} mm'
    marker = Marker(ns='nearest', type=Marker.TEXT_VIEW_FACING, color=_rgba(WHITE), text=text)
    marker.scale.z = TEXT_HEIGHT
    x, y, z = pair.points.mean(axis=0)
    marker.pose.position = Point(x=x, y=y, z=z + 1.5 * TEXT_HEIGHT)
    return marker


def _cover(piece: Piece, link: Array) -> Iterator[Marker]:
    """A piece of a link whose frame is `link` (4, 4)."""
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
