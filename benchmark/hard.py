# SPDX-License-Identifier: Apache-2.0
"""`ik bench hard`: the default solver on hard problems with a known truth.

There is a row for each of CASES. 'mastered' counts goals reached to 1e-6 m and 1e-6 rad, or, for
goals out of reach, closest points to 1e-6 m of sqrt(cost). The true closest point is that of a
closed form, or the best that `global_best` finds from 300 random starts, which is done for one
problem in 100. `worst_gap_m` is the largest distance of a solve from the truth. Times are of whole
calls of `solver.solve` with compiled kernels, including packing if each problem pins other joints.

CASES has generators: endless streams of problems drawn from a random generator. The truth `best`
is the least square root of the cost that exists [m]: 0 for goals made by forward kinematics, that
of a closed form for arms whose workspace is a disc or a ball, and NaN if only a search
(`global_best`) can find it. Solve a case before drawing the next one of its stream: they share a
problem, whose goals move.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.result import IkResult
from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import DEFAULT_SOLVER, make_solver
from ik_core.solvers.base import Solver
from ik_core.tasks import AxisTask, OrientationTask, PoseTask, PositionTask

from .problems import (
    TOLERANCE,
    Random,
    aim,
    any_q,
    half_turn,
    pose_problem,
    projected,
    random_q,
    tight,
    unit_vector,
)
from .results import Row
from .robots import X, arm, planar_arm, puma, scaled

EVERY_SEARCHED = 100  # of the cases that need a search for their truth, one in this many is solved


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, a start (n,), and the least sqrt(cost) [m] that exists, NaN if unknown."""

    problem: IkProblem
    q0: Array
    best: float = 0.0


Cases = Iterator[Case]


def gap(case: Case, result: IkResult) -> float:
    """Return the distance [m] of the result from the best; 0 if the goals are reached."""
    return 0.0 if result.success else math.sqrt(result.cost) - case.best


def is_mastered(case: Case, result: IkResult) -> bool:
    """Return whether the result reaches the goals, or is the closest point."""
    return result.success if case.best == 0.0 else abs(gap(case, result)) <= TOLERANCE


