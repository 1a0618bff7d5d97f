# SPDX-License-Identifier: Apache-2.0
"""Instructions of a tracker are values: methods make them, and observers note them."""

import inspect
import re
from enum import Enum

import numpy as np
import pytest
from support.robots import tip_of
from support.streams import Stream, moved
from support.tracked_arms import PERIOD, new_tracker, pose, shipped_of, ticks

import ik_core as ik
from ik_core.collision import Sphere
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.goals.monitor import GoalMonitor
from ik_core.tracking.goals.tips import Tip
from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.joint_motion import JointMotion
from ik_core.tracking.instructions import (
    INSTRUCTIONS,
    Brake,
    MoveTo,
    NextFrame,
    OfferConfiguration,
    Pause,
    Reset,
    SetGoal,
    SetLimits,
    SetOptions,
    SetProblem,
    SetRest,
    SetSolver,
    SetTwist,
    SetWorld,
    SkipTick,
    Stop,
    UndoTick,
)
from ik_core.tracking.solution.goal_solver import GoalSolver
from ik_core.tracking.solution.rest_posture import RestPosture
from ik_core.tracking.solution.step_following import StepFollowing


class Notes:
    """An observer that notes what it hears."""

    is_due = False

    def __init__(self):
        self.applied_, self.commands, self.readings, self.failures = [], [], 0, []

    def begin(self, snapshot):
        self.snapshot = snapshot

    def applied(self, instruction):
        self.applied_.append(instruction)

    def ticked(self, now, command):
        self.commands.append((now, command))

    def read(self, seconds):
        self.readings += 1

    def failed(self, *, changed):
        self.failures.append(changed)


def calls(robot, goal, q):
    """Each method of a tracker, and the value that it makes."""
    limits = MotionLimits.of(robot, velocity=0.5, acceleration=9.0)
    options, few = TrackerOptions(updates_per_tick=2), {'max_iterations': 5}
    along, about = [0.1, 0.0, 0.0], [0.0, 0.0, 1.0]
    world, goals = ik.World(), [ik.PoseTask(robot.tips()[0])]
    world.add('ball', Sphere(0.1), ik.transform(position=(0.0, 0.6, 0.6)))
    problem = ik.IkProblem(robot, goals, position_tolerance=1e-4, avoid=ik.Collisions(robot))
    return [
        (lambda t: t.set_goal(0, goal, 0.1, move='linear'), SetGoal(0, goal, 0.1, move='linear')),
        (lambda t: t.set_limits(limits), SetLimits(limits)),
        (lambda t: t.set_options(options), SetOptions(options)),
        (lambda t: t.set_rest(q), SetRest(q)),
        (lambda t: t.set_solver('sqp', few), SetSolver('sqp', few)),
        (lambda t: t.set_problem(problem), SetProblem(problem)),
        (lambda t: t.set_world(world), SetWorld(world)),
        (lambda t: t.next_frame(restart=True), NextFrame((), restart=True)),
        (lambda t: t.offer_configuration(q, 'closer'), OfferConfiguration(q, 'closer')),
        (lambda t: t.pause(), Pause(True)),
        (lambda t: t.pause(False), Pause(False)),
        (lambda t: t.brake(), Brake()),
        (lambda t: t.skip_tick(braking=False), SkipTick(braking=False)),
        (lambda t: t.skip_tick(braking=True), SkipTick(braking=True)),
        (lambda t: t.undo_tick(), UndoTick()),
        (lambda t: t.set_twist(0, along, about, 0.2), SetTwist(0, along, about, 0.2)),
        (lambda t: t.stop(), Stop()),
        (lambda t: t.reset(q, keep_goals=True), Reset(q, keep_goals=True)),
        (lambda t: t.move_to(q), MoveTo(q)),
    ]


def test_a_method_and_its_value_do_the_same():
    told, applied = new_tracker('iiwa14'), new_tracker('iiwa14')
    goal, q = moved(pose(told), 0.05, 0.1), told.q + 0.01
    notes = Notes()
    told.observe(notes)
    for call, value in calls(told._robot, goal, q):
        call(told)
        applied.apply(value)
        assert type(notes.applied_[-1]) is type(value)
        for name, field in vars(value).items():
            other = getattr(notes.applied_[-1], name)
            is_world = isinstance(field, ik.World)
            same = list(other) == list(field) if is_world else np.array_equal(other, field)
            assert same, name
        for k in range(120):
            first, second = told.tick(0.01 * k), applied.tick(0.01 * k)
            np.testing.assert_array_equal(first.q, second.q)
            assert first.status is second.status
    assert {type(value) for value in notes.applied_} == set(INSTRUCTIONS.values())


