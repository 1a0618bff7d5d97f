"""Tasks that are no goals: what each of them asks for, and EGIK's claims."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core.tasks.manipulability import link_hessian
from ik_core.tasks.reference_motion import total_link_length


def test_posture_and_smoothness_weigh_each_joint():
    robot = robots.shipped('scara')
    q, weights = np.array([0.1, 0.2, 0.03, 0.4]), np.array([1.0, 4.0, 9.0, 0.0])
    posture = ik.PostureTask(np.zeros(4), weights=weights)
    np.testing.assert_allclose(posture.residual(robot, q), [0.1, 0.4, 0.09, 0.0])
    smooth = ik.SmoothnessTask(np.zeros(4), stiffness=weights, length=2.0)
    cost = smooth.residual(robot, q) @ smooth.residual(robot, q)
    assert cost == pytest.approx(4.0 * (0.01 + 4 * 0.04 + 9 * 0.0009))  # L^2 x'Mx
    smooth.set_previous(q)
    assert not smooth.residual(robot, q).any()


def test_limit_avoidance_is_liegeois_measure():
    robot = robots.shipped('panda')
    task = ik.LimitAvoidanceTask(weight=2.0)
    assert not task.residual(robot, robot.middle_configuration).any()
    at_limits = task.residual(robot, robot.upper)
    assert at_limits @ at_limits == pytest.approx(2.0)  # every joint at its limit: the weight
    continuous = robots.shipped('pr2_like')
    q = continuous.middle_configuration + 5.0 * continuous.continuous
    assert not task.residual(continuous, q).any()  # without limits nothing to avoid


def test_manipulability_is_the_product_of_singular_values():
    robot = robots.shipped('ur5e')
    task = ik.ManipulabilityTask('tool0', length=0.5)
    q = np.array([0.3, -1.0, 1.2, -0.4, 0.9, 0.2])
    jacobian = robot.jacobian(q, 'tool0') * np.array([[1], [1], [1], [0.5], [0.5], [0.5]])
    assert task.measure(robot, q) == pytest.approx(abs(np.linalg.det(jacobian)))
    stretched = q * (1, 1, 0, 1, 0, 1)  # elbow and wrist singular
    assert task.measure(robot, stretched) < 1e-9
    assert np.isfinite(task.jacobian(robot, stretched)).all()
    np.testing.assert_allclose(task.residual(robot, stretched), 1.0, atol=1e-6)
    assert (
        ik.ManipulabilityTask('tool', rows='pose').measure(robots.shipped('scara'), [0] * 4) == 0
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


@pytest.mark.parametrize('rate', [0.0, 0.5])
def test_reference_motion_is_equation_2(rate):
    """|e - E|^2 + kv |e' - E'|^2 + ka |e'' - E''|^2 with backward differences."""
    robot, rng = robots.shipped('panda'), np.random.default_rng(3)
    task = ik.EndEffectorPatternTask(
        'panda_hand', weight=0.5, velocity_weight=rate, acceleration_weight=0.1, period=0.2
    )
    example, own = rng.normal(size=(3, 3)), rng.normal(size=(3, robot.n))
    task.next_frame(example[0], robot)
    task.next_frame(example[1], robot, own[0])
    task.next_frame(example[2], robot, own[1])
    e = np.array([robot.forward_kinematics(q, 'panda_hand')[:3, 3] for q in own])
    error = e - example
    expected = 0.5 * (
        error[2] @ error[2]
        + rate * np.sum(((error[2] - error[1]) / 0.2) ** 2)
        + 0.1 * np.sum(((error[2] - 2 * error[1] + error[0]) / 0.04) ** 2)
    )
    residual = task.residual(robot, own[2])
    assert residual @ residual == pytest.approx(expected)


def retargeted(alpha, beta, frames=12):
    """A circle drawn by the Panda's hand, copied by the iiwa arm frame by frame."""
    source, figure = robots.shipped('panda'), robots.shipped('iiwa14')
    tip = figure.tips()[0]
    length = total_link_length(figure, tip)
    hand = ik.EndEffectorPatternTask(tip, weight=alpha)
    joints = ik.JointPatternTask(weight=beta, length=length)
    tasks = [task for task, weight in ((hand, alpha), (joints, beta)) if weight > 0.0]
    problem = ik.IkProblem(figure, tasks)
    solver, q = ik.make_solver(), None
    errors = []
    for phase in np.linspace(0.0, 2.0 * np.pi, frames, endpoint=False):
        motion = source.middle_configuration
        motion[:4] += 0.4 * np.sin(phase + np.arange(4.0))
        place = source.forward_kinematics(motion, 'panda_hand')[:3, 3]
        angles = np.clip(motion[:7], figure.lower, figure.upper)
        hand.next_frame(place, figure, q)
        joints.next_frame(angles, figure, q)
        q = solver.solve(problem, angles if q is None else q).q
        errors.append((np.linalg.norm(hand.value(figure, q) - place), np.abs(q - angles).max()))
    return np.max(errors, axis=0)


def test_pure_inverse_kinematics_and_pure_copying_are_the_ends_of_egik():
    e_error, a_error = retargeted(1.0, 0.0)
    assert e_error < 1e-6 < 0.1 < a_error
    e_error, a_error = retargeted(0.0, 1.0)
    assert a_error < 1e-9 < 1e-2 < e_error


def test_a_small_weight_keeps_the_pattern_at_a_negligible_error():
    """Tak & Ko, table 1 and section 4.2: beta = 1e-5."""
    pure, small = retargeted(1.0, 0.0), retargeted(1.0, 1e-5)
    assert small[0] < 2e-4
    assert small[1] < pure[1]


def test_total_link_length_of_a_straight_chain():
    robot = robots.shipped('arm5')
    assert total_link_length(robot, 'tip') == pytest.approx(2.5)  # five bones of half a metre


def test_bad_tasks_are_refused():
    robot = robots.shipped('panda')
    for make in (
        lambda: ik.PostureTask(weights=-1.0),
        lambda: ik.PostureTask(weights=np.nan),
        lambda: ik.ManipulabilityTask('panda_hand', rows='twist'),
        lambda: ik.ManipulabilityTask('panda_hand', reference=0.0),
        lambda: ik.JointPatternTask(period=0.0),
    ):
        with pytest.raises(ik.InvalidOption):
            make()
    with pytest.raises(ik.InvalidGoal, match='next_frame'):
        ik.JointPatternTask().residual(robot, robot.middle_configuration)
    with pytest.raises(ik.InvalidGoal, match='finite'):
        ik.JointPatternTask().next_frame([np.nan] * 8, robot)
    with pytest.raises(ik.InvalidConfiguration):
        ik.PostureTask([0.0]).residual(robot, robot.middle_configuration)
