# SPDX-License-Identifier: Apache-2.0
"""`ik solve` for arms of few joints: position first, axes, tools, tolerances, and free bases."""

import csv
import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.few_joints import hobby_urdf

import ik_core as ik
from ik_core.cli.main import main

PLANAR_BASE = """<robot name="mobile"><link name="world"/><link name="base"/><link name="arm"/>
<joint name="wheels" type="planar"><parent link="world"/><child link="base"/>
<axis xyz="0 0 1"/></joint>
<joint name="j1" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="1"/></joint>
<joint name="j2" type="revolute"><parent link="arm"/><child link="hand"/>
<origin xyz="0.4 0 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="1"/></joint>
<link name="hand"/><joint name="j3" type="fixed"><parent link="hand"/><child link="tool0"/>
<origin xyz="0.3 0 0"/></joint><link name="tool0"/></robot>"""


@pytest.fixture
def hobby(tmp_path):
    path = tmp_path / 'hobby.urdf'
    path.write_text(hobby_urdf())
    return str(path), ik.load_robot(path)


@pytest.fixture
def mobile(tmp_path):
    path = tmp_path / 'mobile.urdf'
    path.write_text(PLANAR_BASE)
    return str(path)


def run(capsys, *argv):
    code = main([*map(str, argv)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def solved(capsys, *argv):
    code, out, _ = run(capsys, 'solve', *argv, '--json')
    return code, json.loads(out)


def turned(robot):
    """A position that five joints reach, and a turn that they don't have there."""
    pose = robot.forward_kinematics(robot.middle_configuration + 0.2, 'tool')
    turn = Rotation.from_rotvec([0.24, -0.3, 0.32])
    return pose[:3, 3], (Rotation.from_matrix(pose[:3, :3]) * turn).as_euler('xyz')


def errors(robot, q, xyz, rpy):
    """Return the distance of the tool from a pose [m, rad], by forward kinematics alone."""
    there = robot.forward_kinematics(np.array(q), 'tool')
    turn = Rotation.from_euler('xyz', rpy).inv() * Rotation.from_matrix(there[:3, :3])
    return np.linalg.norm(there[:3, 3] - xyz), turn.magnitude()


def test_the_position_comes_first_for_few_joints_and_the_output_says_so(hobby, capsys):
    path, robot = hobby
    xyz, rpy = turned(robot)
    goal = path, '--xyz', *xyz, '--rpy', *rpy
    code, first = solved(capsys, *goal)
    _, alike = solved(capsys, *goal, '--equal-weights')
    assert code == 1
    assert errors(robot, first['q'], xyz, rpy)[0] < 1e-5
    assert errors(robot, alike['q'], xyz, rpy)[0] > 1e-3
    assert (first['position_first'], alike['position_first']) == (['tool'], [])
    assert 'ask for position and axis (--axis in place of --rpy)' in first['note']
    assert '(leave out --equal-weights)' in alike['note']
    text = run(capsys, 'solve', *goal)[1]
    assert 'the position of tool comes first, since fewer than six joints move it' in text
    assert 'PositionAxisTask' not in text


def test_a_pose_that_few_joints_have_is_reached(hobby, capsys):
    path, robot = hobby
    pose = robot.forward_kinematics(robot.middle_configuration + 0.3, 'tool')
    quat = Rotation.from_matrix(pose[:3, :3]).as_quat()
    code, data = solved(capsys, path, '--xyz', *pose[:3, 3], '--quat', *quat)
    assert (code, data['hints']) == (0, [])


def test_frozen_joints_do_not_count_as_joints(capsys):
    goal = 'ur5e', '--xyz', 0.4, 0.2, 0.4, '--rpy', 3.0, 0.1, 0.5
    assert solved(capsys, *goal)[1]['position_first'] == []
    _, data = solved(capsys, *goal, '--frozen', 'wrist_3_joint')
    assert data['position_first'] == ['tool0']


@pytest.mark.parametrize('tool', [None, (0.0, 0.0, 0.05), (0.02, 0.0, 0.05, 0.3, -0.4, 0.5)])
@pytest.mark.parametrize('degrees', [False, True])
def test_axis_and_tool(tool, degrees, capsys):
    robot, xyz, direction = ik.load_robot('ur5e'), np.array([0.4, 0.2, 0.4]), [0.3, 0.4, -1.2]
    frame, given = np.eye(4), list(tool or ())
    if tool:
        frame[:3, 3] = tool[:3]
        frame[:3, :3] = Rotation.from_euler('xyz', tool[3:] or [0, 0, 0]).as_matrix()
        given[3:] = np.degrees(given[3:]) if degrees else given[3:]
    more = (['--tool', *given] if tool else []) + (['--degrees'] if degrees else [])
    for position in (['--xyz', *xyz], []):
        code, data = solved(capsys, 'ur5e', *position, '--axis', *direction, *more)
        assert code == 0
        q = np.radians(data['q']) if degrees else data['q']
        there = robot.forward_kinematics(q, 'tool0') @ frame
        along = there[:3, 2] @ direction / np.linalg.norm(direction)
        assert along == pytest.approx(1.0, abs=1e-8)
        if position:
            assert np.linalg.norm(there[:3, 3] - xyz) < 1e-5


def test_a_tool_moves_positions_and_poses(capsys):
    robot, tool = ik.load_robot('ur5e'), np.array([0.0, 0.1, 0.2])
    for more in ([], ['--rpy', 3.0, 0.1, 0.5]):
        code, data = solved(capsys, 'ur5e', '--xyz', 0.4, 0.2, 0.4, *more, '--tool', *tool)
        there = robot.forward_kinematics(data['q'], 'tool0')
        assert code == 0
        np.testing.assert_allclose(there[:3, :3] @ tool + there[:3, 3], [0.4, 0.2, 0.4], atol=1e-5)


@pytest.mark.parametrize('degrees', [False, True])
def test_tolerances(hobby, degrees, capsys):
    path, robot = hobby
    xyz, rpy = turned(robot)
    off = errors(robot, solved(capsys, path, '--xyz', *xyz, '--rpy', *rpy)[1]['q'], xyz, rpy)[1]
    unit = 'deg' if degrees else 'rad'
    shown = np.degrees if degrees else float
    goal = [path, '--xyz', *xyz, '--rpy', *(shown(angle) for angle in rpy)]
    goal += ['--degrees'] if degrees else []
    for share, code in ((1.01, 0), (0.99, 1)):
        found, data = solved(capsys, *goal, '--orientation-tolerance', shown(share * off))
        assert (found, data['angle_unit']) == (code, unit)
    far = path, '--xyz', 0.0, 0.0, 5.0
    assert solved(capsys, *far)[0] == 1
    assert solved(capsys, *far, '--position-tolerance', 5.0)[0] == 0


def test_a_frozen_base_is_named_when_a_goal_is_not_reached_and_may_be_freed(mobile, capsys):
    goal = mobile, '--xyz', 2.0, 1.0, 0.1
    code, data = solved(capsys, *goal)
    assert (code, data['hints']) == (
        1, ['wheels is frozen at zero: --free-base lets the base move']
    )  # fmt: skip
    assert data['hints'][0] in run(capsys, 'solve', *goal)[1]
    code, data = solved(capsys, *goal, '--free-base')
    assert code == 0
    assert {'wheels/x', 'wheels/y', 'wheels/yaw'} < set(data['joints'])
    robot = ik.load_robot(mobile, free_joints=['wheels'])
    there = robot.forward_kinematics(data['q'], 'tool0')[:3, 3]
    np.testing.assert_allclose(there, [2.0, 1.0, 0.1], atol=1e-5)
    _, data = solved(capsys, mobile, '--xyz', 2.0, 1.0, 5.0, '--free-base')
    assert data['hints'] == [], 'the base moves'
    assert solved(capsys, mobile, '--tip', 'tool0', '--xyz', 0.7, 0.0, 0.0)[1]['hints'] == []


def test_free_base_adds_a_floating_base_where_there_is_none(capsys):
    goal = 'ur5e', '--xyz', 5.0, 1.0, 3.0, '--rpy', 0.1, 0.2, 0.3
    assert solved(capsys, *goal)[0] == 1
    assert solved(capsys, *goal, '--free-base')[0] == 0


def test_equal_limits_are_named_when_a_goal_is_not_reached(tmp_path, capsys):
    text = hobby_urdf().replace('lower="-1.69" upper="1.69"', 'lower="0.4" upper="0.4"')
    (tmp_path / 'arm.urdf').write_text(text)
    for more in ([], ['--all', '--rpy', 0, 0, 0]):
        goal = tmp_path / 'arm.urdf', '--xyz', 0.0, 0.0, 2.0, *more
        _, data = solved(capsys, *goal)
        assert data['hints'] == ['elbow can not move: lower and upper limits are equal']
        assert data['hints'][0] in run(capsys, 'solve', *goal)[1]


def test_frozen_joints_are_named_when_a_goal_is_not_reached(mobile, capsys):
    goal = mobile, '--free-base', '--xyz', 0.5, 0.2, 3.0
    assert solved(capsys, *goal)[1]['hints'] == []
    one, two = [*goal, '--frozen', 'j1'], [*goal, '--frozen', 'j1', 'wheels/x']
    _, data = solved(capsys, *one)
    assert (data['status'], data['hints']) == ('CLOSEST', ['j1 is frozen: --frozen holds it'])
    assert data['hints'][0] in run(capsys, 'solve', *one)[1]
    for more in ([], ['--all']):
        code, data = solved(capsys, *two, *more)
        assert (code, data['hints']) == (1, ['wheels/x, j1 are frozen: --frozen holds them'])
    reached = mobile, '--free-base', '--xyz', 0.7, 0.0, 0.0, '--frozen', 'j1'
    assert solved(capsys, *reached)[1]['hints'] == []


def test_frozen_joints_that_do_not_move_the_tip_are_not_named(mobile, capsys):
    goal = mobile, '--tip', 'arm', '--free-base', '--xyz', 0.4, 0.0, 1.0, '--frozen', 'j2'
    code, data = solved(capsys, *goal)
    assert (code, data['hints']) == (1, [])


def test_a_planar_arm_is_said_to_stay_in_its_plane(mobile, capsys):
    _, data = solved(capsys, mobile, '--tip', 'hand', '--xyz', 0.32, 0.24, 0.05)
    assert (data['status'], data['note']) == ('TOO_FEW_JOINTS', 'no joint moves hand along z')


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (['--axis', 0, 0, 0], '--axis 0 0 0 is no direction'),
        (['--axis', 0, 0, 1, '--rpy', 0, 0, 0], 'give one of --rpy, --quat and --axis'),
        (['--rpy', 0, 0, 0, '--quat', 0, 0, 0, 1], 'give one of --rpy, --quat and --axis'),
        (['--axis', 0, 0, 1, '--axis', 0, 0, 1], '--axis is given twice for one goal'),
        (['--tool', 0, 0], '--tool has 2 numbers: X Y Z are needed, or X Y Z R P Y'),
        (['--position-tolerance', 0], '--position-tolerance 0: a positive number is needed'),
        (['--orientation-tolerance', 'nan'], '--orientation-tolerance nan: a positive number'),
    ],
)
def test_errors_name_what_is_wrong_and_what_would_be_right(argv, said, capsys):
    code, _, error = run(capsys, 'solve', 'ur5e', '--xyz', 0.4, 0.2, 0.4, *argv)
    assert code == 2
    assert said in error
    assert error.count('\n') == 1


