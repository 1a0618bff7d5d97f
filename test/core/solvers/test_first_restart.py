# SPDX-License-Identifier: Apache-2.0
"""The first restart begins at the nearest solution if attempt 0 from a start near its goal
fails."""

from __future__ import annotations

import numpy as np
import pytest
from support.first_attempts import far_from_goal, random_poses, same, solved

import ik_core as ik
from benchmark.robots import arm
from ik_core.batch.many_targets import solve_batch
from ik_core.closed_form.initial_guess import NEAR_FOR_SEVEN
from ik_core.closed_form.nearest import LANE_VALUES
from ik_core.maths.lanes import HAS_LANES
from ik_core.optim.search import Budget

pytestmark = pytest.mark.skipif(not HAS_LANES, reason='there are no lanes')

COUNT = 1200


def near_problems(seed=0):
    """A Panda's problem, targets (N, 4, 4) and random starts (N, n) that are near them."""
    robot = arm('panda')
    problem = ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())])
    near, (targets, _, starts) = [], random_poses(problem, COUNT, seed)
    for target, start in zip(targets, starts, strict=True):
        problem.goals[0].set_target(target)
        near.append(far_from_goal(problem, start) < 0.9 * NEAR_FOR_SEVEN)
    return problem, targets[near], starts[near]


def nearest(problem, target, start):
    """The nearest solution (n,) at the first redundancy value outwards that has one."""
    problem.goals[0].set_target(target)
    form = ik.closed_form.form(problem)
    low, high = form.redundancy_range
    step = (high - low) / LANE_VALUES
    for k in (0, *range(1, LANE_VALUES + 1), *(0.5 + np.arange(LANE_VALUES))):
        for value in (
            start[form.redundant_joint] - k * step,
            start[form.redundant_joint] + k * step,
        ):
            if low <= value <= high and len(found := form.solve(start, value)):
                return found[0]
    return None


def test_it_is_the_answer():
    problem, targets, starts = near_problems()
    results = solved(problem, targets, starts)
    restarted = [i for i, result in enumerate(results) if result.restarts]
    first = [i for i in restarted if results[i].restarts == 1]
    assert len(first) >= 10
    assert len(first) > 0.8 * len(restarted)
    agree = 0
    for i in first:
        found = nearest(problem, targets[i], starts[i])
        agree += found is not None and np.abs(results[i].q - found).max() < 1e-9
    assert agree >= len(first) - 1  # one may be near a double solution, and begin at random


def test_batches_single_solves_and_searches_step_by_step_agree():
    problem, targets, starts = near_problems(1)
    solver, batch = ik.make_solver(), solve_batch(problem, targets, starts)
    again = 0
    for i, single in enumerate(solved(problem, targets, starts)):
        same(single, batch[i])
        if single.restarts == 0:
            continue
        again += 1
        problem.goals[0].set_target(targets[i])
        search = solver.begin(problem, starts[i])
        while not search.run(Budget(iterations=1)):
            pass
        same(single, search.result())
    assert again >= 10


def test_a_search_that_stays_on_its_branch_restarts_at_random():
    problem, targets, starts = near_problems(2)
    solver, alone, again = ik.make_solver(), ik.make_solver(closed_form=False), 0
    for target, start in zip(targets, starts, strict=True):
        problem.goals[0].set_target(target)
        search, other = solver.begin(problem, start), alone.solve(problem, start)
        search.stay_on_branch()
        search.run()
        same(search.result(), other)
        again += other.restarts > 0
    assert again >= 10
