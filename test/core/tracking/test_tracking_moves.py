"""Straight lines, jogs by twists, goals followed with their velocity, and the rest posture."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.places import ROOT
from support.robots import random_q, shipped, tip_of

import ik_core as ik
from ik_core.solvers.damped_least_squares import DampedLeastSquares
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus, cartesian
from ik_core.tracking.governor import Governor
from ik_core.tracking.rest_posture import RestPosture

PERIOD = 0.005


def new_tracker(name='panda', seed=0, acceleration=20.0, **options):
    """A tracker of a robot, away from singularities."""
    robot = shipped(name)
    limits = MotionLimits.of(robot, acceleration=acceleration)
    for attempt in range(seed, seed + 100):
        tracker = Tracker(
            ik.IkProblem(robot, [ik.PoseTask(tip_of(robot))]), 1.0 / PERIOD, limits=limits,
            q0=random_q(robot, np.random.default_rng(attempt), 0.2), clock=lambda: 0.0,
            options=TrackerOptions(**options),
        )  # fmt: skip
        if tracker.condition_number() < 10.0:
            return tracker
    raise AssertionError('no such configuration')


def pose(tracker, q=None):
    robot = shipped_of(tracker)
    return robot.forward_kinematics(tracker.q if q is None else q, tip_of(robot))


def shipped_of(tracker):
    return tracker._robot


def moved(transform, shift, turn=(0.0, 0.0, 0.0)):
    result = transform.copy()
    result[:3, 3] += shift
    result[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ result[:3, :3]
    return result


def ticks(tracker, start, count):
    """Commands of so many ticks from the tick with number `start` on."""
    return [tracker.tick(PERIOD * k) for k in range(start, start + count)]


# Frames


def test_a_frame_carried_by_a_twist_turns_about_its_own_origin():
    rng = np.random.default_rng(1)
    for _ in range(20):
        start, twist = Rotation.random(random_state=rng), rng.normal(size=6)
        frame = np.concatenate([start.as_matrix().ravel(), rng.normal(size=3)])
        origin = frame[9:].copy()
        cartesian.carry(frame, twist, 0.3)
        turned = Rotation.from_rotvec(0.3 * twist[3:]) * start
        np.testing.assert_allclose(frame[:9].reshape(3, 3), turned.as_matrix(), atol=1e-12)
        np.testing.assert_allclose(frame[9:], origin + 0.3 * twist[:3], atol=1e-12)


def test_the_way_between_two_frames_carries_the_one_to_the_other():
    rng = np.random.default_rng(2)
    for _ in range(20):
        rotations = Rotation.random(2, random_state=rng).as_matrix().reshape(2, 9)
        a, b = np.hstack([rotations, rng.normal(size=(2, 3))])
        way = np.empty(6)
        cartesian.way_between(a, b, way)
        cartesian.carry(a, way, 1.0)
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_a_frame_that_is_carried_a_million_times_stays_a_rotation():
    frame = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    twist = np.array([0.0, 0.0, 0.0, 0.3, -0.2, 0.9])
    for _ in range(20000):
        cartesian.carry(frame, twist, 0.7)
    rotation = frame[:9].reshape(3, 3)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)


# Straight lines


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_linear_move_is_straight_and_keeps_its_speed_and_acceleration(name):
    tracker = new_tracker(name, linear_velocity=0.2, linear_acceleration=0.8)
    start = pose(tracker)
    shift, turn = np.array([0.06, 0.05, -0.07]), np.array([0.2, -0.1, 0.3])
    goal = moved(start, shift, turn)
    tracker.set_goal(0, goal, 0.0, move='linear')
    commands = ticks(tracker, 0, 400)
    assert commands[-1].status is TrackStatus.REACHED
    path = np.array([pose(tracker, command.q) for command in commands])
    np.testing.assert_allclose(path[-1], goal, atol=1e-4)
    share = (path[:, :3, 3] - start[:3, 3]) @ shift / (shift @ shift)
    straight = start[:3, 3] + share[:, None] * shift
    np.testing.assert_allclose(path[:, :3, 3], straight, atol=2e-5)
    for part, matrix in zip(share, path, strict=True):  # the rotation goes the same share
        slerp = Rotation.from_rotvec(part * turn) * Rotation.from_matrix(start[:3, :3])
        assert (slerp.inv() * Rotation.from_matrix(matrix[:3, :3])).magnitude() < 1e-3
    length = share * np.linalg.norm(shift)
    speeds = np.diff(length) / PERIOD
    assert speeds.max() <= 0.2 * 1.001
    assert speeds.max() > 0.19
    assert np.diff(speeds).max() <= 0.8 * PERIOD * 1.05 + 1e-4
    assert np.diff(speeds).min() >= -0.8 * PERIOD * 3.0  # joints may brake it harder


def test_a_linear_move_slows_down_where_the_joints_cannot_keep_up():
    slow = new_tracker(linear_velocity=3.0, linear_acceleration=4.0)
    start = pose(slow)
    shift = np.array([0.1, 0.05, -0.1])
    slow.set_goal(0, moved(start, shift), 0.0, move='linear')
    commands = ticks(slow, 0, 600)
    assert commands[-1].status is TrackStatus.REACHED
    off = [np.cross(pose(slow, c.q)[:3, 3] - start[:3, 3], shift) for c in commands]
    assert np.linalg.norm(off, axis=1).max() / np.linalg.norm(shift) < 2e-3


def test_a_blocked_line_holds_on_the_way_and_the_next_goal_goes_on():
    tracker = new_tracker('ur5e')
    start = pose(tracker)
    out = start[:3, 3] / np.linalg.norm(start[:3, 3])
    tracker.set_goal(0, moved(start, 3.0 * out), 0.0, move='linear')
    commands = ticks(tracker, 0, 6000)
    assert commands[-1].status is TrackStatus.BLOCKED
    assert not commands[-1].dq.any()
    assert commands[-1].position_errors[0] > 1.0
    tracker.set_goal(0, start, 0.0, move='linear')
    commands += ticks(tracker, 6000, 6000)
    assert commands[-1].status is TrackStatus.REACHED
    for before, after in itertools.pairwise(commands):  # it never jumps
        assert np.abs(after.q - before.q).max() < 0.05


def test_the_option_makes_all_moves_linear_and_goals_may_differ_from_it():
    tracker = new_tracker(move='linear')
    start = pose(tracker)
    tracker.set_goal(0, moved(start, [0.0, 0.0, 0.05]), 0.0)
    linear = ticks(tracker, 0, 300)
    tracker.set_goal(0, start, 0.0, move='joint')
    joint = ticks(tracker, 300, 300)
    assert linear[-1].status is joint[-1].status is TrackStatus.REACHED
    with pytest.raises(ik.InvalidOption, match='move'):
        tracker.set_goal(0, start, 0.0, move='circular')


# Jogging


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_tip_is_carried_on_by_its_twist_and_stops_when_none_comes(name):
    tracker = new_tracker(name)
    linear, angular = np.array([0.05, 0.0, -0.03]), np.array([0.0, 0.1, 0.0])
    for k in range(100):
        tracker.set_twist(0, linear, angular, PERIOD * k)
        before = pose(tracker)
        tracker.tick(PERIOD * k)
    after = pose(tracker)
    np.testing.assert_allclose((after - before)[:3, 3] / PERIOD, linear, atol=1e-3)
    turned = Rotation.from_matrix(after[:3, :3] @ before[:3, :3].T).as_rotvec() / PERIOD
    np.testing.assert_allclose(turned, angular, atol=1e-3)
    commands = ticks(tracker, 100, 200)
    assert commands[-1].status is TrackStatus.IDLE
    assert not commands[-1].dq.any()
    way = pose(tracker)[:3, 3] - after[:3, 3]
    assert np.linalg.norm(way) < 0.02  # 0.1 s at 0.06 m/s, and braking
    np.testing.assert_allclose(np.cross(way, linear), 0.0, atol=1e-4)


def test_a_twist_that_is_too_fast_keeps_its_direction():
    tracker = new_tracker(linear_velocity=0.05, linear_acceleration=10.0)
    start = pose(tracker)
    for k in range(100):
        tracker.set_twist(0, [30.0, 40.0, 0.0], np.zeros(3), PERIOD * k)
        tracker.tick(PERIOD * k)
    way = pose(tracker)[:3, 3] - start[:3, 3]
    np.testing.assert_allclose(way / np.linalg.norm(way), [0.6, 0.8, 0.0], atol=1e-3)
    assert np.linalg.norm(way) <= 0.05 * 100 * PERIOD


def test_a_jog_into_the_end_of_the_reach_slows_down_and_one_back_goes_on():
    tracker = new_tracker('ur5e')
    out = pose(tracker)[:3, 3] / np.linalg.norm(pose(tracker)[:3, 3])
    for k in range(3000):
        tracker.set_twist(0, 0.2 * out, np.zeros(3), PERIOD * k)
        command = tracker.tick(PERIOD * k)
    assert np.abs(command.dq).max() < 0.05
    end = pose(tracker)[:3, 3]
    for k in range(3000, 3200):
        tracker.set_twist(0, -0.2 * out, np.zeros(3), PERIOD * k)
        tracker.tick(PERIOD * k)
    assert (end - pose(tracker)[:3, 3]) @ out > 0.05


@pytest.mark.parametrize('bad', [[np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0], [0.0, 0.0], 'up'])
def test_a_bad_twist_is_refused(bad):
    tracker = new_tracker()
    with pytest.raises(ik.InvalidGoal):
        tracker.set_twist(0, bad, np.zeros(3), 0.0)
    with pytest.raises(ik.InvalidGoal):
        tracker.set_twist(0, np.zeros(3), bad, 0.0)
    with pytest.raises(ik.InvalidGoal, match='no tip'):
        tracker.set_twist(1, np.zeros(3), np.zeros(3), 0.0)
    assert tracker.tick(0.0).status is TrackStatus.IDLE


# Goals with a velocity


def lag(every=1, **options):
    """How far the tip is from a goal on a circle at most, once under way [m]."""
    tracker = new_tracker(acceleration=3.0, **options)
    start, furthest = pose(tracker), 0.0
    for k in range(800):
        angle = 1.5 * PERIOD * k
        shift = 0.1 * np.array([math.cos(angle) - 1.0, math.sin(angle), 0.0])
        if k % every == 0:
            tracker.set_goal(0, moved(start, shift), PERIOD * k)
        tracker.tick(PERIOD * k)
        if k > 200:
            furthest = max(furthest, np.linalg.norm(pose(tracker)[:3, 3] - start[:3, 3] - shift))
    return furthest


def test_a_goal_on_a_circle_is_followed_with_less_lag_by_its_velocity():
    assert lag(feed_forward=True) < 0.1 * lag()


def test_between_the_goals_of_a_slow_stream_the_tip_moves_on():
    assert lag(every=10, feed_forward=True) < 0.3 * lag(every=10)


def test_a_velocity_that_was_given_is_followed_for_a_while_only():
    tracker = new_tracker(acceleration=np.inf)
    start = pose(tracker)
    tracker.set_goal(0, start, 0.0, twist=[0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    tracker.set_goal(0, moved(start, [1e-3, 0.0, 0.0]), 0.0, twist=[0.1, 0, 0, 0, 0, 0])
    ticks(tracker, 0, 11)
    assert pose(tracker)[0, 3] - start[0, 3] == pytest.approx(1e-3 + 0.1 * 10 * PERIOD, abs=1e-4)
    ticks(tracker, 11, 400)
    assert pose(tracker)[0, 3] - start[0, 3] == pytest.approx(1e-3, abs=1e-4)


# The rest posture


def loops(rest_rate, count=10):
    """The largest joint drift over closed loops of the goal, and the largest error at the end."""
    tracker = new_tracker('iiwa14', rest_rate=rest_rate)
    start = pose(tracker)
    tracker.set_goal(0, start, 0.0)
    ticks(tracker, 0, 200)
    q = tracker.q
    for k in range(count * 200):
        angle = math.tau * k / 200
        shift = 0.1 * np.array([math.cos(angle) - 1.0, math.sin(angle), math.sin(angle)])
        tracker.set_goal(0, moved(start, shift), 0.0)
        tracker.tick(0.0)
    tracker.set_goal(0, start, 0.0)
    command = ticks(tracker, 0, 2000)[-1]
    return np.abs(command.q - q).max(), command


def test_closed_loops_of_the_goal_close_in_the_joints_too_with_a_rest_posture():
    drift, command = loops(rest_rate=5.0)
    assert command.status is TrackStatus.REACHED
    assert drift < 1e-4
    assert loops(rest_rate=0.0)[0] > 0.05


def test_the_way_to_the_rest_posture_leaves_the_goal_reached_and_ends():
    tracker = new_tracker('iiwa14', rest_rate=5.0)
    robot, q = shipped_of(tracker), tracker.q
    tracker.set_goal(0, pose(tracker), 0.0)
    tracker.set_rest(robot.middle_configuration)
    commands = ticks(tracker, 0, 6000)
    assert all(command.status is TrackStatus.REACHED for command in commands)
    assert np.abs(commands[-1].q - q).max() > 0.05
    distance = [
        np.linalg.norm(c.q - robot.middle_configuration) for c in (commands[0], commands[-1])
    ]
    assert distance[1] < distance[0]
    speeds = np.array([command.dq for command in commands[-200:]])
    assert np.sqrt(np.mean(speeds**2)) < 1e-5
    # What is left is seen by the goal: the null space of the Jacobian has nothing of it.
    left = robot.middle_configuration - tracker.q
    jacobian = robot.jacobian(tracker.q, tip_of(robot))
    assert np.linalg.norm(left - np.linalg.pinv(jacobian) @ jacobian @ left) < 1e-3


@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'dual_arm'])
def test_the_step_to_the_rest_posture_is_the_null_part_of_the_way_over_the_free_joints(name):
    robot, rng = shipped(name), np.random.default_rng(5)
    problem = ik.IkProblem(robot, [ik.PoseTask(tip) for tip in robot.tips()[:2]])
    limits = MotionLimits.of(robot, velocity=np.inf)
    v, held_somewhere = problem.variables, False
    for _ in range(20):
        q, rest = random_q(robot, rng), random_q(robot, rng)
        at_limit = rng.random(robot.n) < 0.3
        q[at_limit] = limits.lower[at_limit]
        for task in problem.goals:
            task.set_target(robot.forward_kinematics(random_q(robot, rng), task.link))
        posture = RestPosture(problem.packed, limits, PERIOD, rest)
        wanted = 0.01 * (rest - q)[v]  # slow enough for every joint
        jacobian, free = problem.evaluate(q).jacobian, np.ones(len(v), bool)
        for _ in range(len(v) + 1):
            seen = np.linalg.pinv(jacobian[:, free]) @ jacobian[:, free]
            expected = np.zeros(len(v))
            expected[free] = wanted[free] - seen @ wanted[free]
            out = (q[v] <= limits.lower[v]) & (expected < 0.0)
            free &= ~out
        held_somewhere |= not free.all()
        after = q.copy()
        posture.step(after, 0.01)
        np.testing.assert_allclose((after - q)[v] / PERIOD, expected, atol=1e-7)
    assert held_somewhere


# Warming up


STORY = """
import sys
import numpy as np
import ik_core as ik
from ik_core.robot.shipped import load_robot
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions

