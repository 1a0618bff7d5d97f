# SPDX-License-Identifier: Apache-2.0
"""The equations of example-guided inverse kinematics [TakKo], computed from its text.

Each test makes an equation with numpy and the kinematics of `support.paper_chains`, and compares
costs to 1e-11 of themselves. Where a comparison is coarser, it says so.

The text does not say how velocities and accelerations are taken: here as by the package, by
differences of the last frames over the time between two frames.
"""

import numpy as np
import pytest
from support.paper_chains import Chain, arm, fork, planar

import ik_core as ik
from ik_core.motion import Motion
from ik_core.retargeting import retarget
from ik_core.tasks import (
    EndEffectorPatternTask,
    JointPatternTask,
    SmoothnessTask,
    example_guided_tasks,
    total_link_length,
)

SEEDS = range(4)
CLOSE = 1e-11
PERIOD = 0.04


def figure(seed, kinds='rrrrrr'):
    """An arm, three of its configurations, and three frames E (3, 3) and Theta (3, n)."""
    rng = np.random.default_rng(seed)
    chain = arm(rng, kinds)
    q = rng.uniform(-1, 1, (3, chain.n))
    return chain, q, rng.uniform(-0.5, 0.5, (3, 3)), q + rng.uniform(-0.4, 0.4, (3, chain.n))


def chain_length(chain, tip=0):
    """L: the lengths of all links from the first joint, which turns the chain, to an end."""
    at, offset = chain.tips[tip]
    total = np.linalg.norm(offset)
    while chain.pieces[at].parent >= 0:
        total += np.linalg.norm(chain.pieces[at].origin[:3, 3])
        at = chain.pieces[at].parent
    return total


def pattern(values, example, velocity=0.0, acceleration=0.0):
    """Eq. 2 and 3 for the last of three frames (3, ...)."""
    difference = np.asarray(values) - np.asarray(example)
    now, before, first = difference[::-1]
    speeds = (now - before) / PERIOD
    changes = (now - 2 * before + first) / PERIOD**2
    return now @ now + velocity * speeds @ speeds + acceleration * changes @ changes


def cost(task, robot, q):
    """The squared length of a residual."""
    residual = task.residual(robot, q)
    return residual @ residual


def shown(task, frames, robot, achieved):
    """The task after three frames, for the configurations (3, n) of which the last is open."""
    task.next_frame(frames[0], robot)
    task.next_frame(frames[1], robot, achieved[0])
    task.next_frame(frames[2], robot, achieved[1])
    return task


@pytest.mark.parametrize('beta', [0.0, 1e-5, 0.5, 1.0])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_1_objective_is_alpha_e_error_and_beta_a_error(seed, beta):
    """alpha = 1 - beta (section 5), the A-error times L^2 (4.3), with velocities and the rest."""
    chain, q, paths, postures = figure(seed)
    robot = chain.robot
    options = {'velocity_weights': (1e-3, 2e-3), 'acceleration_weights': (3e-6, 4e-6)}
    tasks = example_guided_tasks(robot, 'tip_0', beta=beta, period=PERIOD, **options)
    for task, frames in zip(tasks, (paths, postures), strict=True):
        shown(task, frames, robot, q)
    ends = np.array([chain.end_effectors(at)[0] for at in q])
    expected = (1 - beta) * pattern(ends, paths, 1e-3, 3e-6)
    expected += beta * chain_length(chain) ** 2 * pattern(q, postures, 2e-3, 4e-6)
    assert sum(cost(task, robot, q[2]) for task in tasks) == pytest.approx(expected, rel=CLOSE)
    problem = ik.IkProblem(robot, tasks)
    assert problem.evaluate(q[2]).cost == pytest.approx(expected, rel=CLOSE)


