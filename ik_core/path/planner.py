# SPDX-License-Identifier: Apache-2.0
"""`solve_path`: a motion along a path of poses, without flips, shown between them and timed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..display import angle, joined, length, listed
from ..exceptions import InvalidConfiguration, InvalidOption, UnsupportedProblem
from ..maths.argument_types import TransformLike, TransformsLike, VectorLike
from ..maths.rotations import Array
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..tracking.governor.motion_limits import MotionLimits, checked_limits
from .result import PathResult
from .sampling import sampled
from .task import Rates, Task
from .waypoints import Waypoints, waypoints

# limits where neither the robot nor `limits` has any
ASSUMED = {'velocity': 1.0, 'acceleration': 5.0, 'jerk': 100.0}
CHORDS = 0.1  # part of keep_within that chords of a function may take
UNLIMITED = 1e6  # [m/s]
AT_ENDS = 1e-4, 1e-3  # [m, rad] within which q0 and `end` have to reach their poses
ALONG = 0.05  # [rad] largest angle between the tip's velocity with dq0 and the path
RESTING = 1e-6  # relative velocity of the tip that is none
SMALL_STEP = 1e-4  # fraction of the first interval, for the path's direction


def solve_path(
    problem: IkProblem,
    poses: TransformsLike | Callable[[float], TransformLike],
    *,
    q0: VectorLike | None = None,
    dq0: VectorLike | None = None,
    end: VectorLike | None = None,
    times: VectorLike | None = None,
    rest: bool = False,
    limits: MotionLimits | None = None,
    keep_within: tuple[float, float] = (1e-4, 1e-3),
    tip_speed: float | VectorLike | Callable[[float], float] = math.inf,
    approach: float = 0.0,
    retreat: float = 0.0,
    closed: bool = False,
    length: float | None = None,
    starts: int = 4,
    period: float = 0.01,
) -> PathResult:
    """Move the tip of a problem's goal through poses, joined by straight lines and slerp.

    problem : a problem with one goal; its target does not count, but its masks, region, tool and
        limits do. With `avoid` the whole motion is free of collisions
    poses : (N, 4, 4) [m] in the root link's frame, or a list of what `ik.transform` takes; equal
        ones in succession count once. Or a function on [0, length] that returns such a pose
    q0 (n,) : configuration to begin in. If it does not reach the first pose, the path begins in
        one that takes little travel from there. Joints that the problem does not move keep its
        values
    dq0 (n,) : velocity to begin with at q0 [rad/s or m/s]; None: at rest. q0 has to reach the
        first pose, and dq0 has to move the tip along the path, to 3 degrees
    end (n,) : configuration to end in, which reaches the last pose; None: any
    times (N,) : when to be at the poses [s], rising; by default as early as the limits allow, from
        rest to rest
    rest : begin and end at rest with `times`, too: the tip then lags on its way to the second
        pose, and hurries on its way to the last one. By default it has the path's speed there
    limits : MotionLimits, by default those of the robot's description. Velocities, accelerations
        and jerks that are not limited there are limited to 1, 5 and 100 [rad or m, s]; `note`
        names the joints
    keep_within : largest distance [m] and angle [rad] of the tip from its path; corners are
        rounded by as much, and the motion stops in sharp ones
    tip_speed : largest speed of the tip [m/s]; or one for each pose (N,), linear in between; or
        a function of what `poses` is a function of
    approach, retreat : distance [m] behind the first pose from which the path begins, and behind
        the last one to which it leads, along their z axes. They count as pose -1 and pose N
    closed : return to the first pose, and to the configuration there; a last pose that differs
        from the first is followed by it
    length : range of the argument of `poses`, if that is a function [m]
    starts : the number of first configurations that are tried with a redundant problem, without
        q0 and times; the one that is fastest without jerk limits counts
    period : time between the frames of the motion [s]

    The sequence of solutions has the fewest reconfigurations; of those it is the one that can be
    passed fastest, and of those the shortest. A path that needs a reconfiguration is not done: the
    result says where, why, and how much of the path can be done. Deterministic.

    Raises InvalidGoal, InvalidConfiguration, InvalidOption; UnsupportedProblem for several goals,
    other tasks, secondary tasks and constraints.
    """
    started = time.perf_counter()
    own = _checked(problem)
    within = _checked_within(keep_within)
    step = _positive(period, 'period', 's')
    count = exact_number(starts, int)
    if count is None or count < 1:
        raise InvalidOption(f'starts = {starts!r}: a whole number, 1 or more, is needed')
    _check_ends(times, rest, end, closed, approach, retreat)
    rates, note = _rates(own, limits, times is not None)
    names, chords = None, np.zeros(2)
    if callable(poses):
        if times is not None:
            raise InvalidOption('times are for poses that are given one by one, not by a function')
        allowed = CHORDS * within[0], CHORDS * within[1]
        poses, names, chords = sampled(poses, length, own.robot.base_link, allowed)
    elif length is not None:
        raise InvalidOption('length is for poses that are a function; leave it out')
    path = waypoints(
        poses, times, own.robot.base_link, own.orientation_length,
        approach=approach, retreat=retreat, is_closed=closed, given=names,
    )  # fmt: skip
    close = within[0] - float(chords[0]), within[1] - float(chords[1])
    task = _task(own, path, rates, q0, end, limits, close)
    speeds = _tip_speeds(tip_speed, path)
    task = replace(task, tip_speeds=speeds, is_closed=closed, rests=rest, starts=count)
    if dq0 is not None:
        task = _in_motion(task, dq0)
    from .search import motion_along  # with scipy, which takes a while to import

    result = motion_along(task, step)
    return replace(
        result,
        deviation=tuple(np.add(result.deviation, chords).tolist()),
        note=joined(result.note, note),
        solve_time=time.perf_counter() - started,
        problem=problem,
    )


def _checked(problem: IkProblem) -> IkProblem:
    """A copy of a problem whose targets may be changed. Raises UnsupportedProblem."""
    checked_problem(problem)
    if len(problem.goals) != 1:
        raise UnsupportedProblem(f'a path is for one goal; the problem has {len(problem.goals)}')
    if problem.other_tasks or problem.levels:
        raise UnsupportedProblem(
            'a path takes a goal only: what it leaves free is smoothed along the path, so '
            'leave out other tasks and secondary='
        )
    problem.check_without_constraints()
    own: IkProblem | None = problem.kept_solvers.get('path')  # with its closed form
    if own is None or own.tolerances != problem.tolerances:
        own = problem.kept_solvers['path'] = problem.clone()
    return own


def _task(
    problem: IkProblem,
    path: Waypoints,
    rates: Rates,
    q0: VectorLike | None,
    end: VectorLike | None,
    limits: MotionLimits | None,
    within: tuple[float, float],
) -> Task:
    """Check the configurations at both ends, and take samples of the path."""
    robot, variables, note = problem.robot, problem.variables, ''
    start = problem.default_configuration.copy() if q0 is None else robot.checked(q0, 'q0')
    places = path.samples()
    targets = path.at(places)
    near = first = last = None
    if q0 is not None:
        near = start[variables]
        misses = _misses(problem, start, targets[0])
        if all(miss <= most for miss, most in zip(misses, AT_ENDS, strict=True)):
            first = near
        else:
            note = (
                f'q0 is {length(misses[0])} and {angle(misses[1])} away from the first pose: the '
                'motion begins there, at a solution near q0'
            )
    if end is not None:
        final = robot.checked(end, 'end')
        misses = _misses(problem, final, targets[-1])
        if not all(miss <= most for miss, most in zip(misses, AT_ENDS, strict=True)):
            raise InvalidConfiguration(
                f'end misses the last pose by {length(misses[0])} and {angle(misses[1])}: give '
                'a configuration that reaches it, or leave `end` out'
            )
        last = final[variables]
    lower, upper = problem.limits.lower, problem.limits.upper
    if limits is not None:
        lower = np.maximum(lower, limits.lower[variables])
        upper = np.minimum(upper, limits.upper[variables])
    return Task(
        problem, path, rates, places, targets, start, near, first, last, lower, upper, within, note
    )


def _in_motion(task: Task, dq0: VectorLike) -> Task:
    """The task, to begin with velocities dq0 (n,) of the joints. Raises InvalidOption,
    InvalidConfiguration."""
    problem, robot = task.problem, task.problem.robot
    velocity = robot.checked(dq0, 'dq0')
    if task.path.timed:
        raise InvalidOption('dq0 is for motions without times=, which say how fast they begin')
    if not velocity.any():
        return task
    if task.first is None:
        raise InvalidOption(
            'dq0 is the velocity at q0: give a q0 that reaches the first pose, within '
            f'{length(AT_ENDS[0])} and {angle(AT_ENDS[1])}'
        )
    still = np.ones(robot.n, bool)
    still[problem.variables] = False
    moving = (still & (velocity != 0.0)).nonzero()[0]
    if len(moving):
        names = listed(robot.joint_names[i] for i in moving)
        raise InvalidOption(f'dq0 moves {names}, which the problem does not move: 0 is needed')
    velocity = velocity[problem.variables]
    step = SMALL_STEP * float(task.places[1] - task.places[0])
    residuals = []
    for target in task.path.at(task.places[0] + np.array([0.0, step])):
        problem.goals[0].set_target(target)
        value = problem.evaluate(task.start)
        residuals.append(value.residual)
    tip, ahead = value.jacobian @ velocity, (residuals[0] - residuals[1]) / step
    size = float(np.linalg.norm(tip))
    speed = float(tip @ ahead) / max(float(ahead @ ahead), 1e-300)
    beside = float(np.linalg.norm(tip - speed * ahead))
    if size < RESTING * float(np.linalg.norm(value.jacobian) * np.linalg.norm(velocity)):
        raise InvalidOption('dq0 moves joints, but not the tip along its path: leave it out')
    if speed <= 0.0 or beside > ALONG * size:
        turned = math.atan2(beside, math.copysign(1.0, speed) * math.sqrt(size**2 - beside**2))
        raise InvalidOption(
            f'dq0 moves the tip {angle(turned)} away from the direction of the path; a velocity '
            f'along it is needed, to {angle(ALONG)}'
        )
    return replace(task, speed=speed, slope=velocity / speed)


def _misses(problem: IkProblem, q: Array, target: Array) -> tuple[float, float]:
    """The errors [m, rad] of the goal at q (n,) for a target (4, 4)."""
    problem.goals[0].set_target(target)
    position, orientation = problem.errors(q)
    return float(position[0]), float(orientation[0])


def _rates(problem: IkProblem, limits: MotionLimits | None, is_timed: bool) -> tuple[Rates, str]:
    """Limits of the variables' rates, and a note on those that were assumed."""
    limits = MotionLimits.of(problem.robot) if limits is None else checked_limits(limits)
    limits.check_size(problem.robot.n)
    columns, notes = problem.variables, []
    rows = {name: getattr(limits, name)[columns] for name in ASSUMED}
    for name, row in rows.items():
        without = ~np.isfinite(row)
        if without.any() and not is_timed:
            names = listed(problem.robot.joint_names[i] for i in columns[without])
            notes.append(f'{name} limit of {names}: {ASSUMED[name]:g}, since none is given')
            rows[name] = np.where(without, ASSUMED[name], row)
    return Rates(**rows), joined(*notes)