def compiled():
    kernels = [
        value for name, module in list(sys.modules.items()) if name.startswith('ik_core')
        for value in vars(module).values() if hasattr(value, 'signatures')
    ]
    return {f'{k.py_func.__module__}.{k.py_func.__name__}' for k in kernels if k.signatures}

robot = load_robot('panda')
problem = ik.IkProblem(robot, [ik.PoseTask(robot.tips()[0])])
tracker = Tracker(problem, 200.0, limits=MotionLimits.of(robot, acceleration=20.0))
tracker.warm()
warm = compiled()
goal = robot.forward_kinematics(tracker.q, robot.tips()[0])
for move in ('joint', 'linear'):
    goal[:3, 3] -= 0.05
    tracker.set_goal(0, goal, 0.0, move=move)
    for _ in range(50):
        tracker.tick(0.0)
tracker.set_options(TrackerOptions(rest_rate=1.0, feed_forward=True))
tracker.set_rest(robot.upper)
for k in range(20):
    goal[2, 3] += 0.002
    tracker.set_goal(0, goal, 0.005 * k)
    tracker.tick(0.005 * k)
for k in range(50):
    tracker.set_twist(0, [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], 0.1)
    tracker.tick(0.1)
tracker.set_limits(MotionLimits.of(robot, acceleration=10.0))
tracker.set_goal(0, robot.forward_kinematics(robot.lower, robot.tips()[0]), 0.1)
for _ in range(20):
    tracker.tick(0.1)
