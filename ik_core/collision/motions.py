# SPDX-License-Identifier: Apache-2.0
"""Show that all pairs of pieces keep a distance during a whole motion, between samples, too.

A motion is a cubic spline of the joints: positions and velocities in knots, which lie at whole
ticks. Between two ticks a and b, let S be the sum of R_j times the path length of joint j, which
moves the pieces relative to each other by at most R_j per position (`reaches`). Let n be the
normal of the nearest points at a, fixed to the body of the pair's cut, and g <= d the gap of the
pieces along it. If the joints move by steps s, g changes by a linear term and at most F G, where F
is the sum of the rotations |s_j| and G the sum of R_j |s_j|. Five bounds of the distance d(t):

    one end   d(t) >= d(a) - S
    both      d(t) >= (d(a) + d(b) - S) / 2
    chord     d(t) >= the least of (1 - u) g(a) + u g(b) - u (1 - u) F G for u from 0 to 1, less E:
              a function leaves the chord between its ends by u (1 - u) / 2 of its second
              derivative, and the spline leaves the chord of the joints by steps e with sum of
              R_j |e_j| <= E, as its control points do
    turning   the same of d(a), d(b) and (F + N) G, where N is how far the normal at b is from that
              at a: along a normal that goes from one to the other, which is no longer than 1. For
              faces that lie along each other, whose normal of now soon is none. Not for depths.
    start     d(t) >= the least of d(a) and, over control points v, g(v) - F(v) (G(v) + max G):
              shows that pieces move apart, however near they are

First all pairs at once, at `SAMPLES` ticks in lanes, by spheres and capsules and the second bound.
The intervals of the pairs that remain are halved until they are shown, at ticks only: the commands
between half ticks lie in the hull of the control points, too. A pair that is not shown by a
limited number of checks counts as not shown.

Pairs that are nearer than their margin, since an obstacle appeared or a link was there at the
start, have to keep the largest distance that they had so far: their `floor`. Where pieces overlap,
distances are negative depths, and n is the direction of the least depth.
"""

from __future__ import annotations

import math

from ..kernels.jit import inline_kernel, kernel
from ..kernels.records import FLOAT, INT, LANE, Layout
from ..kernels.signatures import Array1, Array2
from ..maths.rotations import Array, from_axes, in_axes
from ..maths.vectors import Vector, dot, minus, norm, times
from .bounds import bound_pair, place_frames, place_pieces
from .gjk import support, thickness_of
from .records import (
    FIRST,
    GROUP,
    PLANE,
    SECOND,
    WIDTH,
    Record,
    model_lanes,
    model_numbers,
    state_lanes,
    state_numbers,
)
from .rows import (
    add_slopes,
    distance_of,
    fill_lanes,
    frame_of_lane,
    put_distance,
    set_over_plane,
)

PLACES = 32  # ticks at which a motion is measured, a multiple of WIDTH
SAMPLES = 8  # ticks of the first check, a multiple of WIDTH
DEEPEST = 64  # intervals that wait
NEW_ROWS = 8  # nearest pairs that shorten or bend a step
MOST_ROWS = 16  # these, and earlier nearest points of the same pairs
ALL_ROWS = MOST_ROWS + NEW_ROWS
NEAR_ROOM = 5e-3  # [m] Points that may come nearer by less are near, whatever the speed.
FLAT = 1e-9  # [m/rad or m/m] The distance of a pair with smaller slopes is constant.
STALE = 0.1  # [rad or m] An earlier row is dropped once a joint has moved by this.
SIMILAR = 0.9999  # squared cosine of the angle from which on two rows are of the same points
SPARE = 1e-3  # [m] beyond their margins, where steps towards near pairs end
SWEEPS = 50  # over the near pairs, to bend a step
ROUNDING = 1e-9  # [m] of a distance that a pair inside its margin keeps
# what an interval is: shown; too near at one of its ends; neither
SHOWN, NEAR, OPEN = range(3)
# control points of an interval: its ends, and the points where their tangents lead
START, AFTER, BEFORE, END = range(4)

