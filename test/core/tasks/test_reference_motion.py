# SPDX-License-Identifier: Apache-2.0
"""Example-guided inverse kinematics: its equations, and its minima against another optimiser."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core.tasks.reference_motion import total_link_length

PERIOD = 0.2


def hand_of(robot, q, tip):
    return robot.forward_kinematics(q, tip)[:3, 3]


def squares(errors, velocity, acceleration):
    """Eq. 2 and 3 for the errors y - Y of three frames, oldest first, per component."""
    first, second, third = errors
    speed, change = (third - second) / PERIOD, (third - 2.0 * second + first) / PERIOD**2
    return third**2 + velocity * speed**2 + acceleration * change**2


@pytest.mark.parametrize('rate', [0.0, 0.5])
def test_the_e_error_is_equation_2(rate):
    robot, rng = robots.shipped('panda'), np.random.default_rng(3)
    weights = np.array([0.5, 2.0, 0.0])
    task = ik.tasks.EndEffectorPatternTask(
        'panda_hand', weights=weights, velocity_weight=rate, acceleration_weight=0.1, period=PERIOD
    )
    example, own = rng.normal(size=(3, 3)), rng.normal(size=(3, robot.n))
    follow(task, robot, example, own)
    errors = np.array([hand_of(robot, q, 'panda_hand') for q in own]) - example
    residual = task.residual(robot, own[2])
    assert residual @ residual == pytest.approx(weights @ squares(errors, rate, 0.1))


@pytest.mark.parametrize('rate', [0.0, 0.5])
def test_the_orientation_error_is_equation_2_of_rotation_vectors(rate):
    robot, rng = robots.shipped('panda'), np.random.default_rng(5)
    task = ik.tasks.OrientationPatternTask(
        'panda_hand', weights=0.6, velocity_weight=rate, acceleration_weight=0.1, period=PERIOD
    )
    own = rng.normal(size=(3, robot.n))
    hands = [Rotation.from_matrix(robot.forward_kinematics(q, 'panda_hand')[:3, :3]) for q in own]
    errors = rng.uniform(-1.0, 1.0, (3, 3))
    example = [hand * Rotation.from_rotvec(-e) for hand, e in zip(hands, errors, strict=True)]
    follow(task, robot, [-3.0 * turn.as_quat() for turn in example], own)
    residual = task.residual(robot, own[2])
    assert residual @ residual == pytest.approx(0.6 * squares(errors, rate, 0.1).sum())


def test_an_orientation_of_length_zero_is_refused_and_the_last_one_kept():
    robot = robots.shipped('panda')
    task = ik.tasks.OrientationPatternTask('panda_hand')
    task.next_frame((0.0, 0.0, 0.0, 1.0), robot)
    before = task.residual(robot, robot.middle_configuration)
    with pytest.raises(ik.InvalidGoal, match='is zero'):
        task.next_frame(np.zeros(4), robot)
    np.testing.assert_array_equal(task.residual(robot, robot.middle_configuration), before)


@pytest.mark.parametrize('rate', [0.0, 0.5])
def test_the_a_error_is_equation_3_times_the_square_of_the_length(rate):
    robot, rng = robots.shipped('panda'), np.random.default_rng(4)
    weights = rng.uniform(size=robot.n)
    task = ik.tasks.JointPatternTask(
        weights=weights, velocity_weight=rate, acceleration_weight=0.1, period=PERIOD, length=3.0
    )
    example, own = rng.normal(size=(2, 3, robot.n))
    follow(task, robot, example, own)
    residual = task.residual(robot, own[2])
    expected = 9.0 * weights @ squares(own - example, rate, 0.1)
    assert residual @ residual == pytest.approx(expected)


def follow(task, robot, example, own):
    """Give three frames, after what was achieved in the two before."""
    task.next_frame(example[0], robot)
    task.next_frame(example[1], robot, own[0])
    task.next_frame(example[2], robot, own[1])


def test_both_tasks_are_equation_1():
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(5)
    hand, joints = ik.tasks.example_guided_tasks(
        robot,
        'tool0',
        beta=0.25,
        joint_weights=(1, 2, 3, 4, 5, 0),
        velocity_weights=(0.1, 0.2),
        acceleration_weights=(0.01, 0.0),
        period=PERIOD,
    )
    angles, own = rng.normal(size=(2, 3, robot.n))
    places = rng.normal(size=(3, 3))
    follow(hand, robot, places, own)
    follow(joints, robot, angles, own)
    e_error = np.array([hand_of(robot, q, 'tool0') for q in own]) - places
    e_part = squares(e_error, 0.1, 0.01).sum()
    a_part = squares(own - angles, 0.2, 0.0) @ (1, 2, 3, 4, 5, 0)
    length = total_link_length(robot, 'tool0')
    cost = ik.IkProblem(robot, [hand, joints]).evaluate(own[2]).cost
    assert cost == pytest.approx(0.75 * e_part + 0.25 * length**2 * a_part)


def test_the_length_is_that_of_the_links():
    robot = robots.shipped('arm5')
    assert total_link_length(robot, 'tip') == pytest.approx(2.5)  # five bones of half a metre
    task = ik.tasks.JointPatternTask()
    task.next_frame(np.zeros(5), robot)
    np.testing.assert_allclose(task.residual(robot, np.eye(5)[2]), 2.5 * np.eye(5)[2])


def test_a_floating_root_is_no_joint_of_the_pattern():
    robot, rng = floating_arm(), np.random.default_rng(6)
    assert robot.root_joints == (0, 1, 2, 3, 4, 5)
    assert total_link_length(robot, 'tip') == pytest.approx(1.5)
    q = rng.normal(size=robot.n)
    for weights, root in ((2.0, 0.0), (np.full(robot.n, 2.0), 1.0)):
        task = ik.tasks.JointPatternTask(weights=weights)
        task.next_frame(np.zeros(robot.n), robot)
        counts = np.r_[np.full(6, root), np.ones(3)]
        expected = np.sqrt(2.0) * 1.5 * counts * q
        np.testing.assert_allclose(task.residual(robot, q), expected)


def floating_arm():
    """Three bones of half a metre on a floating base."""
    links = ['world', 'base', 'a', 'b', 'c', 'tip']
    joints = [ik.robot.Joint('root', 'floating', 'world', 'base')]
    for number, (parent, child) in enumerate(pairwise(links[1:])):
        origin = np.eye(4)
        origin[0, 3] = 0.5 * (number > 0)
        kind = 'fixed' if child == 'tip' else 'revolute'
        joints.append(
            ik.robot.Joint(child, kind, parent, child, origin=origin, axis=(0.0, 0.0, 1.0))
        )
    return ik.Robot.from_joints('free', links, joints, free_joints=['root'])


def test_all_joints_copy_the_example_also_those_off_the_chain():
    robot, rng = robots.shipped('dual_arm'), np.random.default_rng(7)
    tip = robot.tips()[0]
    example = robots.random_q(robot, rng, margin=0.3)
    hand, joints = ik.tasks.example_guided_tasks(robot, tip, beta=0.5)
    hand.next_frame(hand_of(robot, example, tip), robot)
    joints.next_frame(example, robot)
    assert len(robot.chain(tip)) < robot.n
    result = ik.solve(ik.IkProblem(robot, [hand, joints]))
    assert result.status is ik.IkStatus.LEAST
    np.testing.assert_allclose(result.q, example, atol=1e-6)


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs', 'sqp'])
@pytest.mark.parametrize('beta', [1.0, 0.5, 1e-5])
def test_the_defaults_reach_the_minimum_of_equation_1(solver, beta):
    """From a start elsewhere; scipy goes on from the answer, and finds nothing lower."""
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(8)
    tip = robot.tips()[0]
    for _ in range(3):
        example, start = (robots.random_q(robot, rng, margin=0.3) for _ in range(2))
        place = hand_of(robot, example, tip) + rng.normal(scale=0.1, size=3)
        hand, joints = ik.tasks.example_guided_tasks(robot, tip, beta=beta)
        hand.next_frame(place, robot)
        joints.next_frame(example, robot)
        length = total_link_length(robot, tip)

        def equation_1(q, place=place, example=example, length=length):
            e_error = np.sum((hand_of(robot, q, tip) - place) ** 2)
            return (1.0 - beta) * e_error + beta * length**2 * np.sum((q - example) ** 2)

        result = ik.solve(ik.IkProblem(robot, [hand, joints]), start, solver=solver)
        assert result.status is ik.IkStatus.LEAST
        assert result.success
        assert result.cost == pytest.approx(equation_1(result.q), abs=1e-14)
        bounds = np.column_stack([robot.lower, robot.upper])
        best = minimize(equation_1, result.q, bounds=bounds, options={'ftol': 1e-15})
        assert result.cost <= best.fun * (1.0 + 1e-6) + 1e-12


def retargeted(beta, frames=12):
    """A circle drawn by the Panda's hand, copied by the iiwa arm frame by frame."""
    source, figure = robots.shipped('panda'), robots.shipped('iiwa14')
    hand, joints = ik.tasks.example_guided_tasks(figure, figure.tips()[0], beta=beta)
    problem = ik.IkProblem(figure, [hand, joints])
    solver, q = ik.make_solver(), None
    errors = []
    for phase in np.linspace(0.0, 2.0 * np.pi, frames, endpoint=False):
        motion = source.middle_configuration
        motion[:4] += 0.4 * np.sin(phase + np.arange(4.0))
        place = hand_of(source, motion, 'panda_hand')
        angles = np.clip(motion[:7], figure.lower, figure.upper)
        hand.next_frame(place, figure, q)
        joints.next_frame(angles, figure, q)
        q = solver.solve(problem, angles if q is None else q).q
        errors.append((np.linalg.norm(hand.value(figure, q) - place), np.abs(q - angles).max()))
    return np.max(errors, axis=0)


