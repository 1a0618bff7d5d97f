# SPDX-License-Identifier: Apache-2.0
"""`ik solve`: degrees, starts by name, frozen joints, and files of poses."""

import csv
import json
import math
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.places import ROOT
from support.robots import python_path

import ik_core as ik
from ik_core.cli import solve_poses
from ik_core.cli.angles import DEGREES, RADIANS, configuration, joint_value
from ik_core.cli.main import main
from ik_core.cli.parser import UsageError
from ik_core.cli.pose_files import read_poses
from ik_core.robot.joint_tables import load_joint_table
from ik_core.robot.robot_sources import load_robot

XYZ = ('--xyz', '0.45', '0.1', '0.5')
ONE = ('--tip', 'left_palm', '--xyz', '1', '0', '0')


def as_json(capsys, *argv):
    code = main([*map(str, argv), '--json'])
    captured = capsys.readouterr()
    assert captured.err == ''
    return code, json.loads(captured.out)


# --- coupled goals -----------------------------------------------------------------------------


def test_coupled_hands_miss_their_goals_alike(capsys):
    """The left hand's goal is far out of reach; the right hand alone could reach its own."""
    robot, goals = load_robot('dual_arm'), np.array([[2.0, 0.2, 1.0], [0.5, -0.3, 1.0]])
    links, apart = ('left_palm', 'right_palm'), []
    argv = [part for link, goal in zip(links, goals, strict=True)
            for part in ('--tip', link, '--xyz', *goal)]  # fmt: skip
    for more in ((), ('--couple', 100)):
        code, data = as_json(capsys, 'solve', 'dual_arm', *argv, *more)
        assert code == 1
        ends = [robot.forward_kinematics(np.array(data['q']), link)[:3, 3] for link in links]
        lengths = np.linalg.norm(ends - goals, axis=1)
        assert [g['position_error'] for g in data['goals']] == pytest.approx(lengths, abs=1e-9)
        apart.append(np.linalg.norm((ends - goals)[0] - (ends - goals)[1]))
    assert apart[1] < 0.2 * apart[0]


def test_coupled_goals_within_reach_are_reached(capsys):
    both = (
        '--tip',
        'left_palm',
        '--xyz',
        0.4,
        0.2,
        1,
        '--tip',
        'right_palm',
        '--xyz',
        0.4,
        -0.2,
        1,
    )
    code, data = as_json(capsys, 'solve', 'dual_arm', *both, '--couple', 3)
    assert (code, data['status']) == (0, 'REACHED')
    assert max(goal['position_error'] for goal in data['goals']) < 1e-5


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        ((*ONE, '--couple', '3'), 'needs two goals at least'),
        (('--tip', 'left_palm', '--xyz', '1', '0', '0', '--tip', 'right_palm', '--axis', '0', '0',
          '1', '--couple', '3'), 'of --tip and --xyz alone'),
        ((*ONE, '--couple', '3', '--all'), 'leave out --all'),
        (('--poses', 'poses.csv', '--couple', '3'), 'leave out --poses'),
        (('--tip', 'right_palm', '--xyz', '1', '0', '0', *ONE, '--couple', '1e300'),
         '--couple 1e+300: a number from 0.001 to 1000'),
        (('--tip', 'right_palm', '--xyz', '1', '0', '0', *ONE, '--couple', 'nan'),
         '--couple nan: a number from 0.001 to 1000'),
    ],
)  # fmt: skip
def test_couplings_that_make_no_sense_are_refused(argv, said, capsys):
    assert main(['solve', 'dual_arm', *argv]) == 2
    assert said in capsys.readouterr().err


# --- one pose ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('rpy', 'more', 'is_told'),
    [('180', (), True), ('-90', (), True), ('6.3', (), False), ('180', ('--degrees',), False)],
)
def test_angles_that_look_like_degrees_are_pointed_out(rpy, more, is_told, capsys):
    main(['solve', 'panda', *XYZ, '--rpy', '0', rpy, '0', *more])
    assert ('add --degrees' in capsys.readouterr().err) == is_told


@pytest.mark.parametrize(('x', 'is_told'), [('-400', True), ('19', False)])
def test_positions_that_look_like_millimetres_are_pointed_out(x, is_told, capsys):
    main(['solve', 'scara', '--xyz', x, '0', '0'])
    assert ('--xyz is in metres' in capsys.readouterr().err) == is_told


