# SPDX-License-Identifier: Apache-2.0
"""Chains that are nearly closed, and the chains with formulas that they nearly are."""

import numpy as np
import pytest
from support import closed_form_chains
from support.first_attempts import measured

import ik_core as ik
from ik_core.cli.main import main
from ik_core.closed_form.chain import chain_of
from ik_core.closed_form.idealised_chain import LARGEST_CORRECTION, idealised_chains


def chain_with(robot):
    problem = ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())])
    return chain_of(problem.packed, point_only=False)


def distance(one, other):
    """Between two lines (6,), each an axis and a point [m]."""
    across = np.cross(one[:3], other[:3])
    return abs(across @ (other[3:] - one[3:])) / np.linalg.norm(across)


def spec(points, axes):
    return [('R', axis, point) for axis, point in zip(axes, points, strict=True)]


def offset_wrist(offset):
    """Two axes that meet, an elbow, and a wrist whose last axis misses the other two."""
    x, y, z = np.eye(3)
    at = [0.3 * z, 0.3 * z, 0.7 * z, 1.1 * z, 1.1 * z, 1.1 * z + offset * x]
    rng = np.random.default_rng(0)
    return closed_form_chains.chain(spec(at, [z, y, y, z, y, z]), rng)


@pytest.mark.parametrize('offset', [1e-3, 0.01, 0.02])
def test_a_wrist_with_an_offset_is_closed_by_moving_its_axes_alone(offset):
    chain = chain_with(offset_wrist(offset))
    ideal = next(idealised_chains(chain))
    np.testing.assert_array_equal(ideal.rows[:, :3], chain.rows[:, :3])
    np.testing.assert_array_equal(ideal.rows[:3], chain.rows[:3])
    assert distance(ideal.rows[4], ideal.rows[5]) < 1e-12
    assert distance(chain.rows[3], chain.rows[4]) < 1e-12
    point = ideal.rows[3, 3:]
    np.testing.assert_allclose(ideal.rows[3:, 3:], np.tile(point, (3, 1)))
    for row in chain.rows[3:]:  # not further than they have to
        gap = point - row[3:]
        assert np.linalg.norm(gap - (gap @ row[:3]) * row[:3]) <= offset


def test_axes_that_miss_each_other_by_far_are_left():
    chain = chain_with(offset_wrist(3.5 * LARGEST_CORRECTION))
    assert all(ideal.rows[3:, 3:].std(0).max() > 1e-3 for ideal in idealised_chains(chain))


def test_a_measured_ur5e_is_nearly_one_with_parallel_axes():
    chain = chain_with(ik.load_urdf(measured('ur5e', 3)))
    ideal = next(idealised_chains(chain))
    assert np.abs(np.cross(chain.rows[1, :3], chain.rows[2, :3])).max() > 1e-4
    assert distance(chain.rows[4], chain.rows[5]) > 1e-5
    np.testing.assert_allclose(np.cross(ideal.rows[1, :3], ideal.rows[2, :3]), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.cross(ideal.rows[1, :3], ideal.rows[3, :3]), 0.0, atol=1e-15)
    assert (
        min(distance(ideal.rows[4], ideal.rows[5]), distance(ideal.rows[0], ideal.rows[5])) < 1e-12
    )
    np.testing.assert_allclose(ideal.rows[:, :3], chain.rows[:, :3], atol=2e-3)


def test_axes_that_point_the_other_way_stay_so():
    robot = offset_wrist(0.0)
    chain = chain_with(robot)
    chain.rows[1, :3] = -chain.rows[1, :3] + 1e-3 * np.array([1.0, 0.0, 0.0])
    chain.rows[1, :3] /= np.linalg.norm(chain.rows[1, :3])
    ideal = next(
        one for one in idealised_chains(chain) if (one.rows[2, :3] != chain.rows[2, :3]).any()
    )
    np.testing.assert_allclose(ideal.rows[1, :3], -ideal.rows[2, :3], atol=1e-15)
    np.testing.assert_allclose(ideal.rows[1, :3], chain.rows[1, :3], atol=1e-3)


def test_slides_have_no_ideal():
    rng = np.random.default_rng(1)
    joints = spec(rng.uniform(size=(6, 3)), np.eye(3)[[0, 1, 2, 0, 1, 2]])
    joints[2] = ('P', *joints[2][1:])
    assert not list(idealised_chains(chain_with(closed_form_chains.chain(joints, rng))))


def test_info_says_where_searches_of_a_measured_arm_begin(tmp_path, capsys):
    path = tmp_path / 'measured.urdf'
    path.write_text(measured('ur5e', 3))
    assert main(['info', str(path)]) == 0
    assert (
        'a chain of 6, by eigenvalues; searches begin at the closed form of nearly three '
        'parallel axes '
        '(shoulder_lift_joint, elbow_joint, wrist_1_joint)'
    ) in capsys.readouterr().out
    assert main(['info', 'pr2_like']) == 0
    assert ', with torso_lift_joint at the start value' in capsys.readouterr().out
    assert main(['info', 'ur5e']) == 0
    assert 'searches begin' not in capsys.readouterr().out
