# SPDX-License-Identifier: Apache-2.0
"""Robots whose reach has a closed form, for the tests of reachability maps."""

import math

import numpy as np

import ik_core as ik
from support.robots import transform

# The options of a map that is made in a moment.
SMALL = {'step': 0.1, 'orientations': 3, 'restarts': 3, 'manipulability': True}


def chain(*joints, tool=(0.0, 0.0, 0.0)):
    """A robot l0 - l1 - ... - tool of (kind, origin, axis, lower, upper)."""
    links = [f'l{i}' for i in range(len(joints) + 1)]
    made = [
        ik.robot.Joint(f'j{i}', kind, links[i], links[i + 1], transform(None, origin),
                       np.array(axis), lower=lower, upper=upper)
        for i, (kind, origin, axis, lower, upper) in enumerate(joints)
    ]  # fmt: skip
    made.append(ik.robot.Joint('end', 'fixed', links[-1], 'tool', transform(None, tool)))
    return ik.Robot.from_joints('chain', [*links, 'tool'], made)


X, Y, Z = np.eye(3)
OPEN = (-math.inf, math.inf)
NEAR = (0.0, 0.0, 0.0)


def shoulder_and_elbow(upper_arm=0.5, forearm=0.3, height=0.4):
    """The anthropomorphic arm: it turns about z, and has a shoulder and an elbow."""
    return chain(
        ('continuous', NEAR, Z, *OPEN),
        ('continuous', (0.0, 0.0, height), Y, *OPEN),
        ('continuous', (upper_arm, 0.0, 0.0), Y, *OPEN),
        tool=(forearm, 0.0, 0.0),
    )


def gantry():
    """Three rails of 0.3 m, and a wrist Rz(a) Ry(b) Rz(c) with a in [0, 90], b in [0, 180]."""
    rails = [('prismatic', NEAR, axis, -0.15, 0.15) for axis in (X, Y, Z)]
    return chain(
        *rails,
        ('revolute', NEAR, Z, 0.0, math.pi / 2),
        ('revolute', NEAR, Y, 0.0, math.pi),
        ('continuous', NEAR, Z, *OPEN),
    )
