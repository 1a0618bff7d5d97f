# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent: what its source says of it."""

import math

import numpy as np
import pytest
from support import robots
from support.coordinate_descent import both_orders, own_cost

import ik_core as ik
from ik_core import (
    IkProblem,
    IkStatus,
    PoseTask,
    PositionTask,
)

# [m] in which arm5 stands 25 from a goal that it can come as near as 2 to: Fig. 5, Table 1.
UNIT = 0.1502


def out_of_reach():
    """The arm of 5 joints bent a little, its goal abreast of it and out of reach."""
    goal = np.array([0.0, 2.5 + 2.0 * UNIT, 0.0])
    problem = IkProblem(robots.shipped('arm5'), [PositionTask('tip', goal)])
    return problem, np.full(5, 0.05)


def distances(order):
    problem, start = out_of_reach()
    solver = ik.make_solver('cyclic_coordinate_descent', order=order, record_history=True)
    result = solver.solve(problem, start)
    return result, np.sqrt(result.history) / UNIT


@both_orders
def test_out_of_reach_the_optimum_is_approached_but_slowly(order):
    """Engell-Norregard 2007, 3.3.3: near after few sweeps, the optimum after very many."""
    problem, start = out_of_reach()
    assert math.sqrt(problem.evaluate(start).cost) / UNIT == pytest.approx(25.0, abs=1.5)
    result, history = distances(order)
    assert result.status is IkStatus.CLOSEST
    assert history[-1] == pytest.approx(2.0, abs=1e-6)
    assert history[9] < 3.4  # the source's 3.369
    assert (np.diff(history) <= 1e-12).all()  # with best steps there is nothing erratic
    assert np.argmax(history < 2.0 + 1e-3) > 10
    assert np.argmax(history < 2.0 + 1e-9) > 100
    bfgs = ik.make_solver('levenberg_marquardt', restarts=0).solve(problem, start)
    assert result.iterations > 3 * bfgs.iterations


def test_the_last_sweeps_shrink_the_distance_to_the_optimum_at_one_rate():
    """Linear convergence: Engell-Norregard & Erleben 2011, 2.2."""
    _, history = distances('base_to_tip')
    left = history - 2.0
    rates = left[40:80] / left[39:79]
    assert rates.max() - rates.min() < 0.02
    assert 0.5 < rates.mean() < 1.0


def test_longer_chains_take_more_sweeps_and_more_than_other_methods():
    """Engell-Norregard 2007, Fig. 9, on the skeleton of Fig. 7: sums over ten goals each."""
    robot, rng = robots.shipped('chains5'), np.random.default_rng(12)
    sweeps, others = [], []
    for length in (2, 4, 6):
        link, counts = f'chain_{length}_tip', np.zeros(2)
        for _ in range(10):
            q = robots.random_q(robot, rng, margin=0.25)
            goal = PositionTask(link, robot.forward_kinematics(q, link)[:3, 3])
            problem = IkProblem(robot, [goal])
            start = np.clip(q + rng.uniform(-0.5, 0.5, robot.n), robot.lower, robot.upper)
            for i, name in enumerate(['cyclic_coordinate_descent', 'levenberg_marquardt']):
                result = ik.make_solver(name).solve(problem, start)
                assert result.success, (name, length, result.message)
                counts[i] += result.iterations
        sweeps.append(counts[0])
        others.append(counts[1])
    assert (np.array(sweeps) > np.array(others)).all()
    assert sweeps[0] < sweeps[-1]


@both_orders
def test_all_five_chains_reach_their_goals_together(order):
    robot, rng = robots.shipped('chains5'), np.random.default_rng(13)
    for _ in range(5):
        q = robots.random_q(robot, rng, margin=0.25)
        goals = [
            PositionTask(link, robot.forward_kinematics(q, link)[:3, 3]) for link in robot.tips()
        ]
        problem = IkProblem(robot, goals)
        start = np.clip(q + rng.uniform(-0.3, 0.3, robot.n), robot.lower, robot.upper)
        result = ik.make_solver('cyclic_coordinate_descent', order=order).solve(problem, start)
        assert result.success, result.message


def test_orientations_out_of_reach_end_at_their_own_optimum_and_say_so():
    """The least sum with chords is at another posture than the one with angles."""
    robot = robots.shipped('ur5e')
    pose = robot.forward_kinematics([0.3, -1.2, 1.4, -0.6, 0.8, 0.2], 'tool0')
    pose = robots.transform(translation=[0.3, 0.6, 0.4]) @ pose
    low, high = np.full(6, -1.5), np.full(6, 1.2)
    problem = IkProblem(robot, [PoseTask('tool0', transform=pose)], lower=low, upper=high)
    start = np.array([0.3, -1.0, 1.0, -0.5, 0.6, 0.1])
    result = ik.make_solver('cyclic_coordinate_descent').solve(problem, start)
    assert result.status is IkStatus.STALLED
    closest = ik.make_solver('levenberg_marquardt', restarts=0).solve(problem, result.q)
    assert closest.status is IkStatus.CLOSEST
    assert closest.cost < result.cost * (1 - 1e-5)
    assert own_cost(problem, result.q) < own_cost(problem, closest.q) * (1 - 1e-5)
