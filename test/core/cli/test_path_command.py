# SPDX-License-Identifier: Apache-2.0
"""`ik path`: from a file of poses to a file with a motion."""

import json

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        (['--out', 'motion.txt'], 'the suffix of a motion is one of'),
        (['--rate', '0'], '--rate 0: a positive number is needed'),
        (['--keep-within', '-1'], 'keep_within'),
        (['--velocity', '-1'], 'velocity must be positive'),
        (['--q0', '1', '2'], 'joint'),
    ],
)
def test_bad_arguments_are_refused_in_a_line(poses, options, said, capsys):
    assert main(['path', 'ur5e', str(poses), *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1