def test_errors_of_a_metre_and_more_are_in_metres(capsys):
    assert main(['solve', 'scara', '--xyz', '400', '0', '0']) == 1
    assert re.search(r'tool +39\d\.\d m\b', capsys.readouterr().out)


def test_degrees_are_radians_times_180_over_pi_going_in_and_coming_out(capsys):
    rpy = np.array([3.0, 0.1, 0.4])
    argv = ['solve', 'panda', *XYZ]
    _, radians = as_json(capsys, *argv, '--rpy', *rpy, '--q0', 'panda_joint4=-2.0')
    degrees = ['--rpy', *np.degrees(rpy), '--q0', f'panda_joint4={math.degrees(-2.0)}']
    _, shown = as_json(capsys, *argv, *degrees, '--degrees')
    assert (radians['angle_unit'], shown['angle_unit']) == ('rad', 'deg')
    np.testing.assert_allclose(shown['q'][:7], np.degrees(radians['q'][:7]), atol=1e-6)
    assert shown['q'][7] == radians['q'][7]  # a finger, in metres
    assert shown['joints']['panda_finger_joint2'] == radians['joints']['panda_finger_joint2']


def test_a_mimic_joint_is_shown_in_degrees_with_its_offset(tmp_path):
    file = tmp_path / 'r.urdf'
    hinge = '<joint name="{0}" type="revolute"><parent link="a"/><child link="{1}"/>{2}{3}</joint>'
    limit = '<limit lower="-3" upper="3" velocity="1"/>'
    mimic = '<mimic joint="j" multiplier="2" offset="0.5"/>'
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        + hinge.format('j', 'b', limit, '')
        + hinge.format('m', 'c', limit, mimic)
        + '</robot>'
    )
    shown = DEGREES.by_name(load_robot(str(file)), np.array([0.25]))
    assert shown == pytest.approx({'j': math.degrees(0.25), 'm': math.degrees(1.0)})


def test_a_gripper_that_is_moved_is_named(tmp_path, capsys):
    text = (ROOT / 'urdf' / 'ur5e.urdf').read_text().replace('wrist_3_joint', 'gripper')
    (tmp_path / 'arm.urdf').write_text(text)
    for tip, named in (('tool0', ['gripper']), ('wrist_2_link', [])):
        argv = 'solve', str(tmp_path / 'arm.urdf'), '--tip', tip, *XYZ
        main([*argv])
        assert ('this moves a gripper: gripper;' in capsys.readouterr().out) == bool(named)
        assert as_json(capsys, *argv)[1]['gripper_joints'] == named


def test_frozen_joints_stay_where_the_start_has_them(capsys):
    argv = ['solve', 'panda', *XYZ, '--frozen', 'panda_joint1', 'panda_joint3']
    code, data = as_json(capsys, *argv, '--q0', 'panda_joint3=0.3', 'panda_joint1=0.1')
    assert code == 0
    assert (data['joints']['panda_joint1'], data['joints']['panda_joint3']) == (0.1, 0.3)


def test_near_takes_the_nearest_of_the_solutions_and_not_the_first(capsys):
    pose = ('--xyz', '0.3', '0.2', '0.4', '--rpy', '3.1', '0', '0.2')
    wanted = [0.6, 1.4, 0.3, 2.6, 1.9, -3.0]
    found = []
    for how in ('--q0', '--near'):
        search = ('--option', 'closed_form=false')  # which would begin at the nearest
        _, data = as_json(capsys, 'solve', 'ur5e', *pose, how, *wanted, *search)
        found.append(data['q'])
    first, near = (np.linalg.norm(np.array(q) - wanted) for q in found)
    assert near < first - 0.5


