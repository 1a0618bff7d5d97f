# SPDX-License-Identifier: Apache-2.0
"""Collisions: which configurations of a robot are free, and distances between links and obstacles.

`Collisions` is the entry point, for a robot and a `World` of obstacles. Its parts:

- pieces: `piece` makes convex pieces from the elements of a URDF; `cutting` cuts meshes, `covers`
  finds a sphere and a capsule around each piece, `cache` and `array_files` keep results on disk
- kernels: `records` has their data, `packing` fills it; `bounds` computes lower bounds in lanes,
  `gjk` distances, `epa` depths, `normals` exact normals of cylinders; `rows` has the kernels that
  Python calls
- pairs: `proof` decides whether two links can meet, `pairs` gives verdicts
- obstacles: `shapes` and `world`; `world_file` reads them
"""

from ..robot.urdf_shapes import Box, Capsule, Cylinder, Sphere
from .collisions import Collisions, PairDistance
from .pairs import LinkPair
from .piece import Piece, pieces_of
from .shapes import Convex, Plane
from .world import Obstacle, World
from .world_file import load_world

__all__ = [
    'Box',
    'Capsule',
    'Collisions',
    'Convex',
    'Cylinder',
    'LinkPair',
    'Obstacle',
    'PairDistance',
    'Piece',
    'Plane',
    'Sphere',
    'World',
    'load_world',
    'pieces_of',
]
