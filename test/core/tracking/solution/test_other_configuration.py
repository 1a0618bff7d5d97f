# SPDX-License-Identifier: Apache-2.0
"""A goal that is not reached from here: what is said of it, and the search for another
configuration, beside the ticks and once for each goal.
"""

import itertools

import numpy as np
import pytest
from support import wrist_arm
from support.streams import AtOnce, Held, Stream, moved, out_of_reach

import ik_core as ik
from benchmark.closest import is_false
from ik_core.robot.linkages import linkage
from ik_core.solvers import SOLVERS, make_solver
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.instructions import OfferConfiguration
from ik_core.tracking.recording import Recorder, read_recording, replay
from ik_core.tracking.solution.other_configuration import REST

OTHER = TrackStatus.OTHER_CONFIGURATION
RESTING = (TrackStatus.CLOSEST, TrackStatus.STOPPED_SHORT, TrackStatus.TOO_FEW_JOINTS, OTHER)
RATE = 100.0


def beside_the_wrist(**options):
    """A stream of goals has passed beside the wrist's singularity; the last one stays."""
    background = options.pop('background', AtOnce)
    stream = Stream(
        wrist_arm.robot(),
        acceleration=10.0,
        q0=wrist_arm.BEFORE,
        options=TrackerOptions(**options),
        background=background,
    )
    for k in range(round(4 * RATE)):
        stream.goal(wrist_arm.goal(k / (4 * RATE)))
        stream.tick()
    stream.goal(wrist_arm.goal(1.0))
    return stream


def until(stream, status, seconds=20.0):
    """Tick until this is the status, and at rest."""
    for _ in range(round(seconds * RATE)):
        command = stream.tick()
        if command.status is status and not command.dq.any():
            return command
    raise AssertionError(f'{command.status}: {stream.tracker.solver_note}')


def miss(stream, q, goal):
    """[m], [rad]: how far the tip at q is from a goal, by forward kinematics."""
    pose = stream.pose(q)
    turn = pose[:3, :3].T @ goal[:3, :3]
    angle = np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0))
    return np.linalg.norm(pose[:3, 3] - goal[:3, 3]), angle


# --- a goal in reach that is missed -------------------------------------------------------------


def test_beside_the_wrist_s_singularity_the_arm_stays_and_says_that_there_is_another():
    stream = beside_the_wrist()
    rests = until(stream, TrackStatus.CLOSEST)
    assert miss(stream, rests.q, wrist_arm.goal(1.0))[0] > 1e-3
    command = until(stream, OTHER)
    np.testing.assert_array_equal(command.q, rests.q)
    assert 'another configuration reaches it: set reconfigure' in stream.tracker.solver_note
    assert {c.status for c in stream.run(5.0)} == {OTHER}


def test_with_reconfigure_the_arm_goes_there():
    stream = beside_the_wrist(reconfigure=True)
    command = until(stream, TrackStatus.REACHED)
    metres, radians = miss(stream, command.q, wrist_arm.goal(1.0))
    assert metres < 1e-5
    assert radians < 1e-4
    assert stream.tracker.solver_note == ''


def test_reconfigure_may_be_set_once_it_is_known_that_there_is_another():
    stream = beside_the_wrist()
    until(stream, OTHER)
    stream.tracker.set_options(TrackerOptions(reconfigure=True))
    assert until(stream, TrackStatus.REACHED).q[4] == pytest.approx(0.6, abs=0.02)


def test_the_search_begins_after_the_joints_rested_for_a_second():
    held = Held()
    stream = beside_the_wrist(background=held)
    rested = 0
    while not held.calls:
        command = stream.tick()
        rested = rested + 1 if command.status in RESTING and not command.dq.any() else 0
    assert rested == round(REST * RATE)


