# SPDX-License-Identifier: Apache-2.0
"""The default's first attempt begins at the nearest solution in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from support import robots
from support.first_attempts import (
    check_out_of_reach_is_left_to_the_search,
    check_ways_agree,
    far_from_goal,
    random_poses,
    same,
    solved,
)

import ik_core as ik
from benchmark.robots import arm
from ik_core.batch.many_targets import solve_batch
from ik_core.closed_form import initial_guess
from ik_core.closed_form.initial_guess import NEAR_FOR_SEVEN, NEAR_FOR_SIX, initial_guess_of
from ik_core.closed_form.nearest import LANE_VALUES
from ik_core.maths.lanes import HAS_LANES
from ik_core.optim.search import Budget
from ik_core.solvers.damped_search.workspace import DampedWorkspace

pytestmark = pytest.mark.skipif(not HAS_LANES, reason='there are no lanes')

SIX, SEVEN = ('ur5e', 'puma'), ('panda', 'iiwa14')
FINE = {'position_tolerance': 1e-9, 'orientation_tolerance': 1e-9}


def pose_problem(name, **given):
    robot = arm(name)
    return ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())], **given)


@pytest.mark.parametrize('name', SIX)
def test_six_joints_begin_at_the_nearest_of_all_solutions(name):
    problem = pose_problem(name)
    targets, _, starts = random_poses(problem, 60)
    form, left = ik.closed_form.form(problem), 0
    for target, start, result in zip(
        targets, starts, solved(problem, targets, starts), strict=True
    ):
        problem.goals[0].set_target(target)
        expected = form.solve(start)
        if result.iterations > 0:  # near a double solution, or one just outside the limits
            left += 1
            continue
        assert np.linalg.norm(expected - start, axis=1).argmin() == 0
        np.testing.assert_allclose(result.q, expected[0], rtol=0, atol=1e-9)
        assert (result.status, result.iterations, result.restarts) == (ik.IkStatus.REACHED, 0, 0)
    assert left <= 3


def redundancy_values(form, start):
    """The start's value of the redundant joint, and those outwards, as they are tried."""
    joint, (low, high) = form.redundant_joint, form.redundancy_range
    turns = high - low >= 2.0 * np.pi
    step = min(high - low, 2.0 * np.pi) / LANE_VALUES
    yield start[joint]
    for k in (*range(1, LANE_VALUES + 1), *(0.5 + np.arange(LANE_VALUES))):
        for value in (start[joint] - k * step, start[joint] + k * step):
            if k * step <= np.pi if turns else low <= value <= high:
                yield value


@pytest.mark.parametrize('name', SEVEN)
def test_seven_joints_begin_at_the_first_redundancy_value_outwards_with_a_solution(name):
    problem = pose_problem(name)
    targets, _, starts = random_poses(problem, 60)
    form, elsewhere, at_once = ik.closed_form.form(problem), 0, 0
    for target, start, result in zip(
        targets, starts, solved(problem, targets, starts), strict=True
    ):
        problem.goals[0].set_target(target)
        if far_from_goal(problem, start) <= NEAR_FOR_SEVEN:
            continue
        found = ((value, form.solve(start, value)) for value in redundancy_values(form, start))
        value, q = next(((value, q) for value, q in found if len(q)), (None, None))
        if value is None:
            continue
        np.testing.assert_allclose(result.q, q[0], rtol=0, atol=1e-9)
        assert result.iterations == 0
        elsewhere += value != start[form.redundant_joint]
        at_once += value == start[form.redundant_joint]
    assert elsewhere > 5
    assert at_once > 5


def are_double(robot, found, redundant):
    """Return whether a solution nearly coincides with another one at the same redundancy
    parameter."""
    jacobians = [
        np.delete(robot.jacobian(q, robot.default_tip()), redundant, axis=1) for q in found
    ]
    return np.linalg.svd(np.array(jacobians), compute_uv=False).min() < 1e-3


