# SPDX-License-Identifier: Apache-2.0
"""The distance between two convex pieces, by a lower and an upper bound [Gilbert1988].

The distance of A and B is that of the origin from the convex set B - A. GJK keeps a simplex of at
most four corners of that set. The distance of the simplex's nearest point from the origin is an
upper bound. The corner of B - A that is farthest towards the origin is added; corners that the
nearest point does not need are dropped. The plane through the new corner, across the search
direction, gives a lower bound, so that many questions ("is it more than 10 mm?") are answered
before the distance is known.

The weights of the corners come from cross products of the corners themselves: their rounding error
grows with the inverse of a triangle's width, that of products of scalar products with its square.
Triangles near a curved surface are narrow, so one step of refinement follows.

A sphere, a capsule or another piece with a thickness is a core (point, segment, hull) and a radius
around it. GJK computes the distance of the cores, which is exact, and subtracts the radii; so
pieces that touch by no more than their radii are not yet a collision for the simplex.
"""

from __future__ import annotations

from ..kernels.jit import inline_kernel, kernel
from ..maths.lanes import most, select
from ..maths.rotations import Array, Frame, from_axes, in_axes
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from .bounds import FAR
from .records import CYLINDER, POINTS, WIDTH, Record

MOST_ROUNDS = 128
# consecutive rounds without progress beyond rounding: on a curved surface every other round may
# have none, although the next one has
MOST_STALLS = 4
DISTANCE_ROUNDING = 4e-16  # relative rounding error of a distance
TOUCHING_DISTANCE = 1e-13  # [m] nearer pieces touch: positions of corners are not known better
FLAT_TRIANGLE = 1e-24  # squared sine of a triangle's angle below which it is a line


@kernel
def between(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    i: int,
    j: int,
    frame: Frame,
    above: float,
    below: float,
    tolerance: float,
) -> tuple[float, float]:
    """Bounds (lower, upper) of the distance [m] of pieces i and j, at most `tolerance` apart.

    model, corners, state, lanes : `MODEL` and `STATE`, each as scalars and as vectors of lanes
    frame : of piece j's body, in that of piece i's body
    above, below : [m] stop once the distance is known to exceed `above`, or not to exceed `below`

    `state.toward` is the first search direction, from i to j, and at the end the vector between
    the nearest points, which are in `state.witness`, all in the frame of i's body. If the cores
    touch, both bounds are minus the sum of the radii.
    """
    thick = thickness_of(model, i) + thickness_of(model, j)
    toward, simplex, weights = state.toward, state.simplex, state.weights
    lower, upper = -FAR, FAR
    state.count = stalls = 0
    for _ in range(MOST_ROUNDS):
        x, y, z = toward[0], toward[1], toward[2]
        length = norm((x, y, z))
        if length <= TOUCHING_DISTANCE:
            if upper < FAR:
                return -thick, -thick
            x, length = 1.0, 1.0
        x, y, z = x / length, y / length, z / length
        a = support(model, corners, state, lanes, i, (x, y, z))
        b = support_of_other(model, corners, state, lanes, j, frame, (-x, -y, -z))
        w = minus(b, a)
        lower = max(lower, dot(w, (x, y, z)))
        is_known = lower - thick > above or upper - thick <= below
        if is_known or upper - lower <= tolerance or _has(simplex, state.count, w):
            break
        put_corner(simplex, state.count, w, a, b)
        state.count += 1
        is_inside = nearest_point(state, simplex, weights)
        x, y, z = mix(simplex, weights, 0)
        length = norm((x, y, z))
        stalls = stalls + 1 if length >= upper else 0
        if not is_inside and (stalls == MOST_STALLS or length > (1.0 + DISTANCE_ROUNDING) * upper):
            break  # as near as rounding allows
        for c in range(6):
            state.witness[c] = 0.0
            for k in range(state.count):
                state.witness[c] += weights[k] * simplex[k, 3 + c]
        if is_inside:
            return -thick, -thick
        upper = length
        toward[0], toward[1], toward[2] = x, y, z
        _drop_unused(state, simplex, weights)
    return min(lower, upper) - thick, upper - thick


@inline_kernel
def thickness_of(model: Record, i: int) -> float:
    """The radius [m] around a piece's core; 0 for cylinders, which have no core here."""
    return model.radius[i] if model.kind[i] == POINTS else 0.0


# --- the farthest points -------------------------------------------------------------------------