MOTION = Layout(
    'collision_motion',
    ('pair_rows', 'paths', 'joints', 'knots'),
    path=(INT, 'pair_rows'),  # row of `reach` and `turn`
    cut=(INT, 'pair_rows'),  # row of `frames`
    floor=(FLOAT, 'pair_rows'),  # [m] distance that a pair keeps: its margin, or less
    level=(FLOAT, 'pair_rows'),  # [m] distance measured last, at most the margin
    reach=(FLOAT, 'paths', 'joints'),  # [m/rad or m/m]
    turn=(FLOAT, 'paths', 'joints'),  # [rad/rad]
    count=(INT,),  # knots
    period=(FLOAT,),  # [s]
    ticks=(INT, 'knots'),  # ascending, the first one is 0
    q=(FLOAT, 'knots', 'joints'),
    dq=(FLOAT, 'knots', 'joints'),
    length=(FLOAT, 'knots', 'joints'),  # of the joints' paths up to a knot
    samples=(INT, SAMPLES),  # ticks
    half=(FLOAT, SAMPLES, 'joints'),  # half of the longer path beside a sample
    wide=(LANE, 'joints'),  # those of a group of samples
    slack=(LANE, 'paths'),  # [m] what they take from the distance of a pair
    failed=(INT, 'pair_rows'),  # samples at which a pair's bound is too small, as bits
    open=(INT, 'pair_rows'),  # pairs with such samples; pairs that may be near
    stack=(INT, DEEPEST, 2),  # intervals that wait, from tick to tick
    vertices=(FLOAT, 4, 'joints'),  # control points of an interval
    near=(INT,),  # how many rows there are, each of the nearest points of a pair
    rows=(FLOAT, ALL_ROWS, 'joints'),  # derivatives of their distances
    room=(FLOAT, ALL_ROWS),  # [m] how much nearer they may come; < 0: farther away
    pair=(INT, ALL_ROWS),
    at=(FLOAT, ALL_ROWS, 'joints'),  # the joints' positions of the derivatives
    room_there=(FLOAT, ALL_ROWS),
    bent=(FLOAT, MOST_ROWS, 'joints'),  # the step that a row pushes to
    way=(FLOAT, 'paths'),  # [m] how near pairs count, beyond their margins
    square=(FLOAT, MOST_ROWS),  # how much farther apart that is [m]
    force=(FLOAT, MOST_ROWS),  # how much of it is taken
    nearest=(INT,),  # the pair that shortens the last step most; -1: none
    checks=(INT,),  # intervals checked so far
    most_checks=(INT,),
    distance=(FLOAT,),  # [m] of the pair that is not shown, at an end of the last interval
)
motion_lanes, motion_numbers = MOTION.vector_view(WIDTH), MOTION.scalar_view(WIDTH)


@kernel(entry='ik_collision_motion_is_free')
def motion_is_free(
    model_address: int, state_address: int, fine_address: int, motion_address: int
) -> int:
    """Return the index of a pair that is not shown to keep its floor; -1 if all are shown.

    state, fine : two workspaces; the pieces that never move are placed in both
    """
    model, motion = model_numbers(model_address), motion_numbers(motion_address)
    motion.checks = 0
    if not _set_samples(motion):
        return -1
    count = _find_open_pairs(model, motion, motion_address, state_address)
    for o in range(count):
        k = motion.open[o]
        first = -1
        for s in range(SAMPLES + 1):
            has_failed = s < SAMPLES and motion.failed[k] >> s & 1 == 1
            if has_failed and first < 0:
                first = s
            if not has_failed and first >= 0:
                a, b = motion.samples[max(first - 1, 0)], motion.samples[min(s, SAMPLES - 1)]
                if not _is_shown(model_address, fine_address, motion, k, a, b):
                    return k
                first = -1
    return -1


