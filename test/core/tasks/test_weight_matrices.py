# SPDX-License-Identifier: Apache-2.0
"""Full matrices of weights: W of Engell-Norregard & Erleben's Eq. 17, M of EGIK's Eq. 5."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik

ROBOT = robots.shipped('ur5e')
TIP = 'tool0'
TOOL = robots.random_transform(np.random.default_rng(20), 0.2)


def matrix(rng, size=3, rank=3):
    """Symmetric, positive semidefinite, of a rank."""
    factor = rng.normal(size=(size, rank))
    return factor @ factor.T


def differences(q, target):
    """Return the errors of the position [m], in the root's axes, and of the orientation as a
    rotation vector [rad], in the target's."""
    here = ROBOT.forward_kinematics(q, TIP) @ TOOL
    turn = Rotation.from_matrix(target[:3, :3].T @ here[:3, :3]).as_rotvec()
    return here[:3, 3] - target[:3, 3], turn


def cost_of(task, q):
    residual = task.residual(ROBOT, q)
    return residual @ residual


@pytest.mark.parametrize('axes', ['root', 'goal'])
@pytest.mark.parametrize('rank', [2, 3])
def test_the_cost_is_equation_17(axes, rank):
    rng = np.random.default_rng(21)
    w, u = matrix(rng, rank=rank), matrix(rng, rank=rank)
    target = robots.random_transform(rng, 0.5)
    goals = {
        'both': ik.PoseTask(TIP, position_weights=w, orientation_weights=u, position_axes=axes,
                            tool=TOOL),
        'position': ik.PoseTask(TIP, position_weights=w, orientation_weights=(1, 2, 3),
                                position_axes=axes, tool=TOOL),
        'orientation': ik.PoseTask(TIP, position_weights=(1, 2, 3), orientation_weights=u,
                                   position_axes=axes, tool=TOOL),
        'alone': ik.PositionTask(TIP, weights=w, position_axes=axes, tool=TOOL),
        'turn': ik.OrientationTask(TIP, weights=u, tool=TOOL),
    }  # fmt: skip
    plain = np.diag([1.0, 2.0, 3.0])
    weights = {
        'both': (w, u), 'position': (w, plain), 'orientation': (plain, u),
        'alone': (w, 0.0 * u), 'turn': (0.0 * w, u),
    }  # fmt: skip
    for name, goal in goals.items():
        goal.set_target(target)
        for _ in range(5):
            q = rng.normal(size=6)
            shift, turn = differences(q, target)
            shift = target[:3, :3].T @ shift if axes == 'goal' else shift
            expected = shift @ weights[name][0] @ shift + turn @ weights[name][1] @ turn
            assert cost_of(goal, q) == pytest.approx(expected, rel=1e-9)
            central = robots.central_differences(lambda p, g=goal: g.residual(ROBOT, p), q, 1e-6)
            robots.assert_same_jacobian(goal.jacobian(ROBOT, q), central)


def test_a_diagonal_matrix_is_weights_one_by_one():
    rng = np.random.default_rng(22)
    target, q = robots.random_transform(rng, 0.5), rng.normal(size=6)
    weights = np.array([0.0, 2.0, 0.5])
    by_one = ik.PoseTask(TIP, transform=target, position_weights=weights)
    by_matrix = ik.PoseTask(TIP, transform=target, position_weights=np.diag(weights))
    assert cost_of(by_one, q) == pytest.approx(cost_of(by_matrix, q))
    errors = [ik.IkProblem(ROBOT, [goal]).errors(q) for goal in (by_one, by_matrix)]
    np.testing.assert_allclose(*errors)


def reach(goal, rng):
    """Put the goal where the robot can be; a start elsewhere."""
    q = robots.random_q(ROBOT, rng, margin=0.3)
    goal.set_target(ROBOT.forward_kinematics(q, TIP) @ goal.tool)
    return robots.random_q(ROBOT, rng, margin=0.3)


def test_a_goal_in_reach_is_reached_one_by_one_and_in_batches():
    rng = np.random.default_rng(23)
    goal = ik.PoseTask(TIP, position_weights=matrix(rng), orientation_weights=matrix(rng),
                       tool=TOOL)  # fmt: skip
    problem = ik.IkProblem(ROBOT, [goal])
    targets, starts, singles = [], [], []
    for _ in range(4):
        start = reach(goal, rng)
        result = ik.solve(problem, start)
        shift, turn = differences(result.q, goal.transform)
        assert result.status is ik.IkStatus.REACHED
        assert result.position_errors == pytest.approx(np.linalg.norm(shift), abs=1e-12)
        assert result.orientation_errors == pytest.approx(np.linalg.norm(turn), abs=1e-12)
        assert np.linalg.norm(shift) < 1e-5
        targets.append(goal.transform)
        starts.append(start)
        singles.append(result.q)
    batch = ik.solve_batch(problem, np.array(targets), np.array(starts))
    assert batch.position_errors.shape == (4, 1)
    np.testing.assert_array_equal(batch.q, singles)


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'cyclic_coordinate_descent'])
def test_out_of_reach_the_closest_point_is_that_of_the_matrix(solver):
    rng = np.random.default_rng(24)
    weights, place = matrix(rng), np.array([0.9, 1.1, 0.8])
    goal = ik.PositionTask(TIP, place, weights=weights)
    result = ik.solve(ik.IkProblem(ROBOT, [goal]), solver=solver)

    def equation_17(q):
        missing = ROBOT.forward_kinematics(q, TIP)[:3, 3] - place
        return missing @ weights @ missing

    assert result.cost == pytest.approx(equation_17(result.q))
    bounds = np.column_stack([ROBOT.lower, ROBOT.upper])
    starts = [result.q, *(robots.random_q(ROBOT, rng) for _ in range(5))]
    best = min(minimize(equation_17, start, bounds=bounds).fun for start in starts)
    assert result.cost <= best * (1.0 + 1e-6)