@pytest.mark.parametrize('side', [-1.0, 1.0])
@pytest.mark.parametrize('name', SEVEN)
def test_another_solution_a_hair_beyond_a_limit_is_no_reason_to_begin_elsewhere(name, side):
    robot = arm(name)
    goal, rng = ik.PoseTask(robot.default_tip()), np.random.default_rng(12)
    form, tried = ik.closed_form.form(ik.IkProblem(robot, [goal])), 0
    for _ in range(20):
        q, start = robots.random_q(robot, rng), robots.random_q(robot, rng)
        start[form.redundant_joint] = q[form.redundant_joint]
        goal.set_target(robot.forward_kinematics(q, goal.link))
        found = form.solve(start)
        gaps = side * (found - found[0])
        one, joint = np.unravel_index(gaps.argmax(), gaps.shape)
        lower, upper = robot.lower.copy(), robot.upper.copy()
        if side > 0.0:
            upper[joint] = found[one, joint] - 5e-5
        else:
            lower[joint] = found[one, joint] + 5e-5
        inside = ((lower < found) & (found < upper)).all(axis=1)
        problem = ik.IkProblem(robot, [goal], lower=lower, upper=upper)
        start = np.clip(start, lower, upper)
        near = far_from_goal(problem, start) <= NEAR_FOR_SEVEN
        if near or gaps.max() < 0.1 or are_double(robot, found, form.redundant_joint):
            continue
        tried += 1
        result = ik.solve(problem, start)
        assert result.iterations == 0
        assert np.abs(found[inside] - result.q).max(axis=1).min() < 1e-9
        there = robot.forward_kinematics(result.q, goal.link)
        np.testing.assert_allclose(there, goal.transform, rtol=0, atol=1e-9)
    assert tried > 5


@pytest.mark.parametrize('name', SEVEN)
def test_seven_joints_near_their_goal_begin_where_they_are(name):
    problem = pose_problem(name)
    targets, q, _ = random_poses(problem, 40)
    shift = np.random.default_rng(1).uniform(-0.1, 0.1, q.shape)
    starts = np.clip(q + shift, problem.robot.lower, problem.robot.upper)
    for one, other in zip(
        solved(problem, targets, starts),
        solved(problem, targets, starts, closed_form=False),
        strict=True,
    ):
        same(one, other)


@pytest.mark.parametrize('name', SIX)
def test_six_joints_end_no_further_from_a_near_start(name):
    problem = pose_problem(name, **FINE)
    targets, q, _ = random_poses(problem, 60)
    shift = np.random.default_rng(1).uniform(-0.2, 0.2, q.shape)
    starts = np.clip(q + shift, problem.robot.lower, problem.robot.upper)
    with_form = solved(problem, targets, starts)
    without = solved(problem, targets, starts, closed_form=False)
    for start, one, other in zip(starts, with_form, without, strict=True):
        near, alone = (np.linalg.norm(r.q - start) for r in (one, other))
        # beside a double solution the tolerances leave 3e-5 rad, which a search may use
        assert near <= alone + 2e-6 * (1.0 + alone)


@pytest.mark.parametrize('name', [*SIX, *SEVEN, 'scara'])
@pytest.mark.parametrize('tolerance', [1e-5, 1e-13])
def test_batches_single_solves_and_searches_step_by_step_agree(name, tolerance):
    """Random, near and unreachable poses, in one batch that is no multiple of the lanes."""
    given = {'position_tolerance': tolerance, 'orientation_tolerance': tolerance}
    problem = pose_problem(name, **given)
    options = {'restarts': 3, 'max_iterations': 30}
    targets, starts, singles = check_ways_agree(problem, 0.05, options)
    solver = ik.make_solver(record_history=True, **options)
    for target, start, single in zip(targets, starts, singles, strict=True):
        problem.goals[0].set_target(target)
        same(single, solver.solve(problem, start))


@pytest.mark.parametrize('name', ['ur5e', 'panda'])
def test_looks_at_a_search_that_has_not_begun_change_nothing(name):
    """Its result, and runs without iterations or without time."""
    problem = pose_problem(name)
    targets, _, starts = random_poses(problem, 15, seed=11)
    solver = ik.make_solver()
    for target, start, single in zip(
        targets, starts, solved(problem, targets, starts), strict=True
    ):
        problem.goals[0].set_target(target)
        search = solver.begin(problem, start)
        limits = problem.limits.project(start[problem.variables])
        for budget in (None, Budget(iterations=0), Budget(seconds=0.0)):
            if budget is not None:
                assert not search.run(budget)
            np.testing.assert_array_equal(search.result().q[problem.variables], limits)
            np.testing.assert_array_equal(search.x, limits)
        search.run()
        same(search.result(), single)


