# SPDX-License-Identifier: Apache-2.0
"""The governor, and the tracker that aims it, told random things: without ROS, as fast as it goes.

A run of a seed is one life of a governor, or of a tracker. What it is told comes from the seed
alone, so a seed that fails is a test: `govern(seed)`, `track(seed)`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ik_core import (
    SOLVERS,
    IkProblem,
    PoseTask,
    PositionAxisTask,
    PositionTask,
    load_urdf,
    solver_name,
)
from ik_core.exceptions import IkError
from ik_core.shared_files import shared_file
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions
from ik_core.tracking.governor import Governor
from ik_core.tracking.instructions import Brake

from .checker import Checker, Verdict
from .expected_limits import Array, read_description

PERIODS = (0.001, 0.002, 0.004, 0.01, 0.05)
JOINTS = 4
ODD = (math.nan, math.inf, -math.inf, 1e300, -1e308)
GOVERNOR_TICKS, TRACKER_TICKS = 2000, 400  # Of one seed


@dataclass
class Tally:
    """Results of many runs."""

    ticks: int = 0
    told: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def take(self, seed: int, ticks: int, told: Counter[str], verdict: Verdict) -> None:
        """Add a run."""
        self.ticks += ticks
        self.told += told
        if verdict.violations:
            self.failures.append((seed, str(verdict)))


def random_rates(random: np.random.Generator, n: int, period: float, jerk: bool) -> Array:
    """Velocity, acceleration, jerk (3, n) with which moves take a few to some thousand ticks."""
    velocity = 10.0 ** random.uniform(-1.0, 0.5, n)
    acceleration = velocity / (period * 10.0 ** random.uniform(0.0, 2.5, n))
    jerks = acceleration / (period * 10.0 ** random.uniform(-0.5, 1.5, n))
    jerks[random.random(n) < (0.2 if jerk else 1.0)] = math.inf
    return np.array([velocity, acceleration, jerks])


def random_span(random: np.random.Generator, n: int) -> Array:
    """Lower and upper (2, n); a few are open."""
    span = np.sort(random.uniform(-2.0, 2.0, (2, n)), axis=0)
    span[0, random.random(n) < 0.1], span[1, random.random(n) < 0.1] = -math.inf, math.inf
    return span


class Governed:
    """One governor, moved on, told of other limits, and judged."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.period = float(self.random.choice(PERIODS))
        self.with_jerk = bool(self.random.random() < 0.5)
        self.limits = np.concatenate([random_span(self.random, JOINTS), self._rates()])
        q = self.random.uniform(-2.0, 2.0, JOINTS)
        if self.random.random() < 0.8:
            q = np.clip(q, self.limits[0], self.limits[1])
        self.governor = Governor(MotionLimits(*self.limits), self.period, q)
        self.checker = Checker(self.limits, self.period, GOVERNOR_TICKS)
        self.checker.begin(q)
        self.told: Counter[str] = Counter()

    def run(self, ticks: int) -> None:
        """Do what the seed says for at least so many ticks."""
        moves: list[Callable[[], None]] = [self.follow, self.follow, self.follow, self.drag]
        changes = [
            self.brake,
            self.scale,
            self.redraw,
            self.tighten,
            self.redraw_all,
            self.restart,
            self.resume,
        ]
        acts = moves * int(self.random.choice([1, 1, 20])) + changes
        while self.checker.tick < ticks:
            act = acts[self.random.integers(len(acts))]
            self.told[act.__name__] += 1
            act()

    def follow(self) -> None:
        """A target, far or near, or none that there could be."""
        synchronized = bool(self.random.random() < 0.4)
        target = self._target()
        for _ in range(self._ticks()):
            self.governor.follow(target, None, synchronized)
            self._see()

    def drag(self) -> None:
        """A target that moves on, with or without a word of how fast."""
        velocity = self.limits[2] * self.random.normal(size=JOINTS) * 0.7
        target, says = self._target(), self.random.random() < 0.7
        for _ in range(self._ticks()):
            target = target + self.period * velocity
            self.governor.follow(target, velocity if says else None)
            self._see()

    def brake(self) -> None:
        """As when something fails."""
        for _ in range(int(self.random.choice([1, 1, 2, 20]))):
            self.governor.brake()
            self._see()

    def scale(self) -> None:
        """One kind of limit, of one joint."""
        self._change((self.random.integers(2, 5), self.random.integers(JOINTS)))

    def redraw(self) -> None:
        """Velocities, accelerations and jerks of all joints."""
        rows = self.limits.copy()
        rows[2:] = self._rates()
        self._set(rows)

    def tighten(self) -> None:
        """Position limits close to the joints, in front of or behind them, or far off again."""
        rows = self.limits.copy()
        q = self.governor.q
        if self.random.random() < 0.5:
            rows[:2] = random_span(self.random, JOINTS)
        else:
            width = 10.0 ** self.random.uniform(-6.0, 0.0, (2, JOINTS))
            rows[0], rows[1] = q - width[0], q + width[1]
        self._set(rows)

    def redraw_all(self) -> None:
        """Draw all limits again at the same time."""
        self._set(np.concatenate([random_span(self.random, JOINTS), self._rates()]))

    def restart(self) -> None:
        """Begin anew, where it may: at rest."""
        q = self.random.uniform(-2.0, 2.0, JOINTS)
        if self.governor.at_rest:
            self.governor.restart(q)
            self.checker.begin(q)

    def resume(self) -> None:
        """Another governor goes on."""
        limits = MotionLimits(*self.limits)
        self.governor = Governor.resume(limits, self.period, self.governor.state)

    def _change(self, place: Any) -> None:
        rows = self.limits.copy()
        factor = 10.0 ** self.random.uniform(-1.5, 1.5)
        rows[place] = rows[place] * factor if self.random.random() < 0.8 else rows[place] / 100.0
        rows[2] = np.clip(rows[2], 0.01, 10.0)
        rows[3] = np.clip(rows[3], 0.01, 10.0 / self.period)
        rows[4] = np.where(
            np.isfinite(rows[4]), np.clip(rows[4], 0.1, 1e3 / self.period**2), np.inf
        )
        self._set(rows)

    def _set(self, rows: Array) -> None:
        self.limits = rows
        self.governor.set_limits(MotionLimits(*rows))
        self.checker.change(rows)

    def _rates(self) -> Array:
        return random_rates(self.random, JOINTS, self.period, self.with_jerk)

    def _ticks(self) -> int:
        return int(self.random.choice([1, 2, 5, 20, 100, 300]))

    def _target(self) -> Array:
        random = self.random
        target = random.integers(2) * self.governor.q
        target = target + random.normal(size=JOINTS) * 10.0 ** random.uniform(-7.0, 0.5)
        odd = random.random(JOINTS) < 0.03
        target[odd] = random.choice(ODD, odd.sum())
        return target

    def _see(self) -> None:
        self.checker.see(self.governor.q, self.governor.dq)


