# SPDX-License-Identifier: Apache-2.0
"""The coursework's linkage: its steps, the ways that are measured, and its two weaknesses."""

import numpy as np
import pytest

from benchmark.papers import linkage

Q = np.array(linkage.START)


def test_a_tick_of_the_coursework_descends_by_its_slow_in():
    """A normalised transpose step; the first is 1 % of the step's length, 0.05 rad."""
    problem = linkage.problem_at(linkage.GOALS[0])
    at = problem.evaluate(Q)
    columns = at.jacobian / np.linalg.norm(at.jacobian, axis=0)
    direction = -columns.T @ at.residual
    step = linkage.Coursework(problem, Q).tick() - Q
    expected = 0.0005 * direction / np.linalg.norm(direction)
    np.testing.assert_allclose(step, expected, atol=1e-9)


def test_a_goal_that_was_moved_is_gone_to():
    problem = linkage.problem_at(linkage.GOALS[0])
    for method in linkage.METHODS:
        problem.goals[0].set_target(position=linkage.GOALS[0])
        move = linkage.mover(method, problem, Q)
        for _ in range(20):
            move.tick()
        problem.goals[0].set_target(position=linkage.GOALS[1])
        move.aim()
        for _ in range(250):
            q = move.tick()
        tip = problem.robot.forward_kinematics(q, 'tip')[:3, 3]
        assert np.linalg.norm(tip - linkage.GOALS[1]) < 0.001


def test_a_straight_chain_stands_still_before_a_goal_on_it():
    problem = linkage.problem_at((0.6, 0.0, 0.0))
    move = linkage.Coursework(problem, np.zeros(6))
    for _ in range(5):
        np.testing.assert_array_equal(move.tick(), 0.0)
    assert linkage.ticks_until_close('ours', problem, np.zeros(6))[0] < 200


@pytest.mark.parametrize('profile', ['square_root', 'linear'])
def test_the_trackers_joints_keep_their_limits(profile):
    problem, before = linkage.problem_at(linkage.GOALS[0]), Q
    move, speed = linkage.Tracked(problem, Q, profile), np.zeros(6)
    for _ in range(100):
        q = move.tick()
        faster = linkage.RATE * (q - before)
        assert np.abs(faster).max() <= linkage.VELOCITY * (1 + 1e-9)
        change = linkage.RATE * np.abs(faster - speed).max()
        assert change <= linkage.ACCELERATION * (1 + 1e-9)
        before, speed = q, faster


def test_reversals_are_steps_back(monkeypatch):
    """There, back by a little, on: two reversals before the end effector arrives."""
    ways = iter([0.1, 0.05, 0.2, 0.4])
    problem = linkage.problem_at(linkage.GOALS[0])

    class Scripted:
        def tick(self):
            return np.full(6, next(ways))

    monkeypatch.setattr(linkage, 'mover', lambda *arguments: Scripted())
    monkeypatch.setattr(linkage, 'distance', lambda problem, q: 1.0 - 2.5 * q[0])
    assert linkage.ticks_until_close('any', problem, np.zeros(6)) == (4, 2)


@pytest.mark.parametrize('power', [1.0, 0.5])
def test_the_growth_of_the_speed_is_an_exponent(power):
    gone = np.linspace(0.01, 1.0, 60)
    speeds = [0.0, *(gone[:-1] ** power)]
    way = [
        {'method': 'ours', 'speed': speed, 'way': way}
        for speed, way in zip(speeds, gone, strict=True)
    ]
    assert linkage.growth(way) == pytest.approx(power)


def test_stiff_joints_do_less():
    shares = [linkage.weight_row(alpha)['way'] for alpha in (1.0, 10.0)]
    assert 0.0 < shares[1] < shares[0] < 1.0
