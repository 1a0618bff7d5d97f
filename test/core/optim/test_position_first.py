# SPDX-License-Identifier: Apache-2.0
"""Goals that put the position first, of arms with too few joints for whole poses."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.few_joints import hobby_arm
from support.robots import shipped

import ik_core as ik
from ik_core import IkStatus
from ik_core.batch.many_targets import ManySolves
from ik_core.robot.linkages import linkage

ARMS = {'hobby': hobby_arm, 'arm5': lambda: shipped('arm5'), 'linkage': lambda: linkage(5)}


@pytest.fixture(params=ARMS)
def arm(request):
    return ARMS[request.param]()


def random_configurations(robot, seed, count):
    box = np.clip([robot.lower, robot.upper], -np.pi, np.pi)
    return np.random.default_rng(seed).uniform(*box, (count, robot.n))


def position_first(robot, secondary=()):
    tip = robot.default_tip()
    goal = ik.PoseTask.for_joints(robot.n, tip)
    return goal, ik.IkProblem(robot, [goal], secondary=secondary)


def turned_off(robot, q, angle=0.5):
    """The tip's pose (4, 4) at q, turned by an angle that no posture may have there."""
    pose = robot.forward_kinematics(q)
    axis = np.array([0.48, -0.6, 0.64])
    pose[:3, :3] = pose[:3, :3] @ Rotation.from_rotvec(angle * axis).as_matrix()
    return pose


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'closed_form', 'bfgs'])
def test_poses_that_are_reachable_are_reached(arm, solver):
    goal, problem = position_first(arm)
    options = {} if solver == 'closed_form' else {'restarts': 100}
    method = ik.make_solver(solver, **options)
    count = 100 if solver == 'levenberg_marquardt' else 12
    for q, q0 in zip(
        random_configurations(arm, 1, count), random_configurations(arm, 2, count), strict=True
    ):
        goal.set_target(arm.forward_kinematics(q))
        result = method.solve(problem, q0)
        assert result.success, result.message
        again = problem.evaluate(result.q)
        assert result.cost == pytest.approx(again.cost, rel=1e-9, abs=1e-22)
        np.testing.assert_allclose(result.position_errors, again.position_errors, atol=1e-12)


@pytest.mark.parametrize('name', ['hobby', 'arm5', 'scara'])
def test_reachable_poses_take_the_searches_of_equal_weights_alone(name):
    robot = shipped(name) if name == 'scara' else ARMS[name]()
    tip, count = robot.default_tip(), 200
    goals = ik.PoseTask.for_joints(robot.n, tip), ik.PoseTask(tip)
    problems = [ik.IkProblem(robot, [goal]) for goal in goals]
    method, iterations, same = ik.make_solver(), np.zeros((count, 2)), 0
    starts = random_configurations(robot, 12, count)
    for k, q in enumerate(random_configurations(robot, 11, count)):
        found = []
        for goal, problem in zip(goals, problems, strict=True):
            goal.set_target(robot.forward_kinematics(q))
            found.append(method.solve(problem, starts[k]))
            assert found[-1].success
        iterations[k] = [result.iterations for result in found]
        same += bool((found[0].q == found[1].q).all())
    assert same == count
    np.testing.assert_array_equal(*iterations.T)


def test_where_a_pose_is_not_reached_the_position_is_and_nothing_near_is_turned_less(arm):
    goal, problem = position_first(arm)
    method, restarts = ik.make_solver(), []
    for q, q0 in zip(
        random_configurations(arm, 3, 20), random_configurations(arm, 4, 20), strict=True
    ):
        goal.set_target(turned_off(arm, q))
        result = method.solve(problem, q0)
        restarts.append(result.restarts)
        if result.status is IkStatus.CLOSEST:
            continue  # the position is missed
        assert result.position_errors[0] < 1e-5
        at, inside = problem.evaluate(result.q), problem.limits
        x = result.q[problem.variables]
        free = (x > inside.lower + 1e-9) & (x < inside.upper - 1e-9)
        gradient = (at.jacobian.T @ at.residual)[free]
        scale = np.linalg.norm(at.jacobian[:, free], axis=0) * np.linalg.norm(at.residual)
        if result.status is IkStatus.TOO_FEW_JOINTS:
            assert (np.abs(gradient) <= 1e-6 * scale).all()
    assert np.median(restarts) <= 100, 'those of the first search alone'


def test_a_position_missed_from_the_end_of_the_first_search_is_found_from_the_start():
    robot = hobby_arm()
    goal, problem = position_first(robot)
    method, plain = ik.make_solver(), ik.make_solver(restarts=0)
    alike, lost = problem.equally_weighted, 0
    for q, q0 in zip(
        random_configurations(robot, 5, 150), random_configurations(robot, 6, 150), strict=True
    ):
        goal.set_target(turned_off(robot, q))
        end = method.solve(alike, q0).q
        next_one = plain._search(problem, end)
        next_one.run()
        lost += next_one.result().position_errors[0] > 1e-3
        assert method.solve(problem, q0).position_errors[0] < 1e-4
    assert lost > 0, 'none of these goals shows it'


