# SPDX-License-Identifier: Apache-2.0
"""An arm of six joints with a spherical wrist, and a stream of goals that ends beside its wrist's
singularity: on its branch two joints run into their limits, from elsewhere the goal is reached.
"""

from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

import ik_core as ik

TIP = 'tool0'
JOINTS = [  # position [m] of each joint in the last one's frame, and its axis
    ((0, 0, 0.2), 'z'), ((0, 0, 0.15), 'y'), ((0, 0, 0.4), 'y'),
    ((0, 0, 0.18), 'z'), ((0, 0, 0.17), 'y'), ((0, 0, 0.06), 'z'),
]  # fmt: skip
AXES = {'y': '0 1 0', 'z': '0 0 1'}
LIMIT = 3.0  # [rad] Largest angle of each joint
TOOL = (0, 0, 0.12)
BEFORE = np.array([0.0, 0.5, 1.0, 0.0, -0.6, 0.0])
BESIDE = 0.003  # [m] Distance of the goals from the singularity


def text():
    """The URDF."""
    links = ['base', *(f'l{i + 1}' for i in range(len(JOINTS))), TIP]
    parts = [f'<link name="{link}"/>' for link in links]
    for i, (xyz, axis) in enumerate(JOINTS):
        parts.append(
            f'<joint name="j{i + 1}" type="revolute"><parent link="{links[i]}"/>'
            f'<child link="{links[i + 1]}"/><origin xyz="{xyz[0]} {xyz[1]} {xyz[2]}"/>'
            f'<axis xyz="{AXES[axis]}"/><limit lower="{-LIMIT}" upper="{LIMIT}" effort="10" '
            'velocity="2"/></joint>'
        )
    parts.append(
        f'<joint name="jt" type="fixed"><parent link="{links[-2]}"/><child link="{TIP}"/>'
        f'<origin xyz="{TOOL[0]} {TOOL[1]} {TOOL[2]}"/></joint>'
    )
    return f'<robot name="wrist_arm">{"".join(parts)}</robot>'


@cache
def robot():
    return ik.load_urdf(text())


def goal(share):
    """The goal (4, 4) at a share of the stream."""
    q = BEFORE + np.array([0, 0, 0, 0, 1.2 * share, 0])
    pose = robot().forward_kinematics(q, TIP)
    turn = 8 * BESIDE * (1 - (2 * share - 1) ** 2)
    pose[:3, :3] = pose[:3, :3] @ Rotation.from_euler('x', turn).as_matrix()
    pose[1, 3] += BESIDE
    return pose
