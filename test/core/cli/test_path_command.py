# SPDX-License-Identifier: Apache-2.0
"""`ik path`: from a file of poses to a file with a motion."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core.cli.main import main
from ik_core.motion import load_motion

SQUARE = """x, y, z, roll, pitch, yaw
-0.45, -0.2, 0.4, 3.0, 0, 0
-0.40, -0.2, 0.4, 3.0, 0, 0
-0.40, -0.1, 0.4, 3.0, 0.1, 0
-0.45, -0.1, 0.4, 3.0, 0, 0
"""


@pytest.fixture
def poses(tmp_path):
    file = tmp_path / 'poses.csv'
    file.write_text(SQUARE)
    return file


def test_motion_is_written_and_passes_the_poses(poses, tmp_path, capsys):
    out = tmp_path / 'motion.csv'
    given = ['--acceleration', '5', '--jerk', '100', '--rate', '500']
    assert main(['path', 'ur5e', str(poses), *given, '--out', str(out)]) == 0
    text = capsys.readouterr().out
    assert text.startswith('4 poses in ')
    assert f'written to {out}' in text
    motion, robot = load_motion(out), ik.load_robot('ur5e')
    assert motion.period == pytest.approx(0.002)
    tips = robot.forward_kinematics(motion.positions, robot.default_tip())[:, :3, 3]
    corners = np.array(
        [[-0.45, -0.2, 0.4], [-0.4, -0.2, 0.4], [-0.4, -0.1, 0.4], [-0.45, -0.1, 0.4]]
    )
    for corner in corners:
        assert np.linalg.norm(tips - corner, axis=1).min() < 3e-4
    acceleration = np.diff(motion.positions, 2, axis=0) / motion.period**2
    assert np.abs(acceleration).max() < 5.01


def test_result_is_printed_as_json(poses, capsys):
    assert main(['path', 'ur5e', str(poses), '--json']) == 0
    data = json.loads(capsys.readouterr().out)
    assert data['success'] is True
    assert data['reason'] == 'done'
    assert data['duration'] > 0.0
    assert max(data['deviation']) <= 1e-3
    assert 'acceleration limit of' in data['note']


def test_velocity_to_begin_with_is_in_the_motion(poses, tmp_path):
    out = tmp_path / 'motion.npz'
    given = ['path', 'ur5e', str(poses), '--rate', '1000', '--out', str(out), '--degrees']
    poses.write_text(SQUARE.replace('3.0', '171'))  # [deg]
    assert main(given) == 0
    motion, robot = load_motion(out), ik.load_robot('ur5e')
    q0 = motion[0]
    jacobian = robot.jacobian(q0, robot.default_tip())
    dq0 = np.linalg.solve(jacobian, [0.02, 0.0, 0.0, 0.0, 0.0, 0.0])
    begun = ['--q0', *(f'{value:.12g}' for value in np.degrees(q0))]
    assert main([*given, *begun, '--dq0', *(f'{value:.12g}' for value in np.degrees(dq0))]) == 0
    first = load_motion(out).positions[:3]
    velocity = (-1.5 * first[0] + 2.0 * first[1] - 0.5 * first[2]) / 0.001
    np.testing.assert_allclose(velocity, dq0, atol=1e-3)


def test_reason_is_printed_where_there_is_no_motion(tmp_path, capsys):
    file, out = tmp_path / 'poses.csv', tmp_path / 'motion.csv'
    file.write_text(SQUARE.replace('-0.45, -0.1', '-1.45, -0.1'))
    assert main(['path', 'ur5e', str(file), '--out', str(out)]) == 1
    text = capsys.readouterr().out
    assert 'out of reach by' in text
    assert '% of the path can be done from its beginning' in text
    assert not out.exists()


def test_positions_alone_leave_the_orientation_free(tmp_path, capsys):
    file = tmp_path / 'poses.csv'
    file.write_text('x,y,z\n-0.45,-0.2,0.4\n-0.44,-0.2,0.4\n')
    assert main(['path', 'ur5e', str(file)]) == 0
    assert capsys.readouterr().out.startswith('2 poses in ')


def test_path_is_passed_at_the_times_of_the_file_between_given_ends(tmp_path, capsys):
    file, out, robot = tmp_path / 'poses.csv', tmp_path / 'motion.csv', ik.load_robot('ur5e')
    q0 = np.array([0.3, -1.2, 1.4, -1.8, -1.5, 0.2])
    tips = robot.forward_kinematics([q0, q0 + 0.02, q0 + 0.04], robot.default_tip())
    lines = ['time,x,y,z,qx,qy,qz,qw']
    for time, tip in zip((2.0, 3.0, 5.0), tips, strict=True):
        values = [time, *tip[:3, 3], *Rotation.from_matrix(tip[:3, :3]).as_quat()]
        lines.append(','.join(f'{value:.12g}' for value in values))
    file.write_text('\n'.join(lines))
    ends = [word for name, q in (('--q0', q0), ('--end', q0 + 0.04))
            for word in (name, *map(str, q))]  # fmt: skip
    options = [*ends, '--keep-within', '0.001', '--out', str(out)]
    assert main(['path', 'ur5e', str(file), '--times', '--rest', *options]) == 0
    motion = load_motion(out)
    assert motion.duration == pytest.approx(3.0)
    for i, frame in enumerate((0, 100, 300)):
        np.testing.assert_allclose(motion[frame], q0 + 0.02 * i, atol=1e-4)
    capsys.readouterr()
    assert main(['path', 'ur5e', str(file), *options]) == 0  # the column alone does nothing
    assert load_motion(out).duration < 2.0


def test_closed_path_returns_from_its_last_pose(poses, tmp_path):
    out = tmp_path / 'motion.csv'
    assert main(['path', 'ur5e', str(poses), '--closed', '--out', str(out)]) == 0
    closed = load_motion(out)
    np.testing.assert_allclose(closed[0], closed[len(closed) - 1], atol=1e-9)
    both = ['--approach', '0.05', '--retreat', '0.02', '--out', str(out)]
    assert main(['path', 'ur5e', str(poses), *both]) == 0
    motion, robot = load_motion(out), ik.load_robot('ur5e')
    first, last = robot.forward_kinematics(motion.positions[[0, -1]], robot.default_tip())
    for tip, at, gap in ((first, [-0.45, -0.2, 0.4], 0.05), (last, [-0.45, -0.1, 0.4], 0.02)):
        np.testing.assert_allclose(tip[:3, 3] + gap * tip[:3, 2], at, atol=1e-5)


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        (['--out', 'motion.txt'], 'the suffix of a motion is one of'),
        (['--rate', '0'], '--rate 0: a positive number is needed'),
        (['--keep-within', '-1'], 'keep_within'),
        (['--velocity', '-1'], 'velocity must be positive'),
        (['--q0', '1', '2'], 'joint'),
        (['--end', '0', '0', '0', '0', '0', '0'], 'end misses the last pose by'),
        (['--times'], '--times needs a column `time`'),
        (['--rest'], 'rest=True is for `times`'),
        (['--approach', '-1'], 'approach = -1.0'),
        (['--closed', '--retreat', '0.1'], 'a closed path has no approach'),
    ],
)
def test_bad_arguments_are_refused_in_a_line(poses, options, said, capsys):
    assert main(['path', 'ur5e', str(poses), *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1
