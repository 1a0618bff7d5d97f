# SPDX-License-Identifier: Apache-2.0
"""The seventh joint as a parameter: intervals with solutions, and the best over all of them."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import IkProblem, InvalidOption, PoseTask, UnsupportedProblem
from ik_core.closed_form.records import NONE
from ik_core.closed_form.redundancy_scan import EVERY


def arm(name, seed):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    goal = PoseTask(robots.tip_of(robot))
    problem = IkProblem(robot, [goal])
    q = robots.random_q(robot, rng, margin=0.15)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    return robot, goal, ik.closed_form.form(problem), q, rng


@pytest.mark.parametrize(
    ('name', 'redundant'), [pytest.param('iiwa14', 2, marks=pytest.mark.thorough), ('panda', 6)]
)
def test_the_intervals_end_where_solutions_do(name, redundant):
    *_, form, q, rng = arm(name, 30)
    assert form.redundant_joint == redundant
    intervals = ik.closed_form.redundancy_intervals(form, q, samples=60)
    assert any(low <= q[redundant] <= high for low, high in intervals)
    limits = form.redundancy_range
    for low, high in intervals:
        assert limits[0] <= low < high <= limits[1]
        for value in rng.uniform(low, high, 5):
            assert len(form.solve(q, value)) > 0
        for end, outside in ((low, low - 1e-6), (high, high + 1e-6)):
            assert len(form.solve(q, end)) > 0
            if limits[0] < outside < limits[1]:
                assert len(form.solve(q, outside)) == 0


@pytest.mark.parametrize('name', [pytest.param('iiwa14', marks=pytest.mark.thorough), 'panda'])
def test_the_nearest_of_all_is_at_least_as_near_as_one_that_is_known(name):
    for seed in (31, 32):
        robot, goal, form, q, rng = arm(name, seed)
        start = q + rng.uniform(-0.1, 0.1, robot.n)
        start = np.clip(start, robot.lower, robot.upper)
        best = ik.closed_form.best_solution(form, start, samples=90)
        np.testing.assert_allclose(
            robot.forward_kinematics(best, goal.link), goal.transform, atol=5e-9
        )
        assert np.linalg.norm(best - start) <= np.linalg.norm(q - start) + 1e-6


@pytest.mark.parametrize('name', ['iiwa14', 'panda'])
def test_what_is_swept_eight_at_a_time_is_what_single_solves_find(name):
    robot, _, form, q, rng = arm(name, 35)
    for spread in (0.1, 1.0, 3.0):
        start = np.clip(q + rng.uniform(-spread, spread, robot.n), robot.lower, robot.upper)
        values = np.linspace(*form.redundancy_range, 45)
        _, costs = form.sweep(start, values, EVERY)
        for value, cost in zip(values, costs, strict=True):
            found = form.solve(start, value)
            if len(found):
                assert cost == pytest.approx(np.linalg.norm(found[0] - start) ** 2, abs=1e-9)
            else:
                assert cost == NONE
        best = ik.closed_form.best_solution(form, start)
        slowly = ik.closed_form.best_solution(
            form, start, lambda one, s=start: float(np.linalg.norm(one - s))
        )
        assert np.linalg.norm(best - start) <= np.linalg.norm(slowly - start) + 1e-6


def sampled(form, start, count=4000):
    """The least distance of a solution to a start, over `count` redundancy values."""
    _, costs = form.sweep(start, np.linspace(*form.redundancy_range, count), EVERY)
    return np.sqrt(costs.min())


def stretches(there):
    """First, one behind the last, and value of each stretch of equal values of (N,)."""
    ends = np.flatnonzero(np.diff(there)) + 1
    firsts = np.concatenate([[0], ends])
    return zip(firsts, np.concatenate([ends, [len(there)]]), there[firsts], strict=True)


def test_most_intervals_and_gaps_that_are_narrower_than_samples_are_found():
    robot, goal, form, _, rng = arm('panda', 40)
    start, samples = robot.middle_configuration, 50
    values = np.linspace(*form.redundancy_range, 50 * (samples - 1) + 1)
    hidden = found = 0
    for _ in range(150):
        goal.set_target(robot.forward_kinematics(robots.random_q(robot, rng), goal.link))
        _, costs = form.sweep(start, values, EVERY)
        intervals = ik.closed_form.redundancy_intervals(form, start, samples=samples)
        inside = [any(a <= x <= b for a, b in intervals) for x in values]
        for first, last, there in stretches(costs < NONE):
            if (-first) % 50 >= last - first > 1:  # no sample is in it
                hidden += 1
                found += any(inside[k] == there for k in range(first, last))
    assert hidden >= 5
    assert found >= 0.75 * hidden, (found, hidden)


@pytest.mark.parametrize('name', ['iiwa14', 'panda'])
@pytest.mark.parametrize('spread', [0.2, 3.0])
def test_the_nearest_of_all_is_as_near_as_the_best_of_thousands(name, spread):
    robot, goal, form, _, rng = arm(name, 38)
    gaps = []
    for _ in range(40):
        q = robots.random_q(robot, rng)
        pose = robot.forward_kinematics(q, goal.link)
        goal.set_target(pose)
        start = np.clip(q + rng.uniform(-spread, spread, robot.n), robot.lower, robot.upper)
        best = ik.closed_form.best_solution(form, start)
        np.testing.assert_allclose(robot.forward_kinematics(best, goal.link), pose, atol=5e-9)
        assert (robot.lower <= best).all()
        assert (best <= robot.upper).all()
        gaps.append(np.linalg.norm(best - start) - sampled(form, start))
    assert (np.array(gaps) > 1e-5).sum() == 0
    assert np.median(gaps) <= 0.0


@pytest.mark.parametrize('name', ['iiwa14', 'panda'])
def test_of_hundreds_of_poses_of_an_arm_with_narrow_limits_nearly_all_have_their_nearest(name):
    robot, rng = robots.shipped(name), np.random.default_rng(43)
    middle, half = robot.middle_configuration, 0.225 * (robot.upper - robot.lower)
    goal = PoseTask(robots.tip_of(robot))
    form = ik.closed_form.form(IkProblem(robot, [goal], lower=middle - half, upper=middle + half))
    missed = 0
    for _ in range(400):
        q = middle + half * rng.uniform(-1.0, 1.0, robot.n)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        start = np.clip(q + 0.5 * rng.normal(size=robot.n), middle - half, middle + half)
        best = ik.closed_form.best_solution(form, start)
        assert best is not None
        missed += np.linalg.norm(best - start) > sampled(form, start, 2000) + 1e-5
    assert missed <= 1


def test_what_has_no_solution_at_the_first_values_is_looked_at_closer():
    robot, rng = robots.shipped('panda'), np.random.default_rng(45)
    middle, half = robot.middle_configuration, 0.125 * (robot.upper - robot.lower)
    goal = PoseTask(robots.tip_of(robot))
    form = ik.closed_form.form(IkProblem(robot, [goal], lower=middle - half, upper=middle + half))
    missed = found = 0
    for _ in range(6000):
        q = middle + half * rng.uniform(-1.0, 1.0, robot.n)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        if ik.closed_form.best_solution(form, middle, samples=40) is None:
            missed += 1
            found += ik.closed_form.best_solution(form, middle) is not None
    assert found >= 0.5 * missed > 0


@pytest.mark.parametrize('name', ['iiwa14', 'panda'])
def test_a_solution_beside_the_start_is_found_in_the_least_corner_between_limits(name):
    robot, rng = robots.shipped(name), np.random.default_rng(46)
    goal = PoseTask(robots.tip_of(robot))
    for _ in range(20):
        q = robots.random_q(robot, rng, margin=0.15)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        lower = q - 10.0 ** rng.uniform(-6.0, -4.0, robot.n)
        form = ik.closed_form.form(IkProblem(robot, [goal], lower=lower, upper=robot.upper))
        start = np.maximum(q + 1e-5 * rng.normal(size=robot.n), lower)
        best = ik.closed_form.best_solution(form, start)
        assert best is not None
        assert (best >= lower).all()
        assert np.linalg.norm(best - start) <= 1e-3
        there = robot.forward_kinematics(best, goal.link)
        np.testing.assert_allclose(there, goal.transform, rtol=0, atol=1e-8)


def test_where_a_branch_ends_at_the_edge_of_the_reach_the_nearest_may_be_behind_it():
    robot, goal, form, _, rng = arm('panda', 44)
    behind = 0
    for _ in range(300):
        q = robots.random_q(robot, rng)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        start = np.clip(q + rng.uniform(-0.3, 0.3, robot.n), robot.lower, robot.upper)
        best = ik.closed_form.best_solution(form, start)
        _, costs = form.sweep(start, best[form.redundant_joint] + np.array([-1e-3, 1e-3]), EVERY)
        if (costs >= NONE).sum() == 1:  # it is next to an end
            behind += np.abs(form.solve(start, best[form.redundant_joint])[0] - best).max() < 1e-6
            assert np.linalg.norm(best - start) <= sampled(form, start, 9000) + 1e-5
    assert behind >= 5


@pytest.mark.parametrize('name', ['iiwa14', 'panda'])
def test_the_nearest_is_never_further_than_with_the_value_of_the_start(name):
    robot, goal, form, _, rng = arm(name, 42)
    found = 0
    for _ in range(1500):
        q = robots.random_q(robot, rng)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        start = np.clip(q + 0.05 * rng.normal(size=robot.n), robot.lower, robot.upper)
        own = form.solve(start)
        if len(own) and form.is_certain:
            best = ik.closed_form.best_solution(form, start)
            assert np.linalg.norm(best - start) <= np.linalg.norm(own[0] - start) + 1e-9
            found += 1
    assert found > 700


def test_nearest_solution_may_be_at_the_end_of_a_branch_or_a_limit_of_the_redundant_joint():
    robot, goal, form, q, rng = arm('panda', 39)
    at_limits = ends = 0
    for _ in range(40):
        q = robots.random_q(robot, rng)
        q[form.redundant_joint] = rng.choice(form.redundancy_range)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        best = ik.closed_form.best_solution(form, q)
        assert np.linalg.norm(best - q) < 1e-6
        start = np.clip(q + rng.uniform(-1.0, 1.0, robot.n), robot.lower, robot.upper)
        best = ik.closed_form.best_solution(form, start)
        beside = np.minimum(best - robot.lower, robot.upper - best)[: robot.n]
        at_limits += beside[form.redundant_joint] == 0.0
        ends += np.delete(beside, form.redundant_joint).min() < 1e-8
        assert np.linalg.norm(best - start) <= sampled(form, start) + 1e-5
    assert at_limits > 0
    assert ends > 0


def test_undetermined_joints_stay_at_the_start_in_a_sweep_and_in_the_best():
    robot, goal, form, *_ = arm('iiwa14', 36)
    q = np.array([0.0, 0.0, 0.0, -1.2, 0.5, 0.7, -0.2])
    at_zero, at_right = (
        robot.forward_kinematics(q + turn * np.eye(7)[1], 'iiwa_link_6')[0, 3]
        for turn in (0.0, 0.5 * np.pi)
    )
    q[1] = np.arctan(-at_zero / at_right)  # the wrist is on the first axis, which does not matter
    q[0] = 0.3
    pose = robot.forward_kinematics(q, goal.link)
    goal.set_target(pose)
    _, costs = form.sweep(q, np.linspace(*form.redundancy_range, 9), EVERY)
    assert costs[4] < 1e-12
    assert (np.delete(costs, 4) == NONE).all()
    best = ik.closed_form.best_solution(form, q, samples=41)
    assert abs(best[2]) < 1e-12  # it is reached with the arm in its plane only
    np.testing.assert_allclose(robot.forward_kinematics(best, goal.link), pose, atol=5e-9)
    assert best[0] == pytest.approx(q[0], abs=1e-6)


@pytest.mark.parametrize('name', ['ur5e', 'scara', 'iiwa14'])
def test_errors_and_shares_of_singular_values_are_those_of_the_problem(name):
    robot, rng = robots.shipped(name), np.random.default_rng(37)
    goal = PoseTask(robots.tip_of(robot))
    problem = IkProblem(robot, [goal])
    form = ik.closed_form.form(problem)
    for _ in range(10):
        q = robots.random_q(robot, rng, margin=0.1)
        goal.set_target(robot.forward_kinematics(q, goal.link))
        found = form.solve(q)
        moved = found + 1e-4 * rng.normal(size=found.shape)
        errors, shares = form.appraised(moved)
        for one, error, share in zip(moved, errors, shares, strict=True):
            at = problem.evaluate(one)
            np.testing.assert_allclose(error, [at.position_errors[0], at.orientation_errors[0]])
            values = np.linalg.svd(at.jacobian, compute_uv=False)
            if len(problem.variables) <= 6:
                assert share <= values[-1] / values[0] * (1.0 + 1e-9)
                assert values[-1] / values[0] <= 7.0 * share


def test_any_cost_of_a_configuration_may_choose():
    robot, _, form, q, _ = arm('iiwa14', 33)
    middle = robot.middle_configuration
    best = ik.closed_form.best_solution(
        form, q, lambda one: float(np.abs(one - middle).max()), samples=60
    )
    values = np.linspace(*form.redundancy_range, 60)
    costs = [np.abs(one - middle).max() for value in values for one in form.solve(q, value)]
    assert np.abs(best - middle).max() <= min(costs)


def test_redundancy_intervals_end_at_the_limit_not_an_ulp_beyond():
    robot, rng = robots.shipped('panda'), np.random.default_rng(41)
    goal, upper = PoseTask(robots.tip_of(robot)), robot.upper.copy()
    q = robot.middle_configuration
    goal.set_target(robot.forward_kinematics(q, goal.link))
    for _ in range(30):
        upper[6] = q[6] + rng.uniform(0.01, 0.1)
        form = ik.closed_form.form(IkProblem(robot, [goal], upper=upper))
        assert (
            ik.closed_form.redundancy_intervals(form, q)[-1][1]
            == upper[6]
            == form.redundancy_range[1]
        )


def test_out_of_reach_there_is_no_interval_and_no_best():
    _, goal, form, q, _ = arm('iiwa14', 34)
    goal.set_target(position=[3.0, 0.0, 0.0])
    assert ik.closed_form.redundancy_intervals(form, q, samples=20) == []
    assert ik.closed_form.best_solution(form, q, samples=20) is None


def test_redundancy_sweeps_are_refused_without_a_redundant_joint():
    robot = robots.shipped('ur5e')
    form = ik.closed_form.form(IkProblem(robot, [PoseTask('tool0')]))
    for sweep in (ik.closed_form.redundancy_intervals, ik.closed_form.best_solution):
        with pytest.raises(UnsupportedProblem, match=r'no redundant joint .* solve\(\) has all'):
            sweep(form)


@pytest.mark.parametrize('samples', [0, 1])
def test_one_sample_is_no_sweep(samples):
    *_, form, q, _ = arm('iiwa14', 34)
    for sweep in (ik.closed_form.redundancy_intervals, ik.closed_form.best_solution):
        with pytest.raises(InvalidOption, match=f'samples = {samples}'):
            sweep(form, q, samples=samples)
