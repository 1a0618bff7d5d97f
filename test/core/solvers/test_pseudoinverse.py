# SPDX-License-Identifier: Apache-2.0
"""The pseudoinverse method: least-squares steps, the null space, the coursework's algorithm."""

import numpy as np
import pytest
from support import robots
from support.jacobian_problems import WIDE, figure, flat, model, planar, step_from

import ik_core as ik
from ik_core import IkProblem, OrientationTask, PoseTask, PositionTask, PostureTask, make_solver

SOLVER = 'pseudoinverse'


@pytest.mark.parametrize('name', ['buss_y', 'buss_double_y'])
def test_the_step_is_the_moore_penrose_inverse_times_the_error(name):
    problem, _ = figure(name, stretch=1.2)
    q = np.linspace(-0.7, 0.6, problem.robot.n)
    jacobian, e = model(problem, q)
    step = step_from(SOLVER, problem, q, rank_tolerance=1e-9, **WIDE)
    np.testing.assert_allclose(step, np.linalg.pinv(jacobian, rcond=1e-9) @ e, atol=1e-9)
    np.testing.assert_allclose(jacobian @ step, e, atol=1e-9)  # e is in the range of J


def test_with_more_rows_than_joints_the_step_is_the_least_squares_one():
    robot = planar(1.0, 1.0)
    goals = [flat(1.0, 1.0), PositionTask('l1', [0.2, 0.7, 0], weights=(1, 1, 0))]
    problem = IkProblem(robot, goals)
    jacobian, e = model(problem, [0.4, 0.7])
    step = step_from(SOLVER, problem, [0.4, 0.7], **WIDE)
    np.testing.assert_allclose(jacobian.T @ (e - jacobian @ step), 0.0, atol=1e-12)
    full_rank = np.linalg.inv(jacobian.T @ jacobian) @ jacobian.T  # Eq. 3.7 holds here
    np.testing.assert_allclose(step, full_rank @ e, atol=1e-12)


def test_at_a_singularity_it_is_tame_and_near_one_it_is_not():
    """Buss 4."""
    problem = IkProblem(planar(1.0, 1.0), [flat(1.8, 0.1)])
    options = {'rank_tolerance': 1e-9, **WIDE}
    assert np.abs(step_from(SOLVER, problem, [0.0, 0.0], **options)).max() < 0.1
    assert np.abs(step_from(SOLVER, problem, [0.0, 1e-4], **options)).max() > 100.0


def test_singular_values_below_the_tolerance_count_as_zero():
    problem = IkProblem(planar(1.0, 1.0), [flat(1.8, 0.1)])
    q = [0.0, 1e-3]
    s = np.linalg.svd(model(problem, q)[0], compute_uv=False)
    ratio = s[1] / s[0]
    kept = step_from(SOLVER, problem, q, rank_tolerance=0.9 * ratio, **WIDE)
    dropped = step_from(SOLVER, problem, q, rank_tolerance=1.1 * ratio, **WIDE)
    assert np.abs(kept).max() > 10.0
    jacobian, e = model(problem, q)
    np.testing.assert_allclose(dropped, np.linalg.pinv(jacobian, rcond=1.1 * ratio) @ e)
    assert np.abs(dropped).max() < 0.2


# --- the null space ----------------------------------------------------------------------------


def with_secondary(*secondary, robot_name='iiwa14', seed=3):
    robot, rng = robots.shipped(robot_name), np.random.default_rng(seed)
    q, target = (robots.random_q(robot, rng, margin=0.3) for _ in range(2))
    tip = robots.tip_of(robot)
    goal = PoseTask(tip, transform=robot.forward_kinematics(0.9 * q + 0.1 * target, tip))
    return IkProblem(robot, [goal], secondary=secondary), q


def secondary_tasks():
    rest = np.linspace(-0.5, 0.7, 7)
    return [
        [PostureTask(rest)],
        [PostureTask(rest, weights=np.arange(1.0, 8.0))],
        [OrientationTask('iiwa_link_4', [0.1, 0.2, 0.3, 1.0]), PostureTask(rest, weights=0.1)],
    ]


def test_there_is_a_link_for_these_tests():
    assert 'iiwa_link_4' in robots.shipped('iiwa14').link_names


