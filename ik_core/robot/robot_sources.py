"""`load_robot`: robots of all sources, by the suffix of a file or the name of a shipped one."""

from __future__ import annotations

from pathlib import Path

from .robot import Robot
from .shipped import robot_path
from .urdf import load_urdf


def load_robot(name: str, *, floating_base: bool = False) -> Robot:
    """The robot of a URDF file, the figure of an ASF or BVH file, or a shipped robot by its name.

    floating_base : see `load_urdf`; a figure floats anyway

    Raises UrdfError or MocapError.
    """
    if Path(name).suffix.lower() in ('.asf', '.bvh'):
        from .mocap.mocap_files import load_skeleton  # most robots come from a URDF

        return load_skeleton(name)
    return load_urdf(robot_path(name), floating_base=floating_base)
