# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of distances, in lanes: by spheres, then by capsules and boxes.

Each lane is a configuration. A test is skipped if no lane needs it. `GUARD` covers rounding, so
that no bound exceeds the distance of the two pieces.
"""

from __future__ import annotations

from ..kernels.jit import inline_kernel, kernel
from ..maths.lanes import Number, bits, least, most, root, select
from ..maths.rotations import Array, Frame, frame_at, from_axes
from ..maths.vectors import Vector, dot, minus
from ..robot.kinematics import OFFSET, place_bodies, set_angles
from .records import BOUND, BOX, CAPSULES, FIRST, SECOND, Record

GUARD = 1e-9  # [m] more than the rounding errors in a bound, for a robot of up to 1e3 m
# to the point of a capsule's axis nearest to a box: any number gives a bound
AXIS_NEWTON_STEPS = 3
FAR = 1e300
SMALLEST_SQUARE = 1e-30
PARALLEL = 1e-12  # squared sine of the angle below which two segments are parallel


@kernel
def place_pieces(model: Record, state: Record) -> None:
    """Write the frames of all bodies at the configurations `state.q`, and the spheres and capsules
    of all moving pieces, in the root link's frame."""
    place_frames(model, state)
    sphere, capsule, centre, ends = model.sphere, model.capsule, state.centre, state.ends
    for i in range(model.moving):
        frame = frame_at(state.frames, model.body[i])
        x, y, z = _point(frame, sphere, i, 0)
        centre[i, 0], centre[i, 1], centre[i, 2] = x, y, z
        x, y, z = _point(frame, capsule, i, 0)
        ends[i, 0], ends[i, 1], ends[i, 2] = x, y, z
        x, y, z = _point(frame, capsule, i, 3)
        ends[i, 3], ends[i, 4], ends[i, 5] = x, y, z


@kernel
def place_frames(model: Record, state: Record) -> None:
    """Write the frames of all bodies at the configurations `state.q`."""
    tree, geometry = model.tree, model.geometry
    angle, cosine, sine = state.angle, state.cosine, state.sine
    set_angles(tree, geometry, geometry[:, OFFSET], state.q, angle, cosine, sine)
    place_bodies(tree, geometry, angle, cosine, sine, state.frames[1:])


@inline_kernel
def _point(frame: Frame, points: Array, i: int, first: int) -> tuple[Number, Number, Number]:
    """Point i of a body, columns first to first + 2, in the root link's frame."""
    x, y, z = from_axes(frame, (points[i, first], points[i, first + 1], points[i, first + 2]))
    return x + frame[9], y + frame[10], z + frame[11]


@kernel
def bound_pairs(model: Record, state: Record, reach: float) -> int:
    """Find the pairs that may be nearer than their margin, or than `reach` [m], in any lane.

    Fills `near`, `lanes` and, for these pairs, `bound`; returns their number.
    """
    count = 0
    for k in range(model.pairs.shape[0]):
        mask = bound_pair(model, state, k, max(model.margin[k], reach))
        if mask != 0:
            state.near[count], state.lanes[count] = k, mask
            count += 1
    return count


@inline_kernel
def bound_pair(model: Record, state: Record, k: int, margin: Number) -> int:
    """Return the lanes, as bits, in which pair k may be at most `margin` [m] apart.

    Fills `bound` unless the pieces' spheres are farther apart than that in all lanes.
    """
    sphere, capsule, centre = model.sphere, model.capsule, state.centre
    i, j, kind = model.pairs[k, FIRST], model.pairs[k, SECOND], model.pairs[k, BOUND]
    at = centre[i, 0], centre[i, 1], centre[i, 2]
    gap = minus(at, (centre[j, 0], centre[j, 1], centre[j, 2]))
    far = sphere[i, 3] + sphere[j, 3] + (margin + GUARD)
    if bits(dot(gap, gap) <= far * far) == 0:
        return 0
    start, axis = _start(state, i), _axis(state, i)
    if kind == CAPSULES:
        bound = _between_segments(start, axis, _start(state, j), _axis(state, j))
        bound = bound - capsule[j, 6]
    elif kind == BOX:
        x, y, z = _off_box(model.box, j, _in_box(model.box, j, at))
        far = sphere[i, 3] + (margin + GUARD)
        if bits(x * x + y * y + z * z <= far * far) == 0:
            return 0
        bound = _to_box(model.box, j, start, axis)
        bound = select(bound > 0.0, bound, -FAR)  # 0: inside the box, to an unknown depth
    else:
        low = _height(model.box, j, start)
        bound = least(low, low + _rise(model.box, j, axis))
    bound = bound - (capsule[i, 6] + GUARD)
    state.bound[k] = bound
    return bits(bound <= margin)


