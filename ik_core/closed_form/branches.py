"""All branches of the solutions of regular poses: what `cores` does, without branches in the code.

`ways` is POSES or BRANCHES, see `slots`: which of the two answers of an equation is meant says the
memory, by a sign for each.
"""

from __future__ import annotations

from .._jit import inner
from ..maths.lanes import Number, most, root, select
from ..maths.rotations import Array, Frame, IntArray, compose, frame_at, from_axes, in_axes
from ..maths.vectors import Vector, cross, dot, minus, times
from .cores import apply, apply_inverse, inverse
from .places import MEETING
from .slots import (
    BRANCH,
    CHAIN,
    CUT,
    DOUBT,
    FOUND,
    HELD,
    HELD_TURN,
    HOME,
    LEVELS,
    NONE,
    ORDER,
    REACH,
    REVERSED,
    SURE,
    TARGET,
    axis_in,
    carry,
    copy_joints,
    frame_in,
    note,
    point_in,
    put,
)
from .standing import stand_shared
from .subproblems import across, blend, plus
from .turns import NO, after, on_line, one_of, onto, turned_by

SMALL = 1e-16


@inner
def _held_turn(numbers: Array, lanes: Array, hold: int) -> Frame:
    """The motion of the joint that is held, as a frame."""
    c, s = lanes[HELD_TURN], lanes[HELD_TURN + 1]
    axis = numbers[hold, 0], numbers[hold, 1], numbers[hold, 2]
    point = numbers[hold, 3], numbers[hold, 4], numbers[hold, 5]
    a = turned_by(axis, c, s, (1.0, 0.0, 0.0))
    b = turned_by(axis, c, s, (0.0, 1.0, 0.0))
    d = turned_by(axis, c, s, (0.0, 0.0, 1.0))
    x, y, z = minus(point, turned_by(axis, c, s, point))
    return a[0], b[0], d[0], a[1], b[1], d[1], a[2], b[2], d[2], x, y, z


@inner
def cut_open(plan: IntArray, numbers: Array, lanes: Array) -> Frame:
    """Fill the chain for the layout; return its target. See `cores.cut_open`."""
    hold = plan[HELD]
    target = compose(frame_in(lanes, TARGET), frame_at(numbers, HOME))
    turn = target
    if hold >= 0:
        turn = _held_turn(numbers, lanes, hold)
        target = compose(target, inverse(turn))
    if plan[REVERSED]:
        target = inverse(target)
    back = inverse(target)
    for k in range(6):
        i, row = plan[ORDER + k], CHAIN + 6 * k
        for c in range(6):
            lanes[row + c] = numbers[i, c]
        if hold >= 0 and i > hold:
            carry(lanes, k, turn)
        if plan[REVERSED]:
            put(lanes, row, times(-1.0, axis_in(lanes, k)))
        if k >= 6 - plan[CUT]:
            carry(lanes, k, back)
    return target


# --- three axes that meet -----------------------------------------------------------------------


@inner
def wrist(plan: IntArray, numbers: Array, lanes: Array, target: Frame, ways: int) -> None:
    """See `cores.wrist_solutions`. Slots that can't be of use are left out."""
    meeting = point_in(lanes, 3)
    _places(lanes, meeting, apply(target, meeting), ways)
    h4, h5, h6 = axis_in(lanes, 3), axis_in(lanes, 4), axis_in(lanes, 5)
    rest = times(dot(h5, h6), h5)
    swing, side = minus(h6, rest), cross(h5, h6)
    x, y, z = dot(h4, swing), dot(h4, side), dot(h4, rest)
    for place in range(ways * ways):
        slot = ways * place
        if stand_shared(plan, numbers, lanes, slot, ways):
            _leave_out(lanes, slot, ways)
            continue
        hand, palm, row = from_axes(target, h6), from_axes(target, h5), FOUND + 12 * slot
        for k in range(3):
            c, s = lanes[row + 2 * k], -lanes[row + 2 * k + 1]
            hand = turned_by(axis_in(lanes, k), c, s, hand)
            palm = turned_by(axis_in(lanes, k), c, s, palm)
        line = on_line(x, y, dot(h4, hand) - z)
        sure = after(lanes[SURE + slot], line[4])
        for i in range(1, ways):
            copy_joints(lanes, slot, slot + i, 0)
        for i in range(ways):
            c5, s5 = one_of(line, lanes[BRANCH + 4 + i])
            _hand(lanes, slot + i, c5, s5, hand, palm, sure)
        _note_last(lanes, slot, line[5], ways)


