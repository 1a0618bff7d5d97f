# SPDX-License-Identifier: Apache-2.0
"""`ik bench closed_form`: times of all solutions in closed form, compared with searches.

Poses are those of random configurations. For arms of seven joints, one joint is redundant, and
has its value of the configuration.

- `solve_us`: a call of `ClosedForm.solve` from Python, all solutions; `batch_us`: per pose of a
  `ClosedForm.solve_many` in one thread. `solve_all_us`: a call of `ik.solve_all`, which adds
  errors and singularities. `search_us`: a call of `ik.solve_all(closed_form=False)`. These two
  are measured only for arms without a redundant joint. All are medians; those of `batch_us` are
  over whole batches.
- `eaik_us`, `ik_geo_us`: a call of these, if they are installed and support the arm; they do not
  check limits.
- `found_percent`: poses whose own configuration is among the solutions.
- `same_percent`: poses for which searches find the same set of solutions.
- `sweep_us`: a call of `ik.closed_form.best_solution`, over all values of the redundant joint,
  for the solution nearest to a start up to `ASIDE` from the configuration in each joint;
  `far_sweep_us`: nearest to the default configuration.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from ik_core.batch.all_solutions import solve_all
from ik_core.closed_form.chain import chain_of
from ik_core.closed_form.closed_form import ClosedForm
from ik_core.closed_form.families import meeting_point
from ik_core.closed_form.redundancy import best_solution
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.tasks import PoseTask

from .results import Row
from .robots import arm, kr

NEAR = 1e-6  # two configurations no further apart in any joint are the same [rad or m]
SEARCHED = 20  # one pose in this many is also solved by searches, which are slow
ASIDE = 0.2  # [rad] largest distance of a start from its configuration, in each joint
BATCHES = 5
ALIGNED = 1e-9
# Columns that only some arms have.
SOME = (
    'solve_all_us',
    'search_us',
    'same_percent',
    'sweep_us',
    'far_sweep_us',
    'eaik_us',
    'ik_geo_us',
)


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each arm."""
    for name in bar(('ur5e', 'kr', 'puma', 'scara', 'panda', 'iiwa14'), 'closed_form'):
        yield _row(name, arguments.count)


def _row(name: str, count: int) -> Row:
    model = kr() if name == 'kr' else arm(name)
    goal = PoseTask(model.default_tip())
    problem = IkProblem(model, [goal])
    form, cases = ClosedForm(problem), _cases(problem, count)
    row: Row = {'robot': name, 'family': form.family, 'poses': count}
    answers, row['solve_us'] = _timed(goal, cases, form.solve)
    row['solutions'] = float(np.mean([len(found) for found in answers]))
    again = [_is_among(problem, q, a) for (q, _), a in zip(cases, answers, strict=True)]
    row['found_percent'] = 100.0 * float(np.mean(again))
    row['batch_us'] = _batched(form, cases)
    row |= dict.fromkeys(SOME, '') | _peers(goal, problem, cases)
    if form.redundant_joint is None:
        _, row['solve_all_us'] = _timed(goal, cases, lambda q: solve_all(problem, q))
        few = cases[::SEARCHED]
        searched, row['search_us'] = _timed(
            goal, few, lambda q: solve_all(problem, q, closed_form=False)
        )
        pairs = zip(answers[::SEARCHED], searched, strict=True)
        row['same_percent'] = 100.0 * float(np.mean([_are_same(problem, *p) for p in pairs]))
    else:
        beside = _beside(problem, cases)
        _, row['sweep_us'] = _timed(goal, beside, lambda q: best_solution(form, q))
        _, row['far_sweep_us'] = _timed(goal, cases, lambda q: best_solution(form))
    return row


def _batched(form: ClosedForm, cases: list[tuple[Array, Array]]) -> float:
    """Return the median time per pose [us] of batches of all poses."""
    starts, poses = np.array([q for q, _ in cases]), np.array([pose for _, pose in cases])
    times = []
    for _ in range(BATCHES):
        started = time.perf_counter()
        form.solve_many(poses, starts, threads=1)
        times.append(time.perf_counter() - started)
    return 1e6 * float(np.median(times)) / len(cases)


