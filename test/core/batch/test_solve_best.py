# SPDX-License-Identifier: Apache-2.0
"""Choice among solutions, and all of them, against closed forms."""

import itertools

import numpy as np
import pytest
from support import robots, ur5e_closed_form

import ik_core as ik
from ik_core import IkProblem, IkStatus, InvalidGoal, InvalidOption, UnsupportedProblem
from ik_core.batch.many_targets import scattered_starts


def pose_problem(name, **options):
    robot = robots.shipped(name)
    return IkProblem(robot, [ik.PoseTask(robots.tip_of(robot))], **options)


def aim(problem, q):
    for task in problem.goals:
        task.set_target(problem.robot.forward_kinematics(q, task.link))


def apart(a, b):
    """Largest joint difference (len(a), len(b)) modulo whole turns."""
    gap = (a[:, None] - b[None] + np.pi) % (2.0 * np.pi) - np.pi
    return np.abs(gap).max(axis=-1)


def aim_at_random(problem, rng):
    """At a pose away from singularities, where the tolerances leave room; its closed forms."""
    while True:
        q = rng.uniform(-np.pi, np.pi, 6)
        aim(problem, q)
        if np.linalg.svd(problem.evaluate(q).jacobian)[1][-1] > 0.01:
            return ur5e_closed_form.solutions(problem.goals[0].transform)


# --- all solutions -------------------------------------------------------------------------------


def test_the_closed_form_is_one():
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(80)
    counts = []
    for _ in range(100):
        q = rng.uniform(-np.pi, np.pi, 6)
        pose = robot.forward_kinematics(q, 'tool0')
        found = ur5e_closed_form.solutions(pose)
        assert apart(q[None], found).min() < 1e-6
        for other in found:
            np.testing.assert_allclose(ur5e_closed_form.forward(other), pose, atol=1e-8)
        counts.append(len(found))
    assert max(counts) == 8
    assert min(counts) < 8


@pytest.mark.parametrize('closed_form', [True, False])
def test_all_solutions_of_a_ur5e_are_found_and_nothing_else(closed_form):
    problem, rng = pose_problem('ur5e'), np.random.default_rng(81)
    for _ in range(100):
        q, q0 = rng.uniform(-np.pi, np.pi, (2, 6))
        aim(problem, q)
        found = ik.solve_all(problem, q0, closed_form=closed_form)
        truth = ur5e_closed_form.solutions(problem.goals[0].transform)
        assert len(found) == len(truth)
        assert found.complete
        gaps = apart(found.q, truth)
        assert gaps.min(axis=0).max() < 1e-6
        assert gaps.min(axis=1).max() < 1e-6
        assert found.position_errors.max() < 1e-9
        assert found.orientation_errors.max() < 1e-9
        away = np.linalg.norm(found.q - q0, axis=1)
        assert (np.diff(away) >= 0.0).all()
        assert (np.abs(found.q - q0) <= np.pi + 1e-9).all()  # the nearest turns: all have room


def test_turns_gives_every_copy_inside_the_limits_once():
    problem = pose_problem('ur5e')
    aim(problem, [0.4, -1.2, 1.4, -0.9, 1.1, 0.3])
    few, many = ik.solve_all(problem), ik.solve_all(problem, turns=True)
    low, high = problem.robot.lower, problem.robot.upper
    expected = []
    for q in few:
        choices = [[v + 2.0 * np.pi * k for k in (-2, -1, 0, 1, 2)] for v in q]
        kept = [[v for v in c if a <= v <= b] for c, a, b in zip(choices, low, high, strict=True)]
        expected += itertools.product(*kept)
    assert len(few) == 8
    assert len(many) == len(expected) == 8 * 2**6
    gaps = np.abs(many.q[:, None] - np.array(expected)[None]).max(-1)
    assert (gaps.min(axis=0) < 1e-9).all()
    assert (gaps.min(axis=1) < 1e-9).all()
    assert many.position_errors.max() < 1e-9


