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
LARGEST = 1e-6
"""[m] A larger correction says that the corners are no neighbours."""
TURN = 1e-3
"""[rad] The largest turn that is taken: all of a rim may be as far along the normal."""
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
            if k == 2:  # both directions are those of a
                a = _sum(a, slid)
            elif is_flat_of_a:
                a = _sum(a, times(dot(cross(slid, other), normal) / size, flat))
            _take(state, way, a, exact)
            return
    across = _across(way, flat)
    turning_a, turning_b = _across(around_a, flat), _across(around_b, flat)
    # half the square of the way's length: its derivatives by the angles, and their matrix
    slope_a, slope_b = -radius_a * dot(turning_a, across), radius_b * dot(turning_b, across)
    bend_a = radius_a * (radius_a * dot(turning_a, turning_a) + dot(arm_a, across))
    bend_b = radius_b * (radius_b * dot(turning_b, turning_b) - dot(arm_b, across))
    both = -radius_a * radius_b * dot(turning_a, turning_b)
    bend_a, bend_b = bend_a if radius_a > 0.0 else 1.0, bend_b if radius_b > 0.0 else 1.0
    size = bend_a * bend_b - both * both
    if bend_a > 0.0 and size > PARALLEL * bend_a * bend_b:
        turn_a = radius_a * (both * slope_b - bend_b * slope_a) / size
        turn_b = radius_b * (both * slope_a - bend_a * slope_b) / size
        exact = _sum(across, minus(times(turn_b, turning_b), times(turn_a, turning_a)))
        if is_flat_of_a:  # its point slides to where the other one turns
            a = minus(_sum(b, times(turn_b, around_b)), exact)
        else:
            a = _sum(a, times(turn_a, around_a))
        _take(state, way, a, exact)


@inlined
def _turned(radius: float, arm: Vector, around: Vector, normal: Vector) -> Vector:
    """The way along a rim to the point that is farthest along a normal, or nearest."""
    off, height = dot(normal, around), dot(normal, arm)
    return times(radius * off / height, around) if abs(off) < TURN * abs(height) else NONE


@inlined
def _take(state: Record, way: Vector, start: Vector, exact: Vector) -> None:
    """Take a way between the nearest points and its start, unless it is no small correction."""
    if norm(minus(exact, way)) < LARGEST:
        for c in range(3):
            state.toward[c] = exact[c]
            state.witness[c], state.witness[3 + c] = start[c], start[c] + exact[c]


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
    return times(0.5, _sum(lower, upper)), corner_of(model, first, 2)


@inner
def _axis_of_other(model: Record, j: int, frame: Frame) -> tuple[Vector, Vector]:
    """The same of a piece on a body whose frame is given, in the frame that it is given in."""
    middle, along = _own_axis(model, j)
    origin = frame[9], frame[10], frame[11]
    return _sum(from_axes(frame, middle), origin), from_axes(frame, along)


@inlined
def _sum(v: Vector, w: Vector) -> Vector:
    return v[0] + w[0], v[1] + w[1], v[2] + w[2]


@inlined
def _across(v: Vector, direction: Vector) -> Vector:
    """The component of v across a direction; v itself if that is zero."""
    square = dot(direction, direction)
    return minus(v, times(dot(v, direction) / square, direction)) if square > 0.0 else v


@inlined
def _point(simplex: Array, k: int, first: int) -> Vector:
    return simplex[k, first], simplex[k, first + 1], simplex[k, first + 2]
