# SPDX-License-Identifier: Apache-2.0
"""Key frames: curves beside scipy's, tips that stay, cycles, files, motions of a person."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation, Slerp
from support import robots

import ik_core as ik
from ik_core.cli.main import main
from ik_core.motion import InvalidMotion, load_motion
from ik_core.retargeting import KeyFrames, human_motion, load_goals
from ik_core.retargeting.example import link_paths
from ik_core.retargeting.human_motions import MOTIONS, relaxed
from ik_core.robot.human_model import human

PANDA = robots.shipped('panda')


def some_poses(count, seed=0, robot=PANDA):
    rng = np.random.default_rng(seed)
    return np.array([robots.random_q(robot, rng) for _ in range(count)])


def ball():
    """A rod on a ball joint."""
    return ik.robot.linkage(1, 'ball', limits=(-1.4, 1.4))


@pytest.mark.parametrize('seed', range(5))
def test_joints_follow_monotone_cubic_curves(seed):
    """Between inner keys at even times these are scipy's, of Fritsch and Butland."""
    times, poses = np.arange(7.0), some_poses(7, seed)
    motion = KeyFrames(PANDA, times, poses).motion(rate=20)
    expected = PchipInterpolator(times, poses)(0.05 * np.arange(121))
    np.testing.assert_allclose(motion.positions[20:101], expected[20:101], atol=1e-12)
    np.testing.assert_allclose(motion.positions[::20], poses, atol=1e-12)


@pytest.mark.parametrize('seed', range(5))
def test_joints_stay_between_their_keys_and_begin_and_end_at_rest(seed):
    times = np.cumsum(np.random.default_rng(seed).uniform(0.1, 1.0, 6))
    poses = some_poses(6, seed)
    motion = KeyFrames(PANDA, times, poses).motion(rate=500)
    at = times[0] + np.arange(len(motion)) / 500
    before = np.clip(np.searchsorted(times, at, side='right') - 1, 0, 4)
    low, high = np.sort([poses[before], poses[before + 1]], axis=0)
    assert (motion.positions >= low - 1e-12).all()
    assert (motion.positions <= high + 1e-12).all()
    speeds = np.abs(np.diff(motion.positions, axis=0)) * 500
    assert speeds[0].max() < 0.05 * speeds.max()


def test_equal_poses_hold_still():
    poses = some_poses(4)
    poses[2] = poses[1]
    motion = KeyFrames(PANDA, [0, 1, 2, 3], poses).motion(rate=50)
    np.testing.assert_allclose(motion.positions[50:101], np.tile(poses[1], (51, 1)), atol=1e-12)


def test_a_ball_joint_turns_on_the_shortest_way():
    """By spherical linear interpolation; the mean of the angles is another rotation."""
    robot = ball()
    poses = np.array([[-1.2, 0.9, 0.3], [1.1, -0.8, 1.0]])
    middle = KeyFrames(robot, [0, 1], poses).motion(rate=2).positions[1]
    expected = Slerp([0, 1], Rotation.from_euler('ZYX', poses))(0.5)
    off = expected.inv() * Rotation.from_euler('ZYX', middle)
    assert off.magnitude() < 1e-9
    assert np.abs(middle - poses.mean(axis=0)).max() > 0.05
    # on the way all rotations are about the same axis
    many = Rotation.from_euler('ZYX', KeyFrames(robot, [0, 1], poses).motion(30).positions)
    ways = (many[0].inv() * many[1:]).as_rotvec()
    axes = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    assert np.abs(axes - axes[0]).max() < 1e-6


def test_speeds_of_a_ball_joint_are_continuous():
    robot = ball()
    poses = np.random.default_rng(3).uniform(-0.7, 0.7, (6, 3))
    frames = KeyFrames(robot, np.arange(6.0), poses)
    changes = []
    for rate in (100, 400):
        turned = Rotation.from_euler('ZYX', frames.motion(rate).positions)
        speeds = (turned[:-1].inv() * turned[1:]).as_rotvec() * rate
        changes.append(np.abs(np.diff(speeds, axis=0)).max())
    assert changes[1] < 0.3 * changes[0]


def test_angles_that_would_leave_their_limits_are_interpolated_one_by_one():
    robot = ik.robot.linkage(1, 'ball', limits=(-1.0, 1.0))
    rng = np.random.default_rng(0)
    for _ in range(50):
        poses = rng.choice([-1.0, 1.0], (3, 3)) * rng.uniform(0.9, 1.0, (3, 3))
        motion = KeyFrames(robot, [0, 1, 2], poses).motion(rate=40)
        assert (np.abs(motion.positions) <= 1.0).all()
        np.testing.assert_allclose(motion.positions[::40], poses, atol=1e-6)