def govern(seed: int, ticks: int = GOVERNOR_TICKS) -> tuple[Governed, Verdict]:
    """The life of a governor that belongs to a seed."""
    life = Governed(seed)
    with np.errstate(all='ignore'):
        life.run(ticks)
    return life, life.checker.finish()


# --- the tracker --------------------------------------------------------------------------------

ROBOTS = ('panda', 'ur5e', 'iiwa14', 'scara', 'dual_arm', 'pr2_like')
# What may count of a tip's goals, as often as it comes
KINDS = (PoseTask, PoseTask, PositionTask, PositionAxisTask)


class Injected(Exception):
    """An exception that the campaign raises on purpose, of a type that no code expects."""


class Tracked:
    """One tracker of a shipped robot, told all that it can be told, and judged.

    What fails in a tick is handled as the node does: it brakes for a tick, and goes on.
    """

    NAMES: ClassVar[tuple[str, ...]] = ROBOTS

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.name = str(self.random.choice(self.NAMES))
        text = shared_file(f'urdf/{self.name}.urdf').read_text('utf-8')
        self.robot = load_urdf(text)
        self.rate = float(self.random.choice([100.0, 250.0, 1000.0]))
        self.now, self.failing = 0.0, 0.0
        self.with_jerk = bool(self.random.random() < 0.5)
        self.description = read_description(text)
        rows = [self.description.rows[name] for name in self.robot.joint_names]
        self.own = np.array(rows).T
        self.limits = self._limits()
        self.tips = (
            self.robot.tips()[:2] if self.name == 'dual_arm' else [self.robot.default_tip()]
        )
        self.tracker = self._new_tracker()
        self.checker = Checker(self._all_rows(), 1.0 / self.rate, TRACKER_TICKS)
        self.checker.begin(self._all_positions(self.tracker.q))
        self.told: Counter[str] = Counter()

    def run(self, ticks: int) -> None:
        """Do what the seed says for at least so many ticks."""
        acts = self.acts()
        while self.checker.tick < ticks:
            act = acts[self.random.integers(len(acts))]
            self.told[act.__name__] += 1
            act()
            for _ in range(int(self.random.choice([0, 1, 5, 30, 60]))):
                self._tick()

    def acts(self) -> list[Callable[[], None]]:
        """The actions that a life draws from."""
        return [
            self.goal, self.goal, self.goal, self.drag, self.twist, self.line, self.set_limits,
            self.set_options, self.set_problem, self.set_solver, self.renew, self.pause, self.stop,
            self.reset, self.fail, self.garbage,
        ]  # fmt: skip

    def goal(self) -> None:
        """One within reach, or not, or none."""
        transform: Array | None = self._pose()
        if self.random.random() < 0.1:
            transform = None
        self.tracker.set_goal(self._tip(), transform, self.now)

    def drag(self) -> None:
        """A goal that moves on from where the tip is."""
        tip = self._tip()
        goal = self.robot.forward_kinematics(self.tracker.q, self._link(tip))
        step = self.random.normal(size=3) * 10.0 ** self.random.uniform(-4.0, -1.5)
        for _ in range(20):
            goal[:3, 3] += step
            self.tracker.set_goal(tip, goal, self.now)
            self._tick()

    def twist(self) -> None:
        """A jog, kept up for a while."""
        size = 10.0 ** self.random.uniform(-2.0, 1.5)
        linear, angular = size * self.random.normal(size=(2, 3))
        tip = self._tip()
        for _ in range(20):
            self.tracker.set_twist(tip, linear, angular, self.now)
            self._tick()

    def line(self) -> None:
        """A straight way."""
        tip = self._tip()
        goal = self.robot.forward_kinematics(self.tracker.q, self._link(tip))
        goal[:3, 3] += self.random.normal(size=3) * 0.1
        self.tracker.set_goal(tip, goal, self.now, move='linear')

    def set_limits(self) -> None:
        """Other limits, tighter or wider, in front of the joints too."""
        self.limits = self._limits()
        self.tracker.set_limits(self._motion_limits())
        self.checker.change(self._all_rows())

    def set_options(self) -> None:
        """Another way to follow."""
        random = self.random
        self.tracker.set_options(
            TrackerOptions(
                updates_per_tick=int(random.choice([0, 0, 1, 3])),
                replan_period=float(random.choice([0.0, 0.05, 0.5])),
                goal_timeout=float(random.choice([0.0, 0.1])),
                move='linear' if random.choice(['joint', 'linear']) == 'linear' else 'joint',
                feed_forward=bool(random.random() < 0.3),
                rest_rate=float(random.choice([0.0, 1.0])),
                linear_velocity=float(random.choice([0.1, 2.0])),
            )
        )

    def set_problem(self) -> None:
        """Other tolerances, another tool, and for each tip what counts of its goals."""
        self.tracker.set_problem(self._problem())

    def set_solver(self) -> None:
        """Any that can follow these goals."""
        name = str(self.random.choice(list(SOLVERS)))
        try:
            self.tracker.set_solver(solver_name(name))
        except IkError:
            self.told['refused'] += 1

    def renew(self) -> None:
        """Another tracker goes on with the same governor, as when a recording begins."""
        self.tracker = self._new_tracker(self.tracker.governor)

    def pause(self) -> None:
        """Or go on."""
        self.tracker.pause(not self.tracker.paused)

    def stop(self) -> None:
        """Drop all goals."""
        self.tracker.stop()

    def reset(self) -> None:
        """Begin at another place, where it may: at rest."""
        if self.tracker.at_rest:
            q = self._configuration() + 0.1 * self.random.normal(size=self.robot.n)
            self.tracker.reset(q, keep_goals=bool(self.random.random() < 0.5))
            self.checker.begin(self._all_positions(q))

    def fail(self) -> None:
        """Let something inside raise in a share of the next ticks."""
        self.failing = float(self.random.choice([0.1, 0.5, 1.0]))
        for _ in range(10):
            self._tick()
        self.failing = 0.0

    def garbage(self) -> None:
        """Give a tracker inputs that it must refuse, and huge numbers."""
        goal = self._pose()
        goal[self.random.integers(3), 3] = self.random.choice(ODD)
        linear = self.random.choice([*ODD, 1e7], 3)
        for tell in (
            lambda: self.tracker.set_goal(0, goal, self.now),
            lambda: self.tracker.set_twist(0, linear, linear, self.now),
            lambda: self.tracker.set_goal(7, goal, self.now),
        ):
            try:
                tell()
            except IkError:
                self.told['refused'] += 1

    def _tick(self) -> None:
        """One period, as a node does it."""
        tracker, self.now = self.tracker, self.now + 1.0 / self.rate
        try:
            tracker.tick(self.now)
        except Exception as error:
            self.told['raised' if isinstance(error, Injected) else f'{error!r}'] += 1
            self._brake()
        self.checker.see(self._all_positions(tracker.governor.q))

    def _brake(self) -> None:
        try:
            self.tracker.tick(self.now, [Brake()])
        except Injected:
            self.tracker.governor.brake()

    def _limits(self) -> Array:
        random, own = self.random, self.own
        rows = np.array([*own[:3], *np.full((2, own.shape[1]), math.inf)])
        n = own.shape[1]
        rows[2] = np.minimum(own[2], 3.0) * 10.0 ** random.uniform(-1.0, 0.0)
        rows[3] = 10.0 ** random.uniform(-0.5, 1.5, n)
        if self.with_jerk:
            rows[4] = np.where(
                random.random(n) < 0.8, rows[3] * 10.0 ** random.uniform(0.0, 2.0), np.inf
            )
        if random.random() < 0.3:
            middle = np.clip(self.robot.middle_configuration, own[0], own[1])
            width = random.uniform(0.05, 1.0, (2, n))
            rows[0] = np.maximum(own[0], middle - width[0])
            rows[1] = np.minimum(own[1], middle + width[1])
        return rows

    def _motion_limits(self) -> MotionLimits:
        velocity = np.minimum(self.robot.velocity, self.limits[2])
        lower, upper, _, acceleration, jerk = self.limits
        return MotionLimits(lower, upper, velocity, acceleration, jerk)

    def _all_rows(self) -> Array:
        """The limits (5, m) of the joints and of those that mimic them."""
        mimics = [self.description.rows[name] for name in self.description.mimics]
        return np.concatenate([self.limits, np.array(mimics).reshape(-1, 5).T], axis=1)

    def _all_positions(self, q: Array) -> Array:
        """The positions (m,) that belong to q (n,), by the formula of mimic joints."""
        places = [
            mimic.multiplier * q[self.robot.joint_index(mimic.joint)] + mimic.offset
            for mimic in self.description.mimics.values()
        ]
        return np.concatenate([q, places])

    def _new_tracker(self, governor: Governor | None = None) -> Tracker:
        tracker = Tracker(
            self._problem(),
            self.rate,
            limits=self._motion_limits(),
            q0=None if governor else self._configuration(),
            governor=governor,
            rest=self.robot.middle_configuration,
            clock=lambda: 0.0,
        )
        state: Any = tracker._state
        solving = ('follow', 'follow_step', 'begin_tick', 'is_solved')
        moving = [(state.step_following, 'keep_step'), (state.motion, 'follow')]
        places = [(state.monitor, 'errors'), *moving]
        for owner, name in [*places, *((state.solver, name) for name in solving)]:
            setattr(owner, name, self._failing(getattr(owner, name)))
        return tracker

    def _failing(self, works: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            if self.failing and self.random.random() < self.failing:
                raise Injected
            return works(*arguments, **named)

        return wrapped

    def _problem(self) -> IkProblem:
        tool = np.eye(4)
        tool[:3, 3] = self.random.choice([0.0, 0.05]) * self.random.normal(size=3)
        kinds = self.random.integers(len(KINDS), size=len(self.tips))
        goals = [KINDS[k](tip, tool=tool) for k, tip in zip(kinds, self.tips, strict=True)]
        tolerance = float(10.0 ** self.random.uniform(-6.0, -3.0))
        return IkProblem(self.robot, goals, position_tolerance=tolerance)

    def _tip(self) -> int:
        return int(self.random.integers(len(self.tips)))

    def _link(self, tip: int) -> str:
        return str(self.tips[tip])

    def _configuration(self) -> Array:
        lower, upper = np.maximum(self.limits[0], -3.0), np.minimum(self.limits[1], 3.0)
        return np.asarray(lower + self.random.random(lower.size) * (upper - lower))

    def _pose(self) -> Array:
        tip = self._tip()
        pose = self.robot.forward_kinematics(self._configuration(), self._link(tip))
        if self.random.random() < 0.2:
            pose[:3, 3] *= 10.0 ** self.random.uniform(0.0, 6.0)
        return pose


def track(seed: int, ticks: int = TRACKER_TICKS) -> tuple[Tracked, Verdict]:
    """The life of a tracker that belongs to a seed."""
    life = Tracked(seed)
    with np.errstate(all='ignore'):
        life.run(ticks)
    return life, life.checker.finish()


# --- many of them -------------------------------------------------------------------------------


def campaign(
    live: Callable[[int], tuple[Governed | Tracked, Verdict]], first: int, ticks: int
) -> Tally:
    """Lives of the seeds from `first` on, until so many ticks are over."""
    tally, seed = Tally(), first
    while tally.ticks < ticks:
        life, verdict = live(seed)
        tally.take(seed, life.checker.tick, life.told, verdict)
        seed += 1
    return tally
