# SPDX-License-Identifier: Apache-2.0
"""A tracker with the solver `closed_form`: jumps to the nearest solution, drags without flips.

Every tick is checked against the limits by `Stream`.
"""

import numpy as np
import pytest
from support.streams import Stream, moved, out_of_reach

import ik_core as ik
from ik_core.tracking import MotionLimits, TrackerOptions, TrackStatus

Q = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])  # A ur5e away from singularities
INSTANT = {'acceleration': np.inf, 'velocity': np.inf}


def arm(name='ur5e', q=Q, **options):
    stream = Stream(name, solver='closed_form', **options)
    stream.tracker.reset(q)
    return stream


def stretched(stream, joint, low, high):
    """Another range for a joint."""
    lower, upper = stream.limits.lower.copy(), stream.limits.upper.copy()
    lower[joint], upper[joint] = low, high
    old = stream.limits
    stream.limits = MotionLimits(lower, upper, old.velocity, old.acceleration)
    stream.tracker.set_limits(stream.limits)


def drag(stream, poses):
    """Commands of a goal that is at one pose after the other."""
    commands = []
    for transform in poses:
        stream.goal(transform)
        commands.append(stream.tick())
    return commands


def largest_step(stream, commands):
    solutions = np.array([command.solution for command in commands])
    return np.abs(np.diff(solutions, axis=0)).max()


def test_a_goal_that_jumped_is_reached_by_the_nearest_of_all_solutions():
    stream, rng = arm(), np.random.default_rng(1)
    problem = ik.IkProblem(stream.robot, [ik.PoseTask('tool0')])
    for _ in range(5):
        goal = stream.pose(rng.uniform(-2.0, 2.0, 6))
        problem.goals[0].set_target(goal)
        start = stream.tracker.q
        nearest = ik.solve_all(problem, start)[0]
        stream.goal(goal)
        first = stream.tick()
        np.testing.assert_allclose(first.solution, nearest, atol=1e-6)
        assert first.status is TrackStatus.TRACKING
        np.testing.assert_allclose(stream.settle().q, nearest, atol=1e-5)
        assert stream.tracker.solver_note.startswith('closed form: three parallel axes')


@pytest.mark.parametrize('offset', [0.0, 1e-9, 1e-3])
def test_a_drag_through_a_singularity_of_the_wrist_goes_straight_through(offset):
    """Exactly, and past it: where the joints would have to turn fast they lag, and come after."""
    stream = arm(**INSTANT)
    wrist = 0.6 * np.cos(np.linspace(0.0, np.pi, 400))
    poses = [moved(stream.pose([*Q[:4], angle, Q[5]]), z=offset) for angle in wrist]
    commands = drag(stream, poses)
    last = stream.settle()
    assert last.status is TrackStatus.REACHED
    assert max(command.position_errors[0] for command in commands) < 0.01
    if offset < 1e-6:
        assert largest_step(stream, commands) < 0.01
        np.testing.assert_allclose(last.q, [*Q[:4], -0.6, Q[5]], atol=1e-4)


def test_a_drag_over_a_limit_stays_on_its_branch_and_comes_back():
    stream = arm()
    stretched(stream, 2, -3.0, Q[2] + 0.1)
    elbow = Q[2] + 0.4 * np.sin(np.linspace(0.0, np.pi, 600))
    poses = [stream.pose([*Q[:2], angle, *Q[3:]]) for angle in elbow]
    commands = drag(stream, poses)
    assert largest_step(stream, commands) < 0.05
    assert max(command.position_errors[0] for command in commands) > 0.02
    beyond = stream.pose([*Q[:2], Q[2] + 0.3, *Q[3:]])  # which another branch reaches
    problem = ik.IkProblem(
        stream.robot, [ik.PoseTask('tool0', transform=beyond)],
        lower=stream.limits.lower, upper=stream.limits.upper,
    )  # fmt: skip
    assert len(ik.solve_all(problem)) > 0
    np.testing.assert_allclose(stream.settle().q, Q, atol=1e-3)


def test_a_drag_out_of_reach_is_certain_to_be_and_comes_back_on_its_branch():
    stream = arm()
    start = stream.tip_pose()
    way = 1.2 * np.sin(np.linspace(0.0, np.pi, 600))
    commands = drag(stream, [moved(start, x=shift) for shift in way[:300]])
    assert 'out of reach for certain' in stream.tracker.solver_note
    commands += drag(stream, [moved(start, x=shift) for shift in way[300:]])
    assert largest_step(stream, commands) < 0.3
    np.testing.assert_allclose(stream.settle().q, Q, atol=1e-3)