@pytest.mark.parametrize('name', ['ur5e', 'panda'])
def test_what_is_out_of_reach_is_answered_as_by_the_search_alone(name):
    check_out_of_reach_is_left_to_the_search(pose_problem(name))


def test_solutions_outside_the_limits_are_none():
    """Only the furthest solution is inside the limits."""
    free = pose_problem('ur5e')
    targets, _, starts = random_poses(free, 20, seed=4)
    begun = 0
    for target, start in zip(targets, starts, strict=True):
        free.goals[0].set_target(target)
        every = ik.closed_form.form(free).solve(start)
        lower, upper = every[-1] - 0.4, every[-1] + 0.4
        inside = every[((lower <= every) & (every <= upper)).all(1)]
        problem = ik.IkProblem(
            free.robot, [ik.PoseTask(free.goals[0].link, transform=target)],
            lower=lower, upper=upper,
        )  # fmt: skip
        result = ik.solve(problem, start)
        held = np.clip(start, lower, upper)
        if far_from_goal(problem, held) <= NEAR_FOR_SIX:
            continue
        nearest = np.linalg.norm(inside - held, axis=1).argmin()
        assert result.iterations == 0
        np.testing.assert_allclose(result.q, inside[nearest], rtol=0, atol=1e-9)
        begun += 1
    assert begun > 10


@pytest.mark.parametrize('limit', [np.pi, 2 * np.pi])
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_no_joint_goes_round_for_what_is_a_hair_beyond_its_limit(limit, side):
    """As are goals that were rounded; at the limit they are reached within their tolerance."""
    lower, upper = np.full(6, -limit), np.full(6, limit)
    problem = pose_problem('ur5e', lower=lower, upper=upper)
    robot, link = problem.robot, problem.goals[0].link
    starts = np.tile([0.5, -1.1, 1.3, -0.9, 1.2, 0.4], (6, 1))
    np.fill_diagonal(starts, side * limit)
    beyond = starts + side * 1e-6 * np.eye(6)
    targets = [robot.forward_kinematics(q, link) for q in beyond]
    starts = starts - 1e-3 * side
    single = solved(problem, targets, starts)
    batch = solve_batch(problem, targets, starts)
    for i, result in enumerate(single):
        assert result.success
        assert abs(result.q - beyond[i]).max() < 0.01
        same(result, batch[i])


def test_a_search_goes_on_where_tolerances_are_finer_than_the_form_is_exact():
    problem = pose_problem('ur5e', position_tolerance=1e-15, orientation_tolerance=1e-15)
    targets, _, starts = random_poses(problem, 100, seed=5)
    results = solved(problem, targets, starts, restarts=2)
    assert any(result.iterations > 0 for result in results)
    assert all(result.position_errors.max() < 1e-12 for result in results)


def test_a_start_that_reaches_the_goal_is_kept():
    problem = pose_problem('ur5e')
    targets, q, _ = random_poses(problem, 10)
    for one, result in zip(q, solved(problem, targets, q), strict=True):
        np.testing.assert_array_equal(result.q, one)


@pytest.mark.parametrize('options', [{'restarts': 0}, {'closed_form': False}])
def test_it_is_left_where_a_start_alone_or_no_form_is_asked_for(options):
    problem = pose_problem('ur5e')
    targets, _, starts = random_poses(problem, 20, seed=6)
    batch = solve_batch(problem, targets, starts, **options)
    for i, result in enumerate(solved(problem, targets, starts, **options)):
        assert result.iterations > 0
        same(result, batch[i])


def test_a_search_that_stays_on_its_branch_begins_at_its_start():
    problem = pose_problem('ur5e')
    targets, _, starts = random_poses(problem, 20, seed=7)
    solver = ik.make_solver()
    alone = solved(problem, targets, starts, closed_form=False)
    for target, start, other in zip(targets, starts, alone, strict=True):
        problem.goals[0].set_target(target)
        search = solver.begin(problem, start)
        search.stay_on_branch()
        search.run()
        same(search.result(), other)