@pytest.mark.parametrize('angles', [RADIANS, DEGREES])
def test_a_start_by_names_leaves_the_other_joints_in_the_middle(angles):
    robot = load_robot('panda')
    middle = robot.middle_configuration
    values = [joint_value('panda_joint2=0.5'), joint_value('panda_finger_joint1=0.01')]
    q = configuration(robot, values, middle, angles)
    expected = middle.copy()
    expected[[1, 7]] = 0.5 / angles.per_radian, 0.01
    np.testing.assert_allclose(q, expected, atol=1e-15)


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (('--q0', '1', 'panda_joint1=2'), 'not both'),
        (('--q0', 'panda_jont1=2'), 'did you mean panda_joint1'),
        (('--q0', 'panda_joint1=x'), 'should be a number, or JOINT=VALUE'),
        (('--near', '1', '2'), "'panda' has 8 joints"),
        (('--near', 'panda_joint1=1', '--choose', 'limits'), '--near chooses the nearest'),
        (('--near', 'panda_joint1=1', '--q0', 'panda_joint1=1'), 'not allowed with'),
        (('--frozen', 'elbow'), "no movable joint 'elbow'"),
        (('--warm-start',), '--warm-start and --out go with --poses'),
    ],
)
def test_starts_that_make_no_sense_are_refused_in_a_line(argv, said, capsys):
    assert main(['solve', 'panda', *XYZ, *argv]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1


# --- files of poses: reading -------------------------------------------------------------------

SCIPY = pytest.importorskip('scipy.spatial.transform').Rotation
QUATERNION = SCIPY.from_euler('xyz', [0.3, -0.2, 0.5]).as_quat()
NUMBERS = ' '.join(f'{x:.12g}' for x in QUATERNION)


def poses(tmp_path, text, angles=RADIANS):
    file = tmp_path / 'poses.csv'
    file.write_text(text, encoding='utf-8')
    return read_poses(file, angles)


@pytest.mark.parametrize(
    ('text', 'angles'),
    [
        ('1,2,3,0.3,-0.2,0.5', RADIANS),
        (f'1 2 3 {NUMBERS}', RADIANS),
        ('\ufeff# made by hand\n\n1\t2\t3\t0.3\t-0.2\t0.5  # the first', RADIANS),
        (f'1;2;3;{math.degrees(0.3)};{math.degrees(-0.2)};{math.degrees(0.5)}', DEGREES),
        ('yaw,name,z,roll,y,pitch,x\n0.5,home,3,0.3,2,-0.2,1', RADIANS),
        (f'X [mm],Y [cm],z_m,qx,qy,qz,qw\n1000,200,3,{NUMBERS.replace(" ", ",")}', RADIANS),
        ('"x","y","z","yaw_rad","pitch (rad)","roll"\n1,2,3,0.5,-0.2,0.3', RADIANS),
        (f'x,y,z,roll_deg,pitch,yaw\n1,2,3,{math.degrees(0.3)},-0.2,0.5', RADIANS),
        (
            'time,pose.position.x,pose.position.y,pose.position.z,pose.orientation.x,'
            'pose.orientation.y,pose.orientation.z,pose.orientation.w\n'
            f'9,1,2,3,{NUMBERS.replace(" ", ",")}',
            RADIANS,
        ),
    ],
)
def test_a_pose_is_understood_however_it_is_written(tmp_path, text, angles):
    found = poses(tmp_path, text, angles)
    assert found.turned
    (transform,) = found.transforms
    np.testing.assert_allclose(transform[:3, 3], [1.0, 2.0, 3.0], atol=1e-12)
    expected = SCIPY.from_euler('xyz', [0.3, -0.2, 0.5]).as_matrix()
    np.testing.assert_allclose(transform[:3, :3], expected, atol=1e-9)


def test_lines_are_those_of_the_file_and_positions_alone_will_do(tmp_path):
    found = poses(tmp_path, 'x,y,z\n\n1,2,3\n# no\n4,5,6\n')
    assert found.lines == (3, 5)
    assert not found.turned
    np.testing.assert_array_equal(found.transforms[:, :3, 3], [[1, 2, 3], [4, 5, 6]])


def test_a_rounded_quaternion_is_made_a_rotation(tmp_path):
    (transform,) = poses(tmp_path, '0,0,0,0.0,0.0,0.71,0.71').transforms
    np.testing.assert_allclose(transform[:3, :3] @ transform[:3, :3].T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', ': there are no poses in it'),
        ('x,y,z\n# none yet', ': there are no poses in it'),
        ('x,y\n1,2', ', line 1: needed are x, y, z'),
        ('x,y,z,qx,qy\n1,2,3,0,0', ', line 1: the orientation lacks qz, qw; needed'),
        ('x,y,z,rol,pitch,yaw\n1,2,3,0,0,0', ', line 1: the orientation lacks roll; needed'),
        ('x,y,z,yaw_deg\n1,2,3,0', ', line 1: the orientation lacks roll, pitch; needed'),
        ('1,2,3,4', ', line 1: 4 numbers without a heading'),
        ('1,2,3\n\n1,2', ', line 3: 3 columns are needed, not 2'),
        ('1,2,3\n1,2,nan', ", line 2: column 3 is 'nan'"),
        ('z,x,y\n1,a,3', ", line 2: x is 'a'"),
        ('x,y,z\n1_0,2,3', ", line 2: x is '1_0'"),
        ('x,y,z\n1e200,2,3', ", line 2: x is '1e200'; a number up to 1e+09"),
        ('x [deg],y,z\n1,2,3', ', line 1: x [deg]: x is not in deg'),
        ('x,y,z,roll,pitch,yaw_mm\n1,2,3,0,0,9', ', line 1: yaw_mm: yaw is not in mm'),
        ('x,y,z,qx_deg,qy,qz,qw\n1,2,3,0,0,0,1', ', line 1: qx_deg: qx is not in deg'),
        ('1,2,3,0,0,0,0', ', line 1: the quaternion has length 0'),
        ('1,2,3,1,1,1,1', ', line 1: the quaternion has length 2'),
    ],
)
def test_what_can_not_be_a_pose_is_said_with_file_and_line(tmp_path, text, said):
    with pytest.raises(UsageError) as error:
        poses(tmp_path, text)
    assert str(error.value).startswith(f'{tmp_path / "poses.csv"}{said}')


