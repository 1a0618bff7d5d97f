# SPDX-License-Identifier: Apache-2.0
"""The search for a motion along a path: candidates, their best sequence, its shape, its timing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from scipy.interpolate import CubicSpline, PPoly

from ..display import angle, length
from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..robot.limits import FULL_TURN
from ..robot.motion import Motion
from . import timing
from .candidates import (
    LARGEST_STEP,
    Continuation,
    closed_candidates,
    continuation,
    continued_candidates,
    redundancy_grid,
    usable_form,
)
from .checked import MOST_FRAMES, fastest, moments_of, uses
from .clearance import first_hit
from .deviation import Arm, deviation, overshoot
from .graph import Candidates, Sequence, best_sequence
from .moving_start import bent, fastest_in_motion, led_on
from .reasons import why_broken, why_none
from .result import PathReason, PathResult
from .smoothing import smoothed
from .task import Task

GRIDS = 48, 192  # values of a redundant joint; the finer ones if the path can't be done by others
# pairs of candidates that turn out not to be joined, before finer ones are looked at or at last
FEW_REPAIRS, MOST_REPAIRS = 1, 12
MOST_STARTS = 24  # configurations from which a closed path is tried
REFINEMENTS = 24  # times that intervals are halved
NARROWEST = 1e-9  # fraction of the path: shorter intervals are not halved
# [rad or m] step of a joint that is none of a continuous path in this fraction of the step between
# samples
LEAP, SUDDEN = 0.05, 1.0 / 64.0
# [rad or m] beyond limits: what is cut off at last, of paths that touch them
PLAY, STRICTLY = 1e-7, 1e-12
STRICT = 10  # times that intervals are halved to keep limits strictly
# distance [rad or m] from limits on which a path would rest, as a fraction of what the tip may be
# off its path: a spline through points on a limit exceeds it
APART = 0.1
# in place of rates that are not limited, where motions are compared
USUAL = {'velocity': 1.0, 'acceleration': 5.0, 'jerk': 100.0}
SHARP = 3e-3  # [m] radius of an arc: where it would be smaller, the motion stops in the corner
ROUNDING = 1e-6


# of the place on the time, both from 0 to 1: with no acceleration at both ends
REST_TO_SPEED = Polynomial([0.0, 0.0, 0.0, 6.0, -8.0, 3.0])
REST_TO_REST = Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])


@dataclass(frozen=True, eq=False)
class _Shape:
    """The joints' path: cubic splines of the variables, between stops at sharp corners.

    deviation : upper bounds of the tip's distance from its path [m, rad]
    """

    pieces: tuple[PPoly, ...]
    deviation: tuple[float, float]

    def at(self, places: Array, task: Task) -> Array:
        """The variables (M, v) at values (M,) of the parameter, inside the limits."""
        starts = np.array([piece.x[0] for piece in self.pieces])
        which = np.maximum(np.searchsorted(starts, places, 'right') - 1, 0)
        x = np.empty((len(places), self.pieces[0].c.shape[2]))
        for k, piece in enumerate(self.pieces):
            own = which == k
            x[own] = piece(places[own])
        return np.clip(x, task.lower, task.upper)


def motion_along(task: Task, period: float) -> PathResult:
    """Find a motion, or why there is none."""
    failure: PathResult | None = None
    for candidates, reach, repairs in _all_candidates(task):
        usable = _usable(task, candidates)
        if (usable.counts == 0).any():
            failure = _none_failure(task, candidates, usable, reach)
            continue
        sequence, shape = _joined(task, usable, reach, repairs)
        if task.is_closed and shape is not None:
            shape = _closed(task, usable, reach, sequence)
            if shape is None:
                failure = _open_failure(task, sequence)
                continue
        if shape is not None:
            found = _fastest_of_starts(task, usable, reach, sequence, shape)
            return _moved(task, *found, period)
        failure = _broken_failure(task, sequence)
    assert failure is not None
    return failure


def _all_candidates(task: Task) -> Iterator[tuple[Candidates, float, int]]:
    """Candidates of all samples, how far the bands of joined ones may be apart, and how many pairs
    may be excluded; then more candidates."""
    problem, form = task.problem, usable_form(task.problem, task.start)
    if form is not None and form.redundant_joint is None:
        found = closed_candidates(form, problem, task.targets, task.start, None)
        yield found, math.inf, MOST_REPAIRS
        return
    if form is not None:
        for count in GRIDS:
            values = redundancy_grid(form, count)
            found = closed_candidates(form, problem, task.targets, task.start, values)
            repairs = MOST_REPAIRS if count == GRIDS[-1] else FEW_REPAIRS
            yield found, 1.01 * float(values[1] - values[0]), repairs
    first = None if task.first is None else task.q(task.first[np.newaxis])[0]
    found = continued_candidates(problem, task.targets, task.start, first)
    yield found, math.inf, MOST_REPAIRS


def _usable(task: Task, candidates: Candidates) -> Candidates:
    """The candidates inside all limits and free of collisions, with those that are given."""
    x = candidates.x
    turning = task.problem.limits.turns
    inside = ((x >= task.lower - PLAY) & (x <= task.upper + PLAY) | turning).all(axis=1)
    candidates = candidates.chosen(inside)
    if task.problem.avoids:
        free = task.problem.avoidance.which_may_answer(task.q(candidates.x))
        candidates = candidates.chosen(free)
    for given, i in ((task.first, 0), (task.last, len(task.places) - 1)):
        if given is not None:
            candidates = candidates.replaced(i, given)
    return candidates


def _joined(
    task: Task, candidates: Candidates, reach: float, repairs: int = MOST_REPAIRS
) -> tuple[Sequence, _Shape | None]:
    """The best sequence, and the joints' path through it; None if it has reconfigurations.

    Neighbours between which the joints' path can't be shown to stay on the tip's, or collides, are
    not joined; then another sequence is looked for.
    """
    problem, steps = task.problem, np.diff(task.places)
    most = np.full((len(steps), len(problem.variables)), LARGEST_STEP)
    rates = 1.0 / (steps[:, np.newaxis] * _finite(task.rates.velocity, USUAL['velocity']))
    fixed = np.zeros(len(candidates.x), bool)
    fixed[0], fixed[-1] = task.first is not None, task.last is not None
    apart: list[tuple[int, int]] = []
    while True:
        sequence = best_sequence(
            candidates, problem.limits, most, rates, near=task.near, fixed=fixed, reach=reach,
            apart=np.reshape(np.array(apart, np.int64), (-1, 2)),
        )  # fmt: skip
        if len(sequence.breaks) or len(apart) > repairs:
            return sequence, None
        shape: _Shape | int = -1
        if problem.is_redundant:
            shape = _shape(task, _smoothed(task, sequence.x))
        if isinstance(shape, int):
            shape = _shape(task, sequence.x)
        if not isinstance(shape, int):
            return sequence, shape
        apart.append((int(sequence.nodes[shape]), int(sequence.nodes[shape + 1])))


def _fastest_of_starts(
    task: Task, candidates: Candidates, reach: float, best: Sequence, shape: _Shape
) -> tuple[_Shape, timing.TimeLaw]:
    """The joints' path that is passed fastest, and how: of a first one and of others whose starts
    are far from its own, and from each other, since smoothing ends at the nearest optimum.

    best : the sequence of the first one
    """
    is_given = task.near is not None or task.path.timed or task.is_closed
    law = _law(task, shape)
    if not task.problem.is_redundant or is_given:
        return shape, law
    others, tried = candidates.x[: candidates.first[1]], best.x[:1]
    fastest_one, least = shape, _seconds(task, shape)
    for _ in range(task.starts - 1):
        gaps = np.abs(others[:, np.newaxis] - tried).max(axis=2).min(axis=1)
        start = others[int(np.argmax(gaps))]
        sequence, other = _joined(replace(task, near=start), candidates, reach, 0)
        tried = np.vstack([tried, start, sequence.x[0]])
        if other is not None and (seconds := _seconds(task, other)) < least:
            fastest_one, least = other, seconds
    if fastest_one is not shape and (faster := _law(task, fastest_one)).duration < law.duration:
        return fastest_one, faster
    return shape, law


def _seconds(task: Task, shape: _Shape) -> float:
    """About how long the fastest motion along the joints' path takes [s]: without jerk limits."""
    rates = replace(task.rates, jerk=np.full_like(task.rates.jerk, math.inf))
    return sum(timing.fastest(piece, task.tip_use, rates).duration for piece in shape.pieces)


