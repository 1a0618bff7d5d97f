# SPDX-License-Identifier: Apache-2.0
"""The normal between a cylinder and another piece, exact up to rounding.

GJK finds a distance to rounding, and therefore the normal at a curved surface only to the square
root of rounding: its corners there are neighbours on a rim, and the perpendicular of their chord
is as inaccurate as their positions, relative to the chord's length. One Newton step from GJK's
nearest points, in the angles around the axes of the cylinders, uses the rim itself.

The nearest points may slide along flat directions: an edge or a face of a hull, the axis of a
cylinder if the simplex has corners of both its ends, and its flat end if the point is not on the
rim. Two flat directions determine the normal at once; otherwise one is projected out. Candidates
for the edges of a hull are first those between corners of the simplex, which may miss one edge of
a face, then those in the plane across the separation, which may be too many. The normal along
which the pieces are separated farthest is used.
"""

from __future__ import annotations

from ..kernels.jit import inline_kernel, kernel
from ..maths.rotations import Array, Frame, from_axes
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from .gjk import corner_of, support, support_of_other
from .records import CYLINDER, WIDTH, Record

ON_RIM = 1e-6  # a point this near to a cylinder's wall, relative to the radius, is on it
PARALLEL = 1e-12  # squared sine of the angle between directions that count as parallel
IN_FACE = 1e-10  # squared sine of the angle between an edge and a plane that contains it
SHORTEST_EDGE = 1e-12  # [m^2] shorter edges, squared, have no direction
SEPARATED = 1e-15  # [m] gaps that differ less are equal
# [rad] Larger rotations are ignored: all points of a rim may be equally far along the normal.
MAX_ROTATION = 1e-3
NONE = 0.0, 0.0, 0.0
OWN = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0


@kernel
def sharpen(
    model: Record, corners: Record, state: Record, lanes: Record, i: int, j: int, frame: Frame
) -> None:
    """Correct `state.toward` and `state.witness` of a pair that GJK found to be apart.

    The arguments are those of `gjk.between`, which must have run right before.
    """
    toward, witness = state.toward, state.witness
    separation = toward[0], toward[1], toward[2]
    best = _gap(model, corners, state, lanes, i, j, frame, separation) - SEPARATED
    for has_faces in range(2):
        start, exact = _nearest(model, state, i, j, frame, has_faces == 1)
        gap = _gap(model, corners, state, lanes, i, j, frame, exact)
        if gap > best:
            best = gap
            for c in range(3):
                toward[c] = exact[c]
                witness[c], witness[3 + c] = start[c], start[c] + exact[c]
        if gap > norm(exact) - SEPARATED:
            break  # no plane separates them farther


@kernel
def _nearest(
    model: Record, state: Record, i: int, j: int, frame: Frame, has_faces: bool
) -> tuple[Vector, Vector]:
    """The nearest point of piece i, and the vector from it to that of piece j.

    has_faces : True: flat directions of hulls are those of their faces, see `_flat_directions`
    """
    witness = state.witness
    a, b = (witness[0], witness[1], witness[2]), (witness[3], witness[4], witness[5])
    separation = minus(b, a)
    radius_a, arm_a, around_a, flat_a, other_a = _flat_directions(
        model, state, i, 3, OWN, a, separation, has_faces
    )
    radius_b, arm_b, around_b, flat_b, other_b = _flat_directions(
        model, state, j, 6, frame, b, separation, has_faces
    )
    is_flat_of_a = dot(flat_a, flat_a) > 0.0
    flat = flat_a if is_flat_of_a else flat_b
    for k, other in enumerate((flat_b, other_b, other_a)):
        normal = cross(flat, other)
        size = dot(normal, normal)
        if size > PARALLEL * dot(flat, flat) * dot(other, other):
            a = _sum(a, _turned(radius_a, arm_a, around_a, normal))
            b = _sum(b, _turned(radius_b, arm_b, around_b, normal))
            exact = times(dot(normal, minus(b, a)) / size, normal)
            slid = minus(minus(b, a), exact)
            if k == 2:  # both flat directions are those of a
                a = _sum(a, slid)
            elif is_flat_of_a:
                a = _sum(a, times(dot(cross(slid, other), normal) / size, flat))
            return a, exact
    across = _across(separation, flat)
    turning_a, turning_b = _across(around_a, flat), _across(around_b, flat)
    # gradient and Hessian of half the squared separation with respect to the two angles
    slope_a, slope_b = -radius_a * dot(turning_a, across), radius_b * dot(turning_b, across)
    bend_a = radius_a * (radius_a * dot(turning_a, turning_a) + dot(arm_a, across))
    bend_b = radius_b * (radius_b * dot(turning_b, turning_b) - dot(arm_b, across))
    both = -radius_a * radius_b * dot(turning_a, turning_b)
    bend_a, bend_b = bend_a if radius_a > 0.0 else 1.0, bend_b if radius_b > 0.0 else 1.0
    size = bend_a * bend_b - both * both
    if not (bend_a > 0.0 and size > PARALLEL * bend_a * bend_b):
        return a, separation
    turn_a = radius_a * (both * slope_b - bend_b * slope_a) / size
    turn_b = radius_b * (both * slope_a - bend_a * slope_b) / size
    exact = _sum(across, minus(times(turn_b, turning_b), times(turn_a, turning_a)))
    if is_flat_of_a:  # its point slides along with that of b
        return minus(_sum(b, times(turn_b, around_b)), exact), exact
    return _sum(a, times(turn_a, around_a)), exact


