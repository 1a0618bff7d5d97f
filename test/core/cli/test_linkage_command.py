# SPDX-License-Identifier: Apache-2.0
"""`ik linkage`: the URDF that it writes, and what it refuses."""

import numpy as np
import pytest

import ik_core as ik
from ik_core.cli.main import main


def test_a_linkage_is_one_line(capsys):
    assert main(['linkage', '3', '--joint', 'ball', '--length', '0.4']) == 0
    robot = ik.load_robot(capsys.readouterr().out)
    assert robot.n == 9
    tip = robot.forward_kinematics(np.zeros(9), 'tip')[:3, 3]
    np.testing.assert_allclose(tip, [1.2, 0.0, 0.0])


def test_it_can_be_written_to_a_file_and_solved_at_once(tmp_path, capsys):
    file = str(tmp_path / 'linkage.urdf')
    made = ['linkage', '2', '--joint', 'two_angle', '--length', '0.5', '0.3']
    assert main([*made, '--limits', '-1.5', '1.25', '--velocity', '2', '--out', file]) == 0
    assert 'linkage_2_two_angle: 4 angles' in capsys.readouterr().out
    robot = ik.load_robot(file)
    assert (robot.lower[0], robot.upper[3], robot.velocity[1]) == (-1.5, 1.25, 2.0)
    assert main(['solve', file, '--xyz', '0.5', '0.3', '0.2']) == 0


def test_branches_are_an_option(capsys):
    assert main(['linkage', '5', '--branches', '2']) == 0
    assert ik.load_robot(capsys.readouterr().out).tips() == ['tip_1', 'tip_2']


def test_flexible_rods_are_of_pieces(capsys):
    assert main(['linkage', '2', '--length', '0.6', '--flexible', '3']) == 0
    robot = ik.load_robot(capsys.readouterr().out)
    assert robot.joint_names == (
        'joint_1', 'bend_1_1', 'bend_1_2', 'joint_2', 'bend_2_1', 'bend_2_2',
    )  # fmt: skip
    tip = robot.forward_kinematics(np.zeros(6), 'tip')[:3, 3]
    np.testing.assert_allclose(tip, [1.2, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (['0'], 'rods'),
        (['2', '--flexible', '0'], 'pieces'),
        (['2', '--flexible', '2', '--stiffness', '-1'], 'stiffness = -1'),
        (['three'], 'N'),
        (['2', '--joint', 'rail'], 'rail'),
        (['2', '--length', '0.1', '0.2', '0.3'], '3 lengths for 2 rods'),
        (['2', '--limits', '1', '-1'], 'lower <= upper'),
        (['1', '--branches', '2'], 'two rods'),
        (['2', '--out', '/no/such/folder/a.urdf'], '/no/such/folder'),
    ],
)
def test_what_is_no_linkage_is_one_line_and_code_2(argv, said, capsys):
    assert main(['linkage', *argv]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1
