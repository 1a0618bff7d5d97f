# SPDX-License-Identifier: Apache-2.0
"""The joint limits of a robot: those of the description, tightened by the parameters."""

from __future__ import annotations

import math

import numpy as np

from ik_core import Robot
from ik_core.maths.rotations import Array
from ik_core.robot.joints import RATES
from ik_core.robot.kinematics import KIND, PRISMATIC
from ik_core.tracking import MotionLimits

from .parameters.node_options import Limits, NodeParameters

# [rad or m] Encoder noise, accepted even with a tolerance of 0.
LEAST_TOLERANCE = 1e-3


def limits_with_mimics(robot: Robot, parameters: NodeParameters, limits: MotionLimits) -> Array:
    """Append the limits of the m mimic joints to `limits.rows` (5, n); return (5, n + m).

    A mimic joint has the limits of the description and of the parameters. One without a rate limit
    has the default; without a default, |multiplier| times that of its driver in `limits`.
    """
    columns, default = [], parameters.default_limits
    for joint, mimic in robot.mimic_joints.items():
        own, given = robot.mimic_limits[joint], parameters.joint_limits.get(joint, Limits())
        driver = limits.rows[2:, robot.joint_index(mimic.joint)].tolist()
        stated = [min(getattr(own, rate), getattr(given, rate)) for rate in RATES]
        rates = [
            getattr(default, rate) if math.isinf(limit) else limit
            for rate, limit in zip(RATES, stated, strict=True)
        ]
        for k, rate in enumerate(rates):
            if math.isinf(rate) and mimic.multiplier != 0.0:
                rates[k] = abs(mimic.multiplier) * driver[k]
        columns.append([own.lower, own.upper, *rates])
    return np.hstack([limits.rows, np.array(columns).reshape(-1, 5).T])


def mimic_unit(robot: Robot, joint: str) -> str:
    """Return the unit of a mimic joint's position: 'm' or 'rad'."""
    slides = robot.tree[robot.body_names.index(joint), KIND] == PRISMATIC
    return 'm' if slides else 'rad'


def motion_limits(robot: Robot, parameters: NodeParameters) -> MotionLimits:
    """Return the limits of every step: the description's, tightened, and defaults for the rest."""
    rows = [parameters.joint_limits.get(joint, Limits()) for joint in robot.joint_names]
    return MotionLimits(
        lower=np.maximum(robot.lower, [row.lower for row in rows]),
        upper=np.minimum(robot.upper, [row.upper for row in rows]),
        **{rate: _rate_limits(robot, parameters, rate) for rate in RATES},
    )


def _rate_limits(robot: Robot, parameters: NodeParameters, kind: str) -> Array:
    """Return one kind (n,) of rate limits, so low that mimic joints keep theirs as well."""

    def own(joint: str) -> float:
        limit: float = getattr(parameters.joint_limits.get(joint, Limits()), kind)
        return limit

    default = getattr(parameters.default_limits, kind)
    stated: Array = getattr(robot, kind)
    limits = np.minimum(stated, [own(joint) for joint in robot.joint_names])
    free = np.isposinf(limits)
    limits[free] = default
    unlimited = {joint for joint, is_free in zip(robot.joint_names, free, strict=True) if is_free}

    def default_of(joint: str, driver: str) -> float:
        if kind == 'velocity':  # the limit of a driver serves its mimic joints, too
            return default if driver in unlimited else math.inf
        return math.inf if np.isfinite(getattr(robot.mimic_limits[joint], kind)) else default

    # Limits of mimic joints in the description are part of `stated`; parameters are added here.
    mimics = {
        joint: min(own(joint), default_of(joint, mimic.joint))
        for joint, mimic in robot.mimic_joints.items()
    }
    return robot.fold_mimic_limits(limits, mimics)


def following_errors(robot: Robot, parameters: NodeParameters) -> Array:
    """Return the largest allowed following errors (n + m,) [rad or m], mimic joints last.

    Each is the joint's own limit, or else the default.
    """
    names = (*robot.joint_names, *robot.mimic_joints)
    own = np.array([parameters.joint_limits.get(name, Limits()).following_error for name in names])
    return np.where(np.isfinite(own), own, parameters.default_limits.following_error)


def state_tolerances(robot: Robot, parameters: NodeParameters) -> Array:
    """Return the tolerances (n + m,) [rad or m] for states of a robot at rest, mimic joints last.

    Each is the joint's own tolerance, or else `state_tolerance`, and at least LEAST_TOLERANCE.
    """
    names = (*robot.joint_names, *robot.mimic_joints)
    default, own = parameters.node.state_tolerance, parameters.state_tolerances
    return np.maximum([own.get(name, default) for name in names], LEAST_TOLERANCE)


def missing_limits(robot: Robot, parameters: NodeParameters) -> list[str]:
    """Return a sentence for each kind of limit that neither description nor parameters give."""
    sentences = []
    for kind in ('velocity', 'acceleration'):
        own = parameters.joint_limits
        names = [
            joint
            for joint, stated in zip(robot.joint_names, getattr(robot, kind), strict=True)
            if not np.isfinite(min(stated, getattr(own.get(joint, Limits()), kind)))
        ]
        if names and np.isinf(getattr(parameters.default_limits, kind)):
            sentences.append(
                f'no {kind} limit for {", ".join(names)}; joint_limits.default.{kind} is not set: '
                'they are not limited'
            )
    return sentences
