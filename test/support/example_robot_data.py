# SPDX-License-Identifier: Apache-2.0
"""The URDFs of the package example-robot-data, where it is installed."""

import importlib.metadata
from pathlib import Path


def _urdfs() -> list[Path]:
    try:
        files = importlib.metadata.files('example_robot_data') or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(file.locate()).resolve() for file in files if file.suffix == '.urdf')


URDFS = _urdfs()
EMPTY = 'ur3.urdf'  # a <robot> with nothing in it