def two_links(lower=-3.0, upper=3.0):
    z, shift = np.array([0.0, 0.0, 1.0]), robots.transform(translation=[1.0, 0.0, 0.0])
    joints = [
        ik.robot.Joint('j1', 'revolute', 'a', 'b', axis=z, lower=lower, upper=upper),
        ik.robot.Joint('j2', 'revolute', 'b', 'c', shift, z, lower=lower, upper=upper),
        ik.robot.Joint('end', 'fixed', 'c', 'tip', shift),
    ]
    return ik.Robot.from_joints('two links', ['a', 'b', 'c', 'tip'], joints)


def test_limits_take_solutions_away():
    goal = ik.PositionTask('tip', [1.0, 1.0, 0.0], weights=[1, 1, 0])
    both = ik.solve_all(IkProblem(two_links(), [goal]))
    expected = [[0.0, np.pi / 2], [np.pi / 2, -np.pi / 2]]
    np.testing.assert_allclose(both.q[np.argsort(both.q[:, 0])], expected, atol=1e-9)
    one = ik.solve_all(IkProblem(two_links(lower=-0.1), [goal]))
    np.testing.assert_allclose(one.q, [[0.0, np.pi / 2]], atol=1e-9)
    assert one.complete


def test_a_stretched_arm_has_one_singular_solution():
    goal = ik.PositionTask('tip', [2.0, 0.0, 0.0], weights=[1, 1, 0])
    found = ik.solve_all(IkProblem(two_links(), [goal]))
    assert len(found) == 1
    np.testing.assert_allclose(found[0], 0.0, atol=1e-4)


def test_where_no_search_arrives_there_is_no_solution():
    goal = ik.PositionTask('tip', [3.0, 0.0, 0.0], weights=[1, 1, 0])
    found = ik.solve_all(IkProblem(two_links(), [goal]), turns=True)
    assert len(found) == 0
    assert list(found) == []
    assert found.q.shape == (0, 2)
    assert found.position_errors.shape == (0, 1)
    assert not found.complete


def test_a_goal_just_out_of_reach_but_within_its_tolerance_is_answered():
    goal = ik.PositionTask('tip', [2.0 + 5e-6, 0.0, 0.0], weights=[1, 1, 0])
    found = ik.solve_all(IkProblem(two_links(), [goal]))
    assert len(found) >= 1
    assert found.position_errors.max() <= 1e-5


def test_a_wrist_in_line_is_said_to_be_singular_and_incomplete():
    problem = pose_problem('ur5e')
    aim(problem, [0.4, -1.2, 1.4, -0.9, 0.0, 0.3])
    pose = problem.goals[0].transform
    for closed_form in (True, False):
        found = ik.solve_all(problem, closed_form=closed_form)
        assert found.singular.any()
        assert not found.complete
        for q in found:
            np.testing.assert_allclose(ur5e_closed_form.forward(q), pose, atol=1e-7)


@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'pr2_like'])
def test_infinitely_many_solutions_are_refused_with_a_way_out(name):
    problem = pose_problem(name)
    aim(problem, problem.default_configuration)
    with pytest.raises(UnsupportedProblem, match=r'[12] of [78] joints free.*frozen_joints'):
        ik.solve_all(problem)
    ur5e = robots.shipped('ur5e')
    with pytest.raises(UnsupportedProblem, match='3 of 6'):
        ik.solve_all(IkProblem(ur5e, [ik.PositionTask('tool0', [0.3, 0.3, 0.3])]))
    with pytest.raises(UnsupportedProblem, match='PostureTask'):
        ik.solve_all(IkProblem(ur5e, [ik.PoseTask('tool0'), ik.PostureTask()]))


def test_with_a_joint_frozen_a_redundant_arm_has_finitely_many():
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(82)
    tip = robots.tip_of(robot)
    third = robot.joint_names[robot.chain(tip)[2]]
    problem = IkProblem(robot, [ik.PoseTask(tip)], frozen_joints=[third])
    for _ in range(5):
        q = robots.random_q(robot, rng, margin=0.2)
        aim(problem, q)
        found = ik.solve_all(problem, q)
        np.testing.assert_allclose(found[0], q, atol=1e-8)  # itself is the nearest
        assert (found.q[:, robot.joint_index(third)] == q[robot.joint_index(third)]).all()
        assert all(robots.inside(robot, one, problem.variables) for one in found)


