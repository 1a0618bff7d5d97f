"""Arms for `ik bench closed_form_proof`: a family of closed forms each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..robot.robot import Robot
from .closed_form import kr
from .generated import X, Y, Z, arm, calibrated, fixed, joint, robot


def crx() -> Robot:
    """An arm as FANUC's CRX: a wrist that would be spherical but for its last axis."""
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.0), Z, (-3.14, 3.14)),
        joint('j1', 'j2', (0.0, 0.0, 0.245), Y, (-3.14, 3.14)),
        joint('j2', 'j3', (0.0, 0.0, 0.71), Y, (-3.14, 3.14)),
        joint('j3', 'j4', (0.0, 0.0, 0.0), X, (-3.3, 3.3)),
        joint('j4', 'j5', (0.54, 0.0, 0.0), Y, (-3.14, 3.14)),
        joint('j5', 'j6', (0.0, 0.15, 0.0), X, (-3.9, 3.9)),
        fixed('j6', 'flange', (0.16, 0.0, 0.0)),
    ]
    return robot('crx', parts)


def bent_wrist() -> Robot:
    """An arm as Kinova's Jaco: a wrist bent by 60 degrees twice, whose axes don't meet."""
    s, c = float(np.sin(np.pi / 3.0)), 0.5
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.16), Z, None),
        joint('j1', 'j2', (0.0, 0.0, 0.12), Y, (-2.3, 2.3)),
        joint('j2', 'j3', (0.0, 0.0, 0.41), Y, (-2.8, 2.8)),
        joint('j3', 'j4', (0.0, -0.01, 0.21), Z, None),
        joint('j4', 'j5', (0.0, 0.0, 0.07), (s, 0.0, c), None),
        joint('j5', 'j6', (0.06, 0.0, 0.04), Z, None),
        fixed('j6', 'hand', (0.0, 0.0, 0.16)),
    ]
    return robot('bent wrist', parts)


def six(count: int = 6) -> Robot:
    """Joints that have nothing to do with each other."""
    rng, links = np.random.default_rng(12), ['base', *(f'j{i}' for i in range(1, count + 1))]
    parts = []
    for i in range(count):
        at, axis = rng.uniform(-0.4, 0.4, 3), rng.normal(size=3)
        x, y, z = axis / np.linalg.norm(axis)
        parts.append(joint(links[i], links[i + 1], tuple(at), (x, y, z), (-3.1, 3.1)))
    return robot(f'any {count}', [*parts, fixed(links[-1], 'tip', (0.1, 0.0, 0.2))])


def pairs() -> Robot:
    """Two axes that meet, two that are parallel, two that meet."""
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.2), Z, (-3.1, 3.1)),
        joint('j1', 'j2', (0.0, 0.0, 0.0), (0.6, 0.8, 0.0), (-3.1, 3.1)),
        joint('j2', 'j3', (0.1, 0.05, 0.4), Y, (-3.1, 3.1)),
        joint('j3', 'j4', (0.35, 0.0, 0.1), Y, (-3.1, 3.1)),
        joint('j4', 'j5', (0.1, 0.1, 0.2), Z, (-3.1, 3.1)),
        joint('j5', 'j6', (0.0, 0.0, 0.0), (0.0, 0.6, 0.8), (-3.1, 3.1)),
        fixed('j6', 'tip', (0.1, 0.0, 0.1)),
    ]
    return robot('pairs', parts)


def gantry() -> Robot:
    """A slide, and five turns whose axes don't meet."""
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.0), X, (-1.0, 1.0), 'prismatic'),
        joint('j1', 'j2', (0.0, 0.0, 0.3), Z, (-3.1, 3.1)),
        joint('j2', 'j3', (0.1, 0.0, 0.1), Y, (-3.1, 3.1)),
        joint('j3', 'j4', (0.4, 0.05, 0.0), Y, (-3.1, 3.1)),
        joint('j4', 'j5', (0.3, 0.0, 0.05), X, (-3.1, 3.1)),
        joint('j5', 'j6', (0.1, 0.0, 0.1), Z, (-3.1, 3.1)),
        fixed('j6', 'tip', (0.1, 0.0, 0.1)),
    ]
    return robot('gantry', parts)


ARMS: dict[str, Callable[[], Robot]] = {
    'ur5e': lambda: arm('ur5e'),
    'ur5e as measured': lambda: calibrated('ur5e', 5),
    'kr': kr,
    'puma': lambda: arm('puma'),
    'crx': crx,
    'bent wrist': bent_wrist,
    'any six': six,
    'pairs': pairs,
    'gantry': gantry,
    'any five': lambda: six(5),
    'scara': lambda: arm('scara'),
    'panda': lambda: arm('panda'),
    'iiwa14': lambda: arm('iiwa14'),
    'pr2_like': lambda: arm('pr2_like'),
}
"""By name. Of eight joints the first one is frozen; of seven, one is held."""
