# SPDX-License-Identifier: Apache-2.0
"""Status codes, and warnings with their figures."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import load, snapshot

from ik_core.tracking import TrackStatus
from ik_core.tracking.instructions import SetGoal
from ik_node.outputs.codes import Hazard, StatusCode, hazards
from ik_node.robot_model import Model

TIP = 'panda_hand'
BENT = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.8, 0.6, 0.02])
STRETCHED = np.array([0.0, 0.0, 0.0, -0.0698, 0.0, 0.0, 0.0, 0.02])


def at(q, **options):
    """A Panda that has its goal where it stands, and its command there."""
    model = Model(load('panda'), snapshot(tip_links=(TIP,), **options))
    model.tracker.reset(q)
    model.apply(SetGoal(0, model.tip_pose(0), 0.0))
    return model, model.tracker.tick(0.0)


def test_every_status_of_the_tracker_has_a_code_and_no_number_is_there_twice():
    for status in TrackStatus:
        assert StatusCode[status.name].key == status.value
        assert StatusCode[status.name].text == status.text
    numbers = [member.number for kind in (StatusCode, Hazard) for member in kind]
    assert len(set(numbers)) == len(numbers)


def test_numbers_are_servos_where_it_has_the_same():
    assert (Hazard.NONE.number, Hazard.APPROACHING_SINGULARITY.number) == (0, 1)
    assert (Hazard.AT_SINGULARITY.number, Hazard.JOINT_BOUND.number) == (2, 6)


def test_a_bent_arm_is_in_no_danger():
    found = hazards(*at(BENT))
    assert found.worst is Hazard.NONE
    assert found.joints_at_bound == ()


@pytest.mark.parametrize('share', [0.0, 0.5, 0.9, 1.0])
def test_the_warning_follows_the_condition_number_of_the_weighted_jacobian(share):
    q = BENT + share * (STRETCHED - BENT)
    model, command = at(q, orientation_length=0.3)
    jacobian = model.robot.jacobian(command.q, TIP)[:, :7]
    jacobian[3:] *= 0.3
    values = np.linalg.svd(jacobian, compute_uv=False)
    expected = values[0] / values[-1]
    found = hazards(model, command)
    assert found.condition_number == pytest.approx(expected, rel=1e-3)
    if expected >= 30.0:
        assert found.worst is Hazard.AT_SINGULARITY
    elif expected >= 17.0:
        assert found.worst is Hazard.APPROACHING_SINGULARITY
    else:
        assert found.worst is Hazard.NONE


def test_both_warnings_of_singularities_occur():
    shares = np.linspace(0.0, 1.0, 30)
    found = {hazards(*at(BENT + share * (STRETCHED - BENT))).worst for share in shares}
    assert {Hazard.NONE, Hazard.APPROACHING_SINGULARITY, Hazard.AT_SINGULARITY} <= found


@pytest.mark.parametrize('margin', [0.01, 0.1])
def test_a_joint_near_its_limit_is_named(margin):
    model, _ = at(BENT)
    for side in (model.robot.lower + 0.9 * margin, model.robot.upper - 0.9 * margin):
        q = BENT.copy()
        q[0] = side[0]
        found = hazards(*at(q, joint_limit_margin=margin))
        assert found.joints_at_bound == ('panda_joint1',)
        q[0] = side[0] + np.sign(BENT[0] - side[0]) * 0.2 * margin
        assert hazards(*at(q, joint_limit_margin=margin)).joints_at_bound == ()


def test_joints_at_a_limit_are_told_with_a_singularity_too():
    q = STRETCHED.copy()
    assert hazards(*at(q)).text == 'at a singularity and at a joint limit: panda_joint4'
    q[3] -= 0.05
    assert hazards(*at(q)).text == 'at a singularity'
    q = BENT.copy()
    q[[0, 6]] = load('panda').upper[[0, 6]]
    assert hazards(*at(q)).text == 'at a joint limit: panda_joint1, panda_joint7'
    assert hazards(*at(BENT)).text == ''


def test_joints_that_goals_do_not_move_are_not_watched():
    q = BENT.copy()
    q[7] = 0.0  # the gripper is closed: at its limit
    assert hazards(*at(q)).joints_at_bound == ()
    q[0] = load('panda').upper[0]
    assert hazards(*at(q, frozen_joints=('panda_joint1',))).joints_at_bound == ()


def test_without_a_goal_there_is_nothing_to_beware_of():
    model, _ = at(STRETCHED)
    model.tracker.reset(STRETCHED)
    found = hazards(model, model.tracker.tick(0.0))
    assert (found.worst, found.condition_number) == (Hazard.NONE, 0.0)
