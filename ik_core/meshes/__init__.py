# SPDX-License-Identifier: Apache-2.0
"""Mesh files of robot descriptions: where they may be (`mesh_folders`) and their formats."""

from .mesh_folders import MeshFolders, package_of
from .mesh_formats import TriangleMesh, read_mesh

__all__ = ['MeshFolders', 'TriangleMesh', 'package_of', 'read_mesh']
