# SPDX-License-Identifier: Apache-2.0
"""Find the files shipped with the code: robots, their meshes, and configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve()
TREE = HERE.parents[1]


def shared_file(name: str) -> Path:
    """Return the path of a shipped file such as 'urdf/panda.urdf'. Raises FileNotFoundError."""
    for folder in shared_folders():
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f'{name} is not in {TREE}, nor in share/ik_node of any prefix')


def shared_folders() -> Iterator[Path]:
    """Yield folders with shipped files: the source tree, and <prefix>/share/ik_node, where colcon,
    pip and setup.py install them."""
    if (TREE / 'package.xml').is_file():
        yield TREE
    # The code is somewhere below the prefix: lib/python3.x/site-packages, local/lib/..., Lib.
    for prefix in (*HERE.parents, Path(sys.prefix), *workspaces()):
        yield prefix / 'share' / 'ik_node'


def workspaces() -> list[Path]:
    """Return the prefixes of the sourced ROS workspaces, the last one sourced first."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    return [Path(prefix) for prefix in prefixes if prefix]