def test_the_same_seed_gives_the_same_whatever_the_threads():
    problem = pose_problem('ur5e')
    aim(problem, [0.4, -1.2, 1.4, -0.9, 1.1, 0.3])
    one, two = (ik.solve_all(problem, closed_form=False, threads=k, random_seed=4) for k in (1, 3))
    np.testing.assert_array_equal(one.q, two.q)
    assert one.searches == two.searches


@pytest.mark.parametrize('value', [0, 2.5, 'many'])
def test_bad_numbers_of_searches_are_refused(value):
    problem = pose_problem('ur5e')
    aim(problem, problem.default_configuration)
    with pytest.raises(InvalidOption):
        ik.solve_all(problem, max_searches=value)
    with pytest.raises(InvalidOption):
        ik.batch.solve_best(problem, attempts=value)


# --- the best ------------------------------------------------------------------------------------


def test_the_nearest_of_a_ur5es_is_that_of_the_closed_form():
    problem, rng = pose_problem('ur5e'), np.random.default_rng(83)
    weights = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1])
    for _ in range(30):
        truth, q0 = aim_at_random(problem, rng), rng.uniform(-np.pi, np.pi, 6)
        gaps = (truth - q0 + np.pi) % (2.0 * np.pi) - np.pi  # every turn has room within 2 pi
        for w in (1.0, weights):
            result = ik.batch.solve_best(problem, q0, 'nearest', weights=w, attempts=200)
            least = (w * gaps**2).sum(axis=1).min()
            assert (w * (result.q - q0) ** 2).sum() == pytest.approx(least, rel=1e-2, abs=1e-3)
            assert result.success


def manipulability(robot, q, link):
    return np.prod(np.linalg.svd(robot.jacobian(q, link))[1])


def test_the_most_manipulable_and_the_farthest_from_limits_of_a_ur5e():
    problem, rng = pose_problem('ur5e'), np.random.default_rng(84)
    robot = problem.robot
    for _ in range(10):
        truth = aim_at_random(problem, rng)  # nearest to 0, which is the middle
        best = ik.batch.solve_best(problem, choose='manipulable', attempts=200)
        largest = max(manipulability(robot, q, 'tool0') for q in truth)
        assert manipulability(robot, best.q, 'tool0') == pytest.approx(largest, rel=1e-2)
        far = ik.batch.solve_best(problem, choose='limits', attempts=200)
        least = (truth**2).sum(axis=1).min()
        assert (far.q**2).sum() == pytest.approx(least, rel=1e-2)


def test_a_redundant_arm_is_improved_in_its_null_space():
    problem, rng = pose_problem('iiwa14'), np.random.default_rng(85)
    robot = problem.robot
    half, middle = 0.5 * (robot.upper - robot.lower), 0.5 * (robot.upper + robot.lower)

    def nearest(q, q0):
        return ((q - q0) ** 2).sum()

    def limits(q, q0):
        return (((q - middle) / half) ** 2).sum()

    for choose, measure in (('nearest', nearest), ('limits', limits)):
        for _ in range(4):
            q, q0 = robots.random_q(robot, rng), robots.random_q(robot, rng)
            aim(problem, q)
            best = ik.batch.solve_best(problem, q0, choose)
            assert best.success
            assert robots.inside(robot, best.q)
            # no motion that leaves the pose alone lowers it: the slope along the null space
            step, along = 1e-4, np.linalg.svd(problem.evaluate(best.q).jacobian)[2][-1]
            free = np.minimum(best.q - robot.lower, robot.upper - best.q) > 1e-6
            if free.all():
                slope = measure(best.q + step * along, q0) - measure(best.q - step * along, q0)
                assert abs(slope / (2 * step)) < 2e-2
            singles = ik.solve_batch(problem, problem.goals[0].transform[None],
                                     q0, solver='levenberg_marquardt')  # fmt: skip
            assert measure(best.q, q0) <= measure(singles.q[0], q0) + 1e-9


