# SPDX-License-Identifier: Apache-2.0
"""Link poses by pinocchio, to hold ours against."""

from pathlib import Path

import numpy as np
import pytest

from ik_core.robot.robot import Robot

pin = pytest.importorskip('pinocchio')


def load(urdf: Path) -> 'pin.Model':
    """The model; mimic joints are joints of their own in it, and follow the values we set."""
    return pin.buildModelFromUrdf(str(urdf))


def link_poses(model: 'pin.Model', values: dict[str, float]) -> dict[str, np.ndarray]:
    """The pose (4, 4) of each link in the root's frame at the given joint positions by name."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, _configuration(model, values))
    return {
        frame.name: data.oMf[i].homogeneous
        for i, frame in enumerate(model.frames)
        if frame.type == pin.BODY
    }


def _configuration(model: 'pin.Model', values: dict[str, float]) -> np.ndarray:
    q = pin.neutral(model)
    for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:  # [0]: universe
        if joint.nq == 1:
            q[joint.idx_q] = values[name]
        elif joint.nq == 2:  # continuous
            q[joint.idx_q : joint.idx_q + 2] = np.cos(values[name]), np.sin(values[name])
    return q


def worst_difference(robot: Robot, model: 'pin.Model', seed: int, count: int = 20) -> float:
    """The largest difference of any entry of any link's pose, over random configurations.

    Positions leave the limits on purpose: they are kinematics all the same.
    """
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(count):
        q = rng.uniform(-3.0, 3.0, robot.n)
        frames = robot.frames(q)
        expected = link_poses(model, robot.joint_values(q))
        assert set(robot.link_names) == set(expected) - {'universe'}
        for link in robot.link_names:
            worst = max(worst, np.abs(robot.link_transform(frames, link) - expected[link]).max())
    return worst
