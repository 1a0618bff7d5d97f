# SPDX-License-Identifier: Apache-2.0
"""A self-test of a robot description, before it drives hardware; `ik check` prints it.

A *problem* has to be corrected, or confirmed, before the robot moves: a joint of a tip's chain
without a velocity limit, limits that look like degrees, goals that are not reached. Everything
else worth knowing is a *note*.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..maths.rotations import Array, pose_error
from ..problem import IkProblem
from ..reachability.bounds import reach_bounds
from ..robot.robot import Robot
from ..robot.robot_sources import load_robot
from ..robot.urdf import IN_DEGREES, IN_MILLIMETRES, LONGEST_ARM
from ..robot.urdf_filter import joint_elements
from ..solvers import make_solver
from ..tasks import PoseTask

# values outside of these [turns, rad/s, m/s, m] more likely have a wrong unit
LARGEST_TURNS = 2.0
FASTEST = {'rad': 50.0, 'm': 10.0}
LONGEST_TRAVEL = 10.0
SENSIBLE_REACH = (0.01, LONGEST_ARM)

# a configuration is singular if its smallest singular value, among those that are not always 0, is
# below this fraction of the largest; rotations count as lengths at the end of the arm
SINGULAR = 1e-3

REQUIRED_FRACTION = 0.99  # of the goals
ZERO = 1e-9
CONSISTENT = 1e-6
DIFFERENCE = 1e-5
MOST_CHECKED = 10  # configurations of the checks that take longest
MOST_LISTED = 10  # names in a line
MOST_DRIVERS = 3

# warnings of the loader that this report has in its own words, or as problems
SAID_OTHERWISE = ('no velocity limit', 'can not move', IN_DEGREES, IN_MILLIMETRES)


@dataclass(frozen=True)
class JointReport:
    """A joint: its limits in its `unit`, infinite if there are none, and remarks on them."""

    name: str
    kind: str
    unit: str
    lower: float
    upper: float
    velocity: float
    acceleration: float
    jerk: float
    effort: float
    moves_a_tip: bool
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class TipReport:
    """Results for a tip: random poses of it, solved from the default start.

    `reach` [m] bounds its distance from its first joint. `directions`: the number of the six
    directions in which it can move at once. Times [s] are of the default solver, for information.
    Conditions are ratios of the largest to the smallest singular value, infinite if that is 0.
    """

    link: str
    why: str
    joints: tuple[str, ...]
    reach: float
    directions: int
    goals: int
    reached: int
    worst_position_error: float
    worst_orientation_error: float
    mean_time: float
    worst_time: float
    start_condition: float
    zero_condition: float
    inconsistency: float


@dataclass(frozen=True)
class Report:
    """All results of the self-test."""

    robot: Robot
    joints: tuple[JointReport, ...]
    tips: tuple[TipReport, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def check(
    path: Path,
    tips: Sequence[str] = (),
    goals: int = 200,
    progress: Callable[[int, int], None] | None = None,
    **limits: Any,
) -> Report:
    """Test a URDF file for these tips, by default those that the node would use.

    `goals` random poses are solved for each tip; `progress` is called with (done, all); `limits`
    are options of `load_robot`. Raises UrdfError, FrameNotFound, and UnsupportedProblem for a tip
    that no joint moves.
    """
    robot = load_robot(path, **limits)
    chosen = _chosen_tips(robot, tips)
    moved = {i for tip, _ in chosen for i in robot.chain(tip)}
    efforts = _efforts(robot)
    joints = tuple(
        _joint_report(robot, i, efforts.get(name, math.inf), i in moved)
        for i, name in enumerate(robot.joint_names)
    )
    reports = []
    for number, (tip, why) in enumerate(chosen):

        def show(done: int, before: int = goals * number) -> None:
            if progress is not None:
                progress(before + done, goals * len(chosen))

        reports.append(_tip_report(robot, tip, why, goals, show))
    return Report(
        robot,
        joints,
        tuple(reports),
        problems=tuple(_problems(robot, joints, reports, bool(tips))),
        notes=tuple(_notes(robot, joints, reports)),
    )


def _chosen_tips(robot: Robot, asked: Sequence[str]) -> list[tuple[str, str]]:
    """The tips, each with the reason for its choice."""
    if asked:
        return [(tip, 'asked for') for tip in asked]
    tips = robot.tips()
    longest = [t for t in tips if len(robot.chain(t)) == len(robot.chain(tips[0]))]
    if len(longest) > 1:
        return [(tip, f'ends one of the {len(longest)} longest chains') for tip in longest]
    return [(tip, 'ends the longest chain') for tip in longest]


def _efforts(robot: Robot) -> dict[str, float]:
    """The effort limits by joint, from the description's text, which the loader has checked."""
    efforts = {}
    for joint in joint_elements(robot.urdf):
        limit = joint.find('limit')
        text = '' if limit is None else limit.get('effort', '')
        try:
            effort = float(text)
        except ValueError:
            continue
        if 0.0 < effort < math.inf:
            efforts[joint.get('name', '')] = effort
    return efforts


