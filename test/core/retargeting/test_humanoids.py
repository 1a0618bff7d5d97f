# SPDX-License-Identifier: Apache-2.0
"""The captured throw on humanoids that have other joints: only links lead."""

import numpy as np
import pytest
from support.example_robot_data import URDFS
from support.mocap_figures import clip, needs_clips

import ik_core as ik
from ik_core.maths.rotations import matrix_from_rpy

ENDS = ('lhand', 'rhand', 'lfoot', 'rfoot')
HUMANOIDS = {
    'talos_reduced': (
        'gripper_left_base_link', 'gripper_right_base_link', 'left_sole_link', 'right_sole_link',
    ),
    'romeo': ('l_gripper', 'r_gripper', 'l_sole', 'r_sole'),
}  # fmt: skip


@needs_clips
@pytest.mark.parametrize('name', HUMANOIDS)
def test_a_humanoid_throws(name):
    paths = {path.stem: path for path in URDFS}
    if name not in paths:
        pytest.skip('example-robot-data is not installed')
    robot = ik.load_robot(paths[name], floating_base=True)
    source, motion = ik.motion.load_mocap(clip('124_01.amc'))
    upright = np.eye(4)
    upright[:3, :3] = matrix_from_rpy([np.pi / 2, 0.0, 0.0])
    made = ik.retargeting.retarget(
        motion.resampled(1 / 30),
        robot,
        dict(zip(ENDS, HUMANOIDS[name], strict=True)),
        source=source,
        joints={},
        scale='length',
        transform=upright,
    )
    assert made.joints == ()
    near = made.link_errors.max(axis=1) < 1e-3
    assert near.mean() > 0.85  # in the others an arm or a leg is at its limits
    assert made.link_errors.mean() < 5e-3
    q = made.motion.positions
    assert ((robot.lower <= q) & (q <= robot.upper)).all()
    feet = [robot.forward_kinematics(q[0], link)[2, 3] for link in HUMANOIDS[name][2:]]
    head = max(robot.forward_kinematics(q[0], link)[2, 3] for link in robot.link_names)
    assert head - max(feet) > 0.9  # it stands
