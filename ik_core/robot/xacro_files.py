# SPDX-License-Identifier: Apache-2.0
"""Expand xacro files in Python, without ROS: by the package xacro, of ROS or of PyPI.

A xacro file evaluates expressions and opens files of other packages, so only files that the user
names are expanded, never text from a topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from ..exceptions import UrdfError
from ..locks import Lock
from ..meshes.mesh_folders import package_of
from ..shared_files import workspaces

_LOCK = Lock()  # xacro keeps its state in global variables


def expanded(file: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF of a xacro file.

    `$(find package)` is the package that has the file, or one of the sourced ROS workspaces.
    Raises UrdfError, also if xacro is not installed.
    """
    try:
        import xacro
        from xacro import substitution_args
    except ImportError:
        raise UrdfError(
            'this is xacro, which the package xacro expands: pip install xacro'
        ) from None
    with _LOCK:
        before = substitution_args._eval_find, substitution_args._eval_dict['find']

        def find(package: str) -> str:
            return _package(package, file)

        substitution_args._eval_find = substitution_args._eval_dict['find'] = find
        try:
            mappings = {name: str(value) for name, value in arguments.items()}
            return str(xacro.process_file(str(file), mappings=mappings).toxml())
        except UrdfError:
            raise
        except (Exception, RecursionError) as error:  # whatever expressions in the file raise
            reason = ' '.join(str(error).split())[:300]
            raise UrdfError(f'xacro fails: {type(error).__name__}: {reason}') from None
        finally:
            substitution_args._eval_find, substitution_args._eval_dict['find'] = before


def _package(name: str, file: Path) -> str:
    """Return the folder of a package. Raises UrdfError."""
    for folder in package_of(file):
        manifest = folder / 'package.xml'
        own = ElementTree.parse(manifest).findtext('name') if manifest.is_file() else ''
        if name in (own, folder.name):
            return str(folder)
    for prefix in workspaces():
        if (prefix / 'share' / name).is_dir():
            return str(prefix / 'share' / name)
    raise UrdfError(
        f'$(find {name}): there is no such package: source the ROS workspace that has it'
    )