@kernel
def _gap(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    i: int,
    j: int,
    frame: Frame,
    direction: Vector,
) -> float:
    """The gap [m] between the pieces along a direction; at most their distance."""
    length = norm(direction)
    if not length > 0.0:
        return -1.0
    normal = times(1.0 / length, direction)
    a = support(model, corners, state, lanes, i, normal)
    b = support_of_other(model, corners, state, lanes, j, frame, times(-1.0, normal))
    return dot(minus(b, a), normal)


@inline_kernel
def _turned(radius: float, arm: Vector, around: Vector, normal: Vector) -> Vector:
    """Displacement along a rim to the point that is farthest along a normal, or nearest."""
    off, height = dot(normal, around), dot(normal, arm)
    return times(radius * off / height, around) if abs(off) < MAX_ROTATION * abs(height) else NONE


@kernel
def _flat_directions(
    model: Record,
    state: Record,
    i: int,
    first: int,
    frame: Frame,
    point: Vector,
    separation: Vector,
    has_faces: bool,
) -> tuple[float, Vector, Vector, Vector, Vector]:
    """The directions in which the nearest point of a piece is free to move.

    first : column of the piece's points in the simplex
    frame : of the piece's body
    has_faces : True: flat directions of hulls lead to corners in the plane across the separation;
        False: they are the edges of the simplex

    Returns the radius of a rim and unit vectors from its axis to the point and along the rim
    (radius 0: no rim); and two flat directions, zero if there are none.
    """
    simplex = state.simplex
    if model.kind[i] != CYLINDER:
        if has_faces:
            flat = _edge(model, i, frame, point, separation, NONE)
            is_flat = dot(flat, flat) > 0.0
            other = _edge(model, i, frame, point, separation, flat) if is_flat else NONE
            return 0.0, NONE, NONE, flat, other
        flat, other, origin = NONE, NONE, _point(simplex, 0, first)
        for k in range(1, state.count):
            edge = minus(_point(simplex, k, first), origin)
            if dot(edge, edge) > 0.0:
                if dot(flat, flat) > 0.0:
                    other = edge
                else:
                    flat = edge
        return 0.0, NONE, NONE, flat, other
    start = model.span[i, 0]
    along = from_axes(frame, corner_of(model, start, 2))
    middle = times(0.5, _sum(corner_of(model, start, 0), corner_of(model, start, 1)))
    middle = _placed(frame, middle)
    arm = _across(minus(point, middle), along)
    length = norm(arm)
    if length < (1.0 - ON_RIM) * model.radius[i]:
        # on a flat end: any two directions perpendicular to the axis
        flat = cross(along, (1.0, 0.0, 0.0) if abs(along[0]) < 0.5 else (0.0, 1.0, 0.0))
        return 0.0, NONE, NONE, flat, cross(along, flat)
    ends = 0
    for k in range(state.count):
        ends |= 2 if dot(minus(_point(simplex, k, first), middle), along) > 0.0 else 1
    arm = times(1.0 / length, arm)
    return model.radius[i], arm, cross(along, arm), along if ends == 3 else NONE, NONE


@kernel
def _edge(
    model: Record, i: int, frame: Frame, point: Vector, separation: Vector, flat: Vector
) -> Vector:
    """Return the vector from a point of a hull to a corner of the face it is on; zero without one.

    The face is perpendicular to the separation. The corner is the one farthest from the line
    through the point along `flat`.
    """
    found, farthest, straight = NONE, SHORTEST_EDGE, dot(separation, separation)
    start = model.span[i, 0]
    for k in range(WIDTH * (model.span[i, 1] - start)):
        edge = minus(_placed(frame, corner_of(model, start, k)), point)
        height, off = dot(edge, separation), _across(edge, flat)
        distance = dot(off, off)
        if distance > farthest and height * height < IN_FACE * straight * dot(edge, edge):
            found, farthest = edge, distance
    return found


@inline_kernel
def _placed(frame: Frame, point: Vector) -> Vector:
    return _sum(from_axes(frame, point), (frame[9], frame[10], frame[11]))


@inline_kernel
def _sum(v: Vector, w: Vector) -> Vector:
    return v[0] + w[0], v[1] + w[1], v[2] + w[2]


@inline_kernel
def _across(v: Vector, direction: Vector) -> Vector:
    """The component of v perpendicular to a direction; v itself if that is zero."""
    square = dot(direction, direction)
    return minus(v, times(dot(v, direction) / square, direction)) if square > 0.0 else v


@inline_kernel
def _point(simplex: Array, k: int, first: int) -> Vector:
    return simplex[k, first], simplex[k, first + 1], simplex[k, first + 2]
