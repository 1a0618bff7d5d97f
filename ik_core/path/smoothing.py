# SPDX-License-Identifier: Apache-2.0
"""Smoothing of a sequence of configurations in the freedom that the goal leaves.

Least is the mean square of velocities, accelerations and jerks over their limits, at a constant
speed along the path, with the joints' limits as stiff springs. Each round is a least squares
problem in the null space of the goal's Jacobian; then each configuration is led back to its pose.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, solveh_banded

from ..maths.rotations import Array, frames_of
from ..problem import IkProblem
from .candidates import continuation

ROUNDS = 40
SMALL_GAIN = 1e-3  # relative fall of the energy that is not worth another round
RANK = 1e-6  # relative singular value of a direction that the goal leaves free
MARGIN = 0.03  # fraction of a joint's range next to a limit where a spring acts
SPRING = 100.0  # energy at a limit
SHORTEST = 1.0 / 64.0  # fraction of a step that is still tried
FARTHEST = 4.0  # 1 / cosine of the angle by which a free direction may have turned
ANCHOR = 1e-9  # keeps the system regular where all steps are free
ORDERS = 3  # derivatives that count


def smoothed(
    problem: IkProblem,
    transforms: Array,
    q: Array,
    places: Array,
    limits: Array,
    fixed: tuple[int, int] = (0, 0),
) -> Array:
    """A smoother sequence than q (N, n) of configurations that reach transforms (N, 4, 4).

    places (N,) : the path's parameter, rising
    limits (3, v) : of the variables' velocities, accelerations and jerks, finite
    fixed : how many of the first and of the last configurations stay
    """
    follow, columns = continuation(problem), problem.variables
    speeds = (np.diff(q[:, columns], axis=0).T / np.diff(places)).T / limits[0]
    usual = float(np.sqrt((speeds**2).sum(axis=1).mean()))
    if not usual > 0.0:
        return q
    form = _quadratic_form(places * usual, limits)

    def energy(rows: Array) -> float:
        x = rows[:, columns]
        return _value(form, x) + float(_springs(problem, x)[0].sum()) / len(x)

    least, free = energy(q), None
    for _ in range(ROUNDS):
        free = _free_directions(problem, transforms, q, free)
        move = _relaxation(problem, q, free, form, fixed)
        size = 1.0
        while size >= SHORTEST:
            moved = q.copy()
            moved[:, columns] = problem.limits.project(q[:, columns] + size * move)
            found, there = follow.near(transforms, moved)
            after = energy(found) if there.all() else np.inf
            if after < least:
                break
            size *= 0.5
        else:
            return q
        gain, q, least = least - after, found, after
        if gain < SMALL_GAIN * least:
            return q
    return q


def _quadratic_form(times: Array, limits: Array) -> Array:
    """The energy of variables x (N, v) that pass at these times (N,), as bands (4, N, v).

    Band o has the coefficients of x[i] x[i + o], and zeros at its end.
    """
    count = len(times)
    bands = np.zeros((ORDERS + 1, count, limits.shape[1]))
    rows, weights = np.ones((count, 1)), np.ones(1)  # divided differences, row by row
    for order in range(1, min(ORDERS, count - 1) + 1):
        span = (times[order:] - times[:-order]) / order
        longer = np.zeros((count - order, order + 1))
        longer[:, 1:] += rows[1:]
        longer[:, :-1] -= rows[:-1]
        rows = longer / span[:, np.newaxis]
        weights = span / span.sum()
        for o in range(order + 1):
            for i in range(order + 1 - o):
                part = weights * rows[:, i] * rows[:, i + o]
                bands[o, i : i + count - order] += part[:, np.newaxis] * limits[order - 1] ** -2
    return bands


def _value(form: Array, x: Array) -> float:
    """The energy of variables x (N, v)."""
    total = float((form[0] * x * x).sum())
    for o in range(1, len(form)):
        total += 2.0 * float((form[o, : len(x) - o] * x[: len(x) - o] * x[o:]).sum())
    return total


def _springs(problem: IkProblem, x: Array) -> tuple[Array, Array, Array]:
    """Energies (N, v) of the springs at limits, half their gradients and their stiffnesses."""
    limits = problem.limits
    margin = MARGIN * (limits.sample_upper - limits.sample_lower)
    depth = np.minimum(x - (limits.lower + margin), 0.0)
    depth += np.maximum(x - (limits.upper - margin), 0.0)
    stiffness = np.where(depth != 0.0, SPRING / np.maximum(margin, 1e-9) ** 2, 0.0)
    return stiffness * depth**2, stiffness * depth, stiffness


def _relaxation(
    problem: IkProblem, q: Array, free: Array, form: Array, fixed: tuple[int, int]
) -> Array:
    """Moves (N, v) in free directions (N, v, d) to where the energy is least."""
    free = free.copy()
    free[: fixed[0]] = 0.0
    free[len(free) - fixed[1] :] = 0.0
    count, _, d = free.shape
    x = q[:, problem.variables]
    _, push, spring = (part / count for part in _springs(problem, x))
    slope = push + form[0] * x  # half the gradient of the energy
    reach = min(len(form), count)
    for o in range(1, reach):
        slope[: count - o] += form[o, : count - o] * x[o:]
        slope[o:] += form[o, : count - o] * x[: count - o]
    height = reach * d  # of the bands, in upper form: the diagonal is the last row
    bands = np.zeros((height, count * d))
    for o in range(reach):
        weights = form[o, : count - o] + (spring if o == 0 else 0.0)
        blocks = np.einsum('nva,nv,nvb->nab', free[: count - o], weights, free[o:])
        if o == 0:
            blocks += (ANCHOR * form[0].mean() + 1e-300) * np.eye(d)
        for a in range(d):
            for b in range(0 if o else a, d):
                bands[height - 1 - (o * d + b - a), o * d + b :: d] = blocks[:, a, b]
    right = -np.einsum('nva,nv->na', free, slope).ravel()
    try:
        z = solveh_banded(bands, right, check_finite=False).reshape(count, d)
    except LinAlgError:
        return np.zeros_like(x)
    return np.asarray(np.einsum('nva,na->nv', free, z))


def _free_directions(
    problem: IkProblem, transforms: Array, q: Array, before: Array | None
) -> Array:
    """Orthonormal directions (N, v, d) of the variables that leave the goal's residual alone.

    d is the same for all: that of the goal's rows, where they are independent.
    before (N, v, d) : those of configurations nearby, which save time; or None
    """
    goal, v = problem.goals[0], len(problem.variables)
    if goal.fixed_freedoms == 6:  # any rows of the whole pose
        jacobians = problem.robot.jacobian(q, goal.link, goal.relative_to)
        jacobians = jacobians[:, :, problem.variables]
    else:
        jacobians = _goal_jacobians(problem, transforms, q)
    rows = jacobians.shape[1]
    if before is not None and before.shape[2] == v - rows == 1:
        turned = _turned_directions(jacobians, before)
        if turned is not None:
            return turned
    if rows <= v:
        turned, corners = np.linalg.qr(jacobians.swapaxes(1, 2), mode='complete')
        sizes = np.abs(np.diagonal(corners, axis1=1, axis2=2))
        if (sizes.min(axis=1) > RANK * sizes.max(axis=1)).all():  # independent: no need of more
            return np.ascontiguousarray(turned[:, :, rows:])
    _, values, right = np.linalg.svd(jacobians)
    rank = int((np.median(values, axis=0) > RANK * np.median(values[:, 0])).sum())
    return np.ascontiguousarray(right[:, rank:].swapaxes(1, 2)).reshape(len(q), v, v - rank)


def _turned_directions(jacobians: Array, before: Array) -> Array | None:
    """The unit vectors (N, v, 1) that Jacobians (N, v - 1, v) take to 0; None if one of them is
    not near to that of `before` (N, v, 1)."""
    right = np.zeros_like(before)
    right[:, -1] = 1.0
    try:
        free = np.linalg.solve(np.concatenate([jacobians, before.swapaxes(1, 2)], axis=1), right)
    except np.linalg.LinAlgError:
        return None
    sizes = np.linalg.norm(free, axis=1, keepdims=True)
    return np.asarray(free / sizes) if (sizes < FARTHEST).all() else None


def _goal_jacobians(problem: IkProblem, transforms: Array, q: Array) -> Array:
    """The Jacobians (N, rows, v) of the goal's residual for transforms (N, 4, 4) at q (N, n)."""
    packed, frames, jacobians = problem.packed, frames_of(transforms), []
    for i, row in enumerate(q):
        packed.load_frozen(row)
        packed.set_targets([frames[i]])
        packed.update(row[problem.variables])
        jacobians.append(packed.jacobian())
    return np.array(jacobians)
