# SPDX-License-Identifier: Apache-2.0
"""Tasks other than goals: promises of each of them."""

import re
from itertools import pairwise

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core.tasks.manipulability import link_hessian


def test_posture_and_smoothness_weigh_each_joint():
    robot = robots.shipped('scara')
    q, weights = np.array([0.1, 0.2, 0.03, 0.4]), np.array([1.0, 4.0, 9.0, 0.0])
    posture = ik.PostureTask(np.zeros(4), weights=weights)
    np.testing.assert_allclose(posture.residual(robot, q), [0.1, 0.4, 0.09, 0.0])
    smooth = ik.tasks.SmoothnessTask(np.zeros(4), stiffness=weights, length=2.0)
    cost = smooth.residual(robot, q) @ smooth.residual(robot, q)
    assert cost == pytest.approx(4.0 * (0.01 + 4 * 0.04 + 9 * 0.0009))  # L^2 x'Mx
    smooth.set_previous(q)
    assert not smooth.residual(robot, q).any()


def test_limit_avoidance_is_liegeois_measure():
    robot = robots.shipped('panda')
    task = ik.tasks.LimitAvoidanceTask(weight=2.0)
    assert not task.residual(robot, robot.middle_configuration).any()
    at_limits = task.residual(robot, robot.upper)
    assert at_limits @ at_limits == pytest.approx(2.0)  # every joint at its limit: the weight
    continuous = robots.shipped('pr2_like')
    q = continuous.middle_configuration + 5.0 * continuous.continuous
    assert not task.residual(continuous, q).any()  # without limits nothing to avoid


def test_manipulability_is_the_product_of_singular_values():
    robot = robots.shipped('ur5e')
    task = ik.tasks.ManipulabilityTask('tool0', length=0.5)
    q = np.array([0.3, -1.0, 1.2, -0.4, 0.9, 0.2])
    jacobian = robot.jacobian(q, 'tool0') * np.array([[1], [1], [1], [0.5], [0.5], [0.5]])
    assert task.measure(robot, q) == pytest.approx(abs(np.linalg.det(jacobian)))
    stretched = q * (1, 1, 0, 1, 0, 1)  # elbow and wrist singular
    assert task.measure(robot, stretched) < 1e-9
    assert np.isfinite(task.jacobian(robot, stretched)).all()
    np.testing.assert_allclose(task.residual(robot, stretched), 1.0, atol=1e-6)
    assert (
        ik.tasks.ManipulabilityTask('tool', rows='pose').measure(robots.shipped('scara'), [0] * 4)
        == 0
    )


@pytest.mark.parametrize('name', ['panda', 'scara', 'pr2_like'])
def test_the_link_hessian_is_the_derivative_of_the_jacobian(name):
    robot, rng = robots.shipped(name), np.random.default_rng(2)
    link, q, h = robot.tips()[0], rng.normal(size=robot.n), 1e-6
    hessian = link_hessian(robot, q, link)
    for i, e in enumerate(np.eye(robot.n)):
        change = robot.jacobian(q + h * e, link) - robot.jacobian(q - h * e, link)
        np.testing.assert_allclose(hessian[:, :, i], change / (2 * h), atol=1e-8)


def test_two_axes_are_the_columns_of_the_rotation():
    robot = robots.shipped('panda')
    q = robot.middle_configuration
    goal = ik.TwoAxisTask('panda_hand', [1.0, 0.0, 0.0, 0.0], weight=4.0)
    rotation = robot.forward_kinematics(q, 'panda_hand')[:3, :3]
    difference = rotation[:, :2] - np.diag([1.0, -1.0, -1.0])[:, :2]
    np.testing.assert_allclose(goal.residual(robot, q), 2.0 * difference.T.ravel(), atol=1e-12)


def test_bad_tasks_are_refused():
    robot = robots.shipped('panda')
    for make in (
        lambda: ik.PostureTask(weights=-1.0),
        lambda: ik.PostureTask(weights=np.nan),
        lambda: ik.PostureTask(weights='all'),
        lambda: ik.tasks.ManipulabilityTask('panda_hand', rows='twist'),
        lambda: ik.tasks.ManipulabilityTask('panda_hand', reference=0.0),
    ):
        with pytest.raises(ik.InvalidOption):
            make()
    with pytest.raises(ik.InvalidConfiguration):
        ik.PostureTask([0.0]).residual(robot, robot.middle_configuration)


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs', 'damped_least_squares'])
def test_task_without_a_kernel_is_evaluated_once_at_each_point(solver):
    robot, asked = robots.shipped('panda'), {'residual': [], 'jacobian': []}

    class Recorded(ik.tasks.ManipulabilityTask):
        def residual(self, robot, q):
            asked['residual'].append(q.copy())
            return super().residual(robot, q)

        def jacobian(self, robot, q):
            asked['jacobian'].append(q.copy())
            return super().jacobian(robot, q)

    q = np.array([0.3, -0.4, 0.2, -1.8, 0.5, 1.9, 0.4, 0.02])
    pose = robot.forward_kinematics(q, 'panda_hand')
    tasks = [ik.PoseTask('panda_hand', transform=pose), Recorded('panda_hand', weight=0.1)]
    result = ik.solve(ik.IkProblem(robot, tasks), solver=solver)
    assert result.iterations > 10
    for what, points in asked.items():
        repeated = [np.array_equal(a, b) for a, b in pairwise(points)]
        assert not any(repeated[2:-1]), what  # more at the start and the end, which are checked
        assert len(points) <= 4 + result.evaluations, what


