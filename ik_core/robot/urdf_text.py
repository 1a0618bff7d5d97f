# SPDX-License-Identifier: Apache-2.0
"""Write a robot as a URDF that `load_robot` reads back to the same joints, limits and links.

Joints of several degrees of freedom are written as the simple joints that they consist of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from ..maths.rotations import Array, transform_of
from ..maths.transforms import rpy_from_matrix
from .kinematics import KIND, PARENT, PRISMATIC
from .mass import Inertial
from .robot import Robot
from .urdf import MAX_NUMBER

NONE = 10.0 * MAX_NUMBER  # written for an infinite limit; `load_robot` reads it as infinite
WATER = 1000.0  # [kg/m^3]


class Solid(NamedTuple):
    """A shape to draw: a box of three sizes [m], a cylinder along z of a radius and a length [m],
    or a sphere of a radius [m].

    `centre` (3,) [m] is in the link's frame; `colour` (4,) is RGBA, 0 to 1.
    """

    kind: str
    size: Sequence[float]
    centre: Sequence[float]
    colour: Sequence[float]


# the attributes with the size of each kind of shape
SIZES = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}


def urdf_text(
    robot: Robot, drawn: Mapping[str, Sequence[Solid]] | None = None, comment: str = ''
) -> str:
    """The URDF of a robot: links, joints, limits, masses, and the visual shapes `drawn` by link.

    Robots have no moments of inertia; those of balls of water of the same mass are written.
    """
    root = ElementTree.Element('robot', name=robot.name)
    if np.isfinite([robot.acceleration, robot.jerk]).any():
        root.set('version', '1.2')  # the version that has acceleration and jerk
    if comment:
        root.append(ElementTree.Comment(f' {comment} '))
    solids = drawn or {}
    names: dict[Sequence[float], str] = {}
    for solid in (solid for link in solids for solid in solids[link]):
        if solid.colour not in names:
            names[solid.colour] = f'colour_{len(names) + 1}'
            material = ElementTree.SubElement(root, 'material', name=names[solid.colour])
            ElementTree.SubElement(material, 'color', rgba=_numbers(solid.colour))
    for link in dict.fromkeys([*robot.link_names, *robot.places]):
        element = ElementTree.SubElement(root, 'link', name=link)
        if link in robot.inertials:
            _add_inertial(element, robot.inertials[link])
        for solid in solids.get(link, ()):
            _add_visual(element, solid, names[solid.colour])
    main = _main_links(robot)
    for i in _in_order_of_q(robot):
        _add_moving(root, robot, i, main)
    for link, place in robot.places.items():
        if main[place.body] != link:
            _add_fixed(root, robot, link, main[place.body])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode') + '\n'


def _add_inertial(link: ElementTree.Element, inertial: Inertial) -> None:
    element = ElementTree.SubElement(link, 'inertial')
    ElementTree.SubElement(element, 'origin', xyz=_numbers(inertial.centre))
    _add(element, 'mass', value=inertial.mass)
    radius = (0.75 * inertial.mass / (math.pi * WATER)) ** (1.0 / 3.0)
    moment = 0.4 * inertial.mass * radius**2
    crossed = dict.fromkeys(('ixy', 'ixz', 'iyz'), 0.0)
    _add(element, 'inertia', ixx=moment, iyy=moment, izz=moment, **crossed)


def _add_visual(link: ElementTree.Element, solid: Solid, material: str) -> None:
    visual = ElementTree.SubElement(link, 'visual')
    ElementTree.SubElement(visual, 'origin', xyz=_numbers(solid.centre))
    geometry = ElementTree.SubElement(visual, 'geometry')
    names = SIZES[solid.kind]
    texts = [_numbers(solid.size)] if len(names) == 1 else map(repr, solid.size)
    ElementTree.SubElement(geometry, solid.kind, dict(zip(names, texts, strict=True)))
    ElementTree.SubElement(visual, 'material', name=material)


def _in_order_of_q(robot: Robot) -> list[int]:
    """Bodies in the order of q, then those of mimic joints."""
    index = {name: i for i, name in enumerate(robot.joint_names)}
    names = enumerate(robot.body_names)
    return [k for _, k in sorted((index.get(name, robot.n), k) for k, name in names)]


def _main_links(robot: Robot) -> dict[int, str]:
    """The link of each body (-1: the root's) at its joint; its other links are fixed to it."""
    main: dict[int, str] = {}
    for link, place in robot.places.items():
        if place.body not in main or place.depth < robot.places[main[place.body]].depth:
            main[place.body] = link
    return main


def _add_moving(root: ElementTree.Element, robot: Robot, k: int, main: Mapping[int, str]) -> None:
    """Add the joint of body k. Its axis is z in the body's frame, which may not be the link's."""
    name, parent, child = robot.body_names[k], main[int(robot.tree[k, PARENT])], main[k]
    at_parent, at_child = (robot.places[link].transform for link in (parent, child))
    origin = np.linalg.inv(at_parent) @ transform_of(robot.geometry[k, :12]) @ at_child
    mimic = robot.mimic_joints.get(name)
    i = -1 if mimic else robot.joint_names.index(name)
    moved = 'prismatic' if robot.tree[k, KIND] == PRISMATIC else 'revolute'
    kind = moved if mimic else robot.joint_types[i]
    joint = _add_joint(root, name, kind, parent, child, origin)
    ElementTree.SubElement(joint, 'axis', xyz=_numbers(at_child[2, :3]))
    if mimic:  # its limits are part of those of the joint that it follows
        _add(joint, 'mimic', joint=mimic.joint, multiplier=mimic.multiplier, offset=mimic.offset)
        _add(joint, 'limit', lower=-NONE, upper=NONE, velocity=NONE, effort=0.0)
        return
    limits = {'velocity': min(float(robot.velocity[i]), NONE), 'effort': 0.0}
    if kind != 'continuous':
        limits['lower'] = max(float(robot.lower[i]), -NONE)
        limits['upper'] = min(float(robot.upper[i]), NONE)
    for name in ('acceleration', 'jerk'):
        if np.isfinite(getattr(robot, name)[i]):
            limits[name] = float(getattr(robot, name)[i])
    _add(joint, 'limit', **limits)


def _add_fixed(root: ElementTree.Element, robot: Robot, link: str, parent: str) -> None:
    """Add a joint that fixes a link to the main link of its body."""
    origin = np.linalg.inv(robot.places[parent].transform) @ robot.places[link].transform
    name = f'{link}_fixed'
    while name in robot.body_names:
        name += '_'
    _add_joint(root, name, 'fixed', parent, link, origin)


def _add_joint(
    root: ElementTree.Element, name: str, kind: str, parent: str, child: str, origin: Array
) -> ElementTree.Element:
    joint = ElementTree.SubElement(root, 'joint', name=name, type=kind)
    _add(joint, 'parent', link=parent)
    _add(joint, 'child', link=child)
    _add(joint, 'origin', xyz=_numbers(origin[:3, 3]), rpy=_numbers(rpy_from_matrix(origin)))
    return joint


def _add(joint: ElementTree.Element, tag: str, /, **attributes: str | float) -> None:
    texts = {k: v if isinstance(v, str) else repr(float(v)) for k, v in attributes.items()}
    ElementTree.SubElement(joint, tag, texts)


def _numbers(vector: Iterable[float]) -> str:
    return ' '.join(repr(float(number) + 0.0) for number in vector)
