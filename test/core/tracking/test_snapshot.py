# SPDX-License-Identifier: Apache-2.0
"""Snapshots: a tracker that resumes one does the same, and taking one disturbs no motion."""

import itertools

import numpy as np
import pytest
from support.places import URDF
from support.streams import Stream, flipped_goal, moved, out_of_reach

from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.recording import Recorder, read_recording, replay
from ik_core.tracking.solution.goal_solver import GoalSolver


def stream(name='panda', seed=1, options=None, **arguments):
    made = Stream(name, options=TrackerOptions(**(options or {})), **arguments)
    made.tracker.reset(made.configuration(np.random.default_rng(seed)))
    return made


def move(of, k):
    """A goal of the joints that is followed."""
    if k == 0:
        of.goal(of.pose(of.configuration(np.random.default_rng(6))))


def drag(of, k):
    of.goal(moved(of.start, z=-1e-3 * k))


def line(of, k):
    if k == 0:
        of.tracker.set_goal(0, moved(of.start, y=0.05, z=-0.1), of.now, move='linear')


def jog(of, k):
    if k % 5 == 0:
        of.tracker.set_twist(0, [0.0, 0.02, -0.05], [0.0, 0.1, 0.0], of.now)


def blocked_line(of, k):
    if k == 0:
        of.tracker.set_goal(0, out_of_reach(of.start), of.now, move='linear')


def pause(of, k):
    move(of, k)
    if k in (20, 80):
        of.tracker.pause(k == 20)


def waiting(of, k):
    """The snapshot is taken between a goal and the tick that accepts it."""
    move(of, k)
    if k == WHEN - 1:
        of.tick()
        of.goal(moved(of.start, y=0.2))


def braking(of, k):
    jog(of, k)
    if k == WHEN - 1:
        of.tick()
        of.tracker.brake()


def two_tips(of, k):
    jog(of, k)
    if k == 20:
        of.goal(moved(of.start, z=-0.1), tip=1)


WHEN = 40
CASES = {
    'idle': (lambda of, k: None, {}),
    'a move of the joints': (move, {}),
    'a move with a jerk limit': (move, {'jerk': 100.0}),
    'a goal that is dragged': (drag, {}),
    'another solver': (drag, {'solver': 'damped_least_squares'}),
    'a closed form': (drag, {'solver': 'closed_form', 'name': 'ur5e'}),
    'a closed form and a jump': (move, {'solver': 'closed_form'}),
    'few updates': (drag, {'solver': 'bfgs', 'options': {'updates_per_tick': 1}}),
    'a stream': (drag, {'options': {'feed_forward': True}}),
    'a line': (line, {}),
    'a line with a jerk limit': (line, {'jerk': 100.0}),
    'a blocked line': (blocked_line, {'name': 'ur5e'}),
    'a jog': (jog, {}),
    'a pause': (pause, {}),
    'a goal that waits': (waiting, {}),
    'braking': (braking, {}),
    'a rest posture': (drag, {'options': {'rest_rate': 2.0}}),
    'two tips': (two_tips, {'name': 'dual_arm'}),
    'a timeout': (move, {'options': {'goal_timeout': 0.6}}),
}


def begun(case, jerk=np.inf, **arguments):
    made = stream(**arguments)
    made.start = made.tip_pose(1 if case is two_tips else 0)
    if jerk < np.inf:
        made.tracker.set_limits(MotionLimits.of(made.robot, acceleration=20.0, jerk=jerk))
    for k in range(WHEN):
        case(made, k)
        made.tracker.tick(made.now)
        made.now += made.tracker.period
    if case in (waiting, braking):
        case(made, WHEN)
    return made


def ticked(tracker, of, case, ticks=100):
    """Return the tracker's commands for the inputs of a case."""
    of.tracker, of.now = tracker, WHEN * tracker.period
    commands = []
    for k in range(WHEN, WHEN + ticks):
        case(of, k)
        commands.append(tracker.tick(of.now))
        of.now += tracker.period
    return commands


def assert_same(commands, others):
    for k, (command, other) in enumerate(zip(commands, others, strict=True)):
        for value, same in zip(command, other, strict=True):
            np.testing.assert_array_equal(value, same, err_msg=f'tick {k}')


