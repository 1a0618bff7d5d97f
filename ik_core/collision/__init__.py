# SPDX-License-Identifier: Apache-2.0
"""Collisions: which configurations of a robot are free, and how far apart things are.

`Collisions` answers for a robot and a `World` of obstacles. What it is made of, in this order:

- pieces: `piece` makes convex pieces from the elements of a URDF; `cutting` cuts meshes, `covers`
  puts a sphere and a capsule around each piece, `cache` and `array_files` keep results on disk
- kernels: `records` has their data, `packing` fills it; `bounds` are lower bounds in lanes, `gjk`
  distances, `epa` depths; `rows` are those that Python calls
- pairs: `proof` decides whether two links can meet, `pairs` gives verdicts, `srdf` reads an SRDF
- `shapes` and `world` are obstacles, `world_file` reads them
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
