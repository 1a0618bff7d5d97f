# SPDX-License-Identifier: Apache-2.0
"""Invalid values from a node are left out: the page shows the rest."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState

from ik_core import load_robot
from ik_core.shared_files import shared_file
from ik_viewer.arm import GoalKind
from ik_viewer.ros.messages import status_of, take_positions
from ik_viewer.ros.sending import kind_of


@pytest.mark.parametrize('number', ['nan', 'inf', '-inf', '1e400', 'many', ''])
def test_numbers_that_can_not_be_counted_to_are_no_error(number):
    values = {'code': 'reached', 'iterations_since_goal': number, 'refused.too_far': number}
    message = DiagnosticStatus(values=[KeyValue(key=k, value=v) for k, v in values.items()])
    status = status_of(message)
    assert (status.code, status.count('iterations_since_goal')) == ('reached', 0)
    assert status.refused == {'too_far': 0}


def test_numbers_are_those_that_were_told():
    told = {'iterations_since_goal': '12', 'refused.too_far': '3'}
    values = [KeyValue(key=k, value=v) for k, v in told.items()]
    status = status_of(DiagnosticStatus(values=values))
    assert status.count('iterations_since_goal') == 12
    assert status.refused == {'too_far': 3}


def test_kinds_of_goals_that_are_not_known_count_as_poses():
    assert [kind_of(kind.value) for kind in GoalKind] == [*GoalKind]
    assert [kind_of(value) for value in ('nonsense', None, 3, [])] == [GoalKind.POSE] * 4


def test_of_joint_states_only_what_is_finite_and_known_counts():
    robot = load_robot(shared_file('urdf/ur5e.urdf'))
    q, (first, second, third, *_) = np.zeros(robot.n), robot.joint_names
    names, positions = [first, 'nobody', second, third], [np.nan, 1.0, 0.5]
    take_positions(JointState(name=names, position=positions), robot, q)
    np.testing.assert_array_equal(q, [0.0, 0.5, *np.zeros(robot.n - 2)])
