# SPDX-License-Identifier: Apache-2.0
"""Arms that are nearly closed: the first attempt begins at a solution of what they nearly are."""

import numpy as np
import pytest
from support import pinocchio_oracle, ur5e_closed_form
from support.first_attempts import (
    check_out_of_reach_is_left_to_the_search,
    check_ways_agree,
    far_from_goal,
    measured,
    random_poses,
    solved,
)

import ik_core as ik
from ik_core.closed_form.initial_guess import NEAR_FOR_SEVEN, NEAR_FOR_SIX, initial_guess_of
from ik_core.maths.lanes import HAS_LANES
from ik_core.maths.rotations import frames_of

pytestmark = pytest.mark.skipif(not HAS_LANES, reason='there are no lanes')

MISS = 0.02  # Solutions of what they nearly are miss the goal by less [m, rad]
MEASURED = [('ur5e', 3), ('ur5e', 4), ('panda', 5)]


def problem_of(name, seed, **given):
    robot = ik.load_urdf(measured(name, seed))
    return ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())], **given)


def beginnings(problem, targets, starts):
    """Return the initial guesses of attempts 0 (N, variables), and the starts as points."""
    rows = np.ascontiguousarray(starts[:, problem.variables])
    points = np.full_like(rows, np.nan)
    frames = frames_of(targets[:, None])
    initial_guess_of(problem).fill(frames, rows, 0, len(rows), points)
    return points, rows


@pytest.mark.parametrize('seed', [3, 4])
def test_a_measured_ur5e_begins_next_to_a_solution_of_the_one_it_was_built_as(seed):
    problem = problem_of('ur5e', seed)
    targets, _, starts = random_poses(problem, 100, seed)
    points, rows = beginnings(problem, targets, starts)
    begun = np.flatnonzero((points != rows).any(1))
    assert len(begun) > 70
    near = 0
    for i in begun:
        gaps = ur5e_closed_form.solutions(targets[i]) - points[i]
        gaps = np.abs((gaps + np.pi) % (2.0 * np.pi) - np.pi).max(1)
        near += gaps.min(initial=np.inf) < 0.1
    assert near > 0.85 * len(begun)  # near singularities a millimetre is more


@pytest.mark.parametrize(('name', 'seed'), MEASURED)
def test_they_begin_inside_their_limits_next_to_the_goal(name, seed):
    problem = problem_of(name, seed)
    targets, _, starts = random_poses(problem, 100, seed)
    model = pinocchio_oracle.pin.buildModelFromXML(measured(name, seed))
    points, rows = beginnings(problem, targets, starts)
    link, limits, begun = problem.goals[0].link, problem.limits, 0
    for target, start, row, point in zip(targets, starts, rows, points, strict=True):
        assert (limits.lower <= point).all()
        assert (point <= limits.upper).all()
        if (point == row).all():
            continue
        q = start.copy()
        q[problem.variables] = point
        values = problem.robot.joint_values(q)
        there = pinocchio_oracle.link_poses(model, values)[link]
        assert np.linalg.norm(there[:3, 3] - target[:3, 3]) < MISS
        assert np.linalg.norm(there[:3, :3] - target[:3, :3]) < MISS
        problem.goals[0].set_target(target)
        assert (
            far_from_goal(problem, start)
            > (NEAR_FOR_SEVEN if len(point) == 7 else NEAR_FOR_SIX) - MISS
        )
        begun += 1
    assert begun > 70


@pytest.mark.parametrize(('name', 'seed'), MEASURED)
def test_they_reach_what_they_reached_in_fewer_steps(name, seed):
    tolerances = {'position_tolerance': 1e-7, 'orientation_tolerance': 1e-7}
    problem = problem_of(name, seed, **tolerances)
    targets, _, starts = random_poses(problem, 150, seed)
    model = pinocchio_oracle.pin.buildModelFromXML(measured(name, seed))
    results, link = solved(problem, targets, starts), problem.goals[0].link
    for target, result in zip(targets, results, strict=True):
        assert result.success
        values = problem.robot.joint_values(result.q)
        there = pinocchio_oracle.link_poses(model, values)[link]
        np.testing.assert_allclose(there, target, atol=3e-7)
        assert (problem.robot.lower <= result.q).all()
        assert (result.q <= problem.robot.upper).all()
    steps = [result.iterations for result in results]
    alone = [r.iterations for r in solved(problem, targets, starts, closed_form=False)]
    assert np.median(steps) <= 3
    assert np.mean(steps) < 0.5 * np.mean(alone)


@pytest.mark.parametrize(('name', 'seed'), MEASURED[1:])
@pytest.mark.parametrize('tolerance', [1e-5, 1e-13])
def test_batches_single_solves_and_searches_step_by_step_agree(name, seed, tolerance):
    """Random, near and unreachable poses."""
    given = {'position_tolerance': tolerance, 'orientation_tolerance': tolerance}
    problem = problem_of(name, seed, **given)
    check_ways_agree(problem, 0.05, {'restarts': 3, 'max_iterations': 30})


@pytest.mark.parametrize(('name', 'seed'), MEASURED[1:])
def test_what_is_out_of_reach_is_answered_as_by_the_search_alone(name, seed):
    check_out_of_reach_is_left_to_the_search(problem_of(name, seed))


def test_a_start_that_reaches_the_goal_is_kept():
    problem = problem_of('ur5e', 4)
    targets, q, _ = random_poses(problem, 10)
    for one, result in zip(q, solved(problem, targets, q), strict=True):
        np.testing.assert_array_equal(result.q, one)