@inner
def _leave_out(lanes: Array, slot: int, ways: int) -> None:
    """So many slots from this one on are of no use."""
    for i in range(slot, slot + ways):
        lanes[SURE + i], lanes[REACH + LEVELS * i] = NO, -NONE


@inner
def _note_last(lanes: Array, slot: int, gap: Number, ways: int) -> None:
    """The gaps of so many slots from this one on; the first two of the first are known."""
    row = REACH + LEVELS * slot
    for i in range(ways):
        to = row + LEVELS * i
        lanes[to], lanes[to + 1], lanes[to + 2] = lanes[row], lanes[row + 1], gap


@inner
def _hand(
    lanes: Array, slot: int, c5: Number, s5: Number, hand: Vector, palm: Vector, sure: Number
) -> None:
    """The last three joints for the fifth."""
    h4, h5, h6 = axis_in(lanes, 3), axis_in(lanes, 4), axis_in(lanes, 5)
    c4, s4, sure4 = onto(h4, turned_by(h5, c5, s5, h6), hand)
    back = turned_by(h5, c5, -s5, turned_by(h4, c4, -s4, palm))
    c6, s6, sure6 = onto(h6, h5, back)
    note(lanes, slot, 3, c4, s4)
    note(lanes, slot, 4, c5, s5)
    note(lanes, slot, 5, c6, s6)
    lanes[SURE + slot] = after(after(sure, sure4), sure6)


@inner
def _places(lanes: Array, p: Vector, w: Vector, ways: int) -> None:
    """The first three joints bring p to w; see `places._three_turns`."""
    h1, h2, h3 = axis_in(lanes, 0), axis_in(lanes, 1), axis_in(lanes, 2)
    a, w = minus(point_in(lanes, 1), point_in(lanes, 0)), minus(w, point_in(lanes, 0))
    b, c = minus(point_in(lanes, 2), point_in(lanes, 1)), minus(p, point_in(lanes, 2))
    rest, swing, side = plus(b, times(dot(h3, c), h3)), across(h3, c), cross(h3, c)
    lanes[DOUBT] = select(abs(dot(h2, cross(h1, a))) > MEETING, 1.0, lanes[DOUBT])
    lean, along = dot(h1, h2), dot(a, h2)
    rise, reach = dot(h1, w) - dot(h1, a), 0.5 * (dot(w, w) - dot(a, a))
    heights = dot(h2, rest), dot(h2, swing), dot(h2, side)
    one0, one1, one2 = rise - lean * heights[0], -lean * heights[1], -lean * heights[2]
    two0 = reach - 0.5 * (dot(rest, rest) + dot(swing, swing)) - along * heights[0]
    two1 = -dot(b, swing) - along * heights[1]
    two2 = -dot(b, side) - along * heights[2]
    across_a, across_h = across(h2, a), across(h2, h1)
    lever, tilt = root(dot(across_a, across_a)), root(dot(across_h, across_h))
    tilt = select(dot(across_a, across_h) < 0.0, -tilt, tilt)
    line3 = on_line(
        lever * one1 - tilt * two1, lever * one2 - tilt * two2, tilt * two0 - lever * one0
    )
    unit = blend(lever, across_a, tilt, across_h)
    unit = times(1.0 / most(root(dot(unit, unit)), SMALL), unit)
    size = 1.0 / most(lever * lever + tilt * tilt, SMALL)
    for i in range(ways):
        c3, s3 = one_of(line3, lanes[BRANCH + i])
        v = plus(rest, blend(c3, swing, s3, side))
        one, two = one0 + one1 * c3 + one2 * s3, two0 + two1 * c3 + two2 * s3
        flat = across(h2, v)
        line2 = on_line(
            dot(unit, flat), dot(unit, cross(h2, flat)), size * (one * tilt + two * lever)
        )
        for j in range(ways):
            c2, s2 = one_of(line2, lanes[BRANCH + 2 + j])
            slot = ways * (ways * i + j)
            c1, s1, sure1 = onto(h1, plus(a, turned_by(h2, c2, s2, v)), w)
            note(lanes, slot, 0, c1, s1)
            note(lanes, slot, 1, c2, s2)
            note(lanes, slot, 2, c3, s3)
            lanes[SURE + slot] = after(after(line3[4], line2[4]), sure1)
            row = REACH + LEVELS * slot
            lanes[row], lanes[row + 1] = line3[5], line2[5]


