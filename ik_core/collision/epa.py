# SPDX-License-Identifier: Apache-2.0
"""The penetration depth of two convex pieces [VandenBergen2001].

B - A contains the origin; the depth is the distance of the origin to its surface. EPA grows a
polytope of corners of B - A at its face nearest to the origin, until that face is part of the
surface. The first polytope need not contain the origin: then the face that is farthest on the
wrong side counts as the nearest one.

Depths of hulls are exact to `ON_SURFACE`. A cylinder whose side is about equally near all around
may need more corners than `MOST_CORNERS`: then the depth is the least one in the directions tried,
which is too large by at most a hundredth of the radius.
"""

from __future__ import annotations

from ..kernels.jit import inline_kernel, kernel
from ..maths.rotations import Array, Frame
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from .gjk import FAR, mix, nearest_point, put_corner, support, support_of_other, thickness_of
from .records import MOST_CORNERS, MOST_FACES, Record

ON_SURFACE = 1e-10  # [m] a face is part of the surface if that is no farther out than this
LENGTH = 1e-9  # [m] if B - A is thinner, it has no inside


@kernel
def depth_of(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    i: int,
    j: int,
    frame: Frame,
) -> float:
    """The depth [m] to which pieces i and j penetrate each other, including their radii.

    The arguments are those of `gjk.between`. Fills `state.witness` with the deepest points of
    both, and `state.toward` with the unit vector along which j would have to move by the depth.
    """
    _, depth = depth_bounds(model, corners, state, lanes, i, j, frame)
    return depth


@kernel
def depth_bounds(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    i: int,
    j: int,
    frame: Frame,
) -> tuple[float, float]:
    """Bounds (lower, upper) of the depth [m]; the upper one is that of `depth_of`."""
    polytope, planes = state.polytope, state.planes
    thick = thickness_of(model, i) + thickness_of(model, j)
    flat, normal = _first_tetrahedron(model, corners, state, lanes, i, j, frame)
    if flat:
        _corner_along(model, corners, state, lanes, i, j, frame, normal, 0)
        _set_answer(state, 0, 0, 0, normal)
        return thick, max(dot(_row(polytope, 0), normal), 0.0) + thick
    count, last = 4, 4
    lower, depth = 0.0, FAR
    while True:
        nearest = 0
        for f in range(last):
            if planes[f, 3] < planes[nearest, 3]:
                nearest = f
        normal = planes[nearest, 0], planes[nearest, 1], planes[nearest, 2]
        lower = max(lower, planes[nearest, 3])
        _corner_along(model, corners, state, lanes, i, j, frame, normal, count)
        reach = dot(_row(polytope, count), normal)
        is_surface = reach - planes[nearest, 3] <= ON_SURFACE
        if reach < depth or is_surface:
            depth = reach
            _set_answer(state, count, count, count, normal)
        if is_surface:
            _set_answer_of_side(state, last, planes[nearest, 3] + ON_SURFACE)
        if is_surface or count + 1 == MOST_CORNERS:
            break
        last = _add_corner(state, count, last)
        count += 1
        if last == 0:
            break
    return min(lower, max(depth, 0.0)) + thick, max(depth, 0.0) + thick


@inline_kernel
def _row(polytope: Array, k: int) -> Vector:
    return polytope[k, 0], polytope[k, 1], polytope[k, 2]


@kernel
def _corner_along(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    i: int,
    j: int,
    frame: Frame,
    direction: Vector,
    k: int,
) -> None:
    """Write corner k of the polytope: the point of B - A that is farthest along a direction."""
    a = support(model, corners, state, lanes, i, times(-1.0, direction))
    b = support_of_other(model, corners, state, lanes, j, frame, direction)
    put_corner(state.polytope, k, minus(b, a), a, b)


@kernel
def _first_tetrahedron(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    i: int,
    j: int,
    frame: Frame,
) -> tuple[bool, Vector]:
    """Write four corners and faces; or if B - A is flat, return True and a direction across it."""
    polytope = state.polytope
    best, x = -1.0, (1.0, 0.0, 0.0)
    for axis in range(3):
        along = (
            1.0 if axis == 0 else 0.0,
            1.0 if axis == 1 else 0.0,
            1.0 if axis == 2 else 0.0,
        )
        _corner_along(model, corners, state, lanes, i, j, frame, along, 0)
        _corner_along(model, corners, state, lanes, i, j, frame, times(-1.0, along), 1)
        wide = dot(minus(_row(polytope, 0), _row(polytope, 1)), along)
        if wide > best:
            best, x = wide, along
    _corner_along(model, corners, state, lanes, i, j, frame, x, 0)
    _corner_along(model, corners, state, lanes, i, j, frame, times(-1.0, x), 1)
    x = minus(_row(polytope, 1), _row(polytope, 0))
    if best <= LENGTH:
        return True, (1.0, 0.0, 0.0)
    x = times(1.0 / norm(x), x)
    y = _any_across(x)
    if not _is_off(model, corners, state, lanes, i, j, frame, y, 2):
        z = cross(x, y)
        if not _is_off(model, corners, state, lanes, i, j, frame, z, 2):
            return True, y
    y = minus(_row(polytope, 2), _row(polytope, 0))
    n = cross(x, y)
    n = times(1.0 / norm(n), n)
    if not _is_off(model, corners, state, lanes, i, j, frame, n, 3):
        return True, n
    if dot(minus(_row(polytope, 3), _row(polytope, 0)), n) > 0.0:
        _set_face(state, 0, 0, 2, 1)
        _set_face(state, 1, 0, 1, 3)
        _set_face(state, 2, 1, 2, 3)
        _set_face(state, 3, 2, 0, 3)
    else:
        _set_face(state, 0, 0, 1, 2)
        _set_face(state, 1, 1, 0, 3)
        _set_face(state, 2, 2, 1, 3)
        _set_face(state, 3, 0, 2, 3)
    return False, n


