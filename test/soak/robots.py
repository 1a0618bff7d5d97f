# SPDX-License-Identifier: Apache-2.0
"""The robots of a campaign: shipped ones, as they are and with joints that mimic others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree

from ik_core import Robot as Kinematics
from ik_core import load_urdf
from ik_core.shared_files import shared_file

from .expected_limits import read_description
from .link_poses import Poses
from .listener import Robot

# [rad/s, rad/s^2] Limits that the node is given where the URDF has none
VELOCITY, ACCELERATION = 2.0, 5.0
# Multipliers and offsets [rad] for which the mimic joint is in its limits where its driver is
MIMICS = ((0.5, 0.0), (0.5, 0.7), (-0.5, 0.0))
# A continuous joint of the robots behind a controller: their drivers may wrap its angle
TURNS = 'wrist_3_joint'


@dataclass(frozen=True)
class Variant:
    """A description of a robot: `base` numbers the robots, `ready` [rad] is a pose to jog from.

    `mimics`: a joint of the chain mimics another one. `commanded` are the joints that commands are
    for, in their order; () where there are all.
    """

    base: int
    mimics: bool
    text: str
    ready: dict[str, float]
    commanded: tuple[str, ...]

    @cached_property
    def kinematics(self) -> Kinematics:
        """The library's robot."""
        return load_urdf(self.text)

    @cached_property
    def judged(self) -> Robot:
        """Its limits, as they are judged."""
        return Robot(read_description(self.text), VELOCITY, ACCELERATION, self.commanded)

    @cached_property
    def poses(self) -> Poses:
        """Return the poses of its links."""
        return Poses(self.text)


def variants(output: str) -> list[Variant]:
    """Return all descriptions that a node with this output gets.

    Where commands go to a controller, all robots have the joints that it has.
    """
    panda, ur5e = (
        shared_file(f'urdf/{name}.urdf').read_text('utf-8') for name in ('panda', 'ur5e')
    )
    arm = ('shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_1', 'wrist_2', 'wrist_3')
    joints = tuple(f'{name}_joint' for name in arm)
    ready = dict(zip(joints, (0.0, -1.5, 1.8, -1.9, -1.57, 0.0), strict=True))
    wrists = 'wrist_1_joint', 'wrist_2_joint'
    if output != 'joint_state':
        turns = _edited(ur5e, turns=TURNS)
        return [
            *_with_mimics(0, turns, ready, wrists, joints),
            *_with_mimics(1, _edited(turns, size=1.1), ready, wrists, joints),
        ]
    angles = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
    panda_ready = {f'panda_joint{k}': angle for k, angle in enumerate(angles, 1)}
    return [
        *_with_mimics(0, panda, panda_ready, ('panda_joint1', 'panda_joint3'), ()),
        *_with_mimics(1, ur5e, ready, wrists, ()),
    ]


def _with_mimics(
    base: int,
    text: str,
    ready: dict[str, float],
    pair: tuple[str, str],
    commanded: tuple[str, ...],
) -> list[Variant]:
    """A robot as it is, and with a joint that mimics another one in different ways."""
    texts = [text, *(_edited(text, mimic=(*pair, *numbers)) for numbers in MIMICS)]
    return [Variant(base, k > 0, text, ready, commanded) for k, text in enumerate(texts)]


def _edited(
    text: str,
    mimic: tuple[str, str, float, float] | None = None,
    turns: str = '',
    size: float = 1.0,
) -> str:
    """The description where (driver, joint, multiplier, offset) mimics, `turns` is continuous, and
    the links are so much longer.
    """
    root = ElementTree.fromstring(text.encode())
    for joint in root.iter('joint'):
        if mimic and joint.get('name') == mimic[1]:
            driver, _, multiplier, offset = mimic
            about = {'joint': driver, 'multiplier': f'{multiplier}', 'offset': f'{offset}'}
            ElementTree.SubElement(joint, 'mimic', about)
        if joint.get('name') == turns:
            joint.set('type', 'continuous')
        origin = joint.find('origin')
        if origin is not None:
            xyz = [size * float(x) for x in origin.get('xyz', '0 0 0').split()]
            origin.set('xyz', ' '.join(map(repr, xyz)))
    return ElementTree.tostring(root, encoding='unicode')
