"""`ik bench closed_form`: all solutions of a pose in closed form, beside searches.

Random poses that an arm reaches, from the configurations that they come from. Of an arm of seven
joints one is held where it stands there.

- `solve_us`: a whole call of `ClosedForm.solve` from Python, all solutions; `solve_all_us`: of
  `ik.solve_all`, with errors and singularities (only for arms without a held joint; so those
  that follow). `search_us`: of `ik.solve_all(closed_form=False)`. Medians.
- `found_percent`: of the configurations that the poses came from.
- `same_percent`: of the poses for which searches find the same set of solutions.
- `sweep_us`: `ik.best_solution` over all values of the held joint, the nearest to the start.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..batch.solve_all import solve_all
from ..closed_forms.form import ClosedForm
from ..closed_forms.redundancy import best_solution
from ..maths.rotations import Array
from ..problem import IkProblem
from ..progress import bar
from ..robot.robot import Robot
from ..tasks import PoseTask
from .generated import X, Y, Z, arm, fixed, joint, robot
from .rows import Row

NEAR = 1e-6
"""Two configurations no further apart in any joint are the same [rad or m]."""
SEARCHED, SWEPT = 20, 100
"""One pose in so many is also searched, one in so many swept: these are slow."""


def kr() -> Robot:
    """An arm with an ortho-parallel base with offsets, and a spherical wrist, as KUKA's KR."""
    parts = [
        joint('base', 'a1', (0.0, 0.0, 0.0), Z),
        joint('a1', 'a2', (0.025, 0.0, 0.4), Y, (-2.4, 1.2)),
        joint('a2', 'a3', (0.0, 0.0, 0.455), Y, (-2.0, 2.7)),
        joint('a3', 'a4', (0.42, 0.0, 0.035), X, (-3.2, 3.2)),
        joint('a4', 'a5', (0.0, 0.0, 0.0), Y, (-2.1, 2.1)),
        joint('a5', 'a6', (0.0, 0.0, 0.0), X, (-6.1, 6.1)),
        fixed('a6', 'flange', (0.08, 0.0, 0.0)),
    ]
    return robot('kr', parts)


def run(arguments: argparse.Namespace) -> list[Row]:
    """A row for each arm."""
    names = ('ur5e', 'kr', 'puma', 'scara', 'panda', 'iiwa14')
    return [_row(name, arguments.count) for name in bar(names, 'closed_form')]


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
    row |= dict.fromkeys(('solve_all_us', 'search_us', 'same_percent', 'sweep_us'), '')
    if form.held is None:
        _, row['solve_all_us'] = _timed(goal, cases, lambda q: solve_all(problem, q))
        few = cases[::SEARCHED]
        searched, row['search_us'] = _timed(
            goal, few, lambda q: solve_all(problem, q, closed_form=False)
        )
        pairs = zip(answers[::SEARCHED], searched, strict=True)
        row['same_percent'] = 100.0 * float(np.mean([_are_same(problem, *p) for p in pairs]))
    else:
        _, row['sweep_us'] = _timed(goal, cases[::SWEPT], lambda q: best_solution(form, q))
    return row


def _cases(problem: IkProblem, count: int) -> list[tuple[Array, Array]]:
    """Configurations to reach, and the poses of the goal's link there."""
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
    """What `call` returns for each case, and the median time of a call [us]."""
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