@pytest.mark.parametrize('name', INSTRUCTIONS)
def test_an_instruction_has_a_method_with_its_arguments(name):
    method = getattr(Tracker, re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower())
    of_method, of_kind = (inspect.signature(f).parameters for f in (method, INSTRUCTIONS[name]))
    assert [str(p) for p in of_kind.values()] == [str(p) for p in of_method.values()][1:]


def test_what_is_refused_is_not_heard_of_but_its_failure():
    tracker, notes = new_tracker(), Notes()
    tracker.observe(notes)
    with pytest.raises(ik.InvalidGoal):
        tracker.set_goal(0, np.full((4, 4), np.nan), 0.0)
    with pytest.raises(ik.InvalidOption):
        tracker.set_solver('newton')
    assert notes.applied_ == []
    assert notes.failures == [False]  # a goal that is none makes no instruction


def test_commands_and_readings_are_heard_of_while_there_is_an_observer():
    tracker, notes = new_tracker(), Notes()
    tracker.set_goal(0, moved(pose(tracker), 0.05), 0.0)
    tracker.observe(notes)
    command = tracker.tick(0.0)
    assert notes.commands == [(0.0, command)]
    assert notes.readings > 0
    tracker.observe(None)
    readings = notes.readings
    tracker.set_goal(0, moved(pose(tracker), 0.09), 0.0)
    tracker.tick(0.005)
    assert len(notes.commands) == 1
    assert notes.readings == readings


def test_a_tick_applies_its_instructions_and_returns_those_that_do_not_fit():
    given, applied = new_tracker(), new_tracker()
    goal = moved(pose(given), 0.05, 0.1)
    no_tip, no_link = SetGoal(7, goal, 0.0), SetTwist('nowhere', np.zeros(3), np.zeros(3), 0.0)
    command = given.tick(0.0, [no_tip, SetGoal(0, goal, 0.0), no_link])
    applied.set_goal(0, goal, 0.0)
    np.testing.assert_array_equal(command.q, applied.tick(0.0).q)
    (first, no_such), (second, unknown) = command.refused
    assert (first, second) == (no_tip, no_link)
    assert isinstance(no_such, ik.InvalidGoal)
    assert isinstance(unknown, ik.InvalidOption)
    assert given.tick(PERIOD).refused == ()


# An error in the middle


def jogged(stream):
    stream.tracker.set_twist(0, [0.0, 0.02, -0.05], [0.0, 0.1, 0.0], stream.now)


def on_a_line(stream):
    stream.tracker.set_goal(0, moved(stream.tip_pose(), y=0.1, z=-0.1), stream.now, move='linear')


def dragged(stream):
    stream.goal(moved(stream.tip_pose(), y=0.02))


def sent(stream):
    stream.tracker.move_to(stream.tracker.q + 0.3, stream.now)


MOTIONS = [jogged, on_a_line, dragged, sent]
# Methods that raise after they did their work
PLACES = [
    (Governor, 'follow'),
    (JointMotion, 'follow'),
    (GoalMonitor, 'no_errors'),
    (GoalMonitor, 'errors'),
    (GoalSolver, 'set_targets'),
    (GoalSolver, 'begin_tick'),
    (StepFollowing, 'keep_step'),
    (RestPosture, 'step'),
    (Tip, 'advance'),
]


@pytest.mark.parametrize('jerk', [np.inf, 100.0])
@pytest.mark.parametrize('begin', MOTIONS)
@pytest.mark.parametrize(('owner', 'name'), PLACES)
def test_an_error_in_a_tick_leaves_the_state_as_it_was(owner, name, begin, jerk, monkeypatch):
    options = TrackerOptions(rest_rate=1.0, speed_profile='linear')
    streams = [Stream('panda', options=options) for _ in 'ab']
    for stream in streams:
        stream.tracker.set_limits(MotionLimits.of(stream.robot, acceleration=20.0, jerk=jerk))
        stream.tracker.reset(stream.configuration(np.random.default_rng(3)))
        begin(stream)
        ticks(stream.tracker, 0, 16)
        stream.now = 16 * PERIOD
    failing, other = streams
    before = failing.tracker.snapshot().state
    works = getattr(owner, name)

    def fails(*arguments, **named):
        works(*arguments, **named)
        raise ArithmeticError('injected')

    monkeypatch.setattr(owner, name, fails)
    try:
        failing.tracker.tick(failing.now)
    except ArithmeticError:
        after = failing.tracker.snapshot().state
        assert_equal_values(before, after)
    else:
        other.tracker.tick(other.now)  # it was not called
    monkeypatch.undo()
    other.tracker.snapshot()  # a solve begins again there, too
    pairs = zip(ticks(failing.tracker, 17, 60), ticks(other.tracker, 17, 60), strict=True)
    for pair in pairs:
        for value, same in zip(*pair, strict=True):
            np.testing.assert_array_equal(value, same)


