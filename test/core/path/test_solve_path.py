# SPDX-License-Identifier: Apache-2.0
"""Motions along paths of poses, judged by the robot's forward kinematics and by differences."""

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation
from support.robots import shipped

import ik_core as ik
from ik_core.path import PathReason, solve_path

KEEP = 1e-4, 1e-3
RATES = {'velocity': 2.0, 'acceleration': 5.0, 'jerk': 100.0}


def problem_of(name, **options):
    robot = shipped(name)
    return ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())], **options)


def smooth_poses(problem, seed, count=60, size=0.3):
    """Poses of a smooth motion inside the limits, and its configurations."""
    rng, columns = np.random.default_rng(seed), problem.variables
    lower, upper = problem.limits.lower, problem.limits.upper
    while True:
        middle = lower + (upper - lower) * rng.uniform(0.3, 0.7, len(columns))
        knots = middle + rng.normal(scale=size, size=(5, len(columns)))
        q = np.tile(problem.default_configuration, (count, 1))
        q[:, columns] = CubicSpline(np.linspace(0, 1, 5), knots)(np.linspace(0, 1, count))
        link = problem.goals[0].link
        jacobians = problem.robot.jacobian(q, link)[:, :, columns]
        values = np.linalg.svd(jacobians, compute_uv=False)
        inside = (q[:, columns] > lower + 0.05) & (q[:, columns] < upper - 0.05)
        if inside.all() and values[:, 5].min() > 0.03:
            return np.asarray(problem.robot.forward_kinematics(q, link)), q


def deviations(problem, result, poses, period):
    """Largest distance and angle of a motion from the lines and slerp between poses."""
    tips = problem.robot.forward_kinematics(result.motion.positions, problem.goals[0].link)
    moments = period * np.arange(len(tips))
    i = np.clip(np.searchsorted(result.pose_times, moments, 'right') - 1, 0, len(poses) - 2)
    worst = [0.0, 0.0]
    for tip, a, b in zip(tips, poses[i], poses[i + 1], strict=True):
        line = b[:3, 3] - a[:3, 3]
        part = np.clip((tip[:3, 3] - a[:3, 3]) @ line / max(line @ line, 1e-30), 0.0, 1.0)
        worst[0] = max(worst[0], np.linalg.norm(tip[:3, 3] - a[:3, 3] - part * line))
        first = Rotation.from_matrix(a[:3, :3])
        turn = (first.inv() * Rotation.from_matrix(b[:3, :3])).as_rotvec()
        own = first.inv() * Rotation.from_matrix(tip[:3, :3])
        part = np.clip(own.as_rotvec() @ turn / max(turn @ turn, 1e-30), 0.0, 1.0)
        worst[1] = max(worst[1], (Rotation.from_rotvec(part * turn).inv() * own).magnitude())
    return worst


def uses(motion, limits):
    """Largest differences of orders one to three over their limits."""
    found = []
    for k, name in enumerate(RATES, 1):
        steps = np.abs(np.diff(motion.positions, k, axis=0)).max(axis=0) / motion.period**k
        found.append(float((steps / getattr(limits, name)).max()))
    return found


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name', ['ur5e', 'panda', 'iiwa14'])
def test_motion_stays_on_its_path_and_keeps_all_limits(name, seed):
    problem = problem_of(name)
    poses, _ = smooth_poses(problem, seed)
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    result = solve_path(problem, poses, limits=limits, period=0.002)
    assert result.success, result.message
    assert result.reason is PathReason.DONE
    position, orientation = deviations(problem, result, poses, 0.002)
    assert position <= result.deviation[0] + 1e-9 <= KEEP[0] + 2e-9
    assert orientation <= result.deviation[1] + 1e-7 <= KEEP[1] + 2e-7
    assert max(uses(result.motion, limits)) <= 1.001
    q = result.motion.positions[:, problem.variables]
    assert (q >= problem.limits.lower).all()
    assert (q <= problem.limits.upper).all()
    assert np.abs(np.diff(result.q, axis=0)).max() < 0.5
    for pose, here in zip(poses, result.q, strict=True):
        tip = problem.robot.forward_kinematics(here, problem.goals[0].link)
        np.testing.assert_allclose(tip, pose, atol=1e-6)
    assert math.isclose(result.pose_times[-1], result.motion.duration, rel_tol=1e-9)


def corner_poses(problem):
    """Two lines of 0.1 m with a corner of 30 degrees between them."""
    start = problem.robot.forward_kinematics([0.3, -1.2, 1.4, -1.8, -1.5, 0.2], 'tool0')
    poses = np.tile(start, (3, 1, 1))
    poses[1, 0, 3] += 0.1
    poses[2, :2, 3] += 0.1 + 0.1 * math.sqrt(0.75), 0.05
    return poses