print(*(compiled() - warm))
"""


def test_no_kernel_is_compiled_or_loaded_in_a_tick_after_warming_up():
    done = subprocess.run(
        [sys.executable, '-c', STORY], cwd=ROOT,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


# What methods remember


class Watched(DampedLeastSquares):
    """Notes the Dmax that each step begins with, and the last one's end."""

    def step(self, problem, state):
        self.begun.append(state.max_errors.copy())
        state = super().step(problem, state)
        self.ended = state.max_errors.copy()
        return state


def test_a_method_remembers_over_ticks_until_the_goal_jumps():
    """Buss's Dmax is infinite only where a target jumped (2009, section 2)."""
    robot = shipped('panda')
    solver = Watched(max_error_rule='resetting', max_error=0.02, clock=lambda: 0.0)
    solver.begun = []
    tracker = Tracker(
        ik.IkProblem(robot, [ik.PoseTask(tip_of(robot))]), 100.0, solver=solver,
        limits=MotionLimits.of(robot), q0=random_q(robot, np.random.default_rng(1), 0.3),
        clock=lambda: 0.0,
    )  # fmt: skip
    goal = robot.forward_kinematics(tracker.q, tip_of(robot))
    before = np.array([np.inf])
    for _ in range(10):  # dragged
        goal[2, 3] += 0.003
        tracker.set_goal(0, goal, 0.0)
        solver.begun.clear()
        tracker.tick(0.0)
        np.testing.assert_array_equal(solver.begun[0], before)
        before = solver.ended
        assert np.isfinite(before).all()
    goal[0, 3] -= 0.15  # beyond goal_jump_position
    tracker.set_goal(0, goal, 0.0)
    solver.begun.clear()
    tracker.tick(0.0)
    assert np.isinf(solver.begun[0]).all()
    assert np.isfinite(solver.begun[1]).all()


