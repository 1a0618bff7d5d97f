"""Six joints in a loop, solved where three axes of it meet in a point or are parallel.

E1 ... E6 = E is a loop: E^-1 E1 ... E6 = 1. It can be cut anywhere: joints that come to stand
behind the others are carried along by E^-1. So three axes that meet can always be the last ones, a
wrist, and three parallel ones the first, wherever they are in the chain.

- Wrist (`wrist_solutions`; [Pieper1968]): the three other joints place the point where the axes
  meet (`places`), the wrist turns the hand.
- Parallel (`parallel_solutions`; [EliasWen2022]): axes 1, 2, 3 are parallel to h, and 4 and 5 meet
  in a point o. With k = R'h, what E makes of the direction h backwards,
  k.E6^-1 o = k.E^-1 o gives q6 (two angles), h4.R5 R6 k = h4.h gives q5 (two), R4 (R5 R6 k) = h
  gives q4, and a planar arm of three joints remains (two).

A chain of seven is solved for one joint held: the joints behind it are carried along.
"""

from __future__ import annotations

import math

from .._jit import inner
from ..maths.rotations import Array, Frame, IntArray, compose, frame_at, from_axes, in_axes
from ..maths.vectors import Vector, cross, dot, minus, norm, times
from .places import axis_of, place, point_of, put_row
from .subproblems import FREE, across, angle_onto, line_angles, plus, turned

WRIST, PARALLEL, POINT, GENERAL = 0, 1, 2, 3
"""Kinds of layouts; POINT: three joints that place a point, without a hand. GENERAL: by
eigenvalues, so not here but in `general`."""
# the whole numbers of a layout
KIND, HELD, REVERSED, CUT, ORDER, COMPLETED = 0, 1, 2, 3, 4, 10
MOST = 8
"""Most solutions of six joints here."""


@inner
def moved(axis: Vector, point: Vector, value: float, x: Vector) -> Vector:
    """x turned about the axis through a point."""
    return plus(point, turned(axis, value, minus(x, point)))


@inner
def apply(frame: Frame, v: Vector) -> Vector:
    """The point v of a frame, in the root's."""
    return plus(from_axes(frame, v), (frame[9], frame[10], frame[11]))


@inner
def apply_inverse(frame: Frame, v: Vector) -> Vector:
    """The point v, in a frame."""
    return in_axes(frame, minus(v, (frame[9], frame[10], frame[11])))


@inner
def inverse(frame: Frame) -> Frame:
    """The inverse of a frame."""
    a, b, c, d, e, f, g, h, i, _, _, _ = frame
    x, y, z = apply_inverse(frame, (0.0, 0.0, 0.0))
    return a, d, g, b, e, h, c, f, i, x, y, z


@inner
def turn_about(axis: Vector, point: Vector, value: float, slides: int) -> Frame:
    """The motion of a joint as a frame."""
    if slides:
        x, y, z = times(value, axis)
        return 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, x, y, z
    a = turned(axis, value, (1.0, 0.0, 0.0))
    b = turned(axis, value, (0.0, 1.0, 0.0))
    c = turned(axis, value, (0.0, 0.0, 1.0))
    x, y, z = moved(axis, point, value, (0.0, 0.0, 0.0))
    return a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2], x, y, z


@inner
def carried(frame: Frame, rows: Array, i: int, chain: Array, to: int) -> None:
    """Row `to` of the chain = row i of rows, moved along with a frame."""
    put_row(chain, to, from_axes(frame, axis_of(rows, i)), apply(frame, point_of(rows, i)))


@inner
def cut_open(
    layout: IntArray,
    rows: Array,
    links: IntArray,
    held: float,
    target: Frame,
    chain: Array,
    kinds: IntArray,
) -> Frame:
    """Fill the chain (6, 6) and its kinds (6,) for a layout; return its target.

    rows (joints, 6): the whole chain; links (2, joints): the second row says which joints are
    prismatic; `held`: where the joint that is held stands.
    """
    hold = layout[HELD]
    turn = target
    if hold >= 0:
        turn = turn_about(axis_of(rows, hold), point_of(rows, hold), held, links[1, hold])
        target = compose(target, inverse(turn))
    if layout[REVERSED]:
        target = inverse(target)
    back = inverse(target)
    for k in range(6):
        i = layout[ORDER + k]
        kinds[k] = links[1, i]
        if hold >= 0 and i > hold:
            carried(turn, rows, i, chain, k)
        else:
            put_row(chain, k, axis_of(rows, i), point_of(rows, i))
        if layout[REVERSED]:
            put_row(chain, k, times(-1.0, axis_of(chain, k)), point_of(chain, k))
        if k >= 6 - layout[CUT]:
            carried(back, chain, k, chain, k)
    return target


@inner
def wrist_solutions(
    kinds: IntArray,
    chain: Array,
    target: Frame,
    free: Array,
    angles: Array,
    places: Array,
    found: Array,
) -> int:
    """The values (found[:count], 6) of a chain whose last three axes meet at point 4; the count.

    `free` (6,): values for joints that do not matter, where the wrist is singular say.
    """
    meeting = point_of(chain, 3)
    placed = place(kinds, chain, meeting, apply(target, meeting), free, angles, places)
    h4, h5, h6 = axis_of(chain, 3), axis_of(chain, 4), axis_of(chain, 5)
    rest = times(dot(h5, h6), h5)
    swing, side = minus(h6, rest), cross(h5, h6)
    done = 0
    for i in range(placed):
        hand, palm = from_axes(target, h6), from_axes(target, h5)
        for k in range(3):
            if not kinds[k]:
                hand = turned(axis_of(chain, k), -places[i, k], hand)
                palm = turned(axis_of(chain, k), -places[i, k], palm)
        count = line_angles(
            dot(h4, swing), dot(h4, side), dot(h4, hand) - dot(h4, rest), free[4], angles, 0
        )
        for j in range(count):
            if done == MOST:
                return done
            q5 = angles[j]
            q4 = angle_onto(h4, turned(h5, q5, h6), hand, free[3])
            q6 = angle_onto(h6, h5, turned(h5, -q5, turned(h4, -q4, palm)), free[5])
            for k in range(3):
                found[done, k] = places[i, k]
            found[done, 3], found[done, 4], found[done, 5] = q4, q5, q6
            done += 1
    return done