def _tip_speeds(
    tip_speed: float | VectorLike | Callable[[float], float], path: Waypoints
) -> Array | None:
    """Largest speeds [m/s] at the poses of a path, or None. Raises InvalidOption."""
    given = path.given
    speeds = [tip_speed(float(x)) for x in given] if callable(tip_speed) else tip_speed
    try:
        row = np.array(speeds, float)
    except (TypeError, ValueError):
        row = np.array(math.nan)
    if row.shape not in {(), given.shape}:
        raise InvalidOption(
            f'tip_speed has shape {row.shape}; a number or {given.shape}, one for each pose, is '
            'needed'
        )
    row = np.broadcast_to(row, given.shape)
    if not (row > 0.0).all():
        i = int(np.argmin(row > 0.0))
        raise InvalidOption(
            f'tip_speed = {tip_speed!r} [m/s]: positive numbers are needed, and that of pose '
            f'{given[i]:g} is not one'
        )
    if np.isinf(row).all():
        return None
    speeds = np.full(len(path.poses), UNLIMITED)  # for what is before and after the poses, too
    np.minimum.at(speeds, np.searchsorted(path.poses, given, 'right') - 1, row)
    if path.poses[0] < given[0]:
        speeds[0] = min(row[0], UNLIMITED)
    if path.poses[-1] > given[-1]:
        speeds[-1] = min(row[-1], UNLIMITED)
    return speeds


