# SPDX-License-Identifier: Apache-2.0
"""Names of the branches of solutions of a six-joint arm, which stay the same along a path.

A name is made of the signs of the factors of the Jacobian's determinant, so it can only change at
a singularity. Two kinds of arms have three factors: those whose last three axes meet in a point,
and those whose second to fourth axes are parallel, as a UR's; in both the second and the third
axis are parallel. With axes a1 ... a6, points p1 ... on them, and the wrist's centre w, where the
last axes meet:

    shoulder    a2 . (a1 x (w - p1))            left, right
    elbow       a2 . ((p3 - p2) x (e - p3))     up, down; e = w, or p4 for a UR
    wrist       a5 . (a4 x a6)                  flip, no flip

The elbow is up if it is above the line from shoulder to wrist, with a1 as up, where the arm
reaches forward. All other arms have the sign of the determinant alone: + or -.
"""

from __future__ import annotations

import numpy as np

from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.kinematics import VARIABLE

ALIGNED = 1e-6  # [m], and sine: axes that miss a point or lean by less meet or are parallel
SEED = 6  # of the configuration at which the structure is looked at


def branch_names(problem: IkProblem, q: Array) -> list[str]:
    """The names of the branches of configurations (k, n); '' where the chain has none.

    That is: unless six joints, each with one axis, move the link of one whole pose goal.
    """
    bodies = _bodies(problem)
    if bodies is None:
        return [''] * len(q)
    rng, robot = np.random.default_rng(SEED), problem.robot
    trial = problem.default_configuration.copy()
    trial[problem.variables] += rng.uniform(0.2, 0.6, len(problem.variables))
    axes, points = _axes(problem, trial[np.newaxis], bodies)
    centre, is_wrist, is_planar = _structure(axes, points)
    if centre is None:
        goal = problem.goals[0]
        jacobians = robot.jacobian(q, goal.link)[:, :, problem.variables]
        return ['+' if sign > 0.0 else '-' for sign in np.linalg.det(jacobians)]
    axes, points = _axes(problem, q, bodies)
    w = _meeting_points(axes[:, 4], points[:, 4], axes[:, 5], points[:, 5])
    end = points[:, 3] if is_planar and not is_wrist else w
    a1, a2, a4, a5, a6 = (axes[:, i] for i in (0, 1, 3, 4, 5))
    shoulder = _triple(a2, a1, w - points[:, 0])
    elbow = _triple(a2, points[:, 2] - points[:, 1], end - points[:, 2]) * shoulder
    wrist = _triple(a5, a4, a6)
    words = ('left', 'right'), ('up', 'down'), ('no flip', 'flip')
    signs = np.column_stack([shoulder, elbow, wrist]) < 0.0
    return [', '.join(words[j][int(sign)] for j, sign in enumerate(row)) for row in signs]


def _bodies(problem: IkProblem) -> list[int] | None:
    """The six bodies that the problem moves along the chain of its one pose goal, or None."""
    if len(problem.goals) != 1 or len(problem.variables) != 6:
        return None
    goal, robot = problem.goals[0], problem.robot
    if goal.fixed_freedoms != 6 or goal.relative_to is not None:
        return None
    moving = set(problem.variables.tolist())
    bodies = [k for k in robot.body_path(goal.link) if int(robot.tree[k, VARIABLE]) in moving]
    return bodies if len(bodies) == 6 else None


def _axes(problem: IkProblem, q: Array, bodies: list[int]) -> tuple[Array, Array]:
    """Axes (k, 6, 3) and points on them (k, 6, 3) at q (k, n), in the root link's frame."""
    frames = np.empty((len(q), len(problem.robot.tree), 12))
    for i, row in enumerate(q):
        frames[i] = problem.robot.frames(row)
    frames = frames[:, bodies]
    return frames[:, :, [2, 5, 8]], frames[:, :, 9:]


def _structure(axes: Array, points: Array) -> tuple[Array | None, bool, bool]:
    """The wrist's centre, None without three factors; whether the last three axes meet in it, and
    whether the second to fourth are parallel; from axes (1, 6, 3) and points."""
    a, p = axes[0], points[0]

    def parallel(i: int, j: int) -> bool:
        return bool(np.linalg.norm(np.cross(a[i], a[j])) < ALIGNED)

    def distance(point: Array, i: int) -> float:
        return float(np.linalg.norm(np.cross(point - p[i], a[i])))

    if not parallel(1, 2) or parallel(0, 1) or parallel(4, 5):
        return None, False, False
    centre = _meeting_points(axes[:, 4], points[:, 4], axes[:, 5], points[:, 5])[0]
    meet = max(distance(centre, 4), distance(centre, 5)) < ALIGNED
    is_wrist = meet and distance(centre, 3) < ALIGNED and not parallel(3, 4)
    is_planar = meet and parallel(2, 3) and not parallel(3, 4)
    return (centre if is_wrist or is_planar else None), is_wrist, is_planar


def _meeting_points(a: Array, p: Array, b: Array, q: Array) -> Array:
    """The points (k, 3) of lines along b (k, 3) through q nearest to lines along a through p."""
    normal = np.cross(a, b)
    along = np.einsum('ki,ki->k', np.cross(q - p, a), normal)
    return q + (along / np.einsum('ki,ki->k', normal, normal))[:, np.newaxis] * b


def _triple(a: Array, b: Array, c: Array) -> Array:
    """The triple products (k,) a . (b x c)."""
    return np.asarray(np.einsum('ki,ki->k', a, np.cross(b, c)))