@pytest.mark.parametrize('reconfigure', [False, True])
def test_what_is_out_of_reach_is_searched_once_and_then_proved_or_counted(reconfigure):
    for name, proof in (('ur5e', 'out of reach for certain'), ('pr2_like', 'nothing closer was')):
        held = Held()
        held.done = True
        stream = Stream(name, options=TrackerOptions(reconfigure=reconfigure), background=held)
        goal = out_of_reach(stream.tip_pose(), 0.4 if name == 'pr2_like' else 5.0)
        stream.goal(goal)
        for _ in range(4):
            stream.goal(goal.copy())
            stream.run(2.0)
        assert len(held.calls) <= 1 + reconfigure  # where it went it is as good as before
        if stream.tick().status is TrackStatus.CLOSEST:
            assert proof in stream.tracker.solver_note


def test_a_stream_of_the_same_goal_is_one_goal():
    held = Held()
    stream = beside_the_wrist(background=held)
    for _ in range(round(6 * RATE)):
        stream.goal(wrist_arm.goal(1.0))
        stream.tick()
    held.done = True
    for _ in range(round(4 * RATE)):
        stream.goal(wrist_arm.goal(1.0))
        command = stream.tick()
    assert command.status is OTHER
    assert len(held.calls) == 1


def test_no_search_begins_while_another_is_under_way():
    held = Held()
    stream = beside_the_wrist(background=held)
    stream.run(4.0)
    for k in range(5):
        stream.goal(moved(wrist_arm.goal(1.0), 1e-4 * k))
        stream.run(3.0)
    assert len(held.calls) == 1
    assert held.calls[0]() is None, 'called off'
    held.done = True
    stream.run(3.0)
    assert len(held.calls) == 2


def test_a_search_that_fails_says_so_and_moves_nothing():
    def fail(call):
        work = AtOnce(call)
        work.result = lambda: 1 / 0
        return work

    stream = beside_the_wrist(background=fail)
    until(stream, TrackStatus.CLOSEST)
    commands = stream.run(3.0)
    assert commands[-1].status is TrackStatus.CLOSEST
    assert not any(command.dq.any() for command in commands)
    assert 'failed: division by zero' in stream.tracker.solver_note


def test_a_search_that_can_not_begin_says_so_and_no_tick_fails():
    def refuse(call):
        raise RuntimeError("can't start new thread")

    stream = beside_the_wrist(background=refuse)
    until(stream, TrackStatus.CLOSEST)
    stream.run(3.0)
    assert "failed: can't start new thread" in stream.tracker.solver_note


def test_an_offer_that_could_not_be_recorded_is_made_again_in_the_next_tick():
    class Full(Recorder):
        """Its disk is full once."""

        failures = 0

        def applied(self, instruction):
            if isinstance(instruction, OfferConfiguration) and not self.failures:
                self.failures += 1
                raise OSError('disk full')
            super().applied(instruction)

    stream = beside_the_wrist()
    until(stream, TrackStatus.CLOSEST)
    observer = Full(wrist_arm.text())
    stream.tracker.observe(observer)
    rest = stream.tracker.q
    with pytest.raises(OSError, match='disk full'):
        stream.run(5.0)
    np.testing.assert_array_equal(stream.tracker.q, rest)
    until(stream, OTHER, seconds=0.1)


@pytest.mark.parametrize(('noise', 'searches'), [(1e-12, 1), (1e-3, 0)])
def test_noise_in_a_stream_of_goals_begins_one_search_or_none(noise, searches):
    calls, rng = [], np.random.default_rng(0)

    def count(call):
        calls.append(call)
        return AtOnce(call)

    stream = beside_the_wrist(background=count, reconfigure=True)
    for _ in range(round(12.0 * RATE)):
        goal = wrist_arm.goal(1.0)
        goal[0, 3] += noise * rng.uniform(-1.0, 1.0)
        stream.goal(goal)
        command = stream.tick()
    assert len(calls) == searches
    assert (command.status is TrackStatus.REACHED) == (searches == 1)


