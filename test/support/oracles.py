# SPDX-License-Identifier: Apache-2.0
"""Errors, costs and best costs of problems, by poses, scipy's rotations and scipy's optimiser."""

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core import AxisTask


def independent_errors(problem, q):
    """(shift, turn, position weights, rotation weights) of each goal, masked components zero."""
    return [_errors(problem.robot, task, q) for task in problem.goals]


def _errors(robot, task, q):
    tip, target = robot.forward_kinematics(q, task.link) @ task.tool, task.transform
    shift = tip[:3, 3] - target[:3, 3]
    if task.position_axes == ik.tasks.kernels.GOAL_AXES:
        shift = target[:3, :3].T @ shift
    if isinstance(task, AxisTask):
        turn = [Rotation.align_vectors(tip[:3, 2], target[:3, 2])[0].magnitude(), 0, 0]
    elif np.isnan(target[:3, :3]).any():
        turn = np.zeros(3)
    else:
        turn = Rotation.from_matrix(target[:3, :3].T @ tip[:3, :3]).as_rotvec()
    masks = task.position_weights > 0, task.rotation_weights > 0
    shift, turn = np.nan_to_num(shift) * masks[0], np.array(turn) * masks[1]
    return shift, turn, task.position_weights, task.rotation_weights


def independent_cost(problem, q):
    """The weighted sum of squares of these errors."""
    cost = 0.0
    for shift, turn, position_weights, rotation_weights in independent_errors(problem, q):
        cost += position_weights @ shift**2
        cost += rotation_weights @ (problem.orientation_length * turn) ** 2
    return cost


def best_known_cost(problem, q0, starts=24):
    """The least cost that scipy finds inside the limits, from q0 and many random starts."""
    limits, (_, x0) = problem.limits, problem.start(q0)
    wide = limits.upper - limits.lower > 1e-9
    low, high = limits.lower[wide], limits.upper[wide]

    def at(part):
        x = x0.copy()
        x[wide] = part
        return problem.at(x)

    rng = np.random.default_rng(0)
    best = problem.at(x0).cost
    for start in range(starts if wide.any() else 0):
        x = rng.uniform(limits.sample_lower, limits.sample_upper) if start else x0
        inner = np.minimum(np.maximum(x[wide], low + 1e-9), high - 1e-9)
        found = least_squares(
            lambda part: at(part).residual, inner, lambda part: at(part).jacobian[:, wide],
            bounds=(low, high), xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=300,
        )  # fmt: skip
        best = min(best, at(found.x).cost)
    return best
