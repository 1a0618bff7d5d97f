# SPDX-License-Identifier: Apache-2.0
"""The arms of the comparison, each as a URDF of nothing but the chain, the same for all peers.

Robots come from the package example-robot-data; the iiwa, which it lacks, from this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from ik_core.exceptions import FrameNotFound, InvalidOption
from ik_core.maths.rotations import Array
from ik_core.robot.installed_robots import example_robots
from ik_core.robot.shipped import shipped_robots

from .adapters.base import Chain

# The limits given to a continuous joint [rad]: not every peer knows joints without limits
ENDLESS = 2.0 * math.pi


@dataclass(frozen=True)
class Arm:
    """Source of a chain: the end of its file's path, and two of its links."""

    file: str
    base: str
    tip: str


ARMS = {
    'panda': Arm('panda_description/urdf/panda.urdf', 'panda_link0', 'panda_hand_tcp'),
    'iiwa14': Arm('iiwa14.urdf', 'iiwa_link_0', 'iiwa_link_ee'),
    'ur5': Arm('ur_description/urdf/ur5_robot.urdf', 'base_link', 'tool0'),
    'kinova_j2s6s200': Arm(
        'kinova_description/robots/kinova.urdf', 'base', 'j2s6s200_end_effector'
    ),
    'pr2_arm': Arm('pr2_description/urdf/pr2.urdf', 'torso_lift_link', 'r_gripper_tool_frame'),
    'baxter_arm': Arm('baxter_description/urdf/baxter.urdf', 'base', 'left_gripper'),
    'talos_arm': Arm(
        'talos_data/robots/talos_full_v2.urdf', 'torso_2_link', 'wrist_right_ft_tool_link'
    ),
    'talos_torso_arm': Arm(
        'talos_data/robots/talos_full_v2.urdf', 'base_link', 'wrist_right_ft_tool_link'
    ),
    'talos_foot_hand': Arm(
        'talos_data/robots/talos_full_v2.urdf', 'right_sole_link', 'wrist_right_ft_tool_link'
    ),
}


def find_urdf(name: str) -> Path:
    """The URDF of an arm of `ARMS`. Raises InvalidOption where it is not installed."""
    wanted = ARMS[name].file
    for path in [*shipped_robots().values(), *example_robots().values()]:
        if path.resolve().as_posix().endswith(f'/{wanted}'):
            return path
    raise InvalidOption(f'{name}: there is no {wanted}: pip install example-robot-data')


def write_chain(name: str, folder: Path) -> Chain:
    """The chain of an arm of `ARMS`, with its URDF written to the folder."""
    arm = ARMS[name]
    return serial_chain(name, find_urdf(name), arm.base, arm.tip, folder)


def serial_chain(name: str, source: Path, base: str, tip: str, folder: Path) -> Chain:
    """Write the URDF of the chain from link `base` to link `tip` of a robot.

    `base` may be anywhere in the tree: joints on the way up are turned round, so that the pose
    of the tip in the base's frame is the same function of the same joint positions. Fixed joints
    stay. Continuous joints become revolute ones of two turns; masses are made up, since some
    peers want them.
    """
    links, steps = _path(ElementTree.parse(source).getroot(), base, tip)
    robot = ElementTree.Element('robot', name=name)
    for link in links:
        _add_link(robot, link)
    before: Array | None = None  # from the frame of a link turned round to its own
    for i, (joint, upwards) in enumerate(steps):
        before = _add_joint(robot, joint, links[i], links[i + 1], upwards, before)
    if before is not None:
        tip = f'{tip}_frame'
        _add_link(robot, tip)
        end = ElementTree.SubElement(robot, 'joint', name=f'{tip}_joint', type='fixed')
        ElementTree.SubElement(end, 'parent', link=links[-1])
        ElementTree.SubElement(end, 'child', link=tip)
        _add_origin(end, before)
    path = folder / f'{name}.urdf'
    ElementTree.indent(robot)
    path.write_bytes(ElementTree.tostring(robot))
    return _described(robot, str(path), base, tip)


def _path(
    robot: ElementTree.Element, base: str, tip: str
) -> tuple[list[str], list[tuple[ElementTree.Element, bool]]]:
    """The links from base to tip, and the joints between them with whether each leads upwards."""
    above = {_link(joint, 'child'): joint for joint in robot.iterfind('joint')}
    known = {link.get('name') for link in robot.iterfind('link')}
    for link in (base, tip):
        if link not in known:
            raise FrameNotFound(f'{robot.get("name")} has no link {link!r}')
    up, down = _ancestors(base, above), _ancestors(tip, above)
    top = next(link for link in up if link in set(down))
    rise, fall = up[: up.index(top)], down[: down.index(top)][::-1]
    steps = [(above[link], True) for link in rise] + [(above[link], False) for link in fall]
    return [*rise, top, *fall], steps