@kernel
def _is_off(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    i: int,
    j: int,
    frame: Frame,
    direction: Vector,
    k: int,
) -> bool:
    """Write corner k; return False if all points are in a plane through corner 0.

    The corner is the farther one, from that plane, of the farthest points along and against a
    direction.
    """
    first = state.polytope
    _corner_along(model, corners, state, lanes, i, j, frame, direction, k)
    up = dot(minus(_row(first, k), _row(first, 0)), direction)
    _corner_along(model, corners, state, lanes, i, j, frame, times(-1.0, direction), k)
    down = dot(minus(_row(first, 0), _row(first, k)), direction)
    if up > down:
        _corner_along(model, corners, state, lanes, i, j, frame, direction, k)
    return max(up, down) > LENGTH


@inline_kernel
def _any_across(x: Vector) -> Vector:
    """A unit vector perpendicular to a unit vector."""
    a, b, c = abs(x[0]), abs(x[1]), abs(x[2])
    axis = (1.0, 0.0, 0.0)
    if b <= a and b <= c:
        axis = (0.0, 1.0, 0.0)
    elif c <= a and c <= b:
        axis = (0.0, 0.0, 1.0)
    y = cross(x, axis)
    return times(1.0 / norm(y), y)


@kernel
def _set_face(state: Record, f: int, a: int, b: int, c: int) -> None:
    """Write face f, corners counterclockwise from outside; at distance FAR if it is degenerate."""
    faces, planes, polytope = state.faces, state.planes, state.polytope
    faces[f, 0], faces[f, 1], faces[f, 2] = a, b, c
    p = _row(polytope, a)
    first, second = minus(_row(polytope, b), p), minus(_row(polytope, c), p)
    n = cross(first, second)
    length = norm(n)
    if not length > 1e-9 * norm(first) * norm(second):
        planes[f, 0] = planes[f, 1] = planes[f, 2] = 0.0
        planes[f, 3] = FAR
        return
    n = times(1.0 / length, n)
    planes[f, 0], planes[f, 1], planes[f, 2] = n[0], n[1], n[2]
    planes[f, 3] = dot(n, p)


@kernel
def _add_corner(state: Record, k: int, last: int) -> int:
    """Replace the faces that corner k sees by faces between it and their outline.

    Returns the number of faces; 0 if there would be too many.
    """
    faces, planes, edges, w = state.faces, state.planes, state.edges, _row(state.polytope, k)
    kept, count = 0, 0
    for f in range(last):
        height = dot(w, (planes[f, 0], planes[f, 1], planes[f, 2])) - planes[f, 3]
        if height > 0.0:
            for e in range(3):
                count = _toggle(edges, count, faces[f, e], faces[f, (e + 1) % 3])
                if count == MOST_FACES:
                    return 0
        else:
            for c in range(3):
                faces[kept, c] = faces[f, c]
            for c in range(4):
                planes[kept, c] = planes[f, c]
            kept += 1
    if kept + count > MOST_FACES:
        return 0
    for e in range(count):
        _set_face(state, kept + e, edges[e, 0], edges[e, 1], k)
    return kept + count


@inline_kernel
def _toggle(edges: Array, count: int, a: int, b: int) -> int:
    """Add an edge to the outline, or remove it if it is there in the opposite direction."""
    for e in range(count):
        if edges[e, 0] == b and edges[e, 1] == a:
            edges[e, 0], edges[e, 1] = edges[count - 1, 0], edges[count - 1, 1]
            return count - 1
    edges[count, 0], edges[count, 1] = a, b
    return count + 1


@kernel
def _set_answer_of_side(state: Record, last: int, distance: float) -> None:
    """Write witness and direction from the face nearest to the origin among those up to a
    distance.

    A side with more than three corners consists of several triangles; the nearest point is in one
    of them.
    """
    faces, planes, simplex = state.faces, state.planes, state.simplex
    best, nearest = FAR, 0
    for f in range(last):
        if planes[f, 3] <= distance:
            _load_face(state, faces[f, 0], faces[f, 1], faces[f, 2])
            far = norm(mix(simplex, state.weights, 0))
            if far < best:
                best, nearest = far, f
    f = nearest
    normal = planes[f, 0], planes[f, 1], planes[f, 2]
    _set_answer(state, faces[f, 0], faces[f, 1], faces[f, 2], normal)


@kernel
def _load_face(state: Record, a: int, b: int, c: int) -> None:
    """Copy three corners of the polytope into the simplex, and find its nearest point."""
    simplex, polytope = state.simplex, state.polytope
    for column in range(9):
        simplex[0, column] = polytope[a, column]
        simplex[1, column] = polytope[b, column]
        simplex[2, column] = polytope[c, column]
    state.count = 1 if a == b else 3
    nearest_point(state, simplex, state.weights)


@kernel
def _set_answer(state: Record, a: int, b: int, c: int, normal: Vector) -> None:
    """Write witness and direction from a face of the polytope."""
    _load_face(state, a, b, c)
    for axis in range(2):
        x, y, z = mix(state.simplex, state.weights, 3 + 3 * axis)
        state.witness[3 * axis], state.witness[3 * axis + 1] = x, y
        state.witness[3 * axis + 2] = z
    state.toward[0], state.toward[1], state.toward[2] = -normal[0], -normal[1], -normal[2]
