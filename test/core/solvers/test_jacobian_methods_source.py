# SPDX-License-Identifier: Apache-2.0
"""The Jacobian methods beside each other: what their sources and pybullet say of them."""

import numpy as np
import pytest
from support import robots
from support.jacobian_problems import (
    WIDE,
    each_step,
    figure,
    model,
    slides,
    step_from,
)

from ik_core import IkProblem, PositionTask

# --- what the sources say of them --------------------------------------------------------------


@pytest.mark.parametrize('figure_name', ['buss_y', 'buss_double_y'])
def test_damped_least_squares_becomes_the_pseudoinverse_as_damping_fades(figure_name):
    problem, _ = figure(figure_name, stretch=1.2)
    q = np.linspace(-0.7, 0.6, problem.robot.n)
    limit = step_from('pseudoinverse', problem, q, rank_tolerance=1e-12, **WIDE)
    apart = [
        np.abs(step_from('damped_least_squares', problem, q, adaptive='fixed', damping=d, **WIDE)
               - limit).max()
        for d in (1e-1, 1e-2, 1e-3, 1e-4)
    ]  # fmt: skip
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] < 1e-4 * apart[0]
    assert apart[-1] < 1e-4


@pytest.mark.parametrize('figure_name', ['buss_y', 'buss_double_y'])
def test_both_forms_of_damped_least_squares_are_the_step(figure_name):
    """Buss Eq. 10 and 11."""
    problem, _ = figure(figure_name, stretch=1.2)
    q = np.linspace(-0.7, 0.6, problem.robot.n)
    jacobian, e = model(problem, q)
    step = step_from('damped_least_squares', problem, q, adaptive='fixed', damping=0.3, **WIDE)
    wide = jacobian.T @ jacobian + 0.09 * np.eye(len(q))
    tall = jacobian @ jacobian.T + 0.09 * np.eye(len(e))
    np.testing.assert_allclose(step, np.linalg.solve(wide, jacobian.T @ e), atol=1e-10)
    np.testing.assert_allclose(step, jacobian.T @ np.linalg.solve(tall, e), atol=1e-10)


@pytest.mark.parametrize('figure_name', ['buss_y', 'buss_double_y'])
def test_out_of_reach_the_pseudoinverse_swings_and_clamped_damping_settles(figure_name):
    """Buss 4 and 8: clamped errors let a damping do that is too small without them."""
    problem, q = figure(figure_name, seed=3, stretch=2.5)

    def last_moves(name, **options):
        points = [search.x for search in each_step(name, problem, q, 250, **options)][-40:]
        return np.abs(np.diff(points, axis=0)).max()

    damped = {'adaptive': 'fixed', 'damping': 0.3, 'max_step': 0.7}
    assert last_moves('pseudoinverse', **WIDE) > 1.0
    assert last_moves('damped_least_squares', max_error=np.inf, **damped) > 0.1
    assert last_moves('damped_least_squares', max_error=0.2, **damped) < 1e-3
    assert last_moves('selectively_damped_least_squares') < 0.2


@pytest.mark.parametrize('figure_name', ['buss_y', 'buss_double_y'])
@pytest.mark.parametrize('size', [0.15, 1.0])
def test_following_targets_damping_tracks_best_and_the_transpose_poorly(figure_name, size):
    """Buss 8: targets on sinusoids, in reach (0.15) and out of it (1), one step a frame."""
    problem, q = figure(figure_name, seed=4, spread=0.2)
    start = [task.target[9:].copy() for task in problem.goals]

    def mean_error(name, **options):
        x, errors = q, []
        for t in 0.02 * np.arange(400):
            for i, (task, at) in enumerate(zip(problem.goals, start, strict=True)):
                way = [np.sin(t + i), np.cos(1.3 * t + i) - np.cos(i), np.sin(0.7 * t)]
                task.set_target(position=at + size * np.array(way))
            x = x + step_from(name, problem, x, **options)
            errors.append(problem.evaluate(x).position_errors.mean())
        return np.mean(errors[50:])

    transpose = mean_error('jacobian_transpose', max_step=np.pi / 6)
    plain = mean_error('pseudoinverse', max_error=np.inf, max_step=np.pi / 36)
    clamped = mean_error('damped_least_squares', adaptive='fixed', damping=0.3, max_error=0.2)
    selective = mean_error('selectively_damped_least_squares')
    assert clamped < 0.8 * transpose
    assert selective < 0.8 * transpose
    if size == 1.0:
        assert max(clamped, selective) < 0.5 * plain


