# SPDX-License-Identifier: Apache-2.0
"""Linkages: their tips against hand-made forward kinematics, their URDFs, what is refused."""

import functools
import math

import numpy as np
import pytest

import ik_core as ik
from ik_core.robot.linkages import linkage, spring_weights
from ik_core.robot.urdf_text import urdf_text

KINDS = {'hinge': 'z', 'two_angle': 'zy', 'ball': 'zyx'}
LENGTHS = (0.5, 0.3, 0.2)


def turn(axis, angle):
    """The rotation (3, 3) about x, y or z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array({
        'x': [[1, 0, 0], [0, c, -s], [0, s, c]],
        'y': [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        'z': [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }[axis])  # fmt: skip


def tip_by_hand(axes, q, lengths):
    """Products of R T over the rods, as section 3.2 of the coursework has them."""
    angles, at, turned = iter(q), np.zeros(3), np.eye(3)
    for length in lengths:
        turns = [turn(axis, next(angles)) for axis in axes]
        turned = functools.reduce(np.matmul, turns, turned)
        at = at + turned @ [length, 0.0, 0.0]
    return at, turned


@pytest.mark.parametrize('joint', KINDS)
@pytest.mark.parametrize('from_urdf', [False, True])
def test_the_tip_is_where_rotations_and_rods_put_it(joint, from_urdf):
    robot = linkage(3, joint, lengths=LENGTHS)
    if from_urdf:
        robot = ik.load_robot(urdf_text(robot))
    assert robot.n == 3 * len(KINDS[joint])
    assert robot.tips() == ['tip']
    rng = np.random.default_rng(0)
    for q in rng.uniform(-3.0, 3.0, (10, robot.n)):
        at, turned = tip_by_hand(KINDS[joint], q, LENGTHS)
        tip = robot.forward_kinematics(q, 'tip')
        np.testing.assert_allclose(tip[:3, 3], at, atol=1e-12)
        np.testing.assert_allclose(tip[:3, :3], turned, atol=1e-12)


@pytest.mark.parametrize('joint', ['hinge', 'two_angle', 'ball', 'screw'])
def test_rods_of_pieces_bend_between_them(joint):
    robot = linkage(2, joint, lengths=(0.6, 0.3), branches=2, pieces=3)
    straight = linkage(2, joint, lengths=(0.6, 0.3), branches=2)
    for link in ('tip_1', 'tip_2', 'rod_2_1'):
        at, expected = (r.forward_kinematics(np.zeros(r.n), link) for r in (robot, straight))
        np.testing.assert_allclose(at, expected, atol=1e-12)
    bends = [group for group in robot.joint_groups if group.name.startswith('bend_')]
    axes = 1 if joint in ('hinge', 'screw') else 2
    assert [len(group.indices) for group in bends] == [axes] * 2 * 3
    q = np.zeros(robot.n)
    q[[group.indices[0] for group in bends if group.name.startswith('bend_1_')]] = 0.2
    turned = robot.forward_kinematics(q, 'rod_1_3')
    expected = [0.2 * (1 + np.cos(0.2)), 0.2 * np.sin(0.2), 0.0]
    np.testing.assert_allclose(turned[:3, 3], expected, atol=1e-12)


@pytest.mark.parametrize('pieces', [2, 5])
def test_springs_of_a_rod_bend_as_one_however_many_pieces(pieces):
    """Two hinges and a rod of stiffness 3 between them, all under the same moment."""
    robot = linkage(2, 'hinge', pieces=pieces)
    weights = spring_weights(robot, 3.0)
    angles = dict(zip(robot.joint_names, 1.0 / weights, strict=True))
    assert angles['joint_1'] == angles['joint_2'] == 1.0
    bent = sum(angle for name, angle in angles.items() if name.startswith('bend_1_'))
    assert bent == pytest.approx(1.0 / 3.0)
    with pytest.raises(ik.InvalidOption, match='stiffness = 0'):
        spring_weights(robot, 0)


@pytest.mark.parametrize('from_urdf', [False, True])
def test_each_branch_has_a_tip_at_the_end_of_its_rods(from_urdf):
    robot = linkage(3, 'two_angle', lengths=LENGTHS, branches=3)
    if from_urdf:
        robot = ik.load_robot(urdf_text(robot))
    assert robot.tips() == ['tip_1', 'tip_2', 'tip_3']
    assert robot.n == 2 * (2 + 3)  # a trunk of two rods, branches of one
    for k, fan in enumerate(np.radians([-30.0, 0.0, 30.0])):
        q = np.random.default_rng(k).uniform(-3.0, 3.0, robot.n)
        angles = dict(zip(robot.joint_names, q, strict=True))
        at, turned = tip_by_hand('zy', q[:4], LENGTHS[:2])
        turned = turned @ turn('z', fan + angles[f'joint_3_{k + 1}/z'])
        turned = turned @ turn('y', angles[f'joint_3_{k + 1}/y'])
        tip = robot.forward_kinematics(q, f'tip_{k + 1}')[:3, 3]
        np.testing.assert_allclose(tip, at + turned @ [LENGTHS[2], 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(('rods', 'branches'), [(1, 2), (3, 0), (3, 1.5), (3, 101)])
def test_branches_that_can_not_be_are_refused(rods, branches):
    with pytest.raises(ik.exceptions.InvalidOption, match='branches'):
        linkage(rods, branches=branches)


def test_hinges_move_in_a_plane_and_the_others_in_space():
    for joint, flat in (('hinge', True), ('two_angle', False), ('ball', False)):
        robot = linkage(4, joint)
        q = np.random.default_rng(1).uniform(-2.0, 2.0, robot.n)
        assert bool(abs(robot.forward_kinematics(q, 'tip')[2, 3]) < 1e-12) is flat


@pytest.mark.parametrize('joint', KINDS)
def test_limits_and_velocities_are_those_of_every_angle(joint):
    robot = ik.load_robot(urdf_text(linkage(2, joint, limits=(-0.5, 1.25), velocity=3.0)))
    assert set(robot.joint_types) == {'revolute'}
    np.testing.assert_array_equal(robot.lower, -0.5)
    np.testing.assert_array_equal(robot.upper, 1.25)
    np.testing.assert_array_equal(robot.velocity, 3.0)
    assert set(linkage(2, joint).joint_types) == {'continuous'}


@pytest.mark.parametrize('from_urdf', [False, True])
@pytest.mark.parametrize('pitch', [0.25, -0.1, 0.0])
def test_a_screw_turns_and_moves_along_its_axis(pitch, from_urdf):
    robot = linkage(3, 'screw', lengths=LENGTHS, pitch=pitch)
    if from_urdf:
        robot = ik.load_robot(urdf_text(robot))
    assert robot.joint_names == ('joint_1', 'joint_2', 'joint_3')
    assert robot.tips() == [robot.default_tip()] == ['tip']
    for q in np.random.default_rng(0).uniform(-9.0, 9.0, (10, 3)):
        at, turned = tip_by_hand('z', q, LENGTHS)
        at[2] = pitch * q.sum() / (2.0 * math.pi)
        tip = robot.forward_kinematics(q, 'tip')
        np.testing.assert_allclose(tip[:3, 3], at, atol=1e-12)
        np.testing.assert_allclose(tip[:3, :3], turned, atol=1e-12)
        nudge = 1e-6 * np.eye(3)
        places = [
            [robot.forward_kinematics(q + s * d, 'tip')[:3, 3] for d in nudge] for s in (1, -1)
        ]
        rates = (np.array(places[0]) - places[1]).T / 2e-6
        np.testing.assert_allclose(robot.jacobian(q, 'tip')[:3], rates, atol=1e-8)


@pytest.mark.parametrize('seed', range(8))
def test_screws_reach_all_that_others_reached(seed):
    robot = ik.load_robot(urdf_text(linkage(3, 'screw', pitch=0.2)))
    q = np.random.default_rng(seed).uniform(0.3 * robot.lower, 0.3 * robot.upper)
    goal = ik.PositionTask('tip', robot.forward_kinematics(q, 'tip')[:3, 3])
    # Few of the many turns reach a point: with the default restarts 56 of 60 are reached.
    assert ik.solve(ik.IkProblem(robot, [goal]), restarts=1000).success


def test_screws_reach_a_height_by_turns_and_keep_their_limits():
    robot = linkage(3, 'screw', pitch=0.1, limits=(-20.0, 20.0))
    goal = ik.PositionTask('tip', [0.7, 0.4, 0.5])  # five turns in all
    found = ik.solve(ik.IkProblem(robot, [goal]))
    assert found.success
    assert found.q.sum() == pytest.approx(10.0 * math.pi, abs=1e-2)
    assert np.abs(found.q).max() <= 20.0
    too_high = ik.PositionTask('tip', [0.7, 0.4, 0.1 * 60.0 / (2.0 * math.pi) + 0.1])
    assert not ik.solve(ik.IkProblem(robot, [too_high])).success


def with_a_nut(kind):
    """A joint that turns, and a rail that mimics it."""
    along = np.array([0.0, 0.0, 1.0])
    mimic = ik.robot.joints.Mimic('turn', multiplier=0.02)
    joints = [
        ik.robot.Joint('turn', kind, 'base', 'shaft', axis=along),
        ik.robot.Joint('slide', 'prismatic', 'shaft', 'tip', axis=along, mimic=mimic),
    ]
    return ik.Robot.from_joints('nut', ['base', 'shaft', 'tip'], joints)


@pytest.mark.parametrize(
    'robot', [linkage(1, 'screw'), with_a_nut('continuous')], ids=['screw', 'continuous']
)
def test_a_turn_more_is_another_place_where_a_turn_moves_something(robot):
    assert not robot.full_turns.any()
    problem = ik.IkProblem(robot, [ik.PositionTask('tip')])
    limits = ik.MotionLimits.of(robot, velocity=9.0, acceleration=90.0)
    tracker = ik.Tracker(problem, 100.0, limits=limits)
    tracker.move_to([15.0])
    q = [tracker.tick(0.01 * k).q for k in range(300)][-1]
    np.testing.assert_allclose(q, [15.0])


def test_one_length_is_that_of_all_rods():
    robot = linkage(5, lengths=0.25)
    tip = robot.forward_kinematics(np.zeros(5), 'tip')[:3, 3]
    np.testing.assert_allclose(tip, [1.25, 0.0, 0.0])


def test_goals_in_reach_are_reached():
    robot = linkage(3, 'ball', lengths=0.4)
    goal = ik.PositionTask('tip', [0.3, -0.5, 0.4])
    assert ik.solve(ik.IkProblem(robot, [goal])).success


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        ({'rods': 0}, 'rods'),
        ({'rods': 2.5}, 'rods'),
        ({'rods': 10**6}, 'at most 1000'),
        ({'joint': 'rail'}, 'hinge, two_angle, ball, screw'),
        ({'joint': 'screw', 'pitch': math.nan}, 'pitch nan'),
        ({'joint': 'screw', 'pitch': 'fine'}, "pitch 'fine'"),
        ({'lengths': -1.0}, 'positive'),
        ({'lengths': [0.1, math.nan, 0.3]}, 'positive'),
        ({'lengths': [0.1, 0.2]}, '2 lengths for 3 rods'),
        ({'lengths': []}, '0 lengths for 3 rods'),
        ({'limits': (1.0, -1.0)}, 'lower <= upper'),
        ({'limits': (math.nan, 1.0)}, 'lower <= upper'),
        ({'velocity': 0.0}, 'positive'),
    ],
)
def test_what_is_no_linkage_is_refused(arguments, said):
    with pytest.raises(ik.InvalidOption, match=said):
        linkage(**{'rods': 3, **arguments})
