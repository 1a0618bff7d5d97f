# SPDX-License-Identifier: Apache-2.0
"""Kernels of reach cones: spherical polygons, and the angle from a direction to their boundary.

A polygon is star-shaped: all of it is visible from an inner direction v. Its corners b_i go round
v counterclockwise, and

    edge i      the arc from b_i to b_i+1, in the plane with the normal n_i ~ b_i x b_i+1
    slice i     the triangle v, b_i, b_i+1 [WilhelmsVanGelder2001]

A direction d is between the planes v b_i and v b_i+1 of one slice; it is inside if n_i . d >= 0.
If the polygon is convex at a corner of that slice, the edge on the other side of the corner bounds
d as well: its plane cuts nothing off this slice.
"""

from __future__ import annotations

import math
from typing import Any

from ..kernels.jit import inline_kernel, kernel
from ..kernels.records import FLOAT, INT, Layout
from ..kernels.signatures import Array2
from ..maths.lanes import angle_of
from ..maths.rotations import Array, frame_at, from_axes
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from .kinematics import KIND, PARENT, PRISMATIC, VARIABLE, body_frames, joint_axis

# columns of `edges`: b_i; v x b_i; n_i; 1 if the polygon is convex at b_i, else 0
CORNER, SIDE, NORMAL, CONVEX = 0, 3, 6, 9
EDGE_COLUMNS = 10
SHORT = 1e-9  # directions count as parallel if the sine of their angle is smaller
SINE_ROUNDING = 1e-12  # a direction this far outside [sine] is reported as inside
INWARD = 3  # most edges that bound a direction: that of its slice, and the one to either side

CONES = Layout(
    'reach_cones',
    ('cones', 'cone_bodies', 'edge_rows', 'robot_joints'),
    span=(INT, 'cones', 2),  # rows of `edges`: the first, and the one after the last
    body=(INT, 'cones'),  # row of `tree` that carries the direction
    axis=(FLOAT, 'cones', 3),  # the direction, in the frame of that body
    edges=(FLOAT, 'edge_rows', EDGE_COLUMNS),
    tree=(INT, 'cone_bodies', 3),  # chains from each cone's link, as in `kinematics`
    geometry=(FLOAT, 'cone_bodies', 14),
    frames=(FLOAT, 'cone_bodies', 12),
    slopes=(FLOAT, 'robot_joints'),  # derivative of the height above an edge
)
cones_at = CONES.vector_view()


# --- polygons ------------------------------------------------------------------------------------


@kernel
def _vector(edges: Array, i: int, column: int) -> Vector:
    return edges[i, column], edges[i, column + 1], edges[i, column + 2]


@kernel
def _slice_of(edges: Array, first: int, last: int, d: Vector) -> int:
    """The slice whose planes enclose d; arbitrary for the direction opposite to v."""
    for i in range(first, last):
        after = i + 1 if i + 1 < last else first
        if dot(_vector(edges, i, SIDE), d) >= 0.0 and dot(_vector(edges, after, SIDE), d) < 0.0:
            return i
    return first


@kernel
def _height(edges: Array, i: int, d: Vector) -> float:
    """The angle of d above the plane of an edge [rad]; negative below it."""
    sine = max(-1.0, min(1.0, dot(_vector(edges, i, NORMAL), d)))
    return float(angle_of(math.sqrt(1.0 - sine * sine), sine))


@kernel
def _uphill(normal: Vector, d: Vector) -> Vector:
    """The derivative of the angle of d above a plane with respect to d."""
    cosine = norm(cross(normal, d))
    return times(1.0 / max(cosine, SHORT), normal)


@kernel
def _beyond(edges: Array, first: int, last: int, d: Vector) -> tuple[float, Vector, int]:
    """Return the angle [rad] from d, a direction outside, to the polygon, with its derivative and
    the nearest corner.

    The corner is -1 if the nearest direction is on an edge.
    """
    nearest, slope, corner = math.pi, (0.0, 0.0, 0.0), -1
    for i in range(first, last):
        after = i + 1 if i + 1 < last else first
        a, b, n = (
            _vector(edges, i, CORNER),
            _vector(edges, after, CORNER),
            _vector(edges, i, NORMAL),
        )
        below = -_height(edges, i, d)
        is_beside = dot(cross(n, a), d) >= 0.0 and dot(cross(b, n), d) >= 0.0
        if is_beside and 0.0 <= below < nearest:
            nearest, slope, corner = below, times(-1.0, _uphill(n, d)), -1
        cosine, sine = dot(a, d), norm(cross(a, d))
        angle = float(angle_of(cosine, sine))
        if angle < nearest:
            slope = times(-1.0 / max(sine, SHORT), minus(a, times(cosine, d)))
            nearest, corner = angle, i
    return nearest, slope, corner