def test_differences_of_coupled_goals_weigh_more_than_their_mean():
    panda = robots.shipped('panda')
    rng, q = np.random.default_rng(4), panda.middle_configuration
    links, weight = ('panda_hand', 'panda_link4'), 7.0
    targets = rng.normal(size=(2, 3))
    tasks = [ik.PositionTask(link, at) for link, at in zip(links, targets, strict=True)]
    task = ik.tasks.CoupledTask.of_differences(tasks, weight)
    a, b = (
        at - panda.forward_kinematics(q, link)[:3, 3]
        for link, at in zip(links, targets, strict=True)
    )
    mean, apart = 0.5 * (a + b), a - b
    cost = 2.0 * mean @ mean + weight * 0.5 * apart @ apart
    assert np.sum(task.residual(panda, q) ** 2) == pytest.approx(cost, rel=1e-12)
    assert task.missed_by(panda, q) == pytest.approx(np.hypot(*map(np.linalg.norm, (a, b))))


def test_what_a_coupling_does_not_weigh_need_not_be_reached():
    """Only the height of the hand counts: a weight of 0 leaves the others free."""
    panda = robots.shipped('panda')
    goal = ik.PositionTask('panda_hand', [5.0, 5.0, 0.4])
    task = ik.tasks.CoupledTask([goal], np.diag([0.0, 0.0, 3.0]), tolerance=1e-4)
    result = ik.solve(ik.IkProblem(panda, [task]))
    assert result.status is ik.IkStatus.REACHED, result.message
    assert panda.forward_kinematics(result.q, 'panda_hand')[2, 3] == pytest.approx(0.4, abs=1e-4)


@pytest.mark.parametrize('wrong', [0.0, -1.0, np.inf, np.nan, 'much'])
def test_a_tolerance_or_weight_of_a_coupling_is_positive(wrong):
    goal = ik.PositionTask('panda_hand', [0.0, 0.0, 0.4])
    with pytest.raises(ik.InvalidOption, match=r'tolerance = .* a positive number'):
        ik.tasks.CoupledTask([goal], np.eye(3), tolerance=wrong)
    with pytest.raises(ik.InvalidOption, match=r'weight = .* a number from 0\.001 to 1000'):
        ik.tasks.CoupledTask.of_differences([goal, goal], wrong)


HAND, ELBOW = (
    ik.PositionTask(link, [0.0, 0.0, 0.4], weights=[1.0, 1.0, z])
    for link, z in (('panda_hand', 2.0), ('panda_link4', 0.0))
)


@pytest.mark.parametrize(
    ('tasks', 'weight', 'expected'),
    [
        (None, 3.0, 'a list of PositionTasks is needed'),
        (HAND, 3.0, 'a list of PositionTasks is needed'),
        (['panda_hand', 'panda_link4'], 3.0, 'a list of PositionTasks is needed'),
        ([HAND, ik.PostureTask()], 3.0, 'a list of PositionTasks is needed'),
        ([HAND], 3.0, 'two goals at least'),
        ([HAND, ELBOW], 3.0, 'none of its three weights may be 0'),
        ([HAND, HAND], 1e300, 'a number from 0.001 to 1000'),
    ],
)
def test_differences_of_wrong_tasks_are_refused(tasks, weight, expected):
    with pytest.raises(ik.InvalidOption, match=re.escape(expected)):
        ik.tasks.CoupledTask.of_differences(tasks, weight)


@pytest.mark.parametrize('weights', [None, 1.0, 'much', [[1.0, 'x'], [2.0, 3.0]], [[1.0], []]])
def test_weights_of_a_coupling_are_a_matrix(weights):
    with pytest.raises(ik.InvalidOption, match=r'a matrix \(rows, rows\) of numbers'):
        ik.tasks.CoupledTask([HAND], weights)
    with pytest.raises(ik.InvalidOption, match='a list of tasks'):
        ik.tasks.CoupledTask(None, weights)


@pytest.mark.parametrize(
    ('solver', 'weight'),
    [
        *(('levenberg_marquardt', weight) for weight in (1e-3, 1.0, 100.0, 1e3)),
        *((solver, 100.0) for solver in ('bfgs', 'sqp', 'augmented_lagrangian')),
    ],
)
def test_coupled_goals_out_of_reach_end_at_the_closest_point(solver, weight):
    """One hand's goal is out of reach, the other's is not: no step from the answer is downhill."""
    robot = robots.shipped('dual_arm')
    goals = [
        ik.PositionTask('left_palm', [1.8, 0.3, 1.1]),
        ik.PositionTask('right_palm', [0.5, -0.3, 1.0]),
    ]
    task = ik.tasks.CoupledTask.of_differences(goals, weight)
    result = ik.solve(ik.IkProblem(robot, [task]), solver=solver)
    assert result.status is ik.IkStatus.CLOSEST, result
    rng = np.random.default_rng(2)
    for size in (1e-2, 1e-3):
        for step in rng.normal(size=(200, robot.n)) * size:
            q = np.clip(result.q + step, robot.lower, robot.upper)
            cost = np.sum(task.residual(robot, q) ** 2)
            assert cost > result.cost * (1.0 - 1e-9), (cost, result.cost)
