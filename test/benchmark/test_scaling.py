# SPDX-License-Identifier: Apache-2.0
"""Long chains, several end effectors, masked goals and a 60-dof figure, in the same kernel."""

import argparse

import numpy as np
import pytest

import ik_core as ik
from benchmark import scaling
from benchmark.problems import aim
from benchmark.results import table
from benchmark.robots import FIGURE_GOALS, chain, figure
from ik_core import IkStatus, make_solver
from ik_core.solvers import DEFAULT_SOLVER


def test_a_chain_has_its_joints_and_is_a_metre_long():
    for n in (5, 24, 100):
        robot = chain(n)
        assert robot.n == n
        stretched = robot.forward_kinematics(np.zeros(n), 'tip')
        np.testing.assert_allclose(stretched[:3, 3], [0.0, 0.0, 1.0], atol=1e-12)
    a, b = 0.3, 0.8  # about z, then about y half way up
    expected = [0.5 * np.sin(b) * np.cos(a), 0.5 * np.sin(b) * np.sin(a), 0.5 + 0.5 * np.cos(b)]
    tip = chain(2).forward_kinematics([a, b], 'tip')[:3, 3]
    np.testing.assert_allclose(tip, expected, atol=1e-12)


def test_the_figure_has_sixty_joints_and_stands_upright():
    robot = figure()
    assert robot.n == 60
    assert sum(kind == 'revolute' for kind in robot.joint_types) == 57
    at = {link: robot.forward_kinematics(np.zeros(60), link)[:3, 3] for link in FIGURE_GOALS}
    assert at['head'][2] == pytest.approx(1.75)
    assert at['left_toe'][2] == pytest.approx(0.03)
    for part in ('hand', 'toe', 'elbow'):
        mirrored = at[f'right_{part}'] * [1.0, -1.0, 1.0]
        np.testing.assert_allclose(at[f'left_{part}'], mirrored, atol=1e-12)
    moved = {j for link in FIGURE_GOALS for j in robot.chain(link)}
    assert moved == set(range(60))


@pytest.mark.parametrize('make', [scaling.one_pose, scaling.four_masked])
@pytest.mark.parametrize('n', scaling.JOINTS)
def test_chains_of_any_length_reach_their_goals(make, n):
    problem, rng = make(n), np.random.default_rng(n)
    robot, solver = problem.robot, make_solver(DEFAULT_SOLVER)
    for _ in range(10):
        q = rng.uniform(0.6 * robot.lower, 0.6 * robot.upper)
        aim(problem, q)
        result = solver.solve(problem, rng.uniform(robot.lower, robot.upper))
        assert result.success, result.message
        for task in problem.goals:
            gap = robot.forward_kinematics(result.q, task.link) - task.transform
            wanted = np.where(task.position_weights > 0.0, gap[:3, 3], 0.0)
            assert np.linalg.norm(wanted) <= problem.position_tolerance * (1 + 1e-9)


def test_a_masked_component_is_left_free():
    """Else a chain would have to put all three components where they were never asked to be."""
    problem, rng = scaling.four_masked(40), np.random.default_rng(1)
    robot = problem.robot
    aim(problem, rng.uniform(0.5 * robot.lower, 0.5 * robot.upper))
    tip = problem.goals[-1]
    x, y, z = tip.target[9:]
    tip.set_target(position=[x, y, z + 50.0])
    assert ik.solve(problem).success


@pytest.mark.parametrize('goals', [1, 7, 8, 9, 24])
def test_both_systems_reach_the_goals(goals):
    """The goals of a chain of 24 joints have fewer rows than joints, as many, or more."""
    problem, rng = scaling.positions(24, goals), np.random.default_rng(2)
    robot, solver = problem.robot, make_solver(DEFAULT_SOLVER)
    for _ in range(5):
        q = rng.uniform(0.5 * robot.lower, 0.5 * robot.upper)
        aim(problem, q)
        result = solver.solve(problem, q + rng.uniform(-0.1, 0.1, 24))
        assert result.success, result.message


def test_the_figure_follows_its_goals_in_a_few_iterations_a_frame():
    motion = scaling.Motion()
    problem = motion.problem
    robot, iterations = problem.robot, []
    truths = list(motion.configurations(91))[1:]
    solves = motion.solves(make_solver(DEFAULT_SOLVER), 91)
    for truth, (result, _) in zip(truths, solves, strict=True):
        assert result.success, result.message
        assert ((result.q >= robot.lower) & (result.q <= robot.upper)).all()
        for link in FIGURE_GOALS:
            asked = robot.forward_kinematics(truth, link)[:3, 3]
            gap = robot.forward_kinematics(result.q, link)[:3, 3] - asked
            assert np.linalg.norm(gap) <= problem.position_tolerance * (1 + 1e-9)
        iterations.append(result.iterations)
    assert np.median(iterations) <= 5


def test_a_seeded_figure_moves_smoothly():
    motion = scaling.Motion(seed=2)
    before = None
    for result, _ in motion.solves(make_solver(DEFAULT_SOLVER, restarts=0), 120):
        assert result.status is IkStatus.REACHED
        if before is not None:
            assert np.abs(result.q - before).max() < 0.3
        before = result.q


def test_the_benchmark_measures_every_case():
    rows = list(scaling.rows(argparse.Namespace(count=12)))
    assert {row['joints'] for row in rows} == {*scaling.JOINTS, scaling.CROSSING_JOINTS, 60, ''}
    assert sum(row['exponent'] != '' for row in rows) == 3
    assert all(len(row) == len(rows[0]) for row in rows)
    assert 'figure' in table(rows)
