# SPDX-License-Identifier: Apache-2.0
"""Several tips, joints that no goal moves, and what users set while a tracker runs."""

import math

import numpy as np
import pytest
from support.streams import StrangeSolver, Stream, moved, moving, out_of_reach, robot_named

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus

# Several tips, and joints that no goal moves


def test_a_tip_without_a_goal_holds_its_pose():
    stream = Stream('dual_arm')
    random = np.random.default_rng(1)
    stream.tracker.reset(stream.configuration(random))
    held = stream.tip_pose(1)
    goal = moved(stream.tip_pose(0), 0.03, -0.02, 0.05)
    stream.goal(goal)
    end = stream.settle()
    assert end.status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(0), goal, atol=1e-4)
    np.testing.assert_allclose(stream.tip_pose(1), held, atol=1e-4)


def test_a_dropped_goal_leaves_its_tip_where_it_can_stop_while_others_go_on():
    stream = Stream('dual_arm', acceleration=2.0)
    stream.tracker.reset(stream.configuration(np.random.default_rng(1)))
    goal = moved(stream.tip_pose(0), z=0.05)
    stream.goal(goal)
    stream.goal(moved(stream.tip_pose(1), 0.09), tip=1)
    stream.run(0.1)
    dropped = stream.tip_pose(1)
    stream.tracker.set_goal(1, None, stream.now)
    stream.settle()
    held = stream.tip_pose(1)
    assert np.linalg.norm(held[:3, 3] - dropped[:3, 3]) < 0.03
    stream.goal(moved(goal, 0.01))
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(1), held, atol=1e-4)


def test_dropping_no_goal_changes_nothing():
    stream = Stream('dual_arm')
    stream.tracker.reset(stream.configuration(np.random.default_rng(1)))
    held = stream.tip_pose(1)
    stream.goal(moved(stream.tip_pose(0), z=0.1))
    stream.run(0.1)
    stream.tracker.set_goal(1, None, stream.now)
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(1), held, atol=1e-4)


def test_a_goal_of_its_own_is_given_to_each_tip():
    stream = Stream('dual_arm')
    random = np.random.default_rng(2)
    q = stream.configuration(random)
    stream.tracker.reset(q)
    goals = [moved(stream.tip_pose(0), 0.02), moved(stream.tip_pose(1), z=0.03)]
    for tip, goal in enumerate(goals):
        stream.goal(goal, tip)
    assert stream.settle().status is TrackStatus.REACHED
    for tip, goal in enumerate(goals):
        np.testing.assert_allclose(stream.tip_pose(tip), goal, atol=1e-4)


def test_joints_that_no_goal_moves_keep_their_value_but_come_inside():
    stream = Stream('panda')
    finger = stream.robot.joint_index('panda_finger_joint1')
    q = stream.configuration(np.random.default_rng(0))
    q[finger] = 0.011
    stream.tracker.reset(q)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(1))))
    assert stream.settle().q[finger] == 0.011
    q[finger] = stream.robot.upper[finger] + 0.02
    stream.tracker.reset(q)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(2))))
    command = stream.tick()
    assert q[finger] > command.q[finger] > stream.robot.upper[finger]
    assert stream.settle().q[finger] == stream.robot.upper[finger]


# What users set while it runs


@pytest.mark.parametrize(
    'bad',
    [
        np.full((4, 4), np.nan),
        np.diag([1.0, 1.0, -1.0, 1.0]),
        np.diag([2.0, 1.0, 1.0, 1.0]),
        np.eye(3),
        np.diag([1.0, 1.0, 1.0, np.inf]),
    ],
)
def test_a_bad_goal_is_refused_and_the_last_good_one_kept(bad):
    stream = Stream('ur5e')
    with pytest.raises(ik.InvalidGoal):
        stream.goal(bad)
    assert stream.tick().status is TrackStatus.IDLE
    goal = stream.pose(stream.configuration(np.random.default_rng(3)))
    stream.goal(goal)
    stream.run(0.1)
    with pytest.raises(ik.InvalidGoal):
        stream.goal(bad)
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(), goal, atol=1e-4)


TIMES = [math.nan, math.inf, -math.inf, None, 'now', True, [1.0]]


@pytest.mark.parametrize('now', TIMES)
def test_a_time_that_is_none_is_refused_and_nothing_changes(now):
    """Against a tracker that never hears of it: to the last bit, with goals that get stale."""
    options = TrackerOptions(goal_timeout=0.2)
    asked, other = (Stream('ur5e', options=options) for _ in range(2))
    goal = asked.pose(asked.configuration(np.random.default_rng(3)))
    away = moved(goal, 0.1)
    for stream in (asked, other):
        stream.goal(goal)
    for tick in range(80):
        if tick % 10 == 5:
            calls = (
                lambda: asked.tracker.tick(now),
                lambda: asked.tracker.set_goal(0, away, now),
                lambda: asked.tracker.set_goal(0, None, now),
                lambda: asked.tracker.set_twist(0, [0.1, 0.0, 0.0], np.zeros(3), now),
            )
            for call in calls:
                with pytest.raises(ik.InvalidOption, match=r'now = .* \[s\]: a finite number'):
                    call()
        command, same = asked.tick(), other.tick()
        np.testing.assert_array_equal(command.q, same.q)
        assert command.status is same.status
    assert command.status is TrackStatus.STALE