def test_corner_is_rounded_within_what_is_allowed_or_stopped_at():
    problem = problem_of('ur5e')
    poses, durations = corner_poses(problem), []
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    for keep, stops in ((1e-3, False), (1e-4, True)):
        within = (keep, 0.05)
        result = solve_path(problem, poses, limits=limits, keep_within=within, period=0.001)
        assert result.success, result.message
        assert deviations(problem, result, poses, 0.001)[0] <= keep
        assert max(uses(result.motion, limits)) <= 1.001
        speeds = np.abs(np.diff(result.motion.positions, axis=0)).max(axis=1) / 0.001
        slowest = speeds[100:-100].min()
        assert (slowest < 1e-3) == stops
        at_corner = result.motion[round(result.pose_times[1] / 0.001)]
        gap = problem.robot.forward_kinematics(at_corner, 'tool0')[:3, 3] - poses[1, :3, 3]
        assert (np.linalg.norm(gap) < 1e-6) == stops
        durations.append(result.motion.duration)
    assert durations[0] < 0.9 * durations[1]


def test_way_back_takes_as_long_as_the_way():
    problem = problem_of('ur5e')
    poses = corner_poses(problem)
    once = solve_path(problem, poses[:2], period=0.001)
    both = solve_path(problem, poses[[0, 1, 0]], period=0.001, q0=once.motion[0])
    assert both.motion.duration == pytest.approx(2.0 * once.motion.duration, rel=0.02)


def test_path_begins_and_ends_in_given_configurations():
    problem = problem_of('ur5e')
    poses, q = smooth_poses(problem, 3)
    for candidate in ik.solve_all(with_target(problem, poses[0])):
        result = solve_path(problem, poses, q0=candidate)
        if result.success:
            np.testing.assert_allclose(result.motion[0], candidate, atol=1e-9)
    result = solve_path(problem, poses, q0=q[0], end=q[-1])
    np.testing.assert_allclose(result.motion[0], q[0], atol=1e-9)
    np.testing.assert_allclose(result.motion[-1], q[-1], atol=1e-6)


def test_end_on_another_branch_needs_a_reconfiguration():
    problem = problem_of('ur5e')
    poses, q = smooth_poses(problem, 3)
    others = ik.solve_all(with_target(problem, poses[-1]), q[-1])
    result = solve_path(problem, poses, q0=q[0], end=others[1])
    assert result.reason is PathReason.RECONFIGURATION
    assert len(result.reconfigurations) == 1


def with_target(problem, pose):
    problem.goals[0].set_target(pose)
    return problem


def test_start_away_from_the_path_is_noted():
    problem = problem_of('ur5e')
    poses, q = smooth_poses(problem, 3)
    away = q[0] + np.array([0.05, 0.0, 0.0, 0.0, 0.0, 0.0])
    result = solve_path(problem, poses, q0=away)
    assert 'away from the first pose' in result.note
    np.testing.assert_allclose(result.motion[0], q[0], atol=1e-6)


def test_pose_out_of_reach_is_named_with_its_distance():
    problem = problem_of('ur5e')
    poses = np.tile(
        problem.robot.forward_kinematics([0, -1.2, 1.4, -1.8, -1.5, 0], 'tool0'), (9, 1, 1)
    )
    poses[:, 0, 3] = np.linspace(-0.5, -1.5, 9)
    result = solve_path(problem, poses)
    assert result.reason is PathReason.OUT_OF_REACH
    first, last = result.interval
    with_target(problem, poses[math.floor(first)])
    assert len(ik.solve_all(problem))
    with_target(problem, poses[math.ceil(first)])
    assert not len(ik.solve_all(problem))
    assert last == 8.0
    assert 0.0 < result.fraction < 1.0
    miss = ik.solve(with_target(problem, poses[-1])).position_errors[0]
    said = float(result.message.split('out of reach by ')[1].split()[0]) * 1e-3
    assert math.isclose(said, miss, rel_tol=0.05)


@pytest.mark.parametrize('corners', [1, 2, 4])
def test_part_up_to_the_end_of_the_reach_counts_sharp_corners_too(corners):
    problem = problem_of('ur5e')
    start = problem.robot.forward_kinematics([0.3, -1.2, 1.4, -1.8, -1.5, 0.2], 'tool0')
    poses = np.tile(start, (2 + corners, 1, 1))
    poses[1::2, 1, 3] += 0.05  # there and back, then out of reach
    poses[-1, :3, 3] = start[:3, 3] + np.array([-2.0, 0.0, 0.0])
    result = solve_path(problem, poses)
    assert result.reason is PathReason.OUT_OF_REACH
    assert corners <= result.interval[0] < corners + 1
    assert 0.0 < result.fraction < 1.0