# Condition numbers


def test_the_condition_number_is_that_of_the_scaled_jacobian():
    tracker = new_tracker()
    robot = shipped_of(tracker)
    jacobian = robot.jacobian(tracker.q, tip_of(robot))[:, :7]
    jacobian[3:] *= 0.2
    assert tracker.condition_number() == pytest.approx(np.linalg.cond(jacobian), rel=1e-6)


def test_a_stretched_arm_is_singular():
    tracker = new_tracker('ur5e')
    tracker.reset(np.zeros(6))
    assert tracker.condition_number() > 1e10


# Jerk


@pytest.mark.parametrize('jerk', [20.0, 200.0])
@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_linear_move_within_jerk_limits_bends_by_millimetres(name, jerk):
    tracker = new_tracker(name, linear_velocity=0.2, linear_acceleration=0.8)
    start, shift = pose(tracker), np.array([0.09, 0.075, -0.105])
    limits = MotionLimits.of(shipped_of(tracker), acceleration=20.0, jerk=jerk)
    tracker.set_limits(limits)
    tracker.set_goal(0, moved(start, shift), 0.0, move='linear')
    commands = ticks(tracker, 0, 1800)
    assert commands[-1].status is TrackStatus.REACHED
    path = np.array([pose(tracker, command.q) for command in commands])
    off = np.cross(path[:, :3, 3] - start[:3, 3], shift) / np.linalg.norm(shift)
    assert np.linalg.norm(off, axis=1).max() < 2.5e-3
    turned = Rotation.from_matrix(path[:, :3, :3] @ start[:3, :3].T).magnitude()
    assert turned.max() < 0.03


