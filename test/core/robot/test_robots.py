# SPDX-License-Identifier: Apache-2.0
"""The shipped robots: their kinematics against the tables they come from, and pinocchio."""

import importlib.metadata
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from support.places import URDF

from ik_core.robot import load_robot

PATHS = sorted(URDF.glob('*.urdf'))
JOINTS_AND_TIPS = {
    'arm5': (5, ['tip']),
    'buss_double_y': (16, ['tip_right_low', 'tip_right_high', 'tip_left_low', 'tip_left_high']),
    'buss_y': (7, ['tip_right', 'tip_left']),
    'chains5': (16, [f'chain_{n}_tip' for n in (6, 5, 4, 3, 2)]),
    'dual_arm': (15, ['left_palm', 'right_palm']),
    'human': (
        71,
        ['left_fingertips', 'right_fingertips', 'head_top', 'left_toe_tips', 'right_toe_tips'],
    ),
    'iiwa14': (7, ['iiwa_link_ee']),
    'panda': (8, ['panda_hand_tcp']),
    'pr2_like': (8, ['r_gripper_tool_frame']),
    'scara': (4, ['tool']),
    'so101_like': (6, ['gripper_frame_link']),
    'two_so101_like': (12, ['right_gripper_frame_link', 'left_gripper_frame_link']),
    'ur5e': (6, ['tool0']),
}
each_robot = pytest.mark.parametrize('path', PATHS, ids=lambda path: path.stem)


def shipped(name):
    return load_robot(URDF / f'{name}.urdf')


def random_configurations(robot, count=20, seed=1):
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (count, robot.n))


def example_robot(name):
    """The path of a URDF of example-robot-data."""
    pytest.importorskip('pinocchio')
    try:
        files = importlib.metadata.files('example_robot_data') or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip('example-robot-data is not installed')
    return next(file.locate() for file in files if file.name == name)


# --- all of them -----------------------------------------------------------------------------


def test_these_robots_are_shipped():
    assert [path.stem for path in PATHS] == sorted(JOINTS_AND_TIPS)


@each_robot
def test_loads_silently_and_without_warnings(path, capfd):
    robot = load_robot(path)
    assert capfd.readouterr() == ('', '')
    assert robot.warnings == ()
    assert robot.name == path.stem
    assert np.isfinite(robot.velocity).all()


@each_robot
def test_joints_and_end_effectors_are_those_documented(path):
    robot = load_robot(path)
    count, tips = JOINTS_AND_TIPS[path.stem]
    assert robot.n == count
    assert robot.tips() == tips
    comment = path.read_text().partition('-->')[0]
    documented = re.search(r'End effectors?: (.*)', comment, re.DOTALL).group(1)
    assert all(tip in documented for tip in tips)
    assert 'Units: m, rad, s' in comment


@each_robot
def test_poses_agree_with_pinocchio(path):
    oracle = pytest.importorskip('support.pinocchio_oracle')
    assert oracle.worst_difference(load_robot(path), oracle.load(path), seed=2) < 1e-9


@each_robot
def test_can_be_looked_at(path):
    """Every moving link but a bare joint of several has a shape, in a colour that is defined."""
    robot = ElementTree.parse(path).getroot()
    colours = {material.get('name') for material in robot.findall('material')}
    used = {material.get('name') for material in robot.iterfind('link/visual/material')}
    assert used == colours
    moving = {
        joint.find('child').get('link')
        for joint in robot.findall('joint')
        if joint.get('type') != 'fixed'
    }
    for link in robot.findall('link'):
        if link.get('name') in moving and '/' not in link.get('name'):
            assert link.findall('visual'), link.get('name')
    sizes = [
        float(number)
        for shape in robot.iterfind('link/visual/geometry/*')
        if shape.tag != 'mesh'  # test_robot_meshes.py
        for value in shape.attrib.values()
        for number in value.split()
    ]
    assert all(0.001 < size < 2.0 for size in sizes)


# --- Denavit-Hartenberg tables -----------------------------------------------------------------


def transform(rotation=None, translation=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3] = np.eye(3) if rotation is None else rotation
    pose[:3, 3] = translation
    return pose