# --- joints ------------------------------------------------------------------------------------


def _joint_report(robot: Robot, i: int, effort: float, moves_a_tip: bool) -> JointReport:
    lower, upper, velocity = (float(x[i]) for x in (robot.lower, robot.upper, robot.velocity))
    unit = robot.joint_units[i]
    return JointReport(
        name=robot.joint_names[i],
        kind=robot.joint_types[i],
        unit=unit,
        lower=lower,
        upper=upper,
        velocity=velocity,
        acceleration=float(robot.acceleration[i]),
        jerk=float(robot.jerk[i]),
        effort=effort,
        moves_a_tip=moves_a_tip,
        remarks=tuple(_remarks(unit, lower, upper, velocity)),
    )


CAN_NOT_MOVE = 'can not move: its limits are equal'
TOO_WIDE = f'ranges over more than {LARGEST_TURNS:g} turns'
TOO_FAR = f'travels more than {LONGEST_TRAVEL:g} m'
TOO_FAST = {unit: f'is faster than {speed:g} {unit}/s' for unit, speed in FASTEST.items()}
NO_VELOCITY = 'has no velocity limit'
# problems of a joint that moves a tip, with their likely causes
ADVICE = {
    CAN_NOT_MOVE: '',
    TOO_WIDE: ' (meant so, or in degrees?)',
    TOO_FAR: ' (meant so, or in millimetres?)',
    NO_VELOCITY: ', so nothing limits its speed but `joint_limits` (see --yaml)',
    TOO_FAST['rad']: ' (meant so, or in degrees?)',
    TOO_FAST['m']: ' (meant so, or in millimetres?)',
}


def _remarks(unit: str, lower: float, upper: float, velocity: float) -> Iterable[str]:
    """Yield remarks about unusual limits of a joint."""
    width = upper - lower
    if width == 0.0:
        yield CAN_NOT_MOVE
    if unit == 'rad' and LARGEST_TURNS * 2.0 * math.pi + 1e-3 < width < math.inf:
        yield TOO_WIDE
    if unit == 'm' and width > LONGEST_TRAVEL:
        yield TOO_FAR
    if velocity == math.inf:
        yield NO_VELOCITY
    elif velocity > FASTEST[unit]:
        yield TOO_FAST[unit]


# --- tips --------------------------------------------------------------------------------------


def _tip_report(
    robot: Robot, link: str, why: str, goals: int, show: Callable[[int], None]
) -> TipReport:
    goal = PoseTask(link)
    problem = IkProblem(robot, [goal])
    start = problem.default_configuration
    zero = start.copy()
    zero[problem.variables] = problem.limits.project(np.zeros(len(problem.variables)))
    reach = reach_bounds(problem, start).workspace
    samples = _random_configurations(problem, goals)
    errors, times = _solve_for_poses(problem, goal, samples, show)
    reached = (errors <= (problem.position_tolerance, problem.orientation_tolerance)).all(axis=1)
    worst = errors[reached].max(axis=0, initial=0.0)
    directions = max(_directions(problem, reach, q) for q in samples[:MOST_CHECKED])
    return TipReport(
        link=link,
        why=why,
        joints=tuple(robot.joint_names[i] for i in robot.chain(link)),
        reach=reach,
        directions=directions,
        goals=goals,
        reached=int(reached.sum()),
        worst_position_error=float(worst[0]),
        worst_orientation_error=float(worst[1]),
        mean_time=float(times.mean()),
        worst_time=float(times.max()),
        start_condition=_condition(problem, reach, start, directions),
        zero_condition=_condition(problem, reach, zero, directions),
        inconsistency=max(_inconsistency(robot, link, reach, q) for q in samples[:MOST_CHECKED]),
    )


