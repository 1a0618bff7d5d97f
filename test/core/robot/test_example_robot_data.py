# SPDX-License-Identifier: Apache-2.0
"""The robots of the example-robot-data package load silently, and agree with pinocchio."""

from xml.etree import ElementTree

import numpy as np
import pytest
from support.example_robot_data import EMPTY, URDFS

from ik_core.exceptions import UrdfError
from ik_core.robot import load_robot

pytestmark = pytest.mark.skipif(not URDFS, reason='example-robot-data is not installed')
LOADABLE = [path for path in URDFS if path.name != EMPTY]
each_urdf = pytest.mark.parametrize(
    'path', LOADABLE, ids=[f'{path.parts[-3]}-{path.stem}' for path in LOADABLE]
)


def test_they_are_all_there():
    assert len(URDFS) >= 69  # as many as version 6.0.0 has


@each_urdf
def test_loads_silently(path, capfd):
    robot = load_robot(path)
    assert capfd.readouterr() == ('', '')
    assert robot.link_names
    assert (robot.lower <= robot.upper).all()
    assert (robot.velocity > 0).all()
    assert np.isfinite(robot.middle_configuration).all()


@each_urdf
def test_poses_agree_with_pinocchio(path):
    oracle = pytest.importorskip('support.pinocchio_oracle')
    assert oracle.worst_difference(load_robot(path), oracle.load(path), seed=len(path.name)) < 1e-9


@each_urdf
def test_limits_agree_with_pinocchio(path):
    """Limits of joints that others mimic may be narrower here, so they are left out."""
    oracle = pytest.importorskip('support.pinocchio_oracle')
    robot, model = load_robot(path, soft_limits=False), oracle.load(path)
    mimicked = {mimic.joint for mimic in robot.mimic_joints.values()}
    for i, name in enumerate(robot.joint_names):
        joint = model.joints[model.getJointId(name)]
        if robot.continuous[i]:
            assert joint.nq == 2
        elif name not in mimicked:
            assert robot.lower[i] == _bound(model.lowerPositionLimit[joint.idx_q])
            assert robot.upper[i] == _bound(model.upperPositionLimit[joint.idx_q])
            if np.isfinite(robot.velocity[i]):
                assert robot.velocity[i] == model.velocityLimit[joint.idx_v]


@each_urdf
def test_soft_limits_narrow_the_limits_of_the_file(path):
    """As the elements of the file say; pinocchio does not read them."""
    hard, soft = load_robot(path, soft_limits=False), load_robot(path)
    joints = {j.get('name'): j for j in ElementTree.parse(path).getroot().iterfind('joint')}
    mimicked = {mimic.joint for mimic in hard.mimic_joints.values()}
    for i, name in enumerate(hard.joint_names):
        safety = joints[name].find('safety_controller')
        given = {} if safety is None else safety.attrib
        low = float(given.get('soft_lower_limit', 0.0))
        high = float(given.get('soft_upper_limit', 0.0))
        expected = hard.lower[i], hard.upper[i]
        if low < high and not hard.continuous[i]:
            expected = max(low, hard.lower[i]), min(high, hard.upper[i])
        if name not in mimicked:
            assert (soft.lower[i], soft.upper[i]) == expected


def _bound(limit: float) -> float:
    return limit if abs(limit) <= 1e9 else np.copysign(np.inf, limit)


def test_the_empty_robot_is_refused():
    path = next(p for p in URDFS if p.name == EMPTY)
    with pytest.raises(UrdfError, match='empty'):
        load_robot(path)


def test_a_mimic_of_a_missing_joint_is_ignored_with_a_warning():
    robot = load_robot(next(p for p in URDFS if p.stem == 'alex_psyonic_hands'))
    assert 'Left_index_q2' in robot.joint_names
    assert any("'Left_index_q2'" in w and "'index_q1'" in w for w in robot.warnings)