def about_x(angle):
    c, s = math.cos(angle), math.sin(angle)
    return transform([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_z(angle):
    c, s = math.cos(angle), math.sin(angle)
    return transform([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def standard_dh(table, q):
    """Rows (d, a, alpha): turn about z by q, shift d along z, a along x, turn about x by alpha."""
    pose = np.eye(4)
    for (d, a, alpha), angle in zip(table, q, strict=True):
        pose = pose @ about_z(angle) @ transform(translation=(a, 0, d)) @ about_x(alpha)
    return pose


def craig_dh(table, q):
    """Rows (a, d, alpha): shift a along x, turn about x by alpha, then d along z and q about z."""
    pose = np.eye(4)
    for (a, d, alpha), angle in zip(table, q, strict=True):
        pose = pose @ transform(translation=(a, 0, 0)) @ about_x(alpha)
        pose = pose @ transform(translation=(0, 0, d)) @ about_z(angle)
    return pose


def test_panda_is_its_dh_table():
    right = math.pi / 2
    table = [
        (0, 0.333, 0),
        (0, 0, -right),
        (0, 0.316, right),
        (0.0825, 0, right),
        (-0.0825, 0.384, -right),
        (0, 0, right),
        (0.088, 0, right),
    ]
    robot = shipped('panda')
    for q in random_configurations(robot):
        flange = craig_dh(table, q[:7]) @ transform(translation=(0, 0, 0.107))
        tcp = flange @ about_z(-math.pi / 4) @ transform(translation=(0, 0, 0.1034))
        assert np.abs(robot.forward_kinematics(q, 'panda_link8') - flange).max() < 1e-12
        assert np.abs(robot.forward_kinematics(q, 'panda_hand_tcp') - tcp).max() < 1e-12


def test_panda_limits_are_the_data_sheets():
    robot = shipped('panda')
    lower = [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973, 0]
    upper = [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973, 0.04]
    np.testing.assert_array_equal(robot.lower, lower)
    np.testing.assert_array_equal(robot.upper, upper)
    np.testing.assert_array_equal(robot.velocity, [2.175] * 4 + [2.61] * 3 + [0.05])


def test_panda_fingers_open_as_mirror_images():
    robot = shipped('panda')
    q = robot.middle_configuration
    q[7] = 0.03
    assert robot.joint_values(q)['panda_finger_joint2'] == 0.03
    left = robot.forward_kinematics(q, 'panda_leftfinger', 'panda_hand')
    right = robot.forward_kinematics(q, 'panda_rightfinger', 'panda_hand')
    np.testing.assert_allclose(left[:3, 3], [0, 0.03, 0.0584], atol=1e-12)
    np.testing.assert_allclose(right[:3, 3], [0, -0.03, 0.0584], atol=1e-12)


def test_panda_agrees_with_that_of_example_robot_data():
    ours, theirs = shipped('panda'), load_robot(example_robot('panda.urdf'))
    assert ours.joint_names == theirs.joint_names
    assert set(ours.link_names) == set(theirs.link_names)
    np.testing.assert_array_equal(ours.lower, theirs.lower)
    np.testing.assert_array_equal(ours.upper, theirs.upper)
    for q in random_configurations(ours):
        for link in ours.link_names:
            difference = ours.forward_kinematics(q, link) - theirs.forward_kinematics(q, link)
            assert np.abs(difference).max() < 1e-12


def test_ur5e_is_its_dh_table():
    right = math.pi / 2
    table = [
        (0.1625, 0, right),
        (0, -0.425, 0),
        (0, -0.3922, 0),
        (0.1333, 0, right),
        (0.0997, 0, -right),
        (0.0996, 0, 0),
    ]
    robot = shipped('ur5e')
    for q in random_configurations(robot):
        difference = robot.forward_kinematics(q, 'tool0', 'base') - standard_dh(table, q)
        assert np.abs(difference).max() < 1e-12
    base = robot.forward_kinematics(robot.middle_configuration, 'base')
    np.testing.assert_allclose(base, about_z(math.pi), atol=1e-12)
    np.testing.assert_allclose(robot.upper, 2 * math.pi)
    np.testing.assert_allclose(robot.lower, -2 * math.pi)
    np.testing.assert_allclose(robot.velocity, math.pi)


def test_ur5e_stands_like_the_ur5_of_example_robot_data():
    """Another size, and other link frames, but the same joints, to a few centimetres."""
    ours, theirs = shipped('ur5e'), load_robot(example_robot('ur5_robot.urdf'))
    assert ours.joint_names == theirs.joint_names
    for q in random_configurations(ours):
        a = ours.forward_kinematics(q, 'tool0')
        b = theirs.forward_kinematics(q, 'tool0')
        assert np.abs(a[:3, :3] - b[:3, :3]).max() < 1e-9
        assert np.linalg.norm(a[:3, 3] - b[:3, 3]) < 0.12


def test_iiwa14_is_its_dh_table():
    right = math.pi / 2
    table = [
        (0.36, 0, -right),
        (0, 0, right),
        (0.42, 0, right),
        (0, 0, -right),
        (0.4, 0, -right),
        (0, 0, right),
        (0.126, 0, 0),
    ]
    robot = shipped('iiwa14')
    for q in random_configurations(robot):
        difference = robot.forward_kinematics(q, 'iiwa_link_ee') - standard_dh(table, q)
        assert np.abs(difference).max() < 1e-12
    np.testing.assert_allclose(np.degrees(robot.upper), [170, 120, 170, 120, 170, 120, 175])
    np.testing.assert_allclose(robot.lower, -robot.upper)
    speeds = [85, 85, 100, 75, 130, 135, 135]
    np.testing.assert_allclose(np.degrees(robot.velocity), speeds)


def test_scara_is_its_closed_form():
    robot = shipped('scara')
    assert robot.joint_types == ('revolute', 'revolute', 'prismatic', 'revolute')
    for q1, q2, q3, q4 in random_configurations(robot):
        x = 0.225 * math.cos(q1) + 0.175 * math.cos(q1 + q2)
        y = 0.225 * math.sin(q1) + 0.175 * math.sin(q1 + q2)
        expected = transform(translation=(x, y, 0.17 - q3)) @ about_z(q1 + q2) @ about_x(math.pi)
        difference = robot.forward_kinematics([q1, q2, q3, q4], 'tool') - expected @ about_z(q4)
        assert np.abs(difference).max() < 1e-12


# --- other robots ----------------------------------------------------------------------------


def test_pr2_like_arm_is_that_of_the_pr2():
    ours, theirs = shipped('pr2_like'), load_robot(example_robot('pr2.urdf'))
    for i, name in enumerate(ours.joint_names):
        assert ours.joint_types[i] == theirs.joint_types[theirs.joint_index(name)]
    for q in random_configurations(ours):
        p = np.zeros(theirs.n)
        p[[theirs.joint_index(name) for name in ours.joint_names]] = q
        for link in ('r_elbow_flex_link', 'r_wrist_roll_link', 'r_gripper_tool_frame'):
            a = ours.forward_kinematics(q, link, 'torso_lift_link')
            b = theirs.forward_kinematics(p, link, 'torso_lift_link')
            assert np.abs(a - b).max() < 1e-12


def test_pr2_like_has_two_continuous_joints_and_a_lift():
    robot = shipped('pr2_like')
    continuous = np.array(robot.joint_names)[robot.continuous]
    assert list(continuous) == ['r_forearm_roll_joint', 'r_wrist_roll_joint']
    lift = robot.forward_kinematics([0.31] + [0] * 7, 'r_gripper_tool_frame')
    low = robot.forward_kinematics([0.0] * 8, 'r_gripper_tool_frame')
    np.testing.assert_allclose((lift - low)[:3, 3], [0, 0, 0.31], atol=1e-12)


def test_the_arms_of_dual_arm_share_the_torso_joint_only():
    robot = shipped('dual_arm')
    shared = set(robot.chain('left_palm')) & set(robot.chain('right_palm'))
    assert [robot.joint_names[i] for i in shared] == ['torso_yaw_joint']


def test_the_arms_of_dual_arm_are_mirror_images():
    robot = shipped('dual_arm')
    sign = [-1.0 if re.search('roll|yaw', name) else 1.0 for name in robot.joint_names[1:8]]
    mirror = np.diag([1.0, -1.0, 1.0])
    np.testing.assert_allclose(np.sort([robot.lower[1:8] * sign, robot.upper[1:8] * sign], axis=0),
                               [robot.lower[8:], robot.upper[8:]])  # fmt: skip
    for q in random_configurations(robot):
        q[0], q[8:] = 0.0, q[1:8] * sign
        left = robot.forward_kinematics(q, 'left_palm')
        right = robot.forward_kinematics(q, 'right_palm')
        np.testing.assert_allclose(right[:3, 3], mirror @ left[:3, 3], atol=1e-12)
        np.testing.assert_allclose(right[:3, :3], mirror @ left[:3, :3] @ mirror, atol=1e-12)


def test_arm5_reaches_25_units_in_space():
    robot = shipped('arm5')
    tip = robot.forward_kinematics(np.zeros(5), 'tip')[:3, 3]
    np.testing.assert_allclose(tip, [2.5, 0, 0], atol=1e-12)
    bent = robot.jacobian(np.full(5, 0.5), 'tip')[:3]
    assert np.linalg.matrix_rank(bent, tol=1e-3) == 3


def test_chains5_has_chains_of_2_to_6_joints_that_share_the_first():
    robot = shipped('chains5')
    chains = {n: set(robot.chain(f'chain_{n}_tip')) for n in range(2, 7)}
    assert {n: len(chain) for n, chain in chains.items()} == {n: n for n in range(2, 7)}
    for n, m in ((n, m) for n in chains for m in chains if n < m):
        assert [robot.joint_names[i] for i in chains[n] & chains[m]] == ['shared_joint']
    for n, chain in chains.items():
        tip = robot.forward_kinematics(np.zeros(16), f'chain_{n}_tip')[:3, 3]
        angle = math.radians(30 * (n - 4))
        reach = 0.5 * (len(chain) - 1)
        expected = [0.5 + reach * math.cos(angle), reach * math.sin(angle), 0]
        np.testing.assert_allclose(tip, expected, atol=1e-12)


def axes(robot):
    """The joints' axes (3, n) at q = 0: the columns' angular part for a link that each moves."""
    columns = np.zeros((3, robot.n))
    for tip in robot.tips():
        jacobian = robot.jacobian(np.zeros(robot.n), tip)[3:]
        columns[:, robot.chain(tip)] = jacobian[:, robot.chain(tip)]
    return columns


def test_buss_y_is_the_figure():
    robot = shipped('buss_y')
    assert robot.continuous.all()
    positions = {tip: robot.forward_kinematics(np.zeros(7), tip)[:3, 3] for tip in robot.tips()}
    np.testing.assert_allclose(positions['tip_right'], [0.7, 2.0, 0], atol=1e-12)
    np.testing.assert_allclose(positions['tip_left'], [-0.8, 1.9, 0], atol=1e-12)
    shared = set(robot.chain('tip_right')) & set(robot.chain('tip_left'))
    assert [robot.joint_names[i] for i in shared] == ['joint_stem']
    oblique = np.array([math.sqrt(14), 1, 7]) / 8
    x, z = np.eye(3)[[0, 2]]
    expected = np.transpose([z, z, x, oblique, z, x, oblique])
    np.testing.assert_allclose(axes(robot), expected, atol=1e-12)
    # The paper: the Jacobian of both end effectors is 6 x 7.
    q = np.full(7, math.radians(30))
    both = np.vstack([robot.jacobian(q, tip)[:3] for tip in robot.tips()])
    assert both.shape == (6, 7)
    assert np.linalg.matrix_rank(both) == 6


def test_buss_double_y_is_the_figure():
    robot = shipped('buss_double_y')
    assert robot.continuous.all()
    fork = np.array([0.5, 0.5]) / math.sqrt(2) + [0, -0.5]
    for level, slope in (('low', 0.5), ('high', math.sqrt(3) / 2)):
        x, y = fork + 1.5 * np.array([math.sqrt(3) / 2, slope])
        for side, sign in (('left', -1), ('right', 1)):
            tip = robot.forward_kinematics(np.zeros(16), f'tip_{side}_{level}')[:3, 3]
            np.testing.assert_allclose(tip, [sign * x, y, 0], atol=1e-10)
    shared = set.intersection(*(set(robot.chain(tip)) for tip in robot.tips()))
    assert {robot.joint_names[i] for i in shared} == {'joint_stem_1', 'joint_stem_2'}
    right = set(robot.chain('tip_right_low')) & set(robot.chain('tip_right_high')) - shared
    assert {robot.joint_names[i] for i in right} == {'joint_right'}
    q = np.full(16, math.radians(30))
    all_four = np.vstack([robot.jacobian(q, tip)[:3] for tip in robot.tips()])
    assert all_four.shape == (12, 16)
    assert np.linalg.matrix_rank(all_four) == 12