def assert_equal_values(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert_equal_values(value, other[key])
    elif hasattr(one, '__dict__') and not isinstance(one, Enum):
        assert type(one) is type(other)
        assert_equal_values(vars(one), vars(other))
    else:
        np.testing.assert_equal(one, other)


def test_an_error_in_an_instruction_leaves_the_state_and_keeps_the_others(monkeypatch):
    failing, other = Stream('ur5e'), Stream('ur5e')
    goal = moved(failing.tip_pose(), y=0.05)
    limits = MotionLimits.of(failing.robot, velocity=0.5, acceleration=2.0)
    works = GoalSolver.set_limits

    def fails(*arguments):
        works(*arguments)
        raise ArithmeticError('injected')

    monkeypatch.setattr(GoalSolver, 'set_limits', fails)
    inputs = iter([SetGoal(0, goal, 0.0), SetLimits(limits), Stop()])
    with pytest.raises(ArithmeticError):
        failing.tracker.tick(0.0, inputs)
    monkeypatch.undo()
    assert [type(value) for value in inputs] == [Stop]  # the caller still has it
    assert failing.tracker.governor.limits is not limits
    other.tracker.set_goal(0, goal, 0.0)
    other.tracker.snapshot()
    for _ in range(60):
        np.testing.assert_array_equal(failing.tick().q, other.tick().q)


# Goals, and whether it is paused, are the tracker's to tell


def test_the_goals_that_were_given_can_be_asked_for():
    stream = Stream('dual_arm')
    tracker = stream.tracker
    assert tracker.goals == [None, None]
    assert not tracker.has_goals
    goal = moved(stream.tip_pose(1), 0.01)
    stream.goal(goal, 1)
    assert tracker.goals[0] is None
    np.testing.assert_array_equal(tracker.goals[1], goal)
    assert tracker.has_goals
    assert tracker.received[1] == stream.now
    tracker.goals[1][:] = np.nan  # a copy
    np.testing.assert_array_equal(tracker.goals[1], goal)
    tracker.set_twist(1, np.zeros(3), np.zeros(3), 0.0)
    assert not tracker.has_goals


@pytest.mark.parametrize('drop', ['none', 'stop', 'reset'])
def test_goals_that_were_dropped_are_none(drop):
    stream = Stream('ur5e')
    stream.goal(moved(stream.tip_pose(), 0.01))
    {
        'none': lambda: stream.tracker.set_goal(0, None, 0.0),
        'stop': stream.tracker.stop,
        'reset': lambda: stream.tracker.reset(stream.tracker.q),
    }[drop]()
    assert not stream.tracker.has_goals


def test_a_stale_goal_is_still_told_of():
    stream = Stream('ur5e', options=TrackerOptions(goal_timeout=0.1))
    goal = moved(stream.tip_pose(), 0.01)
    stream.goal(goal)
    assert stream.run(1.0)[-1].status is TrackStatus.STALE
    np.testing.assert_array_equal(stream.tracker.goals[0], goal)


def test_a_refused_goal_is_not_among_the_goals():
    stream = Stream('ur5e')
    with pytest.raises(ik.InvalidGoal):
        stream.goal(np.full((4, 4), np.nan))
    assert not stream.tracker.has_goals


def test_it_says_whether_it_is_paused():
    tracker = new_tracker()
    assert not tracker.paused
    tracker.pause()
    assert tracker.paused
    tracker.pause(False)
    assert not tracker.paused


def test_a_reset_may_keep_the_goals():
    stream = Stream('ur5e')
    goal = stream.pose(stream.configuration(np.random.default_rng(4)))
    stream.goal(goal)
    elsewhere = stream.configuration(np.random.default_rng(5))
    stream.tracker.reset(elsewhere, keep_goals=True)
    np.testing.assert_array_equal(stream.tracker.q, elsewhere)
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(), goal, atol=1e-4)


# Another problem, in motion


def with_tolerance(stream, tolerance, **task):
    return ik.IkProblem(
        stream.robot,
        [ik.PoseTask(tip, **task) for tip in stream.tips],
        position_tolerance=tolerance,
    )


