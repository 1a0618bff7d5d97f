# SPDX-License-Identifier: Apache-2.0
"""The beginning of a motion that does not begin at rest: its direction, and its timing.

The path of the joints is bent into the first direction, within what the tip may be off its path.

The timing is the end of a longer motion from rest to rest. That one begins on a straight *run-in*
of the joints, along the path's first direction, on which the parameter may not be faster than the
motion has to begin. Afterwards its speed may rise as the largest jerk raises it.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline, PPoly
from scipy.optimize import brentq

from ..maths.rotations import Array
from . import timing
from .candidates import continuation
from .checked import fastest
from .task import Rates, Task, TipUse

SPARE = 0.99  # fraction of the limits that the longer motion uses
ROUNDS, CLOSE, MOST = 4, 1.001, 1.5  # of cap: raised until the speed is nearly right, or too large
POINTS = 32  # intervals of the run-in
UNLIMITED = 1e9  # in place of rates without limits
BENT = 1.0 / 3.0  # fraction of the path in which it may be bent, at most
OFF = 0.5  # fraction of what the tip may be off its path that bending takes
HIGHEST = 27.0 / 256.0  # of t (1 - t)^3
FASTER = 2.5  # largest factor by which the beginning is sped up alone


def led_on(task: Task, x: Array) -> Array:
    """The variables x (N, v) at the samples, of which the second one continues the task's slope in
    what the goal leaves free."""
    step = (task.places[1] - task.places[0]) * task.slope
    q, found = continuation(task.problem).near(task.targets[1:2], task.q(x[:1] + step))
    return np.vstack([x[:1], q[:, task.problem.variables], x[2:]]) if found[0] else x


def bent(task: Task, x: Array) -> Array:
    """The variables x (N, v) at the samples, bent at the beginning into the task's slope.

    What the goal leaves free is bent along BENT of the path, and the tip stays on it. The rest is
    bent so far that the tip is off its path by OFF of what is allowed, at most.
    """
    assert task.slope is not None
    problem, places = task.problem, task.places - task.places[0]
    longest = BENT * float(places[-1])
    jacobian = _tip_jacobian(task, x[0])
    if problem.is_redundant:
        gap = task.slope - _slope(task, x)
        free = gap - np.linalg.pinv(jacobian) @ (jacobian @ gap)
        moved = task.q(x + _bump(places, longest)[:, np.newaxis] * free)
        q, found = continuation(problem).near(task.targets, moved)
        if found.all():
            x = q[:, problem.variables].copy()
    gap = task.slope - _slope(task, x)
    shift = jacobian @ gap
    off = max(
        float(np.linalg.norm(shift[:3])) / task.within[0],
        float(np.linalg.norm(shift[3:])) / task.within[1],
    )
    return x + _bump(places, min(longest, OFF / HIGHEST / max(off, 1e-300)))[:, np.newaxis] * gap


def _slope(task: Task, x: Array) -> Array:
    """The derivative (v,) at the beginning of a cubic spline through variables x (N, v)."""
    few = slice(0, 12)
    ends = 'not-a-knot' if len(x[few]) > 3 else 'natural'
    return np.asarray(CubicSpline(task.places[few], x[few], bc_type=ends)(task.places[0], 1))


def _bump(places: Array, length: float) -> Array:
    """A function with a slope of 1 at 0, that ends smoothly at a length, at places (N,)."""
    part = np.minimum(places / length, 1.0)
    return np.asarray(length * part * (1.0 - part) ** 3)


def _tip_jacobian(task: Task, x: Array) -> Array:
    """The Jacobian (6, v) of the goal's link at variables x (v,)."""
    goal = task.problem.goals[0]
    q = task.q(x[np.newaxis])[0]
    jacobian = task.problem.robot.jacobian(q, goal.link, goal.relative_to)
    return np.asarray(jacobian[:, task.problem.variables])


def fastest_in_motion(
    spline: PPoly, tip_use: TipUse | None, rates: Rates, speed: float
) -> timing.TimeLaw:
    """A fast motion to rest along a cubic spline, that begins with a speed of its parameter.

    It exceeds limits if there is none that keeps them.
    """
    start, slope = float(spline.x[0]), np.abs(spline(spline.x[0], 1))
    push, swing = (
        min(float((row / np.maximum(slope, 1e-300)).min()), UNLIMITED)
        for row in (rates.acceleration, rates.jerk)
    )
    before = speed * (speed / push + push / swing)  # enough to reach the speed
    spared = Rates(SPARE * rates.velocity, SPARE * rates.acceleration, SPARE * rates.jerk)
    longer, cap = _with_run_in(spline, before), speed

    def use(u: Array) -> Array:
        own = 0.0 * u if tip_use is None else tip_use(np.maximum(u, start)) * (u > start)
        seconds = np.maximum(u - start, 0.0) / speed
        return np.maximum(own, 1.0 / (cap + 0.5 * swing * seconds**2))

    for _ in range(ROUNDS):
        law = fastest(longer, use, spared)
        moment = _moment(law, start)
        factor = speed / float(law.place(np.array([moment]))[1, 0])
        if factor < CLOSE or factor * cap > MOST * speed:
            break
        cap *= factor
    return _begun_at(law, moment, factor)


def _moment(law: timing.TimeLaw, place: float) -> float:
    """The time [s] at which a motion passes a value of the parameter."""
    return float(brentq(lambda t: law.place(np.array([t]))[0, 0] - place, 0.0, law.duration))


def _with_run_in(spline: PPoly, length: float) -> PPoly:
    """A cubic spline, and before it a straight line of this length of the parameter."""
    start, slope = float(spline.x[0]), spline(spline.x[0], 1)
    knots = start + length * np.linspace(-1.0, 0.0, POINTS + 1)
    line = np.zeros((4, POINTS, len(slope)))
    line[2] = slope
    line[3] = spline(start) + (knots[:-1, np.newaxis] - start) * slope
    return PPoly(np.concatenate([line, spline.c], axis=1), np.concatenate([knots[:-1], spline.x]))


def _begun_at(law: timing.TimeLaw, moment: float, factor: float) -> timing.TimeLaw:
    """A motion from a moment on, sped up by a factor at its beginning."""
    rest = law.duration - moment
    if factor > FASTER:
        quick = law.slowed(1.0 / factor)
        return timing.TimeLaw(rest / factor, lambda t: quick.place(t + moment / factor))
    span = 0.5 * rest  # in which the speed becomes the motion's own, from `factor` to 1
    gained = 0.5 * (factor - 1.0) * span

    def place(t: Array) -> Array:
        x = np.clip(t / span, 0.0, 1.0)
        most = factor - 1.0
        own = t + most * span * (x - 2.5 * x**4 + 3.0 * x**5 - x**6)
        one = 1.0 + most * (1.0 - 10.0 * x**3 + 15.0 * x**4 - 6.0 * x**5)
        two = most * (-30.0 * x**2 + 60.0 * x**3 - 30.0 * x**4) / span
        three = most * (-60.0 * x + 180.0 * x**2 - 120.0 * x**3) / span**2
        u, du, ddu, dddu = law.place(np.minimum(moment + own, law.duration))
        second = ddu * one**2 + du * two
        third = dddu * one**3 + 3.0 * ddu * one * two + du * three
        return np.array([u, du * one, second, third])

    return timing.TimeLaw(rest - gained, place)