# --- three parallel axes ------------------------------------------------------------------------


@inner
def parallel(plan: IntArray, numbers: Array, lanes: Array, target: Frame, ways: int) -> None:
    """See `cores.parallel_solutions`. Slots that can't be of use are left out."""
    h, h4, h5, h6 = axis_in(lanes, 1), axis_in(lanes, 3), axis_in(lanes, 4), axis_in(lanes, 5)
    meeting, p6 = point_in(lanes, 3), point_in(lanes, 5)
    k, arm = in_axes(target, h), minus(meeting, p6)
    flat = across(h6, arm)
    d = dot(k, apply_inverse(target, meeting)) - dot(k, p6) - dot(k, minus(arm, flat))
    line6 = on_line(dot(k, flat), -dot(k, cross(h6, flat)), d)
    side = _across_some(h)
    for i in range(ways):
        c6, s6 = one_of(line6, lanes[BRANCH + i])
        m = turned_by(h6, c6, s6, k)
        rest = times(dot(h5, m), h5)
        swing, aside = minus(m, rest), cross(h5, m)
        line5 = on_line(dot(h4, swing), dot(h4, aside), dot(h4, h) - dot(h4, rest))
        sure = after(line6[4], line5[4])
        for j in range(ways):
            c5, s5 = one_of(line5, lanes[BRANCH + 2 + j])
            c4, s4, sure4 = onto(h4, turned_by(h5, c5, s5, m), h)
            slot = ways * (ways * i + j)
            note(lanes, slot, 3, c4, s4)
            note(lanes, slot, 4, c5, s5)
            note(lanes, slot, 5, c6, s6)
            row = REACH + LEVELS * slot
            lanes[row], lanes[row + 1] = line6[5], line5[5]
            lanes[SURE + slot] = after(sure, sure4)
            if stand_shared(plan, numbers, lanes, slot, ways):
                _leave_out(lanes, slot, ways)
            else:
                _planar_arm(lanes, target, side, slot, ways)


@inner
def _planar_arm(lanes: Array, target: Frame, side: Vector, slot: int, ways: int) -> None:
    """The first three, parallel joints for the last three, in so many slots from this one on."""
    h, p1, p2, p3 = axis_in(lanes, 1), point_in(lanes, 0), point_in(lanes, 1), point_in(lanes, 2)
    goal, turn, row = p3, side, FOUND + 12 * slot
    for k in range(3, 6):
        c, s = lanes[row + 2 * k], -lanes[row + 2 * k + 1]
        axis, point = axis_in(lanes, k), point_in(lanes, k)
        goal = plus(point, turned_by(axis, c, s, minus(goal, point)))
        turn = turned_by(axis, c, s, turn)
    for i in range(1, ways):
        copy_joints(lanes, slot, slot + i, 3)
    c, s, sure0 = onto(h, side, from_axes(target, turn))
    a, b = across(h, minus(p2, p1)), across(h, minus(p3, p2))
    w = across(h, minus(apply(target, goal), p1))
    reach = 0.5 * (dot(w, w) - dot(a, a) - dot(b, b))
    line = on_line(dot(a, b), dot(a, cross(h, b)), reach)
    sure = after(after(lanes[SURE + slot], sure0), line[4])
    _note_last(lanes, slot, line[5], ways)
    for i in range(ways):
        c2, s2 = one_of(line, lanes[BRANCH + 4 + i])
        c1, s1, sure1 = onto(h, plus(a, turned_by(h, c2, s2, b)), w)
        both_c, both_s = c1 * c2 - s1 * s2, c1 * s2 + s1 * c2
        third = s * both_c - c * both_s
        note(lanes, slot + i, 0, c1, s1 * _sign(h, axis_in(lanes, 0)))
        note(lanes, slot + i, 1, c2, s2)
        note(lanes, slot + i, 2, c * both_c + s * both_s, third * _sign(h, axis_in(lanes, 2)))
        lanes[SURE + slot + i] = after(sure, sure1)


@inner
def _sign(h: Vector, axis: Vector) -> Number:
    return select(dot(h, axis) > 0.0, 1.0, -1.0)


@inner
def _across_some(h: Vector) -> Vector:
    """A unit vector at right angles to h."""
    sideways = abs(h[0]) < 0.7
    side = across(h, (select(sideways, 1.0, 0.0), select(sideways, 0.0, 1.0), 0.0 * h[0]))
    return times(1.0 / root(dot(side, side)), side)