def test_what_the_matrix_does_not_weigh_is_free():
    along = np.array([1.0, 2.0, 2.0]) / 3.0
    goal = ik.PositionTask(TIP, [0.3, 5.0, 0.4], weights=np.outer(along, along))
    goal.set_target(position=0.5 * along + 3.0 * np.array([2.0, 1.0, -2.0]))  # far off, across
    result = ik.solve(ik.IkProblem(ROBOT, [goal]))
    assert result.status is ik.IkStatus.REACHED
    place = ROBOT.forward_kinematics(result.q, TIP)[:3, 3]
    assert place @ along == pytest.approx(0.5, abs=2e-5)


def test_a_tracker_judges_by_the_goal():
    rng = np.random.default_rng(25)
    goal = ik.PoseTask(TIP, position_weights=matrix(rng), orientation_weights=2.0)
    limits = ik.MotionLimits(ROBOT.lower, ROBOT.upper, np.full(6, 5.0), np.full(6, 50.0))
    start = robots.random_q(ROBOT, rng, margin=0.3)
    tracker = ik.Tracker(ik.IkProblem(ROBOT, [goal]), 100.0, limits=limits, q0=start)
    aim = ROBOT.forward_kinematics(start + 0.05, TIP)
    tracker.set_goal(0, aim, 0.0)
    for tick in range(100):
        command = tracker.tick(0.001 * tick)
    assert command.status is ik.tracking.TrackStatus.REACHED
    assert command.position_errors.shape == (1,)
    np.testing.assert_allclose(ROBOT.forward_kinematics(command.q, TIP), aim, atol=1e-4)


def test_stiffness_couples_joints():
    """L^2 x'Mx [TakKo Eq. 4 and 5], weighed against a goal."""
    rng = np.random.default_rng(26)
    stiffness, previous, q = matrix(rng, 6, 6), rng.normal(size=6), rng.normal(size=6)
    task = ik.tasks.SmoothnessTask(previous, stiffness=stiffness, length=0.3)
    moved = q - previous
    assert cost_of(task, q) == pytest.approx(0.09 * moved @ stiffness @ moved)
    np.testing.assert_allclose(task.jacobian(ROBOT, q) @ moved, task.residual(ROBOT, q))
    place = np.array([0.4, 0.2, 0.5])
    problem = ik.IkProblem(ROBOT, [ik.PositionTask(TIP, place), task])
    result = ik.solve(problem, previous)

    def equation_4(p):
        missing, turned = ROBOT.forward_kinematics(p, TIP)[:3, 3] - place, p - previous
        return missing @ missing + 0.09 * turned @ stiffness @ turned

    assert result.cost == pytest.approx(equation_4(result.q))
    best = minimize(equation_4, result.q, options={'gtol': 1e-10}).fun
    assert result.cost <= best * (1.0 + 1e-6)
    task.set_previous(result.q)
    assert not task.residual(ROBOT, result.q).any()


@pytest.mark.parametrize(
    ('weights', 'what'),
    [
        ([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 'symmetric'),
        (np.diag([1.0, -1.0, 2.0]), 'semidefinite'),
        (np.eye(4), r'\(3, 3\)'),
        (np.full((3, 3), np.nan), 'finite'),
        (np.zeros((3, 3)), 'nothing'),
    ],
)
def test_what_is_no_weight_is_refused(weights, what):
    with pytest.raises(ik.InvalidOption, match=what):
        ik.PositionTask(TIP, weights=weights)


def test_what_matrices_do_not_go_with_is_refused():
    with pytest.raises(ik.InvalidOption, match='box'):
        ik.PositionTask(TIP, weights=np.eye(3), box=0.1)
    with pytest.raises(ik.InvalidOption, match='weight'):
        ik.AxisTask(TIP, weight=np.eye(3))
    with pytest.raises(ik.InvalidOption, match='symmetric'):
        ik.tasks.SmoothnessTask(np.zeros(6), stiffness=np.arange(36.0).reshape(6, 6))
    with pytest.raises(ik.InvalidOption, match='6 are needed'):
        ik.tasks.SmoothnessTask(np.zeros(6), stiffness=np.eye(3)).residual(ROBOT, np.zeros(6))
