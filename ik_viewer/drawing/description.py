# SPDX-License-Identifier: Apache-2.0
"""Description of a robot by its name or file, with the folders of its meshes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ik_core import Robot
from ik_core.exceptions import InvalidOption
from ik_core.meshes import package_of
from ik_core.robot import ReachCone, human_cones
from ik_core.robot.robot_sources import load_robot
from ik_core.robot.urdf_filter import text_of

from ..arm import Description

MOTION_CAPTURE = ('.asf', '.bvh')


def describe(
    name: str, mesh_folders: Sequence[Path] = (), *, floating_base: bool = False, **limits: Any
) -> Description:
    """Return the description of a URDF, ASF or BVH file, or of a robot by its name.

    Meshes are searched below `mesh_folders`, the folder of the file and the ROS package that has
    it, if any. `floating_base` and `limits` are options of `ik.load_robot`. Raises IkError.
    """
    check_mesh_folders(mesh_folders)
    robot = load_robot(name, floating_base=floating_base, **limits)
    if Path(name).suffix.lower() in MOTION_CAPTURE:
        return Description(robot, up='+y')
    return description_of(robot, mesh_folders)


def description_of(robot: Robot, mesh_folders: Sequence[Path] = ()) -> Description:
    """Return the description of a loaded robot; without a URDF it is drawn as a skeleton."""
    file = robot.file and robot.file.resolve()
    return Description(
        robot,
        text_of(robot.urdf) if robot.urdf else '',
        file and file.parent,
        (*mesh_folders, *package_of(file)),
        cones=known_cones(robot),
    )


def known_cones(robot: Robot) -> tuple[ReachCone, ...]:
    """Return the reach cones of a person written by `ik human`; () for other robots."""
    links = {*robot.link_names}
    cones = human_cones() if robot.name == 'human' else ()
    return tuple(cone for cone in cones if {cone.link, cone.relative_to} <= links)


def check_mesh_folders(folders: Sequence[Path]) -> None:
    """Raise InvalidOption for a folder that does not exist."""
    for folder in folders:
        if not folder.is_dir():
            raise InvalidOption(f'--mesh-folder {folder}: there is no such folder')