def _random_configurations(problem: IkProblem, count: int) -> Array:
    """Configurations (count, n) inside the limits, always the same ones."""
    rng = np.random.default_rng(0)
    q = np.tile(problem.default_configuration, (count, 1))
    low, high = problem.limits.sample_lower, problem.limits.sample_upper
    q[:, problem.variables] = rng.uniform(low, high, (count, len(low)))
    return q


def _solve_for_poses(
    problem: IkProblem, goal: PoseTask, samples: Array, show: Callable[[int], None]
) -> tuple[Array, Array]:
    """Solve for the poses at configurations (N, n); return errors (N, 2) [m, rad], by forward
    kinematics, and times (N,) [s]."""
    solver = make_solver()
    robot = problem.robot
    errors, times = np.empty((len(samples), 2)), np.empty(len(samples))
    for i in (0, *range(len(samples))):  # the first one twice: its first solve makes buffers
        show(i)
        target = robot.forward_kinematics(samples[i], goal.link)
        goal.set_target(target)
        started = time.perf_counter()
        q = solver.solve(problem).q
        times[i] = time.perf_counter() - started
        errors[i] = pose_error(robot.forward_kinematics(q, goal.link), target)
    show(len(samples))
    return errors, times


def _singular_values(problem: IkProblem, reach: float, q: Array) -> Array:
    """Singular values of the tip's Jacobian, descending; lengths are relative to the reach."""
    jacobian = problem.robot.jacobian(q, problem.goals[0].link)[:, problem.variables]
    jacobian[:3] /= reach if 0.0 < reach < math.inf else 1.0
    return np.array(np.linalg.svd(jacobian, compute_uv=False), float)


def _directions(problem: IkProblem, reach: float, q: Array) -> int:
    """The number of directions in which the tip can move at q."""
    values = _singular_values(problem, reach, q)
    return int(np.count_nonzero(values > ZERO * values[0]))


def _condition(problem: IkProblem, reach: float, q: Array, directions: int) -> float:
    """Return the ratio of the largest to the smallest singular value that is not always 0."""
    values = _singular_values(problem, reach, q)
    last = float(values[directions - 1])
    return float(values[0]) / last if last > ZERO * values[0] else math.inf


def _inconsistency(robot: Robot, link: str, reach: float, q: Array) -> float:
    """The largest error of the pose's rigidity, and of the Jacobian against differences."""
    rotation = robot.forward_kinematics(q, link)[:3, :3]
    worst = float(np.abs(rotation.T @ rotation - np.eye(3)).max())
    jacobian = robot.jacobian(q, link)
    scale = max(1.0, reach) if reach < math.inf else 1.0
    for i in robot.chain(link):
        above, below = q.copy(), q.copy()
        above[i] += DIFFERENCE
        below[i] -= DIFFERENCE
        ends = [robot.forward_kinematics(x, link)[:3, 3] for x in (above, below)]
        slope = (ends[0] - ends[1]) / (above[i] - below[i])
        worst = max(worst, float(np.abs(slope - jacobian[:3, i]).max()) / scale)
    return worst


# --- problems and notes ------------------------------------------------------------------------


