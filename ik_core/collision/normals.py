"""The normal between a cylinder and another piece, exact up to rounding.

GJK knows a distance to rounding, and so the normal at a curved surface to the square root of it:
its corners there are neighbours on a rim, and the direction across their chord is no better than
the rounding of their positions, relative to the chord's length. One step of Newton from its
nearest points, in the angles around the axes of the cylinders, sees the rim itself.

What the simplex says: the nearest points are free to slide along the edges between its corners,
along the axis where corners are of both ends of a cylinder, and across the flat end where the
point is not on the rim. Two such directions give the normal at once; one is left out of all that
follows.
"""

from __future__ import annotations

from .._jit import inlined, inner
from ..maths.rotations import Array, Frame, from_axes
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from .gjk import corner_of
from .records import CYLINDER, Record

ON_RIM = 1e-6
"""A point of a cylinder this near to its wall is on it, relative to the radius."""
PARALLEL = 1e-12
"""Square of the sine of the angle between directions that count as one."""
SMALL = 1e-10
"""Square of the correction, relative to the way, above which the corners are no neighbours."""
NONE = 0.0, 0.0, 0.0


@inner
def sharpen(model: Record, state: Record, i: int, j: int, frame: Frame) -> None:
    """Correct `state.toward` and `state.witness` of a pair that GJK has found to be apart.

    The arguments are those of `gjk.between`, which must have ended right before.
    """
    witness = state.witness
    a, b = (witness[0], witness[1], witness[2]), (witness[3], witness[4], witness[5])
    way = minus(b, a)
    axis_a, axis_b = _own_axis(model, i), _axis_of_other(model, j, frame)
    radius_a, arm_a, around_a, flat_a, other_a = _freedom(model, state, i, 3, a, axis_a)
    radius_b, arm_b, around_b, flat_b, other_b = _freedom(model, state, j, 6, b, axis_b)
    flat = flat_a if dot(flat_a, flat_a) > 0.0 else flat_b
    for other in (other_a, flat_b, other_b):
        normal = cross(flat, other)
        size = dot(normal, normal)
        if size > PARALLEL * dot(flat, flat) * dot(other, other):
            _take(state, way, times(dot(normal, way) / size, normal))
            return
    around_a, around_b = _across(around_a, flat), _across(around_b, flat)
    across = _across(way, flat)
    # half the square of the way's length: its derivatives by the angles, and their matrix
    slope_a, slope_b = -radius_a * dot(around_a, across), radius_b * dot(around_b, across)
    bend_a = radius_a * (radius_a * dot(around_a, around_a) + dot(arm_a, across))
    bend_b = radius_b * (radius_b * dot(around_b, around_b) - dot(arm_b, across))
    both = -radius_a * radius_b * dot(around_a, around_b)
    bend_a, bend_b = bend_a if radius_a > 0.0 else 1.0, bend_b if radius_b > 0.0 else 1.0
    size = bend_a * bend_b - both * both
    if bend_a > 0.0 and size > PARALLEL * bend_a * bend_b:
        turn_a = radius_a * (both * slope_b - bend_b * slope_a) / size
        turn_b = radius_b * (both * slope_a - bend_a * slope_b) / size
        moved = minus(times(turn_a, around_a), times(turn_b, around_b))
        _take(state, way, minus(across, moved))


@inlined
def _take(state: Record, way: Vector, exact: Vector) -> None:
    """Take a way between the nearest points, unless it is no small correction."""
    off = minus(exact, way)
    if dot(off, off) < SMALL * dot(way, way):
        for c in range(3):
            state.toward[c] = exact[c]
            state.witness[3 + c] = state.witness[c] + exact[c]


@inner
def _freedom(
    model: Record, state: Record, i: int, first: int, point: Vector, axis: tuple[Vector, Vector]
) -> tuple[float, Vector, Vector, Vector, Vector]:
    """The freedom of the nearest point of a piece: radius, unit vectors from the axis to the point
    and around it (radius 0: no turn); two flat directions, zero where there is none.

    first : of the piece's points in the rows of the simplex
    axis : of a cylinder, its middle and direction
    """
    simplex = state.simplex
    if model.kind[i] != CYLINDER:
        flat, other, origin = NONE, NONE, _point(simplex, 0, first)
        for k in range(1, state.count):
            edge = minus(_point(simplex, k, first), origin)
            if dot(edge, edge) > 0.0:
                if dot(flat, flat) > 0.0:
                    other = edge
                else:
                    flat = edge
        return 0.0, NONE, NONE, flat, other
    middle, along = axis
    arm = _across(minus(point, middle), along)
    length = norm(arm)
    ends = 0
    for k in range(state.count):
        is_upper = dot(minus(_point(simplex, k, first), middle), along) > 0.0
        ends |= 2 if is_upper else 1
    if length < (1.0 - ON_RIM) * model.radius[i]:
        # on a flat end: any two directions across the axis
        flat = cross(along, (1.0, 0.0, 0.0) if abs(along[0]) < 0.5 else (0.0, 1.0, 0.0))
        return 0.0, NONE, NONE, flat, cross(along, flat)
    arm = times(1.0 / length, arm)
    return model.radius[i], arm, cross(along, arm), along if ends == 3 else NONE, NONE


@inlined
def _own_axis(model: Record, i: int) -> tuple[Vector, Vector]:
    """The middle and the unit direction of a cylinder's axis in the frame of its body."""
    first = model.span[i, 0]
    lower, upper = corner_of(model, first, 0), corner_of(model, first, 1)
    return times(0.5, minus(upper, times(-1.0, lower))), corner_of(model, first, 2)


@inner
def _axis_of_other(model: Record, j: int, frame: Frame) -> tuple[Vector, Vector]:
    """The same of a piece on a body whose frame is given, in the frame that it is given in."""
    middle, along = _own_axis(model, j)
    return minus(from_axes(frame, middle), (-frame[9], -frame[10], -frame[11])), from_axes(
        frame, along
    )


@inlined
def _across(v: Vector, direction: Vector) -> Vector:
    """The component of v across a direction; v itself if that is zero."""
    square = dot(direction, direction)
    return minus(v, times(dot(v, direction) / square, direction)) if square > 0.0 else v


@inlined
def _point(simplex: Array, k: int, first: int) -> Vector:
    return simplex[k, first], simplex[k, first + 1], simplex[k, first + 2]
