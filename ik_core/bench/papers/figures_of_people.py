"""Captured figures: of other proportions, their lengths, and how jerkily they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...maths.rotations import Array
from ...robot.motion import Motion
from ...robot.robot import Robot

LIMBS = ('femur', 'tibia', 'humerus', 'radius')
"""Bones of an arm or a leg; their names in a file of CMU have an l or an r before."""
TORSO = ('lowerback', 'upperback', 'thorax')


def proportioned(figure: Robot, limbs: float, torso: float) -> Robot:
    """A figure whose limbs and torso are this many times as long, with the same joints."""
    factors = {side + bone: limbs for bone in LIMBS for side in 'lr'}
    factors.update(dict.fromkeys(TORSO, torso))
    of_body = [factors.get(name.split('/')[0], 1.0) for name in figure.body_names]
    geometry = figure.geometry.copy()
    for body, parent in enumerate(figure.tree[:, 0].tolist()):
        if parent >= 0:
            geometry[body, 9:12] *= of_body[parent]
    places = dict(figure.places)
    for link, place in figure.places.items():
        transform = place.transform.copy()
        transform[:3, 3] *= of_body[place.body] if place.body >= 0 else 1.0
        places[link] = replace(place, transform=transform)
    return replace(figure, geometry=geometry, places=places)


def figure_length(figure: Robot, links: Sequence[str]) -> float:
    """The length [m] of all bones between the links of a figure, each counted once."""
    bodies = {body for link in links for body in figure.body_path(link)}
    places = figure.root_joints[:-1]
    offsets = [figure.geometry[k, 9:12] for k in bodies if figure.tree[k, 2] not in places]
    ends = [figure.place(link).transform[:3, 3] for link in links]
    return float(np.linalg.norm([*offsets, *ends], axis=1).sum())


def jerk(motion: Motion, joints: Sequence[str]) -> float:
    """The mean size of the third differences of joint angles over time [rad/s^3]."""
    turning = motion.unwrapped(joints)
    columns = [motion.joint_names.index(joint) for joint in joints]
    return float(np.abs(np.diff(turning.positions[:, columns], 3, axis=0)).mean() * motion.rate**3)


def bones(figure: Robot, q: Array) -> list[tuple[Array, Array]]:
    """The two ends (3,) [m] of every bone of a figure at q (n,)."""
    frames = figure.frames(q)
    roots = set(figure.root_joints)
    found = [
        (frames[parent, 9:], frames[body, 9:])
        for body, (parent, _, joint) in enumerate(figure.tree.tolist())
        if joint not in roots
    ]
    for link in figure.tips():
        end = figure.link_transform(frames, link)[:3, 3]
        found.append((frames[figure.place(link).body, 9:], end))
    return [(start, end) for start, end in found if not np.allclose(start, end)]
