# SPDX-License-Identifier: Apache-2.0
"""Checks of joint goals: joints that can be moved, positions within their limits."""

from __future__ import annotations

from collections.abc import Mapping

from ik_core.display import listed
from ik_core.exceptions import FrameNotFound
from ik_core.robot.limits import LARGEST_POSITION

from ..conversions import Refused
from ..robot_model import Model

FITS = 1e-6  # [rad or m] a joint this near to its position needs no motion: rounding


def requested_positions(model: Model, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the positions without mimic and fixed joints that are at theirs.

    So the node's own joint_states are valid joint goals. A mimic joint must be in line with its
    driver, at its requested or else its commanded position. A frozen joint, or one that is not
    published, must be at its command. Refused for a mimic joint that is not in line.
    """
    robot = model.robot
    steerable = {robot.joint_names[i] for i in model.steerable_joints()}
    if positions.keys() <= steerable:
        return dict(positions)
    commanded = model.tracker.q
    q = commanded.copy()
    for joint in positions.keys() & set(robot.joint_names):
        q[robot.joint_index(joint)] = positions[joint]
    due, requested, drivers = robot.joint_values(q), {}, []
    for joint, position in positions.items():
        if joint in robot.mimic_joints:
            driver = robot.mimic_joints[joint].joint
            drivers.append(driver)
            if abs(position - due[joint]) > FITS:
                text = (
                    f'{joint} = {position:.4g} mimics {driver}, which puts it at {due[joint]:.4g}'
                )
                raise Refused('mimic_joint', f'{text}: give the position of {driver} alone')
        elif joint in steerable or joint not in robot.joint_names:
            requested[joint] = position
        elif abs(position - commanded[robot.joint_index(joint)]) > FITS:
            requested[joint] = position  # check_joint_goal refuses it with a reason
    if drivers and not requested:
        text = f'only mimic joints are named: give the position of {", ".join(drivers)}'
        raise Refused('mimic_joint', text)
    return requested


def check_joint_goal(model: Model, positions: Mapping[str, float]) -> None:
    """Refuse positions [rad or m] by name, all finite, that the joints can't be sent to."""
    if not positions:
        raise Refused('no_joints', 'the joint goal names no joint')
    for joint, position in positions.items():
        _check_position(model, joint, position)


def _check_position(model: Model, joint: str, position: float) -> None:
    robot = model.robot
    if joint in robot.mimic_joints:
        driver = robot.mimic_joints[joint].joint
        raise Refused('mimic_joint', f'{joint} mimics {driver}: give the position of {driver}')
    try:
        i = robot.joint_index(joint)
    except FrameNotFound as error:
        raise Refused('unknown_joint', str(error)) from error
    steerable = model.steerable_joints()
    if i not in steerable:
        why = 'frozen' if joint in model.frozen_joints else 'not one of command_joints'
        names = listed([robot.joint_names[k] for k in steerable])
        raise Refused('fixed_joint', f'{joint} is {why}; joint goals may move {names}')
    lower, upper = float(model.limits.lower[i]), float(model.limits.upper[i])
    lower, upper = max(lower, -LARGEST_POSITION), min(upper, LARGEST_POSITION)
    if not lower <= position <= upper:
        text = f'{joint} = {position:.4g} {robot.joint_units[i]} is outside its limits'
        raise Refused('outside_limits', f'{text} [{lower:.4g}, {upper:.4g}]')
