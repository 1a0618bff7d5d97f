# SPDX-License-Identifier: Apache-2.0
"""Timeouts, stop, brake, pause and reset; one time budget for each tick."""

import numpy as np
import pytest
from support.streams import FOLLOWERS, Stream, flipped_goal, moved, moving

import ik_core as ik
from ik_core.solvers.base import LoopSolver
from ik_core.tracking import Tracker, TrackerOptions, TrackStatus

# 5. Timeouts, stop, pause, reset


def assert_brakes_to_rest(stream, status):
    """Check that all joints brake at full deceleration, and that the status says why."""
    dq = stream.tracker.dq
    command = stream.tick()
    expected = np.maximum(np.abs(dq) - 2.0 * stream.tracker.period, 0.0)
    np.testing.assert_allclose(np.abs(command.dq), expected, atol=1e-9)
    commands = stream.run(2.0)
    assert {c.status for c in commands} == {status}
    assert not commands[-1].dq.any()
    assert all((c.dq * dq >= 0.0).all() for c in commands)  # straight to rest, not back


def test_stop_decelerates_and_drops_the_goals():
    stream = moving()
    stream.tracker.stop()
    assert_brakes_to_rest(stream, TrackStatus.IDLE)


def test_a_stale_goal_decelerates_to_rest_and_a_new_one_goes_on():
    stream = moving(options=TrackerOptions(goal_timeout=0.5))
    goal = stream.pose(stream.configuration(np.random.default_rng(6)))
    stream.now += 1e-6
    assert_brakes_to_rest(stream, TrackStatus.STALE)
    for _ in range(1000):
        stream.goal(goal)  # a stream that goes on never gets stale
        command = stream.tick()
    assert command.status is TrackStatus.REACHED


def test_a_goal_without_timeout_holds_for_ever():
    stream = Stream('ur5e')
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(6))))
    stream.settle()
    stream.now += 1e6
    assert stream.tick().status is TrackStatus.REACHED


def test_pause_keeps_the_goals():
    stream = moving()
    stream.tracker.pause()
    assert_brakes_to_rest(stream, TrackStatus.PAUSED)
    stream.tracker.pause(False)
    assert stream.tick().status is TrackStatus.TRACKING
    assert stream.settle().status is TrackStatus.REACHED


def test_a_search_that_a_pause_cut_short_is_made_up_for():
    stream = Stream('panda')
    start, goal = flipped_goal(stream)
    stream.tracker.reset(start)
    stream.goal(goal)
    stream.tick()
    stream.tracker.pause()
    stream.run(0.5)
    stream.tracker.pause(False)
    assert stream.settle().status is TrackStatus.REACHED


def test_a_dropped_goal_stops_the_arm():
    stream = moving()
    stream.tracker.set_goal(0, None, stream.now)
    assert_brakes_to_rest(stream, TrackStatus.IDLE)


def test_reset_starts_from_the_given_state():
    stream = Stream('panda')
    q = stream.configuration(np.random.default_rng(8))
    stream.tracker.reset(q)
    np.testing.assert_array_equal(stream.tracker.q, q)
    assert stream.tracker.at_rest
    assert stream.tick().status is TrackStatus.IDLE


def test_reset_is_refused_in_motion_and_changes_nothing():
    stream, other = moving(), moving()
    with pytest.raises(ik.InvalidConfiguration, match='moving'):
        stream.tracker.reset(stream.tracker.q)
    np.testing.assert_array_equal(stream.tick().q, other.tick().q)


@pytest.mark.parametrize('bad', [np.full(8, np.nan), np.zeros(3), 'middle'])
def test_reset_refuses_what_is_no_state_and_changes_nothing(bad):
    stream = Stream('panda')
    q = stream.tracker.q
    with pytest.raises(ik.InvalidConfiguration):
        stream.tracker.reset(bad)
    np.testing.assert_array_equal(stream.tracker.q, q)


def test_braking_for_a_tick_slows_down_and_the_goals_are_followed_again():
    stream = moving()
    before = stream.tracker.dq
    stream.tracker.brake()
    after = stream.tick().dq
    steps = stream.tracker.governor.limits.acceleration * stream.tracker.period
    expected = np.sign(before) * np.maximum(np.abs(before) - steps, 0.0)
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-12)
    assert stream.settle().status is TrackStatus.REACHED


def test_braking_in_every_tick_ends_at_rest_and_drops_no_goal():
    stream = moving()
    for _ in range(500):
        stream.tracker.brake()
        stream.tick()
    assert stream.tracker.at_rest
    assert stream.tracker.has_goals
    assert stream.settle().status is TrackStatus.REACHED


def test_a_skipped_tick_goes_on_to_where_the_last_one_sent_the_joints():
    stream, other = moving(), moving()
    stream.tracker.skip_tick(braking=False)
    np.testing.assert_array_equal(stream.tracker.q, other.tick().q)
    assert stream.settle().status is TrackStatus.REACHED