@kernel
def support(
    model: Record, corners: Record, state: Record, lanes: Record, i: int, direction: Vector
) -> Vector:
    """The point of piece i that is farthest along a direction, both in its body's frame."""
    first, last = model.span[i, 0], model.span[i, 1]
    if model.kind[i] == CYLINDER:
        return _on_cylinder(model, first, model.radius[i], direction)
    x, y, z = direction
    at = corners.corners
    top = x * at[first, 0] + y * at[first, 1] + z * at[first, 2]
    lanes.top = top
    if last == first + 1:
        best, found = state.top[0], 0
        for lane in range(1, WIDTH):
            if state.top[lane] > best:
                best, found = state.top[lane], lane
        return _corner(model, first, found)
    where = 0.0 * top + float(first)
    for block in range(first + 1, last):
        high = x * at[block, 0] + y * at[block, 1] + z * at[block, 2]
        where = select(high > top, float(block), where)
        top = most(top, high)
    lanes.top, lanes.where = top, where
    best, found = state.top[0], WIDTH * int(state.where[0])
    for lane in range(1, WIDTH):
        index = WIDTH * int(state.where[lane]) + lane
        if state.top[lane] > best or (state.top[lane] == best and index < found):
            best, found = state.top[lane], index
    return _corner(model, found // WIDTH, found % WIDTH)


@inline_kernel
def _corner(model: Record, block: int, lane: int) -> Vector:
    at = model.corners
    return at[block, 0, lane], at[block, 1, lane], at[block, 2, lane]


@inline_kernel
def corner_of(model: Record, first: int, k: int) -> Vector:
    """Corner k of the piece whose first block of corners is `first`."""
    return _corner(model, first + k // WIDTH, k % WIDTH)


@kernel
def _on_cylinder(model: Record, first: int, radius: float, direction: Vector) -> Vector:
    """The farthest point of a cylinder along a direction: on the rim of the end on that side, or
    the centre of that end if the direction is along the axis."""
    axis = corner_of(model, first, 2)
    along = dot(direction, axis)
    x, y, z = corner_of(model, first, 1 if along > 0.0 else 0)
    ex, ey, ez = _without(direction, axis)
    ex, ey, ez = _without((ex, ey, ez), axis)  # again: the scale below would enlarge rounding
    across = norm((ex, ey, ez))
    scale = radius / across if across > 1e-12 else 0.0
    return x + scale * ex, y + scale * ey, z + scale * ez


@inline_kernel
def _without(v: Vector, axis: Vector) -> Vector:
    """The component of v perpendicular to a unit axis."""
    along = dot(v, axis)
    return v[0] - along * axis[0], v[1] - along * axis[1], v[2] - along * axis[2]


@kernel
def support_of_other(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    j: int,
    frame: Frame,
    direction: Vector,
) -> Vector:
    """The support point of piece j along a direction; both are moved by `frame`, j's body's."""
    x, y, z = from_axes(frame, support(model, corners, state, lanes, j, in_axes(frame, direction)))
    return x + frame[9], y + frame[10], z + frame[11]


# --- the simplex ---------------------------------------------------------------------------------


@inline_kernel
def _at(simplex: Array, k: int) -> Vector:
    return simplex[k, 0], simplex[k, 1], simplex[k, 2]


@inline_kernel
def put_corner(simplex: Array, k: int, w: Vector, a: Vector, b: Vector) -> None:
    """Write corner k of a simplex: w = b - a, and the points a of A and b of B."""
    for c in range(3):
        simplex[k, c], simplex[k, 3 + c], simplex[k, 6 + c] = w[c], a[c], b[c]


@inline_kernel
def _has(simplex: Array, count: int, w: Vector) -> bool:
    """Return whether the simplex has a corner equal to w."""
    found = False
    for k in range(count):
        found = found or (
            simplex[k, 0] == w[0] and simplex[k, 1] == w[1] and simplex[k, 2] == w[2]
        )
    return found


@inline_kernel
def mix(simplex: Array, weights: Array, first: int) -> Vector:
    """The weighted sum of a simplex's corners; of their points of A for first = 3, of B for 6."""
    x = y = z = 0.0
    for k in range(4):
        if weights[k] > 0.0:
            x += weights[k] * simplex[k, first]
            y += weights[k] * simplex[k, first + 1]
            z += weights[k] * simplex[k, first + 2]
    return x, y, z


@inline_kernel
def _drop_unused(state: Record, simplex: Array, weights: Array) -> None:
    """Drop the corners with weight 0; the others keep their order."""
    kept = 0
    for k in range(state.count):
        if weights[k] > 0.0:
            if kept < k:
                weights[kept] = weights[k]
                for c in range(9):
                    simplex[kept, c] = simplex[k, c]
            kept += 1
    state.count = kept


@kernel
def nearest_point(state: Record, simplex: Array, weights: Array) -> bool:
    """Find the simplex's point nearest to the origin, as weights of the corners; return whether it
    is the origin itself, inside a tetrahedron."""
    for k in range(4):
        weights[k] = 0.0
    if state.count == 1:
        weights[0] = 1.0
    elif state.count == 2:
        _try_edge(simplex, 0, 1, FAR, state.trial, weights)
    elif state.count == 3:
        _try_face(simplex, 0, 1, 2, FAR, state.trial, weights)
    else:
        return _try_tetrahedron(simplex, state.trial, weights)
    return False


@kernel
def _keep_nearer(simplex: Array, best: float, trial: Array, weights: Array) -> float:
    """Copy the trial weights if their point is nearer; return the smaller squared distance."""
    point = mix(simplex, trial, 0)
    square = dot(point, point)
    if square >= best:
        return best
    for k in range(4):
        weights[k] = trial[k]
    return square


@kernel
def _clear(trial: Array) -> None:
    for k in range(4):
        trial[k] = 0.0


@kernel
def _try_edge(simplex: Array, a: int, b: int, best: float, trial: Array, weights: Array) -> float:
    """Use the nearest point of edge a b if it is nearer; return the smaller square."""
    start = _at(simplex, a)
    edge = minus(start, _at(simplex, b))
    square = dot(edge, edge)
    t = min(max(dot(start, edge) / square, 0.0), 1.0) if square > 0.0 else 0.0
    _clear(trial)
    trial[a], trial[b] = 1.0 - t, t
    return _keep_nearer(simplex, best, trial, weights)


@kernel
def _try_face(
    simplex: Array, a: int, b: int, c: int, best: float, trial: Array, weights: Array
) -> float:
    """Use the nearest point of triangle a b c if it is nearer; return the smaller square."""
    p, q, r = _at(simplex, a), _at(simplex, b), _at(simplex, c)
    first, second = minus(q, p), minus(r, p)
    n = cross(first, second)
    u, v, w = dot(n, cross(q, r)), dot(n, cross(r, p)), dot(n, cross(p, q))
    whole = u + v + w
    is_flat = not dot(n, n) > FLAT_TRIANGLE * dot(first, first) * dot(second, second)
    if u > 0.0 and v > 0.0 and w > 0.0 and not is_flat:
        _clear(trial)
        trial[a], trial[b], trial[c] = u / whole, v / whole, w / whole
        _refine(simplex, a, b, c, first, second, n, trial)
        return _keep_nearer(simplex, best, trial, weights)
    if u <= 0.0 or is_flat:
        best = _try_edge(simplex, b, c, best, trial, weights)
    if v <= 0.0 or is_flat:
        best = _try_edge(simplex, c, a, best, trial, weights)
    if w <= 0.0 or is_flat:
        best = _try_edge(simplex, a, b, best, trial, weights)
    return best


@kernel
def _refine(
    simplex: Array,
    a: int,
    b: int,
    c: int,
    first: Vector,
    second: Vector,
    n: Vector,
    trial: Array,
) -> None:
    """Correct the trial weights of a triangle's nearest point.

    The point's component in the plane of the triangle should be zero, so it is rounding error.
    first, second : edges from corner a
    n : their cross product
    """
    square, point = dot(n, n), mix(simplex, trial, 0)
    off = minus(point, times(dot(n, point) / square, n))
    v = trial[b] - dot(n, cross(off, second)) / square
    w = trial[c] - dot(n, cross(first, off)) / square
    u = 1.0 - v - w
    if u > 0.0 and v > 0.0 and w > 0.0:
        trial[a], trial[b], trial[c] = u, v, w


@kernel
def _try_tetrahedron(simplex: Array, trial: Array, weights: Array) -> bool:
    """Use the nearest point of a tetrahedron; return whether the origin is inside."""
    p, q, r, s = _at(simplex, 0), _at(simplex, 1), _at(simplex, 2), _at(simplex, 3)
    # six times the signed volumes of the origin with each face; they add up to the tetrahedron's
    v0 = dot(q, cross(r, s))
    v1 = -dot(p, cross(r, s))
    v2 = dot(p, cross(q, s))
    v3 = -dot(p, cross(q, r))
    whole = dot(minus(q, p), cross(minus(r, p), minus(s, p)))
    if (v0 > 0.0 and v1 > 0.0 and v2 > 0.0 and v3 > 0.0 and whole > 0.0) or (
        v0 < 0.0 and v1 < 0.0 and v2 < 0.0 and v3 < 0.0 and whole < 0.0
    ):
        weights[0], weights[1] = v0 / whole, v1 / whole
        weights[2], weights[3] = v2 / whole, v3 / whole
        return True
    best = FAR
    if v0 * whole <= 0.0:
        best = _try_face(simplex, 1, 2, 3, best, trial, weights)
    if v1 * whole <= 0.0:
        best = _try_face(simplex, 0, 2, 3, best, trial, weights)
    if v2 * whole <= 0.0:
        best = _try_face(simplex, 0, 1, 3, best, trial, weights)
    if v3 * whole <= 0.0:
        best = _try_face(simplex, 0, 1, 2, best, trial, weights)
    return False
