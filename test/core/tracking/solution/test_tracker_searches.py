# SPDX-License-Identifier: Apache-2.0
"""No restarts while a goal is followed; one search for a new, far goal."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.streams import ROBOTS, Stream, flipped_goal, moved, out_of_reach, turned

import ik_core as ik
from ik_core.closed_form import initial_guess
from ik_core.tracking import MotionLimits, TrackerOptions, TrackStatus

# 2. No restarts while following; one search for a new, far goal


def dragged(stream, seconds, radius=0.04, turns=1.0):
    """Drag the goal along a circle that starts where the tip is; return the commands."""
    start = stream.tip_pose()
    count = round(seconds / stream.tracker.period)
    commands = []
    for k in range(count):
        angle = math.tau * turns * (k + 1) / count
        x, y = radius * (math.cos(angle) - 1.0), radius * math.sin(angle)
        stream.goal(moved(start, x, y, 0.5 * y))
        commands.append(stream.tick())
    return commands


@pytest.mark.parametrize('name', ROBOTS)
def test_a_dragged_goal_is_followed_without_restarts_and_without_flips(name):
    for seed in range(4):
        stream = Stream(name, acceleration=np.inf, velocity=np.inf)
        stream.tracker.reset(stream.configuration(np.random.default_rng(seed)))
        solution = stream.tracker.q
        for command in dragged(stream, 3.0):
            assert command.restarts == 0
            assert command.status is not TrackStatus.SEARCHING
            assert np.abs(command.solution - solution).max() < 0.3  # goals move 1 mm a tick
            solution = command.solution


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_goal_dragged_along_and_over_a_limit_never_flips(name):
    for seed in range(4):
        stream = Stream(name, acceleration=np.inf)
        q0 = stream.configuration(np.random.default_rng(seed))
        lower, upper = stream.robot.lower.copy(), stream.robot.upper.copy()
        # The path needs more than these joints may do: it leads along their limits.
        lower[:3], upper[:3] = q0[:3] - 0.01, q0[:3] + 0.01
        old = stream.limits
        stream.limits = MotionLimits(lower, upper, old.velocity, old.acceleration)
        stream.tracker.set_limits(stream.limits)
        stream.tracker.reset(q0)
        solution, at_limit = stream.tracker.q, False
        for command in dragged(stream, 3.0):
            at_limit |= bool(((command.q == lower) | (command.q == upper))[:3].any())
            assert command.restarts == 0
            assert np.abs(command.solution - solution).max() < 0.3
            solution = command.solution
        assert at_limit


def test_the_first_search_finds_its_closed_form_before_the_first_tick(monkeypatch):
    monkeypatch.setattr(initial_guess, '_PLANS', {})
    stream = Stream('panda', velocity=1.0)
    assert len(initial_guess._PLANS) == 1
    stream.goal(out_of_reach(stream.tip_pose()))
    commands = [stream.tick() for _ in range(20)]
    assert any(command.status is TrackStatus.SEARCHING for command in commands)
    assert len(initial_guess._PLANS) == 1


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'pr2_like'])
def test_a_far_goal_that_the_seeded_solve_fails_is_searched_for_and_reached(name):
    stream = Stream(name, velocity=1.0)
    start, goal = flipped_goal(stream)
    stream.tracker.reset(start)
    stream.goal(goal)
    commands = [stream.tick() for _ in range(20)]
    searching = [command.status is TrackStatus.SEARCHING for command in commands]
    assert any(searching) or max(command.restarts for command in commands) > 0
    assert stream.settle(200.0).status is TrackStatus.REACHED


def test_the_branch_of_a_search_is_kept_while_the_goal_is_dragged():
    stream = Stream('panda', acceleration=np.inf)
    start, goal = flipped_goal(stream)
    stream.tracker.reset(start)
    stream.goal(goal)
    solution = stream.settle().q
    for command in dragged(stream, 2.0):
        assert command.restarts == 0
        assert np.abs(command.solution - solution).max() < 0.15
        solution = command.solution


def test_a_goal_that_moves_little_starts_no_search_even_where_it_fails():
    stream = Stream('panda')
    start, goal = flipped_goal(stream)
    stream.tracker.set_options(TrackerOptions(goal_jump_position=100.0, goal_jump_orientation=4.0))
    stream.tracker.reset(start)
    stream.goal(goal)
    commands = [stream.tick() for _ in range(300)]
    assert all(command.restarts == 0 for command in commands)
    assert TrackStatus.SEARCHING not in {command.status for command in commands}


@pytest.mark.parametrize('jump', ['position', 'orientation'])
def test_each_kind_of_jump_counts_by_itself(jump):
    stream = Stream('panda')
    stream.tracker.reset(stream.configuration(np.random.default_rng(2)))
    thresholds = {'goal_jump_position': 100.0, 'goal_jump_orientation': 4.0}
    thresholds[f'goal_jump_{jump}'] = 0.1
    stream.tracker.set_options(TrackerOptions(**thresholds))
    start = stream.tip_pose()
    stream.goal(out_of_reach(start) if jump == 'position' else moved(turned(start, 1.0), 0.5, 9))
    statuses = {command.status for command in stream.run(0.3)}
    assert TrackStatus.SEARCHING in statuses


def test_searches_start_at_most_every_replan_period():
    stream = Stream('panda', options=TrackerOptions(replan_period=0.5))
    start = stream.tip_pose()
    starts, searching = [], False
    for k in range(300):
        stream.goal(out_of_reach(start, 2.0 + k % 7))  # teleports every tick
        now = stream.now
        command = stream.tick()
        if command.status is TrackStatus.SEARCHING and not searching:
            starts.append(now)
        searching = command.status is TrackStatus.SEARCHING
    assert len(starts) >= 4
    assert min(np.diff(starts)) >= 0.5 - 1e-9


def test_a_goal_that_waits_for_its_search_is_not_yet_called_out_of_reach():
    stream = Stream('panda', acceleration=np.inf, options=TrackerOptions(replan_period=30.0))
    robot = stream.robot
    stream.limits = MotionLimits(robot.lower, robot.upper, [np.inf] * robot.n, [np.inf] * robot.n)
    stream.tracker.set_limits(stream.limits)
    start = stream.tip_pose()
    stream.goal(out_of_reach(start))
    assert stream.settle().status is TrackStatus.CLOSEST
    stream.goal(out_of_reach(start, 3.0))
    waiting = stream.run(20.0)
    assert {command.status for command in waiting} == {TrackStatus.TRACKING}
    assert not waiting[-1].dq.any()
    assert stream.settle().status is TrackStatus.CLOSEST


def test_a_search_is_spread_over_ticks():
    stream = Stream('panda')
    stream.goal(out_of_reach(stream.tip_pose()))
    searching = [c for c in stream.run(1.0) if c.status is TrackStatus.SEARCHING]
    assert len(searching) > 1
    assert all(command.iterations <= 200 for command in searching)
    assert searching[-1].restarts > searching[0].restarts


@settings(max_examples=10)
@given(name=st.sampled_from(['panda', 'ur5e', 'iiwa14']), seed=st.integers(0, 1000))
def test_the_way_to_a_far_goal_is_straight_in_joint_space_and_slow_at_both_ends(name, seed):
    stream = Stream(name, acceleration=3.0)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(seed))))
    while not stream.tick().dq.any():
        pass
    commands = [stream.tick()]
    while commands[-1].dq.any():
        commands.append(stream.tick())
    target = commands[-1].q
    start = stream.robot.middle_configuration
    moves = np.abs(target - start) > 1e-6
    path = (np.array([c.q for c in commands]) - start)[:, moves] / (target - start)[moves]
    assert np.ptp(path, axis=1).max() < 1e-3
    speeds = np.array([np.abs(c.dq).max() for c in commands])
    peak = int(np.argmax(speeds))
    assert (np.diff(speeds[: peak + 1]) >= -1e-9).all()
    assert (np.diff(speeds[peak:]) <= 1e-9).all()


def test_a_stream_after_a_far_move_is_followed_as_closely_as_any():
    """The joints of a far move wait for each other; those that follow a stream do not."""
    streams = [Stream('iiwa14', acceleration=1.0), Stream('iiwa14', acceleration=1.0)]
    target = streams[0].configuration(np.random.default_rng(3))
    goal = streams[0].pose(target)
    streams[0].goal(goal)  # a far goal, still far away when it begins to move on
    streams[0].tick()
    streams[1].tracker.reset(streams[0].tracker.tick(0.0).solution)
    for k in range(1500):
        angle = 0.01 * k
        for stream in streams:
            stream.goal(moved(goal, 0.1 * math.sin(angle), 0.1 * (math.cos(angle) - 1.0)))
            command = stream.tick()
    np.testing.assert_allclose(streams[0].tracker.q, command.q, atol=1e-3)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_goal_out_of_reach_is_no_reason_to_leave_a_branch_that_is_as_good(name):
    compared = 0
    for seed in range(12):
        stream = Stream(name, acceleration=np.inf)
        start = stream.configuration(np.random.default_rng(seed))
        stream.tracker.reset(start)
        goal = out_of_reach(stream.tip_pose(), 2.0)
        problem = ik.IkProblem(stream.robot, [ik.PoseTask(stream.tips[0], transform=goal)])
        near = ik.solve(problem, start, restarts=0)
        stream.goal(goal)
        end = stream.settle()
        assert problem.evaluate(end.q).cost <= near.cost * (1 + 1e-9)
        if problem.evaluate(end.q).cost > 0.99 * near.cost:
            np.testing.assert_allclose(end.q, near.q, atol=0.05)
            compared += 1
    assert compared > 0


def test_a_slowly_dragged_goal_moves_the_arm_smoothly():
    stream = Stream('panda', acceleration=np.inf)
    start = stream.tip_pose()
    at = []
    for k in range(200):
        stream.goal(moved(start, 1e-6 * k))  # a tenth of the tolerance per tick
        stream.tick()
        at.append(stream.tip_pose()[0, 3])
    np.testing.assert_allclose(np.diff(at), 1e-6, atol=5e-7)
