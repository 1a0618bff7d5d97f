# SPDX-License-Identifier: Apache-2.0
"""The nearest solution of arms of seven joints that nearly have formulas."""

import numpy as np
import pytest
from support import robots
from support.first_attempts import measured

import ik_core as ik
from ik_core.closed_form.redundancy import best_solution
from ik_core.maths.lanes import HAS_LANES

pytestmark = pytest.mark.skipif(not HAS_LANES, reason='there are no lanes')


def form_of(robot, **given):
    goal = ik.PoseTask(robot.default_tip())
    problem = ik.IkProblem(robot, [goal], **given)
    goal.set_target(robot.forward_kinematics(robot.middle_configuration, goal.link))
    return goal, problem, ik.closed_form.form(problem)


def without_eigenvalues(form, monkeypatch):
    """Nothing is left to find where formulas of what an arm nearly is find nothing."""
    monkeypatch.setattr(form, '_solve_carefully', lambda *_: np.empty((0, form.robot.n)))


@pytest.mark.parametrize(('name', 'seed'), [('panda', 5), ('iiwa14', 3)])
@pytest.mark.parametrize('spread', [0.0, 0.1, 3.0])
def test_it_reaches_the_goal_inside_the_limits_and_is_no_further_than_what_is_known(
    name, seed, spread, monkeypatch
):
    robot = ik.load_robot(measured(name, seed))
    goal, problem, form = form_of(robot)
    without_eigenvalues(form, monkeypatch)
    rng, moving, found = np.random.default_rng(seed), problem.variables, 0
    for _ in range(25):
        q = robots.random_q(robot, rng)
        pose = robot.forward_kinematics(q, goal.link)
        goal.set_target(pose)
        start = q.copy()
        start[moving] += spread * rng.uniform(-1.0, 1.0, len(moving))
        start = np.clip(start, robot.lower, robot.upper)
        best = best_solution(form, start)
        if best is None:
            continue
        found += 1
        np.testing.assert_allclose(robot.forward_kinematics(best, goal.link), pose, atol=5e-9)
        assert (robot.lower <= best).all()
        assert (best <= robot.upper).all()
        assert np.linalg.norm(best - start) <= np.linalg.norm(q - start) + 1e-6
    assert found >= 24


def test_where_limits_leave_it_free_the_self_motion_leads_no_nearer():
    robot = ik.load_robot(measured('panda', 5))
    goal, problem, form = form_of(robot)
    rng, free = np.random.default_rng(6), 0
    for _ in range(20):
        q = robots.random_q(robot, rng, margin=0.2)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        start = np.clip(q + 0.3 * rng.normal(size=robot.n), robot.lower, robot.upper)
        best = best_solution(form, start)
        moving = problem.variables
        if np.minimum(best - robot.lower, robot.upper - best)[moving].min() < 1e-3:
            continue
        free += 1
        motion = np.linalg.svd(problem.evaluate(best).jacobian)[2][-1]
        slope = (best - start)[moving] @ motion
        assert abs(slope) < 1e-4 * max(1.0, np.linalg.norm(best - start))
    assert free >= 10


def test_it_is_as_near_as_what_eigenvalues_find():
    robot = ik.load_robot(measured('panda', 5))
    goal, _, form = form_of(robot)
    rng = np.random.default_rng(7)
    for _ in range(2):
        q = robots.random_q(robot, rng)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        start = robots.random_q(robot, rng)
        slowly = best_solution(form, start, samples=40)
        best = best_solution(form, start)
        assert np.linalg.norm(best - start) <= np.linalg.norm(slowly - start) + 1e-6


def test_where_it_finds_nothing_eigenvalues_are_asked(monkeypatch):
    robot = ik.load_robot(measured('panda', 5))
    goal, _, form = form_of(robot)
    q = robots.random_q(robot, np.random.default_rng(8), margin=0.2)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    monkeypatch.setattr(form, 'best_nearby', lambda start: None)
    best = best_solution(form, q)
    assert np.linalg.norm(best - q) < 1e-6


def test_an_arm_that_is_nothing_like_one_with_formulas_has_none():
    robot = ik.load_robot(measured('panda', 5, size=0.1))
    _, _, form = form_of(robot)
    assert form.redundant_joint is not None
    assert form.best_nearby(robot.middle_configuration) is None