def _closed(task: Task, candidates: Candidates, reach: float, best: Sequence) -> _Shape | None:
    """The joints' path through the best sequence found that ends in the configuration in which it
    begins; None without one.

    best : the best sequence that may end anywhere; those that begin near it are tried first
    """
    starts = best.x[:1]
    if task.first is None:
        turning = task.problem.limits.turns
        others = candidates.x[: candidates.first[1]]
        turns = np.round((starts - others) / FULL_TURN) * turning
        others = np.concatenate([others + FULL_TURN * turns, others])
        inside = ((others >= task.lower) & (others <= task.upper)).all(axis=1)
        others = others[inside]
        nearest = np.argsort(np.linalg.norm(others - starts, axis=1), kind='stable')
        starts = np.concatenate([starts, others[nearest]])[:MOST_STARTS]
    last = len(task.places) - 1
    for x in starts:
        own = replace(task, first=x, last=x)
        ends = candidates.replaced(0, x).replaced(last, x)
        shape = _joined(own, ends, reach)[1]
        if shape is not None:
            return shape
    return None


def _smoothed(task: Task, x: Array) -> Array:
    """The variables (N, v), smoothed in the freedom that the goal leaves; given ends stay."""
    ends = int(task.first is not None), int(task.last is not None)
    if task.slope is not None:
        x, ends = led_on(task, x), (2, ends[1])
    limits = np.array([_finite(getattr(task.rates, name), most) for name, most in USUAL.items()])
    q = smoothed(task.problem, task.targets, task.q(x), task.places, limits, ends)
    return q[:, task.problem.variables]


