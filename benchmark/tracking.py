# SPDX-License-Identifier: Apache-2.0
"""`ik bench tracking`: closed loops, goals out of reach, lag, and the time of a tick.

- `joint drift`: a goal moves 100 times along a circle, 200 ticks per loop; the change of the joint
  that moved most, between the first and the last loop, over some starts: without a rest posture,
  and with the first configuration as one;
- `out of reach`: the root mean square of all joint velocities during one second, 3 s after a
  position goal beyond the arm's reach arrived, over some starts: of the tracker, of the
  pseudoinverse with one step per tick ([Buss2009] sections 1 and 8), and of joints that follow
  these steps within the tracker's limits;
- `lag`: the distance of the tip from a goal that moves on a circle with 0.15 m/s, in each tick
  after the first 2 s (before: `lag at first`), with joints that accelerate by at most 3 rad/s^2.
  Goals come with every tick or with every tenth, without and with `feed_forward`;
- `tick`: the time of `set_goal` and `tick` at 1 kHz while a goal is dragged along a circle, of the
  solve in it, and of `tick` alone at rest and on a straight line, for an arm and for 30 joints
  with two tips that have a pose goal each.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.limits import random_configuration
from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import make_solver
from ik_core.solvers.base import KernelSolver
from ik_core.tasks import PoseTask, PositionTask
from ik_core.tasks.goals import GoalTask
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions
from ik_core.tracking.governor import Governor

from .results import Row
from .robots import X, Y, Z, fixed, joint, robot

ARMS = ('iiwa14', 'panda')
RATE = 200.0  # [Hz] rate of all experiments but `tick`, which runs at TICK_RATE
TICK_RATE = 1000.0
RADIUS = 0.1  # [m] radius of the circles
# Angular speed [rad/s] of a goal on its circle, except in the experiment on joint drift.
TURN_RATE = 1.5
TICKS_PER_LOOP = 200
SETTLING_TICKS = 2000
MOST_LOOPS, MOST_STARTS, MOST_TICKS = 100, 5, 3000
STARTING_TICKS = 400  # the first ticks, of goals that start at full speed, have a row of their own


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each experiment, robot and method."""
    starts, ticks = min(arguments.count, MOST_STARTS), min(arguments.count, MOST_TICKS)
    loops = min(arguments.count, MOST_LOOPS)
    experiments = (
        lambda: drift_rows(starts, loops),
        lambda: out_of_reach_rows(starts),
        lambda: lag_rows(ticks),
        lambda: tick_rows(ticks),
    )
    for experiment in bar(experiments, 'tracking'):
        yield from experiment()


def _row(experiment: str, name: str, how: str, unit: str, values: Sequence[float]) -> Row:
    return {
        'experiment': experiment,
        'robot': name,
        'how': how,
        'unit': unit,
        'values': len(values),
        'median': float(np.median(values)),
        'p99': float(np.percentile(values, 99)),
        'largest': float(max(values)),
    }


def _start(arm: Robot, seed: int) -> Array:
    """Return a configuration (n,) in the middle half of the joints' ranges."""
    q, quarter = np.empty(arm.n), 0.25 * (arm.upper - arm.lower)
    random_configuration(seed, 0, arm.lower + quarter, arm.upper - quarter, q)
    return q


def _tracker(
    arm: Robot,
    tasks: list[GoalTask],
    q: Array,
    *,
    rate: float = RATE,
    acceleration: float = 20.0,
    **options: Any,
) -> Tracker:
    return Tracker(
        IkProblem(arm, tasks),
        rate,
        limits=_limits(arm, acceleration),
        options=TrackerOptions(**options),
        q0=q,
    )


def _limits(arm: Robot, acceleration: float = 20.0) -> MotionLimits:
    return MotionLimits.of(arm, velocity=3.0, acceleration=acceleration)


def _on_circle(start: Array, angle: float) -> Array:
    """Return the pose `start` (4, 4), moved along a circle through it by an angle [rad]."""
    goal = start.copy()
    goal[0, 3] += RADIUS * (math.cos(angle) - 1.0)
    goal[1, 3] += RADIUS * math.sin(angle)
    return goal


# --- closed loops ------------------------------------------------------------------------------