def test_pure_inverse_kinematics_and_pure_copying_are_the_ends_of_egik():
    e_error, a_error = retargeted(0.0)
    assert e_error < 1e-6 < 0.1 < a_error
    e_error, a_error = retargeted(1.0)
    assert a_error < 1e-9 < 1e-2 < e_error


def test_a_small_weight_keeps_the_pattern_at_a_negligible_error():
    """Tak & Ko, table 1 and section 4.2: beta = 1e-5."""
    pure, small = retargeted(0.0), retargeted(1e-5)
    assert small[0] < 2e-4
    assert small[1] < pure[1]


def test_what_is_no_pattern_is_refused():
    robot = robots.shipped('panda')
    for make in (
        lambda: ik.tasks.JointPatternTask(period=0.0),
        lambda: ik.tasks.JointPatternTask(length=0.0),
        lambda: ik.tasks.EndEffectorPatternTask('panda_hand', weights=(1.0, 2.0)),
        lambda: ik.tasks.OrientationPatternTask('panda_hand', weights=(1.0, 2.0, 3.0)),
        lambda: ik.tasks.example_guided_tasks(robot, 'panda_hand', beta=1.5),
    ):
        with pytest.raises(ik.InvalidOption):
            make()
    with pytest.raises(ik.InvalidGoal, match='next_frame'):
        ik.tasks.JointPatternTask().residual(robot, robot.middle_configuration)
    with pytest.raises(ik.InvalidGoal, match='finite'):
        ik.tasks.JointPatternTask().next_frame([np.nan] * 8, robot)
    few = ik.tasks.JointPatternTask(weights=np.ones(3))
    few.next_frame(np.zeros(8), robot)
    with pytest.raises(ik.InvalidOption, match='8'):
        few.residual(robot, robot.middle_configuration)