def _shape(task: Task, x: Array) -> _Shape | int:
    """The joints' path through the variables x (N, v) at the samples, in pieces between stops.

    Returns the sample before an interval that can't be halved, because no solution is between its
    ends, or where something is hit.
    """
    arm, follow = Arm(task.problem), continuation(task.problem)
    if task.slope is not None:
        x = bent(task, x)
    given = np.array([task.first is not None, *[False] * (len(x) - 2), task.last is not None])
    x = np.where(given[:, np.newaxis], x, _off_limits(task, x))
    stops = np.empty(0)
    if not task.path.timed:
        length = task.problem.orientation_length
        close = min(task.within[0], length * task.within[1])
        stops = task.path.corners(close, SHARP, length)
        stops = stops[stops < task.places[-1]]  # of a path's beginning, too
    ends = [0, *np.searchsorted(task.places, stops).tolist(), len(task.places) - 1]
    pieces, worst = list[PPoly](), np.zeros(2)
    for begin, end in pairwise(ends):
        part = slice(begin, end + 1)
        piece = _piece(task, arm, follow, task.places[part], x[part])
        if isinstance(piece, float):
            return min(max(int(np.searchsorted(task.places, piece, 'right')) - 1, begin), end - 1)
        pieces.append(piece[0])
        worst = np.maximum(worst, piece[1])
    return _Shape(tuple(pieces), (float(worst[0]), float(worst[1])))


def _piece(
    task: Task, arm: Arm, follow: Continuation, places: Array, x: Array
) -> tuple[PPoly, tuple[float, float]] | float:
    """A cubic spline through the variables x (N, v) at some places, and the tip's deviation.

    Intervals in which it is not shown to be within what is allowed are halved. Returns the place
    where that is not possible, or something is hit.
    """
    narrow, middle = NARROWEST * task.path.length, places[:1]
    sudden = SUDDEN * float(np.diff(places).min())
    for k in range(REFINEMENTS):
        play = STRICTLY if k < STRICT else PLAY
        ends: Any = 'not-a-knot' if len(places) > 3 else 'natural'
        if task.slope is not None and places[0] == task.places[0]:
            ends = (1, task.slope), ends
        spline = CubicSpline(places, x, bc_type=ends)
        shown = deviation(arm, spline, task.path, task.start, task.within)
        beyond = overshoot(spline, task.lower - play, task.upper + play)
        bad = np.union1d(shown.outside, beyond)
        if not len(bad):
            hit = first_hit(task.problem, spline, task.start) if task.problem.avoids else None
            return (spline, (shown.position, shown.orientation)) if hit is None else hit
        middle = 0.5 * (places[bad] + places[bad + 1])
        q, found = follow.near(task.path.at(middle), task.q(spline(middle)))
        width, step = np.diff(places)[bad], np.abs(np.diff(x, axis=0)[bad]).max(axis=1)
        lost = ~found | (width < narrow) | (width < sudden) & (step > LEAP)
        if lost.any():
            return float(middle[int(np.argmax(lost))])
        x = np.insert(x, bad + 1, _off_limits(task, q[:, task.problem.variables]), axis=0)
        places = np.insert(places, bad + 1, middle)
    return float(middle[0])


def _off_limits(task: Task, x: Array) -> Array:
    """The variables x (N, v), moved APART from limits that are nearer."""
    apart = np.minimum(APART * min(task.within), 0.25 * (task.upper - task.lower))
    return np.clip(x, task.lower + apart, task.upper - apart)


# --- results -------------------------------------------------------------------------------------