def test_first_is_what_solve_finds_and_a_function_chooses_too():
    problem = pose_problem('ur5e')
    aim(problem, [0.4, -1.2, 1.4, -0.9, 1.1, 0.3])
    q0 = np.full(6, 0.2)
    first = ik.batch.solve_best(problem, q0, 'first', random_seed=2)
    np.testing.assert_array_equal(first.q, ik.solve(problem, q0, random_seed=2).q)
    truth = ur5e_closed_form.solutions(problem.goals[0].transform)
    elbow = ik.batch.solve_best(problem, q0, lambda q: -np.sin(q[2]), attempts=200)
    assert np.sin(elbow.q[2]) == pytest.approx(np.sin(truth[:, 2]).max(), abs=1e-3)


def test_choosing_is_deterministic_and_counts_all_searches():
    problem = pose_problem('panda')
    aim(problem, problem.default_configuration + 0.1)
    a, b = (
        ik.batch.solve_best(problem, choose='limits', threads=k, random_seed=3) for k in (1, 2)
    )
    np.testing.assert_array_equal(a.q, b.q)
    assert (a.iterations, a.restarts) == (b.iterations, b.restarts)
    assert a.evaluations > 64


def test_a_budget_of_no_time_gives_what_the_first_search_has():
    problem = pose_problem('ur5e')
    aim(problem, [0.4, -1.2, 1.4, -0.9, 1.1, 0.3])
    result = ik.batch.solve_best(problem, budget=ik.Budget(seconds=0.0))
    assert result.status in (IkStatus.REACHED, IkStatus.TIME_LIMIT)
    assert ik.batch.solve_best(problem, budget=ik.Budget(seconds=0.5)).success


def test_out_of_reach_the_closest_point_is_the_answer():
    problem = pose_problem('ur5e')
    far = np.eye(4)
    far[0, 3] = 3.0
    problem.goals[0].set_target(far)
    best, single = ik.batch.solve_best(problem), ik.solve(problem)
    assert best.status is single.status is IkStatus.CLOSEST
    np.testing.assert_array_equal(best.q, single.q)


def test_other_solvers_and_secondary_tasks_can_choose():
    robot = robots.shipped('panda')
    goal = ik.PoseTask('panda_hand_tcp', [0.4, 0.2, 0.5], [1, 0, 0, 0])
    plain = IkProblem(robot, [goal])
    bfgs = ik.batch.solve_best(plain, choose='limits', attempts=3, solver='bfgs', restarts=5)
    assert bfgs.success
    own = IkProblem(robot, [goal], secondary=[ik.tasks.LimitAvoidanceTask()])
    assert ik.batch.solve_best(own, choose='nearest', attempts=3).success


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('choose', 'best'),
        ('choose', None),
        *(('weights', w) for w in ([1.0, 2.0], -1.0, np.nan, 'x')),
    ],
)
def test_bad_choices_are_refused(name, value):
    problem = pose_problem('ur5e')
    aim(problem, problem.default_configuration)
    with pytest.raises(InvalidOption):
        ik.batch.solve_best(problem, **{name: value})


def test_a_goal_without_a_target_is_refused():
    for choose in (ik.solve_all, ik.batch.solve_best):
        with pytest.raises(InvalidGoal):
            choose(pose_problem('ur5e'))


def test_starts_are_inside_even_and_go_on():
    problem = pose_problem('panda')
    q0 = problem.default_configuration
    all_at_once, seeds = scattered_starts(problem, q0, 0, 500, 7)
    later, later_seeds = scattered_starts(problem, q0, 300, 200, 7)
    np.testing.assert_array_equal(all_at_once[300:], later)
    np.testing.assert_array_equal(seeds[300:], later_seeds)
    assert len(set(seeds)) == 500
    x, limits = all_at_once[:, problem.variables], problem.limits
    assert (x >= limits.lower).all()
    assert (x <= limits.upper).all()
    share = (x - limits.lower) / (limits.upper - limits.lower)
    for column in share.T:  # random ones would miss this by 5 to 10
        assert (abs(np.histogram(column, 10, (0, 1))[0] - 50) <= 4).all()
    assert np.abs(np.corrcoef(share.T) - np.eye(7)).max() < 0.15
    still = np.setdiff1d(np.arange(problem.robot.n), problem.variables)
    assert (all_at_once[:, still] == q0[still]).all()
