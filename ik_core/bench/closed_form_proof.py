"""`ik bench closed_form_proof`: the sets of solutions in closed form against those of others.

`count` poses for each arm: half of them of random configurations, the other half of singular ones,
where some joints or all of them stand at multiples of a right angle (stretched, folded, wrists in
line). Every solution is judged by pinocchio's forward kinematics where it is installed, else by
ours.

- `wrong`: solutions that are off by more than WRONG, or outside the limits; `lost`: poses whose
  own configuration is regular and not among the solutions.
- `certain_percent`: how often `is_certain` was true; `lost_certain` and `missing_certain` count
  where it was, so where nothing may be missing.
- A row for each of `against`: the search (`solve_all(closed_form=False)`, one pose in SEARCHED),
  and EAIK, ik-geo and ssik where they are installed and quickly solve such an arm. `missing`:
  solutions of theirs that the closed form lacks; `extra`: those that they lack; `poses` that were
  compared. Only regular solutions count, those inside the limits: at singular ones there may be
  infinitely many.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch.solve_all import solve_all
from ..closed_forms.chain import chain_of
from ..closed_forms.form import ClosedForm
from ..maths.rotations import Array
from ..problem import IkProblem
from ..progress import bar
from ..robot.limits import TURN
from ..robot.robot import Robot
from ..robot.urdf_text import urdf_text
from ..tasks import PoseTask
from .closed_form_arms import ARMS
from .closed_form_peers import peers
from .rows import Row

SEARCHED = 50
"""One pose in so many is searched as well: that takes long."""
PATIENCE = 0.2
"""Peers that take longer for a pose [s] are left out: some search."""
WRONG = 1e-8
"""Errors [m, rad] of a solution that is none."""
CLOSE = 1e-6
"""Errors [m, rad] of a peer's solution that is one."""
ON_LIMIT = 1e-7
"""A joint of a peer's solution this far beyond a limit [rad or m] is on it."""
NEAR = 1e-3
"""Two configurations no further apart in any joint are the same [rad or m]."""
REGULAR = 2e-3
"""Smallest singular value, as a share of the largest, of a regular Jacobian."""


def run(arguments: argparse.Namespace) -> list[Row]:
    """A row for each arm and each of those it is held against."""
    rows: list[Row] = []
    for name in bar(list(ARMS), 'closed_form_proof'):
        rows += Proof(name, ARMS[name]()).rows(arguments.count)
    return rows


@dataclass(frozen=True)
class Case:
    """A configuration (n,), the pose (4, 4) of the tip there, and whether it was made singular."""

    q: Array
    pose: Array
    singular: bool