def global_best(problem: IkProblem, q0: Array, rng: Random, starts: int = 300) -> float:
    """Return the least sqrt(cost) from many random starts; scipy polishes the best of them.

    Each start is a solve without restarts; scipy alone gets a thirtieth more starts.
    """
    solver = make_solver(DEFAULT_SOLVER, restarts=0)
    found = [solver.solve(problem, random_q(problem, q0, rng)) for _ in range(starts)]
    found.sort(key=lambda result: result.cost)
    ends = [result.q for result in found[:5]]
    ends += [random_q(problem, q0, rng) for _ in range(starts // 30)]
    problem.start(q0)
    costs = [found[0].cost, *(_polished(problem, q[problem.variables]) for q in ends)]
    return math.sqrt(min(costs))


def _polished(problem: IkProblem, x: Array) -> float:
    from scipy.optimize import least_squares  # slow to import, and only needed here

    low, high = problem.limits.lower, problem.limits.upper
    free = low < high
    room = np.where(free, 1e-9 * np.minimum(high - low, 1.0), 0.0)

    def whole(part: Array) -> Array:
        y = x.copy()
        y[free] = part
        return y

    found = least_squares(
        lambda part: problem.at(whole(part)).residual,
        np.clip(x, low + room, high - room)[free],
        lambda part: problem.at(whole(part)).jacobian[:, free],
        bounds=(low[free], high[free]),
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=100,
    )
    return 2.0 * float(found.cost)


# --- the boundary of the workspace ---------------------------------------------------------------


def stretched(name: str, straight: tuple[int, ...], rng: Random) -> Cases:
    """Yield poses of an arm that is stretched out: its joints `straight` are at 0."""
    problem = pose_problem(arm(name))
    while True:
        q = any_q(problem, rng)
        q[list(straight)] = 0.0
        aim(problem, q)
        yield Case(problem, any_q(problem, rng))


def disc(beyond: float, rng: Random) -> Cases:
    """Yield positions for the planar arm, `beyond` metres outside its disc."""
    problem = tight(planar_arm(), [PositionTask('tip')], position_tolerance=1e-7)
    while True:
        angle = rng.uniform(-np.pi, np.pi)
        point = (3.0 + beyond) * np.array([math.cos(angle), math.sin(angle), 0.0])
        problem.goals[0].set_target(position=point)
        yield Case(problem, any_q(problem, rng), beyond)


def ball(beyond: float, rng: Random) -> Cases:
    """Yield positions for the LBR iiwa's tip, `beyond` metres outside the ball that it reaches.

    Stretched out (joints 4 and 6 at 0) it is a rod that turns about the shoulder, which tilts
    by 120 degrees.
    """
    problem = tight(load_robot('iiwa14'), [PositionTask('iiwa_link_ee')], position_tolerance=1e-7)
    shoulder = problem.robot.forward_kinematics(np.zeros(7), 'iiwa_link_2')[:3, 3]
    top = problem.robot.forward_kinematics(np.zeros(7), 'iiwa_link_ee')[:3, 3]
    reach = float(np.linalg.norm(top - shoulder))
    while True:
        tilt, turn = rng.uniform(0.1, 1.9), rng.uniform(-np.pi, np.pi)
        way = [math.sin(tilt) * math.cos(turn), math.sin(tilt) * math.sin(turn), math.cos(tilt)]
        problem.goals[0].set_target(position=shoulder + (reach + beyond) * np.array(way))
        yield Case(problem, any_q(problem, rng), beyond)


def unreachable_poses(name: str, stretch: float, shift: float, rng: Random) -> Cases:
    """Yield reachable poses, moved away from the root by a factor and shifted at random [m]."""
    problem = pose_problem(arm(name))
    task = problem.goals[0]
    while True:
        target = problem.robot.forward_kinematics(any_q(problem, rng), task.link)
        target[:3, 3] = stretch * target[:3, 3] + shift * rng.normal(size=3)
        task.set_target(target)
        yield Case(problem, any_q(problem, rng), math.nan)


# --- singularities -------------------------------------------------------------------------------


def singular(name: str, kind: str, away: float, rng: Random) -> Cases:
    """Yield poses of an arm at a kind of singularity, or `away` radians from one."""
    problem = pose_problem(arm(name))
    while True:
        q = singular_q(problem, name, kind, rng)
        aim(problem, projected(problem, q + away * rng.choice([-1.0, 1.0], len(q))))
        yield Case(problem, any_q(problem, rng))


def singular_start(name: str, kind: str, rng: Random) -> Cases:
    """Yield random poses, with singular starts."""
    problem = pose_problem(arm(name))
    while True:
        aim(problem, any_q(problem, rng))
        yield Case(problem, singular_q(problem, name, kind, rng))


def straight_start(rng: Random) -> Cases:
    """Yield goals on the line of the straight planar arm, inside its disc: zero gradients."""
    problem = tight(planar_arm(), [PositionTask('tip')])
    while True:
        angle, radius = rng.uniform(-np.pi, np.pi), rng.choice([-1, 1]) * rng.uniform(0.2, 2.9)
        problem.goals[0].set_target(
            position=[radius * math.cos(angle), radius * math.sin(angle), 0.0]
        )
        yield Case(problem, np.array([angle, 0.0, 0.0]))


# Joint positions at a singularity [rad]; the other joints are free.
FIXED_JOINTS: dict[tuple[str, str], dict[int, float]] = {
    ('ur5e', 'wrist'): {4: 0.0},
    ('ur5e', 'elbow'): {2: 0.0},
    ('puma', 'wrist'): {4: 0.0},
    ('puma', 'elbow'): {2: 0.0},
    ('iiwa14', 'wrist'): {5: 0.0, 4: 0.5 * math.pi},
    ('iiwa14', 'elbow'): {3: 0.0},
    ('iiwa14', 'shoulder'): {1: 0.0, 2: 0.5 * math.pi},
}


def singular_q(problem: IkProblem, name: str, kind: str, rng: Random) -> Array:
    """Return a random singular configuration (n,): 'wrist', 'elbow', 'shoulder' or 'any'."""
    while True:
        q = any_q(problem, rng)
        if (name, kind) in FIXED_JOINTS:
            for index, value in FIXED_JOINTS[name, kind].items():
                q[index] = value
            return q
        found = _turn_shoulder(problem, q) if kind == 'shoulder' else _nearest(problem, q)
        if found is not None:
            return found


def _turn_shoulder(problem: IkProblem, q: Array) -> Array | None:
    """Return q with joint 2 of a 6-dof arm at a zero of det J: the wrist is above joint 1."""

    def determinant(angle: float) -> float:
        q[1] = angle
        jacobian = problem.robot.jacobian(q, problem.goals[0].link)
        return float(np.linalg.det(jacobian))

    low, high = q[1] - 0.5, q[1] + 0.5
    start = determinant(low)
    if start * determinant(high) >= 0.0:
        return None
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if determinant(middle) * start > 0.0 else (low, middle)
    return q if problem.limits.lower[1] <= q[1] <= problem.limits.upper[1] else None


def _nearest(problem: IkProblem, q: Array) -> Array | None:
    """Return a configuration near q where a unit u has u'J = 0; None if Newton's method fails."""
    n, link = len(q), problem.goals[0].link

    def residual(z: Array) -> Array:
        u = z[n:]
        return np.append(u @ problem.robot.jacobian(z[:n], link), u @ u - 1.0)

    z = np.append(q, np.linalg.svd(problem.robot.jacobian(q, link))[0][:, -1])
    for _ in range(20):
        r = residual(z)
        if np.abs(r).max() < 1e-13:
            found = np.array(z[:n])
            return found if (projected(problem, found) == found).all() else None
        rates = np.array([residual(z + step) - r for step in 1e-7 * np.eye(len(z))]).T / 1e-7
        z = z - np.linalg.pinv(rates) @ r
    return None


# --- rotations, limits, starts -------------------------------------------------------------------


def half_turned_flange(name: str, rng: Random) -> Cases:
    """Yield the pose of the start, turned by 180 degrees about the last joint."""
    problem = pose_problem(arm(name))
    last = problem.variables[-1]
    while True:
        q = any_q(problem, rng)
        aim(problem, q)
        q0 = q.copy()
        q0[last] += -np.pi if q[last] > 0.0 else np.pi
        yield Case(problem, projected(problem, q0))


def half_turned(name: str, rng: Random) -> Cases:
    """Yield orientations 180 degrees from the start's, about any axis."""
    of = arm(name)
    problem = tight(of, [OrientationTask(of.tips()[0])])
    link = problem.goals[0].link
    while True:
        q0 = any_q(problem, rng)
        problem.goals[0].set_target(of.forward_kinematics(q0, link) @ half_turn(unit_vector(rng)))
        yield Case(problem, q0)


def on_limits(name: str, rng: Random) -> Cases:
    """Yield poses of configurations with two to all joints exactly on a limit."""
    problem = pose_problem(arm(name))
    of = problem.robot
    ranged = [j for j in problem.variables if np.isfinite(of.upper[j] - of.lower[j])]
    while True:
        q = any_q(problem, rng)
        chosen = rng.permutation(ranged)[: rng.integers(2, len(ranged) + 1)]
        upper = rng.random(len(chosen)) < 0.5
        q[chosen] = np.where(upper, of.upper[chosen], of.lower[chosen])
        aim(problem, q)
        yield Case(problem, any_q(problem, rng))


def equal_limits(name: str, pinned: int, rng: Random) -> Cases:
    """Yield poses for an arm with `pinned` joints whose lower and upper limits are equal."""
    of = arm(name)
    variables = of.chain(of.tips()[0])
    while True:
        lower, upper = of.lower.copy(), of.upper.copy()
        chosen = rng.permutation(variables)[:pinned]
        lower[chosen] = upper[chosen] = rng.uniform(lower[chosen], upper[chosen])
        problem = pose_problem(of, lower=lower, upper=upper)
        aim(problem, any_q(problem, rng))
        yield Case(problem, any_q(problem, rng))


def outside_start(name: str, rng: Random) -> Cases:
    """Yield starts up to 3 rad beyond the limits of some joints."""
    problem = pose_problem(arm(name))
    while True:
        aim(problem, any_q(problem, rng))
        q0 = any_q(problem, rng)
        out = rng.random(len(q0)) < 0.5
        beyond = rng.uniform(0.0, 3.0, len(q0))
        low = rng.random(len(q0)) < 0.5
        outside = np.where(low, problem.robot.lower - beyond, problem.robot.upper + beyond)
        yield Case(problem, np.where(out, outside, q0))


def at_the_goal(name: str, rng: Random) -> Cases:
    """Yield starts that are solutions."""
    problem = pose_problem(arm(name))
    while True:
        q = any_q(problem, rng)
        aim(problem, q)
        yield Case(problem, q)


# --- kinds of goals and robots -------------------------------------------------------------------


def random_poses(make: Callable[[], Robot], position_tolerance: float, rng: Random) -> Cases:
    """Yield random reachable poses from random starts."""
    problem = pose_problem(make(), position_tolerance=position_tolerance)
    while True:
        aim(problem, any_q(problem, rng))
        yield Case(problem, any_q(problem, rng))


def four_dof(rng: Random) -> Cases:
    """Yield goals of x, y, z and yaw for the SCARA, which can't change roll and pitch."""
    of = load_robot('scara')
    tip = of.tips()[0]
    problem = tight(of, [PoseTask(tip, orientation_weights=(0.0, 0.0, 1.0))])
    while True:
        aim(problem, any_q(problem, rng))
        yield Case(problem, any_q(problem, rng))


def five_dof(rng: Random) -> Cases:
    """Yield goals of a position and the direction of an axis, for an arm of five joints."""
    of = load_robot('arm5')
    tip = of.tips()[0]
    problem = tight(of, [PositionTask(tip), AxisTask(tip, X)])
    while True:
        aim(problem, any_q(problem, rng))
        yield Case(problem, any_q(problem, rng))


def conflicting(rng: Random) -> Cases:
    """Yield two positions for the same link, around a reachable one: their middle is the best."""
    of = load_robot('iiwa14')
    problem = tight(of, [PositionTask('iiwa_link_ee'), PositionTask('iiwa_link_ee')])
    while True:
        middle = of.forward_kinematics(any_q(problem, rng), 'iiwa_link_ee')[:3, 3]
        away = rng.uniform(0.01, 1.0) * unit_vector(rng)
        problem.goals[0].set_target(position=middle + away)
        problem.goals[1].set_target(position=middle - away)
        yield Case(problem, any_q(problem, rng), math.sqrt(2.0) * float(np.linalg.norm(away)))


# Generators of cases, by difficulty and robot.
CASES: dict[str, Callable[[Random], Cases]] = {
    'stretched: ur5e': partial(stretched, 'ur5e', (2,)),
    'stretched: iiwa14': partial(stretched, 'iiwa14', (3, 5)),
    'stretched: puma': partial(stretched, 'puma', (2, 4)),
    'on the boundary: planar': partial(disc, 0.0),
    'on the boundary: iiwa14': partial(ball, 0.0),
    **{
        f'{kind} singularity: {name}': partial(singular, name, kind, 0.0)
        for name in ('ur5e', 'puma', 'iiwa14')
        for kind in ('wrist', 'elbow', 'shoulder')
    },
    'any singularity: panda': partial(singular, 'panda', 'any', 0.0),
    '1e-3 rad from one: ur5e': partial(singular, 'ur5e', 'elbow', 1e-3),
    '1e-6 rad from one: ur5e': partial(singular, 'ur5e', 'elbow', 1e-6),
    'start on a singularity: ur5e': partial(singular_start, 'ur5e', 'wrist'),
    'start on a singularity: iiwa14': partial(singular_start, 'iiwa14', 'elbow'),
    'start on a singularity: panda': partial(singular_start, 'panda', 'any'),
    'start straight at the goal: planar': straight_start,
    'half turn of the flange: ur5e': partial(half_turned_flange, 'ur5e'),
    'half turn of the flange: panda': partial(half_turned_flange, 'panda'),
    'half turn about any axis: ur5e': partial(half_turned, 'ur5e'),
    'on several limits: panda': partial(on_limits, 'panda'),
    'on several limits: iiwa14': partial(on_limits, 'iiwa14'),
    'on several limits: pr2_like': partial(on_limits, 'pr2_like'),
    **{
        f'{beyond:g} m beyond: {name}': partial(where, beyond)
        for beyond in (1e-6, 1e-4, 1e-2, 3.0, 1e3)
        for name, where in (('planar', disc), ('iiwa14', ball))
    },
    **{
        f'unreachable pose, {text}: {name}': partial(unreachable_poses, name, stretch, shift)
        for text, stretch, shift in (
            ('barely', 1.05, 0.0),
            ('shifted', 1.0, 0.3),
            ('2 x', 2.0, 0.0),
            ('5 x', 5.0, 0.0),
            ('1e3 m', 1.0, 1e3),
        )
        for name in ('panda', 'ur5e', 'arm5')
    },
    '4 dof, x y z yaw: scara': four_dof,
    '5 dof, position and axis: arm5': five_dof,
    **{
        f'{scale:g} x: puma': partial(random_poses, partial(puma, scale), min(scale, 1.0) * 1e-6)
        for scale in (0.01, 100.0)
    },
    **{
        f'{scale:g} x: panda': partial(
            random_poses, partial(scaled, 'panda', scale), min(scale, 1.0) * 1e-6
        )
        for scale in (0.01, 100.0)
    },
    'one joint pinned: panda': partial(equal_limits, 'panda', 1),
    'three joints pinned: panda': partial(equal_limits, 'panda', 3),
    'all joints pinned: panda': partial(equal_limits, 'panda', 7),
    'start outside the limits: panda': partial(outside_start, 'panda'),
    'start at the goal: panda': partial(at_the_goal, 'panda'),
    'conflicting goals: iiwa14': conflicting,
    'two tips: dual_arm': partial(random_poses, partial(load_robot, 'dual_arm'), TOLERANCE),
}


# --- rows ----------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The outcome of a solve; `gap` [m]."""

    seconds: float
    evaluations: int
    mastered: bool
    gap: float


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each case."""
    for name, cases in bar(list(CASES.items()), 'hard'):
        yield _row(name, list(_outcomes(cases(np.random.default_rng(0)), arguments.count)))


def _outcomes(cases: Cases, count: int) -> list[Outcome]:
    solver = make_solver(DEFAULT_SOLVER)
    warm = next(cases)
    solver.solve(warm.problem, warm.q0)
    every = EVERY_SEARCHED if math.isnan(warm.best) else 1
    return [_outcome(solver, case) for case in itertools.islice(cases, -(-count // every))]


def _outcome(solver: Solver, case: Case) -> Outcome:
    started = time.perf_counter()
    result = solver.solve(case.problem, case.q0)
    seconds = time.perf_counter() - started
    if math.isnan(case.best):
        rng = np.random.default_rng(1)
        case = replace(case, best=global_best(case.problem, case.q0, rng))
    return Outcome(seconds, result.evaluations, is_mastered(case, result), gap(case, result))


def _row(name: str, outcomes: list[Outcome]) -> Row:
    times = 1e6 * np.array([outcome.seconds for outcome in outcomes])
    hard, _, robot = name.rpartition(': ')
    return {
        'case': hard,
        'robot': robot,
        'problems': len(outcomes),
        'mastered_percent': 100.0 * float(np.mean([outcome.mastered for outcome in outcomes])),
        'mean_us': float(times.mean()),
        'median_us': float(np.median(times)),
        'p99_us': float(np.percentile(times, 99)),
        'mean_evaluations': float(np.mean([outcome.evaluations for outcome in outcomes])),
        'worst_gap_m': max(max(outcome.gap for outcome in outcomes), 0.0),
    }