def test_joints_with_a_jerk_limit_meet_a_goal_that_moves_on_and_stay_with_it():
    limits = MotionLimits(
        -np.ones(2) * 50.0, np.ones(2) * 50.0, [2.0, 3.0], [5.0, 8.0], [40.0, 9.0]
    )
    governor, drift = Governor(limits, PERIOD, np.zeros(2)), np.array([1.0, -0.7])
    goal = np.array([0.3, 0.5])
    for _ in range(1200):
        goal += PERIOD * drift
        governor.follow(goal, drift)
    np.testing.assert_allclose(governor.q, goal, atol=1e-6)
    np.testing.assert_allclose(governor.dq, drift, atol=1e-6)


def test_moves_keep_the_jerk_and_all_joints_arrive_together():
    tracker = new_tracker()
    robot = shipped_of(tracker)
    q0, goal = tracker.q, moved(pose(tracker), [0.1, 0.05, -0.12])
    tracker.set_limits(MotionLimits.of(robot, acceleration=5.0, jerk=50.0))
    tracker.set_goal(0, goal, 0.0)
    commands = ticks(tracker, 0, 1000)
    assert commands[-1].status is TrackStatus.REACHED
    q = np.array([q0, *(command.q for command in commands)])
    jerk = np.diff(q, 3, axis=0) / PERIOD**3
    assert np.abs(jerk).max() <= 50.0 * (1 + 1e-6) + 1e-3
    moving = np.abs(q[-1] - q0) > 1e-3
    share = (q - q0)[:, moving] / (q[-1] - q0)[moving]
    half = [int(np.argmax(share[:, i] > 0.999)) for i in range(share.shape[1])]
    assert np.ptp(half) <= 20