def test_a_changed_tolerance_leaves_the_motion_as_it_is():
    changed, same = Stream('ur5e', acceleration=2.0), Stream('ur5e', acceleration=2.0)
    goal = changed.pose(changed.configuration(np.random.default_rng(6)))
    for stream in (changed, same):
        stream.goal(goal)
        stream.run(0.5)
    q, dq = changed.tracker.q, changed.tracker.dq
    assert np.abs(dq).max() > 0.1
    changed.tracker.set_problem(with_tolerance(changed, 1e-3))
    np.testing.assert_array_equal(changed.tracker.q, q)
    np.testing.assert_array_equal(changed.tracker.dq, dq)
    ways = [(changed.tick().q, same.tick().q) for _ in range(100)]
    for one, other in ways:
        np.testing.assert_allclose(one, other, atol=5e-3)
    assert changed.settle().status is TrackStatus.REACHED
    error = np.linalg.norm(changed.tip_pose()[:3, 3] - goal[:3, 3])
    assert error <= 1e-3


def test_a_coarser_tolerance_is_reached_where_the_finer_one_is_not():
    stream = Stream('ur5e')
    goal = stream.tip_pose()
    goal[:3, 3] *= 3.0
    stream.goal(goal)
    assert stream.settle().status is TrackStatus.CLOSEST
    stream.tracker.set_problem(
        ik.IkProblem(
            stream.robot,
            [ik.PoseTask(stream.tips[0])],
            position_tolerance=10.0,
            orientation_tolerance=4.0,
        )
    )
    assert stream.tick().status is TrackStatus.REACHED


def test_a_changed_tool_is_brought_to_the_goal():
    stream = Stream('ur5e', acceleration=2.0)
    goal = stream.pose(stream.configuration(np.random.default_rng(6)))
    stream.goal(goal)
    stream.run(0.5)
    tool = np.eye(4)
    tool[:3, 3] = 0.0, 0.02, 0.1
    dq = stream.tracker.dq
    stream.tracker.set_problem(with_tolerance(stream, 1e-5, tool=tool))
    np.testing.assert_array_equal(stream.tracker.dq, dq)
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose() @ tool, goal, atol=1e-4)


def new_tool(tracker, length):
    """Give the tracker a tool of this length [m]; it."""
    tool = np.eye(4)
    tool[2, 3] = length
    task = ik.PoseTask(tip_of(shipped_of(tracker)), tool=tool)
    tracker.set_problem(ik.IkProblem(shipped_of(tracker), [task]))
    return tool


def test_a_line_is_still_one_to_a_changed_tool():
    tracker = new_tracker(linear_velocity=0.1)
    goal = pose(tracker)
    goal[:3, 3] += 0.05, 0.05, -0.08
    tracker.set_goal(0, goal, 0.0, move='linear')
    ticks(tracker, 0, 50)
    tool = new_tool(tracker, 0.02)
    ticks(tracker, 50, 50)  # it stops, and begins again
    path = [(pose(tracker, c.q) @ tool)[:3, 3] for c in ticks(tracker, 100, 500)]
    way = path[-1] - path[0]
    assert np.linalg.norm(way) > 0.03
    np.testing.assert_allclose(path[-1], goal[:3, 3], atol=1e-5)
    off = np.cross(path - path[0], way) / np.linalg.norm(way)
    assert np.linalg.norm(off, axis=1).max() < 1e-4


def test_the_velocity_of_a_goal_counts_for_a_changed_tool_too():
    tracker = new_tracker(acceleration=np.inf)
    goal = pose(tracker)
    goal[2, 3] -= 0.001
    tracker.set_goal(0, goal, 0.0, twist=[0.0, 0.0, -0.1, 0.0, 0.0, 0.0])
    ticks(tracker, 0, 2)
    tool = new_tool(tracker, 0.001)
    ticks(tracker, 2, 17)
    below = goal[2, 3] - (pose(tracker) @ tool)[2, 3]
    assert below == pytest.approx(0.1 * 18 * PERIOD, abs=1e-4)


def test_a_problem_for_other_links_or_another_robot_is_refused():
    stream = Stream('ur5e')
    elsewhere = ik.IkProblem(stream.robot, [ik.PoseTask('forearm_link')])
    with pytest.raises(ik.InvalidOption, match='forearm_link'):
        stream.tracker.set_problem(elsewhere)
    other = Stream('panda')
    with pytest.raises(ik.InvalidOption, match='this tracker moves'):
        stream.tracker.set_problem(other.problem)
    assert stream.tick().status is TrackStatus.IDLE
