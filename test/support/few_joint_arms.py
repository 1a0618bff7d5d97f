# SPDX-License-Identifier: Apache-2.0
"""Arms of three to five joints, each with a posture that is no singularity."""

from typing import NamedTuple

import numpy as np

import ik_core as ik

from .few_joints import hobby_urdf


class FewJoints(NamedTuple):
    """An arm, the link that is its tip, and a posture (n,)."""

    robot: ik.Robot
    tip: str
    q: np.ndarray


def chain_urdf(name, joints):
    """URDF text of a chain; joints: (name, type, offset, axis, lower, upper, extra)."""
    text, parent = f'<robot name="{name}"><link name="base"/>', 'base'
    for joint, kind, offset, axis, lower, upper, extra in joints:
        text += (
            f'<link name="{joint}_link"/><joint name="{joint}" type="{kind}">'
            f'<parent link="{parent}"/><child link="{joint}_link"/><origin xyz="{offset}"/>'
            f'<axis xyz="{axis}"/><limit lower="{lower}" upper="{upper}" velocity="2.5" '
            f'effort="1"/>{extra}</joint>'
        )
        parent = f'{joint}_link'
    return text + '</robot>'


def mimic(joint):
    """The element of a joint that keeps a link level behind another joint."""
    return f'<mimic joint="{joint}" multiplier="-1"/>'


TURN, LIFT = '0 0 1', '0 1 0'
SCARA = [
    ('shoulder', 'revolute', '0 0 0.3', TURN, -2.6, 2.6, ''),
    ('elbow', 'revolute', '0.25 0 0', TURN, -2.6, 2.6, ''),
    ('slide', 'prismatic', '0.2 0 0', '0 0 -1', 0.0, 0.3, ''),
    ('turn', 'revolute', '0 0 -0.05', TURN, -3.1, 3.1, ''),
]
FOUR = [
    ('pan', 'revolute', '0 0 0.08', TURN, -3.0, 3.0, ''),
    ('lift', 'revolute', '0 0 0.05', LIFT, -2.0, 2.0, ''),
    ('elbow', 'revolute', '0.03 0 0.14', LIFT, -2.4, 2.4, ''),
    ('wrist', 'revolute', '0.13 0 0', LIFT, -2.4, 2.4, ''),
    ('tool', 'fixed', '0.12 0 0', LIFT, 0, 0, ''),
]
PALLETISER = [
    ('pan', 'revolute', '0 0 0.4', TURN, -3.0, 3.0, ''),
    ('lift', 'revolute', '0.1 0 0', LIFT, -1.0, 1.4, ''),
    ('lift_level', 'revolute', '0 0 0.5', LIFT, -1.4, 1.0, mimic('lift')),
    ('arm', 'revolute', '0 0 0', LIFT, -0.8, 1.2, ''),
    ('arm_level', 'revolute', '0.5 0 0', LIFT, -1.2, 0.8, mimic('arm')),
    ('turn', 'revolute', '0.1 0 0', TURN, -3.1, 3.1, ''),
    ('tool', 'fixed', '0 0 -0.1', LIFT, 0, 0, ''),
]
PLANAR = [
    ('first', 'revolute', '0 0 0.1', TURN, -3.0, 3.0, ''),
    ('second', 'revolute', '0.3 0 0', TURN, -3.0, 3.0, ''),
    ('third', 'revolute', '0.25 0 0', TURN, -3.0, 3.0, ''),
    ('tool', 'fixed', '0.1 0 0', TURN, 0, 0, ''),
]
ARMS = {
    'scara': (lambda: chain_urdf('scara', SCARA), 'turn_link', (0.4, 1.4, 0.15, -0.3)),
    'four': (lambda: chain_urdf('four', FOUR), 'tool_link', (0.4, -0.5, 0.9, 0.6)),
    'palletiser': (
        lambda: chain_urdf('palletiser', PALLETISER),
        'tool_link',
        (0.3, 0.2, 0.4, 0.5),
    ),
    'hobby': (hobby_urdf, 'tool', (0.3, -0.5, 0.7, 0.6, 0.2)),
    'planar': (lambda: chain_urdf('planar', PLANAR), 'tool_link', (0.3, 0.9, 0.7)),
}


def few_joint_arm(name):
    """The arm of this name."""
    make, tip, q = ARMS[name]
    return FewJoints(ik.load_urdf(make()), tip, np.array(q))
