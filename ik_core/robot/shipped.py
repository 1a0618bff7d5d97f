# SPDX-License-Identifier: Apache-2.0
"""Find the robots shipped with the code by their names."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from ..exceptions import UrdfError
from ..shared_files import shared_folders
from .installed_robots import PACKAGES, installed_path, installed_robots

LONGEST_NAME = 80


def shipped_robots() -> dict[str, Path]:
    """The shipped URDFs by robot name."""
    found: dict[str, Path] = {}
    for folder in shared_folders():
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