def drift_rows(starts: int, loops: int) -> list[Row]:
    """Return the drift of joints over closed loops, without and with a rest posture."""
    return [
        _row(
            f'joint drift, {loops} loops',
            name,
            f'rest_rate {rate:g}',
            'rad',
            [_joint_drift(name, rate, seed, loops) for seed in range(starts)],
        )
        for name in ARMS
        for rate in (0.0, 5.0)
    ]


def _joint_drift(name: str, rest_rate: float, seed: int, loops: int) -> float:
    arm = load_robot(name)
    tip = arm.tips()[0]
    tracker = _tracker(arm, [PoseTask(tip)], _start(arm, seed), rest_rate=rest_rate)
    start = arm.forward_kinematics(tracker.q, tip)
    tracker.set_goal(0, start, 0.0)
    before = _settled(tracker)
    for k in range(1, loops * TICKS_PER_LOOP + 1):
        tracker.set_goal(0, _on_circle(start, math.tau * k / TICKS_PER_LOOP), 0.0)
        tracker.tick(0.0)
    tracker.set_goal(0, start, 0.0)
    return float(np.max(np.abs(_settled(tracker) - before)))


def _settled(tracker: Tracker) -> Array:
    """Tick until the joints rest, and return their positions (n,)."""
    for _ in range(SETTLING_TICKS):
        tracker.tick(0.0)
    return tracker.q


# --- out of reach ------------------------------------------------------------------------------


def out_of_reach_rows(starts: int) -> list[Row]:
    """Return the residual motion of joints: of the tracker, and of the pseudoinverse alone."""
    ways: dict[str, Callable[[str, int], float]] = {
        'tracker': _rms_of_tracker,
        'pseudoinverse, a step a tick': partial(_rms_of_steps, limited=False),
        'the same within rate limits': partial(_rms_of_steps, limited=True),
    }
    return [
        _row('out of reach', name, how, 'rad/s', [rms(name, seed) for seed in range(starts)])
        for name in ARMS
        for how, rms in ways.items()
    ]


def _rms_of_tracker(name: str, seed: int) -> float:
    problem, q = _beyond_reach(name, seed)
    tracker = _tracker(problem.robot, list(problem.goals), q)
    tracker.set_goal(0, problem.goals[0].transform, 0.0)
    return _rms(lambda: tracker.tick(0.0).dq)


def _rms_of_steps(name: str, seed: int, limited: bool) -> float:
    """Return the RMS of the method's steps per tick, or of joints that follow within limits."""
    problem, q = _beyond_reach(name, seed)
    solver = make_solver('pseudoinverse', max_iterations=10**9)
    assert isinstance(solver, KernelSolver)
    workspace = solver.workspace(problem)
    workspace.load(q)
    workspace.run(0)
    motion, target = Governor(_limits(problem.robot), 1.0 / RATE, q), q.copy()

    def velocity() -> Array:
        before = workspace.search['x'].copy()
        workspace.run(1)
        target[problem.variables] = workspace.search['x']
        motion.follow(target)
        return motion.dq.copy() if limited else RATE * (workspace.search['x'] - before)

    return _rms(velocity)


def _beyond_reach(name: str, seed: int) -> tuple[IkProblem, Array]:
    """Return a problem with a position goal 3 m from the arm's root, and a start (n,)."""
    arm = load_robot(name)
    q, tip = _start(arm, seed), arm.tips()[0]
    position = arm.forward_kinematics(q, tip)[:3, 3]
    goal = 3.0 * position / np.linalg.norm(position)
    return IkProblem(arm, [PositionTask(tip, goal)]), q


def _rms(velocity: Callable[[], Array]) -> float:
    """Return the root mean square of velocities (n,) over a second, after three seconds."""
    for _ in range(round(3.0 * RATE)):
        velocity()
    return float(np.sqrt(np.mean([velocity() ** 2 for _ in range(round(RATE))])))


# --- lag ---------------------------------------------------------------------------------------


def lag_rows(ticks: int) -> list[Row]:
    """Return the distances of the tip from a goal, without and with the goal's velocity."""
    rows = []
    for every in (1, 10):
        for feed_forward in (False, True):
            how = f'goals at {RATE / every:g} Hz' + ', feed_forward' * feed_forward
            lags = _lags(every, feed_forward, ticks)
            rows.append(_row('lag at first', 'panda', how, 'mm', lags[:STARTING_TICKS]))
            rows.append(_row('lag', 'panda', how, 'mm', lags[STARTING_TICKS:]))
    return rows