@pytest.mark.parametrize('reachable', [True, False])
def test_step_by_step_the_answer_is_the_same(arm, reachable):
    goal, problem = position_first(arm)
    q, q0 = random_configurations(arm, 7, 2)
    goal.set_target(arm.forward_kinematics(q) if reachable else turned_off(arm, q))
    whole = ik.make_solver().solve(problem, q0)
    search, runs, spent = ik.make_solver().begin(problem, q0), 0, 0
    while not search.run(ik.Budget(iterations=3)):
        runs += 1
        now = search.result()
        assert now.iterations <= spent + 3
        assert np.isfinite(now.q).all()
        if runs > 1:
            np.testing.assert_array_equal(goal.transform, np.eye(4))
        spent = now.iterations
        goal.set_target(np.eye(4))  # read once, where the search began
    result = search.result()
    np.testing.assert_array_equal(result.q, whole.q)
    assert (result.status, result.iterations) == (whole.status, whole.iterations)
    assert runs > 0
    np.testing.assert_array_equal(goal.transform, np.eye(4))


def test_tolerances_that_change_count():
    robot = hobby_arm()
    goal, problem = position_first(robot)
    q = robot.middle_configuration + 0.3
    goal.set_target(turned_off(robot, q, angle=0.05))
    method = ik.make_solver()
    assert method.solve(problem, q).status is IkStatus.TOO_FEW_JOINTS
    problem.orientation_tolerance = 0.1
    result = method.solve(problem, q)
    assert result.success
    assert result.restarts == 0
    problem.position_tolerance = 0.01
    goal.set_target(robot.forward_kinematics(q))
    assert method.solve(problem, q + 1e-3).iterations == 0, 'it is reached already'


def test_a_goal_that_is_followed_is_not_equally_weighted():
    robot = hobby_arm()
    goal, problem = position_first(robot)
    q = robot.middle_configuration + 0.2
    goal.set_target(turned_off(robot, q))
    settled = ik.make_solver().solve(problem, q).q
    search = ik.make_solver(restarts=0).begin(problem, settled)
    search.stay_on_branch()
    search.run()
    assert search.result().iterations <= 5, 'it need not come back from elsewhere'
    np.testing.assert_allclose(search.result().q, settled, atol=1e-5)


def test_what_is_remembered_is_of_the_weights_asked_for():
    robot = hobby_arm()
    goal, problem = position_first(robot)
    q = robot.middle_configuration + 0.2
    goal.set_target(turned_off(robot, q))
    method = ik.make_solver('damped_least_squares', restarts=0)
    search = method.begin(problem, q)
    search.run(ik.Budget(iterations=2))
    assert search.memory() is None, 'it is still weighed alike'
    search = method.begin(problem, q)
    search.stay_on_branch()
    search.run(ik.Budget(iterations=2))
    remembered = search.memory()
    assert remembered is not None
    again = method.begin(problem, search.result().q)
    again.stay_on_branch()
    again.resume(remembered)
    assert again.run()


def test_a_goal_that_is_followed_has_the_restarts_asked_for():
    robot = hobby_arm()
    goal, problem = position_first(robot)
    q = robot.middle_configuration + 0.2
    goal.set_target(turned_off(robot, q))
    for restarts in (0, 3):
        search = ik.make_solver(restarts=restarts).begin(problem, q)
        search.stay_on_branch()
        search.run()
        assert search.result().restarts == restarts


def test_a_batch_has_the_results_of_single_solves(arm):
    goal, problem = position_first(arm)
    starts = random_configurations(arm, 14, 30)
    targets = np.array([arm.forward_kinematics(q) for q in random_configurations(arm, 13, 30)])
    targets[::7] = [turned_off(arm, q) for q in random_configurations(arm, 15, 30)[::7]]
    batch = ik.solve_batch(problem, targets, starts)
    assert 20 < batch.success.sum() < 30
    for i, (target, start) in enumerate(zip(targets, starts, strict=True)):
        goal.set_target(target)
        single, found = ik.make_solver().solve(problem, start), batch[i]
        np.testing.assert_array_equal(found.q, single.q)
        np.testing.assert_array_equal(found.position_errors, single.position_errors)
        for name in ('status', 'cost', 'iterations', 'evaluations', 'restarts', 'note'):
            assert getattr(found, name) == getattr(single, name), name


def test_tolerances_of_a_batch_that_change_count():
    robot = hobby_arm()
    _, problem = position_first(robot)
    many = ManySolves(problem, ik.make_solver())
    assert many.takes_blocks
    q = random_configurations(robot, 16, 20)
    targets = np.array([[robot.forward_kinematics(one)] for one in q])
    for tolerance in (1e-4, 1e-9, 1e-3):
        many.problem.position_tolerance = many.problem.orientation_tolerance = tolerance
        batch = many.run(targets, np.zeros((1, robot.n)))
        assert batch.success.all()
        assert batch.position_errors.max() < tolerance
        assert batch.orientation_errors.max() < tolerance


def test_secondary_tasks_and_batches_and_clones(arm):
    q, q0 = random_configurations(arm, 9, 2)
    rest = ik.PostureTask(arm.middle_configuration)
    _, problem = position_first(arm, secondary=[rest])
    problem.goals[0].set_target(arm.forward_kinematics(q))
    assert ik.make_solver().solve(problem, q0).success
    goal, problem = position_first(arm)
    targets = np.array([arm.forward_kinematics(q), turned_off(arm, q)])
    batch = ik.solve_batch(problem, targets, q0)
    for target, found, status in zip(targets, batch.q, batch.status, strict=True):
        goal.set_target(target)
        result = ik.make_solver().solve(problem.clone(), q0)
        np.testing.assert_array_equal(result.q, found)
        assert result.status is status