def test_a_file_that_is_not_there_or_no_text_is_refused_in_a_line(tmp_path, capsys):
    (tmp_path / 'x.bin').write_bytes(b'\xff\xfe\x00')
    for name, said in (('none.csv', "can't read"), ('x.bin', 'is not text')):
        assert main(['solve', 'panda', '--poses', str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert name in error


# --- files of poses: solving -------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    """Ten poses that a SCARA reaches, and one that it does not, in a file."""
    robot, rng = load_robot('scara'), np.random.default_rng(0)
    path = tmp_path / 'in.csv'
    lines = ['x,y,z']
    for _ in range(10):
        at = robot.forward_kinematics(rng.uniform(robot.lower, robot.upper), 'tool')[:3, 3]
        lines.append(','.join(map(repr, at.tolist())))
    path.write_text('\n'.join([*lines, '9,0,0']))
    return path


def written(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize('more', [(), ('--warm-start',), ('--degrees',), ('--solver', 'bfgs')])
def test_every_pose_gets_a_line_that_says_what_it_reaches(file, tmp_path, more, capsys):
    out = tmp_path / 'out.csv'
    assert main(['solve', 'scara', '--poses', str(file), '--out', str(out), *more]) == 1
    assert '10 of 11 poses reached' in capsys.readouterr().out
    robot, rows = load_robot('scara'), written(out)
    angles = DEGREES if more == ('--degrees',) else RADIANS
    assert [row['line'] for row in rows] == [str(i) for i in range(2, 13)]
    targets = read_poses(file).transforms[:, :3, 3]
    for row, target in zip(rows, targets, strict=True):
        q = angles.to_joints(robot, [float(row[name]) for name in angles.headings(robot)])
        error = np.linalg.norm(robot.forward_kinematics(q, 'tool')[:3, 3] - target)
        assert float(row['position_error_m']) == pytest.approx(error, rel=0.01, abs=1e-8)
        assert (row['status'] == 'reached') == (error < 1e-5)
    assert 'orientation_error_rad' not in rows[0]
    played = load_joint_table(out, robot).positions  # by `ik play`, which has to see the unit
    last = [float(rows[-1][name]) for name in angles.headings(robot)]
    np.testing.assert_allclose(played[-1], angles.to_joints(robot, last), atol=1e-9)


def test_the_lines_are_those_of_solve_batch(file, capsys):
    assert main(['solve', 'scara', '--poses', str(file)]) == 1
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    robot = load_robot('scara')
    problem = ik.IkProblem(robot, [ik.PositionTask('tool')])
    batch = ik.solve_batch(problem, read_poses(file).transforms)
    found = [[float(row[name]) for name in robot.joint_names] for row in rows]
    np.testing.assert_allclose(found, batch.q, rtol=1e-8, atol=1e-12)


def test_along_a_path_each_pose_starts_where_the_last_one_ended(tmp_path, capsys):
    path = tmp_path / 'line.csv'
    path.write_text('\n'.join(f'0.45,{y},0.5,3.1,0,0' for y in (-0.2, 0.1, 0.15)))
    main(['solve', 'panda', '--poses', str(path), '--warm-start', '--near', 'panda_joint1=1.5'])
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    robot = load_robot('panda')
    found = [[float(row[name]) for name in robot.joint_names] for row in rows]
    q = robot.middle_configuration
    q[0] = 1.5
    for transform, here in zip(read_poses(path).transforms, found, strict=True):
        goal = ik.PoseTask('panda_hand_tcp')
        goal.set_target(transform)
        np.testing.assert_allclose(here, ik.solve(ik.IkProblem(robot, [goal]), q).q, atol=1e-6)
        q = np.array(here)


def test_blocks_change_nothing(file, monkeypatch, capsys):
    printed = []
    for block in (solve_poses.BLOCK, 3):
        monkeypatch.setattr(solve_poses, 'BLOCK', block)
        main(['solve', 'scara', '--poses', str(file)])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_a_file_with_json_says_what_came_of_it(file, tmp_path, capsys):
    out = tmp_path / 'out.csv'
    code, data = as_json(capsys, 'solve', 'scara', '--poses', file, '--out', out)
    assert code == 1
    assert (data['poses'], data['reached'], data['joints']) == (11, 10, str(out))


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (XYZ, 'leave out --xyz'),
        (('--all',), 'leave out --all'),
        (('--choose', 'limits'), 'leave out --all and --choose'),
        (('--json',), 'name a file by --out'),
        (('--out', 'no/such/folder.csv'), 'there is no folder'),
    ],
)
def test_what_does_not_go_with_a_file_is_refused(file, argv, said, capsys):
    assert main(['solve', 'scara', '--poses', str(file), *argv]) == 2
    assert said in capsys.readouterr().err


def test_the_file_of_the_poses_is_not_written_over(file, capsys):
    before = file.read_text(encoding='utf-8')
    same = file.parent / '..' / file.parent.name / file.name
    assert main(['solve', 'scara', '--poses', str(file), '--out', str(same)]) == 2
    assert 'is the file of the poses' in capsys.readouterr().err
    assert file.read_text(encoding='utf-8') == before


def test_after_ctrl_c_the_file_has_what_was_solved(tmp_path):
    path, out = tmp_path / 'many.csv', tmp_path / 'out.csv'
    path.write_text('9,0,0\n' * 200_000)
    command = [sys.executable, '-m', 'ik_core', 'solve', 'panda', '--poses', path, '--out', out]
    command += ['--solver', 'bfgs', '-o', 'restarts=0']  # line by line, for minutes
    environment = {'PYTHONPATH': python_path(ROOT), 'NUMBA_DISABLE_JIT': '1', 'PATH': ''}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 300.0
        while not (out.exists() and out.stat().st_size > 10_000):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300.0)[1]
    assert process.returncode == 130
    done = int(said.split('after ')[1].split(' of ')[0].replace(',', ''))
    rows = written(out)
    assert 50 < done <= len(rows) <= done + 1
    assert rows[-1]['status'] in ('closest', 'stalled', 'max_iterations')


@pytest.mark.parametrize(
    ('q0', 'hinted'),
    [
        (['0', '-45', '0', '-90', '0', '90', '45', '0'], True),
        (['0', '-45', '0', '-90', '0', '90', '45', '0', '--degrees'], False),
        (['0', '-3', '0', '-2', '0', '2', '0', '0'], False),
        (['panda_joint4=-90'], True),
    ],
)
def test_a_start_far_beyond_the_limits_hints_at_degrees(q0, hinted, capsys):
    main(['solve', 'panda', '--xyz', '0.4', '0.2', '0.5', '--q0', *q0])
    hint = 'rad is far beyond its limits; for degrees add --degrees\n'
    assert (hint in capsys.readouterr().err) is hinted