def test_a_whole_solve_after_a_search_that_stayed_on_its_branch_is_as_any_other():
    problem = pose_problem('ur5e')
    targets, _, starts = random_poses(problem, 10)
    used, new = (ik.make_solver('levenberg_marquardt') for _ in range(2))
    problem.goals[0].set_target(targets[0])
    search = used.begin(problem, starts[0])
    search.stay_on_branch()
    search.run(Budget(iterations=3))
    for target, start in zip(targets, starts, strict=True):
        problem.goals[0].set_target(target)
        same(used.solve(problem, start), new.solve(problem, start))


def test_frozen_joints_may_stand_elsewhere_from_row_to_row():
    robot = ik.load_urdf('panda')
    given = {'frozen_joints': [robot.joint_names[2]]}
    problem = pose_problem('panda', **given)
    _, q, starts = random_poses(problem, 30, seed=8)
    q[:, 2] = starts[:, 2] = np.random.default_rng(9).uniform(-1.0, 1.0, 30)
    link = problem.goals[0].link
    targets = np.array([robot.forward_kinematics(one, link) for one in q])
    batch = solve_batch(problem, targets, starts)
    assert batch.success.all()
    for i, result in enumerate(solved(problem, targets, starts)):
        same(result, batch[i])
        assert result.q[2] == starts[i, 2]


def test_a_chain_is_looked_at_once_for_all_limits_and_tolerances(monkeypatch):
    looked = []
    look = initial_guess._look_at
    monkeypatch.setattr(initial_guess, '_PLANS', {})
    monkeypatch.setattr(initial_guess, '_look_at', lambda *given: looked.append(1) or look(*given))
    for k in range(4):
        assert (
            initial_guess_of(pose_problem('ur5e', position_tolerance=10.0 ** -(k + 3))) is not None
        )
    assert len(looked) == 1
    monkeypatch.setattr(initial_guess, 'PLANS_KEPT', 2)
    for name in ('puma', 'panda', 'iiwa14'):
        initial_guess_of(pose_problem(name))
    assert len(initial_guess._PLANS) == 2


def test_problems_without_a_form_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(initial_guess, '_look_at', lambda *given: pytest.fail('looked at'))
    robot = ik.load_urdf('ur5e')
    tip = robot.default_tip()
    for tasks in (
        [ik.PositionTask(tip)],
        [ik.PoseTask(tip), ik.PositionTask(tip)],
        [ik.PoseTask(tip), ik.PostureTask()],
    ):
        assert initial_guess_of(ik.IkProblem(robot, tasks)) is None


def test_tolerances_may_change_from_solve_to_solve():
    problem = pose_problem('puma')
    targets, _, starts = random_poses(problem, 10, seed=10)
    solver = ik.make_solver()
    for tolerance in (1e-3, 1e-8):
        problem.position_tolerance = problem.orientation_tolerance = tolerance
        batch = solve_batch(problem, targets, starts)
        for i, (target, start) in enumerate(zip(targets, starts, strict=True)):
            problem.goals[0].set_target(target)
            same(solver.solve(problem, start), batch[i])


def test_the_workspace_alone_says_where_attempts_begin():
    problem = pose_problem('panda')
    solver = ik.make_solver()
    assert DampedWorkspace(problem, solver.options).initial_guess is not None
    assert DampedWorkspace(problem, ik.make_solver(restarts=0).options).initial_guess is None


@pytest.mark.parametrize('seed', range(40))
def test_a_stretched_arm_stays_where_it_is_close_to_its_goal(seed):
    """At a singularity exact solutions may be far from one that is within the tolerances."""
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(seed)
    q = np.array([0.3, -1.2, 0.0, -0.4, 0.0, 0.2])  # elbow and wrist in line
    q += rng.normal(size=6) * 10.0 ** rng.uniform(-6, -2)
    goal = ik.PoseTask(robots.tip_of(robot))
    goal.set_target(robot.forward_kinematics(q, goal.link))
    problem = ik.IkProblem(robot, [goal])
    start = q + rng.normal(size=6) * 1e-2
    alone = ik.solve(problem, start, closed_form=False)
    result = ik.solve(problem, start)
    assert result.success
    assert alone.success
    assert np.linalg.norm(result.q - start) <= 1.0001 * np.linalg.norm(alone.q - start)
