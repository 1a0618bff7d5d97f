# SPDX-License-Identifier: Apache-2.0
"""The kinematic chain between two links, for goals relative to a moving link.

For F_k a body's frame in its parent, M_k(q) the motion of its joint, and P a link's transform on
its body,

    T = P_base^-1  (product of M_k^-1 F_k^-1, upwards)  (product of F_k M_k, downwards)  P_link

which again alternates frames and joints; joints of the upward part run backwards. So for
`kinematics` it is a chain like any other, whose root is the base link. Joints above both links
cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array, frame_of, transform_of
from .kinematics import MULTIPLIER, OFFSET, PARENT
from .robot import Robot


class RelativeChain(NamedTuple):
    """A chain of bodies, each the parent of the next, that begins at the base link.

    `tree` (K, 3) and `geometry` (K, 14) are as in `kinematics`; `place` (4, 4) is the link's
    transform in the frame of the last body.
    """

    tree: NDArray[np.int64]
    geometry: Array
    place: Array


def relative_chain(robot: Robot, link: str, base_link: str) -> RelativeChain:
    """The chain from a base link, which may move, to another link."""
    up, down = robot.paths_between(link, base_link)
    bodies = [*up, *down]
    tree, geometry = robot.tree[bodies].reshape(-1, 3), robot.geometry[bodies].reshape(-1, 14)
    tree[:, PARENT] = np.arange(len(bodies)) - 1
    geometry[: len(up), [MULTIPLIER, OFFSET]] *= -1.0
    pending = _inverse(robot.placement(base_link).transform)
    for row, body in zip(geometry, bodies, strict=True):
        frame = transform_of(robot.geometry[body, :12])
        if body in up:
            row[:12], pending = frame_of(pending), _inverse(frame)
        else:
            row[:12], pending = frame_of(pending @ frame), np.eye(4)
    return RelativeChain(tree, geometry, pending @ robot.placement(link).transform)


def _inverse(transform: Array) -> Array:
    """The inverse of a rigid transform (4, 4)."""
    inverse = np.eye(4)
    inverse[:3, :3] = transform[:3, :3].T
    inverse[:3, 3] = -transform[:3, :3].T @ transform[:3, 3]
    return inverse