def _law(task: Task, shape: _Shape) -> timing.TimeLaw:
    """The fastest motion along the joints' path, or that at the given times."""
    if not task.path.timed:
        moving = int(task.speed > 0.0)
        laws = [fastest(p, task.tip_use, task.rates) for p in shape.pieces[moving:]]
        if moving:
            first = fastest_in_motion(shape.pieces[0], task.tip_use, task.rates, task.speed)
            laws.insert(0, first)
        return timing.in_succession(laws)
    start = task.path.places[0]
    return timing.TimeLaw(task.path.length, lambda t: _at_given_times(task, t + start))


def _moved(task: Task, shape: _Shape, law: timing.TimeLaw, period: float) -> PathResult:
    """The motion along the joints' path; or, with times, perhaps that they are too short."""
    if task.path.timed or task.speed > 0.0:
        places, use = uses(shape.pieces[0], task.tip_use, task.rates, _first_of(law, shape))
        if float(use.max(initial=0.0)) > 1.0 + ROUNDING:
            return _too_fast(task, shape, use, places)
    if task.path.timed:
        frames = math.floor(law.duration / period + ROUNDING)
    else:
        frames = max(math.ceil(law.duration / period - ROUNDING), 1)
        if task.speed == 0.0:  # else it rests at the end instead, for less than a period
            law = law.slowed(frames * period / law.duration)
    if frames > MOST_FRAMES:
        raise InvalidOption(
            f'period = {period:g} s: the motion takes {law.duration:.4g} s, which are more than '
            f'{MOST_FRAMES:,} frames'
        )
    times: Array = np.linspace(0.0, frames * period, frames + 1, dtype=float)
    given, moments = task.path.given_places, moments_of(law)
    pose_times = np.interp(given, law.place(moments)[0], moments)
    pose_times[given == task.places[-1]] = law.duration  # it gets there slowly
    motion = task.q(shape.at(law.place(np.minimum(times, law.duration))[0], task))
    return PathResult(
        motion=Motion(task.problem.robot.joint_names, motion, period),
        reason=PathReason.DONE,
        message=PathReason.DONE.value,
        interval=None,
        fraction=1.0,
        reconfigurations=(),
        q=task.q(shape.at(given, task)),
        pose_times=pose_times,
        deviation=shape.deviation,
        note=task.note,
    )


def _first_of(law: timing.TimeLaw, shape: _Shape) -> timing.TimeLaw:
    """The part of a motion that is on the first piece of the joints' path."""
    moments = moments_of(law)
    on_first = law.place(moments)[0] <= shape.pieces[0].x[-1]
    return timing.TimeLaw(float(moments[on_first][-1]), law.place)


def _at_given_times(task: Task, t: Array) -> Array:
    """The parameter, which is the time but next to rest, and its derivatives (4, M)."""
    motion = np.zeros((4, len(t)))
    motion[0], motion[1] = t, 1.0
    if not task.rests:
        return motion
    places = task.path.places
    if len(places) == 2:
        ramps = [(t >= places[0], places[0], places[1] - places[0], REST_TO_REST)]
    else:  # the last interval is passed as the first one, backwards
        ramps = [
            (t < places[1], places[0], places[1] - places[0], REST_TO_SPEED),
            (t > places[-2], places[-1], places[-2] - places[-1], REST_TO_SPEED),
        ]
    for own, start, span, ramp in ramps:
        part = (t[own] - start) / span
        motion[0, own] = start + span * ramp(part)
        for k in (1, 2, 3):
            motion[k, own] = span ** (1 - k) * ramp.deriv(k)(part)
    return motion


def _too_fast(task: Task, shape: _Shape, use: Array, places: Array) -> PathResult:
    """The result for times that are too short, from the uses (3, M, v + 1) of limits at places."""
    factors = np.stack([use[k] ** (1.0 / (k + 1)) for k in range(3)])
    k, i, j = (int(v) for v in np.unravel_index(int(np.argmax(factors)), factors.shape))
    names = [*(task.problem.robot.joint_names[v] for v in task.problem.variables), 'the tip']
    late = (factors.max(axis=(0, 2)) > 1.0).nonzero()[0]
    first, last = (task.path.pose_at(float(places[v])) for v in (late[0], late[-1]))
    what = ('velocity', 'acceleration', 'jerk')[k]
    begun = 'begun with dq0, ' if task.speed > 0.0 else ''
    message = (
        f'{begun}{float(factors[k, i, j]):.4g} times too fast at pose '
        f'{task.path.pose_at(float(places[i])):.4g}: the {what} of {names[j]} is '
        f'{float(use[k, i, j]):.3g} times its limit; too fast between poses {first:.4g} and '
        f'{last:.4g}'
    )
    return _failure(
        task,
        PathReason.TOO_FAST,
        message,
        (first, last),
        float((places[late[0]] - places[0]) / task.path.length),
        q=task.q(shape.at(task.path.given_places, task)),
    )