def test_a_skipped_tick_that_brakes_is_a_step_of_braking():
    stream, other = moving(), moving()
    for _ in range(20):
        stream.tracker.skip_tick(braking=True)
        other.tracker.governor.brake(announced=True)
        np.testing.assert_array_equal(stream.tracker.q, other.tracker.q)
    assert stream.settle().status is TrackStatus.REACHED


def test_a_tick_skipped_while_a_stop_is_asked_for_moves_no_joint():
    stream = moving()
    for _ in range(500):
        stream.tracker.brake()
        stream.tick()
    rest = stream.tracker.q
    for _ in range(3):
        stream.tracker.skip_tick(braking=False)
        np.testing.assert_array_equal(stream.tracker.q, rest)
    assert stream.settle().status is TrackStatus.REACHED


def test_a_tick_that_is_taken_back_and_skipped_is_as_if_it_had_not_come():
    stream, other = moving(), moving()
    for _ in range(10):
        stream.tick()
        stream.tracker.undo_tick()
        stream.tracker.skip_tick(braking=True)
        other.tracker.skip_tick(braking=True)
        np.testing.assert_array_equal(stream.tracker.q, other.tracker.q)
        np.testing.assert_array_equal(stream.tracker.dq, other.tracker.dq)
    assert stream.settle().status is TrackStatus.REACHED


@pytest.mark.parametrize('move', ['joint', 'linear'])
def test_ticks_may_be_skipped_at_any_time(move):
    stream = moving(options=TrackerOptions(move=move))
    limits = stream.tracker.governor.limits
    random, before = np.random.default_rng(3), stream.tracker.dq
    for _ in range(300):
        if random.uniform() < 0.3:
            stream.tracker.skip_tick(braking=random.uniform() < 0.5)
        else:
            stream.tick()
        change = np.abs(stream.tracker.dq - before) * stream.tracker.rate
        assert (change <= limits.acceleration * (1 + 1e-9)).all()
        before = stream.tracker.dq
    assert stream.settle().status is TrackStatus.REACHED


def test_another_tracker_goes_on_with_the_same_governor():
    stream = moving()
    before = stream.tracker
    after = Tracker(
        stream.problem,
        before.rate,
        limits=before.governor.limits,
        governor=before.governor,
    )
    q, dq = before.q, before.dq
    command = after.tick(stream.now)
    steps = before.governor.limits.acceleration * before.period
    assert (np.abs(command.dq - dq) <= steps * (1 + 1e-9)).all()
    np.testing.assert_allclose(command.q, q + command.dq * before.period, rtol=0, atol=1e-12)


# 6. One budget per tick


class SlowClock:
    """A clock on which every look takes some seconds."""

    def __init__(self, seconds):
        self.seconds, self.now = seconds, 0.0

    def __call__(self):
        self.now += self.seconds
        return self.now


def test_a_solve_that_takes_longer_than_a_tick_goes_on_in_the_next(monkeypatch):
    monkeypatch.setattr(LoopSolver, 'clock_interval', 1)
    clock = SlowClock(0.002)  # a tick's 5 ms are two iterations
    stream = Stream('panda', solver='damped_least_squares', rate=100.0, clock=clock)
    stream.goal(moved(stream.tip_pose(), 0.05, 0.05, -0.05))
    commands = stream.run(1.0)
    assert max(command.iterations for command in commands) <= 2
    assert sum(command.iterations > 0 for command in commands) > 1
    assert stream.settle().status is TrackStatus.REACHED


def test_an_unfinished_solve_for_a_far_goal_moves_nothing_yet(monkeypatch):
    monkeypatch.setattr(LoopSolver, 'clock_interval', 1)
    stream = Stream('iiwa14', clock=SlowClock(0.003))  # one look at the clock a tick
    stream.tracker.set_solver('damped_least_squares')
    goal = stream.pose(stream.configuration(np.random.default_rng(3)))
    stream.goal(goal)
    command = stream.tick()
    assert command.iterations == 1
    assert not command.dq.any()
    assert stream.settle().status is TrackStatus.REACHED


@pytest.mark.parametrize('solver', FOLLOWERS)
def test_a_solve_that_ran_out_of_iterations_goes_on_in_the_next_tick(solver):
    stream = Stream('panda', solver=solver, solver_options={'max_iterations': 1})
    stream.goal(moved(stream.tip_pose(), 0.06, 0.04, -0.05))
    assert stream.settle(20.0).status is TrackStatus.REACHED


@pytest.mark.parametrize('solver', FOLLOWERS)
@pytest.mark.parametrize('updates', [1, 3])
def test_so_many_updates_a_tick_and_no_more(solver, updates):
    stream = Stream('panda', solver=solver, options=TrackerOptions(updates_per_tick=updates))
    stream.goal(moved(stream.tip_pose(), 0.08, 0.04, -0.05))
    commands = stream.run(1.0)
    assert max(command.iterations for command in commands) == updates
    assert stream.settle().status is TrackStatus.REACHED
