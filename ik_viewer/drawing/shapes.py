# SPDX-License-Identifier: Apache-2.0
"""Shapes: values that describe solids fixed to the bodies of a robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ik_core.maths.rotations import Array
from ik_core.robot.urdf_shapes import Box, Colour, Cylinder, Sphere


class Mesh(NamedTuple):
    """Triangles: `faces` (F, 3) of `vertices` (V, 3) [m]."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]


Solid = Box | Cylinder | Sphere | Mesh


class Shape(NamedTuple):
    """A solid fixed to a body (-1: the root), at `transform` (4, 4) in the body's frame."""

    body: int
    transform: Array
    solid: Solid
    colour: Colour


def shifted(translation: Array) -> Array:
    """Return the transform (4, 4) of a translation (3,)."""
    transform = np.eye(4)
    transform[:3, 3] = translation
    return transform