def _failure(
    task: Task,
    reason: PathReason,
    message: str,
    interval: tuple[float, float],
    fraction: float,
    reconfigurations: tuple[float, ...] = (),
    q: Array | None = None,
) -> PathResult:
    """A result without a motion."""
    return PathResult(
        motion=None,
        reason=reason,
        message=message,
        interval=interval,
        fraction=fraction,
        reconfigurations=reconfigurations,
        q=np.empty((0, task.problem.robot.n)) if q is None else q,
        pose_times=np.empty(0),
        deviation=(math.nan, math.nan),
        note=task.note,
    )


def _none_failure(
    task: Task, candidates: Candidates, usable: Candidates, reach: float
) -> PathResult:
    """The result for a path of which some samples have no usable solution."""
    empty = (usable.counts == 0).nonzero()[0]
    first = int(empty[0])
    gaps = np.flatnonzero(np.diff(empty) > 1)
    last = int(empty[gaps[0]] if len(gaps) else empty[-1])
    some = slice(first, last + 1)
    counts = candidates.counts[some]
    reason, why = why_none(task.problem, task.targets[some], task.start, counts)
    poses = (
        task.path.pose_at(float(task.places[first])),
        task.path.pose_at(float(task.places[last])),
    )
    fraction = _prefix(task, usable, first, reach)
    return _failure(task, reason, f'{_poses(*poses)}: {why}', poses, fraction)


def _prefix(task: Task, usable: Candidates, count: int, reach: float) -> float:
    """The fraction of the path that can be done if only the first `count` samples have any."""
    if count < 2:
        return 0.0
    first = usable.first[: count + 1]
    part = Candidates(usable.x[: first[-1]], first, usable.band[: first[-1]])
    own = replace(task, places=task.places[:count], targets=task.targets[:count], last=None)
    sequence, _ = _joined(own, part, reach)
    return _done(task, sequence)


def _done(task: Task, sequence: Sequence) -> float:
    """The fraction of the path up to the last sample that no reconfiguration is needed for."""
    last = int((sequence.done == 0).nonzero()[0][-1])
    return float((task.places[last] - task.places[0]) / task.path.length)


def _broken_failure(task: Task, sequence: Sequence) -> PathResult:
    """The result for a path that needs reconfigurations, or that can't be followed closely."""
    index = np.searchsorted(task.places, task.path.given_places)
    places = [task.path.pose_at(float(place)) for place in task.places]
    breaks = sequence.breaks.tolist()
    i = breaks[0] if breaks else 1
    interval = places[i - 1], places[i]
    why = why_broken(task.problem, task.targets[i], task.q(sequence.x[i - 1 : i])[0])
    many = f'{len(breaks)} reconfigurations' if len(breaks) > 1 else 'a reconfiguration'
    message = f'{_poses(*interval)}: {why}; at least {many} would be needed'
    if not breaks:
        interval = places[0], places[-1]
        message = (
            f'{_poses(*interval)}: no joint path was found that keeps the tip within '
            f'{length(task.within[0])} and {angle(task.within[1])}; keep_within= may be larger'
        )
    return _failure(
        task,
        PathReason.RECONFIGURATION,
        message,
        interval,
        _done(task, sequence) if breaks else 0.0,
        tuple(places[k] for k in breaks),
        task.q(sequence.x[index]),
    )


def _open_failure(task: Task, sequence: Sequence) -> PathResult:
    """The result for a closed path that can be done, but ends in another configuration."""
    gaps = sequence.x[-1] - sequence.x[0]
    j = int(np.argmax(np.abs(gaps)))
    name = task.problem.robot.joint_names[task.problem.variables[j]]
    index = np.searchsorted(task.places, task.path.given_places)
    last = task.path.pose_at(float(task.places[-1]))
    return _failure(
        task,
        PathReason.RECONFIGURATION,
        f'{_poses(last, last)}: no motion was found that ends in the configuration in which it '
        f'begins; the best one is off by {float(gaps[j]):.3g} in {name}',
        (last, last),
        1.0,
        (last,),
        task.q(sequence.x[index]),
    )


def _poses(first: float, last: float) -> str:
    """A range of poses in words."""
    one, two = (f'{pose:.4g}' if pose % 1.0 else f'{pose:.0f}' for pose in (first, last))
    return f'pose {one}' if one == two else f'poses {one} to {two}'


def _finite(row: Array, default: float) -> Array:
    """A row with a default in place of inf."""
    return np.where(np.isfinite(row), row, default)