def test_by_default_the_search_runs_in_a_thread():
    robot = wrist_arm.robot()
    limits = MotionLimits.of(robot, acceleration=10.0)
    problem = ik.IkProblem(robot, [ik.PoseTask(wrist_arm.TIP)])
    tracker = Tracker(problem, RATE, limits=limits, q0=wrist_arm.BEFORE)
    tracker.set_options(TrackerOptions(reconfigure=True))
    for k in range(10**7):
        tracker.set_goal(0, wrist_arm.goal(min(1.0, k / (4 * RATE))), k / RATE)
        command = tracker.tick(k / RATE)
        if k > 5 * RATE and command.status is TrackStatus.REACHED:
            break
    assert command.q[4] == pytest.approx(0.6, abs=0.02)


# --- events in the middle -----------------------------------------------------------------------

NEAR_GOAL = wrist_arm.robot().forward_kinematics(wrist_arm.BEFORE, wrist_arm.TIP)
JOINT_GOAL = np.array([0.3, 0.4, 0.8, 0.2, -0.5, 0.1])


def narrower(stream):
    """Limits that the joints keep, and the other configuration does not."""
    limits = stream.limits
    lower, upper = limits.lower.copy(), limits.upper.copy()
    upper[4] = 0.3
    stream.limits = MotionLimits(lower, upper, limits.velocity, limits.acceleration)
    stream.may_leave = True
    stream.tracker.set_limits(stream.limits)


def reset(stream):
    """From where it is, once it stands."""
    stream.tracker.stop()
    while stream.tick().dq.any():
        pass
    stream.tracker.reset(stream.tracker.q)


# Events in the middle of a search, or of the motion to what it found
EVENTS = {
    'another goal': lambda s: s.goal(NEAR_GOAL),
    'jog': lambda s: s.tracker.set_twist(0, [0.0, 0.0, 0.05], [0.0, 0.0, 0.0], s.now),
    'pause': lambda s: s.tracker.pause(),
    'stop': lambda s: s.tracker.stop(),
    'reset': reset,
    'joint goal': lambda s: s.tracker.move_to(JOINT_GOAL, s.now),
    'lower limit': narrower,
    'brake': lambda s: s.tracker.brake(),
    'solver': lambda s: s.tracker.set_solver('damped_least_squares'),
    'reconfigure off': lambda s: s.tracker.set_options(TrackerOptions()),
    'tolerances': lambda s: s.tracker.set_problem(looser(s)),
}


def looser(stream):
    goals = [ik.PoseTask(wrist_arm.TIP)]
    return ik.IkProblem(stream.robot, goals, position_tolerance=2e-5)


def in_the_middle(phase):
    """A stream in the middle of a search, or of the way to what it found."""
    held = Held()
    stream = beside_the_wrist(background=held, reconfigure=True)
    while not held.calls:
        stream.tick()
    if phase == 'motion':
        held.done = True
        while np.abs(stream.tick().dq).max() < 0.5:
            pass
    return stream, held


@pytest.mark.parametrize('phase', ['search', 'motion'])
@pytest.mark.parametrize('event', EVENTS)
def test_an_event_in_the_middle_is_heeded(phase, event):
    """Every tick is checked against the limits by `Stream`."""
    stream, held = in_the_middle(phase)
    q = stream.tracker.q
    EVENTS[event](stream)
    held.done = True
    commands = stream.run(12.0)
    end = commands[-1]
    expected = {
        'another goal': TrackStatus.REACHED,
        'jog': TrackStatus.IDLE,
        'pause': TrackStatus.PAUSED,
        'stop': TrackStatus.IDLE,
        'reset': TrackStatus.IDLE,
        'joint goal': TrackStatus.REACHED,
    }
    assert not end.dq.any()
    if event in expected:
        assert end.status is expected[event]
    if event in ('pause', 'stop', 'reset'):
        assert np.abs(end.q - q).max() < 0.3, 'no farther than to rest'
    if event == 'another goal':
        assert miss(stream, end.q, NEAR_GOAL)[0] < 1e-5
    if event == 'joint goal':
        np.testing.assert_array_equal(end.q, JOINT_GOAL)
    if event == 'lower limit':
        assert end.status is TrackStatus.CLOSEST
        assert end.q[4] <= 0.3
    if event == 'reconfigure off' and phase == 'search':
        assert end.status is OTHER
    if event in ('brake', 'tolerances', 'solver'):
        assert end.status is TrackStatus.REACHED


