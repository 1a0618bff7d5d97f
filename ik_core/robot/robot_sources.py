# SPDX-License-Identifier: Apache-2.0
"""`load_robot`: load a robot from any supported file, or by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from ..exceptions import UrdfError
from ..maths.argument_types import Names
from .joints import MULTI_DOF
from .robot import Robot
from .srdf import SrdfSource, read_srdf, srdf_beside
from .urdf import robot_of_urdf
from .urdf_filter import joint_elements, read
from .urdf_limits import JointLimitsSource

MOTION_CAPTURE = ('.asf', '.bvh')


def load_robot(
    source: str | bytes | os.PathLike[str],
    *,
    free_joints: Names = (),
    floating_base: bool = False,
    free_base: bool = False,
    soft_limits: bool = True,
    joint_limits: JointLimitsSource | None = None,
    srdf: SrdfSource | None = None,
    xacro_args: Mapping[str, str] | None = None,
) -> Robot:
    """Load a robot: a path, the name of a robot, or the XML of a URDF as text or bytes.

    A path may be that of a URDF, of a xacro file (.xacro; needs the package xacro), of an MJCF
    model (needs mujoco), or of a skeleton of motion capture (.asf, .bvh). Text that begins with
    '<' is a URDF. A name without suffix or folder, such as 'panda', means a shipped robot, or else
    a robot of the Python packages example-robot-data ('ur10_robot', the name of its file) and
    robot_descriptions ('ur10e' or 'ur10e_description'), if they are installed. The latter are used
    once they are downloaded: robot_descriptions has a command for that. A file of exactly that
    name in the current folder takes precedence.

    srdf : path or text of an SRDF, '' for none. By default the file beside the robot's that has
        its name, <name>.srdf, also in the folder srdf next to that of the robot's file. It gives
        `groups` and `end_effectors`, and `Collisions` leaves out the pairs that it disables
    xacro_args : arguments of a xacro file by name
    free_base : let all planar and floating joints move, or add a floating base if there are none

    Units are URDF's: metres, radians, seconds. `free_joints` names the floating and planar joints
    that move; the others are frozen at zero, since a JointState can't carry them. `floating_base`
    adds a floating joint of that name, which moves, between a new root link `world` and the
    robot's root, as for a walking humanoid. `joint_limits` is a joint_limits.yaml of MoveIt or
    ros2_control, or its content as a mapping {joint: {max_acceleration: ...}}; it can only tighten
    the limits of the URDF. Details:

    - A value that is not a number or not finite, a wrong count of numbers, or commas between them
      are errors.
    - A revolute or prismatic joint needs a `<limit>`; a bound left out is 0, as in urdfdom, and
      from version 1.2 on none. A bound of inf or beyond 1e9 means none. Limits on a continuous
      joint are ignored, with a warning. `effort` is never read. A velocity that is missing, zero
      or negative means no limit, with a warning.
    - `acceleration`, `deceleration` and `jerk` of `<limit>` are read in all versions; the smaller
      of acceleration and deceleration limits both.
    - If a `<safety_controller>` has both soft limits and they are narrower than lower and upper,
      they are used instead, with a warning; `soft_limits=False` ignores them.
    - An `<origin>` may have `quat_xyzw` in place of `rpy` from version 1.1 on.
    - Axis and limits of a fixed joint are not read, so they may be invalid.
    - `<axis>` is (1, 0, 0) if left out, and normalised. A zero axis is an error for a joint that
      uses it.
    - A mimic of a mimic is resolved into one multiplier and offset; a cycle is an error. A mimic
      is ignored, with a warning, if it names a missing joint (as in one robot of
      example-robot-data), or if one of the two joints is fixed, floating or planar and so has no
      single position: the joint then moves independently if it can.
    - The mass and centre of an <inertial> are read. An invalid one, or one with a negative mass,
      is ignored with a warning: only a centre of mass needs it.
    - If an element is given twice in a joint or link, the first counts, with a warning, as in
      urdfdom.
    - Blank lines or a byte order mark before the XML declaration are skipped. The declared
      encoding applies to bytes and files, also GB2312, Shift_JIS and the like; text is already
      decoded.
    - A DOCTYPE, xacro macros, a description that is too large or too deep, two roots, cycles,
      unknown or duplicate names, and a robot without links are errors.

    An MJCF model is read as MuJoCo compiles it, see `ik_core.robot.mjcf`: bodies and sites are
    links, a free joint is a floating joint. A skeleton floats in any case, and `joint_limits` are
    refused for it.

    Raises UrdfError, which names the file, the element, the fault and the remedy, or MocapError.
    """
    if isinstance(source, (str, os.PathLike)) and _suffix(source) in MOTION_CAPTURE:
        from .mocap.mocap_files import load_skeleton  # most robots come from a URDF

        if joint_limits is not None:
            raise UrdfError(f'{source} is no URDF: joint limits are for robots of URDFs only')
        return load_skeleton(source)
    found = _described(source, xacro_args)
    options: dict[str, Any] = {'soft_limits': soft_limits, 'joint_limits': joint_limits}
    try:
        robot = robot_of_urdf(
            found.text, free_joints=free_joints, floating_base=floating_base, **options
        )
        if free_base:
            joints = base_joints(robot)
            floats = floating_base or not joints
            robot = robot_of_urdf(found.text, free_joints=joints, floating_base=floats, **options)
        robot = replace(
            robot,
            file=found.file and found.file.absolute(),
            warnings=(*found.remarks, *robot.warnings),
        )
        return _with_srdf(robot, found.srdf) if srdf is None else _with_given_srdf(robot, srdf)
    except UrdfError as error:
        raise UrdfError(f'{found.file}: {error}' if found.file else str(error)) from None


def _suffix(source: str | os.PathLike[str]) -> str:
    """The suffix of a path in lower case; '' for the text of a URDF."""
    text = os.fspath(source)
    return '' if '<' in text[:1000] else Path(text).suffix.lower()


class _Description(NamedTuple):
    """The URDF of a robot, its file, the SRDF that comes with it, and remarks on a conversion."""

    text: str | bytes
    file: Path | None
    srdf: SrdfSource
    remarks: list[str]


def _described(
    source: str | bytes | os.PathLike[str], xacro_args: Mapping[str, str] | None
) -> _Description:
    """Read a URDF, or convert a xacro file or an MJCF model to one. Raises UrdfError."""
    text, file = read(source)
    beside: SrdfSource = '' if file is None else srdf_beside(file)
    try:
        if file is not None and file.suffix.lower() == '.xacro':
            from .xacro_files import expanded  # needs a package

            return _Description(expanded(file, xacro_args or {}), file, beside, [])
        if xacro_args:
            raise UrdfError('xacro_args are for .xacro files only')
        if _root_tag(text) != 'mujoco':
            return _Description(text, file, beside, [])
        if file is None:
            raise UrdfError(
                'this is the text of an MJCF model, which names other files: give the path of '
                'its file'
            )
        from .mjcf import convert_mjcf  # needs a package

        urdf, contacts, remarks = convert_mjcf(file)
        return _Description(urdf, file, beside or contacts, remarks)
    except UrdfError as error:
        raise UrdfError(f'{file}: {error}' if file else str(error)) from None


class _FirstElement(Exception):
    """Ends a parser at the first element."""


def _root_tag(text: str | bytes) -> str:
    """The tag of the outermost element; '' for text that is not XML, which others refuse."""
    tag = ''

    def start(name: str, _: object) -> None:
        nonlocal tag
        tag = name
        raise _FirstElement

    xml = expat.ParserCreate()
    xml.StartElementHandler = start
    with suppress(_FirstElement, expat.ExpatError, LookupError, ValueError):
        xml.Parse(text, True)
    return tag


def _with_srdf(robot: Robot, source: SrdfSource) -> Robot:
    """Add the SRDF that comes with a robot; a faulty one, as some are, is only warned of."""
    try:
        return _with_given_srdf(robot, source)
    except UrdfError as error:
        warning = f'the SRDF beside the robot is not used: {error}'
        return replace(robot, warnings=(*robot.warnings, warning))


def _with_given_srdf(robot: Robot, source: SrdfSource) -> Robot:
    if not source:
        return robot
    srdf = read_srdf(source, robot)
    return replace(
        robot,
        srdf=srdf.text,
        groups=srdf.groups,
        end_effectors=srdf.end_effectors,
        warnings=(*robot.warnings, *srdf.warnings),
    )


def base_joints(robot: Robot, link: str | None = None) -> list[str]:
    """Names of the planar and floating joints of a robot's URDF, whether they move or not.

    link : only those between the root and this link
    """
    joints = joint_elements(robot.urdf)
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
