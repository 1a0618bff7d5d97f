# SPDX-License-Identifier: Apache-2.0
"""Robots of the packages example-robot-data and robot_descriptions, if they are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ..exceptions import UrdfError
from ..meshes.mesh_folders import descriptions_cache
from ..shared_files import workspaces

PACKAGES = 'example-robot-data and robot_descriptions'
MODULE = '_description'  # The end of the name of a robot's module in robot_descriptions


def installed_robots() -> list[str]:
    """Names of the robots of both packages, also of those that are not downloaded yet."""
    return [*example_robots(), *(name.removesuffix(MODULE) for name in _descriptions())]


def installed_path(name: str) -> Path | None:
    """Return the URDF of a robot of the packages, None if neither has a robot of this name.

    example-robot-data comes first; a name that ends with _description is of robot_descriptions.
    Raises UrdfError if robot_descriptions has not downloaded the robot, or fails.
    """
    examples = example_robots()
    if name in examples:
        return examples[name]
    descriptions = _descriptions()
    for module in (name, name + MODULE):
        if module in descriptions:
            return _downloaded(module, descriptions[module].repository)
    return None


def example_robots() -> dict[str, Path]:
    """Return the URDFs of example-robot-data by the names of their files.

    The second file of a name has the name of its folder instead, without _description.
    """
    found: dict[str, Path] = {}
    for prefix in _prefixes():
        for path in sorted(prefix.glob('share/example-robot-data/robots/*/*/*.urdf')):
            folder = path.parents[1].name.removesuffix(MODULE)
            found.setdefault(folder if path.stem in found else path.stem, path)
        if found:
            break
    return found


def _prefixes() -> Iterator[Path]:
    """Yield the folders that ROS, conda or pip may have installed example-robot-data into."""
    yield from workspaces()
    yield Path(sys.prefix)
    yield from (Path(entry) / 'cmeel.prefix' for entry in sys.path)  # pip's has its own prefix


def _descriptions() -> Mapping[str, Any]:
    """Return the entries of robot_descriptions that have a URDF, by the names of their modules."""
    try:
        from robot_descriptions import DESCRIPTIONS
    except ImportError:  # not installed, or older than 2.0
        return {}
    return {name: entry for name, entry in DESCRIPTIONS.items() if entry.has_urdf}


def _downloaded(module: str, repository: str) -> Path:
    """Return the URDF of a module of robot_descriptions. Raises UrdfError.

    To import a module downloads its robot, which only its user should decide: the module is
    imported only if the cache has the robot's repository.
    """
    try:
        # There is no public way to know what is downloaded, nor to expand a description in xacro.
        from robot_descriptions._repositories import REPOSITORIES
        from robot_descriptions._xacro import get_urdf_path

        folder = descriptions_cache() / REPOSITORIES[repository].cache_path
        if (folder / '.git').exists():
            return Path(get_urdf_path(import_module(f'robot_descriptions.{module}')))
    except Exception as error:  # of git, xacro or the package itself
        raise UrdfError(f'robot_descriptions failed to load {module}: {error}') from error
    raise UrdfError(
        f'{module} of robot_descriptions is not downloaded yet: run '
        f'`robot_descriptions pull {module}`'
    )