class Proof:
    """An arm, its closed form, and what was counted of it."""

    def __init__(self, name: str, robot: Robot) -> None:
        self.name, self.robot = name, robot
        self.tip = robot.default_tip()
        self.goal = PoseTask(self.tip)
        chain = [robot.joint_names[i] for i in robot.chain(self.tip)]
        frozen = chain[: max(0, len(chain) - 7)]
        self.problem = IkProblem(robot, [self.goal], frozen_joints=frozen)
        self.form = ClosedForm(self.problem)
        held = self.form.held
        if held is not None:
            frozen = [*frozen, robot.joint_names[held]]
        self.searched = IkProblem(robot, [self.goal], frozen_joints=frozen)
        self.moving = self.searched.variables
        self.pose_of = _judge(robot, self.tip)
        self.counts: Counter[Any] = Counter()

    def rows(self, count: int) -> list[Row]:
        """Hold `count` poses against all others."""
        self.searched.packed.load_frozen(self.searched.default_configuration)
        others = dict(peers(self.robot, self.tip, chain_of(self.searched.packed, False)))
        first = next(self._cases(1)).pose
        others = {name: one for name, one in others.items() if _seconds(one, first) < PATIENCE}
        for i, case in enumerate(self._cases(count)):
            self.goal.set_target(case.pose)
            found = self.form.solve(case.q)
            certain = self.form.is_certain
            self._count_own(case, found, certain)
            for name, solutions in others.items():
                theirs = self._exact(case, solutions(case.pose))
                self._compare(name, case, found, theirs, certain)
            if i % SEARCHED == 0:
                answer = solve_all(self.searched, case.q, closed_form=False)
                self._compare('search', case, found, self._exact(case, answer.q), certain)
        return [self._row(name, count) for name in ('search', *others)]

    def _cases(self, count: int) -> Iterator[Case]:
        """Random configurations, and singular ones, in turns."""
        rng, limits = np.random.default_rng(0), self.searched.limits
        for i in range(count):
            q = self.searched.default_configuration.copy()
            whole = self.problem.limits
            q[self.problem.variables] = rng.uniform(whole.sample_lower, whole.sample_upper)
            x = q[self.moving]
            if i % 2:
                right = rng.random(len(x)) < (1.0 if i % 4 == 1 else 0.5)
                x[right] = 0.25 * TURN * np.round(4.0 / TURN * x[right])
            q[self.moving] = np.clip(x, limits.lower, limits.upper)
            yield Case(q, self.pose_of(q), bool(i % 2))

    def _count_own(self, case: Case, found: Array, certain: bool) -> None:
        """What can be said of the solutions alone."""
        counts = self.counts
        counts['certain'] += certain
        counts['solutions'] += len(found)
        for q in found:
            inside = (q >= self.robot.lower).all() and (q <= self.robot.upper).all()
            counts['wrong'] += not inside or _error(self.pose_of(q), case.pose) > WRONG
        if not _is_among(self._gaps(case.q[None], found)) and self._is_regular(case.q):
            counts['lost'] += 1
            counts['lost_certain'] += certain

    def _exact(self, case: Case, found: Array) -> Array:
        """The regular solutions (k, n) among those (k, n or variables) of others, each once."""
        kept: list[Array] = []
        for one in found:
            q = case.q.copy()
            x = one[self.moving] if len(one) == len(q) else one
            q[self.moving] = self._inside(x, q[self.moving])
            known = kept and _is_among(self._gaps(q[None], np.array(kept)))
            if known or np.isnan(q).any() or _error(self.pose_of(q), case.pose) > CLOSE:
                continue
            if self._is_regular(q):
                kept.append(q)
        return np.reshape(kept, (-1, len(case.q)))

    def _inside(self, x: Array, start: Array) -> Array:
        """x (variables,) turned next to the start, but inside the limits; NaN where no turn is."""
        limits, turning = self.searched.limits, self._turning
        x = np.where(turning, x - TURN * np.round((x - start) / TURN), x)
        x = np.where(turning & (x > limits.upper + ON_LIMIT), x - TURN, x)
        x = np.where(turning & (x < limits.lower - ON_LIMIT), x + TURN, x)
        inside = (x >= limits.lower - ON_LIMIT) & (x <= limits.upper + ON_LIMIT)
        return np.where(inside, x, np.nan)

    @property
    def _turning(self) -> NDArray[np.bool_]:
        """Which of the variables are angles."""
        return np.array([self.robot.joint_units[i] == 'rad' for i in self.moving])

    def _compare(self, name: str, case: Case, found: Array, theirs: Array, certain: bool) -> None:
        """Count what one of the two sets has, and the other one has not."""
        counts = self.counts
        ours = np.array([q for q in found if self._is_regular(q)]).reshape(-1, len(case.q))
        missing = sum(not _is_among(self._gaps(q[None], found)) for q in theirs)
        counts[name, 'poses'] += 1
        counts[name, 'missing'] += missing
        counts[name, 'missing_certain'] += missing * certain
        counts[name, 'extra'] += sum(not _is_among(self._gaps(q[None], theirs)) for q in ours)
        counts[name, 'theirs'] += len(theirs)

    def _gaps(self, one: Array, others: Array) -> Array:
        """How far configurations (k, n) are from one (1, n), without whole turns: (k,)."""
        gaps = (others - one)[:, self.moving]
        turning = self._turning
        gaps[:, turning] -= TURN * np.round(gaps[:, turning] / TURN)
        return np.asarray(np.abs(gaps).max(axis=1, initial=0.0), float)

    def _is_regular(self, q: Array) -> bool:
        """Whether the Jacobian has full rank, with something to spare, and limits are away."""
        x, limits = q[self.moving], self.searched.limits
        if (np.minimum(x - limits.lower, limits.upper - x) < NEAR).any():
            return False
        jacobian = self.robot.jacobian(q, self.tip)[:, self.moving]
        values = np.linalg.svd(jacobian, compute_uv=False)
        return bool(values[-1] > REGULAR * values[0])

    def _row(self, name: str, count: int) -> Row:
        counts = self.counts
        pair = {
            key: counts[name, key]
            for key in ('poses', 'theirs', 'missing', 'missing_certain', 'extra')
        }
        return {
            'robot': self.name,
            'family': self.form.family,
            'count': count,
            'solutions': counts['solutions'] / count,
            'certain_percent': 100.0 * counts['certain'] / count,
            **{key: counts[key] for key in ('wrong', 'lost', 'lost_certain')},
            'against': name,
            **pair,
        }


def _seconds(solutions: Callable[[Array], Array], pose: Array) -> float:
    """How long the second of two calls takes."""
    solutions(pose)
    started = time.perf_counter()
    solutions(pose)
    return time.perf_counter() - started


def _is_among(gaps: Array) -> bool:
    return bool(gaps.min(initial=np.inf) <= NEAR)


def _error(pose: Array, other: Array) -> float:
    """The larger of the distance [m] and the angle [rad] between two poses (4, 4)."""
    chord = float(np.linalg.norm(pose[:3, :3] - other[:3, :3])) / np.sqrt(8.0)
    shift = float(np.linalg.norm(pose[:3, 3] - other[:3, 3]))
    return max(shift, 2.0 * float(np.arcsin(min(chord, 1.0))))


def _judge(robot: Robot, tip: str) -> Callable[[Array], Array]:
    """The forward kinematics of a tip by pinocchio; without it, ours."""
    try:
        pin = importlib.import_module('pinocchio')
    except ImportError:
        return lambda q: robot.forward_kinematics(q, tip)
    model = pin.buildModelFromXML(urdf_text(robot))
    data, frame = model.createData(), model.getFrameId(tip)
    joints = {name: model.joints[i] for i, name in enumerate(model.names) if i}
    places = [(joints[name].idx_q, joints[name].nq) for name in robot.joint_names]

    def pose_of(q: Array) -> Array:
        at = np.empty(model.nq)
        for (i, size), value in zip(places, q, strict=True):
            if size == 1:
                at[i] = value
            else:
                at[i : i + 2] = np.cos(value), np.sin(value)
        pin.forwardKinematics(model, data, at)
        pin.updateFramePlacement(model, data, frame)
        return np.array(data.oMf[frame].homogeneous)

    return pose_of
