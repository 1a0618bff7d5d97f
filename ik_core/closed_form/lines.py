"""Motions as matrices on a point together with a line through it.

A point p on a line of direction l has fifteen numbers,

    1, p, p.p,  l, p.l, p x l, (p.p) l - 2 (p.l) p

Under a motion p -> R p + d, l -> R l each becomes a linear combination of them, with coefficients
of degree one in R. So a joint is a matrix (15, 15) that is linear in the cosine and sine of its
angle, or quadratic in its shift, and a chain of joints is a product of such matrices. Turning
about the line itself changes none of the numbers. These are the fourteen equations of
[Raghavan1993], without their Denavit-Hartenberg parameters.
"""

from __future__ import annotations

import numpy as np

from ..maths.rotations import Array

NUMBERS = 15
_POINT, _SQUARE, _LINE, _ALONG = slice(1, 4), 4, slice(5, 8), 8
_MOMENT, _LAST = slice(9, 12), slice(12, 15)


def line_numbers(point: Array, direction: Array) -> Array:
    """The numbers (15,) of a point (3,) and of a line's direction (3,)."""
    square, along = point @ point, point @ direction
    moment = np.cross(point, direction)
    last = square * direction - 2.0 * along * point
    return np.concatenate([[1.0], point, [square], direction, [along], moment, last])


def motion_matrix(motion: Array) -> Array:
    """What a motion (4, 4) does to such numbers (15, 15)."""
    return _shift(motion[:3, 3]) @ _turn(motion[:3, :3], 1.0)


def joint_matrices(row: Array, slides: bool) -> Array:
    """Matrices (3, 15, 15) of a joint, the coefficients of 1, cos q and sin q, or of 1, d and d^2.

    row (6,): its axis and a point on it
    """
    axis, point = row[:3], row[3:]
    if slides:
        there, back = _shift(axis), _shift(-axis)
        return np.array(
            [np.eye(NUMBERS), 0.5 * (there - back), 0.5 * (there + back) - np.eye(NUMBERS)]
        )
    along, around = np.outer(axis, axis), _cross_matrix(axis)
    parts = [_turn(along, 1.0), _turn(np.eye(3) - along, 0.0), _turn(around, 0.0)]
    return _shift(point) @ np.array(parts) @ _shift(-point)


def inverse_joint(matrices: Array) -> Array:
    """Those of the inverse of a joint, of the same variable."""
    return matrices * np.array([1.0, 1.0, -1.0])[:, None, None]


def inverse_shift(matrices: Array) -> Array:
    """The same for a prismatic one."""
    return matrices * np.array([1.0, -1.0, 1.0])[:, None, None]


def _turn(rotation: Array, one: float) -> Array:
    """The part of a rotation (3, 3); `one`: what belongs to the numbers that it doesn't change."""
    matrix = np.zeros((NUMBERS, NUMBERS))
    for part in (_POINT, _LINE, _MOMENT, _LAST):
        matrix[part, part] = rotation
    for i in (0, _SQUARE, _ALONG):
        matrix[i, i] = one
    return matrix


def _shift(d: Array) -> Array:
    """The matrix of a translation (3,)."""
    matrix, around = np.eye(NUMBERS), _cross_matrix(d)
    matrix[_POINT, 0], matrix[_SQUARE, 0], matrix[_SQUARE, _POINT] = d, d @ d, 2.0 * d
    matrix[_ALONG, _LINE], matrix[_MOMENT, _LINE] = d, around
    matrix[_LAST, _LINE] = (d @ d) * np.eye(3) - 2.0 * np.outer(d, d)
    matrix[_LAST, _ALONG], matrix[_LAST, _MOMENT] = -2.0 * d, -2.0 * around
    return matrix


def _cross_matrix(v: Array) -> Array:
    """[v]x (3, 3)."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