@pytest.mark.parametrize('every', [11, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize('phase', ['search', 'motion'])
def test_pairs_of_events_in_the_middle_leave_an_arm_that_reaches_its_next_goal(phase, every):
    for first, second in list(itertools.permutations(EVENTS, 2))[::every]:
        stream, held = in_the_middle(phase)
        EVENTS[first](stream)
        stream.run(0.05)
        EVENTS[second](stream)
        held.done = True
        stream.run(3.0)
        stream.tracker.pause(False)
        stream.tracker.set_options(TrackerOptions())
        stream.goal(moved(NEAR_GOAL, 0.05))
        assert until(stream, TrackStatus.REACHED).status is TrackStatus.REACHED, (first, second)


def test_after_a_pause_the_motion_to_the_other_configuration_goes_on():
    stream, _ = in_the_middle('motion')
    stream.tracker.pause()
    stream.run(3.0)
    stream.tracker.pause(False)
    assert until(stream, TrackStatus.REACHED)


def test_what_was_found_for_another_goal_is_dropped():
    stream, held = in_the_middle('search')
    stream.goal(moved(wrist_arm.goal(1.0), 2e-3))
    stream.tick()
    q = until(stream, TrackStatus.CLOSEST).q
    held.done = True
    stream.tick()
    np.testing.assert_array_equal(stream.tick().q, q)


# --- recordings ---------------------------------------------------------------------------------


@pytest.mark.parametrize('reconfigure', [False, True])
def test_a_recording_keeps_what_was_found_and_replays_to_the_same(tmp_path, reconfigure):
    stream = Stream(
        wrist_arm.robot(),
        acceleration=10.0,
        q0=wrist_arm.BEFORE,
        options=TrackerOptions(reconfigure=reconfigure),
    )
    recorder = Recorder(wrist_arm.text())
    stream.tracker.observe(recorder)
    for k in range(round(9 * RATE)):
        stream.goal(wrist_arm.goal(min(1.0, k / (4 * RATE))))
        command = stream.tick()
    assert command.status is (TrackStatus.REACHED if reconfigure else OTHER)
    path = tmp_path / 'recording.npz'
    recorder.save(path)
    recording = read_recording(path)
    names = [entry[1] for entry in recording.segments[0][0]['instructions']]
    assert names.count(OfferConfiguration.__name__) == 1
    (again,) = replay(recording)
    assert again.is_same, again.failure
    assert again.statuses[-1][1] == command.status.value


def test_a_snapshot_knows_what_was_found():
    stream = beside_the_wrist()
    until(stream, OTHER)
    other = Tracker.from_snapshot(stream.tracker.snapshot(), clock=lambda: 0.0, background=None)
    assert other.tick(stream.now).status is OTHER
    other.set_options(TrackerOptions(reconfigure=True))
    statuses = {other.tick(stream.now + k / RATE).status for k in range(1000)}
    assert TrackStatus.REACHED in statuses


# --- closest is a minimum, and nothing else -----------------------------------------------------


def rests(robot, solver, preset, goals, q0, kind=ik.PoseTask):
    """For each goal the problem, where a tracker first missed it at rest, and its last command.

    Its own solver alone follows: no goal jumps.
    """
    tip = robot.tips()[0]
    limits = MotionLimits.of(robot, velocity=20.0, acceleration=1e3)
    problem = ik.IkProblem(robot, [kind(tip)])
    options = vars(make_solver(solver, preset=preset).options)
    tracker = Tracker(
        problem, 60.0, limits=limits, solver=solver, solver_options=options, q0=q0,
        clock=lambda: 0.0, background=AtOnce,
        options=TrackerOptions(goal_jump_position=100.0, goal_jump_orientation=4.0),
    )  # fmt: skip
    now = 0.0
    for goal in goals:
        tracker.set_goal(0, goal, now)
        missed = None
        for _ in range(600):
            command = tracker.tick(now)
            now += 1.0 / 60.0
            if command.status in RESTING[:3] and not command.dq.any() and missed is None:
                missed = command
        problem.goals[0].set_target(goal)
        yield problem, missed, command


PRESETS = [
    (solver, preset)
    for solver, kind in SOLVERS.items()
    for preset in kind.presets
    if preset in ('coursework', 'engell_erleben', 'tau_one')
]


@pytest.mark.parametrize(('solver', 'preset'), [*PRESETS, ('levenberg_marquardt', None)])
@pytest.mark.parametrize('name', ['three rods', 'panda'])
def test_closest_is_said_of_minima_alone(solver, preset, name):
    """Goals in reach and beyond it, against points nearby and scipy's end."""
    rng = np.random.default_rng(5)
    if name == 'three rods':
        robot, kind = linkage(3, 'two_angle'), ik.PositionTask
    else:
        robot, kind = ik.load_urdf('panda'), ik.PoseTask
    tip, goals = robot.tips()[0], []
    low, high = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    for k in range(8):
        goal = robot.forward_kinematics(rng.uniform(low, high), tip)
        goal[:3, 3] *= 1.0 if k % 4 else 4.0
        goals.append(goal)
    start, ends = 0.5 * (low + high) + 0.3, []
    for problem, missed, command in rests(robot, solver, preset, goals, start, kind):
        ends.append(None if missed is None else missed.status)
        if ends[-1] in (None, TrackStatus.STOPPED_SHORT):
            continue
        result = ik.solve(problem, missed.q, restarts=0, max_iterations=1)
        result.q[:] = missed.q
        assert not is_false(problem, result), (solver, preset, command)
    assert set(ends) - {None}, 'some goals were missed'
    if solver == 'levenberg_marquardt':
        assert TrackStatus.STOPPED_SHORT not in ends


@pytest.mark.parametrize('status', [s for s in ik.IkStatus if s is not ik.IkStatus.LEAST])
def test_the_status_of_a_solver_that_ends_is_what_the_tracker_says(status):
    class Search(ik.optim.search.Search):
        def iterate_until(self, deadline, iterations):
            self.status = status

        def result(self):
            errors = np.full(1, 0.0 if status is ik.IkStatus.REACHED else 0.01)
            return ik.IkResult(self.q0, status, errors, errors, 1e-4, 1, 1, 0, 0.0)

    class Ends(ik.solvers.Solver):
        name = 'ends'
        Options = ik.optim.search.SearchOptions

        def _search(self, problem, q0):
            return Search(problem, q0, self.clock)

    stream = Stream('ur5e', solver=Ends(), background=None)
    stream.goal(moved(stream.tip_pose(), 0.01))
    said = stream.run(4.0)[-1].status
    closest = ik.IkStatus.CLOSEST, ik.IkStatus.TOO_FEW_JOINTS
    assert said is (TrackStatus.CLOSEST if status in closest else TrackStatus.STOPPED_SHORT)
    note = stream.tracker.solver_note
    assert ('ends makes no more progress' in note) == (
        said is TrackStatus.STOPPED_SHORT and status is not ik.IkStatus.REACHED
    )


@pytest.mark.parametrize('folded', list(itertools.product([0.0, np.pi], repeat=2)))
@pytest.mark.parametrize('distance', [1.6, 4.0])
@pytest.mark.parametrize('limits', [None, (-3.2, 3.2)])
def test_a_tracker_leaves_saddles(folded, distance, limits):
    """Stretched out or folded onto a line with its goal, all of which is stationary: without
    limits only the first is a minimum, with them a limit may hold a joint on its way.
    """
    arm = linkage(3, limits=limits)
    goal = np.eye(4)
    goal[0, 3] = distance
    start = np.array([0.0, *folded])
    ((problem, missed, _),) = rests(
        arm, 'levenberg_marquardt', None, [goal], start, ik.PositionTask
    )
    assert missed.status is TrackStatus.CLOSEST
    if limits is None:
        assert missed.position_errors[0] == pytest.approx(distance - 1.2, abs=1e-6)
    result = ik.solve(problem, missed.q, restarts=0, max_iterations=1)
    result.q[:] = missed.q
    assert not is_false(problem, result)
