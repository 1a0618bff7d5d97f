# SPDX-License-Identifier: Apache-2.0
"""The UR5e's inverse kinematics in closed form: up to eight solutions for a pose of tool0.

By geometry, from Denavit-Hartenberg parameters alone. Joints 2, 3 and 4 are parallel, so what
the wrist's side offset d4 needs fixes joint 1 (two ways), the tool's axis joint 5 (two ways) and
its direction joint 6; then joints 2 and 3 are a planar arm (two ways) and joint 4 is the rest.
Nothing here uses ik_core.
"""

import numpy as np

D1, A2, A3, D4, D5, D6 = 0.1625, -0.425, -0.3922, 0.1333, 0.0997, 0.0996
ALPHA = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)
A = (0.0, A2, A3, 0.0, 0.0, 0.0)
D = (D1, 0.0, 0.0, D4, D5, D6)
BASE = np.diag([-1.0, -1.0, 1.0, 1.0])  # base_link stands half a turn away from the DH base


def link(i, angle):
    """The Denavit-Hartenberg transform of joint i."""
    c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(ALPHA[i]), np.sin(ALPHA[i])
    return np.array(
        [
            [c, -s * ca, s * sa, A[i] * c],
            [s, c * ca, -c * sa, A[i] * s],
            [0.0, sa, ca, D[i]],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def forward(q):
    """The pose (4, 4) of tool0 in base_link."""
    pose = BASE
    for i, angle in enumerate(q):
        pose = pose @ link(i, angle)
    return pose


def solutions(pose):
    """Return all q (k, 6) that put tool0 at the pose, each joint within half a turn of 0."""
    target = BASE @ pose  # BASE is its own inverse
    found = []
    x, y = target[:2, 3] - D6 * target[:2, 2]  # where joint 5 stands
    reach = np.hypot(x, y)
    if reach < D4:
        return np.empty((0, 6))
    for side in (1.0, -1.0):
        q1 = np.arctan2(y, x) + side * np.arccos(D4 / reach) + np.pi / 2
        across = target[0, 3] * np.sin(q1) - target[1, 3] * np.cos(q1)
        cosine = (across - D4) / D6
        if abs(cosine) > 1.0:
            continue
        for flip in (1.0, -1.0):
            q5 = flip * np.arccos(cosine)
            found += arm(target, q1, q5)
    return (np.reshape(found, (-1, 6)) + np.pi) % (2 * np.pi) - np.pi


def arm(target, q1, q5):
    """The solutions for joints 1 and 5, elbow up and down."""
    n, o = target[:2, 0], target[:2, 1]
    normal = np.array([np.sin(q1), -np.cos(q1)])  # the direction of joints 2, 3 and 4
    q6 = np.arctan2(-(normal @ o) / np.sin(q5), (normal @ n) / np.sin(q5))
    wrist = np.linalg.inv(link(0, q1)) @ target @ np.linalg.inv(link(4, q5) @ link(5, q6))
    u, v = (wrist @ [0.0, -D4, 0.0, 1.0])[:2]  # where joint 4 stands, in the arm's plane
    cosine = (u * u + v * v - A2**2 - A3**2) / (2.0 * A2 * A3)
    if abs(cosine) > 1.0:
        return []
    result = []
    for bend in (1.0, -1.0):
        q3 = bend * np.arccos(cosine)
        q2 = np.arctan2(v, u) - np.arctan2(A3 * np.sin(q3), A2 + A3 * np.cos(q3))
        rest = np.linalg.inv(link(1, q2) @ link(2, q3)) @ wrist
        result.append([q1, q2, q3, np.arctan2(rest[1, 0], rest[0, 0]), q5, q6])
    return result
