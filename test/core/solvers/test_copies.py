# SPDX-License-Identifier: Apache-2.0
"""Copies of solvers, and of searches under way, which have none."""

import copy
import pickle

import numpy as np
import pytest

import ik_core as ik
from ik_core import Budget


def again(original):
    return pickle.loads(pickle.dumps(original))


@pytest.mark.parametrize('copied', [copy.copy, copy.deepcopy, again])
@pytest.mark.parametrize('name', ['levenberg_marquardt', 'bfgs', 'closed_form'])
def test_a_copy_solves_for_itself(copied, name):
    robot, rng = ik.load_robot('ur5e'), np.random.default_rng(3)
    tip = robot.default_tip()
    solver, problem = ik.make_solver(name), ik.IkProblem(robot, [ik.PoseTask(tip)])
    known = rng.uniform(-1.0, 1.0, (4, robot.n))
    targets = [robot.forward_kinematics(q, tip) for q in known]
    problem.goals[0].set_target(targets[0])
    solver.solve(problem, known[0] + 0.1)
    steps = solver.begin(problem, known[0] + 0.1)
    steps.run(Budget(iterations=1))
    other, clone = copied(solver), problem.clone()
    for asked, own, k in ((other, clone, 1), (solver, problem, 2), (other, clone, 3)):
        own.goals[0].set_target(targets[k])
        searched = asked.begin(own, known[k] + 0.1)
        searched.run()
        for result in (asked.solve(own, known[k] + 0.1), searched.result()):
            assert result.success
            reached = robot.forward_kinematics(result.q, tip)
            np.testing.assert_allclose(reached, targets[k], rtol=0, atol=1e-4)


@pytest.mark.parametrize('copied', [copy.deepcopy, again])
def test_a_search_under_way_says_that_it_has_no_copy(copied):
    robot = ik.load_robot('ur5e')
    goal = ik.PoseTask(robot.default_tip())
    goal.set_target(robot.forward_kinematics(np.ones(robot.n), robot.default_tip()))
    search = ik.make_solver('levenberg_marquardt').begin(ik.IkProblem(robot, [goal]))
    with pytest.raises(TypeError, match='a solver can'):
        copied(search)
