# SPDX-License-Identifier: Apache-2.0
"""The codes of ~/status: the state of the node, and hazards.

A code is a name and a number. Numbers below 10 are hazards while goals are followed, with the
numbers of MoveIt Servo's StatusCode: singularities, by the condition number of the goals' Jacobian
(`lower_singularity_threshold`, `hard_stop_singularity_threshold`), and joints at their bounds
(`joint_limit_margin`). Other numbers are states of the node.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus

from ik_core.tracking import Command, TrackStatus
from ik_core.tracking.status import MISSED

from ..robot_model import Model

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
ERROR, STALE = DiagnosticStatus.ERROR, DiagnosticStatus.STALE


class StatusCode(Enum):
    """The state of the node: number, level of the DiagnosticStatus, and a sentence."""

    IDLE = 10, OK, TrackStatus.IDLE.text
    TRACKING = 11, OK, TrackStatus.TRACKING.text
    REACHED = 12, OK, TrackStatus.REACHED.text
    SEARCHING = 13, OK, TrackStatus.SEARCHING.text
    PAUSED = 14, OK, TrackStatus.PAUSED.text
    JOGGING = 15, OK, 'following twists'
    CLOSEST = 20, WARN, TrackStatus.CLOSEST.text
    BLOCKED = 21, WARN, TrackStatus.BLOCKED.text
    STALE = 22, WARN, TrackStatus.STALE.text
    TOO_FEW_JOINTS = 23, WARN, TrackStatus.TOO_FEW_JOINTS.text
    STOPPED_SHORT = 24, WARN, TrackStatus.STOPPED_SHORT.text
    OTHER_CONFIGURATION = 25, WARN, TrackStatus.OTHER_CONFIGURATION.text
    OBSTACLE = 26, WARN, TrackStatus.OBSTACLE.text
    WAITING_FOR_STATE = 30, WARN, 'waiting for joint_states'
    STATE_LOST = 31, WARN, 'joint_states stopped coming: stopped'
    RESETTING = 32, OK, 'coming to rest, to start from the measured state'
    NO_MODEL = 33, WARN, 'waiting for a robot on the topic robot_description'
    MODEL_SWAP = 34, WARN, 'stopping, to load the new robot_description'
    WAITING_FOR_CLOCK = 38, WARN, 'waiting for /clock (use_sim_time is true)'
    ALIGNING = 37, OK, 'moving mimic joints to their new positions; goals wait'
    MOVED_EXTERNALLY = 39, OK, 'others move the robot: goals wait until it rests'
    ACTIVE = 35, OK, 'active: about to publish'
    NOT_FOLLOWING = 36, ERROR, 'the robot does not follow: stopped, to continue where it rests'
    INACTIVE = 40, OK, 'configured, not active: nothing is published'
    UNCONFIGURED = 41, STALE, 'not configured'

    def __init__(self, number: int, level: bytes, text: str) -> None:
        self.number = number
        self.level = level
        self.text = text

    @property
    def key(self) -> str:
        """The name as it is published."""
        return self.name.lower()


# Codes whose message names joints.
OF_STATE = (StatusCode.WAITING_FOR_STATE, StatusCode.STATE_LOST, StatusCode.NOT_FOLLOWING)
# Outcomes of a goal once a search for another configuration has found nothing closer.
AFTER_A_SEARCH = tuple(StatusCode[status.name] for status in MISSED)
# Outcomes of a goal without such a search, or after it.
AT_ONCE = (
    StatusCode.REACHED,
    StatusCode.BLOCKED,
    StatusCode.OBSTACLE,
    StatusCode.OTHER_CONFIGURATION,
)


class Hazard(Enum):
    """Hazards while goals are followed, with the numbers of MoveIt Servo."""

    NONE = 0, ''
    APPROACHING_SINGULARITY = 1, 'close to a singularity'
    AT_SINGULARITY = 2, 'at a singularity'
    JOINT_BOUND = 6, 'at a joint limit'

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text

    @property
    def key(self) -> str:
        """The name as it is published."""
        return self.name.lower()


class Hazards(NamedTuple):
    """The hazards at a command: the worst one, the condition number, and joints at bounds."""

    worst: Hazard = Hazard.NONE
    condition_number: float = 0.0
    joints_at_bound: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The hazards as text: 'close to a singularity and at a joint limit: elbow_joint'."""
        singular = '' if self.worst is Hazard.JOINT_BOUND else self.worst.text
        joints = ', '.join(self.joints_at_bound)
        bound = f'{Hazard.JOINT_BOUND.text}: {joints}' if joints else ''
        return ' and '.join(filter(None, (singular, bound)))


FOLLOWING = (
    TrackStatus.TRACKING,
    TrackStatus.REACHED,
    TrackStatus.CLOSEST,
    TrackStatus.TOO_FEW_JOINTS,
    TrackStatus.STOPPED_SHORT,
    TrackStatus.OTHER_CONFIGURATION,
    TrackStatus.SEARCHING,
    TrackStatus.BLOCKED,
    TrackStatus.OBSTACLE,
)


def hazards(model: Model, command: Command) -> Hazards:
    """Return the hazards at a command; none unless goals of tips are followed."""
    if command.status not in FOLLOWING or model.tracker.joint_goal is not None:
        return Hazards()
    options = model.parameters.tracker
    condition = model.tracker.condition_number()
    joints = _joints_at_bound(model, command)
    if condition >= options.hard_stop_singularity_threshold:
        worst = Hazard.AT_SINGULARITY
    elif condition >= options.lower_singularity_threshold:
        worst = Hazard.APPROACHING_SINGULARITY
    else:
        worst = Hazard.JOINT_BOUND if joints else Hazard.NONE
    return Hazards(worst, condition, joints)


def _joints_at_bound(model: Model, command: Command) -> tuple[str, ...]:
    """Return moved joints near a limit, without those whose whole range is near one."""
    lower, upper = model.limits.lower, model.limits.upper
    margin = model.parameters.node.joint_limit_margin
    near = (command.q - lower <= margin) | (upper - command.q <= margin)
    near &= upper - lower > 2.0 * margin
    return tuple(model.robot.joint_names[i] for i in model.moved_joints if near[i])