@pytest.mark.parametrize('name', CASES)
def test_a_resumed_tracker_does_the_same_and_taking_a_snapshot_changes_nothing(name):
    case, arguments = CASES[name]
    undisturbed, of = begun(case, **arguments), begun(case, **arguments)
    tracker = of.tracker
    again = Tracker.from_snapshot(tracker.snapshot(), clock=lambda: 0.0)
    expected = ticked(undisturbed.tracker, undisturbed, case)
    assert_same(ticked(again, of, case), expected)  # first: nothing is shared
    memory = arguments.get('solver') is not None
    if not memory:  # a method that remembers the last solve begins again
        assert_same(ticked(tracker, of, case), expected)


def test_a_snapshot_may_be_resumed_more_than_once():
    of = begun(line)
    snapshot = of.tracker.snapshot()
    first, second = (Tracker.from_snapshot(snapshot, clock=lambda: 0.0) for _ in range(2))
    assert_same(ticked(first, of, line), ticked(second, of, line))


def test_a_search_begins_again_and_finds_its_branch():
    of = stream(solver_options={'closed_form': False})  # with it there are no restarts
    start, goal = flipped_goal(of)
    of.tracker.reset(start)
    of.goal(goal)
    while of.tick().status is not TrackStatus.SEARCHING:
        pass
    again = Tracker.from_snapshot(of.tracker.snapshot(), clock=lambda: 0.0)
    pairs = [(of.tracker.tick(of.now), again.tick(of.now)) for _ in range(100)]
    assert_same(*zip(*pairs, strict=True))
    assert pairs[0][0].restarts > 0
    assert of.settle().status is TrackStatus.REACHED


# Recordings


class Ticking:
    """A clock on which every look takes a little longer than the last."""

    def __init__(self):
        self.now, self.looks = 0.0, itertools.count(1)

    def __call__(self):
        self.now += 1e-5 * next(self.looks) ** 0.5
        return self.now


def recorded(of):
    recorder = Recorder((URDF / 'panda.urdf').read_text())
    of.tracker.observe(recorder)
    return recorder


def assert_replays(recorder, path, segments=1):
    recorder.save(path)
    runs = replay(read_recording(path))
    assert len(runs) == segments
    assert all(run.is_same for run in runs), [run.failure for run in runs]
    return runs


def in_motion(case, **arguments):
    """A tracker with a clock that counts, in motion, and so far unrecorded."""
    of = stream(clock=Ticking(), **arguments)
    of.start = of.tip_pose()
    for k in range(WHEN):
        case(of, k)
        of.tick()
    assert not of.tracker.at_rest
    return of


@pytest.mark.parametrize('case', [move, drag, line, jog])
def test_a_recording_that_begins_in_motion_is_run_again_to_the_last_bit(case, tmp_path):
    of = in_motion(case)
    recorder = recorded(of)
    for k in range(WHEN, WHEN + 60):
        case(of, k)
        of.tick()
    (run,) = assert_replays(recorder, tmp_path / 'run.npz')
    assert np.ptp(run.recorded, axis=0).max() > 0.01


def test_after_a_tick_that_failed_the_recording_goes_on_with_what_the_tracker_then_is(
    tmp_path, monkeypatch
):
    of = in_motion(line)
    recorder, works = recorded(of), GoalSolver.follow_step
    of.run(0.1)

    def fails(solver, q, in_time):
        works(solver, q, in_time)  # something has changed, and the clock was read
        raise ArithmeticError('injected')

    monkeypatch.setattr(GoalSolver, 'follow_step', fails)
    with pytest.raises(ArithmeticError):
        of.tracker.tick(of.now)
    monkeypatch.undo()
    of.tracker.governor.brake()  # whoever caught it
    of.run(0.3)
    runs = assert_replays(recorder, tmp_path / 'run.npz', segments=2)
    assert [len(run.now) for run in runs] == [10, 30]


def test_what_is_refused_begins_no_segment(tmp_path):
    of = in_motion(move)
    recorder = recorded(of)
    of.tick()
    with pytest.raises(ValueError, match='finite'):
        of.goal(np.full((4, 4), np.nan))
    of.run(0.1)
    assert_replays(recorder, tmp_path / 'run.npz')