def test_times_are_numbers_of_any_kind():
    tracker = Stream('ur5e').tracker
    for now in (0, np.float32(0.5), np.array(1.0), np.int64(2)):
        tracker.set_goal(0, np.eye(4), now)
        tracker.tick(now)
    assert tracker.received == [2.0]


def test_tightened_limits_move_the_solution_inside_too():
    stream = Stream('panda')
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(3))))
    q = stream.settle().q
    old = stream.limits
    upper = np.maximum(q - 0.05, old.lower)
    stream.limits = MotionLimits(old.lower, upper, old.velocity, old.acceleration)
    stream.tracker.set_limits(stream.limits)
    end = stream.settle()
    assert (end.solution <= upper).all()
    assert (end.q <= upper).all()
    stream.limits = old
    stream.tracker.set_limits(old)
    assert stream.settle().status is TrackStatus.REACHED


def test_a_search_under_way_starts_again_inside_new_limits():
    stream = Stream('panda', options=TrackerOptions(replan_period=0.0))
    stream.goal(out_of_reach(stream.tip_pose()))
    while stream.tick().status is not TrackStatus.SEARCHING:
        pass
    old = stream.limits
    middle = stream.robot.middle_configuration
    stream.limits = MotionLimits(
        np.maximum(old.lower, middle - 0.3),
        np.minimum(old.upper, middle + 0.3),
        old.velocity,
        old.acceleration,
    )
    stream.tracker.set_limits(stream.limits)
    end = stream.settle()
    assert (np.abs(end.solution - middle) <= 0.3 + 1e-12).all()


def test_the_solver_and_the_options_change_while_it_runs():
    stream = moving()
    q = stream.tracker.q
    stream.tracker.set_solver('damped_least_squares', {'damping': 0.01})
    stream.tracker.set_options(TrackerOptions(updates_per_tick=2))
    assert np.abs(stream.tick().q - q).max() < 0.1
    assert stream.settle().status is TrackStatus.REACHED


def test_a_wrong_solver_is_refused_and_the_last_one_kept():
    stream = moving()
    with pytest.raises(ik.InvalidOption, match='there are: levenberg_marquardt'):
        stream.tracker.set_solver('newton')
    with pytest.raises(ik.InvalidOption, match='no option'):
        stream.tracker.set_solver('levenberg_marquardt', {'dampening': 1.0})
    assert stream.settle().status is TrackStatus.REACHED


def test_limits_for_another_robot_are_refused():
    stream = Stream('panda')
    with pytest.raises(ik.InvalidOption, match='6 joints; the robot has 8'):
        stream.tracker.set_limits(MotionLimits.of(robot_named('ur5e')))
    assert stream.tick().status is TrackStatus.IDLE


def tracker_of(rate=100.0, **arguments):
    """A tracker of a Panda, made of these arguments."""
    robot = robot_named('panda')
    problem = ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())])
    limits = MotionLimits.of(robot, acceleration=10.0)
    return Tracker(problem, rate, **{'limits': limits, **arguments})


@pytest.mark.parametrize('rate', ['fast', None, 0.0, -1.0, math.nan, math.inf])
def test_the_rate_must_be_positive(rate):
    with pytest.raises(ik.InvalidOption, match=r'rate = .*must be a positive number'):
        tracker_of(rate)


@pytest.mark.parametrize(
    ('name', 'wrong', 'said'),
    [
        ('limits', 5, r'MotionLimits are needed, as MotionLimits\.of'),
        ('limits', {'velocity': 1.0}, r'MotionLimits are needed, as MotionLimits\.of'),
        ('options', {'move': 'linear'}, r"options is \{'move'.*: TrackerOptions are needed"),
        ('solver', 3, 'a name from SOLVERS or a Solver is needed'),
        ('solver', None, 'a name from SOLVERS or a Solver is needed'),
        ('solver', np.eye(4), 'a name from SOLVERS or a Solver is needed'),
        ('governor', 'fast', "governor is 'fast': that of another tracker is"),
    ],
)
def test_other_things_in_the_place_of_a_part_are_refused(name, wrong, said):
    tracker = tracker_of()
    with pytest.raises(ik.InvalidOption, match=said):
        tracker_of(**{name: wrong})
    if name != 'governor':
        with pytest.raises(ik.InvalidOption, match=said):
            getattr(tracker, f'set_{name}')(wrong)
    assert tracker.tick(0.0).status is TrackStatus.IDLE