def _ancestors(link: str, above: dict[str, ElementTree.Element]) -> list[str]:
    """The link and what it hangs on, up to the root."""
    path = [link]
    while path[-1] in above:
        path.append(_link(above[path[-1]], 'parent'))
    return path


def _link(joint: ElementTree.Element, tag: str) -> str:
    element = joint.find(tag)
    return '' if element is None else element.get('link', '')


def _add_link(robot: ElementTree.Element, name: str) -> None:
    link = ElementTree.SubElement(robot, 'link', name=name)
    inertial = ElementTree.SubElement(link, 'inertial')
    ElementTree.SubElement(inertial, 'mass', value='1')
    inertia = {'ixx': '0.01', 'iyy': '0.01', 'izz': '0.01', 'ixy': '0', 'ixz': '0', 'iyz': '0'}
    ElementTree.SubElement(inertial, 'inertia', inertia)


def _add_joint(
    robot: ElementTree.Element,
    source: ElementTree.Element,
    parent: str,
    child: str,
    upwards: bool,
    before: Array | None,
) -> Array | None:
    """Add one joint of the chain; returns what is still missing to the child's own frame.

    With the joint's frame at T in its parent's, the child is at T R(axis, q), and so the parent
    in the child's frame at R(-axis, q) T^-1: upwards a new joint of the opposite axis comes
    first, and T^-1 is left to the next joint.
    """
    kind = source.get('type', '')
    joint = ElementTree.SubElement(
        robot,
        'joint',
        name=source.get('name', ''),
        type='revolute' if kind == 'continuous' else kind,
    )
    origin = _origin(source)
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    if before is None and not upwards:  # to the letter: some peers look for parallel axes
        original = source.find('origin')
        ElementTree.SubElement(joint, 'origin', {} if original is None else original.attrib)
    elif before is not None:
        _add_origin(joint, before if upwards else before @ origin)
    if kind != 'fixed':
        axis = source.find('axis')
        numbers = '1 0 0' if axis is None else axis.get('xyz', '1 0 0')
        turned = [-float(x) for x in numbers.split()] if upwards else numbers.split()
        ElementTree.SubElement(joint, 'axis', xyz=' '.join(map(str, turned)))
        _add_limit(joint, source, kind)
    return np.array(np.linalg.inv(origin), float) if upwards else None


def _add_origin(joint: ElementTree.Element, pose: Array) -> None:
    rpy = Rotation.from_matrix(pose[:3, :3]).as_euler('xyz')
    numbers = {'xyz': _numbers(pose[:3, 3]), 'rpy': _numbers(rpy)}
    ElementTree.SubElement(joint, 'origin', numbers)


def _add_limit(joint: ElementTree.Element, source: ElementTree.Element, kind: str) -> None:
    limit = source.find('limit')
    given = {} if limit is None else limit.attrib
    bounds = {'lower': given.get('lower', '0'), 'upper': given.get('upper', '0')}
    if kind == 'continuous':
        bounds = {'lower': str(-ENDLESS), 'upper': str(ENDLESS)}
    ElementTree.SubElement(joint, 'limit', {**bounds, 'effort': '100', 'velocity': '3'})


def _origin(joint: ElementTree.Element) -> Array:
    origin = joint.find('origin')
    given = {} if origin is None else origin.attrib
    pose = np.eye(4)
    rpy = [float(x) for x in given.get('rpy', '0 0 0').split()]
    pose[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    pose[:3, 3] = [float(x) for x in given.get('xyz', '0 0 0').split()]
    return pose


def _numbers(vector: Array) -> str:
    return ' '.join(repr(float(x)) for x in vector)


def _described(robot: ElementTree.Element, path: str, base: str, tip: str) -> Chain:
    joints = [joint for joint in robot.iterfind('joint') if joint.get('type') != 'fixed']
    limits = [joint.find('limit') for joint in joints]
    return Chain(
        name=robot.get('name', ''),
        path=path,
        base=base,
        tip=tip,
        joints=[joint.get('name', '') for joint in joints],
        lower=[float(x.get('lower', 0)) for x in limits if x is not None],
        upper=[float(x.get('upper', 0)) for x in limits if x is not None],
    )
