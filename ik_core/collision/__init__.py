"""Collisions: the convex pieces that a robot's links are made of.

`piece` defines a piece; the other modules make them from the elements of a URDF.
"""

from .piece import Piece, pieces_of

__all__ = ['Piece', 'pieces_of']