def slope(function, q, h=1e-5):
    """The gradient by central differences."""
    eye = np.eye(len(q))
    return np.array([(function(q + h * e) - function(q - h * e)) / (2 * h) for e in eye])


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'sqp', 'augmented_lagrangian'])
@pytest.mark.parametrize('beta', [1e-3, 0.5])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_1_minimum_is_where_it_is_found(seed, beta, solver):
    """The gradient is 0, to 1e-5 of its start, and no point nearby is lower; by section 4.3."""
    chain, q, paths, postures = figure(seed)
    robot = chain.robot
    tasks = example_guided_tasks(robot, 'tip_0', beta=beta)
    tasks[0].next_frame(paths[0], robot)
    tasks[1].next_frame(postures[0], robot)

    def objective(at):
        gap = chain.end_effectors(at)[0] - paths[0]
        far = at - postures[0]
        return (1 - beta) * gap @ gap + beta * chain_length(chain) ** 2 * far @ far

    found = ik.solve(ik.IkProblem(robot, tasks), q[0], solver=solver).q
    small = 1e-5 * np.abs(slope(objective, q[0])).max()
    assert slope(objective, found) == pytest.approx(0, abs=small)
    others = found + np.random.default_rng(seed).normal(0, 0.02, (200, chain.n))
    assert min(objective(other) for other in others) > objective(found)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_4_2_ends_are_inverse_kinematics_and_copied_joints(seed):
    """alpha = 1, beta = 0: the position of a reachable E; alpha = 0, beta = 1: Theta. To 1e-6."""
    chain, q, _, postures = figure(seed)
    robot = chain.robot
    path = chain.end_effectors(q[1])[0]
    for beta in (0.0, 1.0):
        tasks = example_guided_tasks(robot, 'tip_0', beta=beta)
        tasks[0].next_frame(path, robot)
        tasks[1].next_frame(postures[0], robot)
        found = ik.solve(ik.IkProblem(robot, tasks), q[0]).q
        if beta:
            assert found == pytest.approx(postures[0], abs=1e-6)
            assert np.linalg.norm(chain.end_effectors(found)[0] - path) > 1e-3
        else:
            assert chain.end_effectors(found)[0] == pytest.approx(path, abs=1e-6)
            assert np.abs(found - postures[0]).max() > 1e-3


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_2_e_error_with_velocity_and_acceleration(seed):
    chain, q, paths, _ = figure(seed)
    robot = chain.robot
    ends = np.array([chain.end_effectors(at)[0] for at in q])
    for velocity, acceleration in ((0, 0), (1e-3, 0), (0, 1e-6), (2e-3, 3e-6)):
        task = EndEffectorPatternTask(
            'tip_0',
            velocity_weight=velocity,
            acceleration_weight=acceleration,
            period=PERIOD,
        )
        shown(task, paths, robot, q)
        expected = pattern(ends, paths, velocity, acceleration)
        assert cost(task, robot, q[2]) == pytest.approx(expected, rel=CLOSE)
        residual = task.residual(robot, q[2])
        gradient = slope(lambda at: cost(task, robot, at), q[2])  # noqa: B023  called at once
        found = 2 * task.jacobian(robot, q[2]).T @ residual
        assert found == pytest.approx(gradient, abs=1e-7 * (1 + expected))


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_a_error_with_velocity_and_acceleration(seed):
    """At a length of 1, where it has no scale."""
    chain, q, _, postures = figure(seed)
    robot = chain.robot
    for velocity, acceleration in ((0, 0), (1e-3, 0), (0, 1e-6), (2e-3, 3e-6)):
        task = JointPatternTask(
            velocity_weight=velocity,
            acceleration_weight=acceleration,
            period=PERIOD,
            length=1.0,
        )
        shown(task, postures, robot, q)
        expected = pattern(q, postures, velocity, acceleration)
        assert cost(task, robot, q[2]) == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_4_and_5_stiffness_between_frames(seed):
    """x'M x, for a diagonal M and one that couples joints, times L^2 for a length L.

    The text prints the norm without its square, as x'M x, and squares it in Eq. 4: taken as the
    square of the norm.
    """
    chain, q, _, _ = figure(seed)
    robot, change = chain.robot, q[1] - q[0]
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(chain.n, chain.n))
    for matrix in (np.diag(rng.uniform(0.1, 2, chain.n)), root @ root.T):
        is_diagonal = not np.any(matrix - np.diag(np.diag(matrix)))
        stiffness = np.diag(matrix) if is_diagonal else matrix
        task = SmoothnessTask(q[0], stiffness=stiffness)
        assert cost(task, robot, q[1]) == pytest.approx(change @ matrix @ change, rel=CLOSE)
        task = SmoothnessTask(q[0], stiffness=stiffness, length=1.7)
        expected = 1.7**2 * change @ matrix @ change
        assert cost(task, robot, q[1]) == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize('velocity', [0.0, 1e-3])
