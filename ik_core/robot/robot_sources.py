# SPDX-License-Identifier: Apache-2.0
"""`load_robot`: load a robot from any supported file, or by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..exceptions import UrdfError
from .joints import MULTI_DOF
from .robot import Robot
from .shipped import robot_path
from .urdf import load_urdf
from .urdf_filter import as_expat_reads
from .urdf_limits import JointLimitsSource


def load_robot(
    name: str,
    *,
    floating_base: bool = False,
    free_base: bool = False,
    soft_limits: bool = True,
    joint_limits: JointLimitsSource | None = None,
) -> Robot:
    """Load the robot of a URDF file, the skeleton of an ASF or BVH file, or a robot by its name.

    `free_base` lets the planar and floating joints of a URDF move, or adds a floating base if it
    has none. The other options are those of `load_urdf`; a skeleton floats in any case, and
    `joint_limits` are refused for it.

    Raises UrdfError or MocapError.
    """
    if Path(name).suffix.lower() in ('.asf', '.bvh'):
        from .mocap.mocap_files import load_skeleton  # most robots come from a URDF

        if joint_limits is not None:
            raise UrdfError(f'{name} is no URDF: joint limits are for robots of URDFs only')
        return load_skeleton(name)
    limits: dict[str, Any] = {'soft_limits': soft_limits, 'joint_limits': joint_limits}
    robot = load_urdf(robot_path(name), floating_base=floating_base, **limits)
    if not free_base:
        return robot
    joints = base_joints(robot)
    return load_urdf(
        robot_path(name), free_joints=joints, floating_base=floating_base or not joints, **limits
    )


def base_joints(robot: Robot, link: str | None = None) -> list[str]:
    """Names of the planar and floating joints of a robot's URDF, whether they move or not.

    link : only those between the root and this link
    """
    if not robot.urdf:
        return []
    joints = list(ElementTree.fromstring(as_expat_reads(robot.urdf)).iterfind('joint'))
    own = [joint for joint in joints if joint.get('type') in MULTI_DOF]
    if link is None:
        return [joint.get('name', '') for joint in own]
    above = {_end(joint, 'child'): joint for joint in reversed(joints)}
    path = []
    while link in above:
        path.append(above[link])
        link = _end(above.pop(link), 'parent')
    return [joint.get('name', '') for joint in own if joint in path]


def _end(joint: ElementTree.Element, end: str) -> str:
    """The name of a joint's parent or child link."""
    found = joint.find(end)
    return '' if found is None else found.get('link', '')
