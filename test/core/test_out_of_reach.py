# SPDX-License-Identifier: Apache-2.0
"""Notes on goals that are not reached: a proof that one is out of reach, or the number of starts
from which nothing closer was found.
"""

import numpy as np
import pytest
from support.robots import random_q, shipped

import ik_core as ik
from benchmark.closest import is_false

ROBOTS = ['panda', 'ur5e', 'iiwa14', 'scara', 'pr2_like', 'dual_arm', 'arm5', 'buss_y', 'human']
PROOF = 'out of reach for certain'


def goals_of(robot, rng):
    """Goals of several kinds, targets where the links are at a random q."""
    q = random_q(robot, rng, 0.0)
    links = [str(link) for link in rng.permutation(robot.tips())]
    kinds = [ik.PoseTask, ik.PositionTask]
    goals = []
    for i, link in enumerate(links[:2]):
        goal = kinds[int(rng.integers(2))](link)
        goal.set_target(robot.forward_kinematics(q, link))
        goals.append(goal)
        if i == 0 and len(links) > 1 and rng.random() < 0.5:
            relative = ik.PoseTask(link, relative_to=links[1])
            base = robot.forward_kinematics(q, links[1])
            relative.set_target(np.linalg.inv(base) @ robot.forward_kinematics(q, link))
            return [relative]
    return goals


@pytest.mark.parametrize('name', ROBOTS)
def test_a_goal_that_forward_kinematics_reaches_is_never_proved_to_be_out_of_reach(name):
    robot = shipped(name)
    for seed in range(60):
        problem = ik.IkProblem(robot, goals_of(robot, np.random.default_rng(seed)))
        assert problem.missed.why_out_of_reach(problem.points, 1e-5) == '', seed


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'arm5'])
def test_a_goal_farther_away_than_the_links_are_long_is_proved_to_be(name):
    robot = shipped(name)
    tip = robot.tips()[0]
    zero = robot.middle_configuration
    goal = ik.PositionTask(tip, robot.forward_kinematics(zero, tip)[:3, 3] + [0.0, 0.0, 9.0])
    result = ik.solve(ik.IkProblem(robot, [goal]))
    assert result.status is ik.IkStatus.CLOSEST
    assert PROOF in result.note
    short = float(result.note.split(' m too short')[0].split()[-1])
    assert short <= result.position_errors[0] + 5e-3, 'a bound is no more than what is missed'
    assert result.note in result.message


def test_a_box_as_large_as_what_is_missed_is_in_reach():
    robot = shipped('panda')
    tip, target = robot.tips()[0], [1.5, 0.0, 0.4]
    for box, proved in ((0.0, True), (1.5, False)):
        problem = ik.IkProblem(robot, [ik.PositionTask(tip, target, box=box)])
        assert bool(problem.missed.why_out_of_reach(problem.points, 1e-5)) is proved


@pytest.mark.parametrize('restarts', [0, 1, 20])
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'closed_form', 'bfgs'])
def test_the_note_tells_after_how_many_starts_nothing_closer_was_found(solver, restarts):
    """Just beyond what the arm reaches with this orientation, so the links are long enough."""
    robot = shipped('panda')
    pose = np.diag([1.0, -1.0, -1.0, 1.0])
    pose[:3, 3] = 0.85, 0.0, 0.4
    problem = ik.IkProblem(robot, [ik.PoseTask(robot.default_tip(), transform=pose)])
    result = ik.solve(problem, solver=solver, restarts=restarts)
    assert result.status is ik.IkStatus.CLOSEST, result
    starts = '1 start' if restarts == 0 else f'{restarts + 1} starts'
    assert result.note.endswith(f'nothing closer was found from {starts}')
    for seed in range(5 if restarts == 20 else 0):  # of as many it is the least
        other = ik.solve(problem, solver=solver, restarts=0, random_seed=seed)
        assert other.cost >= result.cost * (1.0 - 1e-6)


def test_a_goal_that_is_reached_has_no_such_note():
    robot = shipped('panda')
    tip = robot.default_tip()
    goal = ik.PoseTask(tip, transform=robot.forward_kinematics(robot.middle_configuration, tip))
    result = ik.solve(ik.IkProblem(robot, [goal]), np.zeros(robot.n))
    assert result.success
    assert result.note == ''


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'arm5'])
def test_at_the_edge_of_the_reach_closest_is_a_minimum(name):
    """From 0.9 to 1.1 of where the stretched-out arm ends: in reach, hardly, and hardly not."""
    robot = shipped(name)
    tip, ends = robot.tips()[0], []
    make = ik.PositionTask if name == 'arm5' else ik.PoseTask
    for seed in range(40):
        rng = np.random.default_rng(seed)
        at = robot.forward_kinematics(random_q(robot, rng, 0.0), tip)
        goal = make(tip)
        goal.set_target(at)
        problem = ik.IkProblem(robot, [goal])
        centres, radii = problem.missed.reach
        way = at[:3, 3] - centres[0]
        at[:3, 3] = centres[0] + radii[0] * rng.uniform(0.9, 1.1) * way / np.linalg.norm(way)
        goal.set_target(at)
        result = ik.solve(problem, random_q(robot, rng, 0.0), restarts=0)
        ends.append(result.status)
        if result.status is ik.IkStatus.CLOSEST:
            assert not is_false(problem, result), seed
    assert ends.count(ik.IkStatus.CLOSEST) >= 10