def _check_ends(
    times: VectorLike | None,
    rest: bool,
    end: VectorLike | None,
    closed: bool,
    approach: float,
    retreat: float,
) -> None:
    """Check the options on both ends of a path. Raises InvalidOption."""
    for flag, name in ((rest, 'rest'), (closed, 'closed')):
        if not isinstance(flag, (bool, np.bool_)):
            raise InvalidOption(f'{name} = {flag!r}: True or False is needed')
    for value, name in ((approach, 'approach'), (retreat, 'retreat')):
        number = exact_number(value, float)
        if number is None or not 0.0 <= number < math.inf:
            raise InvalidOption(f'{name} = {value!r} [m]: a number, 0 or more, is needed')
    if rest and times is None:
        raise InvalidOption('rest=True is for `times`: without them motions are from rest to rest')
    if times is not None and (approach or retreat):
        raise InvalidOption('approach and retreat have no times; give them as poses of your own')
    if closed and (approach or retreat):
        raise InvalidOption(
            'a closed path has no approach and no retreat; make them paths of their own'
        )
    if closed and end is not None:
        raise InvalidOption('a closed path ends where it begins: leave `end` out, and give q0')


def _checked_within(within: tuple[float, float]) -> tuple[float, float]:
    """`keep_within` as two floats. Raises InvalidOption."""
    try:
        position, orientation = (float(value) for value in within)
    except (TypeError, ValueError):
        position = orientation = math.nan
    if not (1e-7 <= position < math.inf and 1e-7 <= orientation < math.inf):
        raise InvalidOption(
            f'keep_within = {within!r}: a distance [m] and an angle [rad], both 1e-7 or more, '
            'are needed, such as (1e-4, 1e-3)'
        )
    return position, orientation


def _positive(value: float, name: str, unit: str) -> float:
    """A positive number. Raises InvalidOption."""
    number = exact_number(value, float)
    if number is None or not number > 0.0:
        raise InvalidOption(f'{name} = {value!r} [{unit}] must be a positive number')
    return float(number)
