"""Newton's method for six joints, on many candidates at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array

STEPS = 6
EXACT_ENOUGH = 1e-13
"""Errors [m, rad] that are not made smaller."""
TINY = 1e-300
FARTHEST = 0.3
"""No joint goes farther in a step [rad, m]."""


class Six:
    """Six joints in a row.

    rows (6, 6): axis and point [m] of each, all at zero; slides (6,): which are prismatic
    """

    def __init__(self, rows: Array, slides: NDArray[np.bool_]) -> None:
        self.rows, self.slides = rows, slides
        self._parts = np.array([_parts(r, s) for r, s in zip(rows, slides, strict=True)])

    def motions(self, values: Array) -> Array:
        """The motions (k, 6, 4, 4) of the joints at values (k, 6)."""
        one, two = np.cos(values), np.sin(values)
        one[:, self.slides], two[:, self.slides] = values[:, self.slides], 0.0
        fixed, first, second = self._parts[:, 0], self._parts[:, 1], self._parts[:, 2]
        return fixed + one[..., None, None] * first + two[..., None, None] * second

    def complete(self, values: Array, joint: int, target: Array) -> None:
        """Set the value of one joint of each row (k, 6) by all others, as near as can be."""
        motions = self.motions(values)
        before, behind = np.eye(4), np.eye(4)
        for i in range(joint):
            before = before @ motions[:, i]
        for i in range(5, joint, -1):
            behind = motions[:, i] @ behind
        own = np.linalg.inv(before) @ target @ np.linalg.inv(behind)
        axis = self.rows[joint, :3]
        if self.slides[joint]:
            values[:, joint] = own[..., :3, 3] @ axis
        else:
            cosine = 0.5 * (np.trace(own[..., :3, :3], axis1=-2, axis2=-1) - 1.0)
            values[:, joint] = np.arctan2(_vee(own) @ axis, cosine)

    def polish(self, values: Array, target: Array) -> Array:
        """Lead values (k, 6) to solutions; return the errors (k,) [m, rad] that are left."""
        errors = np.full(len(values), np.inf)
        going = np.arange(len(values))
        best = values.copy()
        for step in range(STEPS + 1):
            jacobians, twists = self._linearised(values[going], target)
            now = np.abs(twists).max(axis=1, initial=0.0)
            better = now < errors[going]
            best[going[better]], errors[going[better]] = values[going[better]], now[better]
            kept = better & (now > EXACT_ENOUGH)
            going = going[kept]
            if step == STEPS or not len(going):
                break
            moves = _solved(jacobians[kept], twists[kept])
            sizes = np.abs(moves).max(axis=1, keepdims=True)
            values[going] += moves * np.minimum(1.0, FARTHEST / np.maximum(sizes, FARTHEST))
        values[:] = best
        return errors

    def regularity(self, values: Array) -> Array:
        """The least singular values of the Jacobians at values (k, 6), as shares (k,) of the
        largest."""
        sizes = np.linalg.svd(self._linearised(values, np.eye(4))[0], compute_uv=False)
        return np.asarray(sizes[:, -1] / np.maximum(sizes[:, 0], TINY), float)

    def _linearised(self, values: Array, target: Array) -> tuple[Array, Array]:
        """The Jacobians (k, 6, 6) of the twist about the origin, and the twists (k, 6) that are
        left to the target."""
        motions, frame = self.motions(values), np.tile(np.eye(4), (len(values), 1, 1))
        jacobians = np.empty((len(values), 6, 6))
        for i, (row, slides) in enumerate(zip(self.rows, self.slides, strict=True)):
            axis = frame[:, :3, :3] @ row[:3]
            if slides:
                jacobians[:, :3, i], jacobians[:, 3:, i] = 0.0, axis
            else:
                point = frame[:, :3, :3] @ row[3:] + frame[:, :3, 3]
                jacobians[:, :3, i], jacobians[:, 3:, i] = axis, np.cross(point, axis)
            frame = frame @ motions[:, i]
        turn = target[:3, :3] @ frame[:, :3, :3].transpose(0, 2, 1)
        shift = target[:3, 3] - (turn @ frame[:, :3, 3, None])[..., 0]
        return jacobians, np.concatenate([_vee(turn), shift], axis=1)


def _parts(row: Array, slides: bool) -> Array:
    """Matrices (3, 4, 4) of a joint, the coefficients of 1, cos q and sin q; or of 1 and q."""
    axis, point = row[:3], row[3:]
    parts = np.zeros((3, 4, 4))
    if slides:
        parts[0], parts[1, :3, 3] = np.eye(4), axis
        return parts
    x, y, z = axis
    parts[0, :3, :3] = np.outer(axis, axis)
    parts[1, :3, :3] = np.eye(3) - parts[0, :3, :3]
    parts[2, :3, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    parts[:, :3, 3] = -parts[:, :3, :3] @ point
    parts[0, :3, 3] += point
    parts[0, 3, 3] = 1.0
    return parts


def _vee(turn: Array) -> Array:
    """The axis of small turns (k, 3 or 4, 3 or 4), as long as the sine of the angle: (k, 3)."""
    return 0.5 * np.stack(
        [
            turn[..., 2, 1] - turn[..., 1, 2],
            turn[..., 0, 2] - turn[..., 2, 0],
            turn[..., 1, 0] - turn[..., 0, 1],
        ],
        axis=-1,
    )


def _solved(matrices: Array, sides: Array) -> Array:
    """The solutions (k, 6), the shortest ones of singular matrices (k, 6, 6)."""
    try:
        found = np.linalg.solve(matrices, sides[..., None])
    except np.linalg.LinAlgError:
        found = np.linalg.pinv(matrices, rcond=1e-10) @ sides[..., None]
    return np.asarray(found[..., 0], float)
