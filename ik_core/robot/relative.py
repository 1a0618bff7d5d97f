# SPDX-License-Identifier: Apache-2.0
"""A link seen from another one: the chain between the two, as bodies from the one to the other.

For F_k a body's frame in its parent, M_k(q) what its joint does, and P a link's place on its body,

    T = P_base^-1  prod over the way up of M_k^-1 F_k^-1  prod over the way down of F_k M_k  P_link

which again is frames and joints in turn: on the way up joints run backwards. So to `kinematics` it
is a chain like any other, whose root is the base link; common joints of both ways cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array, frame_of, transform_of
from .kinematics import MULTIPLIER, OFFSET, PARENT
from .robot import Robot


class RelativeChain(NamedTuple):
    """Bodies in the order from the base link: `tree` (K, 3) and `geometry` (K, 14) as Robot has
    them, each the parent of the next; `place` (4, 4) of the link in the frame of the last."""

    tree: NDArray[np.int64]
    geometry: Array
    place: Array


def relative_chain(robot: Robot, link: str, base_link: str) -> RelativeChain:
    """The chain from a base link to another link, which moves with the base link."""
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