def _beside(problem: IkProblem, cases: list[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
    """Return the poses with starts near their configurations."""
    rng, limits = np.random.default_rng(1), problem.limits
    beside = []
    for q, pose in cases:
        start, moving = q.copy(), problem.variables
        start[moving] = limits.project(q[moving] + rng.uniform(-ASIDE, ASIDE, len(moving)))
        beside.append((start, pose))
    return beside


def _peers(goal: PoseTask, problem: IkProblem, cases: list[tuple[Array, Array]]) -> Row:
    """Return the times of other closed forms for an arm of six revolute joints, if installed."""
    row: Row = {}
    problem.packed.load_frozen(problem.default_configuration)
    chain = chain_of(problem.packed, point_only=False)
    if len(chain.rows) != 6 or chain.slides.any():
        return row
    home = chain.last @ chain.tool
    axes, ends = chain.rows[:, :3], np.vstack([chain.rows[:, 3:], home[:3, 3]])
    point, miss = meeting_point(chain.rows[4:])
    if miss < ALIGNED:
        ends[4:6] = point  # ik-geo wants it so
    offsets = np.diff(ends, axis=0, prepend=np.zeros((1, 3)))
    back = np.eye(4)
    back[:3, :3] = home[:3, :3].T  # theirs have no turn when all joints stand at zero
    poses = [pose @ back for _, pose in cases]
    for name, make in (('eaik_us', _eaik), ('ik_geo_us', _ik_geo)):
        with suppress(ImportError, RuntimeError):
            call = make(axes, offsets)
            row[name] = _timed_peer(call, poses)
    return row


def _timed_peer(call: Callable[[Array], Any], poses: list[Array]) -> float:
    """Return the median time of a call [us]."""
    times = []
    for pose in poses:
        started = time.perf_counter()
        call(pose)
        times.append(time.perf_counter() - started)
    return 1e6 * float(np.median(times))


def _eaik(axes: Array, offsets: Array) -> Callable[[Array], Any]:
    """Return EAIK's solver for these axes (6, 3) and the offsets (7, 3) between them."""
    robot = import_module('eaik.IK_HP').HPRobot(axes, offsets)
    if not robot.hasKnownDecomposition():
        raise RuntimeError('EAIK does not know the arm')
    return robot.IK


def _ik_geo(axes: Array, offsets: Array) -> Callable[[Array], Any]:
    """Return ik-geo's solver for these axes (6, 3) and offsets (7, 3), chosen by their family."""
    make = import_module('ik_geo').Robot
    meets = np.abs(np.cross(axes[3:5], axes[4:6])).max(axis=1).min() > ALIGNED
    parallel = [np.abs(np.cross(axes[i], axes[i + 1])).max() < ALIGNED for i in range(3)]
    if parallel[1] and parallel[2]:
        robot = make.three_parallel_two_intersecting(axes, offsets)
    elif parallel[1] and meets:
        robot = make.spherical_two_parallel(axes, offsets)
    else:
        raise RuntimeError('no family of ik-geo is chosen for the arm')
    return lambda pose: robot.get_ik(pose[:3, :3].T.tolist(), pose[:3, 3].tolist())


def _cases(problem: IkProblem, count: int) -> list[tuple[Array, Array]]:
    """Return random configurations, and the poses of the goal's link there."""
    rng, limits = np.random.default_rng(0), problem.limits
    cases = []
    for _ in range(count):
        q = problem.default_configuration.copy()
        q[problem.variables] = rng.uniform(limits.sample_lower, limits.sample_upper)
        cases.append((q, problem.robot.forward_kinematics(q, problem.goals[0].link)))
    return cases


def _timed(
    goal: PoseTask, cases: list[tuple[Array, Array]], call: Callable[[Array], Any]
) -> tuple[list[Any], float]:
    """Return the results of `call` for each case, and the median time of a call [us]."""
    answers, times = [], []
    goal.set_target(cases[0][1])
    call(cases[0][0])  # compiles
    for q, pose in cases:
        goal.set_target(pose)
        started = time.perf_counter()
        answers.append(call(q))
        times.append(time.perf_counter() - started)
    return answers, 1e6 * float(np.median(times))


def _is_among(problem: IkProblem, q: Array, found: Array) -> bool:
    moving = problem.variables
    gaps = [problem.limits.nearest_turn(one[moving], q[moving]) - q[moving] for one in found]
    return any(np.abs(gap).max() <= NEAR for gap in gaps)


def _are_same(problem: IkProblem, found: Array, others: Any) -> bool:
    return len(found) == len(others) and all(_is_among(problem, q, others.q) for q in found)
