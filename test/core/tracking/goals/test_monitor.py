# SPDX-License-Identifier: Apache-2.0
"""Distances to singularities, compared with singular values of rows that are computed here."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core.tracking.goals.monitor import GoalMonitor

LENGTH = 0.3


def condition_of(rows):
    values = np.linalg.svd(rows, compute_uv=False)
    return values[0] / values[-1]


def across(axis):
    """Two unit vectors (2, 3) across an axis."""
    return np.linalg.svd(axis[None])[2][1:]


ROWS = {
    ik.PoseTask: lambda jacobian, tip: jacobian,
    ik.PositionTask: lambda jacobian, tip: jacobian[:3],
    ik.PositionAxisTask: lambda jacobian, tip: np.vstack(
        [jacobian[:3], across(tip[:3, 2]) @ jacobian[3:]]
    ),
    ik.AxisTask: lambda jacobian, tip: across(tip[:3, 2]) @ jacobian[3:],
}


@pytest.mark.parametrize('kind', ROWS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_the_condition_number_is_that_of_what_a_goal_asks_for(kind, name):
    """Axes are rows of which some depend on others; that is no singularity."""
    robot = robots.shipped(name)
    link = robots.tip_of(robot)
    q = robots.random_q(robot, np.random.default_rng(3), margin=0.3)
    tip = robot.forward_kinematics(q, link)
    problem = ik.IkProblem(robot, [kind(link)], orientation_length=LENGTH)
    jacobian = robot.jacobian(q, link) * np.r_[1.0, 1.0, 1.0, [LENGTH] * 3][:, None]
    target = np.r_[tip[:3, :3].ravel(), tip[:3, 3]]
    found = GoalMonitor(problem).condition_number(q, [target])
    assert found == pytest.approx(condition_of(ROWS[kind](jacobian, tip)), rel=1e-6)


def test_two_axes_are_three_rows_that_count():
    robot = robots.shipped('panda')
    link = robots.tip_of(robot)
    problem = ik.IkProblem(robot, [ik.TwoAxisTask(link)])
    q = robots.random_q(robot, np.random.default_rng(3), margin=0.3)
    tip = robot.forward_kinematics(q, link)
    target = np.r_[tip[:3, :3].ravel(), tip[:3, 3]]
    assert GoalMonitor(problem).condition_number(q, [target]) < 1e3