@kernel
def _outside(edges: Array, first: int, last: int, d: Vector) -> tuple[float, Vector]:
    """Angle [rad] from d to the polygon and its derivative; zeros inside."""
    if dot(_vector(edges, _slice_of(edges, first, last, d), NORMAL), d) >= -SINE_ROUNDING:
        return 0.0, (0.0, 0.0, 0.0)
    angle, slope, _ = _beyond(edges, first, last, d)
    return angle, slope


@kernel(entry='ik_cone_outside')
def outside(edges: Array2, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """The angle [rad] from (x, y, z) of length 1 to the polygon, and its derivative; 0 inside."""
    angle, slope = _outside(edges, 0, edges.shape[0], (x, y, z))
    return angle, slope[0], slope[1], slope[2]


# --- a search's cones ----------------------------------------------------------------------------


@inline_kernel
def place_cones(cones: Any, q: Array) -> None:
    """Compute the frames of all cones' links at q (n,)."""
    body_frames(cones.tree, cones.geometry, q, cones.frames)


@kernel
def _direction(cones: Any, k: int) -> Vector:
    """The direction of cone k in the frame of the link that the cone is fixed to."""
    axis = cones.axis[k, 0], cones.axis[k, 1], cones.axis[k, 2]
    return from_axes(frame_at(cones.frames, cones.body[k]), axis)


@kernel
def farthest_out(cones: Any) -> float:
    """The largest angle of a direction beyond its cone [rad]; 0 if all are inside."""
    worst = 0.0
    for k in range(cones.body.shape[0]):
        angle, _ = _outside(cones.edges, cones.span[k, 0], cones.span[k, 1], _direction(cones, k))
        worst = max(worst, angle)
    return worst


@kernel
def are_inside(cones: Any) -> bool:
    """Return whether all directions are inside their cones."""
    for k in range(cones.body.shape[0]):
        d = _direction(cones, k)
        i = _slice_of(cones.edges, cones.span[k, 0], cones.span[k, 1], d)
        if dot(_vector(cones.edges, i, NORMAL), d) < 0.0:
            return False
    return True


@kernel
def height_above(cones: Any, k: int, side: int, nothing: float) -> float:
    """The angle [rad] of the direction of cone k above an edge; its derivative goes to `slopes`.

    side : 0 for the edge of the direction's slice, -1 for the edge before, 1 for the edge after
    nothing : the value to return if that edge does not bound the direction

    Outside the cone, side 0 is minus the angle to the nearest direction inside, and the other two
    sides are the edges that meet there, if that is at a corner.
    """
    edges, first, last = cones.edges, cones.span[k, 0], cones.span[k, 1]
    d = _direction(cones, k)
    i = _slice_of(edges, first, last, d)
    height, slope = _height(edges, i, d), _uphill(_vector(edges, i, NORMAL), d)
    before, after = (i if i > first else last) - 1, i + 1 if i + 1 < last else first
    has_before, has_after = edges[i, CONVEX] != 0.0, edges[after, CONVEX] != 0.0
    if height < 0.0:
        beyond, outwards, corner = _beyond(edges, first, last, d)
        height, slope = -beyond, times(-1.0, outwards)
        before, after = (corner if corner > first else last) - 1, corner
        has_before = has_after = corner >= 0
    if side != 0:
        if not (has_before if side < 0 else has_after):
            return nothing
        i = before if side < 0 else after
        height, slope = _height(edges, i, d), _uphill(_vector(edges, i, NORMAL), d)
    turn = cross(d, slope)
    for j in range(cones.slopes.shape[0]):
        cones.slopes[j] = 0.0
    body = cones.body[k]
    while body >= 0:
        if cones.tree[body, KIND] != PRISMATIC:
            axis = joint_axis(cones.geometry, cones.frames, body)
            cones.slopes[cones.tree[body, VARIABLE]] += dot(turn, axis)
        body = cones.tree[body, PARENT]
    return height