def test_a_tip_that_is_at_one_place_stays_there():
    """The elbow swings, the tip does not move: joints alone would move it by centimetres."""
    rng = np.random.default_rng(4)
    tip = robots.tip_of(PANDA)
    first = robots.random_q(PANDA, rng, margin=0.3)
    place = PANDA.forward_kinematics(first, tip)[:3, 3]
    rest = ik.PostureTask(first + 0.5)
    problem = ik.IkProblem(PANDA, [ik.PositionTask(tip, place)], secondary=[rest])
    second = ik.solve(problem, first).q
    assert np.abs(second - first).max() > 0.2
    for tips, allowed in (((), None), ((tip,), 1e-4)):
        motion = KeyFrames(PANDA, [0, 1], [first, second], tips=tips).motion()
        off = np.linalg.norm(link_paths(PANDA, motion.positions, [tip])[:, 0] - place, axis=1)
        assert off.max() < allowed if allowed else off.max() > 2e-3
        np.testing.assert_allclose(motion.positions[[0, -1]], [first, second], atol=1e-3)


def test_a_cycle_goes_on_as_it_ends():
    poses = some_poses(5, 2)
    poses[-1] = poses[0]
    positions = KeyFrames(PANDA, np.arange(5.0), poses, closed=True).motion(1000).positions
    last, first = positions[-1] - positions[-2], positions[1] - positions[0]
    np.testing.assert_allclose(1000 * last, 1000 * first, atol=0.02)
    with pytest.raises(InvalidMotion, match='last pose that is its first'):
        KeyFrames(PANDA, np.arange(4.0), poses[:-1], closed=True)


def test_poses_are_saved_and_loaded(tmp_path):
    frames = KeyFrames(PANDA, [0, 0.3, 1], some_poses(3))
    frames.save(tmp_path / 'poses.csv')
    again = KeyFrames.load(tmp_path / 'poses.csv', PANDA)
    np.testing.assert_array_equal(again.poses, frames.poses)
    np.testing.assert_array_equal(again.times, frames.times)
    with pytest.raises(InvalidMotion, match="joints of 'ur5e'"):
        KeyFrames.load(tmp_path / 'poses.csv', robots.shipped('ur5e'))


@pytest.mark.parametrize(('times', 'poses', 'said'), [
    ([0], some_poses(1), 'two at least'),
    ([0, 0], some_poses(2), 'do not rise'),
    ([0, np.nan], some_poses(2), 'finite'),
    ([0, 1, 2], some_poses(2), '3 times are given for 2 poses'),
    ([0, 1], some_poses(2) + 9.0, 'breaks the limits'),
])  # fmt: skip
def test_impossible_key_frames_are_refused(times, poses, said):
    with pytest.raises(InvalidMotion, match=said):
        KeyFrames(PANDA, times, poses)


@pytest.mark.parametrize('rate', [0, -1, np.nan, 1e12, 'fast'])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(InvalidMotion, match='rate'):
        KeyFrames(PANDA, [0, 1], some_poses(2)).motion(rate)


# --- goals ---------------------------------------------------------------------------------------


def test_person_from_a_file_moves_as_one_from_the_library():
    """Its ball joints turn on the shortest way, too."""
    poses = np.zeros((2, 71))
    library, file = human(), ik.load_robot('human')
    angles = {'left_shoulder/y': -1.4, 'left_shoulder/x': 1.2, 'left_hip/z': 0.6}
    poses[1] = library.q(angles, poses[0])
    expected, found = (KeyFrames(r, [0, 1], poses).motion(8).positions for r in (library, file))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    straight = np.linspace(*poses, 9)
    assert np.abs(expected - straight).max() > 0.1


def test_goals_bring_links_to_their_places_and_keep_near_the_posture():
    tip, rest = robots.tip_of(PANDA), PANDA.middle_configuration
    path = np.array([[0.4, 0.2, 0.5], [0.5, -0.2, 0.4], [0.4, 0.2, 0.5]])
    frames = KeyFrames.from_goals(PANDA, {tip: ([0, 1, 3], path)}, rest=rest, closed=True)
    reached = link_paths(PANDA, frames.poses, [tip])[:, 0]
    np.testing.assert_allclose(reached, path, atol=1e-3)
    motion = frames.motion(30)
    expected = frames.goal_paths(np.arange(len(motion)) / 30)[:, 0]
    np.testing.assert_allclose(
        link_paths(PANDA, motion.positions, [tip])[:, 0], expected, atol=1e-3
    )
    bare = ik.solve(ik.IkProblem(PANDA, [ik.PositionTask(tip, path[1])]), frames.poses[0]).q
    assert np.linalg.norm(frames.poses[1] - rest) < np.linalg.norm(bare - rest)