def test_a_goal_that_asks_for_nothing_names_all_that_may_be_asked(capsys):
    error = run(capsys, 'solve', 'ur5e')[2]
    assert 'give --xyz X Y Z, or --rpy R P Y or --axis X Y Z, or both' in error


def test_a_tool_in_millimetres_is_pointed_out(capsys):
    error = run(capsys, 'solve', 'ur5e', '--xyz', 0.4, 0.2, 0.4, '--tool', 0, 0, 150)[2]
    assert '--tool is in metres' in error


def test_a_file_of_poses_puts_the_position_first_and_says_why_poses_are_missed(
    hobby, tmp_path, capsys
):
    path, robot = hobby
    xyz, rpy = turned(robot)
    poses, out = tmp_path / 'poses.csv', tmp_path / 'joints.csv'
    poses.write_text(','.join(map(str, [*xyz, *rpy])))
    argv = 'solve', path, '--poses', poses, '--out', out
    code, _, error = run(capsys, *argv)
    assert code == 1
    assert 'only 5 joints move tool: ask for position and axis (--axis' in error
    assert 'the position of tool comes first' in error
    (row,) = csv.DictReader(out.open())
    q = [float(row[name]) for name in robot.joint_names]
    miss, off = errors(robot, q, xyz, rpy)
    assert miss < 1e-5
    assert run(capsys, *argv, '--orientation-tolerance', 1.01 * off)[0] == 0
    tool = 0.1, 0.0, 0.0
    assert run(capsys, *argv, '--tool', *tool)[0] == 1
    (row,) = csv.DictReader(out.open())
    there = robot.forward_kinematics([float(row[name]) for name in robot.joint_names], 'tool')
    np.testing.assert_allclose(there[:3, :3] @ tool + there[:3, 3], xyz, atol=1e-5)


def test_all_solutions_are_the_same_whichever_part_comes_first(hobby, capsys):
    path, robot = hobby
    pose = robot.forward_kinematics(robot.middle_configuration + 0.3, 'tool')
    quat = Rotation.from_matrix(pose[:3, :3]).as_quat()
    goal = path, '--xyz', *pose[:3, 3], '--quat', *quat, '--all'
    first, alike = solved(capsys, *goal)[1], solved(capsys, *goal, '--equal-weights')[1]
    found = [np.array([one['q'] for one in data['solutions']]) for data in (first, alike)]
    np.testing.assert_allclose(*found, atol=1e-6)
    assert first['complete']
