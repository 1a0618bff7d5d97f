# SPDX-License-Identifier: Apache-2.0
"""Find the files shipped with the code: robots and configuration."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ..exceptions import UrdfError
from ..meshes.mesh_folders import workspaces
from .installed_robots import PACKAGES, installed_path, installed_robots

HERE = Path(__file__).resolve()
TREE = HERE.parents[2]
LONGEST_NAME = 80


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
    """Return the file that a name means: a path, or the name of a robot.

    A file of that name in the current folder takes precedence over a shipped robot, that over a
    robot of another package (`installed_path`), and that over a folder (readers refuse folders
    with an error of their own). Raises UrdfError, with the names of the shipped robots, if there
    is none of these.
    """
    scheme, is_url, _ = name.partition('://')
    if is_url and scheme.isalpha():
        raise UrdfError(
            f"can't read {name[:LONGEST_NAME]!r}: {scheme}:// is not looked up: give the path"
        )
    if _exists(name, Path.is_file):
        return Path(name)
    shipped = shipped_robots()
    if name in shipped:
        return shipped[name]
    installed = installed_path(name)
    if installed is not None:
        return installed
    if _is_path(name) or _exists(name, Path.is_dir):
        return Path(name)
    close = difflib.get_close_matches(name, [*shipped, *installed_robots()], n=1)
    hint = f' (did you mean {close[0]!r}?)' if close else ''
    known = ', '.join(sorted(shipped)) or 'none found'
    shown = repr(name) if len(name) <= LONGEST_NAME else f'{name[:40]!r}...'
    raise UrdfError(
        f"no robot {shown}{hint}: give a URDF file, its text, which begins with '<', or a shipped "
        f'robot: {known}. Robots of the Python packages {PACKAGES} can be named, too, if these '
        'are installed'
    )


def _is_path(name: str) -> bool:
    """Return whether a name has a folder or a suffix, so that it must be a path."""
    return bool(Path(name).name != name or Path(name).suffix)


def _exists(name: str, kind: Callable[[Path], bool]) -> bool:
    """Return whether a name exists as the given kind, a file or a folder."""
    try:
        return bool(name) and kind(Path(name))
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def _shared_folders() -> Iterator[Path]:
    """Folders with shipped files: the source tree, and <prefix>/share/ik_node, where colcon, pip
    and setup.py install them."""
    if (TREE / 'package.xml').is_file():
        yield TREE
    # The code is somewhere below the prefix: lib/python3.x/site-packages, local/lib/..., Lib.
    for prefix in (*HERE.parents, Path(sys.prefix), *workspaces()):
        yield prefix / 'share' / 'ik_node'
