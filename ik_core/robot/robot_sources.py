"""`load_robot`: robots of all sources, by the suffix of a file or the name of a shipped one."""

from __future__ import annotations

from pathlib import Path

from ..exceptions import UrdfError
from .robot import Robot
from .shipped import robot_path
from .urdf import load_urdf
from .urdf_limits import JointLimitsSource


def load_robot(
    name: str,
    *,
    floating_base: bool = False,
    soft_limits: bool = True,
    joint_limits: JointLimitsSource | None = None,
) -> Robot:
    """The robot of a URDF file, the figure of an ASF or BVH file, or a shipped robot by its name.

    The options are those of `load_urdf`; a figure floats anyway, and has no joint_limits.yaml.

    Raises UrdfError or MocapError.
    """
    if Path(name).suffix.lower() in ('.asf', '.bvh'):
        from .mocap.mocap_files import load_skeleton  # most robots come from a URDF

        if joint_limits is not None:
            raise UrdfError(f'{name} is no URDF: joint limits are for robots of URDFs only')
        return load_skeleton(name)
    return load_urdf(
        robot_path(name),
        floating_base=floating_base,
        soft_limits=soft_limits,
        joint_limits=joint_limits,
    )