@pytest.mark.parametrize(
    ('call', 'said'),
    [
        (lambda it: it.set_limits(None), 'MotionLimits are needed'),
        (
            lambda it: it.set_solver('levenberg_marquardt', 3),
            r"options 3: \{'max_step': 0.1\}, say",
        ),
        (lambda it: it.observe(3), 'observer is 3'),
        (lambda it: it.apply(3), 'is not an instruction: a SetGoal'),
        (lambda it: it.apply(None), 'is not an instruction: a SetGoal'),
        (lambda it: it.apply(('SetGoal', 0)), 'is not an instruction: a SetGoal'),
        (lambda it: it.next_frame(3), 'examples are 3: a list with one of each is needed'),
    ],
)
def test_what_a_tracker_can_not_use_is_refused_and_changes_nothing(call, said):
    tracker = tracker_of()
    with pytest.raises((ik.InvalidOption, ik.InvalidGoal), match=said):
        call(tracker)
    assert tracker.tick(0.0).status is TrackStatus.IDLE


@pytest.mark.parametrize('tip', [None, 1, -1])
def test_a_tip_that_does_not_exist_is_refused(tip):
    tracker = tracker_of()
    with pytest.raises(ik.InvalidGoal, match=f'there is no tip {tip!r}, only 0 to 0'):
        tracker.set_goal(tip, np.eye(4), now=0.0)
    with pytest.raises(ik.InvalidGoal, match='there is no tip'):
        tracker.set_twist(tip, np.zeros(3), np.zeros(3), now=0.0)


class RecordingSolver(StrangeSolver):
    def begin(self, problem, q0=None):
        self.problem = problem
        return self._search(problem, q0)


def test_what_is_solved_is_the_callers_problem_inside_the_trackers_limits():
    robot = robot_named('ur5e')
    problem = ik.IkProblem(
        robot,
        [ik.PoseTask('tool0')],
        secondary=[ik.PositionTask('forearm_link', np.zeros(3))],
        frozen_joints=robot.joint_names[:1],
        orientation_length=0.7,
    )
    solver = RecordingSolver()
    limits = MotionLimits(np.full(6, -0.5), np.full(6, 0.5), robot.velocity, np.full(6, 1.0))
    Tracker(problem, 100.0, limits=limits, solver=solver)
    solved = solver.problem
    assert [task.link for task in solved.secondary] == ['forearm_link']
    assert solved.secondary[0] is not problem.secondary[0]
    assert solved.frozen_joints == problem.frozen_joints
    assert solved.orientation_length == problem.orientation_length
    assert solved.position_tolerance <= problem.position_tolerance
    assert solved.limits.upper.tolist() == [0.5] * 5


def test_the_callers_problem_is_left_alone():
    robot = robot_named('ur5e')
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')])
    tracker = Tracker(problem, 100.0, limits=MotionLimits.of(robot))
    tracker.set_goal(0, robot.forward_kinematics(np.full(6, 0.4), 'tool0'), 0.0)
    tracker.tick(0.0)
    assert np.isnan(problem.goals[0].target).all()


def test_without_limits_those_of_the_robot_hold_and_one_warning_names_joints():
    robot = ik.load_robot('ur5e')
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')])
    with pytest.warns(UserWarning, match='no acceleration limit: shoulder_pan_joint, ') as caught:
        tracker = ik.Tracker(problem, 250)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert tracker.governor.limits.is_same(ik.MotionLimits.of(robot))


def test_tips_are_named_by_their_links():
    robot = ik.load_robot('dual_arm')
    tips = robot.tips()[:2]
    limits = ik.MotionLimits.of(robot, acceleration=10.0)
    trackers = [
        ik.Tracker(ik.IkProblem(robot, [ik.PoseTask(tip) for tip in tips]), 250, limits=limits)
        for _ in range(2)
    ]
    pose = moved(robot.forward_kinematics(robot.middle_configuration, tips[1]), 0.02)
    for tracker, name in zip(trackers, (1, tips[1]), strict=True):
        tracker.set_goal(name, pose, 0.0)
        tracker.set_twist(0 if name == 1 else tips[0], [0.1, 0, 0], [0, 0, 0], 0.0)
    for tick in range(10):
        commands = [tracker.tick(tick / 250) for tracker in trackers]
        np.testing.assert_array_equal(commands[0].q, commands[1].q)
    assert commands[0].dq.any()
    for act in (
        lambda: trackers[0].set_goal('palm', pose, 0.0),
        lambda: trackers[0].set_twist('palm', [0.1, 0, 0], [0, 0, 0], 0.0),
    ):
        with pytest.raises(ik.InvalidOption, match=f"'palm' is no tip; tips: {tips[0]}, "):
            act()
