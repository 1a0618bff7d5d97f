# SPDX-License-Identifier: Apache-2.0
"""Rotations against scipy's, with the angles where formulas break: 0, tiny, half a turn."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ik_core.exceptions import InvalidGoal
from ik_core.maths import rotations

RNG = np.random.default_rng(20)
AXES = [
    *np.eye(3),
    *-np.eye(3),
    *(Rotation.random(40, random_state=3).apply([0.0, 0.0, 1.0])),
    np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0),
    np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0),
    np.array([0.0, 1.0, -1.0]) / np.sqrt(2.0),
    np.array([1.0, 1.0, 1.0]) / np.sqrt(3.0),
    np.array([1.0, 1e-9, -1e-9]),
]
ANGLES = [0.0, 1e-160, 1e-12, 1e-9, 1e-6, 1e-3, 0.0099, 0.0101, 0.5, 1.0, 2.0, 2.1, 3.0,
          3.1415, np.pi - 1e-6, np.pi - 1e-9]  # fmt: skip


def frame(rotation, position=(0.0, 0.0, 0.0)):
    return (*rotation.as_matrix().ravel().tolist(), *map(float, position))


def transform(frame):
    return rotations.transform_of(np.array(frame))


def log(matrix):
    return np.array(rotations.relative_log(frame(Rotation.identity()), frame(matrix)))


def inverse_left_jacobian(vector):
    return np.array(rotations.inverse_left_jacobian(*map(float, vector)))


def test_compose_is_the_product_of_transforms():
    for _ in range(20):
        a, b = (frame(r, RNG.normal(size=3)) for r in Rotation.random(2, random_state=RNG))
        product = transform(a) @ transform(b)
        np.testing.assert_allclose(transform(rotations.compose(a, b)), product, atol=1e-14)


def test_vectors_go_into_the_axes_of_a_frame_and_back():
    rotation, v = Rotation.random(random_state=RNG), (0.3, -0.7, 1.1)
    np.testing.assert_allclose(
        rotations.from_axes(frame(rotation), v), rotation.apply(v), atol=1e-15
    )
    np.testing.assert_allclose(
        rotations.in_axes(frame(rotation), v), rotation.inv().apply(v), atol=1e-15
    )


def test_frame_and_transform_are_each_others_inverse():
    transform = rotations.transform_of(np.arange(12.0))
    expected = [[0, 1, 2, 9], [3, 4, 5, 10], [6, 7, 8, 11], [0, 0, 0, 1]]
    np.testing.assert_array_equal(transform, expected)
    np.testing.assert_array_equal(rotations.frame_of(transform), np.arange(12.0))


@pytest.mark.parametrize('angle', ANGLES)
def test_log_gives_back_axis_times_angle(angle):
    for axis in AXES:
        axis = axis / np.linalg.norm(axis)
        vector = log(Rotation.from_rotvec(angle * axis))
        np.testing.assert_allclose(vector, angle * axis, rtol=0, atol=1e-15 + 4e-15 * angle)


def test_log_of_the_exact_identity_is_exactly_zero():
    assert log(Rotation.identity()).tolist() == [0.0, 0.0, 0.0]


def test_log_keeps_the_digits_of_tiny_angles():
    vector = log(Rotation.from_rotvec([1e-9, -2e-9, 3e-9]))
    np.testing.assert_allclose(vector, [1e-9, -2e-9, 3e-9], rtol=1e-6)


def test_log_at_half_a_turn_has_length_pi_and_the_axis_up_to_sign():
    for axis in AXES:
        axis = axis / np.linalg.norm(axis)
        exact = 2.0 * np.outer(axis, axis) - np.eye(3)
        vector = log(Rotation.from_matrix(exact))
        assert np.linalg.norm(vector) == pytest.approx(np.pi, abs=1e-7)
        assert abs(vector @ axis) == pytest.approx(np.pi, abs=1e-7)


def test_log_beyond_half_a_turn_goes_the_short_way():
    for axis in AXES[:10]:
        axis = axis / np.linalg.norm(axis)
        vector = log(Rotation.from_rotvec(4.0 * axis))
        np.testing.assert_allclose(vector, (4.0 - 2.0 * np.pi) * axis, atol=1e-14)


def test_relative_log_is_scipys_of_the_inverse_of_the_first_times_the_second():
    for _ in range(200):
        a, b = Rotation.random(2, random_state=RNG)
        vector = rotations.relative_log(frame(a, [1, 2, 3]), frame(b, [4, 5, 6]))
        np.testing.assert_allclose(vector, (a.inv() * b).as_rotvec(), atol=1e-13)


def test_quaternion_of_uses_each_of_its_four_branches():
    for quaternion in [*np.eye(4), *(Rotation.random(200, random_state=RNG).as_quat())]:
        matrix = Rotation.from_quat(quaternion).as_matrix()
        result = np.array(rotations.quaternion_of(*matrix.ravel()))
        assert abs(result @ quaternion) == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(np.linalg.norm(result), 1.0, atol=1e-15)


def test_quaternion_from_matrix_has_w_not_negative():
    for rotation in Rotation.random(100, random_state=RNG):
        result = rotations.quaternion_from_matrix(rotation.as_matrix())
        expected = rotation.as_quat()
        np.testing.assert_allclose(result, expected * np.sign(expected[3]), atol=1e-14)
    assert rotations.quaternion_from_matrix(np.eye(4)).tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize('angle', [1e-8, 1e-3, 0.00999, 0.01001, 1.0, 2.5, 3.1, np.pi - 1e-4])
def test_inverse_left_jacobian_is_the_rate_of_the_log(angle):
    for axis in AXES:
        rotation = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
        numeric = np.empty((3, 3))
        for i in range(3):
            omega = 1e-5 * np.eye(3)[i]
            above = log(Rotation.from_rotvec(omega) * rotation)
            below = log(Rotation.from_rotvec(-omega) * rotation)
            numeric[:, i] = (above - below) / 2e-5
        exact = inverse_left_jacobian(rotation.as_rotvec())
        np.testing.assert_allclose(exact, numeric, rtol=0, atol=2e-9 * max(1.0, angle**2))


def test_inverse_left_jacobian_is_finite_at_zero_and_at_half_a_turn():
    np.testing.assert_array_equal(inverse_left_jacobian([0.0, 0.0, 0.0]), np.eye(3))
    at_pi = inverse_left_jacobian([0.0, 0.0, np.pi])
    expected = [[0, np.pi / 2, 0], [-np.pi / 2, 0, 0], [0, 0, 1]]
    np.testing.assert_allclose(at_pi, expected, atol=1e-15)


def test_the_gradient_of_the_squared_angle_is_the_log_itself():
    # (d log / d omega)' log = log: what lets geometric columns stand in for exact ones.
    for vector in RNG.normal(size=(50, 3)):
        np.testing.assert_allclose(inverse_left_jacobian(vector).T @ vector, vector, atol=1e-14)


def test_log_curvature_meets_its_series_without_a_step():
    below, above = rotations.log_curvature(1e-4 * (1 - 1e-9)), rotations.log_curvature(1e-4)
    assert below == pytest.approx(above, abs=4e-12)  # above it, digits cancel
    assert below == pytest.approx(1 / 12 + 1e-4 / 720 + 1e-8 / 30240, abs=5e-14)
    # 1/t^2 - (1 + cos t) / (2 t sin t), in digits enough at t = 1
    assert rotations.log_curvature(1.0) == pytest.approx(
        1.0 - (1.0 + np.cos(1.0)) / (2.0 * np.sin(1.0)), rel=1e-14
    )
    assert rotations.log_curvature(np.pi**2) == pytest.approx(1.0 / np.pi**2, rel=1e-14)


def test_matrix_from_quaternion_of_any_length():
    for quaternion in RNG.normal(size=(50, 4)):
        expected = Rotation.from_quat(quaternion).as_matrix()
        for scale in (1.0, -1.0, 1e-9, 1e200):
            result = rotations.matrix_from_quaternion(scale * quaternion)
            np.testing.assert_allclose(result, expected, atol=1e-14)


@pytest.mark.parametrize(
    ('quaternion', 'match'),
    [
        ([0, 0, 0, 0], 'zero'),
        ([0, 0, 0, np.nan], 'not finite'),
        ([0, np.inf, 0, 1], 'not finite'),
        ([0, 0, 1], 'shape'),
        (['x', 0, 0, 1], 'not made of numbers'),
    ],
)
def test_matrix_from_quaternion_refuses(quaternion, match):
    with pytest.raises(InvalidGoal, match=match):
        rotations.matrix_from_quaternion(quaternion)


def test_matrix_from_rpy_is_about_fixed_axes():
    for rpy in RNG.uniform(-3, 3, (20, 3)):
        expected = Rotation.from_euler('xyz', rpy).as_matrix()
        np.testing.assert_allclose(rotations.matrix_from_rpy(rpy), expected, atol=1e-14)


@pytest.mark.parametrize('axis', [
    [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.6, 0.0, 0.8],
    [1e-9, 0.0, -1.0], [3e-8, -4e-8, -1.0], [1e-9, 2e-9, 1.0], [0.48, -0.64, -0.6],
])  # fmt: skip
def test_the_shortest_turn_onto_an_axis_is_about_an_axis_across_both(axis):
    unit = np.array(axis) / np.linalg.norm(axis)
    matrix = rotations.shortest_turn_onto(unit)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(matrix) == pytest.approx(1.0)
    np.testing.assert_allclose(matrix[:, 2], unit, atol=1e-16)
    turn = Rotation.from_matrix(matrix)
    angle = np.arctan2(np.hypot(unit[0], unit[1]), unit[2])
    assert turn.magnitude() == pytest.approx(angle, abs=1e-12)
    assert turn.as_rotvec()[2] == pytest.approx(0.0, abs=1e-7)


def test_matrix_onto_axis_is_a_rotation_whose_z_is_the_axis():
    for axis in AXES:
        axis = axis / np.linalg.norm(axis)
        matrix = rotations.matrix_onto_axis(axis)
        np.testing.assert_allclose(matrix[:, 2], axis, atol=1e-15)
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), atol=1e-14)
        assert np.linalg.det(matrix) == pytest.approx(1.0)
