# SPDX-License-Identifier: Apache-2.0
"""Joint values in CSV files of any program: which columns are taken, in which units and times."""

import numpy as np
import pytest
from support import robots

from ik_core.motion import InvalidMotion
from ik_core.robot.joint_tables import ROWS_PER_SECOND, load_joint_table


@pytest.fixture
def table(tmp_path):
    """Load a text as a CSV file of the SCARA, two revolute joints, a slide and a wrist."""

    def load(text, **options):
        path = tmp_path / 'joints.csv'
        path.write_text(text, encoding='utf-8')
        return load_joint_table(path, robots.shipped('scara'), **options)

    return load


def names():
    return robots.shipped('scara').joint_names


def row_of(values):
    return ','.join(map(repr, values))


def test_columns_are_found_by_the_names_of_joints_whatever_else_is_there(table):
    first, second, *_ = names()
    motion = table(
        f'line,{second},status,{first},error\n2,0.2,reached,0.1,1e-6\n3,0.4,far,0.3,1\n'
    )
    assert motion.joint_names == (first, second)
    np.testing.assert_array_equal(motion.positions, [[0.1, 0.2], [0.3, 0.4]])
    assert motion.period == 1.0 / ROWS_PER_SECOND


def test_a_joint_is_found_in_a_path_and_with_a_unit(table):
    first, second, slide, wrist = names()
    heading = f'__time,/joint_states/{first}/position,{second} [deg],{slide} (m),joint.{wrist}.q'
    motion = table(f'{heading}\n0.0,0.1,90,0.05,0.3\n0.5,0.1,180,0.05,0.3\n')
    np.testing.assert_allclose(
        motion.positions, [[0.1, np.pi / 2, 0.05, 0.3], [0.1, np.pi, 0.05, 0.3]]
    )
    assert motion.period == 0.5


def test_degrees_by_their_sign_are_degrees(table):
    first, second, *_ = names()
    motion = table(f'{first} [°],{second} (degree)\n90,180\n')
    np.testing.assert_allclose(motion.positions, [[np.pi / 2, np.pi]])


@pytest.mark.parametrize(('unit', 'seconds'), [('s', 1.0), ('ms', 1e-3), ('ns', 1e-9)])
def test_times_have_the_unit_of_their_heading(table, unit, seconds):
    first = names()[0]
    motion = table(f'time [{unit}],{first}\n0,0.1\n500,0.2\n')
    assert motion.period == pytest.approx(500 * seconds)


def test_velocities_of_a_joint_are_no_positions(table):
    first = names()[0]
    motion = table(f'{first}/velocity,{first}/position\n7,0.5\n')
    np.testing.assert_array_equal(motion.positions, [[0.5]])


def test_degrees_are_for_joints_that_turn(table):
    first, _, slide, _ = names()
    motion = table(f'{first},{slide}\n90,0.1\n', degrees=True)
    np.testing.assert_allclose(motion.positions, [[np.pi / 2, 0.1]])


def test_uneven_times_are_interpolated_and_a_rate_takes_their_place(table):
    first = names()[0]
    text = f't,{first}\n1.0,0.0\n1.1,0.1\n2.0,1.0\n'
    motion = table(text)
    assert motion.period == pytest.approx(0.5)
    np.testing.assert_allclose(motion.positions[:, 0], [0.0, 0.5, 1.0])
    motion = table(text, rate=20.0)
    assert motion.period == 0.05
    np.testing.assert_allclose(motion.positions[:, 0], [0.0, 0.1, 1.0])


@pytest.mark.parametrize(
    ('text', 'complaint'),
    [
        ('a,b\n1,2\n', 'line 1: no column is named after a joint of'),
        ('{0},{0}/position\n1,2\n', 'line 1: two columns are of joint'),
        ('{0}\n', 'a row are needed'),
        ('a,{0}\n1,x\n', "line 2: could not convert string to float: 'x'"),
        ('a,{0}\n1,2\n1\n', 'line 3: 1 cells; 2 are needed'),
        ('{0}\nnan\n', 'line 2: a number is not finite'),
        ('t,{0}\n0,1\n1,1\n1,1\n', 'line 4: the times do not rise'),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(table, text, complaint):
    with pytest.raises(InvalidMotion) as refused:
        table(text.format(names()[0]))
    assert complaint in str(refused.value)


@pytest.mark.parametrize('rate', [0.0, '3', float('nan')])
def test_a_rate_has_to_be_a_positive_number(table, rate):
    with pytest.raises(InvalidMotion, match=f'rate {rate!r}'):
        table(f'{names()[0]}\n1\n', rate=rate)