def test_a_goal_that_jumped_out_of_reach_ends_at_the_closest_point():
    stream = arm()
    stream.goal(out_of_reach(stream.tip_pose()))
    assert stream.settle().status is TrackStatus.CLOSEST
    assert 'out of reach for certain' in stream.tracker.solver_note


def test_a_straight_line_through_a_singularity_is_gone():
    stream = arm(options=TrackerOptions(move='linear'))
    ahead = stream.pose([*Q[:4], -0.6, Q[5]])
    stream.goal(ahead)
    last = stream.settle()
    assert last.status in (TrackStatus.REACHED, TrackStatus.BLOCKED)
    assert last.status is TrackStatus.BLOCKED or last.position_errors[0] < 1e-5


def test_jogging_into_a_limit_stops_there():
    stream = arm()
    stretched(stream, 2, Q[2] - 0.05, Q[2] + 0.05)
    before = stream.tracker.q
    for _ in range(200):
        stream.tracker.set_twist(0, [0.3, 0.0, 0.0], np.zeros(3), stream.now)
        command = stream.tick()
        assert np.abs(command.solution - before).max() < 0.5
    for _ in range(50):
        stream.tick()
    assert np.abs(stream.tracker.dq).max() == 0.0


@pytest.mark.parametrize('name', ['panda', 'iiwa14'])
def test_the_free_joint_of_seven_moves_to_the_rest_posture_while_a_goal_is_dragged(name):
    stream = Stream(name, solver='closed_form', options=TrackerOptions(rest_rate=2.0))
    q = stream.configuration(np.random.default_rng(4))
    stream.tracker.reset(q)
    start, rest = stream.tip_pose(), q.copy()
    rest[2] += 0.3
    stream.tracker.set_rest(rest)
    angles = np.linspace(0.0, 2.0 * np.pi, 400)
    circle = [moved(start, 0.03 * (np.cos(a) - 1.0), 0.03 * np.sin(a)) for a in angles]
    commands = drag(stream, circle)
    assert largest_step(stream, commands) < 0.05
    last = stream.settle()
    assert last.status is TrackStatus.REACHED
    assert np.linalg.norm(last.q[:7] - rest[:7]) < 0.95 * np.linalg.norm(q[:7] - rest[:7])


@pytest.mark.parametrize('name', ['panda', 'iiwa14'])
def test_an_arm_of_seven_is_dragged_as_by_the_default(name):
    streams = [Stream(name, solver=solver) for solver in ('closed_form', 'levenberg_marquardt')]
    q = streams[0].configuration(np.random.default_rng(5))
    for stream in streams:
        stream.tracker.reset(q)
    start = streams[0].tip_pose()
    for angle in np.linspace(0.0, 2.0 * np.pi, 200):
        goal = moved(start, 0.05 * (np.cos(angle) - 1.0), 0.05 * np.sin(angle))
        ours, theirs = (drag(stream, [goal])[0] for stream in streams)
        np.testing.assert_array_equal(ours.q, theirs.q)


def test_solvers_change_in_motion():
    stream, rng = arm(), np.random.default_rng(6)
    for solver in ('levenberg_marquardt', 'closed_form', 'damped_least_squares', 'closed_form'):
        stream.goal(stream.pose(Q + rng.uniform(-0.4, 0.4, 6)))
        stream.run(0.2)
        stream.tracker.set_solver(solver)
        assert bool(stream.tracker.solver_note) in (False, solver == 'closed_form')
        stream.run(0.1)
    assert stream.settle().status is TrackStatus.REACHED


def test_what_has_no_closed_form_is_said_at_once_and_followed_by_the_default():
    streams = [Stream('dual_arm', solver=s) for s in ('closed_form', 'levenberg_marquardt')]
    assert streams[0].tracker.solver_note.endswith('solved by levenberg_marquardt')
    assert streams[1].tracker.solver_note == ''
    q = streams[0].configuration(np.random.default_rng(7))
    goals = [streams[0].pose(q, tip) for tip in range(2)]
    for stream in streams:
        for tip, goal in enumerate(goals):
            stream.goal(goal, tip)
    np.testing.assert_array_equal(*(stream.settle().q for stream in streams))


def test_the_problem_may_lose_its_closed_form_and_get_it_back_in_motion():
    stream = arm()
    whole = stream.problem
    place = ik.IkProblem(stream.robot, [ik.PositionTask('tool0')])
    stream.goal(stream.pose(Q + 0.4))
    stream.run(0.1)
    stream.tracker.set_problem(place)
    assert stream.tracker.solver_note.startswith('no closed form')
    stream.run(0.1)
    stream.tracker.set_problem(whole)
    assert stream.settle().status is TrackStatus.REACHED
    stream.goal(stream.pose(Q - 0.4))
    assert stream.settle().status is TrackStatus.REACHED
    assert stream.tracker.solver_note.startswith('closed form')