@kernel(entry='ik_collision_measure_pairs')
def measure_pairs(
    model_address: int, state_address: int, motion_address: int, q: Array1, again: bool
) -> None:
    """Write the distance of each pair at q (n,) to `level`, its margin if it is farther apart.

    again : keep smaller ones that are there already
    """
    model = model_numbers(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    motion = motion_numbers(motion_address)
    fill_lanes(state, q)
    if not again:
        for k in range(motion.level.shape[0]):
            motion.level[k] = model.margin[k]
    _lower_levels(model, model_lanes(model_address), state, lanes, motion, 1, 0.0)


@kernel(entry='ik_collision_measure_motion')
def measure_motion(
    model_address: int, state_address: int, motion_address: int, spare: float
) -> None:
    """Write the least distance of each pair at `PLACES` ticks of the motion to `level`.

    For pairs farther apart than their margin + `spare` [m], `level` is that.
    """
    model = model_numbers(model_address)
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    motion = motion_numbers(motion_address)
    for k in range(motion.level.shape[0]):
        motion.level[k] = model.margin[k] + spare
    last = motion.ticks[motion.count - 1]
    for first in range(0, PLACES, WIDTH):
        for lane in range(WIDTH):
            tick = (first + lane) * last // (PLACES - 1)
            knot = _knot_before(motion, tick)
            for j in range(motion.q.shape[1]):
                state.q[j, lane] = _position(motion, knot, tick, j)[0]
        _lower_levels(model, model_lanes(model_address), state, lanes, motion, WIDTH, spare)


@kernel
def _lower_levels(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    motion: Record,
    used: int,
    spare: float,
) -> None:
    """Lower `level`, at most the margin + `spare` [m], to distances in the first `used` lanes."""
    place_pieces(model, lanes)
    for k in range(motion.level.shape[0]):
        mask = bound_pair(model, lanes, k, model.margin[k] + spare)
        for lane in range(used):
            if mask >> lane & 1 == 1:
                distance = distance_of(model, corners, state, lanes, k, lane, motion.level[k])
                motion.level[k] = min(motion.level[k], distance)


# --- the motion ----------------------------------------------------------------------------------


@kernel
def _knot_before(motion: Record, tick: int) -> int:
    """Return the last knot at or before a tick, but the last one of all."""
    k = motion.count - 2
    while motion.ticks[k] > tick:
        k -= 1
    return k


@kernel
def _position(motion: Record, k: int, tick: int, j: int) -> tuple[float, float]:
    """Return position and velocity of joint j at a tick between knots k and k + 1."""
    length = motion.ticks[k + 1] - motion.ticks[k]
    u, h = (tick - motion.ticks[k]) / length, length * motion.period
    q0, q1, v0, v1 = motion.q[k, j], motion.q[k + 1, j], motion.dq[k, j], motion.dq[k + 1, j]
    if tick == motion.ticks[k]:
        return q0, v0
    if tick == motion.ticks[k + 1]:
        return q1, v1
    w, step = 1.0 - u, q1 - q0
    q = q0 + u * u * (3.0 - 2.0 * u) * step + h * u * w * (w * v0 - u * v1)
    v = 6.0 * u * w * step / h + w * (1.0 - 3.0 * u) * v0 + u * (3.0 * u - 2.0) * v1
    return q, v


@inline_kernel
def _path_length(q0: float, v0: float, q1: float, v1: float, seconds: float) -> float:
    """Bound the path length of a cubic by its control polygon.

    Where the joint turns round, it is the polygon that also contains the commands at the ticks.
    """
    part = seconds / (2.0 if v0 * v1 < 0.0 else 3.0)
    after, before = part * v0, q1 - q0 - part * v1
    return abs(after) + abs(before - after) + abs(part * v1)


@kernel
def _set_samples(motion: Record) -> bool:
    """Choose the samples, and measure the joints' paths; return whether any joint moves."""
    joints, last, moves = motion.q.shape[1], motion.ticks[motion.count - 1], False
    for j in range(joints):
        motion.length[0, j] = 0.0
        for k in range(motion.count - 1):
            seconds = (motion.ticks[k + 1] - motion.ticks[k]) * motion.period
            way = _path_length(
                motion.q[k, j], motion.dq[k, j], motion.q[k + 1, j], motion.dq[k + 1, j], seconds
            )
            motion.length[k + 1, j] = motion.length[k, j] + way
        moves = moves or motion.length[motion.count - 1, j] > 0.0
    if not moves:
        return False
    motion.samples[0] = 0
    for s in range(1, SAMPLES):  # equal parts of the path of a stop
        left = math.sqrt(1.0 - (s - 1.0) / (SAMPLES - 2.0))
        tick = 1 + int((last - 1) * (1.0 - left))
        motion.samples[s] = min(max(tick, motion.samples[s - 1]), last)
    motion.samples[SAMPLES - 1] = last
    for j in range(joints):
        before = 0.0
        for s in range(SAMPLES):
            after = 0.0
            if s + 1 < SAMPLES:
                after = _length_between(motion, motion.samples[s], motion.samples[s + 1], j)
            motion.half[s, j] = 0.5 * max(before, after)
            before = after
    return True


@kernel
def _length_between(motion: Record, a: int, b: int, j: int) -> float:
    """Bound the path length of joint j from tick a to tick b."""
    if a == b:
        return 0.0
    k, m = _knot_before(motion, a), _knot_before(motion, b)
    qa, va = _position(motion, k, a, j)
    qb, vb = _position(motion, m, b, j)
    if k == m:
        return _path_length(qa, va, qb, vb, (b - a) * motion.period)
    between = motion.length[m, j] - motion.length[k + 1, j]
    head, tail = motion.ticks[k + 1] - a, b - motion.ticks[m]
    first = _path_length(qa, va, motion.q[k + 1, j], motion.dq[k + 1, j], head * motion.period)
    last = _path_length(motion.q[m, j], motion.dq[m, j], qb, vb, tail * motion.period)
    return first + between + last


# --- all pairs -----------------------------------------------------------------------------------


@kernel
def _find_open_pairs(
    model: Record, motion: Record, motion_address: int, state_address: int
) -> int:
    """Write the pairs to `open` that spheres and capsules do not show; return their number."""
    state, lanes = state_numbers(state_address), state_lanes(state_address)
    wide = motion_lanes(motion_address)
    count = 0
    for k in range(motion.failed.shape[0]):
        motion.failed[k] = 0
    for first in range(0, SAMPLES, WIDTH):
        for lane in range(WIDTH):
            tick = motion.samples[first + lane]
            k = _knot_before(motion, tick)
            for j in range(motion.q.shape[1]):
                state.q[j, lane] = _position(motion, k, tick, j)[0]
                motion.wide[j, lane] = motion.half[first + lane, j]
        for p in range(motion.reach.shape[0]):
            slack = motion.reach[p, 0] * wide.wide[0]
            for j in range(1, motion.reach.shape[1]):
                slack = slack + motion.reach[p, j] * wide.wide[j]
            wide.slack[p] = slack
        place_pieces(model, lanes)
        for k in range(motion.failed.shape[0]):
            mask = bound_pair(model, lanes, k, motion.floor[k] + wide.slack[motion.path[k]])
            if mask != 0:
                if motion.failed[k] == 0:
                    motion.open[count] = k
                    count += 1
                motion.failed[k] |= mask << first
    return count


# --- one pair ------------------------------------------------------------------------------------


@kernel
def _is_shown(
    model_address: int, fine_address: int, motion: Record, k: int, a: int, b: int
) -> bool:
    """Return whether pair k is shown to keep its floor from tick a to tick b, by halving."""
    waiting = 1
    motion.stack[0, 0], motion.stack[0, 1] = a, b
    while waiting > 0:
        waiting -= 1
        a, b = motion.stack[waiting, 0], motion.stack[waiting, 1]
        verdict = _check(model_address, fine_address, motion, k, a, b)
        if verdict == SHOWN:
            continue
        is_last = b - a <= 1 or waiting + 2 > DEEPEST or motion.checks >= motion.most_checks
        if verdict == NEAR or is_last:
            return False
        middle = _middle(motion, a, b)
        motion.stack[waiting, 0], motion.stack[waiting, 1] = middle, b
        motion.stack[waiting + 1, 0], motion.stack[waiting + 1, 1] = a, middle
        waiting += 2
    return True


@kernel
def _middle(motion: Record, a: int, b: int) -> int:
    """Return where an interval is cut: at its most central knot, else in the middle."""
    middle, best = (a + b) // 2, b - a
    found = middle
    for k in range(motion.count):
        away = abs(motion.ticks[k] - middle)
        if a < motion.ticks[k] < b and away < best:
            best, found = away, motion.ticks[k]
    return found


@kernel
def _check(model_address: int, fine_address: int, motion: Record, k: int, a: int, b: int) -> int:
    """Check pair k from tick a to tick b by the five bounds."""
    model, corners = model_numbers(model_address), model_lanes(model_address)
    state, lanes = state_numbers(fine_address), state_lanes(fine_address)
    motion.checks += 1
    path, floor = motion.path[k], motion.floor[k]
    reach, turn = motion.reach[path], motion.turn[path]
    is_cubic, way = _set_vertices(motion, reach, a, b)
    lane = _place(model, lanes, state, motion, START)
    start = distance_of(model, corners, state, lanes, k, lane, floor + way)
    motion.distance = start
    if start < floor:
        return NEAR
    if start - way >= floor:
        return SHOWN
    normal = _normal_of(model, state, motion, k, lane)
    gap = _gap(model, corners, state, lanes, motion, k, END, normal)
    turned, moved = _steps_to(motion, reach, turn, END)
    left = _least_between(start, gap, turned * moved) - floor
    if left >= 0.0 and left >= _off_chord(motion, reach, a, b):
        return SHOWN
    if is_cubic and gap >= floor:
        farthest = max(moved, _steps_to(motion, reach, turn, AFTER)[1])
        farthest = max(farthest, _steps_to(motion, reach, turn, BEFORE)[1])
        least = gap - turned * (moved + farthest)
        for v in range(AFTER, END):
            if least >= floor:
                turned_there, moved_there = _steps_to(motion, reach, turn, v)
                gap = _gap(model, corners, state, lanes, motion, k, v, normal)
                least = min(least, gap - turned_there * (moved_there + farthest))
        if least >= floor:
            return SHOWN
    lane = _place(model, lanes, state, motion, END)
    end = distance_of(model, corners, state, lanes, k, lane, 2.0 * floor + way - start)
    motion.distance = min(start, end)
    if end < floor:
        return NEAR
    if start + end - way >= 2.0 * floor:
        return SHOWN
    turned += norm(minus(_normal_of(model, state, motion, k, lane), normal))
    left = _least_between(start, end, turned * moved) - floor
    is_shown = floor >= 0.0 and left >= 0.0 and left >= _off_chord(motion, reach, a, b)
    return SHOWN if is_shown else OPEN


@inline_kernel
def _least_between(first: float, last: float, bend: float) -> float:
    """Return the least of (1 - u) first + u last - u (1 - u) bend for u from 0 to 1."""
    rise = last - first
    if abs(rise) >= bend:
        return min(first, last)
    return 0.5 * (first + last) - 0.25 * (bend + rise * rise / bend)


@kernel
def _set_vertices(motion: Record, reach: Array, a: int, b: int) -> tuple[bool, float]:
    """Write the control points from tick a to tick b, as if the motion were one cubic.

    Returns whether it is one, and how much nearer the pair can come [m].
    """
    k, m = _knot_before(motion, a), _knot_before(motion, b)
    is_cubic = motion.ticks[k + 1] >= b
    if is_cubic:
        m = k
    way, half = 0.0, 0.5 * (b - a) * motion.period
    vertices = motion.vertices
    for j in range(reach.shape[0]):
        qa, va = _position(motion, k, a, j)
        qb, vb = _position(motion, m, b, j)
        vertices[START, j], vertices[END, j] = qa, qb
        vertices[AFTER, j], vertices[BEFORE, j] = qa + half * va, qb - half * vb
        if reach[j] > 0.0:
            if is_cubic:
                way += reach[j] * _path_length(qa, va, qb, vb, 2.0 * half)
            else:
                way += reach[j] * _length_between(motion, a, b, j)
    return is_cubic, way


@kernel
def _steps_to(motion: Record, reach: Array, turn: Array, v: int) -> tuple[float, float]:
    """Return F and G of the steps from the start of an interval to a control point [rad, m]."""
    turned = moved = 0.0
    for j in range(reach.shape[0]):
        step = abs(motion.vertices[v, j] - motion.vertices[START, j])
        turned += turn[j] * step
        moved += reach[j] * step
    return turned, moved


@kernel
def _off_chord(motion: Record, reach: Array, a: int, b: int) -> float:
    """Return E: how far the control points from tick a to tick b move the pair off the chord."""
    first, last = _knot_before(motion, a), _knot_before(motion, b)
    square = 0.0
    for j in range(reach.shape[0]):
        square += (reach[j] * (motion.vertices[END, j] - motion.vertices[START, j])) ** 2
    off = 0.0
    for k in range(first, last + 1):
        begin, end = max(a, motion.ticks[k]), min(b, motion.ticks[k + 1])
        half = 0.5 * (end - begin) * motion.period
        for side in range(3):
            tick, along = (begin, half) if side == 0 else (end, -half if side == 1 else 0.0)
            fraction = 0.0
            for j in range(reach.shape[0]):
                q, v = _position(motion, k, tick, j)
                chord = motion.vertices[END, j] - motion.vertices[START, j]
                fraction += reach[j] ** 2 * (q + along * v - motion.vertices[START, j]) * chord
            fraction = min(max(fraction / square, 0.0), 1.0) if square > 0.0 else 0.0
            way = 0.0
            for j in range(reach.shape[0]):
                q, v = _position(motion, k, tick, j)
                chord = motion.vertices[END, j] - motion.vertices[START, j]
                way += reach[j] * abs(q + along * v - motion.vertices[START, j] - fraction * chord)
            off = max(off, way)
    return off


@kernel
def _place(model: Record, lanes: Record, state: Record, motion: Record, vertex: int) -> int:
    """Place the bodies at a control point, with lanes at all four at once; return its lane."""
    if WIDTH == 1:
        for j in range(motion.vertices.shape[1]):
            state.q[j, 0] = motion.vertices[vertex, j]
        place_frames(model, lanes)
        return 0
    if vertex == START:
        for j in range(motion.vertices.shape[1]):
            for lane in range(WIDTH):
                state.q[j, lane] = motion.vertices[lane & END, j]
        place_frames(model, lanes)
    return vertex


@kernel
def _normal_of(model: Record, state: Record, motion: Record, k: int, lane: int) -> Vector:
    """Return the unit normal that `distance_of` found for pair k, in the frame of its cut."""
    x, y, z = state.toward[0], state.toward[1], state.toward[2]
    normal = times(1.0 / norm((x, y, z)), (x, y, z))
    own = frame_of_lane(state.frames, model.body[model.pairs[k, FIRST]], lane)
    cut = frame_of_lane(state.frames, motion.cut[k], lane)
    return in_axes(cut, from_axes(own, normal))


@kernel
def _gap(
    model: Record,
    corners: Record,
    state: Record,
    lanes: Record,
    motion: Record,
    k: int,
    vertex: int,
    normal: Vector,
) -> float:
    """Return the gap [m] of pair k at a control point, along a normal in the frame of its cut."""
    i, j = model.pairs[k, FIRST], model.pairs[k, SECOND]
    lane = _place(model, lanes, state, motion, vertex)
    if model.kind[j] == PLANE:
        return set_over_plane(model, corners, state, lanes, i, j, lane)
    along = from_axes(frame_of_lane(state.frames, motion.cut[k], lane), normal)
    own = frame_of_lane(state.frames, model.body[i], lane)
    other = frame_of_lane(state.frames, model.body[j], lane)
    a = from_axes(own, support(model, corners, state, lanes, i, in_axes(own, along)))
    back = times(-1.0, in_axes(other, along))
    b = from_axes(other, support(model, corners, state, lanes, j, back))
    apart = minus((other[9], other[10], other[11]), (own[9], own[10], own[11]))
    gap = dot(along, minus(b, a)) + dot(along, apart)
    return gap - thickness_of(model, i) - thickness_of(model, j)


# --- steps near obstacles ------------------------------------------------------------------------


@kernel(entry='ik_collision_shorten_step')
def shorten_step(
    model_address: int,
    state_address: int,
    motion_address: int,
    q: Array1,
    ahead: Array1,
    aimed: Array1,
) -> int:
    """Write the end of the longest step from q (n,) towards `ahead` that near pairs have room for.

    Distances are linear in the joints here, so `ahead` (n,) has to be near.

    Returns the pair that shortens the step most; -1 if none does, or `ahead` is not finite.
    """
    model, state = model_numbers(model_address), state_numbers(state_address)
    motion = motion_numbers(motion_address)
    motion.nearest = -1
    for j in range(q.shape[0]):
        if not math.isfinite(ahead[j]):
            return -1
        aimed[j] = ahead[j]
    count = _find_rows(model, model_address, state, state_address, motion, q, ahead)
    fraction = 1.0
    for r in range(count):
        closing, room = 0.0, max(motion.room[r], 0.0)
        for j in range(q.shape[0]):
            closing -= motion.rows[r, j] * (ahead[j] - q[j])
        if closing * fraction > room:
            fraction, motion.nearest = room / closing, motion.pair[r]
    if motion.nearest >= 0:
        for j in range(q.shape[0]):
            aimed[j] = q[j] + fraction * (ahead[j] - q[j])
    return motion.nearest


@kernel(entry='ik_collision_bend_step')
def bend_step(motion_address: int, q: Array1, metric: Array2, aimed: Array1) -> None:
    """Move `aimed` (n,) to the nearest point for which near pairs have room [Hildreth1957].

    The near pairs are those of the last `shorten_step`.

    metric (n, n) : inverse of the matrix M in which distances sqrt(x M x) are measured
    """
    motion = motion_numbers(motion_address)
    n, count = q.shape[0], motion.near
    for r in range(count):
        square = 0.0
        for j in range(n):
            motion.bent[r, j] = 0.0
            for m in range(n):
                motion.bent[r, j] += metric[j, m] * motion.rows[r, m]
            square += motion.rows[r, j] * motion.bent[r, j]
        motion.force[r], motion.square[r] = 0.0, square
    for _ in range(SWEEPS):
        change = 0.0
        for r in range(count):
            if motion.square[r] == 0.0:
                continue
            gap = motion.room[r]
            for j in range(n):
                gap += motion.rows[r, j] * (aimed[j] - q[j])
            push = max(-gap / motion.square[r], -motion.force[r])
            motion.force[r] += push
            for j in range(n):
                aimed[j] += push * motion.bent[r, j]
            change = max(change, abs(push) * motion.square[r])
        if change < ROUNDING:
            break


@kernel
def _find_rows(
    model: Record,
    model_address: int,
    state: Record,
    state_address: int,
    motion: Record,
    q: Array,
    ahead: Array,
) -> int:
    """Write rows and room of the pairs that are near on the way to `ahead`; return their number.

    Earlier rows stay while they tell of other points than the nearest ones of now: a face that
    lies along another one is near with all its corners, and the nearest one changes all the time.
    """
    near = _nearest_pairs(model, model_address, state, state_address, motion, q, ahead)
    found = 0
    for new in range(near):
        r, k = MOST_ROWS + found, state.found[new]
        slopes = 0.0
        for j in range(q.shape[0]):
            motion.rows[r, j], motion.at[r, j] = 0.0, q[j]
        add_slopes(model, state, new, motion.rows[r])
        for j in range(q.shape[0]):
            slopes += abs(motion.rows[r, j])
        if slopes < FLAT:
            continue
        found += 1
        motion.room[r] = max(state.distances[new, 0] - model.margin[k] - SPARE, -SPARE)
        motion.pair[r], motion.room_there[r] = k, motion.room[r]
    count = 0
    for r in range(motion.near):
        if count + found < MOST_ROWS and _still_holds(model, motion, r, q, found):
            _copy_row(motion, r, count)
            count += 1
    for new in range(found):
        _copy_row(motion, MOST_ROWS + new, count)
        count += 1
    motion.near = count
    return count


@kernel
def _nearest_pairs(
    model: Record,
    model_address: int,
    state: Record,
    state_address: int,
    motion: Record,
    q: Array,
    ahead: Array,
) -> int:
    """Find the nearest pairs that may meet on the way to `ahead`; return how many.

    One for each pair of links. Their distances go to `state`, as those of `distances_at`.
    """
    corners, lanes = model_lanes(model_address), state_lanes(state_address)
    fill_lanes(state, q)
    place_pieces(model, lanes)
    for p in range(motion.reach.shape[0]):
        motion.way[p] = NEAR_ROOM + SPARE
        for j in range(q.shape[0]):
            motion.way[p] += 2.0 * motion.reach[p, j] * abs(ahead[j] - q[j])
    count = 0
    for k in range(model.margin.shape[0]):
        if bound_pair(model, lanes, k, model.margin[k] + motion.way[motion.path[k]]) != 0:
            _insert_pair(model, state, motion, k, count)
            count += 1
    found = 0
    for c in range(count):
        k, row = motion.open[c], 0
        while row < found and model.pairs[state.found[row], GROUP] != model.pairs[k, GROUP]:
            row += 1
        if row == NEW_ROWS:
            continue
        reach = model.margin[k] + motion.way[motion.path[k]]
        if row < found:  # is it nearer than another pair of the same links?
            reach = model.margin[k] + _room(model, state, row)
            if state.bound[k, 0] >= reach:
                continue
        distance = distance_of(model, corners, state, lanes, k, 0, reach)
        if distance <= reach:
            state.found[row] = k
            put_distance(model, state, k, row, distance)
            found = max(found, row + 1)
    return found


@inline_kernel
def _room(model: Record, state: Record, row: int) -> float:
    """Return the distance of a pair that was found, beyond its margin [m]."""
    room: float = state.distances[row, 0] - model.margin[state.found[row]]
    return room


@kernel
def _insert_pair(model: Record, state: Record, motion: Record, k: int, count: int) -> None:
    """Insert pair k into the `count` pairs in `open`, by their bounds beyond the margins."""
    room, place = state.bound[k, 0] - model.margin[k], count
    while place > 0:
        other = motion.open[place - 1]
        if state.bound[other, 0] - model.margin[other] <= room:
            break
        motion.open[place] = other
        place -= 1
    motion.open[place] = k


@kernel
def _still_holds(model: Record, motion: Record, r: int, q: Array, found: int) -> bool:
    """Return whether row r still tells of other near points than the `found` new rows.

    Sets its room at q (n,).
    """
    room, is_near, square = motion.room_there[r], False, 0.0
    for j in range(q.shape[0]):
        step = q[j] - motion.at[r, j]
        if abs(step) > STALE:
            return False
        room += motion.rows[r, j] * step
        square += motion.rows[r, j] ** 2
    for new in range(MOST_ROWS, MOST_ROWS + found):
        if model.pairs[motion.pair[new], GROUP] != model.pairs[motion.pair[r], GROUP]:
            continue
        is_near, along, other = True, 0.0, 0.0
        for j in range(q.shape[0]):
            along += motion.rows[r, j] * motion.rows[new, j]
            other += motion.rows[new, j] ** 2
        if along > 0.0 and along**2 > SIMILAR * square * other:
            return False
    motion.room[r] = max(room, -SPARE)
    return is_near and room < NEAR_ROOM


@kernel
def _copy_row(motion: Record, source: int, target: int) -> None:
    """Copy a row with all that belongs to it."""
    motion.room[target], motion.pair[target] = motion.room[source], motion.pair[source]
    motion.room_there[target] = motion.room_there[source]
    for j in range(motion.rows.shape[1]):
        motion.rows[target, j], motion.at[target, j] = motion.rows[source, j], motion.at[source, j]
