# SPDX-License-Identifier: Apache-2.0
"""Linear constraints: who does not keep them refuses them."""

import numpy as np
import pytest
from support.constrained_problems import KEEPING, coupled

import ik_core as ik
from ik_core import Budget, IkProblem, PostureTask, UnsupportedProblem, make_solver

NAMES_BOTH = 'bfgs and sqp'


@pytest.mark.parametrize('solver', [name for name in ik.SOLVERS if name not in KEEPING])
def test_every_other_solver_refuses_and_names_those_that_do_not(solver):
    problem, start = coupled('ur5e', 1, reachable=True)
    method = make_solver(solver)
    for attempt in (
        lambda: method.solve(problem, start),
        lambda: method.solve(problem, start, Budget(iterations=1)),
        lambda: method.begin(problem, start),
        lambda: ik.solve_batch(problem, [problem.goals[0].transform], solver=solver),
        lambda: ik.batch.solve_best(problem, solver=solver),
    ):
        with pytest.raises(UnsupportedProblem, match=NAMES_BOTH):
            attempt()


def test_the_solvers_that_are_named_are_those_that_keep_constraints():
    keeping = [
        name for name, kind in ik.SOLVERS.items() if getattr(kind, 'constrained_step', None)
    ]
    assert sorted(keeping) == sorted(KEEPING)


@pytest.mark.parametrize('method', ['scipy_dogbox', 'scipy_trf'])
def test_scipys_trust_regions_refuse_too(method):
    problem, start = coupled('ur5e', 1, reachable=True)
    with pytest.raises(UnsupportedProblem, match=NAMES_BOTH):
        make_solver('trust_region', method=method).solve(problem, start)


@pytest.mark.parametrize('solver', list(ik.SOLVERS))
def test_secondary_tasks_are_refused(solver):
    problem, start = coupled('panda', 1, reachable=True)
    problem.levels = ((PostureTask(np.zeros(8)),),)
    with pytest.raises(UnsupportedProblem, match='secondary'):
        make_solver(solver).solve(problem, start)


def test_all_solutions_and_trackers_are_refused():
    problem, _ = coupled('ur5e', 1, reachable=True)
    with pytest.raises(UnsupportedProblem, match='solve_all'):
        ik.solve_all(problem)
    robot = problem.robot
    limits = ik.MotionLimits(robot.lower, robot.upper, *np.full((2, robot.n), 1.0))
    free = IkProblem(robot, problem.goals)
    for solver in ('bfgs', 'levenberg_marquardt', make_solver('sqp')):
        with pytest.raises(UnsupportedProblem, match='Tracker'):
            ik.Tracker(problem, 100.0, limits=limits, solver=solver)
        tracker = ik.Tracker(free, 100.0, limits=limits, solver=solver)
        with pytest.raises(UnsupportedProblem, match='Tracker'):
            tracker.set_problem(problem)
