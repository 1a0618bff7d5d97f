# SPDX-License-Identifier: Apache-2.0
"""Shapes: solids fixed to the bodies of a robot, as values."""

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
    """A solid on a body of a robot, -1 for its root: at `transform` (4, 4) in the body's frame."""

    body: int
    transform: Array
    solid: Solid
    colour: Colour


def shifted(translation: Array) -> Array:
    """The transform (4, 4) that only shifts."""
    transform = np.eye(4)
    transform[:3, 3] = translation
    return transform
