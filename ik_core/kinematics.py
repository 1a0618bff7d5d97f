"""Kernels over plain arrays: where the links are, and how they move with the joints.

A robot, or the part of it that a problem needs, is a list of K *bodies*, parents first: a
body is all that moves rigidly with one moving joint, with fixed joints folded away.

`tree` (K, 3) int: parent body (-1: the root link), kind (REVOLUTE, PRISMATIC), variable.
`geometry` (K, 14) float: the joint's frame in the parent body's frame, with the joint's axis
along z, then multiplier and offset. The joint stands at multiplier * x[variable] + offset,
which serves mimic joints, and frozen ones with a multiplier of 0.

The axes along z make a revolute joint a mix of two columns and a prismatic one a shift along
the third: about half the arithmetic of a product of matrices.
"""

from __future__ import annotations

import math

from ._jit import njit
from .rotations import Array, IntArray, compose

REVOLUTE = 0
PRISMATIC = 1


@njit
def body_frames(tree: IntArray, geometry: Array, x: Array, frames: Array) -> None:
    """frames (K, 12): every body's frame in the root link's frame, for the variables `x`."""
    for k in range(tree.shape[0]):
        place_body(tree, geometry, x, k, frames)


@njit
def place_body(tree: IntArray, geometry: Array, x: Array, k: int, frames: Array) -> None:
    """The frame of body k alone, from that of its parent."""
    f, g = frames[k], geometry[k]
    if tree[k, 0] < 0:
        for i in range(12):
            f[i] = g[i]
    else:
        compose(frames[tree[k, 0]], g, f)
    value = g[12] * x[tree[k, 2]] + g[13]
    if tree[k, 1] == PRISMATIC:
        for i in range(3):
            f[9 + i] += value * f[3 * i + 2]
    else:
        c, s = math.cos(value), math.sin(value)
        for i in range(0, 9, 3):
            f[i], f[i + 1] = c * f[i] + s * f[i + 1], c * f[i + 1] - s * f[i]


@njit
def point_jacobian(
    tree: IntArray,
    geometry: Array,
    frames: Array,
    body: int,
    px: float,
    py: float,
    pz: float,
    columns: Array,
) -> None:
    """columns (variables, 6): the Jacobian's columns, linear then angular, of a point.

    The point (px, py, pz) is given in the root link's frame and moves with `body`; velocities
    are in the root link's frame (Buss 2009, section 2). Variables that do not move the body
    get zeros.
    """
    for j in range(columns.shape[0]):
        for c in range(columns.shape[1]):
            columns[j, c] = 0.0
    k = body
    while k >= 0:
        scale = geometry[k, 12]
        f = frames[k]
        ax, ay, az = scale * f[2], scale * f[5], scale * f[8]
        c = columns[tree[k, 2]]
        if tree[k, 1] == PRISMATIC:
            c[0] += ax
            c[1] += ay
            c[2] += az
        else:
            dx, dy, dz = px - f[9], py - f[10], pz - f[11]
            c[0] += ay * dz - az * dy
            c[1] += az * dx - ax * dz
            c[2] += ax * dy - ay * dx
            c[3] += ax
            c[4] += ay
            c[5] += az
        k = tree[k, 0]
