# SPDX-License-Identifier: Apache-2.0
"""`Motion.to_rerun`: the recording is read by Rerun's own reader, where it is installed."""

import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik

PANDA = robots.shipped('panda')


def motion():
    turns = np.linspace(0.0, 0.5, 5)[:, None] * np.arange(1.0, 9.0)
    return ik.motion.Motion(PANDA.joint_names, 0.1 * turns, 0.25)


def columns_of(path):
    """{(entity, column): its rows} of a recording, by Rerun's own reader."""
    from rerun.chunk import RrdReader

    found = {}
    for chunk in RrdReader(path).stream():
        batch = chunk.to_record_batch()
        for name, rows in zip(batch.schema.names, batch.columns, strict=True):
            found.setdefault((chunk.entity_path, name), []).extend(rows.to_pylist())
    return found


def test_without_rerun_it_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'rerun', None)
    with pytest.raises(ik.InvalidOption, match="needs rerun: pip install 'rerun-sdk"):
        motion().to_rerun(tmp_path / 'm.rrd')


def test_another_suffix_and_another_robot_are_refused(tmp_path):
    pytest.importorskip('rerun')
    pytest.importorskip('trimesh')
    with pytest.raises(ik.InvalidOption, match=r'm\.csv: the suffix .* is \.rrd'):
        motion().to_rerun(tmp_path / 'm.csv')
    with pytest.raises(ik.motion.InvalidMotion, match='does not move'):
        motion().to_rerun(tmp_path / 'm.rrd', robots.shipped('ur5e'))
    assert list(tmp_path.iterdir()) == []


def test_joints_are_curves_and_bodies_move(tmp_path):
    pytest.importorskip('rerun')
    pytest.importorskip('trimesh')
    path, made = tmp_path / 'm.rrd', motion()
    made.to_rerun(path, PANDA)
    columns = columns_of(path)
    seconds = [time.total_seconds() for time in columns['/joints/panda_joint3', 'time']]
    np.testing.assert_allclose(seconds, 0.25 * np.arange(5), atol=1e-9)
    curve = np.ravel(columns['/joints/panda_joint3', 'Scalars:scalars'])
    np.testing.assert_array_equal(curve, made.positions[:, 2])
    places = columns['/robot/panda_joint5', 'Transform3D:translation']
    turns = columns['/robot/panda_joint5', 'Transform3D:quaternion']
    offsets = []  # the body's z is the joint's axis, the link's frame is the URDF's
    for i, q in enumerate(made.positions):
        truth = PANDA.forward_kinematics(q, 'panda_link5')
        np.testing.assert_allclose(places[i][0], truth[:3, 3], atol=1e-6)
        turn = Rotation.from_quat(turns[i][0]).as_matrix()
        offsets.append(turn.T @ truth[:3, :3])
    np.testing.assert_allclose(offsets, np.tile(offsets[0], (5, 1, 1)), atol=1e-6)
    meshes = {entity for entity, name in columns if name == 'Mesh3D:vertex_positions'}
    assert {entity.split('/')[2] for entity in meshes} >= {f'panda_joint{i}' for i in range(1, 8)}
    (strip,) = columns['/robot/paths/panda_hand_tcp', 'LineStrips3D:strips']
    ends = [PANDA.forward_kinematics(q, 'panda_hand_tcp')[:3, 3] for q in made.positions]
    np.testing.assert_allclose(strip[0], ends, atol=1e-6)