def _problems(
    robot: Robot, joints: Sequence[JointReport], tips: Sequence[TipReport], asked: bool
) -> Iterable[str]:
    if not tips:
        yield 'no joint moves: there is nothing to solve for'
    if len(tips) > 1 and not asked:
        yield (
            f'{len(tips)} chains are the longest: name the tip by --tip, and to the node by '
            f'tip_links: {", ".join(tip.link for tip in tips)}'
        )
    yield from (w for w in robot.warnings if IN_DEGREES in w)  # lengths are checked below
    ours = [joint for joint in joints if joint.moves_a_tip]
    for remark, advice in ADVICE.items():
        yield from _listed(remark + advice, (j.name for j in ours if remark in j.remarks))
    for tip in tips:
        low, high = SENSIBLE_REACH
        slides_far = any(TOO_FAR in j.remarks for j in joints if j.name in tip.joints)
        if 0.0 < tip.reach < low or (high < tip.reach < math.inf and not slides_far):
            yield f'{tip.link}: gets {tip.reach:.4g} m from its first joint; are the units metres?'
        if tip.reached < REQUIRED_FRACTION * tip.goals:
            missed = tip.goals - tip.reached
            yield f'{tip.link}: {missed} of {tip.goals} reachable poses are missed'
        if tip.inconsistency > CONSISTENT:
            yield (
                f'{tip.link}: forward kinematics and its derivative differ by '
                f'{tip.inconsistency:.1g}'
            )


def _notes(
    robot: Robot, joints: Sequence[JointReport], tips: Sequence[TipReport]
) -> Iterable[str]:
    for warning in robot.warnings:
        if not any(said in warning for said in SAID_OTHERWISE):
            yield warning
    drivers = dict.fromkeys(mimic.joint for mimic in robot.mimic_joints.values())
    if len(drivers) > MOST_DRIVERS:
        yield from _listed(f'mimic {len(drivers)} other joints', robot.mimic_joints, MOST_LISTED)
    else:
        for driver in drivers:
            names = (name for name, mimic in robot.mimic_joints.items() if mimic.joint == driver)
            yield from _listed(f'mimics {driver}', names, MOST_LISTED)
    for tip in tips:
        yield from _gripper_notes(robot, tip)
    ours = [joint for joint in joints if joint.moves_a_tip]
    if tips:
        others = (joint.name for joint in joints if not joint.moves_a_tip)
        yield from _listed('moves no tip, and keeps its position', others, MOST_LISTED)
    yield from _listed('turns without end', (j.name for j in ours if j.kind == 'continuous'))
    weak = (joint.name for joint in ours if joint.effort == math.inf)
    yield from _listed('has no effort limit, which controllers and simulators may need', weak)
    away = (joint.name for joint in ours if not joint.lower <= 0.0 <= joint.upper)
    yield from _listed('can not move to zero', away)
    for note in dict.fromkeys(note for tip in tips for note in _tip_notes(tip)):
        yield from _listed(note, (tip.link for tip in tips if note in _tip_notes(tip)))


def _gripper_notes(robot: Robot, tip: TipReport) -> Iterable[str]:
    """Suggest the farthest link before the last joint if that looks like a gripper's."""
    body = robot.placement(tip.link).body
    before, name = int(robot.tree[body, 0]), robot.body_names[body]
    if before < 0 or name not in robot.gripper_joints(tip.link):
        return
    placements = {link: robot.placement(link) for link in robot.link_names}
    arms = [link for link, placement in placements.items() if placement.body == before]
    if arms:
        reach = {link: float(np.linalg.norm(placements[link].transform[:3, 3])) for link in arms}
        best = max(arms, key=lambda link: reach[link])
        yield f'{tip.link}: the last joint, {name}, looks like a gripper; --tip {best}?'


def _tip_notes(tip: TipReport) -> list[str]:
    notes = []
    if tip.directions < 6:
        notes.append(
            f'moves in {tip.directions} of 6 directions at once, so most poses are out of reach '
            '(ask for a position, or mask the rest)'
        )
    elif len(tip.joints) > 6:
        notes.append(f'is redundant, with {len(tip.joints)} joints for 6 directions')
    if tip.start_condition > 1.0 / SINGULAR:
        notes.append('is singular, or nearly so, at the default start, the middle of the limits')
    if tip.zero_condition > 1.0 / SINGULAR:
        notes.append('is singular, or nearly so, with all joints at zero, or as near as they get')
    return notes


def _listed(what: str, names: Iterable[str], most: int = sys.maxsize) -> Iterable[str]:
    """Yield one remark `what` on all names, of which `most` are shown; nothing without names."""
    found = list(names)
    shown = ', '.join(found[:most])
    more = f' and {len(found) - most} more' if len(found) > most else ''
    if found:
        yield f'{shown}{more}: {what}'
