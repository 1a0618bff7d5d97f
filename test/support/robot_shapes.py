# SPDX-License-Identifier: Apache-2.0
"""Points beside the pieces of a robot's collision shapes."""

import numpy as np


def outside(piece, points):
    """Heights (n,) [m] of points over the faces of a piece; at most 0 inside."""
    if piece.kind == 'box':
        origin, *others = piece.corners[[0, 1, 2, 4]]
        edges = np.array(others) - origin
        sizes = np.linalg.norm(edges, axis=1)
        along = (points - origin) @ (edges / sizes[:, None]).T
        return np.maximum(-along, along - sizes).max(1)
    start, end = piece.corners[0], piece.corners[-1]
    if piece.kind == 'sphere':
        return np.linalg.norm(points - start, axis=1) - piece.radius
    length = np.linalg.norm(end - start)
    along = (points - start) @ ((end - start) / length)
    across = np.linalg.norm(points - start - np.outer(along, (end - start) / length), axis=1)
    return np.max([-along, along - length, across - piece.radius], axis=0)