def test_a_cycle_that_starts_from_rest_begins_where_it_ends():
    """Beside rest the elbow bends one way, after the stretched pose of the cycle the other way."""
    arm = ik.robot.linkage(2, 'hinge', lengths=0.4, limits=(-2.5, 2.5))
    path = [(0.54, 0.3, 0), (0.79, -0.09, 0), (0.27, 0.53, 0), (0.22, 0.77, 0), (0.54, 0.3, 0)]
    goals = {'tip': (np.arange(5.0), np.array(path))}
    there = KeyFrames.from_goals(arm, goals).poses
    assert np.abs(there[0] - there[-1]).max() > 2.0
    cycle = KeyFrames.from_goals(arm, goals, closed=True)
    np.testing.assert_array_equal(cycle.poses[0], cycle.poses[-1])
    np.testing.assert_allclose(cycle.poses[0], there[-1], atol=1e-6)
    positions = cycle.motion(2000).positions
    np.testing.assert_array_equal(positions[0], positions[-1])
    last, first = positions[-1] - positions[-2], positions[1] - positions[0]
    np.testing.assert_allclose(2000 * last, 2000 * first, atol=0.02)


def rotated(times, keys, by):
    """The times and keys of the same cycle, begun at the key `by`."""
    spans = np.roll(np.diff(times), -by)
    return np.cumsum([0.0, *spans]), np.concatenate([keys[by:-1], keys[: by + 1]])


@pytest.mark.parametrize('by', [1, 2, 3])
@pytest.mark.parametrize('tips', [(), (robots.tip_of(PANDA),)])
def test_a_cycle_of_poses_is_the_same_from_whichever_key_it_begins(tips, by):
    times, poses = np.array([0.0, 1.0, 1.5, 3.0, 4.0]), some_poses(5, 2)
    poses[-1] = poses[0]
    there = KeyFrames(PANDA, times, poses, tips=tips, closed=True).motion(50)
    cycle = KeyFrames(PANDA, *rotated(times, poses, by), tips=tips, closed=True).motion(50)
    expected = np.roll(there.positions[:-1], -round(50 * times[by]), axis=0)
    np.testing.assert_allclose(cycle.positions[:-1], expected, atol=1e-9)


@pytest.mark.parametrize('by', [1, 2, 3])
def test_a_cycle_of_goals_is_the_same_from_whichever_key_it_begins(by):
    """Begun at its second key, all of it could be found with the elbow bent as beside rest."""
    arm = ik.robot.linkage(2, 'hinge', lengths=0.4, limits=(-2.5, 2.5))
    path = [(0.54, 0.3, 0), (0.79, -0.09, 0), (0.27, 0.53, 0), (0.22, 0.77, 0), (0.54, 0.3, 0)]
    times, path = np.array([0.0, 1.0, 1.5, 3.0, 4.0]), np.array(path)
    there = KeyFrames.from_goals(arm, {'tip': (times, path)}, closed=True)
    cycle = KeyFrames.from_goals(arm, {'tip': rotated(times, path, by)}, closed=True)
    _, poses = rotated(times, there.poses, by)
    np.testing.assert_allclose(cycle.poses, poses, atol=1e-9)
    expected = np.roll(there.motion(50).positions[:-1], -round(50 * times[by]), axis=0)
    np.testing.assert_allclose(cycle.motion(50).positions[:-1], expected, atol=1e-9)


def test_a_goal_out_of_reach_is_named():
    with pytest.raises(InvalidMotion, match=r'key at 1 s: panda_hand_tcp ends [0-9.]+ cm'):
        KeyFrames.from_goals(PANDA, {'panda_hand_tcp': ([0, 1], [[0.4, 0, 0.4], [4, 0, 0]])})


@pytest.mark.parametrize(('text', 'said'), [
    ('', 'line 1'),
    ('time,x\n', 'line 1'),
    ('time,link,x,y,z\n0,hand,1,2\n', 'line 2'),
    ('time,link,x,y,z\n0,hand,1,2,3\n1,hand,1,2,nan\n', 'line 3'),
])  # fmt: skip
def test_damaged_files_of_goals_are_refused(tmp_path, text, said):
    file = tmp_path / 'goals.csv'
    file.write_text(text)
    with pytest.raises(InvalidMotion, match=said):
        load_goals(file)
    with pytest.raises(InvalidMotion, match="can't read"):
        load_goals(tmp_path / 'none.csv')


# --- a person ------------------------------------------------------------------------------------


