# SPDX-License-Identifier: Apache-2.0
"""A tracker whose tasks look back: example motions, and smoothness."""

import numpy as np
import pytest
from support import robots
from support.places import URDF

import ik_core as ik
from ik_core.tracking.recording import Recorder, read_recording, replay

RATE = 50.0
FRAMES = 4


def limits_of(robot):
    """Return limits so wide that every frame is reached in one tick."""
    return ik.MotionLimits(robot.lower, robot.upper, np.full(robot.n, 1e3), np.full(robot.n, 1e6))


def tasks_of(tip, previous):
    """A goal, and an example motion and smoothness that are weighed against it."""
    costs = {'velocity_weight': 0.1, 'acceleration_weight': 0.001, 'period': 1.0 / RATE}
    return [
        ik.PositionTask(tip),
        ik.tasks.JointPatternTask(weights=0.1, length=1.0, **costs),
        ik.tasks.SmoothnessTask(previous, stiffness=0.2),
    ]


def begun(robot, tip):
    """The problem of a tracker, its example at a frame of another motion."""
    tasks = tasks_of(tip, robot.middle_configuration)
    tasks[1].next_frame(robot.middle_configuration, robot)
    return ik.IkProblem(robot, tasks)


def motion(robot, tip):
    """The frames of an example (FRAMES, n), and where the tip should be, not quite as there."""
    phases = 0.05 * np.arange(FRAMES)[:, np.newaxis] + np.arange(robot.n)
    example = robot.middle_configuration + 0.3 * np.sin(phases)
    places = np.array([robot.forward_kinematics(q, tip) for q in example])
    places[:, :3, 3] += (0.02, -0.03, 0.01)
    return example, places


def by_hand(robot, tip, example, places):
    """The frames (FRAMES, n), solved one after the other with the tasks advanced."""
    q = robot.middle_configuration
    goal, pattern, smooth = tasks = tasks_of(tip, q)
    problem, frames = ik.IkProblem(robot, tasks), []
    for i in range(FRAMES):
        pattern.next_frame(example[i], robot, q if i else None)
        smooth.set_previous(q)
        goal.set_target(places[i])
        q = ik.solve(problem, q).q
        frames.append(q)
    return np.array(frames)


def tracked(tracker, example, places, *, restart=True):
    """The commands (FRAMES, n), many ticks a frame."""
    commands = []
    for i in range(FRAMES):
        tracker.next_frame([example[i]], restart=restart and i == 0)
        tracker.set_goal(0, places[i], 0.04 * i)
        for tick in range(40):
            command = tracker.tick(0.04 * i + 1e-4 * tick)
        commands.append(command.q)
    return np.array(commands)


def test_a_tracker_follows_an_example_motion_as_one_solves_it_by_hand():
    robot = robots.shipped('iiwa14')
    tip = robot.tips()[0]
    example, places = motion(robot, tip)
    problem = begun(robot, tip)
    tracker = ik.Tracker(problem, RATE, limits=limits_of(robot))
    expected = by_hand(robot, tip, example, places)
    np.testing.assert_allclose(tracked(tracker, example, places), expected, atol=1e-5)
    position_alone = np.abs(expected - example).max()
    assert position_alone > 1e-3  # the tasks pull in different directions
    [own], achieved = problem.other_tasks[0].history  # the caller's are left alone
    np.testing.assert_array_equal(own, robot.middle_configuration)
    assert not achieved


def test_a_recording_begins_with_the_frames_so_far(tmp_path):
    robot = ik.load_robot(URDF / 'iiwa14.urdf')
    tip = robot.tips()[0]
    example, places = motion(robot, tip)
    tracker = ik.Tracker(begun(robot, tip), RATE, limits=limits_of(robot))
    tracked(tracker, example, places)
    recorder = Recorder((URDF / 'iiwa14.urdf').read_text())
    tracker.observe(recorder)
    tracked(tracker, example[::-1], places[::-1], restart=False)
    recorder.save(tmp_path / 'frames')
    [again] = replay(read_recording(tmp_path / 'frames'))
    assert again.is_same, again.failure


def test_frames_outlive_new_limits_and_another_problem():
    robot = robots.shipped('iiwa14')
    tip = robot.tips()[0]
    example, places = motion(robot, tip)
    problem = begun(robot, tip)
    plain, changed = (ik.Tracker(problem, RATE, limits=limits_of(robot)) for _ in range(2))
    tracked(plain, example, places)
    tracked(changed, example, places)
    changed.set_limits(ik.MotionLimits(*(0.99 * limits_of(robot).rows)))
    changed.set_problem(ik.IkProblem(robot, tasks_of(tip, changed.q)))
    for tracker in (plain, changed):
        tracker.next_frame([example[0]])
        for tick in range(40):
            command = tracker.tick(1.0 + 1e-4 * tick)
    np.testing.assert_allclose(command.q, plain.q, atol=1e-5)


def test_examples_that_are_not_those_of_the_problem_are_refused():
    robot = robots.shipped('iiwa14')
    tip = robot.tips()[0]
    problem = begun(robot, tip)
    tracker = ik.Tracker(problem, RATE, limits=limits_of(robot))
    with pytest.raises(ik.InvalidGoal, match='example'):
        tracker.next_frame()
    with pytest.raises(ik.InvalidGoal, match='example'):
        tracker.next_frame([np.zeros(3)])
