# SPDX-License-Identifier: Apache-2.0
"""Parameters for the first runs of ik_node on a robot, as a file; `ik check --yaml` writes them.

Every joint gets limits of its own: `joint_limits.default` is used only if a description has no
limit, and most descriptions have one that is far too fast for a first run.
"""

from __future__ import annotations

import json
import math

from .self_test import FASTEST, JointReport, Report

# [rad/s or m/s, rad/s^2 or m/s^2] slow enough to press the emergency stop in time
VELOCITY, ACCELERATION = 0.1, 0.5

HEAD = """\
# Made by `ik check` for {name}: limits for the first runs, of every joint. When the robot moves
# as it should, raise them joint by joint, up to the data sheet. A joint without a velocity here
# keeps that of its description, or the default if that has none.
/**:
  ros__parameters:
"""


def suggested_yaml(report: Report) -> str:
    """Parameters for ik_node: the base, the tips, and low limits for every joint."""
    robot = report.robot
    tips = ', '.join(_quoted(tip.link) for tip in report.tips)
    lines = [
        f'    base_link: {_quoted(robot.base_link)}',
        *([f'    tip_links: [{tips}]'] if tips else []),
        '    joint_limits:',
        *_lines('default', _rates()),
    ]
    for joint in report.joints:
        rates = _joint_rates(joint)
        lines += _lines(joint.name, rates) if rates else []
    for name, mimic in robot.mimic_joints.items():
        lines += _lines(name, _rates(f'  # {name} mimics {mimic.joint}'))
    return HEAD.format(name=robot.name) + '\n'.join(lines) + '\n'


def _rates(remark: str = '') -> list[str]:
    return [f'velocity: {VELOCITY}{remark}', f'acceleration: {ACCELERATION}']


def _joint_rates(joint: JointReport) -> list[str]:
    """The limits of a joint, as lines; none above the description's, which the node refuses."""
    unit, rates = joint.unit, []
    if joint.velocity > VELOCITY:
        doubt = ', if it means that' if FASTEST[unit] < joint.velocity < math.inf else ''
        rates.append(f'velocity: {VELOCITY}  # [{unit}/s] {_limit_text(joint.velocity)}{doubt}')
    if joint.acceleration > ACCELERATION:
        limit_text = f' {_limit_text(joint.acceleration)}' if joint.acceleration < math.inf else ''
        rates.append(f'acceleration: {ACCELERATION}  # [{unit}/s^2]{limit_text}')
    return rates


def _limit_text(limit: float) -> str:
    """The limit of the description as text."""
    allowed = 'has no limit' if limit == math.inf else f'allows {limit:g}'
    return f'the description {allowed}'


def _lines(joint: str, rates: list[str]) -> list[str]:
    """The parameters of a joint, as lines."""
    if '.' in joint:  # rcl misreads the keys after a mapping whose name has a dot
        split = [rate.split(':', 1) for rate in rates]
        return [f'      {_quoted(f"{joint}.{limit}")}:{value}' for limit, value in split]
    name = joint if joint == 'default' else _quoted(joint)
    return [f'      {name}:', *(f'        {rate}' for rate in rates)]


def _quoted(name: str) -> str:
    """A name as a quoted YAML string, so that `1` or `no` remain names."""
    return json.dumps(name)