def _lags(every: int, feed_forward: bool, ticks: int) -> list[float]:
    arm = load_robot('panda')
    tip, lags = arm.tips()[0], []
    tracker = _tracker(
        arm, [PoseTask(tip)], _start(arm, 0), acceleration=3.0, feed_forward=feed_forward
    )
    start = arm.forward_kinematics(tracker.q, tip)
    for k in range(STARTING_TICKS + ticks):
        goal = _on_circle(start, TURN_RATE * k / RATE)
        if k % every == 0:
            tracker.set_goal(0, goal, k / RATE)
        at = arm.forward_kinematics(tracker.tick(k / RATE).q, tip)
        lags.append(1e3 * float(np.linalg.norm((at - goal)[:3, 3])))
    return lags


# --- times -------------------------------------------------------------------------------------


def tick_rows(ticks: int) -> list[Row]:
    """Return the times of ticks, and of the solves in them."""
    panda, torso = load_robot('panda'), two_arms()
    return [
        *_dragged('panda', panda, panda.tips(), ticks),
        *_dragged('panda', panda, panda.tips(), ticks, rest_rate=5.0),
        _on_line('panda', panda, ticks),
        *_dragged('30 joints', torso, torso.tips(), ticks),
    ]


def two_arms() -> Robot:
    """Return a trunk of 6 joints that carries two arms of 12 joints."""
    axes, parts, parent = (Z, Y, X), [], 'base'
    for i in range(6):
        parts.append(joint(parent, f'trunk{i}', (0.0, 0.0, 0.1), axes[i % 3], (-1.0, 1.0)))
        parent = f'trunk{i}'
    for side, y in (('left', 0.2), ('right', -0.2)):
        above = parent
        for i in range(12):
            at = (0.08, 0.0, 0.0) if i else (0.0, y, 0.1)
            parts.append(joint(above, f'{side}{i}', at, axes[i % 3], (-2.0, 2.0)))
            above = f'{side}{i}'
        parts.append(fixed(above, f'{side}_hand', (0.1, 0.0, 0.0)))
    return robot('two arms', parts)


def _dragged(
    name: str, arm: Robot, tips: tuple[str, ...] | list[str], ticks: int, **options: float
) -> list[Row]:
    """Return times with dragged goals, and at rest afterwards."""
    tracker = _tracker(
        arm, [PoseTask(tip) for tip in tips], _start(arm, 0), rate=TICK_RATE, **options
    )
    starts = [arm.forward_kinematics(tracker.q, tip) for tip in tips]
    moving, solving, resting = [], [], []
    for k in range(ticks):
        goals = [_on_circle(start, TURN_RATE * k / TICK_RATE) for start in starts]
        begun = time.perf_counter()
        for index, goal in enumerate(goals):
            tracker.set_goal(index, goal, 0.0)
        command = tracker.tick(0.0)
        moving.append(1e6 * (time.perf_counter() - begun))
        solving.append(1e6 * command.solve_time)
    _settled(tracker)
    for _ in range(ticks):
        begun = time.perf_counter()
        tracker.tick(0.0)
        resting.append(1e6 * (time.perf_counter() - begun))
    how = ', '.join(['', *(f'{key} {value:g}' for key, value in options.items())])
    return [
        _row('tick', name, f'goals dragged{how}', 'us', moving),
        _row('its solve', name, f'goals dragged{how}', 'us', solving),
        _row('tick', name, f'goals still{how}', 'us', resting),
    ]


def _on_line(name: str, arm: Robot, ticks: int) -> Row:
    """Return times on a straight line, back and forth."""
    tip = arm.tips()[0]
    tracker = _tracker(arm, [PoseTask(tip)], _start(arm, 0), rate=TICK_RATE, move='linear')
    start, times = arm.forward_kinematics(tracker.q, tip), []
    for k in range(ticks):
        if k % 500 == 0:
            tracker.set_goal(0, _on_circle(start, math.pi if k % 1000 == 0 else 0.0), 0.0)
        begun = time.perf_counter()
        tracker.tick(0.0)
        times.append(1e6 * (time.perf_counter() - begun))
    return _row('tick', name, 'straight line', 'us', times)