@pytest.mark.parametrize('tasks', secondary_tasks(), ids=['posture', 'weighted', 'two'])
@pytest.mark.parametrize('weights', [{}, {'joint_stiffness': 'iiwa_joint_2=4'}])
def test_null_space_motion_leaves_the_goal(tasks, weights):
    """J N z = 0, and the goals' part of the step is as without secondary tasks (Buss Eq. 7)."""
    problem, q = with_secondary(*tasks)
    jacobian, _ = model(problem, q)
    plain = step_from(SOLVER, IkProblem(problem.robot, problem.goals), q, **WIDE, **weights)
    step = step_from(SOLVER, problem, q, **WIDE, **weights)
    extra = step - plain
    assert np.abs(extra).max() > 0.05
    np.testing.assert_allclose(jacobian @ extra, 0.0, atol=1e-10)


@pytest.mark.parametrize('tasks', secondary_tasks(), ids=['posture', 'weighted', 'two'])
@pytest.mark.parametrize('weights', [{}, {'joint_stiffness': 'iiwa_joint_2=4'}])
def test_null_space_motion_mends_the_secondary_tasks_as_far_as_it_can(tasks, weights):
    problem, q = with_secondary(*tasks)
    plain = step_from(SOLVER, IkProblem(problem.robot, problem.goals), q, **WIDE, **weights)
    extra = step_from(SOLVER, problem, q, **WIDE, **weights) - plain
    residual, jacobian = problem.evaluator.secondary_at(q)
    left = residual + jacobian @ extra
    _, s, vt = np.linalg.svd(model(problem, q)[0])
    free = vt[len(s) :].T
    np.testing.assert_allclose(free.T @ jacobian.T @ left, 0.0, atol=1e-5)  # no descent left
    assert left @ left < residual @ residual


def test_a_rest_posture_is_liegeois_projection():
    rest = np.linspace(-0.5, 0.7, 7)
    problem, q = with_secondary(PostureTask(rest))
    jacobian, e = model(problem, q)
    inverse = np.linalg.pinv(jacobian)
    expected = inverse @ e + (np.eye(7) - inverse @ jacobian) @ (rest - q)
    np.testing.assert_allclose(step_from(SOLVER, problem, q, **WIDE), expected, atol=1e-5)


def test_the_goal_is_reached_with_secondary_tasks_on_the_way():
    rest = np.linspace(-0.5, 0.7, 7)
    problem, q = with_secondary(PostureTask(rest))
    alone = make_solver(SOLVER).solve(IkProblem(problem.robot, problem.goals), q)
    both = make_solver(SOLVER).solve(problem, q)
    assert alone.success
    assert both.success
    assert np.linalg.norm(both.q - rest) < np.linalg.norm(alone.q - rest) - 0.01


def test_without_freedom_secondary_tasks_change_nothing():
    robot = planar(1.0, 1.0)
    tasks = [flat(1.0, 1.0)]
    plain = step_from(SOLVER, IkProblem(robot, tasks), [0.3, 0.9])
    problem = IkProblem(robot, tasks, secondary=[PostureTask([1.0, -1.0])])
    np.testing.assert_allclose(step_from(SOLVER, problem, [0.3, 0.9]), plain, atol=1e-9)


# --- the extended Jacobian -----------------------------------------------------------------------


def null_vector(jacobian):
    """The null vector (7,) of J (6, 7) by its minors, which turns smoothly as J changes."""
    minors = [np.linalg.det(np.delete(jacobian, i, axis=1)) for i in range(7)]
    return np.array([(-1) ** i * minor for i, minor in enumerate(minors)])


def at_a_minimum(*tasks):
    """A problem that is solved at q with the least cost of the tasks, and q."""
    problem, q = with_secondary(*tasks)
    goal, q = problem.goals[0], ik.solve(problem, q).q
    for _ in range(20):  # down to rounding
        goal.set_target(problem.robot.forward_kinematics(q, goal.link))
        q = q + step_from(SOLVER, problem, q, null_space='extended', **WIDE)
    goal.set_target(problem.robot.forward_kinematics(q, goal.link))
    return problem, q


def move_goal(problem, way):
    """Move the goal by this way [m] along each axis."""
    goal = problem.goals[0]
    target = goal.transform
    target[:3, 3] += way
    goal.set_target(target)