@pytest.mark.parametrize('stiffness', [0.0, 0.02])
@pytest.mark.parametrize('branch', ['rrr', 'rpr'])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_4_every_frame_has_the_least_objective(seed, branch, stiffness, velocity):
    """Two end effectors of a tree that imitates one of other proportions, frame by frame.

    The errors of sliding joints are lengths already, so the A-error has no L^2 for them.
    The gradient of Eq. 4 at every frame after the first is 0, to 1e-5 of what it is at the
    example's posture or, where that is the least of all, of the largest of them.
    """
    rng = np.random.default_rng(seed)
    source = fork(rng, 'rr', ('rrr', branch))
    proportions = rng.uniform(0.7, 1.4, source.n)
    pieces = []
    for piece, factor in zip(source.pieces, proportions, strict=True):
        origin = piece.origin.copy()
        origin[:3, 3] *= factor
        pieces.append(piece._replace(origin=origin))
    chain = Chain(pieces, source.tips)
    times = np.linspace(0, 1, 6)
    postures = rng.uniform(-0.8, 0.8, source.n) + np.outer(times, rng.uniform(-0.5, 0.5, source.n))
    robot = chain.robot
    motion = Motion(source.robot.joint_names, postures, PERIOD)
    beta = 0.05
    result = retarget(
        motion,
        robot,
        {name: name for name in chain.tip_names},
        source=source.robot,
        beta=beta,
        velocity_weights=velocity,
        stiffness=stiffness,
    )
    length = max(chain_length(chain, k) for k in range(2))
    assert result.length == pytest.approx(length, rel=CLOSE)
    scale = np.array([1.0 if p.kind == 'prismatic' else length**2 for p in chain.pieces])
    paths = np.array([source.end_effectors(at) for at in postures])
    frames = result.motion.positions
    assert result.converged.all()

    def objective(at, n):
        before = frames[n - 1]
        total = 0.0
        gaps = chain.end_effectors(at) - paths[n]
        rates = (gaps - (chain.end_effectors(before) - paths[n - 1])) / PERIOD
        total += (1 - beta) * (np.sum(gaps**2) + velocity * np.sum(rates**2))
        far = at - postures[n]
        rates = (far - (before - postures[n - 1])) / PERIOD
        total += beta * (scale @ far**2 + velocity * scale @ rates**2)
        return total + length**2 * stiffness * (at - before) @ (at - before)

    for n in range(1, len(frames)):
        size = np.abs(slope(lambda at: objective(at, n), postures[n])).max()  # noqa: B023
        found = slope(lambda at: objective(at, n), frames[n])  # noqa: B023
        assert found == pytest.approx(0, abs=1e-5 * size)
        errors = np.linalg.norm(chain.end_effectors(frames[n]) - paths[n], axis=1)
        assert result.link_errors[n] == pytest.approx(errors, abs=1e-12)
        assert result.joint_errors[n] == pytest.approx(frames[n] - postures[n], abs=1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_4_3_scale_is_the_square_of_the_total_link_length(seed):
    """L^2 is (2 pi L / 2 pi)^2: what a stretched chain's end goes, over the turn of its base.

    So a first joint that is away from the base's origin adds nothing.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.2, 0.6, 4)
    chain = planar(*lengths)
    robot = chain.robot
    total = total_link_length(robot, 'tip_0')
    assert total == pytest.approx(sum(lengths), rel=CLOSE)
    speed = np.linalg.norm(chain.jacobian(np.zeros(4))[:, 0])
    assert total == pytest.approx(speed, rel=CLOSE)
    bent = arm(rng)
    assert total_link_length(bent.robot, 'tip_0') == pytest.approx(chain_length(bent), rel=CLOSE)
    task = JointPatternTask()
    task.next_frame(np.zeros(4), robot)
    q = rng.normal(size=4)
    assert cost(task, robot, q) == pytest.approx(total**2 * q @ q, rel=CLOSE)