@inner
def point_solutions(
    kinds: IntArray,
    chain: Array,
    target: Frame,
    free: Array,
    angles: Array,
    places: Array,
    found: Array,
) -> int:
    """The values (found[:count], 6) that bring point 4 to the target's origin; the count."""
    goal = target[9], target[10], target[11]
    count = place(kinds, chain, point_of(chain, 3), goal, free, angles, places)
    for i in range(count):
        for k in range(3):
            found[i, k], found[i, 3 + k] = places[i, k], 0.0
    return count


@inner
def parallel_solutions(
    chain: Array, target: Frame, free: Array, angles: Array, found: Array
) -> int:
    """The values (found[:count], 6) of a chain whose first three axes are parallel, while the
    next two meet at point 4; the count."""
    h, h4, h5, h6 = axis_of(chain, 1), axis_of(chain, 3), axis_of(chain, 4), axis_of(chain, 5)
    meeting, p6 = point_of(chain, 3), point_of(chain, 5)
    k = in_axes(target, h)
    arm = minus(meeting, p6)
    flat = across(h6, arm)
    x, y = dot(k, flat), -dot(k, cross(h6, flat))
    back = apply_inverse(target, meeting)
    d = dot(k, back) - dot(k, p6) - dot(k, minus(arm, flat))
    size = norm(back) + norm(meeting) + norm(p6) + FREE
    sixths = line_angles(x / size, y / size, d / size, free[5], angles, 0)
    done = 0
    for i in range(sixths):
        q6 = angles[i]
        m = turned(h6, q6, k)
        rest = times(dot(h5, m), h5)
        swing, side = minus(m, rest), cross(h5, m)
        fifths = line_angles(
            dot(h4, swing), dot(h4, side), dot(h4, h) - dot(h4, rest), free[4], angles, 2
        )
        for j in range(2, fifths):
            q5 = angles[j]
            q4 = angle_onto(h4, turned(h5, q5, m), h, free[3])
            done = _planar_arm(chain, target, free, angles, found, done, (q4, q5, q6))
    return done


@inner
def _planar_arm(
    chain: Array, target: Frame, free: Array, angles: Array, found: Array, done: int, last: Vector
) -> int:
    """Append the solutions of the first three, parallel axes for the last three angles."""
    h, p1, p2, p3 = axis_of(chain, 1), point_of(chain, 0), point_of(chain, 1), point_of(chain, 2)
    goal, side = p3, _across_some(h)
    turn = side
    for k in range(3, 6):
        axis = axis_of(chain, k)
        goal = moved(axis, point_of(chain, k), -last[k - 3], goal)
        turn = turned(axis, -last[k - 3], turn)
    angle = angle_onto(h, side, from_axes(target, turn), 0.0)
    a, b = across(h, minus(p2, p1)), across(h, minus(p3, p2))
    w = across(h, minus(apply(target, goal), p1))
    reach = 0.5 * (dot(w, w) - dot(a, a) - dot(b, b))
    size = 1.0 / max(math.sqrt(dot(a, a) * dot(b, b)), FREE)
    sign1, sign3 = _sign(h, axis_of(chain, 0)), _sign(h, axis_of(chain, 2))
    count = line_angles(
        size * dot(a, b), size * dot(a, cross(h, b)), size * reach, free[1], angles, 4
    )
    for i in range(4, count):
        if done == MOST:
            return done
        q2 = angles[i]
        q1 = angle_onto(h, plus(a, turned(h, q2, b)), w, sign1 * free[0])
        found[done, 0], found[done, 1] = sign1 * q1, q2
        found[done, 2] = sign3 * (angle - q1 - q2)
        for k in range(3):
            found[done, 3 + k] = last[k]
        done += 1
    return done


@inner
def _sign(h: Vector, axis: Vector) -> float:
    return 1.0 if dot(h, axis) > 0.0 else -1.0


@inner
def _across_some(h: Vector) -> Vector:
    """A unit vector at right angles to h."""
    helper = (1.0, 0.0, 0.0) if abs(h[0]) < 0.7 else (0.0, 1.0, 0.0)
    side = across(h, helper)
    return times(1.0 / math.sqrt(dot(side, side)), side)


@inner
def six_joints(
    layout: IntArray,
    rows: Array,
    links: IntArray,
    held: float,
    frames: Array,
    start: Array,
    chain: Array,
    kinds: IntArray,
    free: Array,
    angles: Array,
    places: Array,
    found: Array,
) -> int:
    """The values (found[:count], joints) that bring the chain to its target, frames[0]; the count.

    `start` (joints,): values for joints that do not matter. The rest is memory: chain (6, 6),
    kinds (6,), free (6,), angles (8,), places (8, 3). `links`: see `cut_open`.
    """
    target = cut_open(layout, rows, links, held, frame_at(frames, 0), chain, kinds)
    for k in range(6):
        free[k] = start[layout[ORDER + k]]
    if layout[KIND] == POINT:
        return point_solutions(kinds, chain, target, free, angles, places, found)
    if layout[KIND] == WRIST:
        return wrist_solutions(kinds, chain, target, free, angles, places, found)
    return parallel_solutions(chain, target, free, angles, found)