def test_an_error_is_halved_until_little_of_it_is_beyond_reach():
    """Two slides reach x and y; of the error (0.3, -0.4, 1) the 1 is beyond them."""
    problem = IkProblem(slides([1, 0, 0], [0, 1, 0]), [PositionTask('tip', [0.3, -0.4, 1.0])])
    for tolerance, share in [(2.0, 1.0), (1.0, 1.0), (0.99, 0.5), (0.5, 0.5), (0.1, 1 / 16)]:
        options = {'halving_tolerance': tolerance, **WIDE}
        plain = step_from('pseudoinverse', problem, [0.0, 0.0], **options)
        np.testing.assert_allclose(plain, share * np.array([0.3, -0.4]), rtol=1e-14)
        options |= {'step_rule': 'halving', 'step_length': 1.0}
        transposed = step_from('jacobian_transpose', problem, [0.0, 0.0], **options)
        np.testing.assert_allclose(transposed, share * np.array([0.3, -0.4]), rtol=1e-14)
    within = IkProblem(problem.robot, [PositionTask('tip', [0.3, -0.4, 0.0])])
    step = step_from('pseudoinverse', within, [0.0, 0.0], halving_tolerance=1e-12, **WIDE)
    np.testing.assert_allclose(step, [0.3, -0.4], rtol=1e-14)


# pybullet's damped least squares is by the group of S. Buss; its jointDamping is our d^2. One
# update of the Y from linspace(-0.4, 0.5, 7), each tip's target (0.05, -0.03, 0.04) m away, the
# second's twice that; pybullet 3.2.7, calculateInverseKinematics2, IK_DLS.
BULLET_STEP = [-0.06014152, 0.04532905, 0.02881405, 0.02543041, 0.0248412, 0.09890693, 0.01478165]


def shifted_goals(robot, q, size=1.0):
    shift = size * np.array([0.05, -0.03, 0.04])
    return [
        PositionTask(link, robot.forward_kinematics(q, link)[:3, 3] + (1 + k) * shift)
        for k, link in enumerate(robot.tips())
    ]


def test_damped_least_squares_takes_the_step_that_pybullet_took():
    robot, q = robots.shipped('buss_y'), np.linspace(-0.4, 0.5, 7)
    problem = IkProblem(robot, shifted_goals(robot, q))
    step = step_from('damped_least_squares', problem, q, adaptive='fixed', damping=0.1**0.5)
    np.testing.assert_allclose(step, BULLET_STEP, atol=1e-7)


@pytest.mark.parametrize('name', ['buss_y', 'buss_double_y'])
@pytest.mark.parametrize('updates', [1, 15])
def test_damped_least_squares_is_pybullets(name, updates):
    bullet = pytest.importorskip('pybullet')
    robot = robots.shipped(name)
    client = bullet.connect(bullet.DIRECT)
    body = bullet.loadURDF(str(robots.URDF / f'{name}.urdf'), useFixedBase=True)
    infos = [bullet.getJointInfo(body, i) for i in range(bullet.getNumJoints(body))]
    links = {info[12].decode(): info[0] for info in infos}
    q = np.linspace(-0.4, 0.5, robot.n)
    moving = [info[0] for info in infos if info[2] != bullet.JOINT_FIXED]
    for joint, value in zip(moving, q, strict=True):
        bullet.resetJointState(body, joint, value)
    goals = shifted_goals(robot, q, 2.0)
    found = bullet.calculateInverseKinematics2(
        body, [links[goal.link] for goal in goals], [goal.target[9:].tolist() for goal in goals],
        maxNumIterations=updates, residualThreshold=1e-12, solver=bullet.IK_DLS,
        jointDamping=[0.1] * robot.n,
    )  # fmt: skip
    bullet.disconnect(client)
    problem = IkProblem(robot, goals, position_tolerance=1e-12)
    options = {
        'adaptive': 'fixed',
        'damping': 0.1**0.5,
        'max_error': np.inf,
        'max_step': np.pi / 4,
    }
    *_, last = each_step('damped_least_squares', problem, q, updates, **options)
    np.testing.assert_allclose(last.x, found, atol=1e-6)