def test_the_extended_jacobian_is_baillieuls():
    """dq of the square system of J and the derivative of G = n'grad H, by central differences."""
    rest = np.linspace(-0.5, 0.7, 7)
    orientation = OrientationTask('iiwa_link_4', [0.1, 0.2, 0.3, 1.0])
    problem, q = at_a_minimum(orientation, PostureTask(rest, weights=0.1))
    move_goal(problem, [0.03, -0.02, 0.01])
    jacobian, e = model(problem, q)

    def along_null(at):
        residual, rows = problem.evaluator.secondary_at(at)
        return null_vector(model(problem, at)[0]) @ rows.T @ residual

    h = 1e-5 * np.eye(7)
    row = np.array([(along_null(q + d) - along_null(q - d)) / 2e-5 for d in h])
    expected = np.linalg.solve(np.vstack([jacobian, row]), [*e, -along_null(q)])
    step = step_from(SOLVER, problem, q, null_space='extended', **WIDE)
    np.testing.assert_allclose(step, expected, atol=1e-5)
    shortest = np.linalg.pinv(jacobian) @ e
    assert np.abs(step - shortest).max() > 1e-3


@pytest.mark.parametrize(('null_space', 'order'), [('projected', 1), ('extended', 2)])
def test_the_extended_jacobian_tracks_a_minimum(null_space, order):
    """After one step towards a moved goal the slope is of this order in the goal's way."""
    rest = np.linspace(-0.5, 0.7, 7)
    problem, q = at_a_minimum(PostureTask(rest))

    def slope_after(way):
        move_goal(problem, [way, -way, 0.5 * way])
        moved = q + step_from(SOLVER, problem, q, null_space=null_space, **WIDE)
        move_goal(problem, [-way, way, -0.5 * way])
        n = null_vector(model(problem, moved)[0])
        return abs(n @ (moved - rest)) / np.linalg.norm(n)

    assert slope_after(4e-3) / slope_after(1e-3) == pytest.approx(4.0**order, rel=0.2)


def test_the_extended_jacobian_without_freedom_changes_nothing():
    robot = planar(1.0, 1.0)
    tasks = [flat(1.0, 1.0)]
    plain = step_from(SOLVER, IkProblem(robot, tasks), [0.3, 0.9])
    problem = IkProblem(robot, tasks, secondary=[PostureTask([1.0, -1.0])])
    step = step_from(SOLVER, problem, [0.3, 0.9], null_space='extended')
    np.testing.assert_allclose(step, plain, atol=1e-9)


# --- the coursework's algorithm ----------------------------------------------------------------


def test_the_time_step_is_the_share_of_the_step_that_is_made():
    problem, _ = figure('buss_y', stretch=1.2)
    q = np.linspace(-0.7, 0.6, 7)
    whole = step_from(SOLVER, problem, q, **WIDE)
    np.testing.assert_allclose(step_from(SOLVER, problem, q, time_step=0.1, **WIDE), 0.1 * whole)
    near, q = figure('buss_y')
    assert make_solver(SOLVER, time_step=0.1, max_iterations=500).solve(near, q + 0.1).success


def test_halving_makes_targets_out_of_reach_pull_less():
    """Dorta et al. 3.1, steps 4 and 5: stretched along x, of e = (3, 2) the 3 can't be mended."""
    problem = IkProblem(planar(1.0, 1.0), [flat(5.0, 2.0)])
    jacobian, e = model(problem, [0.0, 0.0])
    inverse = np.linalg.pinv(jacobian)
    for tolerance, halvings in [(np.inf, 0), (3.1, 0), (2.9, 1), (1.0, 2), (0.01, 9)]:
        step = step_from(SOLVER, problem, [0.0, 0.0], halving_tolerance=tolerance, **WIDE)
        np.testing.assert_allclose(step, inverse @ e / 2**halvings, atol=1e-12)
        assert np.linalg.norm((np.eye(2) - jacobian @ inverse) @ e) / 2**halvings <= tolerance


def test_limits_are_capped_at_every_step():
    """Dorta et al. Eq. 3.13."""
    robot = planar(1.0, 1.0, lower=-0.6, upper=0.5)
    problem = IkProblem(robot, [flat(0.2, 1.5)])
    q = np.array([0.3, 0.4])
    jacobian, e = model(problem, q)
    expected = np.clip(q + np.linalg.pinv(jacobian) @ e, -0.6, 0.5)
    assert (np.abs(expected) >= 0.5).any()
    step = step_from(SOLVER, problem, q, **WIDE)
    np.testing.assert_allclose(q + step, expected, atol=1e-12)


@pytest.mark.parametrize('bad', [{'rank_tolerance': 0.0}, {'time_step': 0.0}, {'time_step': 2.5},
                                 {'halving_tolerance': 0.0}, {'limits': 'never'}])  # fmt: skip
def test_bad_options_are_refused(bad):
    with pytest.raises(ik.InvalidOption, match=next(iter(bad))):
        make_solver(SOLVER, **bad)