@pytest.mark.parametrize('name', MOTIONS)
def test_the_motions_of_a_person_follow_their_keys(name):
    """No goal is off by more than 1 cm, all limits are kept, and no speed jumps."""
    frames = human_motion(name, 1.6)
    robot, rate = frames.robot, 480
    motion = frames.motion(rate)
    paths = link_paths(robot, motion.positions, frames.tips)
    goals = frames.goal_paths(np.arange(len(motion)) / rate)
    assert np.linalg.norm(paths - goals, axis=2).max() < 0.01
    assert (motion.positions >= robot.lower).all()
    assert (motion.positions <= robot.upper).all()
    speeds = np.abs(np.diff(motion.positions, axis=0)) * rate
    assert (speeds <= robot.velocity * (1 + 1e-3)).all()
    changes = []
    for rate in (1000, 16000):
        speeds = np.diff(frames.motion(rate).positions, axis=0) * rate
        changes.append(np.abs(np.diff(speeds, axis=0)).max())
    assert changes[1] < 0.15 * changes[0]
    assert not MOTIONS[name] or np.abs(motion[0] - motion[-1]).max() < 0.1


def test_speeds_are_continuous_where_a_joint_meets_its_limit():
    """The tip goes on while the second joint stays at its limit."""
    arm, most = ik.robot.linkage(3, 'hinge', lengths=0.4), np.array([3.0, 0.5, 3.0])
    arm = replace(arm, lower=-most, upper=most)
    goals = {'tip': ([0, 1, 2], [[1.1, 0.1, 0.0], [0.5, 0.9, 0.0], [-0.2, 1.1, 0.0]])}
    frames = KeyFrames.from_goals(arm, goals)
    positions = frames.motion(200).positions
    is_at_limit = np.isclose(np.abs(positions[:, 1]), 0.5, atol=1e-9)
    assert 0.1 < is_at_limit.mean() < 0.9
    changes = []
    for rate in (1000, 16000):
        speeds = np.diff(frames.motion(rate).positions, axis=0) * rate
        changes.append(np.abs(np.diff(speeds, axis=0)).max())
    assert changes[1] < 0.15 * changes[0]
    reached = link_paths(arm, positions, ['tip'])
    wanted = frames.goal_paths(np.arange(len(positions)) / 200)
    assert np.linalg.norm(reached - wanted, axis=2).max() < 1e-3


@pytest.mark.parametrize('tips', [(), (robots.tip_of(PANDA),)])
def test_spans_are_stretched_where_joints_are_faster_than_asked(tips):
    times, middle = np.array([0.0, 0.5, 3.5, 4.0]), PANDA.middle_configuration
    poses = middle + 0.3 * (some_poses(4, 3) - middle)
    frames = KeyFrames(PANDA, times, poses, tips=tips)
    slow = frames.within(1.2)
    np.testing.assert_array_equal(slow.poses, poses)
    longer = np.diff(slow.times) / np.diff(times)
    assert (longer >= 1.0).all()
    assert longer[0] > 2.0 * longer[1]
    speeds = np.abs(np.diff(slow.motion(500).positions, axis=0)) * 500
    assert 1.1 < speeds.max() <= 1.2 * (1 + 1e-3)
    assert slow.within(1.3) is slow
    assert slow.tips == frames.tips
    with pytest.raises(ik.InvalidOption, match='velocity = -1'):
        frames.within(-1)


def test_a_jump_has_eleven_key_frames_and_leaves_the_floor():
    """As Fig. 6 of [EngellErleben2011] has."""
    frames = human_motion('jump')
    assert len(frames.times) == 11
    feet = [f'{side}_{part}' for side in ('left', 'right') for part in ('heel', 'toe_tips')]
    lowest = link_paths(frames.robot, frames.motion().positions, feet)[:, :, 2].min(axis=1)
    assert lowest.max() > 0.25
    assert lowest.min() > -0.01


def test_feet_that_stand_do_not_slide():
    frames = human_motion('reach')
    heels = link_paths(frames.robot, frames.motion().positions, ['left_heel', 'right_heel'])
    assert np.ptp(heels, axis=0).max() < 1e-3


def test_the_relaxed_posture_is_alike_on_both_sides():
    robot = human(1.7)
    left, right = (robot.forward_kinematics(relaxed(robot), f'{side}_fingertips')[:3, 3]
                   for side in ('left', 'right'))  # fmt: skip
    np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-12)


def test_a_motion_is_written_by_one_command(tmp_path, capsys):
    file = tmp_path / 'run.csv'
    assert main(['human', '--motion', 'run', '--rate', '30', '--out', str(file)]) == 0
    motion = load_motion(file)
    robot = ik.load_robot('human', floating_base=True)
    assert set(robot.joint_names) == set(motion.joint_names)
    assert motion.rate == pytest.approx(30)
    assert main(['human', '--motion', 'run']) == 2
    assert '--out' in capsys.readouterr().err
    with pytest.raises(ik.InvalidOption, match='one of reach'):
        human_motion('fly')
