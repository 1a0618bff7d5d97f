"""The files that are shipped beside the code: robots and configuration."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ..exceptions import UrdfError
from .mocap.load import load_skeleton
from .robot import Robot
from .urdf import load_urdf

HERE = Path(__file__).resolve()
TREE = HERE.parents[2]


def shared_file(name: str) -> Path:
    """The path of a shipped file such as 'urdf/panda.urdf'. Raises FileNotFoundError."""
    for folder in _shared_folders():
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f'{name} is not in {TREE}, nor in share/ik_node of any prefix')


def shipped_robots() -> dict[str, Path]:
    """The shipped URDFs by robot name."""
    found: dict[str, Path] = {}
    for folder in _shared_folders():
        for path in sorted(folder.glob('urdf/*.urdf')):
            found.setdefault(path.stem, path)
    return found


def robot_path(name: str) -> Path:
    """The URDF file that a name means: a path, or the name of a shipped robot.

    Raises UrdfError, with the names of the shipped robots, where there is neither.
    """
    if Path(name).is_file() or Path(name).name != name or Path(name).suffix:
        return Path(name)
    shipped = shipped_robots()
    if name in shipped:
        return shipped[name]
    close = difflib.get_close_matches(name, shipped, n=1)
    hint = f' (did you mean {close[0]!r}?)' if close else ''
    known = ', '.join(sorted(shipped)) or 'none found'
    raise UrdfError(f'no robot {name!r}{hint}: give a URDF file, or a shipped robot: {known}')


def load_robot(name: str, *, floating_base: bool = False) -> Robot:
    """The robot of a URDF file, the figure of an ASF or BVH file, or a shipped robot by its name.

    floating_base : see `load_urdf`; a figure floats anyway

    Raises UrdfError or MocapError.
    """
    if Path(name).suffix.lower() in ('.asf', '.bvh'):
        return load_skeleton(name)
    return load_urdf(robot_path(name), floating_base=floating_base)


def _shared_folders() -> Iterator[Path]:
    """The source tree, or <prefix>/share/ik_node: colcon, pip and setup.py install there."""
    if (TREE / 'package.xml').is_file():
        yield TREE
    # The code is somewhere below the prefix: lib/python3.x/site-packages, local/lib/..., Lib.
    prefixes = [*map(str, HERE.parents), sys.prefix]
    prefixes += filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep))
    for prefix in prefixes:
        yield Path(prefix) / 'share' / 'ik_node'