@inline_kernel
def _start(state: Record, i: int) -> Vector:
    """The first end of a capsule."""
    return state.ends[i, 0], state.ends[i, 1], state.ends[i, 2]


@inline_kernel
def _axis(state: Record, i: int) -> Vector:
    """The vector from the first end of a capsule to the second."""
    ends = state.ends
    return ends[i, 3] - ends[i, 0], ends[i, 4] - ends[i, 1], ends[i, 5] - ends[i, 2]


@inline_kernel
def _off_box(box: Array, j: int, point: Vector) -> Vector:
    """The vector from the nearest point of a box to a point, in the box's frame."""
    x, y, z = point
    hx, hy, hz = box[j, 12], box[j, 13], box[j, 14]
    return (
        x - least(most(x, -hx), hx),
        y - least(most(y, -hy), hy),
        z - least(most(z, -hz), hz),
    )


@inline_kernel
def _between_segments(a: Vector, d: Vector, b: Vector, e: Vector) -> Number:
    """The distance of the segments a + s d and b + t e, s and t in 0..1 [Ericson2005] 5.1.9."""
    r = minus(a, b)
    dd, ee, de, dr, er = dot(d, d), dot(e, e), dot(d, e), dot(d, r), dot(e, r)
    sine = dd * ee - de * de
    s = select(
        sine > PARALLEL * dd * ee, (de * er - dr * ee) / most(sine, SMALLEST_SQUARE), 0.0 * dd
    )
    s = _clamp(s)
    t = _clamp((de * s + er) / most(ee, SMALLEST_SQUARE))
    s = _clamp((de * t - dr) / most(dd, SMALLEST_SQUARE))
    x, y, z = (
        r[0] + s * d[0] - t * e[0],
        r[1] + s * d[1] - t * e[1],
        r[2] + s * d[2] - t * e[2],
    )
    return root(x * x + y * y + z * z)


@inline_kernel
def _clamp(x: Number) -> Number:
    """Clamp x to 0..1."""
    return least(most(x, 0.0), 1.0)


@inline_kernel
def _in_box(box: Array, j: int, point: Vector) -> Vector:
    """A point in a box's frame."""
    x, y, z = point[0] - box[j, 9], point[1] - box[j, 10], point[2] - box[j, 11]
    return _in_axes(box, j, (x, y, z))


@inline_kernel
def _in_axes(box: Array, j: int, v: Vector) -> Vector:
    """The components of a vector in a box's axes."""
    x, y, z = v
    return (
        box[j, 0] * x + box[j, 3] * y + box[j, 6] * z,
        box[j, 1] * x + box[j, 4] * y + box[j, 7] * z,
        box[j, 2] * x + box[j, 5] * y + box[j, 8] * z,
    )


@inline_kernel
def _to_box(box: Array, j: int, start: Vector, axis: Vector) -> Number:
    """A lower bound of the distance of a segment from a box; the distance once it has converged.

    For any point of the segment, the normal is the direction to it from the box's nearest point.
    The gap between segment and box along that normal is a bound. Newton's method finds the point
    with the largest gap.
    """
    hx, hy, hz = box[j, 12], box[j, 13], box[j, 14]
    ax, ay, az = _in_box(box, j, start)
    dx, dy, dz = _in_axes(box, j, axis)
    t = 0.0 * ax + 0.5
    bound = 0.0 * ax
    for _ in range(AXIS_NEWTON_STEPS):
        ux, uy, uz = _off_box(box, j, (ax + t * dx, ay + t * dy, az + t * dz))
        along = dx * ux + dy * uy + dz * uz
        gap = ax * ux + ay * uy + az * uz + least(along, 0.0)
        gap = gap - (hx * abs(ux) + hy * abs(uy) + hz * abs(uz))
        bound = most(bound, gap / root(most(ux * ux + uy * uy + uz * uz, SMALLEST_SQUARE)))
        bend = select(ux != 0.0, dx * dx, 0.0) + select(uy != 0.0, dy * dy, 0.0)
        bend = bend + select(uz != 0.0, dz * dz, 0.0)
        t = _clamp(t - along / most(bend, SMALLEST_SQUARE))
    return bound


@inline_kernel
def _height(box: Array, j: int, point: Vector) -> Number:
    """The height of a point above a plane."""
    x, y, z = point[0] - box[j, 9], point[1] - box[j, 10], point[2] - box[j, 11]
    return _rise(box, j, (x, y, z))


@inline_kernel
def _rise(box: Array, j: int, v: Vector) -> Number:
    """The component of a vector along a plane's normal."""
    return box[j, 2] * v[0] + box[j, 5] * v[1] + box[j, 8] * v[2]