def test_joint_limit_is_named():
    robot = shipped('ur5e')
    poses, q = smooth_poses(ik.IkProblem(robot, [ik.PoseTask('tool0')]), 3)
    lower, upper = robot.lower.copy(), robot.upper.copy()
    pan = q[:, 0]
    assert pan[-1] > pan[0] + 0.2
    lower[0], upper[0] = pan.min() - 0.1, 0.5 * (pan[0] + pan[-1])
    narrow = ik.IkProblem(robot, [ik.PoseTask('tool0')], lower=lower, upper=upper)
    result = solve_path(narrow, poses)
    assert result.reason is PathReason.JOINT_LIMIT
    assert f'{robot.joint_names[0]} is beyond its limits in all' in result.message
    first = int(np.argmax(pan > upper[0]))
    assert first - 1 <= result.interval[0] <= first
    assert result.fraction == pytest.approx(first / len(poses), abs=0.1)


def test_too_short_times_name_the_pose_and_the_factor():
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 4)
    limits = ik.MotionLimits.of(problem.robot, velocity=1.0)
    slow = solve_path(problem, poses, times=np.linspace(0.0, 60.0, len(poses)), limits=limits)
    assert slow.success
    assert math.isclose(slow.motion.duration, 60.0, abs_tol=0.011)
    np.testing.assert_allclose(slow.pose_times, np.linspace(0.0, 60.0, len(poses)), atol=1e-6)
    speed = np.abs(np.diff(slow.motion.positions, axis=0)).max() / slow.motion.period
    fast = solve_path(problem, poses, times=np.linspace(0.0, 60.0 * speed / 2.0, len(poses)),
                      limits=limits)  # fmt: skip
    assert fast.reason is PathReason.TOO_FAST
    assert float(fast.message.split(' ')[0]) == pytest.approx(2.0, rel=0.06)


def test_free_axis_is_used():
    robot = shipped('ur5e')
    goal = ik.PoseTask('tool0', orientation_weights=[1.0, 1.0, 0.0])
    problem = ik.IkProblem(robot, [goal])
    poses, _ = smooth_poses(ik.IkProblem(robot, [ik.PoseTask('tool0')]), 5, count=20, size=0.1)
    result = solve_path(problem, poses)
    assert result.success, result.message
    with_pose = solve_path(ik.IkProblem(robot, [ik.PoseTask('tool0')]), poses)
    assert result.motion.duration <= 1.05 * with_pose.motion.duration


def test_assumed_limits_are_noted():
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 3)
    result = solve_path(problem, poses)
    assert 'acceleration limit of shoulder_pan_joint' in result.note
    limits = ik.MotionLimits.of(problem.robot, **RATES)
    assert solve_path(problem, poses, limits=limits).note == ''


def test_answers_are_the_same_each_time():
    problem = problem_of('panda')
    poses, _ = smooth_poses(problem, 1, count=20)
    one, two = (solve_path(problem, poses).motion.positions for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_problem_keeps_its_target():
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 3)
    with_target(problem, poses[7])
    solve_path(problem, poses)
    np.testing.assert_array_equal(problem.goals[0].transform, poses[7])


@pytest.mark.parametrize(
    ('options', 'error', 'text'),
    [
        ({'keep_within': 0.1}, ik.InvalidOption, 'a distance .* and an angle'),
        ({'keep_within': (-1.0, 1.0)}, ik.InvalidOption, '1e-7 or more'),
        ({'period': 0.0}, ik.InvalidOption, 'period = 0.0'),
        ({'tip_speed': -1.0}, ik.InvalidOption, 'tip_speed = -1.0'),
        ({'limits': 3}, ik.InvalidOption, 'MotionLimits are needed'),
        ({'q0': [0.0]}, ik.InvalidConfiguration, 'q0'),
        ({'end': np.zeros(6)}, ik.InvalidConfiguration, 'end misses the last pose by'),
        ({'times': [1.0, 0.0]}, ik.InvalidOption, 'times have'),
    ],
)
def test_bad_options_are_refused(options, error, text):
    problem = problem_of('ur5e')
    poses, _ = smooth_poses(problem, 3)
    with pytest.raises(error, match=text):
        solve_path(problem, poses, **options)


def test_problems_of_another_kind_are_refused():
    robot = shipped('ur5e')
    goal = ik.PoseTask('tool0')
    poses = np.tile(np.eye(4), (2, 1, 1))
    other = ik.PositionTask('forearm_link', position=[0.0, 0.0, 0.5])
    for tasks, secondary in (([goal, other], ()), ([goal, ik.PostureTask(np.zeros(6))], ()),
                             ([goal], [ik.PostureTask(np.zeros(6))])):  # fmt: skip
        with pytest.raises(ik.UnsupportedProblem, match='a path'):
            solve_path(ik.IkProblem(robot, tasks, secondary=secondary), poses)
